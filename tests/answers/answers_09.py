"""Answers to the exercises of notebook 09, worked out by hand or by fitting again with one more point."""

import torch

from uqlib import Predictive, laplace

_INSIDE = torch.linspace(-1, 1, 41, dtype=torch.float64)[:, None]
_X = torch.cat([_INSIDE[:12], _INSIDE[30:]])
_PREDICTION = Predictive(_INSIDE, 0.2, 0.05 + 0.1 * _INSIDE.abs() + 0.02 * _INSIDE)
_BENDS = torch.tensor([[1.0, 2.0, 5.0]], dtype=torch.float64)


def _features(x):
    return torch.tanh(x * _BENDS + 0.3)


def _phi(x):
    return torch.cat([_features(x), torch.ones_like(x)], dim=1)


def _variances(precision):
    return (_phi(_INSIDE) @ torch.linalg.inv(precision) * _phi(_INSIDE)).sum(1)


def _precision(std=0.2):
    return _phi(_X).T @ _phi(_X) / std**2 + torch.eye(4, dtype=torch.float64)


def _left(std, before=0.2):
    """The mean of s^2 over the range after one more point at each place, over that before: by solving again."""
    old = _precision(before)
    rows = [row[:, None] @ row[None] / std**2 for row in _phi(_INSIDE)]
    return torch.stack([_variances(old + row).mean() for row in rows]) / _variances(old).mean()


def _given():
    fitted = laplace.fit((_X, _X.sin()), noise_std=0.2, prior_precision=1.0, features=_features)
    return {"posterior": fitted, "inside": _INSIDE}


def _stds(form):
    return lambda prediction: form(prediction.aleatoric_std, prediction.epistemic_std)


_TAKEN = 1 - _left(0.05)
_BEST, _OLD = _TAKEN.max(), (1 - _left(0.2)).max()

GIVEN = {"09_2": lambda: {"prediction": _PREDICTION}, "09_3": _given}

RIGHT = {
    "09_1": [548.8, 549, 550],  # 0.0225 / 0.0041 times 100
    "09_2": [_stds(lambda a, e: 1 / (1 + (a / e) ** 2)), lambda p: (p.epistemic_std / p.total_std).square()],
    "09_3": [_BEST, _BEST.item()],
}

WRONG = {
    "09_1": [
        (22500, "stds do not add"),
        (234.3, "square the ratio"),
        (449, "in all"),
        (1125, "square 1.05"),
        (141.7, "does not shrink"),
        (5.49, "not how many times"),
        (0.064, "how many points give it"),
        (-548.8, "sign"),
    ],
    "09_2": [
        (_stds(lambda a, e: 1 / (1 + (a / e) ** 2).sqrt()), "ratio of stds"),
        (_stds(lambda a, e: (e / a) ** 2), "not of that of the noise"),
        (_stds(lambda a, e: e / (a + e)), "stds do not add"),
        (_stds(lambda a, e: (e / (a + e)) ** 2), "square first"),
        (_stds(lambda a, e: 1 / (1 + (e / a) ** 2)), "share of the noise"),
        (_stds(lambda a, e: 100 / (1 + (a / e) ** 2)), "not per cent"),
        (lambda p: p.epistemic_std**2 / p.total_std, "not over the total std"),
        (lambda p: p.epistemic_std**2, "that is the epistemic variance"),
        (lambda p: p.epistemic_std**2 / (0.04 + p.epistemic_std**2), "take both stds from the argument"),
        (lambda p: _PREDICTION.epistemic_std**2 / _PREDICTION.total_std**2, "use the argument"),
        (lambda p: (p.epistemic_std / p.total_std).square().max(), "expected shape (41, 1)"),
        (lambda p: (p.epistemic_std / p.total_std).square()[:, 0], "expected shape (41, 1), got shape (41,)"),
        (0.3, "expected a function"),
    ],
    "09_3": [
        (_OLD, "the old instrument"),
        ((1 - _left(0.05**0.5)).max(), "square it"),
        (16 * _OLD, "stays in the denominator"),
        ((1 - _left(1e-6)).max(), "a perfect instrument"),
        (_TAKEN.mean(), "the mean over u"),
        (_TAKEN[_variances(_precision()).argmax()], "the largest s"),
        (_BEST * _variances(_precision()).mean(), "that is a variance"),
        (1 - _BEST, "left over"),
        (100 * _BEST, "not per cent"),
        ((1 - _left(0.05, before=0.05)).max(), "measured with the old instrument"),
    ],
}
