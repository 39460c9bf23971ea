"""Answers to the exercises of notebook 11, worked out by hand, by counting in a sorted list, or by simulation."""

import torch

Z = torch.randn(2_000_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def pit():
    """PIT values of a std that is right for some and half of it for others, a little off the centre."""
    std = torch.where(torch.arange(3000) % 3 == 0, 2.0, 1.0)
    return torch.special.ndtr(0.2 + std * Z[:3000])[:, None]


def by_sorting(u, level):
    """How many lie between the two ends, by two searches."""
    ranked = u.flatten().sort().values
    ends = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=u.dtype)
    low, high = torch.searchsorted(ranked, ends).tolist()
    return (high - low) / len(ranked)


def simulated(claimed_quiet, claimed_loud, times=1.959964):
    """Shares inside, of half quiet and half loud points."""
    quiet, loud = Z[:1_000_000] * 0.1, Z[1_000_000:] * 0.3
    inside = [
        (one.abs() <= times * claimed).double().mean().item()
        for one, claimed in ((quiet, claimed_quiet), (loud, claimed_loud))
    ]
    return sum(inside) / 2


GIVEN = {"11_2": lambda: {"u": pit()}}

RIGHT = {
    "11_1": [0.015411, 0.0154],
    "11_2": [by_sorting, lambda u, level: 1 - 2 * ((u - 0.5).abs() > level / 2).double().mean() / 2],
    "11_3": [0.92804, 0.928, simulated(0.05**0.5, 0.05**0.5)],
}

WRONG = {
    "11_1": [
        (0.0002375, "that is the variance"),
        (0.00108972, "the root of n"),
        (3.0822, "the number of points inside"),
        (1.5411, "per cent"),
        (0.217945, "of one point"),
        (0.0707107, "its level is missing"),
        (0.0353553, "one half"),
        (0.0689202, "the level alone"),
        (0.0158114, "1 - level alone"),
        (0.0302056, "not 1.96"),
    ],
    "11_2": [
        (lambda u, level: (u < level).double().mean(), "one-sided"),
        (lambda u, level: 1 - by_sorting(u, level), "the misses"),
        (lambda u, level: by_sorting(u, min(1, 2 * level)), "half of the level"),
        (lambda u, level: by_sorting(u, level) * len(u), "a count"),
        (lambda u, level: by_sorting(u, level) * 100, "per cent"),
        (lambda u, level: 1.0, "every point came out inside"),
        (lambda u, level: level, "the level itself"),
        (lambda u, level: (u < level / 2).double().mean(), "not around 0"),
        (lambda u, level: (u - 0.5).abs() <= level / 2, "expected one number, got shape (3000, 1)"),
        (0.8, "expected a function"),
    ],
    "11_3": [
        (0.95, "count in each half"),
        (simulated(0.2, 0.2), "stds do not"),
        (0.85599, "the loud half alone"),
        (0.99999, "the quiet half alone"),
        (simulated(0.1**0.5, 0.1**0.5), "of their sum"),
        (simulated(0.05**0.5, 0.05**0.5, times=1.645), "one-sided"),
        (0.805, "upside down"),
        (0.5, "none of"),
    ],
}
