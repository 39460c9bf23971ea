"""Exercises of notebook 05, From likelihood to MAP."""

import torch

from uqlib import models
from uqlib.checks._exercise import Exercise


def _nets():
    """Two nets whose weights are large enough that each of them counts."""
    generator = torch.Generator().manual_seed(0)
    nets = [models.MLP(1, widths, 1, generator=generator) for widths in ((10, 10), (4,))]
    for weight in (w for net in nets for w in net.parameters()):
        weight.data.normal_(generator=generator)
    return [(net,) for net in nets]


def _penalty(factor, parameters, size=lambda w: (w**2).sum()):
    """A factor times the sum of the sizes of some parameters, as a function of the net."""
    return lambda: lambda net: factor * sum(size(w) for w in parameters(net))


def _head(net):
    return net.head.parameters()


def _dead(answer):
    """Whether no gradient can come from what the function returns."""
    value = answer(_nets()[0][0])
    return not (isinstance(value, torch.Tensor) and value.requires_grad)


EXERCISES = {
    "05_1": Exercise(
        numbers={"n": (400, 250, 500, 800), "weight_decay": (0.01, 0.005, 0.02, 0.03)},
        right=lambda n, weight_decay: n * weight_decay,
        wrong=(
            ("that is tau / n: a mean loss hides the n", lambda weight_decay: weight_decay),
            (
                "the other way: the summed loss is n times larger, and so is its prior",
                lambda n, weight_decay: weight_decay / n,
            ),
            ("the one half belongs to the penalty, not to its slope", lambda n, weight_decay: n * weight_decay / 2),
            ("the slope of one half tau w^2 is tau w: no two", lambda n, weight_decay: 2 * n * weight_decay),
            ("that is the prior variance: one over it", lambda n, weight_decay: 1 / (n * weight_decay)),
            (
                "that is the prior std: the precision is one over its square",
                lambda n, weight_decay: (n * weight_decay) ** -0.5,
            ),
        ),
        hints=(
            "Write the paper's loss as a sum over points. What has the penalty become?",
            "On a mean loss, weight_decay = tau / n.",
            "$n * $weight_decay, which is $right.",
        ),
    ),
    "05_2": Exercise(
        at=_nets,
        right=_penalty(1 / 200, _head),
        faults=(("no gradient comes from it: return a tensor, without item() or detach()", _dead),),
        wrong=(
            ("the loss is a mean over 100 points: divide by 100", _penalty(1 / 2, _head)),
            ("one half is missing", _penalty(1 / 100, _head)),
            ("one half is missing, and the 100 of the mean", _penalty(1, _head)),
            ("the other way: a mean loss needs a smaller penalty, not a larger one", _penalty(50, _head)),
            ("the bias has a prior too", _penalty(1 / 200, lambda net: [net.head.weight])),
            ("the weights have a prior too", _penalty(1 / 200, lambda net: [net.head.bias])),
            ("on the head only", _penalty(1 / 200, lambda net: net.parameters())),
            (
                "a sum over the weights, not a mean: each weight has its own prior",
                _penalty(1 / 200, _head, lambda w: (w**2).mean()),
            ),
            ("the square of each weight, not its size", _penalty(1 / 200, _head, lambda w: w.abs().sum())),
            ("the squared norm, not the norm", _penalty(1 / 200, _head, lambda w: w.norm())),
        ),
        hints=(
            "Which weights have the prior, and by what is the penalty divided when the data's loss is a mean?",
            "tau / (2 n) times the sum of all squared weights and biases of the head, with tau = 1 and n = 100.",
            "lambda net: sum((w**2).sum() for w in net.head.parameters()) / (2 * 100)",
        ),
        tolerance=1e-3,
    ),
    "05_3": Exercise(
        numbers={"n": (1000, 2000, 5000, 600), "batch": (20, 25, 50)},
        right=lambda n: 1 / n,
        wrong=(
            ("the mean over a batch stands for the mean over all n points", lambda batch: 1 / batch),
            ("the batch size does not enter", lambda n, batch: batch / n),
            ("the batch size does not enter, nor does the number of batches", lambda n, batch: 1 / (n * batch)),
            ("that is the prior of the summed loss", lambda: 1.0),
            ("the one half belongs to the penalty, not to its slope", lambda n: 1 / (2 * n)),
            ("upside down: divide tau by n", lambda n: n),
            ("upside down, and the batch size does not enter", lambda n, batch: n / batch),
        ),
        hints=(
            "What does the mean over a batch estimate: the mean over the batch's points, or over more?",
            "A batch mean is, on average, the mean over all n points. For that one, weight_decay = tau / n.",
            "1 / $n, which is $right.",
        ),
        praise="Change the batch size as you like: the prior stays.",
    ),
}
