"""Exercises of notebook 07, PyTorch as functions."""

import torch

from uqlib.checks._exercise import Exercise

_STD = 0.5


def _weights(x, weights):
    """The weight of the notebook and another one: the answer must be a function."""
    return [(weights["weight"],), (x.new_tensor([[1.0, 0.5, -2.0]]),)]


def _pull(factor=1.0, bias=0.0):
    """The gradient of the summed NLL in the weight, times a factor, with the bias at some share of the layer's own."""

    def right(x, y, weights):
        held = bias * weights["bias"]
        return lambda weight: -factor * (y - x @ weight.T - held).T @ x / _STD**2

    return right


def _frozen(x, y, weights):
    return lambda weight: _pull()(x, y, weights)(weights["weight"])


def _each(x, y, weights, bias=1.0):
    return -(y - x @ weights["weight"].T - bias * weights["bias"]) / _STD**2


EXERCISES = {
    "07_1": Exercise(
        numbers={"points": (50, 20, 40, 80), "sigma": (0.1, 0.2, 0.25, 0.5), "tau": (3, 2, 5, 7)},
        right=lambda points, sigma, tau: points / sigma**2 + tau,
        wrong=(
            ("the prior has a curvature too", lambda points, sigma: points / sigma**2),
            ("the loss is a sum over points, not a mean", lambda sigma, tau: 1 / sigma**2 + tau),
            ("the residual is divided by sigma, then squared", lambda points, sigma, tau: points / sigma + tau),
            ("the prior counts once, not once a point", lambda points, sigma, tau: points * (1 / sigma**2 + tau)),
            (
                "differentiating a square twice takes the one half away",
                lambda points, sigma, tau: points / (2 * sigma**2) + tau / 2,
            ),
            ("there is a one half before the square: no factor of 2", lambda points, sigma, tau: 2 * points / sigma**2),
            (
                "there is a one half before the square: no factor of 2",
                lambda points, sigma, tau: 2 * (points / sigma**2 + tau),
            ),
            ("upside down: a small sigma curves the loss more", lambda points, sigma, tau: points * sigma**2 + tau),
            ("that is the variance of the bias, one over it", lambda points, sigma, tau: 1 / (points / sigma**2 + tau)),
        ),
        hints=(
            "By how much does a prediction change when the bias does? What does one point then add to the curvature?",
            "summed negative log posterior = sum of (y - b - ...)^2 / (2 sigma^2) + tau b^2 / 2 + constant.",
            "$points / $sigma**2 + $tau, which is $right.",
        ),
        tolerance=1e-4,
    ),
    "07_2": Exercise(
        at=_weights,
        right=_pull(),
        wrong=(
            ("sign: the gradient of the NLL, not of -NLL", _pull(-1)),
            ("the bias is still the layer's own: hold it at zero, and look at the spelling", _pull(bias=1.0)),
            ("the bias moved the other way: hold it at zero", _pull(bias=-1.0)),
            ("zero: your function does not use its argument, or a name is misspelt", _pull(0.0)),
            ("a mean over the points: summed_nll is a sum", lambda x, y, weights: _pull(1 / len(x))(x, y, weights)),
            ("the same at every weight: use the argument of your function", _frozen),
            (
                "the same at every weight: use the argument of your function",
                lambda x, y, weights: lambda weight: _pull(bias=1.0)(x, y, weights)(weights["weight"]),
            ),
            ("that is the residual times x: divide by sigma^2", _pull(_STD**2)),
        ),
        hints=(
            "grad differentiates by the first argument of a function. Which function has the weight as its only one?",
            'summed_nll takes a dictionary: a new one, with your weight in it, and with "bias": torch.zeros_like(...).',
            'grad(lambda weight: summed_nll({"weight": weight, "bias": torch.zeros_like(weights["bias"])}))',
        ),
        tolerance=1e-6,
    ),
    "07_3": Exercise(
        right=lambda x, y, weights: _each(x, y, weights),
        wrong=(
            ("sign: the gradient of the NLL, not of -NLL", lambda x, y, weights: -_each(x, y, weights)),
            ("that is the mean NLL: each point counts whole", lambda x, y, weights: _each(x, y, weights) / len(x)),
            (
                "that is the sum, twenty times over: map over x and y",
                lambda x, y, weights: _each(x, y, weights).sum().expand(len(x), 1),
            ),
            (
                "that is the mean over the points, twenty times over: map over x and y",
                lambda x, y, weights: _each(x, y, weights).mean().expand(len(x), 1),
            ),
            ("at the layer's own bias, not at zero", lambda x, y, weights: _each(x, y, weights, bias=0.0)),
            ("divide by sigma^2: the std of the NLL is 0.5", lambda x, y, weights: _each(x, y, weights) * _STD**2),
            ("sigma enters squared", lambda x, y, weights: _each(x, y, weights) * _STD),
            ("zero: is the name of the bias misspelt?", lambda x: torch.zeros_like(x[:, :1])),
        ),
        hints=(
            "Write the NLL of one point as a function of three things. By which to differentiate, which to map?",
            "vmap(grad(point_nll), in_dims=(None, 0, 0))(bias, x, y), with point_nll(bias, p, q) a scalar.",
            'point_nll = lambda bias, p, q: losses.gaussian_nll(functional_call(layer, {**weights, "bias": bias}, '
            '(p[None],)), q[None], std=0.5); each = vmap(grad(point_nll), in_dims=(None, 0, 0))(weights["bias"], x, y)',
        ),
        praise="Their sum is the slope of the summed NLL in the bias.",
        tolerance=1e-6,
    ),
}
