"""Exercises of notebook 14, Negative KL."""

import math

import torch

from uqlib.checks._exercise import Exercise

_MM = math.log(1000)  # millimetres in a metre


def _tables():
    """Shares that add up to one: independent, equal, and two in between; two of them with empty cells."""
    rows, columns = torch.tensor([0.2, 0.8]).double(), torch.tensor([0.5, 0.5]).double()
    mixed = torch.tensor([[0.2, 0.0, 0.1], [0.1, 0.3, 0.0], [0.05, 0.05, 0.2]]).double()
    skewed = torch.tensor([[0.3, 0.1], [0.05, 0.55]]).double()
    return [(torch.outer(rows, columns),), (torch.diag(torch.tensor([0.25, 0.75]).double()),), (mixed,), (skewed,)]


def _score(against):
    """The sum of P log(P / against(P)), with 0 log 0 = 0."""
    return lambda: lambda table: torch.special.xlogy(table, table / against(table)).sum()


def _both(table):
    return torch.outer(table.sum(1), table.sum(0))


def _unsafe(answer):
    """Whether an empty cell makes inf or NaN of it."""
    return not all(math.isfinite(float(answer(*one))) for one in _tables())


def _strangers(answer, points):
    """Whether some rows of the answer are no rows of the points."""
    rows = answer[:512].to(points)
    return not (rows[:, None] == points[None]).all(2).any(1).all()


def _odd(answer, points):
    """By how many nats a start from these rows is worse than one from all points: how far off mean and std are."""
    rows, std = answer.to(points), points.std(0, unbiased=False)
    start = rows.std(0, unbiased=False).clamp(min=1e-12)
    misplaced = (points.mean(0) - rows.mean(0)).square()
    return ((start / std).log() + 0.5 * ((std**2 + misplaced) / start**2 - 1)).sum().item()


def _from(low, high):
    """Whether all rows of the answer lie in one part of x1, given by two shares of the points."""

    def found(answer, points):
        first, ends = answer[:, 0].to(points), points[:, 0].quantile(torch.tensor([low, high]).to(points))
        return bool(((first >= ends[0]) & (first <= ends[1])).all())

    return found


def _ends_only(answer, points):
    """Whether the middle third is missing."""
    first, ends = answer[:, 0].to(points), points[:, 0].quantile(torch.tensor([1 / 3, 2 / 3]).to(points))
    return bool(((first <= ends[0]) | (first >= ends[1])).all())


EXERCISES = {
    "14_1": Exercise(
        numbers={"loss": (-2.1, -3.2, -1.4, 0.8, 1.5), "dimensions": (3, 2, 4, 5)},
        right=lambda loss, dimensions: loss + dimensions * _MM,
        wrong=(
            ("each of the dimensions has its factor", lambda loss: loss + _MM),
            ("larger numbers, thinner density, larger loss", lambda loss, dimensions: loss - dimensions * _MM),
            ("a log density: the log of the factor is added to it", lambda loss, dimensions: loss * 1000**dimensions),
            ("a log density: the log of the factor is added to it", lambda loss: loss * 1000),
            ("nats: the natural logarithm", lambda loss, dimensions: loss + 3 * dimensions),
            (
                "volumes grow by 1000 once for each dimension: 1000^d",
                lambda loss, dimensions: loss + math.log(1000 * dimensions),
            ),
            ("the KL stays, but the entropy of the data knows the units", lambda loss: loss),
        ),
        hints=(
            "A density is per volume. By which factor do volumes grow, and what does its log do to the loss?",
            "log p in new units = log p - log of the volume factor, here 1000^d; the loss is minus log p.",
            "$loss + $dimensions * math.log(1000), which is $right.",
        ),
        praise="The KL of that flow is the same in both.",
    ),
    "14_2": Exercise(
        at=_tables,
        faults=(("an empty cell gave 0 log 0: use xlogy", _unsafe),),
        right=_score(_both),
        wrong=(
            ("sign: what is shared is never negative", lambda: lambda table: -_score(_both)()(table)),
            ("that is in bits: use natural logs", lambda: lambda table: _score(_both)()(table) / math.log(2)),
            (
                "sum over the table, no mean: the shares are the weights",
                lambda: lambda table: _score(_both)()(table) / table.numel(),
            ),
            ("divide by both sums: only the rows' are there", _score(lambda table: table.sum(1, keepdim=True))),
            ("divide by both sums: only the columns' are there", _score(lambda table: table.sum(0, keepdim=True))),
            ("divide by both sums: that is minus the entropy of the table", _score(torch.ones_like)),
            ("the sums changed places: the rows' belong to the first index", _score(lambda table: _both(table).T)),
            (
                "each cell has its own row and column: torch.outer of the sums",
                _score(lambda table: table.sum(1) * table.sum(0)),
            ),
            (
                "weight the logs by the shares: sum P log(...)",
                lambda: lambda table: torch.where(table > 0, table / _both(table), 1.0).log().sum(),
            ),
        ),
        hints=(
            "If rows and columns were independent, what would each cell hold? Compare the table with that.",
            "sum over cells of P log(P / (row sum * column sum)); torch.outer makes a table of the products.",
            "lambda table: torch.special.xlogy(table, table / torch.outer(table.sum(1), table.sum(0))).sum()",
        ),
        tolerance=1e-4,
        praise="For labels. Floats come next.",
    ),
    "14_3": Exercise(
        faults=(
            (
                "expected rows of sorted_points: a tensor of shape (n, 2)",
                lambda answer, points: getattr(answer, "shape", ())[1:] != points.shape[1:],
            ),
            ("a few points have luck: take at least 256", lambda answer: len(answer) < 256),
            ("that is more than a batch: at most 512", lambda answer: len(answer) > 512),
            ("these are not rows of sorted_points: take them as they are", _strangers),
            ("the same rows come back: at least 256 different ones", lambda answer: len(answer.unique(dim=0)) < 256),
            ("all from the left end: the mean is off, the std too small", _from(0, 0.5)),
            ("all from the right end: the mean is off, the std too small", _from(0.5, 1)),
            ("all from the middle: the mean may do, the std is too small", _from(0.2, 0.8)),
            ("from both ends without the middle: the std is too large", _ends_only),
            (
                "some parts of the file are there too often: the start is off by more than 0.1 nats",
                lambda answer, points: _odd(answer, points) > 0.1,
            ),
        ),
        hints=(
            "What must the rows have in common with all points, for the start to be right? How would you deal cards?",
            "ActNorm takes mean and std. Rows at random, or every k-th row, have nearly those of all points.",
            "sorted_points[torch.randperm(5000, generator=runtime.seed(0))[:512]], or sorted_points[::10]",
        ),
        praise="It starts about as near as a Gaussian comes.",
    ),
}
