"""Exercises of notebook 01, Fixed noise."""

import math

import torch

from uqlib.checks._exercise import Exercise
from uqlib.losses import HALF_LOG_TWO_PI


def _nll(quadratic, rest):
    """An NLL as a function of squared error and std: what the squared error enters by, and what is added."""
    return lambda: lambda mse, std: quadratic(mse, std) + rest(std)


EXERCISES = {
    "01_1": Exercise(
        numbers={"std": (0.5, 0.4, 0.3, 0.6), "before": (0.25, 0.36, 0.3), "after": (0.04, 0.05, 0.09)},
        right=lambda std, before, after: (before - after) / (2 * std**2),
        wrong=(
            ("divide the fall by 2 std^2, twice the variance: not by 2 std", lambda before, after: before - after),
            (
                "divide the fall by 2 std^2, twice the variance: not by 2 std",
                lambda std, before, after: (before - after) / (2 * std),
            ),
            ("the one half is missing", lambda std, before, after: (before - after) / std**2),
            ("divide by 2 std^2, do not multiply", lambda std, before, after: (before - after) * 2 * std**2),
            (
                "that is the fall with a learnt std: here it stays, and so does log std",
                lambda before, after: 0.5 * math.log(before / after),
            ),
            (
                "the squared error is squared already",
                lambda std, before, after: (before**2 - after**2) / (2 * std**2),
            ),
            (
                "take no root: the squared error itself stands in the NLL",
                lambda std, before, after: (before**0.5 - after**0.5) / (2 * std**2),
            ),
        ),
        hints=(
            "The NLL has three terms. Which of them changes when only the mean gets better?",
            "NLL = MSE / (2 std^2) + log std + one half log(2 pi). Take the difference of two of them.",
            "($before - $after) / (2 * $std**2), which is $right.",
        ),
    ),
    "01_2": Exercise(
        at=lambda: [tuple(map(torch.tensor, pair)) for pair in ((0.09, 0.05), (0.09, 0.2), (0.25, 2.0))],
        right=_nll(lambda mse, std: mse / (2 * std**2), lambda std: std.log() + HALF_LOG_TWO_PI),
        wrong=(
            (
                "the constant is missing, one half log 2 pi",
                _nll(lambda mse, std: mse / (2 * std**2), lambda std: std.log()),
            ),
            (
                "the log std is missing: it is a constant for the mean, not for you",
                _nll(lambda mse, std: mse / (2 * std**2), lambda std: HALF_LOG_TWO_PI),
            ),
            (
                "that is the first term alone: two are missing",
                _nll(lambda mse, std: mse / (2 * std**2), lambda std: 0.0),
            ),
            (
                "the one half of the first term is missing",
                _nll(lambda mse, std: mse / std**2, lambda std: std.log() + HALF_LOG_TWO_PI),
            ),
            (
                "divide by the variance, not by the std",
                _nll(lambda mse, std: mse / (2 * std), lambda std: std.log() + HALF_LOG_TWO_PI),
            ),
            (
                "log of the std, not of the variance",
                _nll(lambda mse, std: mse / (2 * std**2), lambda std: 2 * std.log() + HALF_LOG_TWO_PI),
            ),
            (
                "the squared error is squared already",
                _nll(lambda mse, std: mse**2 / (2 * std**2), lambda std: std.log() + HALF_LOG_TWO_PI),
            ),
            (
                "sign: a small std lowers log std, it does not raise it",
                _nll(lambda mse, std: mse / (2 * std**2), lambda std: -std.log() + HALF_LOG_TWO_PI),
            ),
            (
                "the constant is one half log 2 pi: a half is missing",
                _nll(lambda mse, std: mse / (2 * std**2), lambda std: std.log() + 2 * HALF_LOG_TWO_PI),
            ),
        ),
        hints=(
            "In the mean over points, where do the single residuals enter? Nowhere but in their mean square.",
            "NLL = MSE / (2 std^2) + log std + one half log(2 pi).",
            "lambda mse, std: mse / (2 * std**2) + math.log(std) + 0.5 * math.log(2 * math.pi)",
        ),
        tolerance=1e-3,
    ),
    "01_3": Exercise(
        numbers={"std": (0.2, 0.4, 0.5), "rate": (1e-3, 2e-3, 5e-3), "new_std": (0.05, 0.1, 0.08)},
        right=lambda std, rate, new_std: rate * (new_std / std) ** 2,
        wrong=(
            (
                "the gradient carries 1 / std^2, not 1 / std",
                lambda std, rate, new_std: rate * new_std / std,
            ),
            (
                "upside down: a smaller std makes a larger gradient, so the rate must fall",
                lambda std, rate, new_std: rate * (std / new_std) ** 2,
            ),
            (
                "upside down, and the gradient carries 1 / std^2, not 1 / std",
                lambda std, rate, new_std: rate * std / new_std,
            ),
            ("the same rate takes the same steps with Adam, not with SGD", lambda rate: rate),
            ("that is the factor: multiply the old rate by it", lambda std, new_std: (new_std / std) ** 2),
        ),
        hints=(
            "A step of SGD is rate times gradient. By which factor is the gradient larger with the smaller std?",
            "The gradient is that of MSE / (2 std^2), so rate / std^2 must stay the same.",
            "$rate * ($new_std / $std)**2, which is $right.",
        ),
        praise="rate / std^2 is all that SGD sees of the two.",
    ),
}
