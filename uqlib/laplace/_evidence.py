"""The prior precision and the noise std at which the evidence is largest: one eigendecomposition, no refits."""

import math

import torch
from torch import Tensor

from uqlib.laplace._fitting import posterior as posterior_at
from uqlib.laplace._posterior import Posterior

_DEPTH = 18.0  # e^-18 = 1.5e-8: below that share of y, residuals in float64 are rounding
_BREADTH = 35.0  # prior precisions from e^-35 to e^35 times the largest eigenvalue
_FLAT = 1e-6  # least curvature, per squared log unit, of a maximum that is one


def maximise_evidence(posterior: Posterior, *, prior_precision: bool = True, noise_std: bool = True) -> Posterior:
    r"""The posterior at the prior precision and the noise std that maximise `log_evidence`; a new one.

    .. math:: \max_{\tau, \sigma}\ \log p(Y \mid \tau, \sigma)

    `prior_precision=False` or `noise_std=False` holds that one fixed. What differs in the given posterior keeps its
    ratio: two prior precisions (weights and bias), noise stds of outputs or of points are multiplied by one factor.
    The expansion point stays what it was: given weights stay put, the posterior mean moves along.

    With the eigenvalues of :math:`T^{-1/2} \Phi^\top D^{-1} \Phi\, T^{-1/2}` the evidence is a sum over directions,
    so a new tau or sigma costs p operations. A coarse grid in the logarithms finds the region, Newton's method the
    maximum. At it MacKay's equations hold: tau = gamma / (sum of tau-weighted squares), sigma^2 = (sum of squared
    residuals) / (n - gamma), with gamma the effective number of parameters.

    Raises ValueError if there is no maximum inside: if the evidence keeps rising as tau grows (features that explain
    nothing) or as sigma falls (features that explain every point).

    Source: MacKay (1992), Bayesian interpolation, section 4; Bishop (2006), section 3.5.
    """
    if not isinstance(posterior, Posterior):
        raise TypeError(f"posterior: expected a laplace.Posterior, got {type(posterior).__name__}")
    if not (prior_precision or noise_std):
        raise ValueError("nothing to tune: leave prior_precision or noise_std True")
    value, rms, largest = _along_eigenvectors(posterior)
    free = [prior_precision, noise_std]
    log_tau, log_sigma = _newton(value, free, _best_of_grid(value, free, rms, largest))
    sums, tau = posterior.statistics, posterior.prior_precision * math.exp(log_tau)
    return posterior_at(
        sums,
        noise_std=posterior.noise_std * math.exp(log_sigma),
        prior_precision=(tau[0].item(), tau[-1].item()) if sums.bias else tau[0].item(),
        weights=posterior.mean if posterior.at_given_weights else None,
        features=posterior.features,
        noise_at=posterior.noise_at,
    )


def _along_eigenvectors(posterior: Posterior):
    """The evidence, up to a constant, as a function of the logarithms of both factors, and the scale of either."""
    sums, k = posterior.statistics, posterior.mean.shape[1]
    noise, prior = posterior.noise_std[0], posterior.prior_precision
    root = prior.sqrt()
    whitened = sums.gram / (root[:, None] * root)
    eigenvalues, vectors = torch.linalg.eigh(whitened)
    eigenvalues = eigenvalues.clamp_min(0) / noise[:, None] ** 2  # (k, p): each output has its noise
    along = vectors.mT @ (sums.cross / root[:, None]).T[..., None]
    along = (along[..., 0] / noise[:, None] ** 2) ** 2  # squares of Phi^T D^-1 y
    square = (sums.square / noise**2).sum()
    w = posterior.mean
    fitted = torch.einsum("pj,jpq,qj->j", w, sums.gram.expand(k, -1, -1), w)
    residual = ((sums.square - 2 * (w * sums.cross).sum(0) + fitted) / noise**2).sum()
    penalty = (prior[:, None] * w**2).sum()
    count, weights = sums.points * k, w.numel()

    def value(log_tau: Tensor, log_sigma: Tensor) -> Tensor:
        t, s = log_tau[..., None, None], log_sigma[..., None, None]
        pivots = eigenvalues * torch.exp(-2 * s) + torch.exp(t)
        if posterior.at_given_weights:
            misfit = residual * torch.exp(-2 * log_sigma) + penalty * torch.exp(log_tau)
        else:
            explained = (along * torch.exp(-4 * s) / pivots).sum((-2, -1))
            misfit = square * torch.exp(-2 * log_sigma) - explained
        return 0.5 * (weights * log_tau - misfit - pivots.log().sum((-2, -1))) - count * log_sigma

    rms = 0.5 * math.log(max(square.item(), residual.item()) / count)
    return value, rms, math.log(eigenvalues.max().item())


def _best_of_grid(value, free: list[bool], rms: float, largest: float) -> Tensor:
    """The best of a coarse grid: sigma from far below the RMS of y to above it, tau around the eigenvalues."""
    sigmas = torch.arange(rms - _DEPTH, rms + 2, 0.25, dtype=torch.float64) if free[1] else torch.zeros(1).double()
    ratios = torch.arange(-_BREADTH, _BREADTH + 0.5, 0.5, dtype=torch.float64)
    found = []
    for s in sigmas:  # one sigma at a time, so that memory stays small with many features
        taus = largest - 2 * s + ratios if free[0] else torch.zeros(1).double()
        values = value(taus, s.expand_as(taus))
        best = int(values.argmax())
        found.append((values[best].item(), best, s, taus[best]))
    place = max(range(len(found)), key=lambda i: found[i][0])
    _, ratio, s, t = found[place]
    if free[0] and ratios[ratio] > 0.8 * _BREADTH:
        raise ValueError(
            "the evidence has no maximum: it rises as prior_precision grows without end, so these features explain "
            "nothing of y; hold it fixed by prior_precision=False, or look for better features"
        )
    if free[1] and s < rms - 0.8 * _DEPTH:
        raise ValueError(
            "the evidence has no maximum: it rises as noise_std falls to 0, so these features explain every point; "
            "hold it fixed by noise_std=False, or use more points or fewer features"
        )
    return torch.stack([t, s])


def _newton(value, free: list[bool], theta: Tensor) -> list[float]:
    """Newton's method in the free coordinates, each step halved until the value does not fall."""
    rows = torch.tensor([i for i in (0, 1) if free[i]])
    for _ in range(100):
        with torch.enable_grad():
            at = theta.clone().requires_grad_()
            now = value(at[0], at[1])
            (slope,) = torch.autograd.grad(now, at, create_graph=True)
            curvature = torch.stack([torch.autograd.grad(part, at, retain_graph=True)[0] for part in slope])
        slope, curvature = slope.detach()[rows], -curvature[rows][:, rows]
        sizes, directions = torch.linalg.eigh(curvature)
        step = directions @ ((directions.T @ slope) / sizes.abs().clamp_min(_FLAT))
        step = step / max(1.0, step.norm().item())
        for _ in range(40):
            trial = theta.clone()
            trial[rows] += step
            if value(trial[0], trial[1]) >= now.detach():
                break
            step = step / 2
        else:
            break  # no step rises any more: the maximum, to rounding
        theta = trial
        if step.abs().max() < 1e-12:
            break
    if sizes[0] < _FLAT:
        raise ValueError("the evidence has no maximum here: it is flat; hold prior_precision or noise_std fixed")
    return theta.tolist()
