"""Tensors as the lines of numbers that matplotlib takes: shapes and values checked, on the CPU, without gradient."""

import torch
from torch import Tensor

from uqlib import _checks


def flat(name: str, value: Tensor) -> Tensor:
    """One column, (n, 1), as a line of numbers that matplotlib takes; without a point it is an empty line."""
    return line(name, value, "(n, 1)").flatten()


def line(name: str, value: Tensor, shape: str = "(n,)") -> Tensor:
    """Finite numbers of the shape `(n,)` or `(n, 1)` that matplotlib takes: on the CPU, without gradient."""
    ends = (1,) if shape == "(n, 1)" else ()
    if not isinstance(value, Tensor) or not value.ndim or value.shape[1:] != ends or not (len(value) or ends):
        got = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"{name}: expected a tensor of shape {shape}, got {got}")
    _checks.finite(name, value)  # matplotlib and seaborn leave NaN and infinity out without a word
    return value.detach().cpu()


def in_order(x: Tensor, *columns: Tensor, name: str = "values") -> list[Tensor]:
    """All columns in the order of x, so that a line or band never runs backwards."""
    x = flat("x", x)
    others = [flat(name, column) for column in columns]
    for column in others:
        if column.shape != x.shape or not len(x):
            raise ValueError(f"x has {len(x)} points but the {name} have {len(column)}: expected as many, at least one")
    order = torch.argsort(x, stable=True)
    return [x[order], *(column[order] for column in others)]
