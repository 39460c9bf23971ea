"""`NormalizingFlow`: layers put together, and the density that they make."""

import copy
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from uqlib import _checks
from uqlib.flows._layers import ActNorm, Mapped


class NormalizingFlow(nn.Module):
    r"""A base density pushed through layers: :math:`x = f_L(\cdots f_1(z))`, z from the base.

    .. math:: \log q(x) = \log q_0(z) - \sum_l \log \lvert\det J_{f_l}\rvert

    `layers` are listed from the base to the data. A layer is a module with `forward` and `inverse` as here; a base has
    `log_prob` and `sample`. Raises TypeError for anything else, ValueError for an ActNorm that is listed twice.

    Source: Rezende & Mohamed (2015), equation 7; Papamakarios et al. (2021), section 2.
    """

    def __init__(self, base: nn.Module, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        if not all(isinstance(base, nn.Module) and hasattr(base, name) for name in ("log_prob", "sample")):
            raise TypeError(f"base: expected a module with log_prob and sample, got {type(base).__name__}")
        if not isinstance(layers, list | tuple | nn.ModuleList):
            raise TypeError(f"layers: expected a list of modules, got {type(layers).__name__}")
        for i, layer in enumerate(layers):
            if isinstance(layer, NormalizingFlow) or not (isinstance(layer, nn.Module) and hasattr(layer, "inverse")):
                raise TypeError(f"layers: expected modules with inverse, got {type(layer).__name__} at place {i}")
        norms = [layer for layer in layers if isinstance(layer, ActNorm)]
        if len(set(norms)) < len(norms):
            raise ValueError("layers: one ActNorm is listed twice, and it can start from one sample only")
        self.base, self.layers = base, nn.ModuleList(layers)

    def initialise(self, x: Float[Tensor, "n d"]) -> None:
        """Start every `ActNorm` that has not started, from a large, typical sample x, (n, d), before training.

        From the data inwards, each layer sees what the layers outside it make of x. Raises as `ActNorm.initialise`,
        and ValueError for an ActNorm hidden inside another layer; on error nothing is changed.
        """
        norms = [layer for layer in self.modules() if isinstance(layer, ActNorm)]
        if not norms:
            raise ValueError("this flow has no ActNorm, so there is nothing to initialise")
        if not set(norms) <= set(self.layers):
            raise ValueError("layers: an ActNorm sits inside another layer; list it among the layers of the flow")
        if all(layer.initialised for layer in norms):
            raise RuntimeError("the flow is initialised already; build a new one to start again")
        x, started = x.detach().clone() if isinstance(x, Tensor) else x, []
        with torch.no_grad():
            for layer in reversed(self.layers):
                if isinstance(layer, ActNorm) and not layer.initialised:
                    twin = copy.deepcopy(layer)  # the layer itself is changed once all have succeeded
                    twin.initialise(x)
                    started.append((layer, twin))
                    layer = twin
                x = _image(layer, "inverse", x)[0]
        _checks.finite("the image of x", x)
        for layer, twin in started:
            layer.load_state_dict(twin.state_dict())

    def forward(self, z: Float[Tensor, "n d"]) -> Mapped:
        """From base to data: x, (n, d), and the log volume factor of all layers, (n,)."""
        total = _checks.matrix("z", z).new_zeros(len(z))
        for layer in self.layers:
            z, log_det = _image(layer, "forward", z)
            total = total + log_det
        return z, total

    def inverse(self, x: Float[Tensor, "n d"]) -> Mapped:
        """From data to base: z, (n, d), and the log volume factor of all layers, (n,)."""
        total = _checks.matrix("x", x).new_zeros(len(x))
        for layer in reversed(self.layers):
            x, log_det = _image(layer, "inverse", x)
            total = total + log_det
        return x, total

    def log_prob(self, x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """The log density q at each point x, (n,), in nats for x in its own units: other units shift it.

        Far out it may be -inf: no float holds so small a density. Raises ValueError for x that is not finite, and
        where the flow overflows into NaN, as couplings with an unbounded activation (torch.relu) do far out.
        """
        _checks.finite("x", _checks.matrix("x", x))
        log_density = self._log_density(x)
        if lost := int(log_density.isnan().sum()):
            raise ValueError(
                f"log_prob: NaN at {lost} of {len(x)} points, where this flow overflows {x.dtype}; stay nearer to the "
                "data, or use a bounded activation such as torch.tanh"
            )
        return log_density

    def _log_density(self, x: Tensor) -> Tensor:
        """As `log_prob`, values unchecked: so it runs under `torch.vmap`, and `training.fit` names the step."""
        z, log_det = self.inverse(x)
        of_base = self.base.log_prob(z)
        if of_base.shape != log_det.shape:
            raise ValueError(f"base.log_prob: expected shape {tuple(log_det.shape)}, got {tuple(of_base.shape)}")
        return of_base + log_det

    def sample(self, n: int, generator: torch.Generator) -> Float[Tensor, "n d"]:
        """n draws from the flow, (n, d), without gradient; the noise is drawn on the CPU from `generator`.

        Raises ValueError where a draw overflows.
        """
        for layer in self.layers:
            if isinstance(layer, ActNorm):
                layer._ready("z", layer.shift)  # before the first draw: an error must not use up the generator
        with torch.no_grad():
            draws = self.forward(self.base.sample(n, generator))[0]
        _checks.finite("a draw", draws)
        return draws

    def forward_kld(self, x: Float[Tensor, "n d"]) -> Float[Tensor, ""]:
        r"""The training loss that flow libraries call forward KL: a cross-entropy, in nats a point.

        .. math:: -\frac1n \sum_i \log q(x_i) \;\approx\; -\mathbb E_p[\log q]
            = \mathrm{KL}(p \,\|\, q) + H(p)

        It leaves out the entropy H(p) of the data, which no flow can change and nobody knows, so it is not a
        divergence: it is negative for a good flow when H(p) is, and other units of x shift it. Where log p is
        known, the mean of log p - log q over fresh points estimates the KL itself.

        Source: Papamakarios et al. (2021), section 2.3.1.
        """
        return -self._log_density(x).mean()


def _image(layer: nn.Module, way: str, values: Tensor) -> Mapped:
    """What a layer makes of the values, if it is what a layer must return: nothing may broadcast in the sum."""
    pair = layer(values) if way == "forward" else layer.inverse(values)
    alike = isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(part, Tensor) for part in pair)
    if not alike or pair[0].shape != values.shape or pair[1].shape != values.shape[:1]:
        got = [tuple(part.shape) for part in pair] if alike else type(pair).__name__
        n, d = values.shape
        raise ValueError(f"{type(layer).__name__}.{way}: expected the image ({n}, {d}) and log det ({n},), got {got}")
    return pair
