"""Answers to the exercises of notebook 14, worked out by hand."""

import math

import torch


def _sorted_points():
    z = torch.randn(5000, 2, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    x = torch.stack([0.2 * z[:, 0], 0.2 * (z[:, 1] + z[:, 0] ** 2 - 1)], 1)
    return x[x[:, 0].argsort()]


_ALL = _sorted_points()
_SHUFFLED = _ALL[torch.randperm(5000, generator=torch.Generator().manual_seed(1))]


def _shared(table):
    """Entropies: what the rows and the columns hold, less what they hold together."""
    return (
        sum(torch.special.entr(part).sum() for part in (table.sum(0), table.sum(1))) - torch.special.entr(table).sum()
    )


def _loop(table, weight=True, outer=True):
    total = 0.0
    for i, row in enumerate(table):
        for j, share in enumerate(row):
            if share > 0:
                log = math.log(share / ((table[i].sum() * table[:, j].sum()) if outer else table[i].sum()))
                total += (share.item() if weight else 1) * log
    return total


GIVEN = {"14_3": lambda: {"points": _ALL}}

RIGHT = {
    "14_1": [18.6233, 18.6],  # -2.1 + 3 * 6.907755
    "14_2": [_shared, _loop, lambda table: _shared(table.T)],
    "14_3": [_ALL[::10], _ALL[5::19], _SHUFFLED[:512], _SHUFFLED[:256], torch.cat([_ALL[::20], _ALL[7::20]])],
}

WRONG = {
    "14_1": [
        (4.8078, "each of the dimensions"),
        (-22.823, "thinner density"),
        (-2.1e9, "is added to it"),
        (6.9, "natural logarithm"),
        (5.906, "once for each dimension"),
        (-2.1, "knows the units"),
    ],
    "14_2": [
        (lambda table: (table * (table / torch.outer(table.sum(1), table.sum(0))).log()).sum(), "use xlogy"),
        (lambda table: -_shared(table), "never negative"),
        (lambda table: _shared(table) / 0.693147, "in bits"),
        (lambda table: _shared(table) / len(table) ** 2, "no mean"),
        (lambda table: _loop(table, outer=False), "only the rows'"),
        (lambda table: _loop(table.T, outer=False), "only the columns'"),
        (lambda table: -torch.special.entr(table).sum(), "minus the entropy"),
        (lambda table: _loop(table, weight=False), "by the shares"),
        (lambda table: table, "expected one number"),
    ],
    "14_3": [
        (_ALL[:8], "a few points have luck"),
        (_ALL, "more than a batch"),
        (_ALL[:512], "the left end"),
        (_ALL[-300:], "the right end"),
        (_ALL[2250:2750], "the middle"),
        (torch.cat([_ALL[:256], _ALL[-256:]]), "both ends"),
        (torch.cat([_ALL[::20], _ALL[:262]]), "too often"),
        (_ALL[::10] * 100, "not rows of sorted_points"),
        (torch.cat([_ALL[::20]] * 2), "the same rows"),
        (_ALL[::10, 0], "shape (n, 2)"),
        (0.5, "shape (n, 2)"),
    ],
}
