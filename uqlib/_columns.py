"""Tensors as the lines of numbers that matplotlib takes: shapes checked, on the CPU, without gradient."""

import torch
from torch import Tensor


def flat(name: str, value: Tensor) -> Tensor:
    """One column as a line of numbers that matplotlib takes: on the CPU, without gradient."""
    if not isinstance(value, Tensor) or value.ndim != 2 or value.shape[1] != 1:
        shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"{name}: expected a tensor of shape (n, 1), got {shape}")
    return value.detach().cpu()[:, 0]


def line(name: str, value: Tensor) -> Tensor:
    """A line of numbers, (n,), that matplotlib takes."""
    if not isinstance(value, Tensor) or value.ndim != 1:
        shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"{name}: expected a tensor of shape (n,), got {shape}")
    return value.detach().cpu()


def in_order(x: Tensor, *columns: Tensor) -> list[Tensor]:
    """All columns in the order of x, so that a line or band never runs backwards."""
    x = flat("x", x)
    others = [flat("values", column) for column in columns]
    for column in others:
        if column.shape != x.shape:
            raise ValueError(f"x has {len(x)} points but the values have {len(column)}: they must be equal")
    order = torch.argsort(x, stable=True)
    return [x[order], *(column[order] for column in others)]
