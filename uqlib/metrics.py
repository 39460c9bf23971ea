"""Scores of a `Predictive` against y. What has a value for every entry is returned so, (n, k), or as its mean.

Scores in the units of y (CRPS, interval score, sharpness) and the NLL compare models on the same data in the same
units only. A mean over points hides where a model is wrong: look at the entries, too.
"""

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from uqlib import _checks
from uqlib.predictive import Predictive, known

_REDUCTIONS = ("mean", "none")


@dataclass(frozen=True)
class Estimate:
    """A number and its standard error, printed as value +- error."""

    value: float
    standard_error: float

    def __str__(self) -> str:
        return f"{self.value:.3f} +- {self.standard_error:.3f}"


def nll(predictive: Predictive, y: Float[Tensor, "n k"], *, reduction: str = "mean") -> Tensor:
    r"""Negative log likelihood in nats: minus `predictive.log_prob(y)`, (n, k), or its mean over points.

    The mean sums over outputs, as `losses.gaussian_nll` does. Other units of y shift it: for y multiplied by c, by
    log c an output. Raises as `Predictive.log_prob`: a total std of zero has no density.

    Source: Good (1952), the logarithmic score.
    """
    entries = -known(predictive).log_prob(y)
    return entries.sum(1).mean() if _mean(reduction) else entries


def crps(predictive: Predictive, y: Float[Tensor, "n k"], *, reduction: str = "mean") -> Tensor:
    r"""Continuous ranked probability score of a Gaussian, in the units of y; less is better.

    .. math:: \int (F(t) - \mathbb 1[y \le t])^2\,dt = t\,\big[z\,(2\Phi(z) - 1) + 2\varphi(z) - 1/\sqrt\pi\big],
        \qquad z = (y - \mu) / t

    with t the total std. (n, k), or its mean over all entries. It grows with the error, not with its square.
    Raises ValueError for shapes that differ, non-finite y, or a total std of zero.

    Source: Gneiting & Raftery (2007), equation 21.
    """
    z, std = known(predictive)._standardised("crps", y)
    density = torch.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    # y - mean in place of std * z: for an error of very many stds, z is beyond any float
    entries = (y - predictive.mean) * torch.erf(z / math.sqrt(2)) + std * (2 * density - 1 / math.sqrt(math.pi))
    return entries.mean() if _mean(reduction) else entries


def interval_score(predictive: Predictive, y: Float[Tensor, "n k"], level: float, *, reduction: str = "mean") -> Tensor:
    r"""Width of the central interval plus what a miss costs, in the units of y; less is better.

    .. math:: (u - l) + \tfrac{2}{\alpha}(l - y)_+ + \tfrac{2}{\alpha}(y - u)_+, \qquad \alpha = 1 - \text{level}

    (n, k), or its mean over all entries. Raises as `crps`, and for a level outside (0, 1).

    Source: Gneiting & Raftery (2007), equation 43.
    """
    known(predictive)._standardised("interval_score", y)
    low, high = predictive.interval(level)
    entries = high - low + 2 / (1 - level) * ((low - y).clamp_min(0) + (y - high).clamp_min(0))
    return entries.mean() if _mean(reduction) else entries


def coverage(predictive: Predictive, y: Float[Tensor, "n k"], level: float) -> Estimate:
    r"""The share of entries inside the central interval, with the binomial error that a calibrated model would have.

    .. math:: \sqrt{\text{level}\,(1 - \text{level}) / (nk)}

    A share within two or three of these of the level is no evidence against the model. The error takes entries as
    independent, and is not zero where the share is 0 or 1. Raises as `Predictive.coverage`.
    """
    return Estimate(known(predictive).coverage(y, level), math.sqrt(level * (1 - level) / y.numel()))


def pit(predictive: Predictive, y: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    r"""Probability integral transform :math:`\Phi((y - \mu) / t)`, (n, k): uniform on (0, 1) if all is right.

    U-shaped if the std is too small, a hump if too large, tilted if the mean is off. Raises as `crps`.

    Source: Dawid (1984); Gneiting, Balabdaoui & Raftery (2007), section 3.1.
    """
    return torch.special.ndtr(known(predictive)._standardised("pit", y)[0])


def calibration_curve(
    predictive: Predictive, y: Float[Tensor, "n k"], levels: Float[Tensor, " m"] | None = None
) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
    """Levels of central intervals, and the share of entries that lies in each; the diagonal is calibrated.

    By default 0.05, 0.10, ..., 0.95. An entry lies in all intervals of at least its own level, so the curve never
    falls. Raises as `crps`, and ValueError unless the levels are inside (0, 1) and rise.
    """
    z, _ = known(predictive)._standardised("calibration_curve", y)
    if levels is None:
        levels = torch.arange(1, 20, device=y.device, dtype=y.dtype) / 20
    if not isinstance(levels, Tensor) or levels.ndim != 1 or not len(levels) or not levels.is_floating_point():
        raise ValueError(f"levels: expected a floating tensor of shape (m,), got {_checks.kind(levels)}")
    if not (levels.diff() > 0).all() or not 0 < levels[0] <= levels[-1] < 1:
        raise ValueError(f"levels: expected rising numbers between 0 and 1, got {levels.tolist()}")
    # The level of the narrowest central interval that holds the entry; erf keeps its digits near 0, as 2 Phi - 1 not.
    own = torch.erf(z.abs() / math.sqrt(2)).flatten().sort().values
    inside = torch.searchsorted(own, levels.to(own), right=True)
    return levels, inside.to(levels) / len(own)


def calibration_error(
    predictive: Predictive, y: Float[Tensor, "n k"], levels: Float[Tensor, " m"] | None = None
) -> float:
    """The mean distance of `calibration_curve` from the diagonal, between 0 and 1.

    Luck alone gives about 0.3 / sqrt(n) with n independent entries: a small error on few points says little. Raises
    as `calibration_curve`.
    """
    levels, shares = calibration_curve(predictive, y, levels)
    return (shares - levels).abs().mean().item()


def sharpness(predictive: Predictive) -> float:
    """The mean total std, in the units of y: how much the model commits itself, right or wrong."""
    return known(predictive).total_std.mean().item()


def moment_matched(members: Sequence[Predictive]) -> Predictive:
    r"""One Gaussian with the mean and the variance of an even mixture of M predictions.

    .. math:: \mu = \tfrac1M \sum_m \mu_m, \qquad \sigma^2 = \tfrac1M \sum_m \sigma_m^2, \qquad
        s^2 = \tfrac1M \sum_m \big[(\mu_m - \mu)^2 + s_m^2\big]

    The aleatoric std comes from the mean of variances, the epistemic one from the spread of means (with 1/M: one
    member has none) and the members' own. Raises ValueError for no members, or members that differ in shape.

    Source: Lakshminarayanan, Pritzel & Blundell (2017), section 2.4.
    """
    members = _alike(members)
    means, aleatoric, epistemic = (
        torch.stack([getattr(one, part) for one in members]) for part in ("mean", "aleatoric_std", "epistemic_std")
    )
    mean = means.mean(0)
    # hypot, not squares: the square of a tiny or a huge std is zero or infinite
    noise, spread = (functools.reduce(torch.hypot, part) for part in (aleatoric, torch.cat([means - mean, epistemic])))
    return Predictive(mean, noise / math.sqrt(len(members)), spread / math.sqrt(len(members)))


def mixture_nll(members: Sequence[Predictive], y: Float[Tensor, "n k"], *, reduction: str = "mean") -> Tensor:
    r"""NLL of the even mixture itself: :math:`-\log \tfrac1M \sum_m \prod_j \mathcal N(y_j; \mu_{mj}, t_{mj}^2)`.

    (n, 1), since a mixture joins the outputs, or its mean over points. Not the NLL of `moment_matched`, which is one
    Gaussian. Raises as `nll` and `moment_matched`.
    """
    members = _alike(members)
    joint = torch.stack([one.log_prob(y).sum(1, keepdim=True) for one in members])
    entries = math.log(len(members)) - torch.logsumexp(joint, 0)
    return entries.mean() if _mean(reduction) else entries


def _alike(members: Sequence[Predictive]) -> list[Predictive]:
    """The members as a list, if each is a Predictive of the same shape."""
    members = list(members) if isinstance(members, Iterable) else [type(members)]
    if not members or not all(isinstance(one, Predictive) for one in members):
        got = ", ".join(sorted({_checks.kind(one) for one in members})) or "none"
        raise ValueError(f"members: expected at least one Predictive, in a list, got {got}")
    for i, one in enumerate(members):
        _checks.same_shape(f"the mean of member {i}", one.mean, "that of member 0", members[0].mean)
        _checks.same_kind(f"member {i}", one.mean, "member 0", members[0].mean)
    return members


def _mean(reduction: str) -> bool:
    if reduction not in _REDUCTIONS:
        raise ValueError(f"reduction: expected one of {', '.join(_REDUCTIONS)}, got {reduction!r}")
    return reduction == "mean"
