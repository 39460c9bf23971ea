"""Tensors as the lines of numbers that matplotlib takes: shapes checked, on the CPU, without gradient."""

import torch
from torch import Tensor


def flat(name: str, value: Tensor) -> Tensor:
    """One column, (n, 1), as a line of numbers that matplotlib takes."""
    return line(name, value, "(n, 1)").flatten()


def line(name: str, value: Tensor, shape: str = "(n,)") -> Tensor:
    """Numbers of the shape `(n,)` or `(n, 1)` that matplotlib takes: on the CPU, without gradient."""
    if not isinstance(value, Tensor) or value.shape[1:] != ((1,) if shape == "(n, 1)" else ()) or not value.ndim:
        raise ValueError(
            f"{name}: expected a tensor of shape {shape}, "
            f"got {tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__}"
        )
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
