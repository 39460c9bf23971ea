"""Exercises of notebook 04, Why is my loss negative?"""

import math

import torch

from uqlib.checks._exercise import Exercise
from uqlib.losses import HALF_LOG_TWO_PI


def _entropy(std):
    return math.log(std) + HALF_LOG_TWO_PI + 0.5


def _from_s(power, factor):
    """exp(power s) times a factor, as a function of s."""
    return lambda: lambda s: (power * s).exp() * factor


EXERCISES = {
    "04_1": Exercise(
        numbers={"std_in_m": (0.05, 0.03, 0.08, 0.2, 0.4)},
        right=lambda std_in_m: _entropy(100 * std_in_m),
        wrong=(
            ("that is the floor in metres; y is recorded in centimetres", lambda std_in_m: _entropy(std_in_m)),
            (
                "the wrong way: a density per centimetre is lower than one per metre, so the loss is higher",
                lambda std_in_m: _entropy(std_in_m / 100),
            ),
            ("one half log 2 pi is missing", lambda std_in_m: math.log(100 * std_in_m) + 0.5),
            (
                "that is the loss at the peak; a residual is not 0 on average",
                lambda std_in_m: math.log(100 * std_in_m) + HALF_LOG_TWO_PI,
            ),
            (
                "the log of the std, not of the variance",
                lambda std_in_m: 2 * math.log(100 * std_in_m) + HALF_LOG_TWO_PI + 0.5,
            ),
            ("that is the log std alone: two terms are missing", lambda std_in_m: math.log(100 * std_in_m)),
        ),
        hints=(
            "What is the std of the noise in the units in which y is recorded?",
            "Floor = log std + one half log(2 pi e), with the std in the units of y.",
            "math.log(100 * $std_in_m) + 0.5 * math.log(2 * math.pi * math.e), which is $right.",
        ),
        praise="In metres it is lower by log 100, and it may be negative there. The model is the same.",
    ),
    "04_2": Exercise(
        at=lambda: [
            (torch.tensor(b, dtype=torch.float64).log(),) for b in ([[0.159577], [0.3]], [[2.0], [0.01], [1.0]])
        ],
        right=_from_s(1, math.sqrt(math.pi / 2)),
        wrong=(
            ("exp(s) is the mean of |r|, not yet a std", _from_s(1, 1.0)),
            ("exp(s) is no variance: it is a mean of |r|, so take no root", _from_s(0.5, 1.0)),
            ("that is a Laplace's std; the noise is Gaussian", _from_s(1, math.sqrt(2))),
            ("upside down: a Gaussian's E|r| is smaller than its std", _from_s(1, math.sqrt(2 / math.pi))),
            ("that is the variance: take the root", _from_s(2, math.pi / 2)),
            ("the root belongs to pi / 2 alone", _from_s(0.5, math.sqrt(math.pi / 2))),
            ("pi / 2 needs a root", _from_s(1, math.pi / 2)),
            ("that is the log of the std", lambda: lambda s: s + 0.5 * math.log(math.pi / 2)),
        ),
        hints=(
            "Where does the loss with |r| put exp(s)? It is a mean of something. What is that mean for a Gaussian?",
            "exp(s) = E|r| = std sqrt(2 / pi). Solve for the std.",
            "lambda s: s.exp() * math.sqrt(math.pi / 2)",
        ),
    ),
    "04_3": Exercise(
        numbers={"step": (0.01, 0.02, 0.05, 0.1)},
        right=lambda step: math.log(step),
        wrong=(
            ("zero is the least of -log P, not of -log p", lambda: 0.0),
            ("sign: log p is at most -log step, and the NLL is -log p", lambda step: -math.log(step)),
            ("the step is a width, not a std: use that a probability is at most one", lambda step: _entropy(step)),
            (
                "that is the peak of a Gaussian with this std: use that a probability is at most one",
                lambda step: math.log(step) + HALF_LOG_TWO_PI,
            ),
            ("the interval is one whole step wide, half of it on each side", lambda step: math.log(step / 2)),
            ("nats: the natural logarithm", lambda step: math.log10(step)),
            ("that is the greatest density: its negative log is wanted", lambda step: 1 / step),
        ),
        hints=(
            "A reading is an interval one step wide. What is the most that its probability can be?",
            "P = p times step is at most 1, so p is at most 1 / step. The NLL is -log p.",
            "math.log($step), which is $right.",
        ),
        praise="The paper's model would give its readings more than probability one.",
    ),
}
