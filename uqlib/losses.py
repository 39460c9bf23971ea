"""Losses as means over points. Shapes are checked, never broadcast; std or log std is named by the caller.

A std may be a scalar (one for all) or a tensor of exactly the mean's shape. The checks of values (finite, positive)
live where they cost nothing: a number is checked here, tensors by `training.fit`, which stops at the first loss that
is not finite. So every loss runs under `torch.func.vmap`.
"""

import math
from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor

from uqlib import _checks

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def squared_error(mean: Float[Tensor, "n k"], y: Float[Tensor, "n k"]) -> Float[Tensor, ""]:
    r"""Mean over points of the squared error, summed over outputs, in squared units of y.

    .. math:: \frac1n \sum_i \lVert y_i - \mu_i \rVert^2

    Raises TypeError or ValueError if the shapes (both are named), dtypes or devices differ.
    """
    _pair(mean, y)
    return _mean_of_sums((y - mean) ** 2)


def gaussian_nll(
    mean: Float[Tensor, "n k"],
    y: Float[Tensor, "n k"],
    *,
    std: _checks.Scalar | None = None,
    log_std: _checks.Scalar | None = None,
) -> Float[Tensor, ""]:
    r"""Mean over points of the Gaussian negative log likelihood, summed over outputs, in nats.

    .. math:: \frac1n \sum_i \sum_j \Big[ \tfrac12 \Big(\frac{y_{ij} - \mu_{ij}}{\sigma_{ij}}\Big)^2
        + \log \sigma_{ij} + \tfrac12 \log 2\pi \Big]

    Give exactly one of `std` (sigma itself, > 0) or `log_std` (its natural logarithm: what a net should output,
    since every real number is allowed); never a variance. Either is a scalar or (n, k). The constant is included,
    so fixed, learnt and input-dependent noise are comparable on one axis. In float32 a log std beyond +-40 counts as
    +-40 (its gradient goes on), since its square would overflow; float64 overflows beyond +-350.

    Raises TypeError or ValueError if shapes, dtypes or devices differ, if both or neither of the two are given, or
    if a std given as a number is not above zero.

    Source: Nix & Weigend (1994), equation 3, with the constant kept.
    """
    return _mean_of_sums(_entries(mean, y, std, log_std)) + mean.shape[1] * HALF_LOG_TWO_PI


def beta_nll(
    mean: Float[Tensor, "n k"], y: Float[Tensor, "n k"], *, log_std: _checks.Scalar, beta: float = 0.5
) -> Float[Tensor, ""]:
    r"""Gaussian NLL with each entry weighted by its own variance to the power beta, the weight held constant.

    .. math:: \frac1n \sum_i \sum_j \lfloor \sigma_{ij}^{2\beta} \rfloor \, \mathrm{NLL}_{ij}

    The floor brackets stop the gradient. beta = 0 is `gaussian_nll`; at beta = 1 the mean is trained as by squared
    error. A training loss, not a score: its value has no units that compare. Raises as `gaussian_nll`, and
    ValueError unless 0 <= beta <= 1.

    Source: Seitzer et al. (2022), equation 5.
    """
    if isinstance(beta, bool) or not isinstance(beta, int | float) or not 0 <= beta <= 1:
        raise ValueError(f"beta: expected a number from 0 to 1, got {beta!r}")
    weight = torch.exp(2 * beta * _bounded(_checks.like("log_std", log_std, mean))).detach()
    return _mean_of_sums(weight * (_entries(mean, y, None, log_std) + HALF_LOG_TWO_PI))


def log_prior(parameters: Iterable[Tensor], prior_precision: float) -> Float[Tensor, ""]:
    r"""Log density of all parameters under independent N(0, 1/tau), a SUM over the P parameters, in nats.

    .. math:: \log p(w) = -\tfrac{\tau}{2} \sum_j w_j^2 + \tfrac{P}{2} \log \frac{\tau}{2\pi}

    A sum, as the summed NLL is: divide by n and subtract it from a mean loss. Raises ValueError if there are no
    parameters or tau is not above zero.

    Source: MacKay (1992), Bayesian interpolation.
    """
    tau = _checks.positive_number("prior_precision", prior_precision)
    tensors = list(parameters) if isinstance(parameters, Iterable) else [parameters]
    if not tensors:
        raise ValueError("parameters: expected at least one tensor, got none; a generator is empty when used twice")
    for i, p in enumerate(tensors):
        if not (isinstance(p, Tensor) and p.is_floating_point()):
            raise TypeError(f"parameters: expected floating tensors, got {type(p).__name__} at place {i}")
    squares = sum((p**2).sum() for p in tensors)
    return -0.5 * tau * squares + 0.5 * sum(p.numel() for p in tensors) * math.log(tau / (2 * math.pi))


def _pair(mean: Tensor, y: Tensor) -> None:
    _checks.matrix("mean", mean)
    _checks.matrix("y", y)
    _checks.same_shape("mean", mean, "y", y)
    _checks.same_kind("y", y, "mean", mean)


def _mean_of_sums(entries: Tensor) -> Tensor:
    """Mean over points of the sum over outputs."""
    return entries.mean() if entries.shape[1] == 1 else entries.sum(-1).mean()


def _entries(mean: Tensor, y: Tensor, std: object, log_std: object) -> Tensor:
    """The NLL of every entry, (n, k), less the constant one half log 2 pi, with the std in whichever form it came."""
    _pair(mean, y)
    if (std is None) == (log_std is None):
        raise ValueError("give exactly one of std=... or log_std=...")
    if log_std is None:
        if not isinstance(std, Tensor):
            _checks.positive_number("std", std)
        sigma = _checks.like("std", std, mean)
        z, log_sigma = (y - mean) / sigma, sigma.log()
    else:
        log_sigma = _bounded(_checks.like("log_std", log_std, mean))
        z = (y - mean) * torch.exp(-log_sigma)
    return torch.addcmul(log_sigma, z, z, value=0.5)  # log sigma + z^2 / 2 in one operation: tiny nets feel each one


def _bounded(log_std: Tensor) -> Tensor:
    """A log std in float32 held within what can be squared, its gradient as if it were not held: so it comes back."""
    if log_std.dtype is torch.float64:
        return log_std
    limit = math.log(torch.finfo(log_std.dtype).max) * 0.45
    return log_std + (log_std.clamp(-limit, limit) - log_std).detach()
