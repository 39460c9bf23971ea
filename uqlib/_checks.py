"""What a tensor argument must be, and the one line that says so when it is not. Nothing here broadcasts."""

import math
import numbers

import torch
from torch import Tensor, nn

Scalar = float | int | Tensor
# torch's own bases, so that every kind of dropout and batch normalisation is meant
_CHANGES_IN_TRAINING = (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._NormBase, nn.RReLU)


def matrix(name: str, value: object) -> Tensor:
    """Return `value` if it is a floating tensor of shape (n, k) with at least one entry; else say what to do."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}: expected a torch.Tensor, got {type(value).__name__}; use torch.as_tensor(...)")
    if not value.is_floating_point():
        raise TypeError(f"{name}: expected a floating dtype, got {value.dtype}; use .to(torch.float64)")
    if value.ndim != 2:
        cure = "; use [:, None] for one column, [None] for one row" if value.ndim == 1 else ""
        raise ValueError(f"{name}: expected shape (n, k), got {tuple(value.shape)}{cure}")
    if value.numel() == 0:
        raise ValueError(f"{name}: expected at least one entry, got shape {tuple(value.shape)}")
    return value


def points(name: str, x: object, d: int, weight: Tensor) -> Tensor:
    """Return x if it has shape (n, d) and is of the kind of the weight that it will meet."""
    if matrix(name, x).shape[1] != d:
        raise ValueError(f"{name}: expected shape (n, {d}), got {tuple(x.shape)}")
    same_kind(name, x, "the net", weight)
    return x


def column(name: str, value: object) -> Tensor:
    """Return `value` if it is a finite floating tensor of shape (n, 1)."""
    matrix(name, value)
    if value.shape[1] != 1:
        raise ValueError(f"{name}: expected shape (n, 1), got {tuple(value.shape)}")
    finite(name, value)
    return value


def cpu_generator(value: object) -> torch.Generator:
    """Return `value` if it is a CPU generator: nothing here draws from a global one."""
    if not isinstance(value, torch.Generator):
        raise TypeError(f"generator: expected a torch.Generator, got {type(value).__name__}; use runtime.seed(0)")
    if value.device.type != "cpu":
        raise ValueError(f"generator: expected one on the cpu, got {value.device}; use runtime.seed(0)")
    return value


def same_shape(name: str, value: Tensor, other_name: str, other: Tensor) -> None:
    """Refuse two tensors of different shape, naming both."""
    if value.shape != other.shape:
        raise ValueError(
            f"{name} has shape {tuple(value.shape)} but {other_name} has shape {tuple(other.shape)}: they must be equal"
        )


def same_kind(name: str, value: Tensor, other_name: str, other: Tensor) -> None:
    """Refuse two tensors on different devices or of different dtypes, naming both."""
    if value.device != other.device:
        raise ValueError(f"{name} is on {value.device} but {other_name} is on {other.device}: move one with .to(...)")
    if value.dtype != other.dtype:
        raise TypeError(f"{name} is {value.dtype} but {other_name} is {other.dtype}: convert one with .to(...)")


def like(name: str, value: object, mean: Tensor) -> Tensor:
    """Return `value`, a scalar or a tensor of exactly the mean's shape, as a tensor of that shape."""
    if not isinstance(value, Tensor):
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(f"{name}: expected a number or a torch.Tensor, got {type(value).__name__}")
        return torch.full_like(mean, _representable(name, value, mean.dtype), requires_grad=False)
    if not value.is_floating_point():
        raise TypeError(f"{name}: expected a floating dtype, got {value.dtype}")
    if value.ndim != 0:
        same_shape(name, value, "mean", mean)
    same_kind(name, value, "mean", mean)
    return value.expand_as(mean) if value.ndim == 0 else value


def row(name: str, value: object, mean: Tensor) -> Tensor:
    """Return `value`, a number or a finite tensor of shape (1, k), as (1, k) for a mean of (n, k)."""
    one = value if isinstance(value, Tensor) and value.ndim else like(name, value, mean[:1])
    if one.shape != (1, mean.shape[1]):
        raise ValueError(f"{name}: expected a number or shape (1, {mean.shape[1]}), got {tuple(one.shape)}")
    same_kind(name, one, "mean", mean)
    finite(name, one)
    return one


def _representable(name: str, value: float | int, dtype: torch.dtype) -> float:
    """The number as a float, if the dtype can hold it: neither beyond its range nor rounded to zero."""
    limits = torch.finfo(dtype)
    size = abs(value)  # compared before it becomes a float: a huge int would overflow
    if limits.max < size < math.inf or 0 < size < limits.smallest_normal:
        raise ValueError(f"{name}: {value} is outside the range of {dtype}; rescale, or use torch.float64")
    return float(value)


def finite(name: str, value: Tensor) -> None:
    """Refuse NaN and infinity, naming the first bad entry."""
    bad = ~torch.isfinite(value)
    if bad.any():
        where = tuple(torch.nonzero(bad)[0].tolist())
        raise ValueError(
            f"{name}: expected finite values, got {value[where].item()} at index {where} "
            f"({int(bad.sum())} of {value.numel()} entries are not finite)"
        )


def not_negative(name: str, value: Tensor) -> None:
    """Refuse negative entries; a std may be zero, never below."""
    if (value < 0).any():
        raise ValueError(f"{name}: expected a std >= 0, got {value.min().item():g}; is this a log std?")


def positive_number(name: str, value: object) -> float:
    """Return `value` as a float if it is a finite number above zero."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}: expected a number above 0, got {type(value).__name__}")
    if not math.ulp(0.0) <= value <= torch.finfo(torch.float64).max:  # a whole number may be beyond any float
        raise ValueError(f"{name}: expected a finite number above 0, got {value}")
    return float(value)


def spread(name: str, x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and std (with 1/n) of each column of x, both (1, d), if no column is constant."""
    finite(name, x)
    if len(x) < 2:
        raise ValueError(f"{name}: expected at least 2 points, got 1, whose std is 0; give a large, typical sample")
    x = x.detach()
    mean, std = x.mean(0, keepdim=True), x.std(0, correction=0, keepdim=True)
    limits, largest = torch.finfo(x.dtype), x.abs().amax(0, keepdim=True)
    sound = torch.isfinite(std) & (std >= limits.smallest_normal) & torch.isfinite(1 / std)
    beyond = (x.amax(0) > x.amin(0)) & ~sound[0]
    flat = std[0] <= 8 * limits.eps * largest[0]  # the std of a constant column is a few roundings, not zero
    for bad, fault in ((beyond, "too large or too small: rescale it"), (flat, "constant up to rounding: leave it out")):
        if bad.any():
            raise ValueError(f"{name}: column {int(torch.nonzero(bad)[0])} is {fault}")
    return mean, std


def kind(value: object) -> str:
    """What arrived, in a few words: dtype and shape of a tensor, the name of a class or function, else the type."""
    return (
        f"{value.dtype} of shape {tuple(value.shape)}"
        if isinstance(value, Tensor)
        else getattr(value, "__name__", type(value).__name__)
    )


def function(name: str, value: object, example: str) -> None:
    """Refuse what cannot be called, and a class, whose call makes an object."""
    if not callable(value) or isinstance(value, type):
        raise TypeError(f"{name}: expected a function such as {example}, got {kind(value)}")


def count(name: str, value: object) -> int:
    """Return `value` if it is a whole number of at least one."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name}: expected a whole number of at least 1, got {value!r}")
    if value < 1:
        raise ValueError(f"{name}: expected a whole number of at least 1, got {value}")
    return int(value)


def level(value: object) -> float:
    """Return `value` if it is a probability strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"level: expected a number between 0 and 1, got {type(value).__name__}")
    if not 0 < value < 1:
        hint = f"; write {value / 100:g} for {value:g} %" if 1 < value < 100 else ""
        raise ValueError(f"level: expected a number strictly between 0 and 1, got {value}{hint}")
    return float(value)


def eval_mode(name: str, net: object) -> None:
    """Refuse a net with a layer that acts differently while training; what is no net has no mode."""
    for part_name, part in net.named_modules() if isinstance(net, nn.Module) else ():
        hooks = [part, *part._forward_pre_hooks.values()]
        normed = any(type(one).__name__ in ("_SpectralNorm", "SpectralNorm") for one in hooks)
        drops = isinstance(part, nn.MultiheadAttention | nn.RNNBase) and part.dropout > 0
        if part.training and (normed or drops or isinstance(part, _CHANGES_IN_TRAINING)):
            raise ValueError(f"{name}: {part_name or 'it'} acts differently in training mode; call net.eval() first")
