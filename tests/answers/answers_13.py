"""Answers to the exercises of notebook 13, worked out by hand."""

import torch

GIVEN = {}

RIGHT = {
    "13_1": [10, 10.0, torch.tensor(10.0)],
    "13_2": [
        lambda raw, low, high: (
            (low + high) / 2 + (high - low) / 2 * torch.tanh((raw - (low + high) / 2) * 2 / (high - low))
        ),
        lambda raw, low, high: low + (high - low) * torch.sigmoid((4 * raw - 2 * low - 2 * high) / (high - low)),
        lambda raw, low, high: (
            low + (high - low) * (0.5 + torch.atan(torch.pi / (high - low) * (raw - (low + high) / 2)) / torch.pi)
        ),
    ],
    "13_3": [0.0461, 0.04605],  # 2.302585 / 50
}


def _mid(low, high):
    return (low + high) / 2


WRONG = {
    "13_1": [
        (100, "plain NLL"),
        (1, "beta = 1"),
        (0.1, "upside down"),
        (31.62, "not std^beta"),
        (18, "divide the two"),
        (-10, "the sign is not"),
    ],
    "13_2": [
        (lambda raw, low, high: raw.clamp(low, high), "Did you clamp?"),
        (lambda raw, low, high: -1.5 + 3.5 * torch.tanh((raw + 1.5) / 3.5), "use low and high"),
        (lambda raw, low, high: raw + 0.1 * low, "leaves [low, high]"),
        (lambda raw, low, high: low + (high - low) * torch.sigmoid(raw), "has moved"),
        (
            lambda raw, low, high: _mid(low, high) + (high - low) / 2 * torch.tanh(raw - _mid(low, high)),
            "half the width inside",
        ),
        (
            lambda raw, low, high: (
                _mid(low, high) + (high - low) / 2 * torch.tanh((raw - _mid(low, high)) / (high - low))
            ),
            "slope 1/2",
        ),
        (lambda raw, low, high: low + (high - low) * torch.sigmoid((raw - _mid(low, high)) / 3), "is not 1"),
        (lambda raw, low, high: low + high - raw + 0 * high, "it falls"),
        (lambda raw, low, high: low + (high - low) * 0.5, "expected the shape"),
        (lambda raw, low, high: raw.clamp_(low, high), "Did you clamp?"),
        (lambda raw, low, high: raw.detach().tanh(), "use low and high"),
    ],
    "13_3": [
        (2.3026, "the mean is over all"),
        (0.02, "natural logarithm"),
        (0.0921, "not of the variance"),
        (-0.0461, "a positive number"),
        (0.2, "not the std"),
        (0.018, "not the std"),
        (0.0561, "has nothing to give"),
        (0.05, "none of"),
    ],
}
