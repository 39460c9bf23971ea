"""Answers to the exercises of notebook 12, worked out by hand or, for std and factor, by simulation."""

import torch

GENERATOR = torch.Generator().manual_seed(0)


def masks(p, scaled=True):
    """The std of a mask, from its two values."""
    values = torch.tensor([0.0, 1 / (1 - p) if scaled else 1.0], dtype=torch.float64)
    chance = torch.tensor([p, 1 - p], dtype=torch.float64)
    return ((chance * values**2).sum() - (chance * values).sum() ** 2).sqrt().item()


def members(noise, anchor, count=1_000_000):
    """The std of members y ~ N(w, 1/9) with or without noise in y, anchors N(0, 1) or none."""
    eps, w0 = torch.randn(2, count, generator=GENERATOR, dtype=torch.float64)
    return ((9 * (0.5 + noise * eps / 3) + anchor * w0) / 10).std().item()


def whole(w, w0, fit, tau, n):
    """The sum over the points and over the weights, written out, then the mean."""
    total = sum(fit for _ in range(n))
    for one, other in zip(w.tolist(), w0.tolist(), strict=True):
        total += tau * (one - other) ** 2 / 2
    return total / n


def penalty(*given):
    return whole(*given) - given[2]


def scaled(a):
    """The penalty a times as large."""
    return lambda *given: given[2] + a(*given[3:]) * penalty(*given)


GIVEN = {}

RIGHT = {
    "12_1": [3, masks(0.5) / masks(0.1)],
    "12_2": [whole, scaled(lambda tau, n: 1.0)],
    "12_3": [0.1, members(0, 1)],
}

WRONG = {
    "12_1": [
        (9, "that is the variance"),
        (5, "not p, and the std its root"),
        (5**0.5, "what is left is scaled up"),
        (masks(0.5, False) / masks(0.1, False), "without the 1 / (1 - p)"),
        (0.25 / 0.09, "take the root"),
        (1, "the weights stay"),
        (1 / 3, "after over before"),
        (1.8, "the scale 1 / (1 - p)"),
        (4, "none of"),
    ],
    "12_2": [
        (scaled(lambda tau, n: n), "divide the penalty"),
        (lambda *given: given[4] * whole(*given), "right as a sum"),
        (scaled(lambda tau, n: 2), "half of tau"),
        (lambda w, w0, *rest: whole(w, 0 * w0, *rest), "to the anchor"),
        (lambda w, w0, fit, tau, n: fit + penalty(w, w0, fit, tau, n) / len(w), "not their mean"),
        (lambda w, w0, fit, tau, n: fit + tau / (2 * n) * torch.dist(w, w0), "not the distance"),
        (penalty, "and fit itself"),
        (scaled(lambda tau, n: 1 / tau), "tau multiplies"),
        (scaled(lambda tau, n: 1 / tau**2), "no variance"),
        (scaled(lambda tau, n: -1), "add them"),
        (lambda w, w0, fit, tau, n: fit + tau / (2 * n) * (w - w0) ** 2, "expected one number, got shape (3,)"),
    ],
    "12_3": [
        (members(1, 1), "that is with the noise"),
        (members(1, 0), "noise without anchors"),
        (1, "pull each member away"),
        (0.01, "that is the variance"),
        (1 / 3, "without a prior"),
        (0.9, "not of the data"),
        (0, "they differ"),
        (0.5, "none of"),
    ],
}
