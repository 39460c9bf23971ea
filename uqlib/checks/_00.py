"""Exercises of notebook 00, Reading a prediction."""

import math

import torch

from uqlib.checks._exercise import Exercise


def _point(below):
    """The point of a standard normal with probability `below(level)` below it, as a function of the level."""
    return lambda level: torch.special.ndtri(torch.tensor(below(level), dtype=torch.float64))


def _two_sided(level):
    return _point(lambda level: (1 + level) / 2)(level)


EXERCISES = {
    "00_1": Exercise(
        numbers={"aleatoric": (0.2, 0.3, 0.4, 0.5), "epistemic": (0.15, 0.25, 0.35, 0.45)},
        right=lambda aleatoric, epistemic: math.hypot(aleatoric, epistemic / 10) / math.hypot(aleatoric, epistemic),
        wrong=(
            ("only the epistemic part shrinks; the noise stays", lambda: 0.1),
            (
                "stds do not add: add variances, then take the root",
                lambda aleatoric, epistemic: (aleatoric + epistemic / 10) / (aleatoric + epistemic),
            ),
            (
                "that is the ratio of the variances: the band goes with the std",
                lambda aleatoric, epistemic: (aleatoric**2 + (epistemic / 10) ** 2) / (aleatoric**2 + epistemic**2),
            ),
            (
                "before divided by after: upside down",
                lambda aleatoric, epistemic: math.hypot(aleatoric, epistemic) / math.hypot(aleatoric, epistemic / 10),
            ),
            (
                "a factor is wanted: the total std after, divided by that before",
                lambda aleatoric, epistemic: (
                    1 - math.hypot(aleatoric, epistemic / 10) / math.hypot(aleatoric, epistemic)
                ),
            ),
            (
                "a factor is wanted: the total std after, divided by that before",
                lambda aleatoric, epistemic: math.hypot(aleatoric, epistemic / 10),
            ),
        ),
        hints=(
            "The band is as wide as the total std. Which of its two parts does more data shrink?",
            "Factor = total std after / total std before, with total std = root of (aleatoric^2 + epistemic^2).",
            "math.hypot($aleatoric, $epistemic / 10) / math.hypot($aleatoric, $epistemic), which is $right.",
        ),
    ),
    "00_2": Exercise(
        at=lambda: [(0.8,), (0.5,), (0.95,)],
        right=lambda: _two_sided,
        wrong=(
            (
                "one-sided: 80 % lie below this z, but only 60 % between -z and z",
                lambda: _point(lambda level: level),
            ),
            ("that is -z, the lower end: z is positive", lambda: _point(lambda level: (1 - level) / 2)),
            ("that is the whole width, from -z to z", lambda: lambda level: 2 * _two_sided(level)),
            (
                "ndtri takes a probability: half of the level is the share between 0 and z, not what lies below z",
                lambda: _point(lambda level: level / 2),
            ),
            (
                "z does not grow in proportion to the level: 1.96 belongs to 0.95 only",
                lambda: lambda level: 1.96 * level / 0.95,
            ),
        ),
        hints=(
            "How much lies below -z, and how much above z, if the level lies between them?",
            "Half of what is outside lies above z, so 1 - (1 - level) / 2 = (1 + level) / 2 lies below it.",
            "lambda level: torch.special.ndtri(torch.tensor((1 + level) / 2))",
        ),
        tolerance=1e-3,
    ),
    "00_3": Exercise(
        numbers={"covered": (88, 87, 86, 85, 84)},
        right=lambda covered: (0.95 - covered / 100) / math.sqrt(0.95 * 0.05 / 100),
        wrong=(
            ("count how many below: a positive number", lambda covered: (covered / 100 - 0.95) / math.sqrt(0.000475)),
            (
                "use p = 0.95 in the error: would this count be surprising if 0.95 held?",
                lambda covered: (0.95 - covered / 100) / math.sqrt(covered / 100 * (1 - covered / 100) / 100),
            ),
            (
                "that error is the one of a single point: divide p (1 - p) by n, under the root",
                lambda covered: (0.95 - covered / 100) / math.sqrt(0.95 * 0.05),
            ),
            (
                "divided by the variance of the share: take the root",
                lambda covered: (0.95 - covered / 100) / (0.95 * 0.05 / 100),
            ),
            ("that is the gap alone: divide it by the standard error", lambda covered: 0.95 - covered / 100),
            ("that is the gap in per cent: divide it by the standard error", lambda covered: 95 - covered),
        ),
        hints=(
            "Suppose that the model is perfect. How far from 0.95 does its coverage of 100 points lie, as a rule?",
            "Standard error = root of p (1 - p) / n, with p = 0.95 and n = 100; divide the gap by it.",
            "(0.95 - $covered / 100) / math.sqrt(0.95 * 0.05 / 100), which is $right.",
        ),
        tolerance=0.02,
        praise="More than three: do not believe it.",
    ),
}
