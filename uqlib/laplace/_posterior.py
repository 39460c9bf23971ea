"""The Gaussian posterior of a linear head: predictions, samples and the evidence, all in closed form."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from uqlib import _checks
from uqlib.laplace import _arguments
from uqlib.laplace._arguments import Function
from uqlib.laplace._statistics import Statistics
from uqlib.predictive import Predictive

_CHUNK = 8192  # points solved for at a time, so that memory does not grow with their number


@dataclass(frozen=True, eq=False)
class Posterior:
    r"""Gaussian posterior of the weights W, (p, k), of a linear head: outputs are independent given the features.

    .. math:: P_j = \Phi^\top D^{-1} \Phi / \sigma_j^2 + \mathrm{diag}(\tau), \qquad
        w_j \sim \mathcal N\big(m_j,\ P_j^{-1}\big)

    `mean` is (p, k), weights first, bias last; `factor` (m, p, p) holds the lower Cholesky factors of the precisions
    (m = 1 if all outputs share one). `prior_precision` is tau for each weight, (p,); `noise_std` is sigma, (1, k): the
    std of the noise in the units of y, or, with a std for each point, a factor on those (1 unless tuned).
    `at_given_weights` says where the mean comes from: weights handed in (a trained head, as in Laplace's method), or
    the exact posterior mean on these features.
    """

    mean: Float[Tensor, "p k"]
    factor: Float[Tensor, "m p p"]
    noise_std: Float[Tensor, "1 k"]
    prior_precision: Float[Tensor, " p"]
    statistics: Statistics
    at_given_weights: bool
    features: Function | None = None
    noise_at: Function | None = None

    def __repr__(self) -> str:  # stored outputs stay free of tensors
        place = "given weights" if self.at_given_weights else "posterior mean"
        bias = "bias included" if self.statistics.bias else "no bias"
        p, k = self.mean.shape
        return f"Posterior(weights={p}, {bias}, outputs={k}, points={self.statistics.points}, expanded at the {place})"

    @property
    def precision(self) -> Float[Tensor, "m p p"]:
        """The precision matrices P, one shared by all outputs (m = 1) or one for each."""
        return self.factor @ self.factor.mT

    @property
    def cov(self) -> Float[Tensor, "m p p"]:
        """The covariance matrices of the weights, solved for from the factor; for looking at, nothing here uses it."""
        return torch.cholesky_inverse(self.factor)

    @property
    def effective_parameters(self) -> float:
        r"""How many of the weights the data have fixed, rather than the prior; between 0 and the number of weights.

        .. math:: \gamma = \sum_j \big( p - \mathrm{tr}(T P_j^{-1}) \big) = \sum_{ij} (s / \text{noise std})_{ij}^2,
            \qquad T = \mathrm{diag}(\tau)

        The second sum is over the points of the fit and the outputs: for one output and common noise, the mean of s^2
        over the data is sigma^2 gamma / n.

        Source: MacKay (1992), Bayesian interpolation, section 4.
        """
        return self._balance()[2]

    @property
    def log_evidence(self) -> float:
        r"""Laplace's log marginal likelihood of the data, in nats, a sum over points and outputs.

        .. math:: \log p(Y \mid m) - \tfrac12 \sum_j m_j^\top T m_j + \tfrac{k}{2} \log\det T
            - \tfrac12 \sum_j \log\det P_j, \qquad T = \mathrm{diag}(\tau)

        At the posterior mean it is exact for these features. At given weights it is what Laplace's method says there;
        it is lower, by half the squared distance to the posterior mean in units of the posterior.

        Raises ValueError where float64 loses the residuals: y too far from zero in noise stds, or huge weights.

        Source: MacKay (1992), Bayesian interpolation, section 4; Daxberger et al. (2021), equation 7.
        """
        sums, k, variance = self.statistics, self.mean.shape[1], self.noise_std[0] ** 2
        pull, misfit, _ = self._balance()
        log_likelihood = (
            -0.5 * misfit - sums.log_std.sum() - 0.5 * sums.points * torch.log(2 * math.pi * variance).sum()
        )
        log_prior = 0.5 * k * self.prior_precision.log().sum() - 0.5 * pull
        log_det = 2 * self.factor.diagonal(dim1=1, dim2=2).log().sum(1)
        value = (log_likelihood + log_prior - 0.5 * log_det.expand(k).sum()).item()
        lost = torch.finfo(torch.float64).eps * self._cancelled()
        if lost > max(0.01, 1e-6 * abs(value)):
            raise ValueError(
                f"log_evidence: rounding may cost {lost:.1g} nats: y is too far from zero in noise stds, or features "
                "are collinear; subtract the mean of y, standardise the features, or look at noise_std"
            )
        return value

    def _balance(self) -> tuple[float, float, float]:
        """Over all outputs: tau-weighted squares of the weights, squared residuals in noise stds, and gamma.

        gamma, the effective number of parameters, is how many weights the data have fixed: p - trace(T P^-1).
        """
        sums, w, k = self.statistics, self.mean, self.mean.shape[1]
        variance = self.noise_std[0] ** 2
        pull = (self.prior_precision[:, None] * w**2).sum()
        fitted = torch.einsum("pj,jpq,qj->j", w, sums.gram.expand(k, -1, -1), w)
        misfit = ((sums.square - 2 * (w * sums.cross).sum(0) + fitted) / variance).sum()
        root = torch.diag(self.prior_precision.sqrt()).expand(len(self.factor), -1, -1)
        white = torch.linalg.solve_triangular(self.factor, root, upper=False)
        left_to_prior = white.square().sum((1, 2)).expand(k).sum()
        return pull.item(), misfit.item(), (w.numel() - left_to_prior).item()

    def _cancelled(self) -> float:
        """The size of what cancels in the misfit, in units of the noise variance."""
        sums, w = self.statistics, self.mean.abs()
        fitted = torch.einsum("pj,jpq,qj->j", w, sums.gram.abs().expand(w.shape[1], -1, -1), w)
        return ((sums.square + 2 * (w * sums.cross.abs()).sum(0) + fitted) / self.noise_std[0] ** 2).sum().item()

    def predict(self, x: Tensor, *, noise_std: _checks.Scalar | None = None) -> Predictive:
        r"""Mean, noise and epistemic std at x, in float64, each (n, k).

        .. math:: \mu = m^\top \phi(x), \qquad s^2 = \phi(x)^\top P^{-1} \phi(x)

        `x` is what `features` takes, or phi itself, (n, p) without the column of ones. `noise_std` replaces the noise
        of the fit, a number, (n, 1) or (n, k), and is required where each point had its own std as a tensor: what the
        noise is at x, nobody has said.
        """
        phi = self._phi(x)
        s = torch.cat([self._whitened(part).square().sum(1).sqrt().T for part in phi.split(_CHUNK)])
        return Predictive(
            phi @ self.mean, self._noise(noise_std, x, len(phi)), s.expand(-1, self.mean.shape[1]).clone()
        )

    def joint_cov(self, x: Tensor) -> Float[Tensor, "k n n"]:
        r"""Covariance of the function between all pairs of points in x, for each output; noise not included.

        .. math:: \mathrm{cov}\big(f(x), f(x')\big) = \phi(x)^\top P^{-1} \phi(x')
        """
        white = self._whitened(self._phi(x))
        return (white.mT @ white).expand(self.mean.shape[1], -1, -1).clone()

    def sample_weights(self, count: int, generator: torch.Generator) -> Float[Tensor, "{count} p k"]:
        r"""Draws of the weights: :math:`m + L^{-\top} \varepsilon`, where :math:`L L^\top = P`.

        Drawn on the CPU from `generator`, then moved, so that every device sees the same numbers.
        """
        shape = (_checks.count("count", count), *self.mean.shape)
        noise = torch.randn(shape, generator=_checks.cpu_generator(generator), dtype=torch.float64, device="cpu")
        noise = noise.to(self.mean.device).permute(2, 1, 0)  # outputs first, draws last
        factor = self.factor.expand(shape[2], -1, -1)
        return self.mean + torch.linalg.solve_triangular(factor.mT, noise, upper=True).permute(2, 1, 0)

    def sample_functions(self, x: Tensor, count: int, generator: torch.Generator) -> Float[Tensor, "{count} n k"]:
        """Draws of the function at x without noise, one draw of the weights each: as smooth as the features."""
        return self._phi(x) @ self.sample_weights(count, generator)

    def _phi(self, x: Tensor) -> Tensor:
        phi = _arguments.evaluate("features", self.features, x, "x").detach()
        width = len(self.mean) - self.statistics.bias
        if phi.shape[1] != width:
            raise ValueError(f"phi: expected shape (n, {width}), got {tuple(phi.shape)}; the ones are added here")
        if isinstance(x, Tensor) and x.ndim and len(phi) != len(x):
            raise ValueError(f"features(x): expected a row for each of {len(x)} points, got {len(phi)}")
        if phi.device != self.mean.device:
            raise ValueError(f"phi is on {phi.device} but the posterior is on {self.mean.device}: move x with .to(...)")
        _checks.finite("phi", phi)
        return _arguments.with_bias(phi.to(torch.float64), self.statistics.bias)

    def _whitened(self, phi: Tensor) -> Tensor:
        """L^-1 phi^T, (m, p, n): its columns have the epistemic std as length."""
        return torch.linalg.solve_triangular(self.factor, phi.T.expand(len(self.factor), -1, -1), upper=False)

    def _noise(self, noise_std: _checks.Scalar | None, x: Tensor, points: int) -> Tensor:
        shape = (points, self.mean.shape[1])
        if noise_std is None and not self.statistics.per_point:
            return self.noise_std.expand(shape).clone()
        if noise_std is None and self.noise_at is None:
            raise ValueError(
                "noise_std: each point of the fit had its own; say what it is at x: predict(x, noise_std=...)"
            )
        if noise_std is None:
            return self.noise_std * _arguments.point_std(self.noise_at, x, *shape)
        if isinstance(noise_std, Tensor) and noise_std.ndim:
            return _arguments.point_std(noise_std, x, *shape).expand(shape)
        return self.mean.new_full(shape, _checks.positive_number("noise_std", _arguments.number(noise_std)))
