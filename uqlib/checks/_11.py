"""Exercises of notebook 11, Is it calibrated?"""

import math

from uqlib.checks._exercise import Exercise


def _share(condition):
    return lambda: lambda u, level: condition(u, level).double().mean()


def _held(said, true, edge=1.959964):
    """Coverage of `edge` claimed stds where the noise has another std."""
    return math.erf(edge * said / true / math.sqrt(2))


def _rms(quiet, loud):
    return math.sqrt((quiet**2 + loud**2) / 2)


def _both(said, quiet, loud, **edge):
    return (_held(said, quiet, **edge) + _held(said, loud, **edge)) / 2


EXERCISES = {
    "11_1": Exercise(
        numbers={"points": (200, 100, 400, 1000), "level": (0.95, 0.9, 0.8)},
        right=lambda points, level: math.sqrt(level * (1 - level) / points),
        wrong=(
            ("that is the variance: take the root", lambda points, level: level * (1 - level) / points),
            ("the root of n, not n", lambda points, level: math.sqrt(level * (1 - level)) / points),
            (
                "that is the std of the number of points inside: divide by n for the share",
                lambda points, level: math.sqrt(points * level * (1 - level)),
            ),
            ("as a share, not in per cent", lambda points, level: 100 * math.sqrt(level * (1 - level) / points)),
            ("that is the std of one point, in or out: you have n", lambda level: math.sqrt(level * (1 - level))),
            ("one point in or out has a std, too: its level is missing", lambda points: 1 / math.sqrt(points)),
            ("1 / (2 sqrt(n)) is for a level of one half; near 1 it is less", lambda points: 0.5 / math.sqrt(points)),
            ("level (1 - level), not the level alone", lambda points, level: math.sqrt(level / points)),
            ("level (1 - level), not 1 - level alone", lambda points, level: math.sqrt((1 - level) / points)),
            (
                "one standard error is asked for, not 1.96 of them",
                lambda points, level: 1.96 * math.sqrt(level * (1 - level) / points),
            ),
        ),
        hints=(
            "Each point is inside or not, as a coin lies heads up or not. How does a share of n coins scatter?",
            "standard error = sqrt(level (1 - level) / n).",
            "math.sqrt($level * (1 - $level) / $points), which is $right.",
        ),
        tolerance=0.012,
        praise="A share within two of these of the level is no news.",
    ),
    "11_2": Exercise(
        at=lambda u: [(u, 0.8), (u, 0.3), (u**2, 0.6)],
        right=_share(lambda u, level: (u - 0.5).abs() <= level / 2),
        wrong=(
            ("that is one-sided: the interval is central", _share(lambda u, level: u <= level)),
            ("that is one-sided: the interval is central", _share(lambda u, level: u >= 1 - level)),
            ("those are the misses", _share(lambda u, level: (u - 0.5).abs() > level / 2)),
            ("half of the level on each side of 0.5", _share(lambda u, level: (u - 0.5).abs() <= level)),
            ("an interval has two ends: below 0.5, too", _share(lambda u, level: (u >= 0.5) & (u <= 0.5 + level / 2))),
            ("1 - level is outside, half of it at each end", _share(lambda u, level: (u >= 1 - level) & (u <= level))),
            ("central: around u = 0.5, not around 0", _share(lambda u, level: u.abs() <= level / 2)),
            ("every point came out inside: u lies between 0 and 1, and is no z", _share(lambda u, level: u <= 1)),
            (
                "a count: divide by the number of points",
                lambda: lambda u, level: ((u - 0.5).abs() <= level / 2).double().sum(),
            ),
            (
                "as a share, not in per cent",
                lambda: lambda u, level: 100 * ((u - 0.5).abs() <= level / 2).double().mean(),
            ),
            ("that is the level itself: count the points", lambda: lambda u, level: level),
        ),
        hints=(
            "Which u has a target at the lower end of the central interval? At the upper end?",
            "Inside means (1 - level) / 2 <= u <= (1 + level) / 2, or |u - 0.5| <= level / 2.",
            "lambda u, level: ((u - 0.5).abs() <= level / 2).double().mean()",
        ),
        tolerance=0.002,
        praise="Calibration needs u alone, not the mean and the std.",
    ),
    "11_3": Exercise(
        numbers={"quiet": (0.1, 0.05, 0.12, 0.15), "loud": (0.3, 0.4, 0.45, 0.5)},
        right=lambda quiet, loud: _both(_rms(quiet, loud), quiet, loud),
        wrong=(
            ("two Gaussians mixed are no Gaussian: count in each half", lambda: 0.95),
            ("variances average, stds do not", lambda quiet, loud: _both((quiet + loud) / 2, quiet, loud)),
            ("that is the loud half alone", lambda quiet, loud: _held(_rms(quiet, loud), loud)),
            ("that is the quiet half alone", lambda quiet, loud: _held(_rms(quiet, loud), quiet)),
            (
                "variances average; the RMS has the root of their mean, not of their sum",
                lambda quiet, loud: _both(_rms(quiet, loud) * math.sqrt(2), quiet, loud),
            ),
            (
                "1.645 is one-sided: two sides leave 0.025 each",
                lambda quiet, loud: _both(_rms(quiet, loud), quiet, loud, edge=1.644854),
            ),
            (
                "upside down: the edge lies at 1.96 claimed stds; how many true ones is that?",
                lambda quiet, loud: (_held(quiet, _rms(quiet, loud)) + _held(loud, _rms(quiet, loud))) / 2,
            ),
        ),
        hints=(
            "The interval has the same width everywhere. How many true stds is its edge away in each half?",
            "Average over both halves the probability that |z| <= 1.96 RMS / (true std), z ~ N(0, 1).",
            "With rms = sqrt(($quiet^2 + $loud^2) / 2): the mean of "
            "math.erf(1.96 * rms / std / math.sqrt(2)) over both stds, which is $right.",
        ),
        tolerance=0.005,
        praise="Below 0.95, although the variance is right on average.",
    ),
}
