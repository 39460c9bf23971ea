"""The sums that the posterior of a linear head needs: a fixed amount of memory, whatever the number of points."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from uqlib import _checks
from uqlib.laplace._arguments import Batches, Function, evaluate, is_pair, pairs, point_std, rows_pair_up

_ROWS = 4096  # gathered before each product: enough to be fast, few enough to stay in a processor's cache


@dataclass(frozen=True, eq=False)
class Statistics:
    r"""Sums over points that the posterior of a linear head needs, in float64.

    .. math:: \Phi^\top D^{-1} \Phi, \quad \Phi^\top D^{-1} Y, \quad Y^\top D^{-1} Y, \quad n, \quad \sum_i \log d_i

    D = diag(d_i^2) where each point has its own noise std d_i, and D = 1 otherwise: a noise std common to all points
    is applied later and needs no second pass.

    `gram` is (1, p, p), shared by all k outputs, or (k, p, p) if the noise differs between both points and outputs;
    `cross` is (p, k), `square` and `log_std` are (k,), `points` is n. With `bias`, the last of the p columns belongs
    to the column of ones. `a + b` is what one pass over the points of both would give, up to rounding.
    """

    gram: Float[Tensor, "m p p"]
    cross: Float[Tensor, "p k"]
    square: Float[Tensor, " k"]
    log_std: Float[Tensor, " k"]
    points: int
    bias: bool
    per_point: bool

    def __add__(self, other: "Statistics") -> "Statistics":
        if not isinstance(other, Statistics):
            raise TypeError(f"statistics: expected Statistics to add, got {type(other).__name__}")
        if self._kind() != other._kind():
            raise ValueError(f"statistics: sums over {self._kind()} and over {other._kind()} cannot be added")
        return self._unpacked(self._packed() + other._packed())

    def __radd__(self, other: object) -> "Statistics":  # sum([a, b]) starts at 0
        return self if isinstance(other, int) and other == 0 else self.__add__(other)

    def __repr__(self) -> str:  # stored outputs stay free of tensors
        return f"Statistics(points={self.points}, {self._kind()})"

    def _kind(self) -> str:
        """What two parts must share, in words."""
        p, k = self.cross.shape
        bias = "with" if self.bias else "without"
        noise = ("each entry" if len(self.gram) == k > 1 else "each point") if self.per_point else "all points"
        return f"{p} columns {bias} bias, {k} outputs, one noise std for {noise}, on {self.gram.device}"

    def _packed(self) -> Tensor:
        """All sums as one vector; the number of points is exact up to 2**53."""
        return torch.cat(
            [
                self.gram.flatten(),
                self.cross.flatten(),
                self.square,
                self.log_std,
                self.square.new_tensor([self.points]),
            ]
        )

    def _unpacked(self, vector: Tensor) -> "Statistics":
        old = (self.gram, self.cross, self.square, self.log_std)
        *parts, points = vector.split([*(one.numel() for one in old), 1])
        sums = (part.reshape(one.shape) for part, one in zip(parts, old, strict=True))
        return Statistics(*sums, int(points.item()), self.bias, self.per_point)


def statistics(
    data: Batches, *, features: Function | None = None, noise_std: Tensor | Function | None = None, bias: bool = True
) -> Statistics:
    r"""The sums of `Statistics` in one pass over the data, gathered in a buffer of 4096 rows.

    Parameters
    ----------
    data : (phi, y), or an iterable of such pairs
        Two floating tensors (n, p) and (n, k), or batches of them: a list, a generator, a DataLoader. An iterable is
        read once, from start to end; each pair counts, so a loader that yields a point twice counts it twice.
    features : callable
        Computes phi from the first of each pair, without gradient; then that may be of any shape. None: it is phi.
    noise_std : tensor or callable
        The noise std of each point, (n, 1), or of each point and output, (n, k): a tensor if `data` is one pair of
        tensors, or a function of the first of each pair. None: one std for all points, given later.
    bias : bool
        Append a column of ones to phi, after its other columns.

    Everything is cast to float64 before it is multiplied. Raises TypeError or ValueError for shapes that do not fit,
    no data, values that are not finite, and a noise std that is not above zero.
    """
    if not isinstance(bias, bool):
        raise TypeError(f"bias: expected True or False, got {bias!r}")
    if isinstance(noise_std, Tensor) and not is_pair(data):
        raise TypeError("noise_std: for batches, one std for each point must be a function of x, not a tensor")
    sums = None
    for x, y in pairs(data):
        phi = evaluate("features", features, x, "data: x")
        rows_pair_up(phi, y)
        std = noise_std if noise_std is None else point_std(noise_std, x, len(y), y.shape[1])
        sums = sums or Sums(phi, y, std, bias)
        sums.add(phi, y, std)
    return sums.result()


class Sums:
    """One matrix A = [phi, 1, y], filled row by row; A^T A holds every sum. For this package; `statistics` checks."""

    def __init__(self, phi: Tensor, y: Tensor, std: Tensor | None, bias: bool) -> None:
        self.features, self.outputs, self.bias, self.per_point = phi.shape[1], y.shape[1], bias, std is not None
        self.grams = 1 if std is None or std.shape[1] == 1 else self.outputs
        columns = self.features + bias + self.outputs
        self.rows = phi.new_ones((_ROWS, columns), dtype=torch.float64)
        self.std = phi.new_ones((_ROWS, self.grams), dtype=torch.float64) if self.per_point else None
        self.total = phi.new_zeros((self.grams, columns, columns), dtype=torch.float64)
        self.log_std = phi.new_zeros(self.grams, dtype=torch.float64)
        self.points, self.filled = 0, 0

    def add(self, phi: Tensor, y: Tensor, std: Tensor | None) -> None:
        for name, part, width in (("phi", phi, self.features), ("y", y, self.outputs)):
            if part.shape[1] != width:
                raise ValueError(f"data: {name} has {part.shape[1]} columns in this batch, {width} in the first")
            if part.device != self.rows.device:
                raise ValueError(f"data: {name} is on {part.device} in this batch, on {self.rows.device} in the first")
        if std is not None and std.shape[1] != self.grams:
            raise ValueError(f"noise_std(x): {std.shape[1]} columns in this batch, {self.grams} in the first")
        start = 0
        while start < len(phi):
            stop = min(len(phi), start + _ROWS - self.filled)
            here = slice(self.filled, self.filled + stop - start)
            self.rows[here, : self.features] = phi[start:stop].detach()
            self.rows[here, self.features + self.bias :] = y[start:stop].detach()
            if std is not None:
                self.std[here] = std[start:stop]
            self.filled, start = here.stop, stop
            if self.filled == _ROWS:
                self._flush()

    def _flush(self) -> None:
        rows = self.rows[: self.filled]
        for j in range(self.grams):
            self.total[j] += _gram(rows if self.std is None else rows / self.std[: self.filled, j : j + 1])
        if self.std is not None:
            self.log_std += self.std[: self.filled].log().sum(0)
        if not torch.isfinite(self.total).all():
            for name, part in (("phi", rows[:, : self.features]), ("y", rows[:, self.features + self.bias :])):
                _checks.finite(f"data: {name} (rows from {self.points})", part)
            raise ValueError("data: the sum of squares is too large for float64; rescale phi and y, or the noise std")
        self.points, self.filled = self.points + self.filled, 0

    def result(self) -> Statistics:
        self._flush()
        p, k = self.features + self.bias, self.outputs
        own = range(k) if self.grams == k else [0] * k  # the matrix that each output reads
        cross = torch.stack([self.total[m, :p, p + j] for j, m in enumerate(own)], dim=1)
        square = torch.stack([self.total[m, p + j, p + j] for j, m in enumerate(own)])
        gram = self.total[:, :p, :p].clone()
        return Statistics(gram, cross, square, self.log_std.expand(k).clone(), self.points, self.bias, self.per_point)


def _gram(rows: Tensor) -> Tensor:
    """A^T A; NumPy sees that both factors are one array and computes half of it, which torch does not."""
    if rows.device.type == "cpu":
        array = rows.numpy()
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused by the caller
            return torch.from_numpy(array.T @ array)
    return rows.T @ rows


def all_reduce(part: Statistics, group: object = None) -> Statistics:
    """The sum of the statistics of all processes of a `torch.distributed` group, the same on each of them.

    Each process calls `statistics` on its own share of the points and hands the result to this function: one
    all-reduce of one vector. The process group must be initialised, and each process needs at least one point. Raises
    ValueError on every process if the parts are not of one kind.
    """
    import torch.distributed as dist  # no other function needs it

    if not isinstance(part, Statistics):
        raise TypeError(f"part: expected laplace.Statistics, got {type(part).__name__}")
    if not dist.is_initialized():
        raise RuntimeError("all_reduce: no process group; call torch.distributed.init_process_group(...) first")
    kinds = [""] * dist.get_world_size(group)
    dist.all_gather_object(kinds, part._kind().partition(", on ")[0], group=group)
    if len(set(kinds)) > 1:
        raise ValueError(f"statistics: the processes hold different sums: {'; '.join(sorted(set(kinds)))}")
    vector = part._packed()
    dist.all_reduce(vector, group=group)
    return part._unpacked(vector)
