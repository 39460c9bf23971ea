"""Fitting: one net, or many in one vectorised pass. The loss is the caller's closure, so that it stays in view."""

import functools
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim.adam import adam
from tqdm import tqdm

from uqlib import _checks

Data = tuple[Tensor, Tensor]


@dataclass(frozen=True, eq=False)
class History:
    """The loss before each step: `train` on the points of that step, `held_out` on points never trained on.

    Shape (steps,) from `fit` and (steps, members) from `fit_ensemble`, on the CPU; `held_out` is None without
    held-out data. Entry 0 is the untrained model; the value after the last step is for the caller to compute.
    """

    train: Float[Tensor, "steps *members"]
    held_out: Float[Tensor, "steps *members"] | None

    def __repr__(self) -> str:  # a `fit` in the last line of a cell must not print a thousand numbers
        return f"History(steps={len(self.train)}, held_out={'recorded' if self.held_out is not None else None})"


def fit(
    loss: Callable[[Tensor, Tensor], Tensor],
    parameters: Iterable[nn.Parameter],
    data: Data,
    *,
    steps: int,
    lr: float,
    schedule: str = "cosine",
    weight_decay: float = 0.0,
    batch_size: int | None = None,
    generator: torch.Generator | None = None,
    held_out: Data | None = None,
) -> History:
    r"""Minimise `loss(x, y)` over `parameters` in place by Adam, and return the loss history.

    .. math:: \eta_t = \tfrac{\eta}{2}\big(1 + \cos(\pi t / T)\big), \qquad t = 0, \dots, T - 1

    The rate decays to zero (`schedule="cosine"`) because at a constant rate rounding errors grow until printed
    digits differ between machines; `schedule="constant"` is there on request.

    Parameters
    ----------
    loss : callable
        `loss(x, y)` returns a scalar tensor, a mean over the points that it is given.
    parameters : tensors
        What the optimiser may move: `net.parameters()`, or a list. Leaves that require a gradient.
    data : (x, y)
        Two finite tensors with equal first dimension, (n, d) and (n, k), on the parameters' device.
    steps, lr : int, float
        Number of updates, and the rate of the first one.
    weight_decay : float
        Added as `weight_decay * w` to each gradient (Adam's, not AdamW's): tau / n for a mean loss.
    batch_size, generator : int, torch.Generator
        Without a batch size each step sees all points. With one, points are shuffled anew each epoch by
        `generator` (CPU, explicit); the last batch of an epoch may be smaller.
    held_out : (x, y)
        If given, the loss on these points is recorded before each step as well; nothing is trained on them.

    Raises
    ------
    TypeError, ValueError
        For data or parameters that cannot be right, before the first step and with all weights as they were.
    FloatingPointError
        If the loss turns non-finite at some step, or the weights after the last one; the step is named.

    Source: Kingma & Ba (2015), algorithm 1; Loshchilov & Hutter (2017), equation 5, without restarts.
    """
    tensors = _leaves(parameters)
    x, y = _pairs("data", data, tensors[0])
    steps, update = _adam(tensors, steps, lr, schedule, weight_decay)
    if held_out is not None:
        held_out = _pairs("held_out", held_out, tensors[0])
    batches = _batches(len(x), batch_size, generator)
    train, fresh = [], []
    for step in _progress(steps):
        if held_out is not None:
            with torch.no_grad():
                fresh.append(loss(*held_out).item())
        rows = next(batches)
        value = loss(x, y) if rows is None else loss(x[rows], y[rows])
        train.append(_finite_loss(value, step, steps))
        update(step, _gradients(value, tensors))
    _check_weights(tensors, steps)
    return History(torch.tensor(train), torch.tensor(fresh) if held_out is not None else None)


def fit_ensemble(
    loss: Callable[[nn.Module, Tensor, Tensor], Tensor],
    models: Sequence[nn.Module],
    data: Data,
    *,
    steps: int,
    lr: float,
    schedule: str = "cosine",
    weight_decay: float = 0.0,
    held_out: Data | None = None,
) -> History:
    r"""Train M nets of one architecture in one vectorised pass, each as `fit` would, and write the weights back.

    .. math:: \min_{w_1, \dots, w_M} \sum_{m=1}^M \ell(w_m;\, x_m, y_m)

    The sum has no cross terms and Adam works entry by entry, so the members never meet: each takes the steps that
    it would take alone, up to rounding.

    Parameters
    ----------
    loss : callable
        `loss(net, x, y)` returns a scalar; `net` stands for one member and may be called and asked for parameters.
    models : sequence of nn.Module
        Own initial weights, same shapes, dtype and device. Changed in place once, at the end.
    data : (x, y)
        (n, d) and (n, k) shared by all members, or (M, n, d) and (M, n, k) with one data set for each.
    steps, lr, schedule, weight_decay, held_out
        As in `fit`; held-out data is shared or one set for each member, as above.

    Returns the history with shape (steps, M). Raises as `fit`, naming the member; on error no net is changed.
    """
    nets = list(models)
    if not nets:
        raise ValueError("models: expected at least one net, got none")
    named = [dict(net.named_parameters()) for net in nets]
    for m, (net, mine) in enumerate(zip(nets, named, strict=True)):
        _leaves(net.parameters())
        if [(k, v.shape) for k, v in mine.items()] != [(k, v.shape) for k, v in named[0].items()]:
            raise ValueError(f"models: net {m} has other parameter shapes than net 0; train them apart, by fit")
    if len({id(p) for mine in named for p in mine.values()}) < len(nets) * len(named[0]):
        raise ValueError("models: two members share a parameter; build each net anew, with its own initial weights")
    stacked = {k: torch.stack([mine[k].detach() for mine in named]).requires_grad_() for k in named[0]}
    first = next(iter(stacked.values()))
    x, y = _pairs("data", data, first, members=len(nets))
    weights = list(stacked.values())
    steps, update = _adam(weights, steps, lr, schedule, weight_decay)
    # `functional_call` swaps weights while forward runs, so the loss must run inside a forward.
    call = functools.partial(torch.func.functional_call, tie_weights=False)
    each = torch.vmap(lambda w, x, y: call(carrier, w, (x, y)), randomness="different")
    carrier = _Carrier(nets[0], loss)
    stacked = {f"net.{k}": v for k, v in stacked.items()}
    if held_out is not None:
        held_out = _pairs("held_out", held_out, first, members=len(nets))
    shape = (steps, len(nets))
    train, fresh = torch.empty(shape), torch.empty(shape) if held_out is not None else None
    for step in _progress(steps):
        if held_out is not None:
            with torch.no_grad():
                fresh[step] = each(stacked, *held_out)
        values = each(stacked, x, y)
        if values.shape != (len(nets),):
            raise ValueError(f"loss: expected a scalar for each net, got shape {tuple(values.shape[1:])}; use .mean()")
        if not torch.isfinite(values).all():
            member = int(torch.nonzero(~torch.isfinite(values))[0])
            raise FloatingPointError(f"the loss of net {member} is not finite at step {step} of {steps}: {_cure(step)}")
        train[step] = values.detach()
        update(step, _gradients(values.sum(), weights))
    _check_weights(weights, steps)
    with torch.no_grad():
        for m, mine in enumerate(named):
            for name, parameter in mine.items():
                parameter.copy_(stacked[f"net.{name}"][m])
    return History(train, fresh)


class _Carrier(nn.Module):
    """Runs `loss(net, x, y)` as its own forward."""

    def __init__(self, net: nn.Module, loss: Callable[[nn.Module, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.net, self.loss = net, loss

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.loss(self.net, x, y)


def _leaves(parameters: Iterable[Tensor]) -> list[Tensor]:
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
            raise ValueError(
                f"parameters: the tensor at place {i} needs no gradient; leave it out, or requires_grad_()"
            )
    return tensors


def _pairs(name: str, data: Data, parameter: Tensor, members: int | None = None) -> Data:
    """Check (x, y); with `members`, expand shared data to a leading axis of that length."""
    if not (isinstance(data, tuple | list) and len(data) == 2):
        raise TypeError(f"{name}: expected a pair (x, y), got {type(data).__name__}")
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
        _checks.same_kind(label, value, "the first parameter", parameter)
        _checks.finite(label, value)
        pair.append(value.detach())
    x, y = pair
    if x.shape[-2] != y.shape[-2]:
        raise ValueError(f"{name}: x has shape {tuple(x.shape)} but y has shape {tuple(y.shape)}: rows must pair up")
    return x, y


def _adam(tensors: list[Tensor], steps: int, lr: float, schedule: str, weight_decay: float):
    """Check the options; return the number of steps and `update(step, gradients)`, which moves the tensors in place.

    The functional form of torch's fused Adam: the class would import the compiler at its first use (1.5 s, as long as
    importing torch) and costs a tiny net as much time a step as its forward pass.
    """
    steps, lr = _checks.count("steps", steps), _checks.positive_number("lr", lr)
    if schedule not in ("cosine", "constant"):
        raise ValueError(f"schedule: expected 'cosine' or 'constant', got {schedule!r}")
    if weight_decay != 0:
        _checks.positive_number("weight_decay", weight_decay)
    first, second = ([torch.zeros_like(t) for t in tensors] for _ in range(2))
    counts = [torch.zeros((), dtype=torch.float32, device=t.device) for t in tensors]
    constants = {"amsgrad": False, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "maximize": False}

    def update(step: int, gradients: list[Tensor]) -> None:
        rate = 0.5 * lr * (1 + math.cos(math.pi * step / steps)) if schedule == "cosine" else lr
        with torch.no_grad():
            adam(
                tensors,
                gradients,
                first,
                second,
                [],
                counts,
                fused=True,
                lr=rate,
                weight_decay=weight_decay,
                **constants,
            )

    return steps, update


def _gradients(value: Tensor, tensors: list[Tensor]) -> list[Tensor]:
    """Gradients of a scalar; zero for a tensor that it does not depend on. No .grad of the caller's is touched."""
    if not value.requires_grad:
        raise ValueError("loss: it depends on none of the parameters; does it call the net that you hand over?")
    found = torch.autograd.grad(value, tensors, allow_unused=True)
    return [torch.zeros_like(t) if g is None else g for t, g in zip(tensors, found, strict=True)]


def _batches(n: int, batch_size: int | None, generator: torch.Generator | None):
    """Row indices of each step for ever; None stands for all rows, without a copy."""
    if batch_size is None:
        while True:
            yield None
    _checks.count("batch_size", batch_size)
    if generator is None:
        raise ValueError("generator: batch_size needs one to shuffle by; use generator=runtime.seed(0)")
    while True:
        yield from torch.randperm(n, generator=generator).split(batch_size)


def _finite_loss(value: object, step: int, steps: int) -> float:
    """The loss as a number, if it is a finite scalar tensor."""
    if not isinstance(value, Tensor) or value.ndim != 0:
        got = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"loss: expected a scalar tensor, got {got}; end it with .mean()")
    number = value.item()
    if not math.isfinite(number):
        raise FloatingPointError(f"the loss is {number} at step {step} of {steps}: {_cure(step)}")
    return number


def _cure(step: int) -> str:
    if step == 0:
        return "look at the initial weights and at the scale of y"
    return "lower lr, or standardise x and y"


def _check_weights(tensors: Iterable[Tensor], steps: int) -> None:
    if not all(torch.isfinite(t).all() for t in tensors):
        raise FloatingPointError(f"a weight is not finite after step {steps} of {steps}: lower lr, or standardise x, y")


def _progress(steps: int) -> Iterable[int]:
    """A bar on a terminal or in Jupyter once a fit takes long; none in tests, in pipes, or with TQDM_DISABLE=1."""
    quiet = "PYTEST_CURRENT_TEST" in os.environ or os.environ.get("TQDM_DISABLE", "") not in ("", "0")
    if quiet or not ("ipykernel" in sys.modules or sys.stderr.isatty()):
        return range(steps)
    return tqdm(range(steps), delay=1.0, leave=False)
