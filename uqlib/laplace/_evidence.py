"""The prior precision and the noise std at which the evidence is largest: one eigendecomposition, no refits."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from uqlib.laplace._fitting import posterior as posterior_at
from uqlib.laplace._posterior import Posterior

_DEPTH = 18.0  # e^-18 = 1.5e-8: below that share of y, residuals in float64 are rounding
_BREADTH = 35.0  # prior precisions from e^-35 to e^35 times the largest eigenvalue
_EPS = torch.finfo(torch.float64).eps
_FLAT = 1e-6  # least curvature, per squared log unit, of a maximum that is one


def maximise_evidence(posterior: Posterior, *, prior_precision: bool = True, noise_std: bool = True) -> Posterior:
    r"""The posterior at the prior precision and the noise std that maximise `log_evidence`; a new one.

    .. math:: \max_{\tau, \sigma}\ \log p(Y \mid \tau, \sigma)

    `prior_precision=False` or `noise_std=False` holds that one fixed. What differs in the given posterior keeps its
    ratio: two prior precisions (weights and bias), noise stds of outputs or of points are multiplied by one factor.
    The expansion point stays what it was: given weights stay put, the posterior mean moves along.

    With the eigenvalues of :math:`T^{-1/2} \Phi^\top D^{-1} \Phi\, T^{-1/2}` the evidence is a sum over directions,
    so a new tau or sigma costs p operations; Newton's method starts from the peaks of a coarse grid. There MacKay's
    equations hold, each for what was tuned, with gamma the `effective_parameters`:

    .. math:: \sum_{ij} \tau_i\, m_{ij}^2 = \gamma, \qquad
        \sum_{ij} (\text{residual} / \text{noise std})_{ij}^2 = nk - \gamma

    For one output and one prior precision: tau = gamma / sum m^2, sigma^2 = (sum of squared residuals) / (n - gamma).

    Raises ValueError if there is no maximum: the evidence keeps rising as tau grows, or as sigma falls to zero.

    Source: MacKay (1992), Bayesian interpolation, section 4; Bishop (2006), section 3.5.
    """
    if not isinstance(posterior, Posterior):
        raise TypeError(f"posterior: expected a laplace.Posterior, got {type(posterior).__name__}")
    if not (isinstance(prior_precision, bool) and isinstance(noise_std, bool)):
        raise TypeError(f"expected True (tune it) or False (hold it), got {prior_precision!r} and {noise_std!r}")
    if not (prior_precision or noise_std):
        raise ValueError("nothing to tune: leave prior_precision or noise_std True")
    sums, given = posterior.statistics, posterior.at_given_weights
    if (prior_precision and not sums.gram.any()) or (not given and not sums.square.any()):
        raise ValueError("the evidence has no maximum: y, or every feature, is zero everywhere")
    with torch.inference_mode(False):  # tensors made in inference mode know no gradient
        value, *scales = _along_eigenvectors(posterior)
        free = [prior_precision, noise_std]
        starts = [*_peaks_of_grid(value, free, *scales), torch.zeros(2, dtype=torch.float64, device="cpu")]
        found = [theta for start in starts if (theta := _newton(value, free, start)) is not None]
        if not found:
            raise ValueError("the evidence has no maximum here: it is flat; hold prior_precision or noise_std fixed")
        tuned = _polished(posterior, value, free, max(found, key=lambda theta: value(*theta).item()))
    if tuned.log_evidence < posterior.log_evidence - 1e-6:
        raise ValueError("the maximum was lost to rounding: features differ too much in scale; standardise them")
    return tuned


def _moved(posterior: Posterior, theta: Tensor) -> Posterior:
    """The posterior with the logarithms of tau and sigma moved by theta."""
    tau, bias = posterior.prior_precision * math.exp(theta[0]), posterior.statistics.bias
    return posterior_at(
        posterior.statistics,
        noise_std=posterior.noise_std * math.exp(theta[1]),
        prior_precision=(tau[0].item(), tau[-1].item()) if bias else tau[0].item(),
        weights=posterior.mean if posterior.at_given_weights else None,
        features=posterior.features,
        noise_at=posterior.noise_at,
    )


def _polished(posterior: Posterior, value: Callable, free: list[bool], theta: Tensor) -> Posterior:
    """Newton's last steps, with the slope from the Cholesky factor: it keeps digits that eigenvalues lose."""
    rows = [i for i in (0, 1) if free[i]]
    for _ in range(20):
        moved = _moved(posterior, theta)
        pull, misfit, fixed = moved._balance()
        parts = [0.5 * (fixed - pull), misfit + fixed - moved.statistics.points * moved.mean.shape[1]]
        slope = torch.tensor(parts, dtype=torch.float64, device="cpu")
        step = torch.linalg.solve(_slope_and_curvature(value, theta)[1][rows][:, rows], slope[rows])
        if step.abs().max() > 1:
            break
        theta = theta.clone()
        theta[rows] += step
        if step.abs().max() < 1e-11:
            break
    return _moved(posterior, theta)


def _along_eigenvectors(posterior: Posterior) -> tuple[Callable[[Tensor, Tensor], Tensor], float, float]:
    """The evidence, up to a constant, as a function of the logarithms of both factors; the scale of either.

    Every term of the misfit is positive, so that nothing cancels: what no weights could explain, and what the prior
    keeps them from explaining.
    """
    sums, k = posterior.statistics, posterior.mean.shape[1]
    noise, prior = (part.detach().cpu() for part in (posterior.noise_std[0], posterior.prior_precision))
    gram, cross, square = (part.detach().cpu() for part in (sums.gram, sums.cross, sums.square))
    eigenvalues, explained, lost = _directions(gram, cross, prior.sqrt())
    rest = square - explained.sum(-1)
    rest = (torch.where(rest > lost + 10 * _EPS * square, rest, 0.0) / noise**2).sum()
    eigenvalues, explained = eigenvalues / noise[:, None] ** 2, explained / noise[:, None] ** 2
    penalty, residual, _ = posterior._balance()
    count, weights = sums.points * k, posterior.mean.numel()

    def value(log_tau: Tensor, log_sigma: Tensor) -> Tensor:
        t, s = log_tau[..., None, None], log_sigma[..., None, None]
        pivots = eigenvalues * torch.exp(-2 * s) + torch.exp(t)
        if posterior.at_given_weights:
            misfit = residual * torch.exp(-2 * log_sigma) + penalty * torch.exp(log_tau)
        else:
            withheld = (explained * torch.exp(t - 2 * s) / pivots).sum((-2, -1))
            misfit = rest * torch.exp(-2 * log_sigma) + withheld
        return 0.5 * (weights * log_tau - misfit - pivots.log().sum((-2, -1))) - count * log_sigma

    total = (square / noise**2).sum().clamp_min(residual * posterior.at_given_weights)
    return value, 0.5 * (total / count).log().item(), eigenvalues.max().log().item()


def _directions(gram: Tensor, cross: Tensor, root: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Eigenvalues of T^-1/2 G T^-1/2; how much of y'y is explained along each, (k, p); what of that is rounding.

    Through the Cholesky factor of G where it has one, which stands features of very different scales; directly where
    G is singular.
    """
    factor, info = torch.linalg.cholesky_ex(gram)
    share = factor.diagonal(dim1=1, dim2=2) ** 2 / gram.diagonal(dim1=1, dim2=2)
    if not info.any() and share.min() > 1e-8:
        back = torch.linalg.solve_triangular(factor, torch.diag(root).expand_as(factor), upper=False)
        inverse, vectors = torch.linalg.eigh(back @ back.mT)
        along = torch.linalg.solve_triangular(factor, cross.T[..., None], upper=False)
        return 1 / inverse, (vectors.mT @ along)[..., 0] ** 2, torch.zeros(len(cross.T), device="cpu")
    eigenvalues, vectors = torch.linalg.eigh(gram / (root[:, None] * root))
    rounding = len(root) * _EPS * eigenvalues[:, -1:]
    seen = eigenvalues > rounding
    along = (vectors.mT @ (cross / root[:, None]).T[..., None])[..., 0] ** 2
    known = torch.where(seen, eigenvalues, math.inf)
    explained = along / known
    return torch.where(seen, eigenvalues, 0.0), explained, (explained * rounding / known).sum(-1)


def _peaks_of_grid(value: Callable, free: list[bool], rms: float, largest: float) -> list[Tensor]:
    """The best peaks of a coarse grid: sigma from far below the RMS of y to above it, tau around the eigenvalues."""
    axis = {"dtype": torch.float64, "device": "cpu"}
    sigmas = torch.arange(rms - _DEPTH, rms + 2, 0.25, **axis) if free[1] else torch.tensor([0.0], **axis)
    ratios = torch.arange(-_BREADTH, _BREADTH + 0.5, 0.5, **axis)
    taus = [largest - 2 * s + ratios if free[0] else torch.tensor([0.0], **axis) for s in sigmas]
    values = torch.stack([value(t, s.expand_as(t)) for t, s in zip(taus, sigmas, strict=True)])
    row, column = divmod(int(values.argmax()), values.shape[1])
    if free[0] and ratios[column] > 0.8 * _BREADTH:
        raise ValueError(
            "the evidence has no maximum: it rises as prior_precision grows without end, so these features explain "
            "nothing of y; hold it fixed by prior_precision=False, or look for better features"
        )
    if free[1] and sigmas[row] < rms - 0.8 * _DEPTH:
        raise ValueError(
            "the evidence has no maximum: it rises as noise_std falls to 0, so these features explain every point, or "
            "y is too far from zero for float64: subtract its mean, use more points, or hold it by noise_std=False"
        )
    around = torch.nn.functional.max_pool2d(values[None, None], 3, stride=1, padding=1)[0, 0]
    peaks = sorted(torch.nonzero(values == around).tolist(), key=lambda place: -values[tuple(place)].item())
    return [torch.stack([taus[i][j], sigmas[i]]) for i, j in peaks[:4]]


def _slope_and_curvature(value: Callable, theta: Tensor) -> tuple[Tensor, Tensor]:
    """Gradient and negative Hessian."""
    with torch.enable_grad():
        at = theta.clone().requires_grad_()
        (slope,) = torch.autograd.grad(value(at[0], at[1]), at, create_graph=True)
        curvature = torch.stack([torch.autograd.grad(part, at, retain_graph=True)[0] for part in slope])
    return slope.detach(), -curvature


def _newton(value: Callable, free: list[bool], theta: Tensor) -> Tensor | None:
    """Newton's method in the free coordinates, each step halved until the value does not fall; None if it is flat."""
    rows = [i for i in (0, 1) if free[i]]
    for _ in range(100):
        slope, curvature = _slope_and_curvature(value, theta)
        sizes, directions = torch.linalg.eigh(curvature[rows][:, rows])
        step = directions @ ((directions.T @ slope[rows]) / sizes.abs().clamp_min(_FLAT))
        step = step / step.norm().clamp_min(1.0)
        now = value(theta[0], theta[1])
        if slope[rows] @ step <= _EPS * now.abs().clamp_max(1e3):
            break  # what is left to gain is rounding; the value also grows with n and with a small std
        for _ in range(40):
            trial = theta.clone()
            trial[rows] += step
            if value(trial[0], trial[1]) >= now:
                break
            step = step / 2
        else:
            break  # no step rises any more: the maximum, to rounding
        theta = trial
    return theta if sizes[0] >= _FLAT else None
