"""What `training.fit_ensemble` needs to know of its members: that they are alike, and how each is run."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from uqlib import _checks, _optimise


def parameters(nets: list[nn.Module]) -> list[dict[str, nn.Parameter]]:
    """The named parameters of each net, if one of them can lend its code to all and none is shared."""
    if not nets:
        raise ValueError("models: expected at least one net, got none")
    if others := {_checks.kind(net) for net in nets if not isinstance(net, nn.Module)}:
        raise TypeError(f"models: expected a list of nets, got {', '.join(sorted(others))}")
    named = [dict(net.named_parameters()) for net in nets]
    for m, (net, mine) in enumerate(zip(nets, named, strict=True)):
        _optimise.leaves(net.parameters())
        if outline(net) != outline(nets[0]):
            raise ValueError(f"models: net {m} is built otherwise than net 0 (layers, shapes, mode); train it by fit")
        if len(list(net.named_parameters(remove_duplicate=False))) > len(mine):
            raise ValueError(f"models: net {m} uses one parameter in two places; train such nets apart, by fit")
        if any(buffer.dtype in (torch.bool, torch.int64) for buffer in net.buffers()):  # flags and counters
            raise ValueError(f"models: net {m} has buffers that steer it (BatchNorm, ActNorm); train it apart, by fit")
    if len({id(p) for mine in named for p in mine.values()}) < len(nets) * len(named[0]):
        raise ValueError("models: two members share a parameter; build each net anew, with its own initial weights")
    return named


class Carrier(nn.Module):
    """Runs `loss(net, x, y)` as its own forward."""

    def __init__(self, net: nn.Module, loss: Callable[[nn.Module, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.net, self.loss = net, loss

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """The loss of the net on (x, y)."""
        return self.loss(self.net, x, y)


def outline(net: nn.Module) -> tuple:
    """What members must share, since one of them lends its code to all: layers, shapes, dtypes, devices, modes."""
    parts = [(type(part), part.training, getattr(part, "activation", None)) for part in net.modules()]
    return parts, [(k, p.shape, p.dtype, p.device) for k, p in (*net.named_parameters(), *net.named_buffers())]


def finite_losses(values: Tensor, step: int, steps: int, name: str) -> Tensor:
    """The losses of all members, if each is a finite scalar."""
    if values.ndim != 1:
        raise ValueError(f"{name}: expected a scalar for each net, got shape {tuple(values.shape[1:])}; use .mean()")
    if not torch.isfinite(values).all():
        member = int(torch.nonzero(~torch.isfinite(values))[0])
        raise FloatingPointError(
            f"the {name} of net {member} is not finite at step {step} of {steps}: {_optimise.cure(step)}"
        )
    return values
