"""Exercises of notebook 13, When training goes wrong."""

import math

import torch

from uqlib.checks._exercise import Exercise

_BOUNDS = ((-7.0, 3.0), (-5.0, 2.0), (-2.0, 8.0))
_STEPS = 200  # from the middle outwards, up to four half widths


def _raw(low, high):
    """Log stds around the middle of the bounds, inside and outside; the middle itself is number `_STEPS`."""
    return (low + high) / 2 + (high - low) * torch.linspace(-2, 2, 2 * _STEPS + 1, dtype=torch.float64)


def _bounded(answer, raw, low, high):
    return torch.as_tensor(answer(raw + 0, low, high))  # a copy: an answer may work in place


def _somewhere(fault):
    """A fault that an answer has if it holds for one of the bounds: `fault` takes soft, its slope, low and high."""

    def found(answer):
        for low, high in _BOUNDS:
            raw = _raw(low, high).requires_grad_()
            soft = _bounded(answer, raw, low, high)
            slope = torch.autograd.grad(soft.sum(), raw)[0] if soft.requires_grad else torch.zeros_like(raw)
            if fault(soft.detach(), slope, low, high):
                return True
        return False

    return found


def _same(values, wanted):
    return abs(float(values[_STEPS]) - wanted) < 1e-6 * max(abs(wanted), 1)


def _ignored(answer):
    """Whether the answer is the same for two bounds."""
    raw = _raw(*_BOUNDS[0])
    return torch.allclose(*(_bounded(answer, raw, *ends) for ends in _BOUNDS[:2]))


EXERCISES = {
    "13_1": Exercise(
        numbers={"first": (0.05, 0.1, 0.2, 0.25), "second": (0.5, 0.4, 0.8), "beta": (0.5, 0.25, 0.75)},
        right=lambda first, second, beta: (second / first) ** (2 - 2 * beta),
        wrong=(
            ("that is the plain NLL, 1 / std^2: the weight is missing", lambda first, second: (second / first) ** 2),
            ("that is beta = 1, the plain residual: the weight is only std^(2 beta)", lambda: 1.0),
            (
                "upside down: the smaller std pulls harder",
                lambda first, second, beta: (first / second) ** (2 - 2 * beta),
            ),
            (
                "the weight is std^(2 beta), the variance to the power beta, not std^beta",
                lambda first, second, beta: (second / first) ** (2 - beta),
            ),
            (
                "by which factor, not by how much: divide the two gradients",
                lambda first, second, beta: first ** (2 * beta - 2) - second ** (2 * beta - 2),
            ),
        ),
        hints=(
            "What does the plain NLL's gradient divide the residual by, and what does the weight put back?",
            "gradient = std^(2 beta) (mean - y) / std^2, with the same residual in both places.",
            "($second / $first) ** (2 - 2 * $beta), which is $right.",
        ),
        praise="Between the plain NLL and squared error.",
    ),
    "13_2": Exercise(
        at=lambda: [(_raw(low, high), low, high) for low, high in _BOUNDS],
        faults=(
            (
                "expected the shape of raw",
                lambda answer: any(_bounded(answer, _raw(*ends), *ends).shape != (2 * _STEPS + 1,) for ends in _BOUNDS),
            ),
            ("inf or NaN came out", _somewhere(lambda soft, slope, low, high: not soft.isfinite().all())),
            ("it is the same for other bounds: use low and high", _ignored),
            ("it falls somewhere: a larger raw must give more", _somewhere(lambda soft, slope, *_: (slope < 0).any())),
            (
                "it leaves [low, high]: what holds it inside?",
                _somewhere(lambda soft, slope, low, high: soft.min() < low or soft.max() > high),
            ),
            (
                "the middle of the bounds has moved: raw there must stay as it is",
                _somewhere(lambda soft, slope, low, high: not _same(soft, (low + high) / 2)),
            ),
            (
                "slope in the middle: divide by half the width inside, as you multiply by it outside",
                _somewhere(lambda soft, slope, low, high: _same(slope, (high - low) / 2)),
            ),
            (
                "slope 1/2 in the middle: the half width belongs in both places, not the width in one",
                _somewhere(lambda soft, slope, low, high: _same(slope, 0.5)),
            ),
            (
                "a flat part is a trap: its gradient is zero. Did you clamp?",
                _somewhere(lambda soft, slope, low, high: (slope == 0).any()),
            ),
            (
                "the slope in the middle is not 1: stretch raw inside",
                _somewhere(lambda soft, slope, low, high: not _same(slope, 1.0)),
            ),
        ),
        hints=(
            "tanh is bounded, increasing and has slope 1 at zero. Where must its zero go, and how wide must it be?",
            "soft = m + h tanh((raw - m) / h), with m the middle of the bounds and h half their width.",
            "lambda raw, low, high: "
            "(low + high) / 2 + (high - low) / 2 * torch.tanh((2 * raw - low - high) / (high - low))",
        ),
    ),
    "13_3": Exercise(
        numbers={"n": (50, 20, 40, 100, 200), "factor": (10, 5, 20, 100)},
        right=lambda n, factor: math.log(factor) / n,
        wrong=(
            ("that point's own loss: the mean is over all points", lambda n, factor: math.log(factor)),
            ("nats: the natural logarithm", lambda n, factor: math.log10(factor) / n),
            ("log of the std, not of the variance", lambda n, factor: 2 * math.log(factor) / n),
            ("by how much it falls: a positive number", lambda n, factor: -math.log(factor) / n),
            ("the loss holds the log of the std, not the std", lambda n, factor: factor / n),
            ("the loss holds the log of the std, not the std", lambda n, factor: (1 - 1 / factor) / n),
            (
                "the residual is zero: the quadratic term has nothing to give",
                lambda n, factor: (math.log(factor) + 0.5) / n,
            ),
        ),
        hints=(
            "Which term of that point's loss is left when its residual is zero? And how many points share the mean?",
            "The point's loss is log std and a constant; the mean divides its change by n.",
            "math.log($factor) / $n, which is $right.",
        ),
        praise="Hardly visible. A fresh point there, one old std away, costs half the squared factor, 50 nats for 10.",
    ),
}
