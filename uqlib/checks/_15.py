"""Exercises of notebook 15, Your own data."""

import functools
import math

import torch

from uqlib import datasets
from uqlib.checks._exercise import Exercise


def _pairs():
    """Epistemic stds and noises, so different that no two formulas agree at all of them."""
    return [tuple(torch.tensor(pair).double()) for pair in ((50.0, 120.0), (120.0, 50.0), (2.0, 3.0))]


def _function(rule):
    return lambda: rule


@functools.cache
def _noise():
    """The largest and the smallest noise in gagurine: the RMS difference of neighbours in age, for 40 in a row."""
    table = datasets.load("gagurine")
    y = table.y[table.x[:, 0].argsort(), 0].double()
    spreads = (y.diff().square() / 2).unfold(0, 40, 1).mean(1).sqrt()
    return spreads.max().item(), spreads.min().item()


def _ratio():
    largest, smallest = _noise()
    return largest / smallest


EXERCISES = {
    "15_1": Exercise(
        numbers={"noise": (120, 90, 100, 150), "epistemic": (50, 45, 40)},
        right=lambda noise, epistemic: 2 * 1.96 * math.hypot(noise, epistemic),
        wrong=(
            ("from end to end: 1.96 stds on both sides", lambda noise, epistemic: 1.96 * math.hypot(noise, epistemic)),
            ("you added stds: variances add", lambda noise, epistemic: 2 * 1.96 * (noise + epistemic)),
            (
                "one-sided quantile: two sides need 1.96",
                lambda noise, epistemic: 2 * 1.645 * math.hypot(noise, epistemic),
            ),
            ("the epistemic part is missing", lambda noise: 2 * 1.96 * noise),
            ("the noise is missing: the interval is for a new household", lambda epistemic: 2 * 1.96 * epistemic),
            ("take the root: the std, not the variance", lambda noise, epistemic: 3.92 * (noise**2 + epistemic**2)),
        ),
        hints=(
            "What is the std of a new household? And how many stds lie between the two ends?",
            "width = 2 * 1.96 * total std, with total std^2 = noise^2 + epistemic std^2.",
            "2 * 1.96 * math.hypot($noise, $epistemic), which is $right.",
        ),
        tolerance=0.025,
    ),
    "15_2": Exercise(
        at=_pairs,
        right=_function(lambda s, sigma: (1 / s**2 + 10 / sigma**2) ** -0.5),
        wrong=(
            (
                "that ignores the noise: a reading tells no more than its noise lets it",
                _function(lambda s, sigma: s / 10**0.5),
            ),
            ("the readings have the noise's std, not that of the mean", _function(lambda s, sigma: s / 11**0.5)),
            ("you knew something before: add that precision, too", _function(lambda s, sigma: sigma / 10**0.5)),
            ("precisions are 1 / std^2, not 1 / std", _function(lambda s, sigma: 1 / (1 / s + 10 / sigma))),
            ("that is the variance: take the root", _function(lambda s, sigma: 1 / (1 / s**2 + 10 / sigma**2))),
            (
                "that is the precision: turn it over and take the root",
                _function(lambda s, sigma: 1 / s**2 + 10 / sigma**2),
            ),
            (
                "one over it is missing: that is the root of the precision",
                _function(lambda s, sigma: (1 / s**2 + 10 / sigma**2) ** 0.5),
            ),
            ("that is after one measurement, not ten", _function(lambda s, sigma: (1 / s**2 + 1 / sigma**2) ** -0.5)),
            (
                "ten precisions, not one that is ten times squared",
                _function(lambda s, sigma: (1 / s**2 + (10 / sigma) ** 2) ** -0.5),
            ),
            (
                "that is the total std of the next reading: its noise was added",
                _function(lambda s, sigma: (1 / (1 / s**2 + 10 / sigma**2) + sigma**2) ** 0.5),
            ),
            (
                "variances of independent *errors* add; knowledge adds precisions",
                _function(lambda s, sigma: (s**2 + sigma**2 / 10) ** 0.5),
            ),
        ),
        hints=(
            "What adds up when independent readings of one quantity are put together (notebook 06)?",
            "1 / after^2 = 1 / s^2 + 10 / sigma^2.",
            "lambda s, sigma: (1 / s**2 + 10 / sigma**2) ** -0.5",
        ),
        tolerance=1e-3,
        praise="The noise itself stays, whatever you measure.",
    ),
    "15_3": Exercise(
        faults=(("the ratio of the households? Change the first cell", lambda answer: 9.7 < float(answer) < 12),),
        right=_ratio,
        wrong=(
            ("is that a variance? The verdict gives stds: their ratio, not its square", lambda: _ratio() ** 2),
            ("upside down: the largest over the smallest", lambda: 1 / _ratio()),
            ("one std for all? Here validation should choose a std that depends on x", lambda: 1.0),
            ("that is the largest noise, in units of GAG: how many times the smallest is it?", lambda: _noise()[0]),
            ("that is the smallest noise, in units of GAG: how many times is it in the largest?", lambda: _noise()[1]),
        ),
        hints=(
            "Which line of the verdict is about the noise, and what are the two numbers in it?",
            "path, inputs, target, unit = '../data/gagurine.csv', ['Age'], 'GAG', ''; then largest / smallest noise.",
            "About $right by the scatter between neighbours in age; the ratio in the verdict is near that.",
        ),
        tolerance=0.25,
        praise="The spread between neighbours in age, without any model, gives about the same.",
    ),
}
