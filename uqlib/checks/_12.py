"""Exercises of notebook 12, Rivals."""

import math

import torch

from uqlib.checks._exercise import Exercise


def _members():
    """w, w0, fit, tau, n: twice."""
    first = torch.tensor([0.4, -1.0, 2.0], dtype=torch.float64), torch.tensor([0.1, 0.5, 1.0], dtype=torch.float64)
    second = torch.tensor([3.0, -2.0], dtype=torch.float64), torch.tensor([-1.0, 1.0], dtype=torch.float64)
    return [(*first, 0.7, 1.0, 40), (*second, -0.3, 4.0, 8)]


def _with(penalty, share=1.0):
    """A loss with this penalty; `share` of the fit is in it."""
    return lambda: lambda w, w0, fit, tau, n: share * fit + penalty(w - w0, tau, n)


def _square(difference):
    return difference.square().sum()


EXERCISES = {
    "12_1": Exercise(
        numbers={"before": (0.1, 0.05, 0.2), "after": (0.5, 0.4, 0.6)},
        right=lambda before, after: math.sqrt(after / (1 - after) / (before / (1 - before))),
        wrong=(
            ("that is the variance: take the root", lambda before, after: after / (1 - after) / before * (1 - before)),
            (
                "the variance of a mask is p / (1 - p), not p, and the std its root",
                lambda before, after: after / before,
            ),
            ("what is left is scaled up as well: p / (1 - p)", lambda before, after: math.sqrt(after / before)),
            (
                "a mask without the 1 / (1 - p) has std sqrt(p (1 - p)): torch scales what is left",
                lambda before, after: math.sqrt(after * (1 - after) / (before * (1 - before))),
            ),
            (
                "p (1 - p) is the variance of a mask that is not scaled up; and take the root",
                lambda before, after: after * (1 - after) / (before * (1 - before)),
            ),
            ("the weights stay; the mask's variance does not", lambda: 1.0),
            (
                "after over before, not before over after",
                lambda before, after: math.sqrt(before / (1 - before) / (after / (1 - after))),
            ),
            ("that is the scale 1 / (1 - p) of what is left", lambda before, after: (1 - before) / (1 - after)),
        ),
        hints=(
            "The weights stay, and so do the hidden units. Which factor of s(x) has p in it?",
            "std = sqrt(p / (1 - p)) times something without p.",
            "math.sqrt($after / (1 - $after) / ($before / (1 - $before))), which is $right.",
        ),
        praise="Any std can be had by choosing p.",
    ),
    "12_2": Exercise(
        at=_members,
        right=_with(lambda d, tau, n: tau / (2 * n) * _square(d)),
        wrong=(
            ("fit is a mean: divide the penalty by n, too", _with(lambda d, tau, n: tau / 2 * _square(d))),
            (
                "right as a sum: a mean is wanted, so divide all of it by n",
                lambda: lambda w, w0, fit, tau, n: n * fit + tau / 2 * _square(w - w0),
            ),
            ("half of tau", _with(lambda d, tau, n: tau / n * _square(d))),
            (
                "to the anchor, not to zero",
                lambda: lambda w, w0, fit, tau, n: fit + tau / (2 * n) * _square(w),
            ),
            ("the sum of the squares, not their mean", _with(lambda d, tau, n: tau / (2 * n) * d.square().mean())),
            ("the square of the distance, not the distance", _with(lambda d, tau, n: tau / (2 * n) * d.norm())),
            ("square first, then sum", _with(lambda d, tau, n: tau / (2 * n) * d.sum() ** 2)),
            ("and fit itself", _with(lambda d, tau, n: tau / (2 * n) * _square(d), share=0.0)),
            ("tau multiplies the penalty", _with(lambda d, tau, n: _square(d) / (2 * n))),
            ("a precision multiplies: tau is no variance", _with(lambda d, tau, n: _square(d) / (2 * n * tau))),
            ("the fit pulls down, the penalty up: add them", _with(lambda d, tau, n: -tau / (2 * n) * _square(d))),
        ),
        hints=(
            "The first term of the equation is n times fit, up to a constant. What becomes of the second term, then?",
            "(n fit + tau / 2 |w - w0|^2) / n.",
            "lambda w, w0, fit, tau, n: fit + tau / (2 * n) * ((w - w0)**2).sum()",
        ),
        tolerance=1e-4,
        praise="It is `anchored=True` with weight_decay=tau / n.",
    ),
    "12_3": Exercise(
        numbers={"data": (9, 4, 15, 24), "prior": (1, 2, 3)},
        right=lambda data, prior: math.sqrt(prior) / (data + prior),
        wrong=(
            ("that is with the noise", lambda data, prior: 1 / math.sqrt(data + prior)),
            ("that is noise without anchors", lambda data, prior: math.sqrt(data) / (data + prior)),
            ("the data pull each member away from its anchor", lambda prior: 1 / math.sqrt(prior)),
            ("that is the variance: take the root", lambda data, prior: prior / (data + prior) ** 2),
            ("the data alone, without a prior, and with the noise", lambda data: 1 / math.sqrt(data)),
            (
                "the anchor has the weight of the prior, not of the data",
                lambda data, prior: data / (data + prior) / math.sqrt(prior),
            ),
            (
                "that is the prior's share of the variance: one share more is in the square of its weight",
                lambda data, prior: math.sqrt(prior / (data + prior)),
            ),
            ("each member has an anchor of its own: they differ", lambda: 0.0),
        ),
        hints=(
            "All members see the same y. Where between the estimate of the data and its own anchor does a member end?",
            "Member = (data precision * estimate + prior precision * anchor) / (their sum); only the anchor varies.",
            "math.sqrt($prior) / ($data + $prior), which is $right.",
        ),
        praise="The anchors bring only the prior's share of the variance; the rest comes from the noise.",
    ),
}
