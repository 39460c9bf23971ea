"""Answers to the exercises of notebook 03, worked out by hand."""

import torch

GIVEN = {}

RIGHT = {
    "03_1": [-8, torch.tensor([-8.0])],
    "03_2": [lambda raw: (0.05 + torch.nn.functional.softplus(raw)).log(), lambda raw: (0.05 + raw.exp()).log()],
    "03_3": [1.12],
}

WRONG = {
    "03_1": [(8, "sign"), (-80, "not the std"), (-2, "squared"), (-3.5, "one half"), (-9, "slope 1"), (3, "none of")],
    "03_2": [
        (lambda raw: raw.clamp(min=-2.9957), "did you clamp?"),
        (lambda raw: 0.05 + torch.nn.functional.softplus(raw), "its log is wanted"),
        (lambda raw: raw, "below 0.05"),
        (lambda raw: raw.sigmoid() - 2.99, "a large std"),
        (lambda raw: raw[:, 0], "expected shape (12, 1)"),
        (lambda raw: raw.nothing, "your function raised AttributeError"),
        (0.05, "expected a function"),
    ],
    "03_3": [(1.3, "squared error"), (1.2, "1 / std"), (1.48, "upside down"), (1.4, "upside down")],
}
