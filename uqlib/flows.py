"""Normalizing flows: a density made by bending a Gaussian, layer by layer, with the change of volume kept in a sum.

A layer maps z to x by `forward` and back by `inverse`; each returns the image, (n, d), and the log of the factor by
which it stretches volume there, (n,), one number a point as in `torch.distributions`.
"""

import copy
import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from uqlib import _checks, models

Mapped = tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]


class DiagonalGaussian(nn.Module):
    r"""The base of a flow: :math:`\mathcal N(\mu, \operatorname{diag} \sigma^2)` in d dimensions, both learnt.

    `mean` and `log_std` have shape (1, d) and start at zero: a standard normal.
    """

    def __init__(self, d: int) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(1, _checks.count("d", d)))
        self.log_std = nn.Parameter(torch.zeros(1, d))

    def log_prob(self, z: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """The log density at z, summed over coordinates, in nats, (n,)."""
        _checks.points("z", z, self.mean.shape[1], self.mean)
        standard = (z - self.mean) * torch.exp(-self.log_std)
        return -0.5 * (standard**2).sum(1) - self.log_std.sum() - 0.5 * z.shape[1] * math.log(2 * math.pi)

    def sample(self, n: int, generator: torch.Generator) -> Float[Tensor, "n d"]:
        """n draws, (n, d), made on the CPU from `generator`, then moved: every device sees the same numbers."""
        _checks.cpu_generator(generator)
        noise = torch.randn(_checks.count("n", n), self.mean.numel(), generator=generator, dtype=self.mean.dtype)
        return self.mean + self.log_std.exp() * noise.to(self.mean.device)


class AffineCoupling(nn.Module):
    r"""Masked affine coupling: the kept coordinates pass, and say how the others are stretched and shifted.

    .. math:: x = m \odot z + (1 - m) \odot \big(z \odot e^{s(m \odot z)} + t(m \odot z)\big), \qquad
        \log \lvert\det\rvert = \sum_j (1 - m_j)\, s_j

    `mask` is the tuple m of d truths: True for the coordinates that are kept. s and t are the 2d outputs of one
    `models.MLP` with hidden `widths`; its head starts at zero, so the layer starts as the identity.

    Raises ValueError for a mask that keeps all coordinates or none.

    Source: Dinh, Sohl-Dickstein & Bengio (2017), equations 7 to 9.
    """

    def __init__(
        self,
        mask: Sequence[bool],
        widths: Sequence[int],
        *,
        generator: torch.Generator,
        activation: Callable[[Tensor], Tensor] = torch.tanh,
    ) -> None:
        super().__init__()
        mask = list(mask)
        if set(map(type, mask)) != {bool} or len(set(mask)) < 2:
            raise ValueError(
                f"mask: expected truths, some True (kept) and some False, such as (True, False), got {mask}"
            )
        self.net = models.MLP(len(mask), widths, 2 * len(mask), generator=generator, activation=activation)
        for parameter in self.net.head.parameters():
            nn.init.zeros_(parameter)
        self.register_buffer("mask", torch.tensor([mask], dtype=self.net.head.weight.dtype))

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
        self.log_scale = nn.Parameter(torch.zeros(1, _checks.count("d", d)))
        self.shift = nn.Parameter(torch.zeros(1, d))
        self.register_buffer("initialised", torch.tensor(False))

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


class NormalizingFlow(nn.Module):
    r"""A base density pushed through layers: :math:`x = f_L(\cdots f_1(z))`, z from the base.

    .. math:: \log q(x) = \log q_0(z) - \sum_l \log \lvert\det J_{f_l}\rvert

    `layers` are listed from the base to the data. A layer is a module with `forward` and `inverse` as here.

    Source: Rezende & Mohamed (2015), equation 7; Papamakarios et al. (2021), section 2.
    """

    def __init__(self, base: nn.Module, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        self.base, self.layers = base, nn.ModuleList(layers)

    def initialise(self, x: Float[Tensor, "n d"]) -> None:
        """Start every `ActNorm` from a large, typical sample x, (n, d): once, before training.

        From the data inwards, each layer sees what the layers outside it make of x. Raises as `ActNorm.initialise`;
        on error nothing is changed.
        """
        if not any(isinstance(layer, ActNorm) for layer in self.layers):
            raise ValueError("this flow has no ActNorm, so there is nothing to initialise")
        trial = copy.deepcopy(self.layers)
        with torch.no_grad():
            for layer in reversed(trial):
                if isinstance(layer, ActNorm):
                    layer.initialise(x)
                x = layer.inverse(x)[0]
        self.layers.load_state_dict(trial.state_dict())

    def forward(self, z: Float[Tensor, "n d"]) -> Mapped:
        """From base to data: x, (n, d), and the log volume factor of all layers, (n,)."""
        total = _checks.matrix("z", z).new_zeros(len(z))
        for layer in self.layers:
            z, log_det = layer(z)
            total = total + log_det
        return z, total

    def inverse(self, x: Float[Tensor, "n d"]) -> Mapped:
        """From data to base: z, (n, d), and the log volume factor of all layers, (n,)."""
        total = _checks.matrix("x", x).new_zeros(len(x))
        for layer in reversed(self.layers):
            x, log_det = layer.inverse(x)
            total = total + log_det
        return x, total

    def log_prob(self, x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """The log density q at each point x, (n,), in nats for x in its own units: other units shift it."""
        z, log_det = self.inverse(x)
        return self.base.log_prob(z) + log_det

    def sample(self, n: int, generator: torch.Generator) -> Float[Tensor, "n d"]:
        """n draws from the flow, (n, d), without gradient; the noise is drawn on the CPU from `generator`."""
        with torch.no_grad():
            return self.forward(self.base.sample(n, generator))[0]

    def forward_kld(self, x: Float[Tensor, "n d"]) -> Float[Tensor, ""]:
        r"""The training loss that flow libraries call forward KL: a cross-entropy, in nats a point.

        .. math:: -\frac1n \sum_i \log q(x_i) \;\approx\; -\mathbb E_p[\log q]
            = \mathrm{KL}(p \,\|\, q) + H(p)

        It leaves out the entropy H(p) of the data, which no flow can change and nobody knows, so it is not a
        divergence: it is negative for a good flow when H(p) is, and other units of x shift it. Where log p is
        known, the mean of log p - log q over fresh points estimates the KL itself.

        Source: Papamakarios et al. (2021), section 2.3.1.
        """
        return -self.log_prob(x).mean()
