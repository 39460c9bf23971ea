"""Exercises of notebook 08, Last-layer Laplace."""

import math

import torch

from uqlib import laplace
from uqlib.checks._exercise import Exercise


def _ratio(points, sigma, tau, times=2, prior=1):
    """The factor on the std when every point is counted `times` times, and the prior `prior` times."""
    return math.sqrt((points / sigma**2 + tau) / (times * points / sigma**2 + prior * tau))


def _pairs(posterior):
    """Three pairs of places, so that no single lucky value passes."""
    pairs = ((-0.5, 0.5), (0.0, 0.2), (0.5, -1.5))
    return [tuple(posterior.mean.new_full((1, 1), place) for place in pair) for pair in pairs]


def _joint(form):
    """A function of two places that computes with their variances and covariance."""

    def right(posterior):
        def answer(a, b):
            joint = posterior.joint_cov(torch.cat([a, b]))[0]
            return form(joint[0, 0], joint[0, 1], joint[1, 1])

        return answer

    return right


def _correlation(va, both, vb):
    return both / (va * vb).sqrt()


def _noisy(posterior):
    noise = posterior.noise_std.item() ** 2
    return _joint(lambda va, both, vb: _correlation(va + noise, both, vb + noise))(posterior)


def _phi(posterior, x, scale=1.0):
    with torch.no_grad():
        h = scale * posterior.features(x)
    return torch.cat([h, torch.ones_like(h[:, :1])], dim=1)


def _angle(matrix):
    """A correlation with another matrix in place of the covariance."""

    def wrong(posterior):
        middle = matrix(posterior)

        def answer(a, b):
            left, right = _phi(posterior, a), _phi(posterior, b)
            return left @ middle @ right.T / ((left @ middle @ left.T) * (right @ middle @ right.T)).sqrt()

        return answer

    return wrong


def _scaled(posterior, by=10.0, at=2.0, power=2, total=False):
    """Std at a place with the features multiplied, over the std before: the same as dividing tau, but for the bias."""
    tau = posterior.prior_precision
    prior = (tau[0].item() / by**power, tau[-1].item())
    options = {"noise_std": posterior.noise_std, "features": posterior.features}
    other = laplace.posterior(posterior.statistics, prior_precision=prior, **options)
    place = tau.new_full((1, 1), at)
    name = "total_std" if total else "epistemic_std"
    return (getattr(other.predict(place), name) / getattr(posterior.predict(place), name)).item()


def _stale(posterior):
    """The new features with the old covariance."""
    phi = _phi(posterior, posterior.mean.new_full((1, 1), 2.0), scale=10.0)
    return (phi @ posterior.cov[0] @ phi.T).sqrt().item() / _before(posterior)


def _before(posterior):
    return posterior.predict(posterior.mean.new_full((1, 1), 2.0)).epistemic_std.item()


EXERCISES = {
    "08_1": Exercise(
        numbers={"points": (9, 4, 16, 25), "sigma": (0.5, 0.2, 1.0, 0.25), "tau": (12, 5, 20, 50)},
        right=lambda points, sigma, tau: _ratio(points, sigma, tau),
        wrong=(
            ("copies count: the precision is a sum over points", lambda: 1.0),
            ("the prior was not doubled", lambda points, sigma, tau: _ratio(points, sigma, tau, prior=2)),
            ("that is the ratio of variances", lambda points, sigma, tau: _ratio(points, sigma, tau) ** 2),
            ("upside down: more points, a smaller std", lambda points, sigma, tau: 1 / _ratio(points, sigma, tau)),
            ("twice the points do not halve a std", lambda: 0.5),
            (
                "a point adds 1 / sigma^2, not 1 / sigma",
                lambda points, sigma, tau: _ratio(points, math.sqrt(sigma), tau),
            ),
            (
                "that is the std with the copies: divide by the one without",
                lambda points, sigma, tau: (2 * points / sigma**2 + tau) ** -0.5,
            ),
        ),
        hints=(
            "Write the precision with each point once and with each point twice. Which of its two parts changes?",
            "factor = root of (n / sigma^2 + tau) / (2 n / sigma^2 + tau).",
            "(($points / $sigma**2 + $tau) / (2 * $points / $sigma**2 + $tau)) ** 0.5, which is $right.",
        ),
    ),
    "08_2": Exercise(
        at=_pairs,
        right=_joint(_correlation),
        wrong=(
            ("that is the covariance: divide by both stds", _joint(lambda va, both, vb: both)),
            ("divide by the stds, not by the variances", _joint(lambda va, both, vb: both / (va * vb))),
            ("divide by both stds, not by one variance", _joint(lambda va, both, vb: both / va)),
            ("divide by both stds, not by one variance", _joint(lambda va, both, vb: both / vb)),
            ("the correlation itself, not its square", _joint(lambda va, both, vb: both**2 / (va * vb))),
            (
                "that is the angle between the features: cov belongs in the middle",
                _angle(lambda posterior: torch.eye(len(posterior.mean)).to(posterior.mean)),
            ),
            ("that is with the precision: cov belongs in the middle", _angle(lambda posterior: posterior.precision[0])),
            ("f is the curve, not a new point: leave the noise out", _noisy),
            ("both values come from the same weights: they are not independent", _joint(lambda va, both, vb: 0 * va)),
            ("the same at every pair: use a and b", _joint(lambda va, both, vb: 0 * va + 1)),
            (
                "the same at every pair: use a and b",
                lambda posterior: lambda a, b: _joint(_correlation)(posterior)(0 * a - 0.5, 0 * b + 0.5),
            ),
        ),
        hints=(
            "s^2 at one place is phi^T cov phi. What is the covariance of two places, and what makes it a correlation?",
            "phi(a)^T cov phi(b), over the root of phi(a)^T cov phi(a) times phi(b)^T cov phi(b).",
            "both = lambda a, b: phi_of(a) @ cov @ phi_of(b).T; "
            "correlation = lambda a, b: both(a, b) / (both(a, a) * both(b, b)).sqrt()",
        ),
        tolerance=1e-4,
    ),
    "08_3": Exercise(
        right=lambda posterior: _scaled(posterior),
        wrong=(
            ("the prior did not grow with the features: the functions that it allows did", lambda: 1.0),
            ("not by 10: where data hold the function, the prior has no say", lambda: 10.0),
            ("that is a ratio of variances", lambda posterior: _scaled(posterior) ** 2),
            ("with the features times 10 over before, not before over after", lambda posterior: 1 / _scaled(posterior)),
            ("that is at x = 0, in the data", lambda posterior: _scaled(posterior, at=0.0)),
            ("that is at x = 1, the edge of the data", lambda posterior: _scaled(posterior, at=1.0)),
            (
                "the other way: larger features are a weaker prior, not a stronger one",
                lambda posterior: _scaled(posterior, by=0.1),
            ),
            (
                "tau is one over a variance: features times 10 act as tau over 100, not over 10",
                lambda posterior: _scaled(posterior, power=1),
            ),
            ("that is a ratio of total stds", lambda posterior: _scaled(posterior, total=True)),
            ("fit again: those are the new features with the old covariance", _stale),
            (
                "that is the new std: divide by the std above",
                lambda posterior: _scaled(posterior) * _before(posterior),
            ),
        ),
        hints=(
            "To write the old function, each weight must be ten times smaller. What does tau = 1 then say of it?",
            "Features times 10 with tau = 1 are the old features with tau = 1/100: fit again and compare at x = 2.",
            "laplace.fit((x, y), noise_std=sigma, prior_precision=tau, features=lambda x: 10 * net.features(x)), "
            "then its epistemic std at x = 2 over that of `posterior`.",
        ),
        praise="The prior is on weights, in units of one over a feature.",
    ),
}
