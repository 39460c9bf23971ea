"""What the Laplace functions are given, checked and in one form: batches, features, noise stds, precisions."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
from torch import Tensor

from uqlib import _checks

Batches = tuple[Tensor, Tensor] | Iterable[tuple[Tensor, Tensor]]
Function = Callable[[Tensor], Tensor]
Precision = float | int | Sequence[float | int]


def evaluate(name: str, function: Function | None, x: object, label: str) -> Tensor:
    """A function of x as a checked matrix, without gradient; x itself if there is no function."""
    if function is None:
        return _checks.matrix(label, x)
    _checks.function(name, function, "net.features")
    _checks.eval_mode(name, getattr(function, "__self__", function))
    with torch.no_grad():
        return _checks.matrix(f"{name}(x)", function(x))


def point_std(noise_std: Tensor | Function, x: object, points: int, outputs: int) -> Tensor:
    """A std for each point, (n, 1) or (n, k), above zero."""
    name = "noise_std" if isinstance(noise_std, Tensor) else "noise_std(x)"
    std = _checks.matrix(name, noise_std) if name == "noise_std" else evaluate("noise_std", noise_std, x, name)
    if std.shape not in ((points, 1), (points, outputs)):
        raise ValueError(f"{name}: expected shape {(points, 1)} or {(points, outputs)}, got {tuple(std.shape)}")
    return above_zero(name, std).to(torch.float64, copy=True)


def above_zero(name: str, std: Tensor) -> Tensor:
    """A std without gradient, if every entry is finite and above zero."""
    _checks.finite(name, std)
    if not (std > 0).all():
        raise ValueError(f"{name}: expected every std above 0, got {std.min().item():g}; is this a log std?")
    return std.detach()


def is_pair(data: object) -> bool:
    """Whether the data are one pair of tensors, not an iterable of batches."""
    return isinstance(data, tuple | list) and len(data) == 2 and all(isinstance(part, Tensor) for part in data)


def pairs(data: Batches) -> Iterator[tuple[Tensor, Tensor]]:
    """The batches of the data, each checked to be a pair of tensors; one, if the data are one pair."""
    if isinstance(data, Tensor) or not isinstance(data, Iterable):
        raise TypeError(f"data: expected (phi, y) or an iterable of such pairs, got {type(data).__name__}")
    number = None
    for number, batch in enumerate([data] if is_pair(data) else data):
        if not is_pair(batch):
            whole = data if number == 0 and isinstance(data, tuple | list) else [batch]  # (phi, array): no batches
            parts = batch if isinstance(batch, tuple | list) else whole
            got = ", ".join(type(part).__name__ for part in parts)
            raise TypeError(f"data: expected batch {number} to be a pair of tensors (phi, y), got {got}")
        yield batch
    if number is None:
        raise ValueError("data: expected at least one batch, got none; a generator is empty when used twice")


def rows_pair_up(phi: Tensor, y: Tensor) -> None:
    """Refuse a y that is no matrix, has another number of rows than phi, or is elsewhere."""
    _checks.matrix("data: y", y)
    if len(phi) != len(y):
        raise ValueError(f"data: phi has shape {tuple(phi.shape)} but y has shape {tuple(y.shape)}: rows pair up")
    if phi.device != y.device:
        raise ValueError(f"data: phi is on {phi.device} but y is on {y.device}: move one with .to(...)")


def with_bias(phi: Tensor, bias: bool) -> Tensor:
    """The features with their column of ones, if there is one."""
    return torch.cat([phi, torch.ones_like(phi[:, :1])], dim=1) if bias else phi


def split_noise(noise_std: object) -> tuple[_checks.Scalar, Tensor | Function | None]:
    """What is common to all points, and what each point has of its own."""
    if isinstance(noise_std, Tensor) and noise_std.ndim == 1:
        raise ValueError(
            "noise_std: expected (1, k), a std of each output, or (n, 1) or (n, k), of each point; "
            f"got {tuple(noise_std.shape)}"
        )
    if callable(noise_std) or (isinstance(noise_std, Tensor) and noise_std.ndim > 0 and len(noise_std) != 1):
        return 1.0, noise_std
    return noise_std, None


def number(value: object) -> object:
    """A tensor without dimensions as the number that it holds."""
    return value.item() if isinstance(value, Tensor) and value.ndim == 0 else value


def moderate(name: str, value: object) -> float:
    """A number above zero whose square, and one over it, float64 can hold with room for sums."""
    if not 1e-100 < _checks.positive_number(name, value) < 1e100:
        raise ValueError(f"{name}: expected a number between 1e-100 and 1e100, got {value:g}; rescale the data")
    return float(value)


def common_noise(noise_std: _checks.Scalar, row: Tensor) -> Tensor:
    """A std for each output, (1, k)."""
    if not (isinstance(noise_std, Tensor) and noise_std.ndim):
        return torch.full_like(row, moderate("noise_std", number(noise_std)))
    _checks.matrix("noise_std", noise_std)
    if noise_std.shape not in ((1, 1), row.shape):
        raise ValueError(f"noise_std: expected a number or shape {tuple(row.shape)}, got {tuple(noise_std.shape)}")
    for value in above_zero("noise_std", noise_std).flatten().tolist():
        moderate("noise_std", value)
    return noise_std.detach().to(row, copy=True).expand_as(row)


def prior_precisions(prior_precision: Precision, weights: int, bias: bool) -> list[float]:
    """tau of each weight, the bias last."""
    two = isinstance(prior_precision, tuple | list)
    if two and (len(prior_precision) != 2 or not bias):
        raise ValueError(
            "prior_precision: expected one number, or two if there is a bias (for the weights, for the bias), "
            f"got {len(prior_precision)}{'' if bias else ' without a bias'}"
        )
    of_weights, of_bias = (
        moderate("prior_precision", value) for value in (prior_precision if two else [prior_precision] * 2)
    )
    return [of_weights] * (weights - bias) + [of_bias] * bias
