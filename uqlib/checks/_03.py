"""Exercises of notebook 03, Heteroskedastic nets."""

import torch

from uqlib.checks._exercise import Exercise


def _raw():
    return torch.linspace(-30, 3, 12, dtype=torch.float64)[:, None]


def _flat(answer):
    """Whether the gradient vanishes somewhere."""
    raw = _raw().requires_grad_()
    out = answer(raw)
    if not out.requires_grad:
        return True
    (slope,) = torch.autograd.grad(out.sum(), raw)
    return bool((slope <= 0).any())


def _shared(weight):
    """The mean of two measurements, each weighted by a function of its std."""

    def mean(first, first_std, second, second_std):
        a, b = weight(first_std), weight(second_std)
        return (a * first + b * second) / (a + b)

    return mean


EXERCISES = {
    "03_1": Exercise(
        numbers={"std": (0.1, 0.05, 0.2, 0.25), "residual": (0.3, 0.4, 0.5, 0.6)},
        right=lambda std, residual: 1 - (residual / std) ** 2,
        wrong=(
            (
                "sign: a surprised net lowers the loss by raising its std",
                lambda std, residual: (residual / std) ** 2 - 1,
            ),
            ("with respect to the log std, not the std", lambda std, residual: (1 - (residual / std) ** 2) / std),
            ("residual over std enters squared", lambda std, residual: 1 - residual / std),
            (
                "the one half of the quadratic term goes when you differentiate",
                lambda std, residual: 1 - (residual / std) ** 2 / 2,
            ),
            ("log std itself has slope 1", lambda std, residual: -((residual / std) ** 2)),
        ),
        hints=(
            "Write the NLL with s = log std: the std is then exp(s).",
            "NLL = r^2 exp(-2 s) / 2 + s + constant. Differentiate with respect to s.",
            "1 - ($residual / $std)**2, which is $right.",
        ),
    ),
    "03_2": Exercise(
        at=lambda: [(_raw(),)],
        faults=(
            ("expected shape (12, 1), as raw has", lambda answer: answer(_raw()).shape != (12, 1)),
            (
                "that is the std: its log is wanted",
                lambda answer: (answer(_raw()) > 0.04).all() and answer(_raw()).min() < 0.06,
            ),
            (
                "some std is below 0.05: add, then take the log",
                lambda answer: (answer(_raw()).exp() < 0.05 - 1e-12).any(),
            ),
            ("the gradient vanished somewhere: did you clamp?", _flat),
            ("a large raw output must still give a large std", lambda answer: answer(_raw()).exp().max() < 1),
            ("raw = -30 should come close to 0.05", lambda answer: answer(_raw()).exp().min() > 0.06),
        ),
        hints=(
            "Which smooth function of raw is positive, and goes to zero for very negative raw? Add the floor to it.",
            "std = 0.05 + softplus(raw).",
            "lambda raw: (0.05 + torch.nn.functional.softplus(raw)).log()",
        ),
    ),
    "03_3": Exercise(
        numbers={
            "first": (1.0, 2.0, 0.5),
            "first_std": (0.1, 0.05, 0.3),
            "second": (1.6, 3.0, 2.0),
            "second_std": (0.2, 0.4, 0.15),
        },
        right=_shared(lambda std: std**-2),
        wrong=(
            ("that is squared error: the stds were ignored", _shared(lambda std: 1.0)),
            ("weighted by 1 / std: the pull of a point is 1 / std^2", _shared(lambda std: 1 / std)),
            ("weighted by the variance: upside down", _shared(lambda std: std**2)),
            ("weighted by the std: upside down, and a root", _shared(lambda std: std)),
        ),
        hints=(
            "At the best mean the pulls of the two points cancel. What is the pull of one point?",
            "(mean - y1) / std1^2 + (mean - y2) / std2^2 = 0.",
            "($first / $first_std**2 + $second / $second_std**2) / (1 / $first_std**2 + 1 / $second_std**2) = $right.",
        ),
    ),
}
