"""Exercises of notebook 10, Choosing the prior and the noise."""

import math

import torch

from uqlib.checks._exercise import Exercise


def _one_point():
    """y, phi, tau, sigma: four numbers at a time, as tensors."""
    cases = ((0.3, 0.5, 4.0, 0.2), (-1.0, 2.0, 0.5, 0.4), (0.8, -1.5, 9.0, 0.1))
    return [tuple(torch.tensor(value, dtype=torch.float64) for value in case) for case in cases]


def _density(variance, mean=lambda y, phi, tau, sigma: 0.0, share=1.0):
    """The Gaussian log density of y with this variance and mean; `share` of the constant is kept."""

    def answer():
        def log_density(y, phi, tau, sigma):
            v = variance(phi, tau, sigma)
            misfit = (y - mean(y, phi, tau, sigma)) ** 2 / v
            return -0.5 * (misfit + v.log() + share * math.log(2 * math.pi))

        return log_density

    return answer


def _best(y, phi, tau, sigma):
    """The prediction at the posterior mean of the weight."""
    return phi * (phi * y / sigma**2) / (phi**2 / sigma**2 + tau)


EXERCISES = {
    "10_1": Exercise(
        numbers={
            "points": (50, 40, 60, 80),
            "squares": (0.9, 0.7, 1.2, 1.6),
            "weights": (11, 15, 21),
            "gamma": (5, 4, 6, 8),
        },
        right=lambda points, squares, gamma: math.sqrt(squares / (points - gamma)),
        wrong=(
            ("that is the variance: take the root", lambda points, squares, gamma: squares / (points - gamma)),
            (
                "divided by n: the fit has used up gamma points",
                lambda points, squares: (squares / points) ** 0.5,
            ),
            (
                "n - p: only gamma of the weights are settled",
                lambda points, squares, weights: math.sqrt(squares / (points - weights)),
            ),
            (
                "n - 1 is for a mean alone; here it is gamma",
                lambda points, squares: (squares / (points - 1)) ** 0.5,
            ),
            (
                "n + gamma: what the fit has used up is subtracted",
                lambda points, squares, gamma: math.sqrt(squares / (points + gamma)),
            ),
            (
                "the root is of the quotient, not of the sum of squares alone",
                lambda points, squares, gamma: math.sqrt(squares) / (points - gamma),
            ),
        ),
        hints=(
            "The residuals are a little too small: the fit has swallowed some of the noise. How many points' worth?",
            "std^2 = (sum of squared residuals) / (n - gamma).",
            "math.sqrt($squares / ($points - $gamma)), which is $right.",
        ),
        tolerance=0.004,
        praise="With gamma = 0 it is the RMS, with gamma = p the formula of linear regression.",
    ),
    "10_2": Exercise(
        at=_one_point,
        right=_density(lambda phi, tau, sigma: phi**2 / tau + sigma**2),
        wrong=(
            (
                "stds were added: variances of independent parts add",
                _density(lambda phi, tau, sigma: (phi.abs() / tau.sqrt() + sigma) ** 2),
            ),
            ("tau is a precision: the weight's variance is 1 / tau", _density(lambda p, tau, s: p**2 * tau + s**2)),
            ("the weight's variance is 1 / tau, its std the root", _density(lambda p, tau, s: (p / tau) ** 2 + s**2)),
            ("the feature enters the variance squared", _density(lambda phi, tau, s: phi.abs() / tau + s**2)),
            ("the feature multiplies the weight: its square is missing", _density(lambda p, tau, s: 1 / tau + s**2)),
            ("the noise is missing: y is the weight times phi, and noise", _density(lambda p, tau, s: p**2 / tau)),
            ("the prior is missing: the weight was held at zero", _density(lambda p, tau, s: s**2 + 0 * p)),
            (
                "that is the fit alone, at the best weight: the evidence averages over all weights",
                _density(lambda p, tau, s: s**2 + 0 * p, _best),
            ),
            (
                "that is the fit alone, at the weight that explains y: the evidence averages over all weights",
                _density(lambda p, tau, s: s**2 + 0 * p, lambda y, phi, tau, sigma: y),
            ),
            ("keep the constant, one half log 2 pi", _density(lambda p, tau, s: p**2 / tau + s**2, share=0.0)),
        ),
        hints=(
            "y is the sum of two independent Gaussians. What are its mean and its variance, before any data?",
            "y ~ N(0, phi^2 / tau + sigma^2). Its log density is wanted.",
            "lambda y, phi, tau, sigma: torch.distributions.Normal(0, (phi**2 / tau + sigma**2).sqrt()).log_prob(y)",
        ),
        tolerance=1e-4,
        praise="For n points the variance becomes the n x n matrix of the Idea.",
    ),
    "10_3": Exercise(
        numbers={"scale": (100, 10, 1000, 12)},
        right=lambda scale: 1 / scale**2,
        wrong=(
            ("the weights must grow with y, and tau says how large weights are", lambda scale: 1),
            ("a precision is one over a variance: squared", lambda scale: 1 / scale),
            ("upside down: larger weights need a smaller precision", lambda scale: scale**2),
            ("upside down, and not squared: a precision is one over a variance", lambda scale: scale),
            ("one over the root: a precision is one over a variance, which grows squared", lambda scale: scale**-0.5),
        ),
        hints=(
            "The features stay. What must the weights do, for the mean to follow y? What is their prior std then?",
            "tau = 1 / (prior std)^2, and the prior std of the weights grows as y does.",
            "1 / $scale**2, which is $right.",
        ),
        praise="The noise std grows with y, and gamma stays: it has no units.",
    ),
}
