"""Answers to the exercises of notebook 06, worked out by hand or with whole matrices."""

import torch

_COV = torch.tensor([[0.0064, 0.0008], [0.0008, 0.0025]], dtype=torch.float64)
_ENDS = torch.tensor([[1.0, 1.0], [-1.0, 1.0]], dtype=torch.float64)  # phi(1), phi(-1)
_APART = torch.tensor([1.0, -1.0], dtype=torch.float64) @ _ENDS


def _std(*places, at=3.0):
    """s at a place, by the matrices of the notebook."""
    phi = torch.tensor([[float(place), 1.0] for place in places], dtype=torch.float64)
    precision = phi.T @ phi / 0.04 + torch.eye(2, dtype=torch.float64)
    here = torch.tensor([at, 1.0], dtype=torch.float64)
    return (here @ torch.linalg.solve(precision, here)).sqrt()


_BEFORE, _AFTER = _std(*[0] * 10), _std(*[0] * 10, 3)

GIVEN = {"06_2": lambda: {"cov": _COV}}

RIGHT = {
    "06_1": [0.08944, torch.tensor([0.08944])],  # one over the root of 100 + 25
    "06_2": [
        lambda cov: (_APART @ cov @ _APART).sqrt(),
        lambda cov: 2 * cov[0, 0] ** 0.5,
        lambda cov: (_APART[None] @ cov @ _APART[:, None]).sqrt(),
    ],
    "06_3": [_AFTER / _BEFORE, 0.0665],
}

WRONG = {
    "06_1": [
        (0.008, "that is the variance"),
        (125, "that is the precision"),
        (0.1, "forgets the prior"),
        (0.14142, "not a mean"),
        (0.14907, "not 1 / sigma"),
        (0.3, "added two stds"),
        (0.22361, "added two variances"),
        (0.21909, "the total std"),
        (0.5, "none of"),
    ],
    "06_2": [
        (lambda cov: _APART @ cov @ _APART, "that is the variance"),
        (lambda cov: (_ENDS @ cov @ _ENDS.T).diagonal().sum().sqrt(), "not independent"),
        (lambda cov: (_ENDS @ cov @ _ENDS.T).diagonal().sqrt() @ torch.tensor([1.0, -1.0]).double(), "subtracted two"),
        (lambda cov: (_ENDS @ cov @ _ENDS.T).diagonal().sqrt().sum(), "added two"),
        (lambda cov: cov[0, 0].sqrt(), "2 apart"),
        (lambda cov: (2 * cov[0, 0]).sqrt(), "enters squared"),
        (lambda cov: 2 * cov[1, 1].sqrt(), "that is f(1) + f(-1)"),
        (lambda cov: (_APART @ cov @ _APART + 0.08).sqrt(), "leave the noise out"),
        (lambda cov: (_ENDS[0] @ cov @ _ENDS[0]).sqrt(), "f(1) alone"),
        (lambda cov: 2 * _COV[0, 0].sqrt(), "none of"),  # a value of the notebook, not a function of cov
        (lambda cov: cov.diagonal(), "expected one number"),
        (0.16, "expected a function"),
    ],
    "06_3": [
        (_std(*[0] * 10, 1) / _BEFORE, "one measurement at x = 1"),
        (_std(*[0] * 10, *[1] * 9) / _BEFORE, "nine measurements at x = 1"),
        (_std(*[0] * 11) / _BEFORE, "at x = 0"),
        ((_AFTER / _BEFORE) ** 2, "ratio of variances"),
        (_BEFORE / _AFTER, "below 1"),
        (_AFTER, "undivided"),
        (((_AFTER**2 + 0.04) / (_BEFORE**2 + 0.04)).sqrt(), "total stds"),
        (1 - _AFTER / _BEFORE, "taken away"),
    ],
}
