"""Exercises of notebook 06, A Bayesian straight line."""

import math

from uqlib.checks._exercise import Exercise

_SIGMA, _TAU = 0.2, 1.0


def _covs(cov):
    """The covariance of the notebook and two others, so that no single lucky value passes."""
    return [(cov,), *((cov.new_tensor(one),) for one in ([[0.04, 0.03], [0.03, 0.09]], [[0.25, -0.1], [-0.1, 0.16]]))]


def _bent(form):
    """A function of cov that computes with its entries: variance of the slope, covariance, variance of the rest."""
    return lambda: lambda cov: form(cov[0, 0], cov[0, 1], cov[1, 1])


def _variances(times, place, at, more=1):
    """s^2 at `place`, before and after `more` points at `at`, when `times` points at zero have been measured."""
    rest = 1 / (times / _SIGMA**2 + _TAU)  # points at zero tell about the intercept alone
    here, there, between = (a * b / _TAU + rest for a, b in ((place, place), (at, at), (place, at)))
    return here, here - between**2 / (there + _SIGMA**2 / more)


def _factor(times, place, at, more=1, noise=0.0):
    before, after = _variances(times, place, at, more)
    return math.sqrt((after + noise) / (before + noise))


EXERCISES = {
    "06_1": Exercise(
        numbers={"tau": (25, 9, 16, 50), "sigma": (0.2, 0.1, 0.25, 0.5), "points": (4, 2, 6, 9)},
        right=lambda tau, sigma, points: (points / sigma**2 + tau) ** -0.5,
        wrong=(
            ("that is the variance: take the root", lambda tau, sigma, points: 1 / (points / sigma**2 + tau)),
            ("that is the precision: one over its root is the std", lambda tau, sigma, points: points / sigma**2 + tau),
            ("sigma / sqrt(n) forgets the prior", lambda sigma, points: sigma / math.sqrt(points)),
            ("the precision is a sum over points, not a mean", lambda tau, sigma: (1 / sigma**2 + tau) ** -0.5),
            ("a point adds 1 / sigma^2, not 1 / sigma", lambda tau, sigma, points: (points / sigma + tau) ** -0.5),
            (
                "precisions add here; you added two stds",
                lambda tau, sigma, points: sigma / math.sqrt(points) + tau**-0.5,
            ),
            (
                "precisions add here; you added two variances",
                lambda tau, sigma, points: math.sqrt(sigma**2 / points + 1 / tau),
            ),
            (
                "that is the total std: the noise of the next point is not asked for",
                lambda tau, sigma, points: math.sqrt(sigma**2 + 1 / (points / sigma**2 + tau)),
            ),
        ),
        hints=(
            "Each point adds the same to the precision. How much, if phi = 1? And what was there before the first?",
            "precision = n / sigma^2 + tau; the std is one over its root.",
            "($points / $sigma**2 + $tau) ** -0.5, which is $right.",
        ),
    ),
    "06_2": Exercise(
        at=_covs,
        right=_bent(lambda slope, both, rest: 2 * slope.sqrt()),
        wrong=(
            ("that is the variance: take the root", _bent(lambda slope, both, rest: 4 * slope)),
            (
                "f(1) and f(-1) share their weights: they are not independent",
                _bent(lambda slope, both, rest: (2 * slope + 2 * rest).sqrt()),
            ),
            (
                "you subtracted two stds: subtract the features first",
                _bent(lambda slope, both, rest: (slope + 2 * both + rest).sqrt() - (slope - 2 * both + rest).sqrt()),
            ),
            (
                "you added two stds: subtract the features first",
                _bent(lambda slope, both, rest: (slope + 2 * both + rest).sqrt() + (slope - 2 * both + rest).sqrt()),
            ),
            ("the places are 2 apart, not 1", _bent(lambda slope, both, rest: slope.sqrt())),
            ("the distance 2 enters squared in the variance", _bent(lambda slope, both, rest: (2 * slope).sqrt())),
            ("that is f(1) + f(-1): subtract the features", _bent(lambda slope, both, rest: 2 * rest.sqrt())),
            (
                "f is the line, not a new point: leave the noise out",
                _bent(lambda slope, both, rest: (4 * slope + 2 * _SIGMA**2).sqrt()),
            ),
            ("that is f(1) alone", _bent(lambda slope, both, rest: (slope + 2 * both + rest).sqrt())),
        ),
        hints=(
            "f(1) - f(-1) is a weighted sum of the two weights. Which weights of the sum: what is phi(1) - phi(-1)?",
            "phi(1) - phi(-1) = (2, 0), and the variance of a difference d^T w is d^T Sigma d.",
            "lambda cov: 2 * cov[0, 0].sqrt()",
        ),
    ),
    "06_3": Exercise(
        numbers={"times": (10, 5, 20), "place": (3, 2, 4)},
        right=lambda times, place: _factor(times, place, place),
        wrong=(
            (  # the two are 0.2000 and 0.1996
                "one measurement at x = 1 gives that; so does the std after one at the right place, undivided",
                lambda times, place: _factor(times, place, 1),
            ),
            ("that is nine measurements at x = 1", lambda times, place: _factor(times, place, 1, more=9)),
            ("that is one more measurement at x = 0", lambda times, place: _factor(times, place, 0)),
            ("that is a ratio of variances", lambda times, place: _factor(times, place, place) ** 2),
            ("after over before: below 1", lambda times, place: 1 / _factor(times, place, place)),
            (
                "that is a ratio of total stds: s is the doubt about the line",
                lambda times, place: _factor(times, place, place, noise=_SIGMA**2),
            ),
            ("that is the share taken away: after over before", lambda times, place: 1 - _factor(times, place, place)),
        ),
        hints=(
            "s does not look at y. So you can predict before you measure: with which x, and with any y?",
            "factor = s($place) from $times points at 0 and one at $place, over s($place) from the $times alone.",
            "Call predict with the places for x and for y, once with $place among them, once without: about $right.",
        ),
        praise="A point far out is a long lever on the slope.",
    ),
}
