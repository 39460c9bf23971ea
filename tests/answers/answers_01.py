"""Answers to the exercises of notebook 01, worked out by hand."""

import math

import torch

GIVEN = {}


def _by_torch(mse, std):
    """Two points with residuals of size root mse, as torch scores them."""
    residuals = mse.sqrt() * torch.tensor([1.0, -1.0])
    return -torch.distributions.Normal(0.0, std).log_prob(residuals).mean()


RIGHT = {
    "01_1": [0.42],  # 0.21 / 0.5
    "01_2": [_by_torch, lambda mse, std: mse / (2 * std**2) + math.log(std) + 0.918939],
    "01_3": [6.25e-5],  # a sixteenth
}

WRONG = {
    "01_1": [
        (0.21, "twice the variance"),
        (0.84, "one half"),
        (0.105, "do not multiply"),
        (0.9163, "a learnt std"),  # 0.5 log 6.25
        (0.1218, "squared already"),  # 0.0609 / 0.5
        (0.6, "take no root"),
        (-0.42, "sign"),
    ],
    "01_2": [
        (lambda mse, std: _by_torch(mse, std) - 0.918939, "one half log 2 pi"),
        (lambda mse, std: _by_torch(mse, std) - std.log(), "the log std is missing"),
        (lambda mse, std: mse / (2 * std**2), "two are missing"),
        (lambda mse, std: _by_torch(2 * mse, std), "the one half of the first term"),
        (lambda mse, std: mse / (2 * std) + math.log(std) + 0.918939, "not by the std"),
        (lambda mse, std: _by_torch(mse, std) + std.log(), "not of the variance"),
        (lambda mse, std: _by_torch(mse**2, std), "squared already"),
        (lambda mse, std: _by_torch(mse, std) - 2 * std.log(), "sign"),
        (lambda mse, std: _by_torch(mse, std) + 0.918939, "a half is missing"),
        (lambda std: std, "your function raised TypeError"),
    ],
    "01_3": [
        (2.5e-4, "1 / std^2, not 1 / std"),
        (0.016, "so the rate must fall"),
        (0.004, "upside down, and"),
        (0.001, "with Adam"),
        (0.0625, "the factor"),
    ],
}
