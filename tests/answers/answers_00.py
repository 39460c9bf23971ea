"""Answers to the exercises of notebook 00, worked out by hand."""

import torch

GIVEN = {}

TABLE = {0.8: 1.28155, 0.5: 0.67449, 0.95: 1.95996}  # two-sided points of the normal, as printed in any table
ONE_SIDED = {0.8: 0.84162, 0.5: 0.0, 0.95: 1.64485}

RIGHT = {
    "00_1": [0.8022, 0.80],  # root of 0.040225 / 0.0625
    "00_2": [lambda level: TABLE[level], lambda level: 2**0.5 * torch.erfinv(torch.tensor(level, dtype=torch.float64))],
    "00_3": [3.21, 3.2],  # 0.07 / 0.021794
}

WRONG = {
    "00_1": [
        (0.1, "the noise stays"),
        (0.6143, "stds do not add"),  # 0.215 / 0.35
        (0.6436, "ratio of the variances"),  # 0.040225 / 0.0625
        (1.2465, "upside down"),
        (0.198, "a factor is wanted"),
        (0.2006, "a factor is wanted"),
        (0.5, "none of"),
    ],
    "00_2": [
        (lambda level: ONE_SIDED[level], "one-sided"),
        (lambda level: -TABLE[level], "the lower end"),
        (lambda level: 2 * TABLE[level], "the whole width"),
        (lambda level: torch.special.ndtri(torch.tensor(level / 2)), "a probability"),
        (lambda level: level * 2.0632, "in proportion"),
        (1.2816, "expected a function"),
    ],
    "00_3": [
        (-3.21, "a positive number"),
        (2.154, "use p = 0.95"),  # 0.07 / 0.032496
        (0.3212, "a single point"),  # 0.07 / 0.21794
        (147.4, "take the root"),  # 0.07 / 0.000475
        (0.07, "the gap alone"),
        (7, "in per cent"),
    ],
}
