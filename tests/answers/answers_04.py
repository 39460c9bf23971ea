"""Answers to the exercises of notebook 04, worked out by hand."""

import math

import torch

GIVEN = {}


def _by_quantiles(s):
    """The std for which the mean size of a Gaussian's residual, measured at many quantiles, is exp(s)."""
    places = (torch.arange(200_000, dtype=torch.float64) + 0.5) / 200_000
    return s.exp() / torch.special.ndtri(places).abs().mean()


RIGHT = {
    "04_1": [3.0284],  # log 5 + 1.4189, or -1.5768 + log 100
    "04_2": [_by_quantiles, lambda s: 1.2533 * s.exp()],
    "04_3": [-4.60517],  # log 0.01
}

WRONG = {
    "04_1": [
        (-1.5768, "floor in metres"),
        (-6.182, "the wrong way"),
        (2.1094, "one half log 2 pi"),
        (2.5284, "at the peak"),
        (4.6378, "not of the variance"),
        (1.6094, "two terms are missing"),
        (-3.0284, "sign"),
    ],
    "04_2": [
        (lambda s: s.exp(), "not yet a std"),
        (lambda s: (s / 2).exp(), "take no root"),
        (lambda s: torch.distributions.Laplace(0.0, s.exp()).stddev, "a Laplace's std"),
        (lambda s: 0.79788 * s.exp(), "upside down"),
        (lambda s: 1.5708 * s.exp().square(), "take the root"),
        (lambda s: (s.exp() * math.pi / 2).sqrt(), "pi / 2 alone"),
        (lambda s: 1.5708 * s.exp(), "pi / 2 needs a root"),
        (lambda s: s + 0.22579, "the log of the std"),
        (lambda s: s[0], "expected shape (2, 1)"),
    ],
    "04_3": [
        (0, "-log P"),
        (4.605, "sign"),
        (-3.1862, "not a std"),  # log 0.01 + 1.4189
        (-3.6862, "the peak"),
        (-5.298, "one whole step"),
        (-2, "natural logarithm"),
        (100, "greatest density"),
        (-4.9, "none of"),
    ],
}
