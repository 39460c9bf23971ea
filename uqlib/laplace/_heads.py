"""Posteriors of the last layer of a net: of its mean, and of mean and log std together."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from uqlib import _checks
from uqlib.laplace._arguments import Batches, Function, Precision, evaluate, pairs, point_std, rows_pair_up, with_bias
from uqlib.laplace._fitting import fit, posterior
from uqlib.laplace._posterior import Posterior
from uqlib.laplace._statistics import Sums
from uqlib.models import MeanNoiseNet
from uqlib.predictive import Predictive


@dataclass(frozen=True, eq=False)
class MeanNoisePosterior:
    r"""Gaussian posterior of a last layer that outputs mean and log std, block diagonal.

    `mean_head` holds the weights of the mean, `log_std_head` those of the log std, each a `Posterior`; features and
    prior are the same, and the blocks have no covariance between them. Only `mean_head` has an evidence that means
    anything: that of the mean, the learnt noise taken as known.
    """

    mean_head: Posterior
    log_std_head: Posterior

    def __repr__(self) -> str:
        p, k = self.mean_head.mean.shape
        return f"MeanNoisePosterior(weights={2 * p}, outputs={k}, points={self.mean_head.statistics.points})"

    def predict(self, x: Tensor, *, plug_in: bool = False) -> Predictive:
        r"""Mean, noise and epistemic std at x, in float64, each (n, k).

        With :math:`\log\sigma \sim \mathcal N(m, v)` under the posterior, the noise is log-normal, and

        .. math:: \mathbb E[\sigma^2] = e^{2m + 2v}, \qquad \text{aleatoric std} = e^{m + v}

        `plug_in=True` leaves v out: the noise std is then e^m, what the net itself says.
        """
        if not isinstance(plug_in, bool):
            raise TypeError(f"plug_in: expected True or False, got {plug_in!r}")
        log_std = self.log_std_head.predict(x)
        spread = 0.0 if plug_in else log_std.epistemic_std**2
        mean = self.mean_head.predict(x, noise_std=1.0)
        return Predictive(mean.mean, torch.exp(log_std.mean + spread), mean.epistemic_std)


@dataclass(frozen=True, eq=False)
class _LearntNoise:
    """The noise std that a head says at x, as it was when the posterior was made."""

    features: Function
    log_std: Tensor
    bias: bool

    def __call__(self, x: Tensor) -> Tensor:
        return self.at(evaluate("features", self.features, x, "x"))

    def at(self, phi: Tensor) -> Tensor:
        return torch.exp(with_bias(phi.to(torch.float64), self.bias) @ self.log_std)


def fit_head(
    net: nn.Module, data: Batches, *, noise_std: _checks.Scalar | Function, prior_precision: Precision = 1.0
) -> Posterior:
    """The posterior of the head of a trained net, expanded at its trained weights: Laplace's method on the last layer.

    `net` has `features(x)` and `head`, a linear layer, and net(x) is head(features(x)), as in `models.MLP`; `data` is
    (x, y) or batches of them, x as the net takes it. The bias is included if the head has one. The other arguments are
    those of `fit`. To expand at the exact posterior mean instead, call `fit(..., features=net.features)`. Weights,
    buffers, modes and flags of the net stay as they are; a net in training mode whose layers act differently there is
    refused.
    """
    features, weights = _split(net)
    options = {"features": features, "weights": weights, "bias": net.head.bias is not None}
    return fit(data, noise_std=noise_std, prior_precision=prior_precision, **options)


def fit_mean_noise(net: nn.Module, data: Batches, *, prior_precision: Precision = 1.0) -> MeanNoisePosterior:
    r"""The posterior of a last layer with outputs mean and log std, by the expected Fisher information.

    For one point with variance v and residual r, the Hessian of the NLL in (mean, log std) has determinant
    :math:`-2 r^2 / v^2`: indefinite unless r = 0. So is the generalised Gauss-Newton matrix, which for a linear head
    is that Hessian. The expected Fisher information, diag(1/v, 2), never is, and has no off-diagonal:

    .. math:: P_\text{mean} = \Phi^\top \mathrm{diag}(1/v) \Phi + T, \qquad P_{\log\sigma} = 2\,\Phi^\top\Phi + T

    (Gauss-Newton and Fisher agree in the natural parameters of the Gaussian.) `net` has `features(x)` and a
    linear `head` of 2k outputs, first the means, then the log stds, or is a `models.MeanNoiseNet`; it is expanded at
    its trained weights and stays as it is.

    Source: Kunstner, Balles & Hennig (2019), section 2, for the two matrices; Immer et al. (2023), section 3.
    """
    inner = net.net if isinstance(net, MeanNoiseNet) else net
    features, weights = _split(inner)
    if weights.shape[1] % 2:
        raise ValueError(f"net: expected 2k outputs (k means, k log stds), got {weights.shape[1]}")
    bias = inner.head.bias is not None
    mean, log_std = weights.chunk(2, dim=1)

    noise = _LearntNoise(features, log_std.clone(), bias)
    of_mean = of_log_std = None
    for x, y in pairs(data):  # one pass: the data may be a generator
        phi = evaluate("features", features, x, "x")
        rows_pair_up(phi, y)
        if y.shape[1] != mean.shape[1]:
            raise ValueError(f"data: y: expected shape {(len(phi), mean.shape[1])}, got {tuple(y.shape)}")
        std = point_std(noise.at(phi), x, *y.shape)
        of_mean, of_log_std = of_mean or Sums(phi, y, std, bias), of_log_std or Sums(phi, y, None, bias)
        of_mean.add(phi, y, std)
        of_log_std.add(phi, y, None)
    common = {"prior_precision": prior_precision, "features": features}
    return MeanNoisePosterior(
        posterior(of_mean.result(), weights=mean, noise_at=noise, **common),
        posterior(of_log_std.result(), noise_std=math.sqrt(0.5), weights=log_std, **common),
    )


def _split(net: nn.Module) -> tuple[Function, Tensor]:
    """The feature function and a copy of the head's weights, (p, k), bias last, in float64."""
    head, features = getattr(net, "head", None), getattr(net, "features", None)
    if not (isinstance(net, nn.Module) and isinstance(head, nn.Linear) and callable(features)):
        raise TypeError(
            f"net: expected one with features(x) and a linear head, as models.MLP, got {type(net).__name__}; "
            "for another net call laplace.fit with features=... and weights=..."
        )
    _checks.eval_mode("net", net)  # before the head is read: a normalised weight is computed when it is
    rows = [head.weight.T] if head.bias is None else [head.weight.T, head.bias[None]]
    return features, torch.cat(rows).detach().to(torch.float64)
