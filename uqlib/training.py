"""Fitting: one net, or many in one vectorised pass. The loss is the caller's closure, so that it stays in view."""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from uqlib import _checks, _members, _optimise

Data = _optimise.Data


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

    The rate decays to zero (`schedule="cosine"`) because at a constant rate rounding errors can grow until
    printed digits differ between machines; `schedule="constant"` is there on request.

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
    _checks.function("loss", loss, "lambda x, y: losses.squared_error(net(x), y)")
    tensors = _optimise.leaves(parameters)
    x, y = _optimise.pairs("data", data, tensors[0])
    steps, update = _optimise.adam(tensors, steps, lr, schedule, weight_decay)
    if held_out is not None:
        held_out = _optimise.pairs("held_out", held_out, tensors[0])
    batches = _optimise.batches(len(x), batch_size, generator)
    train, fresh = [], []
    for step in _optimise.progress(steps):
        if held_out is not None:
            with torch.no_grad():
                fresh.append(_optimise.finite_loss(loss(*held_out), step, steps, "held-out loss"))
        rows = next(batches)
        value = loss(x, y) if rows is None else loss(x[rows], y[rows])
        train.append(_optimise.finite_loss(value, step, steps))
        update(step, _optimise.gradients(value, tensors))
    _optimise.check_weights(tensors, steps)
    of = {"dtype": torch.float64, "device": "cpu"}
    return History(torch.tensor(train, **of), None if held_out is None else torch.tensor(fresh, **of))


def fit_ensemble(
    loss: Callable[[nn.Module, Tensor, Tensor], Tensor],
    models: Sequence[nn.Module],
    data: Data,
    *,
    steps: int,
    lr: float,
    schedule: str = "cosine",
    weight_decay: float = 0.0,
    anchored: bool = False,
    batch_size: int | None = None,
    generator: torch.Generator | None = None,
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
        (n, d) and (n, k) shared by all members, or (M, n, d) and (M, n, k) with one data set for each: its own
        `bootstrap`, or its own noise added to y.
    anchored : bool
        If true, the weight decay pulls each weight to where it started and not to zero. Draw the initial weights from
        the prior and give y noise of the noise std: for a linear model the members are then exact posterior draws.
    batch_size, generator
        As in `fit`; each member shuffles its own order.
    steps, lr, schedule, weight_decay, held_out
        As in `fit`; held-out data is shared or one set for each member, as above.

    Returns the history with shape (steps, M). Raises as `fit`, naming the member; on error no net is changed.

    Source: Lakshminarayanan, Pritzel & Blundell (2017), algorithm 1; Pearce et al. (2020), equation 9, anchors;
    Matthews et al. (2017), sample-then-optimize, anchors with noise in y.
    """
    _checks.function("loss", loss, "lambda net, x, y: losses.squared_error(net(x), y)")
    nets = list(models) if isinstance(models, Iterable) else [type(models)]
    named = _members.parameters(nets)
    stacked = {k: torch.stack([mine[k].detach() for mine in named]).requires_grad_() for k in named[0]}
    weights = list(stacked.values())
    x, y = _optimise.pairs("data", data, weights[0], members=len(nets))
    steps, update = _optimise.adam(weights, steps, lr, schedule, weight_decay, anchored)
    batches = _optimise.batches(x.shape[1], batch_size, generator, members=len(nets))
    everyone = torch.arange(len(nets), device=x.device)[:, None]
    # `functional_call` swaps weights while forward runs, so the loss must run inside a forward.
    call = functools.partial(torch.func.functional_call, tie_weights=False)
    buffers = [dict(net.named_buffers()) for net in nets]
    constant = {f"net.{k}": torch.stack([mine[k] for mine in buffers]) for k in buffers[0]}
    each = torch.vmap(lambda b, w, x, y: call(carrier, b | w, (x, y)), randomness="different")
    each = functools.partial(each, constant)
    carrier = _members.Carrier(nets[0], loss)
    stacked = {f"net.{k}": v for k, v in stacked.items()}
    if held_out is not None:
        held_out = _optimise.pairs("held_out", held_out, weights[0], members=len(nets))
    train = torch.empty((steps, len(nets)), dtype=torch.float64, device="cpu")
    fresh = torch.empty_like(train) if held_out is not None else None
    for step in _optimise.progress(steps):
        if held_out is not None:
            with torch.no_grad():
                fresh[step] = _members.finite_losses(each(stacked, *held_out), step, steps, "held-out loss")
        rows = next(batches)
        seen = (x, y) if rows is None else (x[everyone, rows], y[everyone, rows])
        values = _members.finite_losses(each(stacked, *seen), step, steps, "loss")
        train[step] = values.detach()
        update(step, _optimise.gradients(values.sum(), weights))
    _optimise.check_weights(weights, steps)
    with torch.no_grad():
        for m, mine in enumerate(named):
            for name, parameter in mine.items():
                parameter.copy_(stacked[f"net.{name}"][m])
    return History(train, fresh)


def bootstrap(data: Data, members: int, generator: torch.Generator) -> Data:
    """One resample for each member: n rows of (x, y) drawn with replacement, as (M, n, d) and (M, n, k).

    Drawn on the CPU from `generator`. Raises TypeError or ValueError for data that cannot be right.
    """
    _checks.cpu_generator(generator)
    x, y = _optimise.pairs("data", data, None)
    rows = torch.randint(len(x), (_checks.count("members", members), len(x)), generator=generator, device="cpu").to(
        x.device
    )
    return x[rows], y[rows]
