"""Answers to the exercises of notebook 07, worked out by hand or by autograd on the formula of the NLL."""

import torch

_GENERATOR = torch.Generator().manual_seed(1)
_X = torch.randn((20, 3), generator=_GENERATOR, dtype=torch.float64)
_Y = torch.randn((20, 1), generator=_GENERATOR, dtype=torch.float64)
_WEIGHTS = {"weight": torch.tensor([[0.5, -1.0, 2.0]]).double(), "bias": torch.tensor([0.1]).double()}


def _slope(weight, bias=0.0, loss=lambda r: (2 * r.square()).sum()):  # r^2 / (2 * 0.25) = 2 r^2
    weight = weight.clone().requires_grad_()
    (slope,) = torch.autograd.grad(loss(_Y - _X @ weight.T - bias), weight)
    return slope


def _each(bias=0.1, scale=2.0):
    """One gradient after the other, by backward."""
    slopes = []
    for x, y in zip(_X, _Y, strict=True):
        b = torch.tensor([bias], dtype=torch.float64, requires_grad=True)
        (scale * (y - x @ _WEIGHTS["weight"].T - b).square()).sum().backward()
        slopes.append(b.grad)
    return torch.stack(slopes)


_ALL = {"x": _X, "y": _Y, "weights": _WEIGHTS}
GIVEN = {"07_2": lambda: _ALL, "07_3": lambda: _ALL}

RIGHT = {
    "07_1": [5003, torch.tensor([[5003.0]])],  # a Hessian by torch.func has shape (1, 1)
    "07_2": [_slope],
    "07_3": [_each()],
}

WRONG = {
    "07_1": [
        (5000, "a curvature too"),
        (103, "not a mean"),
        (503, "then squared"),
        (5150, "not once a point"),
        (2501.5, "takes the one half away"),
        (10000, "no factor of 2"),
        (10006, "no factor of 2"),
        (3.5, "upside down"),
        (1 / 5003, "the variance of the bias"),
        (-5003, "sign"),
    ],
    "07_2": [
        (lambda weight: -_slope(weight), "sign"),
        (lambda weight: _slope(weight, bias=0.1), "hold it at zero, and"),
        (lambda weight: _slope(weight, bias=-0.1), "the other way"),
        (lambda weight: 0 * weight, "does not use its argument"),
        (lambda weight: _slope(weight, loss=lambda r: (2 * r.square()).mean()), "a mean over the points"),
        (lambda weight: _slope(_WEIGHTS["weight"]), "the same at every weight"),
        (lambda weight: _slope(_WEIGHTS["weight"], bias=0.1), "the same at every weight"),
        (lambda weight: _slope(weight, loss=lambda r: r.square().sum() / 2), "divide by sigma^2"),
        (lambda weight: {"weight": weight}, "got a dict"),
        (lambda weight: _slope(weight).flatten(), "expected shape (1, 3), got shape (3,)"),
        (_slope(_WEIGHTS["weight"]), "expected a function"),
    ],
    "07_3": [
        (-_each(), "sign"),
        (_each() / 20, "counts whole"),
        (_each().sum().repeat(20, 1), "that is the sum"),
        (_each().mean().repeat(20, 1), "that is the mean over the points"),
        (_each(bias=0.0), "not at zero"),
        (_each(scale=0.5), "divide by sigma^2"),
        (_each(scale=1.0), "enters squared"),
        (torch.zeros(20, 1), "misspelt"),
        (_each()[:, 0], "expected shape (20, 1), got shape (20,)"),
        (_each().sum(), "expected shape (20, 1), got shape ()"),
    ],
}
