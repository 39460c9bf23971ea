"""What `training` needs around a loop: checks of what it is given, the update rule, batches, the progress bar."""

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor, nn
from torch.optim.adam import adam as fused_adam
from tqdm import tqdm

from uqlib import _checks

Data = tuple[Tensor, Tensor]


def leaves(parameters: Iterable[Tensor]) -> list[Tensor]:
    """The parameters as a list, if an optimiser can move each of them."""
    if isinstance(parameters, nn.Module):
        raise TypeError("parameters: expected tensors, got a module; use net.parameters()")
    tensors = list(parameters)
    if not tensors:
        raise ValueError("parameters: expected at least one tensor, got none; a generator is empty when used twice")
    for i, p in enumerate(tensors):
        if not isinstance(p, Tensor):
            raise TypeError(f"parameters: expected tensors, got {type(p).__name__} at place {i}")
        if not p.is_leaf:
            raise ValueError(
                f"parameters: the tensor of shape {tuple(p.shape)} at place {i} is not a leaf, so no optimiser can "
                "move it; nn.Parameter(t).to(device) makes such a copy: write nn.Parameter(t.to(device))"
            )
        if not p.requires_grad:
            raise ValueError(f"parameters: the tensor at place {i} needs no gradient; leave it out")
        if torch.empty_like(p).stride() != p.stride():
            raise ValueError(f"parameters: the tensor at place {i} has gaps or repeats in memory; use its clone()")
    if len({id(p) for p in tensors}) < len(tensors):
        raise ValueError("parameters: a tensor is listed twice, so it would move twice a step; list each once")
    return tensors


def pairs(name: str, data: Data, parameter: Tensor | None, members: int | None = None) -> Data:
    """Check (x, y), which go with the parameter or with each other; with `members`, expand shared data to those."""
    if not (isinstance(data, tuple | list) and len(data) == 2):
        got = type(data).__name__ + (f" of {len(data)}" if isinstance(data, tuple | list) else "")
        raise TypeError(f"{name}: expected a pair (x, y), got {got}")
    pair = []
    for letter, value in zip("xy", data, strict=True):
        label = f"{name}: {letter}"
        if members is not None and isinstance(value, Tensor) and value.ndim == 3:
            if len(value) != members:
                raise ValueError(f"{label} has {len(value)} data sets for {members} nets; its shape is (nets, n, d)")
            _checks.matrix(label, value.flatten(0, 1))
        else:
            _checks.matrix(label, value)
            value = value if members is None else value.expand(members, *value.shape)
        other, kin = ("the first parameter", parameter) if parameter is not None else (f"{name}: x", [*pair, value][0])
        _checks.same_kind(label, value, other, kin)
        _checks.finite(label, value)
        pair.append(value.detach().clone())  # a loss that works in place must not reach the caller's data
    x, y = pair
    if x.shape[-2] != y.shape[-2]:
        raise ValueError(f"{name}: x has shape {tuple(x.shape)} but y has shape {tuple(y.shape)}: rows must pair up")
    return x, y


def adam(
    tensors: list[Tensor], steps: int, lr: float, schedule: str, weight_decay: float, anchored: bool = False
) -> tuple[int, Callable[[int, list[Tensor]], None]]:
    """Check the options; return the number of steps and `update(step, gradients)`, which moves the tensors in place.

    The functional form of torch's fused Adam: the class would import the compiler at its first use (1.5 s, as long as
    importing torch) and costs a tiny net as much time a step as its forward pass.
    """
    steps, lr = _checks.count("steps", steps), _checks.positive_number("lr", lr)
    if schedule not in ("cosine", "constant"):
        raise ValueError(f"schedule: expected 'cosine' or 'constant', got {schedule!r}")
    if isinstance(weight_decay, bool) or not isinstance(weight_decay, int | float) or not 0 <= weight_decay < math.inf:
        raise ValueError(f"weight_decay: expected a finite number of at least 0, got {weight_decay!r}")
    if anchored and weight_decay == 0:
        raise ValueError("anchored: without a weight_decay nothing pulls to the anchors; give weight_decay=tau / n")
    anchors = [t.detach().clone() for t in tensors] if anchored else []
    first, second = ([torch.zeros_like(t) for t in tensors] for _ in range(2))
    counts = [torch.zeros((), dtype=torch.float32, device=t.device) for t in tensors]

    def update(step: int, gradients: list[Tensor]) -> None:
        rate = 0.5 * lr * (1 + math.cos(math.pi * step / steps)) if schedule == "cosine" else lr
        with torch.no_grad():
            if anchored:  # Adam adds weight_decay * w: together that pulls to the anchor
                gradients = [g - weight_decay * anchor for g, anchor in zip(gradients, anchors, strict=True)]
            fused_adam(
                tensors,
                gradients,
                first,
                second,
                [],
                counts,
                fused=True,
                lr=rate,
                weight_decay=weight_decay,
                amsgrad=False,
                beta1=0.9,
                beta2=0.999,
                eps=1e-8,
                maximize=False,
            )

    return steps, update


def gradients(value: Tensor, tensors: list[Tensor]) -> list[Tensor]:
    """Gradients of a scalar; zero for a tensor that it does not depend on. No .grad of the caller's is touched."""
    found = torch.autograd.grad(value, tensors, allow_unused=True) if value.requires_grad else [None]
    if all(g is None for g in found):
        raise ValueError("loss: it depends on none of the parameters; does it call the net that you hand over?")
    return [torch.zeros_like(t) if g is None else _laid_out_as(t, g) for t, g in zip(tensors, found, strict=True)]


def _laid_out_as(tensor: Tensor, gradient: Tensor) -> Tensor:
    """The gradient in its tensor's memory layout: the fused kernel walks through both side by side."""
    return gradient if gradient.stride() == tensor.stride() else torch.empty_like(tensor).copy_(gradient)


def batches(
    n: int, batch_size: int | None, generator: torch.Generator | None, members: int | None = None
) -> Iterator[Tensor | None]:
    """Row indices of each step for ever, (rows,) or (members, rows); None stands for all rows, without a copy."""
    if batch_size is None:
        while True:
            yield None
    batch_size = _checks.count("batch_size", batch_size)
    if generator is None:
        raise ValueError("generator: batch_size needs one to shuffle by; use generator=runtime.seed(0)")
    _checks.cpu_generator(generator)
    while True:
        orders = torch.stack([torch.randperm(n, generator=generator, device="cpu") for _ in range(members or 1)])
        yield from (orders if members else orders[0]).split(batch_size, -1)


def finite_loss(value: object, step: int, steps: int, name: str = "loss") -> float:
    """The loss as a number, if it is a finite scalar tensor."""
    if not isinstance(value, Tensor) or value.ndim != 0:
        raise ValueError(f"{name}: expected a scalar tensor, got {_checks.kind(value)}; end it with .mean()")
    number = value.item()
    if not math.isfinite(number):
        raise FloatingPointError(f"the {name} is {number} at step {step} of {steps}: {cure(step)}")
    return number


def cure(step: int) -> str:
    """What to try when the loss is not finite."""
    return "lower lr, or standardise x and y" if step else "look at the initial weights and at the scale of y"


def check_weights(tensors: Iterable[Tensor], steps: int) -> None:
    """Refuse to hand back weights that are not finite."""
    if not all(torch.isfinite(t).all() for t in tensors):
        raise FloatingPointError(f"a weight is not finite after step {steps} of {steps}: lower lr, or standardise x, y")


def progress(steps: int) -> Iterable[int]:
    """A bar on a terminal or in Jupyter once a fit takes long; none in tests, in pipes, or with TQDM_DISABLE=1."""
    quiet = "PYTEST_CURRENT_TEST" in os.environ or os.environ.get("TQDM_DISABLE", "") not in ("", "0")
    if quiet or not ("ipykernel" in sys.modules or sys.stderr.isatty()):
        return range(steps)
    return tqdm(range(steps), delay=1.0, leave=False)
