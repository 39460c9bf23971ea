"""The base of a flow, and the two layers that it is built from."""

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from uqlib import _checks, models

Mapped = tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]


class DiagonalGaussian(nn.Module):
    r"""The base of a flow: :math:`\mathcal N(\mu, \operatorname{diag} \sigma^2)` in d dimensions, both learnt.

    `mean` and `log_std` have shape (1, d) and start at zero: a standard normal.
    """

    def __init__(self, d: int) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(1, _checks.count("d", d), device="cpu"))
        self.log_std = nn.Parameter(torch.zeros(1, d, device="cpu"))

    def log_prob(self, z: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """The log density at z, summed over coordinates, in nats, (n,)."""
        _checks.points("z", z, self.mean.shape[1], self.mean)
        standard = (z - self.mean) * torch.exp(-self.log_std)
        return -0.5 * (standard**2).sum(1) - self.log_std.sum() - 0.5 * z.shape[1] * math.log(2 * math.pi)

    def sample(self, n: int, generator: torch.Generator) -> Float[Tensor, "n d"]:
        """n draws, (n, d), made on the CPU from `generator`, then moved: every device sees the same numbers."""
        _checks.cpu_generator(generator)
        noise = torch.randn(
            (_checks.count("n", n), self.mean.numel()), generator=generator, dtype=self.mean.dtype, device="cpu"
        )
        return self.mean + self.log_std.exp() * noise.to(self.mean.device)


class AffineCoupling(nn.Module):
    r"""Masked affine coupling: the kept coordinates pass, and say how the others are stretched and shifted.

    .. math:: x = m \odot z + (1 - m) \odot \big(z \odot e^{s(m \odot z)} + t(m \odot z)\big), \qquad
        \log \lvert\det\rvert = \sum_j (1 - m_j)\, s_j

    `mask` is the tuple m of d truths: True for the coordinates that are kept. s and t are the 2d outputs of one
    `models.MLP` with hidden `widths`; its head starts at zero, so the layer starts as the identity. With an unbounded
    activation s grows with the distance from the data, and :math:`e^s` overflows far out: `forward` and `inverse` then
    give infinity or NaN, `log_prob` and `sample` of the flow an error.

    Raises TypeError for a mask that holds no truths, ValueError for one that keeps all coordinates or none.

    Source: Dinh, Sohl-Dickstein & Bengio (2017), equations 4 to 9, which map from data to base.
    """

    def __init__(
        self,
        mask: Sequence[bool] | Bool[Tensor, " d"],
        widths: Sequence[int],
        *,
        generator: torch.Generator,
        activation: Callable[[Tensor], Tensor] = torch.tanh,
    ) -> None:
        super().__init__()
        truths = mask.tolist() if isinstance(mask, Tensor) else mask
        if not isinstance(truths, list | tuple) or not all(isinstance(m, bool) for m in truths):
            raise TypeError(f"mask: expected truths such as (True, False), got {' '.join(repr(truths).split())}")
        mask = list(truths)
        if len(set(mask)) < 2:
            raise ValueError(f"mask: expected some True (kept) and some False, such as (True, False), got {mask}")
        self.net = models.MLP(len(mask), widths, 2 * len(mask), generator=generator, activation=activation)
        for parameter in self.net.head.parameters():
            nn.init.zeros_(parameter)
        self.register_buffer("mask", torch.tensor([mask], dtype=self.net.head.weight.dtype, device="cpu"))

    def forward(self, z: Float[Tensor, "n d"]) -> Mapped:
        """From z to x, both (n, d), and the log volume factor, (n,)."""
        log_scale, shift = self._stretch("z", z)
        return z * log_scale.exp() + shift, log_scale.sum(1)

    def inverse(self, x: Float[Tensor, "n d"]) -> Mapped:
        """From x to z, both (n, d), and the log volume factor, (n,)."""
        log_scale, shift = self._stretch("x", x)
        return (x - shift) * torch.exp(-log_scale), -log_scale.sum(1)

    def _stretch(self, name: str, values: Tensor) -> tuple[Tensor, Tensor]:
        """Log scale and shift, zero where a coordinate is kept: there x = z, so either end gives the same."""
        _checks.points(name, values, self.mask.shape[1], self.mask)
        log_scale, shift = self.net(self.mask * values).chunk(2, dim=1)
        return (1 - self.mask) * log_scale, (1 - self.mask) * shift


class ActNorm(nn.Module):
    r"""One scale and one shift a coordinate, :math:`x = e^{s} \odot z + t`, started from data.

    `initialise(x)` sets t and :math:`e^s` to the mean and the std (with 1/n) of a sample, so that its image z has
    mean 0 and std 1. That is done once, and by nothing else: not by the first batch, not by sampling, not after
    loading, since `initialised` is saved with the weights. Until then the layer refuses to map anything.

    Source: Kingma & Dhariwal (2018), section 3.1; there the first batch does it.
    """

    def __init__(self, d: int) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(1, _checks.count("d", d), device="cpu"))
        self.shift = nn.Parameter(torch.zeros(1, d, device="cpu"))
        self.register_buffer("initialised", torch.tensor(False, device="cpu"))

    def initialise(self, x: Float[Tensor, "n d"]) -> None:
        """Take scale and shift from a large, typical sample x, (n, d).

        Raises ValueError for a single point, values that are not finite, or a constant column, which is named;
        RuntimeError if it was done before.
        """
        _checks.points("x", x, self.shift.shape[1], self.shift)
        if self.initialised:
            raise RuntimeError("ActNorm is initialised already; build a new one to start again")
        mean, std = _checks.spread("x", x)
        with torch.no_grad():
            self.shift.copy_(mean)
            self.log_scale.copy_(std.log())
            self.initialised.fill_(True)

    def forward(self, z: Float[Tensor, "n d"]) -> Mapped:
        """From z to x, both (n, d), and the log volume factor, (n,)."""
        self._ready("z", z)
        return z * self.log_scale.exp() + self.shift, self.log_scale.sum().expand(len(z))

    def inverse(self, x: Float[Tensor, "n d"]) -> Mapped:
        """From x to z, both (n, d), and the log volume factor, (n,)."""
        self._ready("x", x)
        return (x - self.shift) * torch.exp(-self.log_scale), -self.log_scale.sum().expand(len(x))

    def _ready(self, name: str, values: Tensor) -> None:
        _checks.points(name, values, self.shift.shape[1], self.shift)
        if not self.initialised:
            raise RuntimeError("ActNorm has seen no data; call flow.initialise(x) once, on a large, typical sample")
