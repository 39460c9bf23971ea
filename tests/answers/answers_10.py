"""Answers to the exercises of notebook 10: by hand; the line also by `laplace` and by a sum over weights."""

import math

import torch

from uqlib import laplace


def by_laplace(y, phi, tau, sigma):
    """The head of one weight, fitted to one point."""
    pair = phi.reshape(1, 1), y.reshape(1, 1)
    return laplace.fit(pair, noise_std=sigma.item(), prior_precision=tau.item(), bias=False).log_evidence


def by_grid(y, phi, tau, sigma):
    """The integral over the weight as a sum: likelihood times prior times width."""
    w = torch.linspace(-12, 12, 200_001, dtype=torch.float64)
    likelihood = torch.distributions.Normal(phi * w, sigma).log_prob(y)
    prior = torch.distributions.Normal(0.0, tau**-0.5).log_prob(w)
    return (likelihood + prior).logsumexp(0) + math.log(24 / 200_000)


def normal(variance):
    return lambda *given: torch.distributions.Normal(0.0, variance(*given[1:]) ** 0.5).log_prob(given[0])


def at_best_weight(y, phi, tau, sigma):
    pair = phi.reshape(1, 1), y.reshape(1, 1)
    head = laplace.fit(pair, noise_std=sigma.item(), prior_precision=tau.item(), bias=False)
    return torch.distributions.Normal(head.predict(pair[0]).mean, sigma).log_prob(y)


GIVEN = {}

RIGHT = {"10_1": [0.141421, 0.141], "10_2": [by_laplace, by_grid], "10_3": [1e-4]}

WRONG = {
    "10_1": [
        (0.02, "that is the variance"),
        (0.134164, "divided by n"),
        (0.151911, "n - p"),
        (0.135526, "n - 1"),
        (0.127920, "n + gamma"),
        (0.021082, "the root is of the quotient"),
        (0.2, "none of"),
    ],
    "10_2": [
        (normal(lambda phi, tau, sigma: (phi.abs() * tau**-0.5 + sigma) ** 2), "stds were added"),
        (normal(lambda phi, tau, sigma: phi**2 * tau + sigma**2), "tau is a precision"),
        (normal(lambda phi, tau, sigma: phi**2 / tau**2 + sigma**2), "its std the root"),
        (normal(lambda phi, tau, sigma: phi.abs() / tau + sigma**2), "squared"),
        (normal(lambda phi, tau, sigma: 1 / tau + sigma**2), "its square is missing"),
        (normal(lambda phi, tau, sigma: phi**2 / tau), "the noise is missing"),
        (normal(lambda phi, tau, sigma: sigma**2), "the prior is missing"),
        (at_best_weight, "at the best weight"),
        (lambda y, phi, tau, sigma: -sigma.log() - 0.918939, "the weight that explains y"),
        (lambda *given: by_laplace(*given) + 0.918939, "keep the constant"),
        (lambda *given: -by_laplace(*given), "the sign is not"),
        (0.3, "expected a function"),
    ],
    "10_3": [(1, "must grow"), (0.01, "squared"), (1e4, "upside down: larger"), (100, "upside down, and not squared")],
}
