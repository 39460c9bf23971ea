"""The Cholesky factor of a precision, and the line that says why there is none."""

import torch
from jaxtyping import Float
from torch import Tensor

from uqlib import _checks


def cholesky(precision: Float[Tensor, "*m p p"]) -> Float[Tensor, "*m p p"]:
    r"""The lower factor L of a symmetric positive definite precision, :math:`L L^\top = P`; nothing is added to it.

    Raises ValueError if P is not positive definite, or so nearly that a pivot is rounding error: the pivot that
    failed is named, the smallest of those met. A Hessian away from a minimum may well be indefinite.
    """
    square = isinstance(precision, Tensor) and precision.ndim in (2, 3) and precision.shape[-1] == precision.shape[-2]
    if not square or not precision.numel() or precision.dtype not in (torch.float32, torch.float64):
        raise ValueError(
            f"precision: expected float64 or float32 of shape (p, p) or (m, p, p), got {_checks.kind(precision)}"
        )
    _checks.finite("precision", precision)
    root = precision.diagonal(dim1=-2, dim2=-1).abs().sqrt()
    rounding = 1e4 * torch.finfo(precision.dtype).eps
    if ((precision - precision.mT).abs() > rounding * root[..., None] * root[..., None, :]).any():
        raise ValueError("precision: expected a symmetric matrix, got one that is not; is it a Hessian?")
    factor, info = torch.linalg.cholesky_ex(precision)
    stack = (-1, *precision.shape[-2:])
    for one, matrix, failed in zip(factor.reshape(stack), precision.reshape(stack), info.reshape(-1), strict=True):
        _check_pivots(one, matrix, int(failed))
    return factor


def _check_pivots(factor: Tensor, precision: Tensor, failed: int) -> None:
    """A pivot is what is left of a diagonal entry once the columns before it are accounted for."""
    size, diagonal = len(precision), precision.diagonal()
    if failed:
        column = failed - 1
        left = factor[column, :column]
        pivot = (diagonal[column] - left @ left).item()
        raise ValueError(
            f"the precision is not positive definite: pivot {failed} of {size} is {pivot:.2g} (its diagonal entry: "
            f"{diagonal[column].item():.2g}). If this is a Hessian, use the Fisher information, which never is "
            "indefinite; if features are collinear, raise prior_precision"
        )
    share = factor.diagonal() ** 2 / diagonal
    if share.min() < 1e3 * size**0.5 * torch.finfo(precision.dtype).eps:  # else its first three digits hold
        column = int(share.argmin())
        raise ValueError(
            f"the precision is singular to rounding: pivot {column + 1} of {size} is {share.min().item():.1g} of its "
            "diagonal entry; features are collinear or far from zero: standardise them, drop one, or raise "
            "prior_precision"
        )
