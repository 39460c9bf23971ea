"""Answers to the exercises of notebook 05, worked out by hand."""

import torch

GIVEN = {}


def _by_density(net):
    """Minus the log of N(0, 1) over 100, for each weight of the head, without its constant."""
    prior, weights = torch.distributions.Normal(0.0, 1.0), torch.nn.utils.parameters_to_vector(net.head.parameters())
    return (prior.log_prob(torch.zeros(())) - prior.log_prob(weights)).sum() / 100


def _halves(weights):
    """Half of the sum of squares over 100, of a list of weights."""
    return sum(torch.linalg.vector_norm(w) ** 2 for w in weights) / 200


RIGHT = {
    "05_1": [4],
    "05_2": [_by_density, lambda net: _halves([net.head.weight, net.head.bias])],
    "05_3": [0.001],
}

WRONG = {
    "05_1": [
        (0.01, "tau / n"),
        (2.5e-5, "the other way"),
        (2, "not to its slope"),
        (8, "no two"),
        (0.25, "prior variance"),
        (0.5, "prior std"),
    ],
    "05_2": [
        (lambda net: 100 * _by_density(net), "divide by 100"),
        (lambda net: 2 * _by_density(net), "one half is missing"),
        (lambda net: 200 * _by_density(net), "and the 100"),
        (lambda net: 10_000 * _by_density(net), "the other way"),
        (lambda net: _halves([net.head.weight]), "the bias"),
        (lambda net: _halves([net.head.bias]), "the weights have"),
        (lambda net: _halves(net.parameters()), "on the head only"),
        (lambda net: ((net.head.weight**2).mean() + net.head.bias[0] ** 2) / 200, "not a mean"),
        (lambda net: (net.head.weight.abs().sum() + net.head.bias.abs().sum()) / 200, "the square of each"),
        (lambda net: (net.head.weight.norm() + net.head.bias.norm()) / 200, "the squared norm"),
        (lambda net: _by_density(net).item(), "no gradient"),
        (lambda net: _by_density(net).detach(), "no gradient"),
        (lambda net: net.head.weight**2 / 200, "expected one number"),
    ],
    "05_3": [
        (0.05, "stands for the mean"),
        (0.02, "does not enter"),
        (5e-5, "number of batches"),
        (1, "summed loss"),
        (0.0005, "its slope"),
        (1000, "divide tau by n"),
        (50, "upside down, and"),
    ],
}
