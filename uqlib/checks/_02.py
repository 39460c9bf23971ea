"""Exercises of notebook 02, Learnt noise."""

import math

import torch

from uqlib.checks._exercise import Exercise
from uqlib.losses import HALF_LOG_TWO_PI

_LEFT, _RIGHT = math.log(0.15), math.log(0.35)


def _picked(left, right):
    return lambda: lambda x: torch.where(x < 0.1, left, right)


EXERCISES = {
    "02_1": Exercise(
        numbers={"rms": (0.05, 0.02, 0.04, 0.08, 0.1, 0.3, 0.4)},
        right=lambda rms: 0.5 * math.log(2 * math.pi * math.e * rms**2),
        wrong=(
            ("keep the constant, one half log 2 pi", lambda rms: math.log(rms) + 0.5),
            ("the quadratic term is one half at the best std, not zero", lambda rms: math.log(rms) + HALF_LOG_TWO_PI),
            ("log of the std, not of the variance", lambda rms: 2 * math.log(rms) + HALF_LOG_TWO_PI + 0.5),
            ("that is the log std alone: two terms are missing", lambda rms: math.log(rms)),
            ("nats: the natural logarithm", lambda rms: math.log10(rms) + HALF_LOG_TWO_PI + 0.5),
        ),
        hints=(
            "Where does the learnt std end? Put that std into the NLL, and the mean of the squared residuals with it.",
            "NLL = mean of r^2 / (2 std^2) + log std + one half log(2 pi), with std^2 = mean of r^2.",
            "0.5 * math.log(2 * math.pi * math.e * $rms**2), which is $right.",
        ),
    ),
    "02_2": Exercise(
        at=lambda x: [(x,), (torch.tensor([[0.1], [0.0999], [-1.0], [1.0]], dtype=x.dtype, device=x.device),)],
        right=_picked(_LEFT, _RIGHT),
        wrong=(
            ("the first std is for x < 0.1, the second for the rest", _picked(_RIGHT, _LEFT)),
            ("those are stds: their logs are wanted", _picked(0.15, 0.35)),
            ("those are logs of the variances: of the stds is wanted", _picked(2 * _LEFT, 2 * _RIGHT)),
            ("every point got the same std", _picked(_LEFT, _LEFT)),
            ("every point got the same std", _picked(_RIGHT, _RIGHT)),
            (
                "a point at x = 0.1 exactly belongs to the rest: x < 0.1, not x <= 0.1",
                lambda: lambda x: torch.where(x <= 0.1, _LEFT, _RIGHT),
            ),
        ),
        hints=(
            "For each point choose one of two numbers by a condition on x. The shape of x must be kept.",
            "torch.where(condition, a, b) takes a where the condition holds and b elsewhere.",
            "lambda x: torch.where(x < 0.1, two[0], two[1])",
        ),
        tolerance=1e-4,
    ),
    "02_3": Exercise(
        numbers={"best": (0.02, 0.05, 0.1, 0.01)},
        right=lambda best: -math.log(best) / 0.01,
        wrong=(
            ("the std moves by a percentage a step, not by 0.01", lambda best: (1 - best) / 0.01),
            ("the natural logarithm", lambda best: -math.log10(best) / 0.01),
            ("the log of the std moves, not that of the variance", lambda best: -2 * math.log(best) / 0.01),
            ("that counts the last stretch only: it starts at 1", lambda best: best / 0.01),
        ),
        hints=(
            "Adam's step has about the size of the learning rate, whatever the gradient. What takes the steps here?",
            "log std goes from log 1 = 0 to the log of the best std, at most 0.01 a step.",
            "math.log(1 / $best) / 0.01, about $right.",
        ),
        tolerance=0.2,
    ),
}
