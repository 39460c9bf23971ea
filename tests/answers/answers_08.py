"""Answers to the exercises of notebook 08, worked out by hand or with whole matrices."""

import torch

from uqlib import laplace

_X = torch.linspace(-1, 1, 12, dtype=torch.float64)[:, None]
_BENDS = torch.tensor([[1.0, 2.0, 0.5]], dtype=torch.float64)


def _features(x):
    return torch.tanh(x * _BENDS + 0.3)


def _phi(x, scale=1.0):
    return torch.cat([scale * _features(x), torch.ones_like(x)], dim=1)


def _cov(scale=1.0, tau=1.0):
    phi, prior = _phi(_X, scale), torch.diag(torch.tensor([tau, tau, tau, 1.0], dtype=torch.float64))
    return torch.linalg.inv(phi.T @ phi / 0.04 + prior)


def _s(place=2.0, scale=1.0, tau=1.0, noise=0.0):
    phi = _phi(torch.tensor([[place]], dtype=torch.float64), scale)
    return (phi @ _cov(scale, tau) @ phi.T + noise).sqrt()


def _both(a, b, middle=None):
    return _phi(a) @ (_cov() if middle is None else middle) @ _phi(b).T


def _correlation(a, b, middle=None):
    return _both(a, b, middle) / (_both(a, a, middle) * _both(b, b, middle)).sqrt()


def _posterior():
    return {"posterior": laplace.fit((_X, _X.sin()), noise_std=0.2, prior_precision=1.0, features=_features)}


GIVEN = {"08_2": _posterior, "08_3": _posterior}
_NEW, _OLD = _s(scale=10.0), _s()
_STALE = _phi(torch.tensor([[2.0]], dtype=torch.float64), 10.0)

RIGHT = {
    "08_1": [0.7559, 0.756],  # root of 48 / 84
    "08_2": [_correlation, lambda a, b: _correlation(b, a).item()],
    "08_3": [_NEW / _OLD],
}

WRONG = {
    "08_1": [
        (1, "copies count"),
        (0.7071, "the prior was not doubled"),
        (0.5714, "ratio of variances"),
        (1.3229, "upside down"),
        (0.5, "do not halve"),
        (0.7906, "not 1 / sigma"),
        (0.1091, "the std with the copies"),
    ],
    "08_2": [
        (_both, "that is the covariance"),
        (lambda a, b: _both(a, b) / (_both(a, a) * _both(b, b)), "not by the variances"),
        (lambda a, b: _both(a, b) / _both(a, a), "one variance"),
        (lambda a, b: _both(a, b) / _both(b, b), "one variance"),
        (lambda a, b: _correlation(a, b) ** 2, "not its square"),
        (lambda a, b: _correlation(a, b, torch.eye(4).double()), "the angle between the features"),
        (lambda a, b: _correlation(a, b, torch.linalg.inv(_cov())), "with the precision"),
        (lambda a, b: _both(a, b) / ((_both(a, a) + 0.04) * (_both(b, b) + 0.04)).sqrt(), "leave the noise out"),
        (lambda a, b: 0.0, "not independent"),
        (lambda a, b: 1.0, "use a and b"),
        (lambda a, b: _correlation(torch.full_like(a, -0.5), torch.full_like(b, 0.5)), "use a and b"),
        (lambda a, b: torch.cat([a, b]), "expected one number"),
        (0.1, "expected a function"),
    ],
    "08_3": [
        (1, "the functions that it allows did"),
        (10, "has no say"),
        ((_NEW / _OLD) ** 2, "ratio of variances"),
        (_OLD / _NEW, "not before over after"),
        (_s(0.0, 10.0) / _s(0.0), "at x = 0"),
        (_s(1.0, 10.0) / _s(1.0), "at x = 1"),
        (_s(scale=0.1) / _OLD, "a weaker prior"),
        (_s(tau=0.1) / _OLD, "not over 10"),
        (_s(scale=10.0, noise=0.04) / _s(noise=0.04), "total stds"),
        ((_STALE @ _cov() @ _STALE.T).sqrt() / _OLD, "the old covariance"),
        (_NEW, "divide by the std above"),
    ],
}
