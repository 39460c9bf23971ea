"""`Predictive`: the one object that a model hands to plots and scores."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from uqlib import _checks


@dataclass(frozen=True, eq=False)
class Predictive:
    r"""A Gaussian prediction at n points for k outputs, its std split into two parts.

    .. math:: y \mid x \sim \mathcal N\big(\mu(x),\ \sigma(x)^2 + s(x)^2\big), \qquad
        \text{total std} = \sqrt{\sigma(x)^2 + s(x)^2}

    Variances of independent parts add; stds do not. `total_std` is the only way to a total band, so a band cannot
    be wrong by adding stds.

    Parameters
    ----------
    mean : (n, k), floating
        The predicted mean, in the units of y.
    aleatoric_std : scalar or (n, k)
        The std of the noise, sigma: what more data does not shrink. In the units of y, >= 0.
    epistemic_std : scalar or (n, k)
        The std of the mean itself, s: what more data does shrink. In the units of y, >= 0. Zero by default, which
        is what a single fitted net claims about its own mean.

    Scalars are expanded here, once; nothing broadcasts later.

    Raises
    ------
    TypeError
        If an argument is no tensor (or number, for a std), or not floating, or the dtypes differ.
    ValueError
        If shapes or devices differ, a value is not finite, or a std is negative.

    Source: law of total variance; the names are those of Kendall & Gal (2017), section 2.
    """

    mean: Float[Tensor, "n k"]
    aleatoric_std: Float[Tensor, "n k"]
    epistemic_std: Float[Tensor, "n k"]

    def __init__(
        self, mean: Float[Tensor, "n k"], aleatoric_std: _checks.Scalar, epistemic_std: _checks.Scalar = 0.0
    ) -> None:
        _checks.matrix("mean", mean)
        _checks.finite("mean", mean)
        object.__setattr__(self, "mean", mean)
        for name, value in (("aleatoric_std", aleatoric_std), ("epistemic_std", epistemic_std)):
            std = _checks.like(name, value, mean)
            _checks.finite(name, std)
            _checks.not_negative(name, std)
            object.__setattr__(self, name, std)

    def __repr__(self) -> str:  # stored outputs stay free of tensors
        return f"Predictive(points={self.mean.shape[0]}, outputs={self.mean.shape[1]})"

    @property
    def total_std(self) -> Float[Tensor, "n k"]:
        r"""The std of y: :math:`\sqrt{\sigma^2 + s^2}`, shape (n, k), in the units of y."""
        return torch.hypot(self.aleatoric_std, self.epistemic_std)

    def interval(self, level: float) -> tuple[Float[Tensor, "n k"], Float[Tensor, "n k"]]:
        r"""The central interval that holds y with probability `level`, as (low, high), each (n, k).

        .. math:: \mu \pm z\,\text{total std}, \qquad z = \Phi^{-1}\big((1 + \text{level}) / 2\big)

        The quantile is two-sided: level 0.95 gives z = 1.96, not 1.64. Raises ValueError unless 0 < level < 1.
        """
        z = _quantile(level)
        return self.mean - z * self.total_std, self.mean + z * self.total_std

    def log_prob(self, y: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        r"""The log density of each entry of y, shape (n, k); sum over the last axis for the joint over outputs.

        .. math:: -\tfrac12 \log 2\pi - \log t - \tfrac12 \big((y - \mu) / t\big)^2, \qquad t = \text{total std}

        In nats for y in its own units: other units shift it. Raises ValueError for another shape than the mean's,
        non-finite y, or a total std of exactly zero, whose density is no number.
        """
        z, std = self._standardised("log_prob", y)
        return -0.5 * math.log(2 * math.pi) - std.log() - 0.5 * z**2

    def coverage(self, y: Float[Tensor, "n k"], level: float) -> float:
        """The share of the entries of y that lie inside `interval(level)`, edges included; between 0 and 1.

        Raises ValueError for another shape than the mean's, non-finite y, or a level outside (0, 1).
        """
        self._check(y)
        low, high = self.interval(level)
        return ((low <= y) & (y <= high)).double().mean().item()

    def rescale(self, *, shift: _checks.Scalar, scale: _checks.Scalar) -> "Predictive":
        r"""The prediction of :math:`\text{scale}\cdot y + \text{shift}`: back to the units of y after standardising.

        The mean is scaled and shifted, each std only scaled. Both are numbers or (1, k). The NLL rises by log scale
        for each output. Raises TypeError or ValueError for another shape, or a scale that is not above zero.
        """
        shift, scale = (_checks.row(name, value, self.mean) for name, value in (("shift", shift), ("scale", scale)))
        if (scale <= 0).any():
            raise ValueError(f"scale: expected numbers above 0, got {scale.min().item():g}")
        return Predictive(scale * self.mean + shift, scale * self.aleatoric_std, scale * self.epistemic_std)

    def sample(self, generator: torch.Generator) -> Float[Tensor, "n k"]:
        r"""One draw of y at every point, independent between points, shape (n, k), in the units of y.

        .. math:: y = \mu + \sqrt{\sigma^2 + s^2}\,\varepsilon, \qquad \varepsilon \sim \mathcal N(0, 1)

        Drawn on the CPU from `generator`, then moved, so that every device sees the same numbers.
        """
        _checks.cpu_generator(generator)
        noise = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype, device="cpu")
        return self.mean + self.total_std * noise.to(self.mean.device)

    def _standardised(self, name: str, y: Float[Tensor, "n k"]) -> tuple[Float[Tensor, "n k"], Float[Tensor, "n k"]]:
        """Residual over total std, and the std, each (n, k); `name` says in an error who needs a density.

        Raises as `log_prob`.
        """
        self._check(y)
        std = self.total_std
        if (std == 0).any():
            raise ValueError(f"{name}: the total std is 0 at {int((std == 0).sum())} entries: no density there")
        return (y - self.mean) / std, std

    def _check(self, y: Tensor) -> None:
        _checks.matrix("y", y)
        _checks.same_shape("y", y, "mean", self.mean)
        _checks.same_kind("y", y, "mean", self.mean)
        _checks.finite("y", y)


def known(predictive: object) -> Predictive:
    """The argument itself, if it is a `Predictive`."""
    if not isinstance(predictive, Predictive):
        raise TypeError(
            f"predictive: expected a Predictive, got {type(predictive).__name__}; use Predictive(mean, std), or "
            "models.predict(net, x)"
        )
    return predictive


def _quantile(level: float) -> float:
    """The two-sided standard normal quantile of a level between 0 and 1."""
    tail = (1 - _checks.level(level)) / 2  # the lower tail: near level 1 the upper one rounds to 1
    return -torch.special.ndtri(torch.tensor(tail, dtype=torch.float64, device="cpu")).item()
