"""From data, or from sums over data, to a posterior."""

import torch
from jaxtyping import Float
from torch import Tensor

from uqlib import _checks
from uqlib.laplace import _arguments
from uqlib.laplace._arguments import Batches, Function, Precision
from uqlib.laplace._factor import cholesky
from uqlib.laplace._posterior import Posterior
from uqlib.laplace._statistics import Statistics, statistics


def fit(
    data: Batches,
    *,
    noise_std: _checks.Scalar | Function,
    prior_precision: Precision = 1.0,
    weights: Float[Tensor, "p k"] | None = None,
    features: Function | None = None,
    bias: bool = True,
) -> Posterior:
    r"""The posterior of a linear head from data: `statistics`, one pass, then `posterior`.

    Parameters
    ----------
    data : (phi, y), or an iterable of such pairs
        As in `statistics`: (n, p) and (n, k), whole or in batches, or with `features` whatever that takes.
    noise_std : number, tensor or callable
        The std of the noise in the units of y, above zero: one for all; (1, k), one for each output; (n, 1) or
        (n, k), one for each point, if `data` is one pair; or a function of x that gives such.
    prior_precision : number, or (number, number)
        tau, one over the variance of the prior on each weight; two numbers: for the weights, and for the bias.
    weights : (p, k)
        Where to expand: the trained head, bias in the last row. None: the exact posterior mean on these features.
    features : callable
        Computes phi from x; remembered, so that `predict` takes x. None: x is phi. Not copied: if the net behind it is
        trained on, fit again.
    bias : bool
        Append a column of ones to phi. Included by default.

    A new object each time: nothing is added to an earlier fit. The net behind `features` is not changed in any way;
    one in training mode whose layers act differently there is refused where it can be seen: when `features` is a
    method of it or the net itself, not a lambda around it. Raises as `statistics` and `posterior`.
    """
    common, per_point = _arguments.split_noise(noise_std)
    sums = statistics(data, features=features, noise_std=per_point, bias=bias)
    return posterior(
        sums,
        noise_std=common,
        prior_precision=prior_precision,
        weights=weights,
        features=features,
        noise_at=None if isinstance(per_point, Tensor) else per_point,
    )


def posterior(
    sums: Statistics,
    *,
    noise_std: _checks.Scalar = 1.0,
    prior_precision: Precision = 1.0,
    weights: Float[Tensor, "p k"] | None = None,
    features: Function | None = None,
    noise_at: Function | None = None,
) -> Posterior:
    """The posterior from sums already made, whole or added up from parts; the arguments are those of `fit`.

    Where the sums hold a std for each point, `noise_std` is a factor on these, and `noise_at` gives them at a new x.
    Raises ValueError for a precision that is not positive definite, naming the pivot, and for weights of another
    shape than (p, k).
    """
    if not isinstance(sums, Statistics):
        raise TypeError(f"sums: expected laplace.Statistics, got {type(sums).__name__}; for data call laplace.fit")
    if noise_at is not None and not sums.per_point:
        raise ValueError("noise_at: these sums hold no std for each point; make them with statistics(noise_std=...)")
    for name, function in (("features", features), ("noise_at", noise_at)):
        if function is not None and not callable(function):
            raise TypeError(f"{name}: expected a function of x, got {type(function).__name__}")
    p, k = sums.cross.shape
    sigma = _arguments.common_noise(noise_std, sums.cross[:1])
    tau = sums.square.new_tensor(_arguments.prior_precisions(prior_precision, p, sums.bias))
    one = len(sums.gram) == 1 and bool((sigma == sigma[:, :1]).all())
    variances = (sigma[0, :1] if one else sigma[0]) ** 2
    factor = cholesky(sums.gram / variances[:, None, None] + torch.diag(tau))
    if weights is None:
        mean = torch.cholesky_solve((sums.cross / sigma**2).T[..., None], factor.expand(k, -1, -1))[..., 0].T
    else:
        _checks.matrix("weights", weights)
        if weights.shape != (p, k):
            raise ValueError(
                f"weights: expected shape {(p, k)}, a row for each of {p - sums.bias} features"
                f"{' and the bias' if sums.bias else ''}, a column for each column of y, got {tuple(weights.shape)}"
            )
        _checks.finite("weights", weights)
        mean = weights.detach().to(sums.cross, copy=True)
    return Posterior(mean, factor, sigma, tau, sums, weights is not None, features, noise_at)
