"""Answers to the exercises of notebook 02, worked out by hand."""

import torch

GIVEN = {"02_2": lambda: {"x": torch.linspace(-1, 1, 11)[:, None]}}

RIGHT = {
    "02_1": [-1.5768],  # 0.5 log(2 pi e 0.0025)
    "02_2": [lambda x: torch.where(x < 0.1, -1.89712, -1.04982)],
    "02_3": [391, 391.2, 410],
}

WRONG = {
    "02_1": [(-2.4957, "one half log 2 pi"), (-2.0768, "one half at the best std"), (-4.5725, "not of the variance")],
    "02_2": [
        (lambda x: torch.where(x < 0.1, 0.15, 0.35), "their logs"),
        (lambda x: torch.where(x < 0.1, -1.04982, -1.89712), "the first std is for x < 0.1"),
        (lambda x: torch.where(x < 0.1, -3.79424, -2.09964), "logs of the variances"),
        (lambda x: torch.full_like(x, -1.89712), "the same std"),
        (lambda x: torch.where(x < 0.1, -1.89712, -1.04982)[:, 0], "expected shape (11, 1), got shape (11,)"),
    ],
    "02_3": [(98, "a percentage a step"), (170, "natural logarithm"), (782, "that of the variance"), (-391, "sign")],
}
