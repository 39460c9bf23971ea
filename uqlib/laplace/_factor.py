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
    symmetric = isinstance(precision, Tensor) and precision.ndim >= 2 and precision.shape[-1] == precision.shape[-2]
    if not symmetric or not precision.is_floating_point():
        got = tuple(precision.shape) if isinstance(precision, Tensor) else type(precision).__name__
        raise ValueError(f"precision: expected a floating tensor of shape (p, p), got {got}")
    _checks.finite("precision", precision)
    scale = precision.diagonal(dim1=-2, dim2=-1).abs().max()
    if (precision - precision.mT).abs().max() > 1e-8 * scale:
        raise ValueError("precision: expected a symmetric matrix, got one that is not; is it a Hessian?")
    factor, info = torch.linalg.cholesky_ex(precision)
    stack = (1, *precision.shape)[-3:] if precision.ndim == 2 else precision.shape
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
    if share.min() < size * torch.finfo(precision.dtype).eps:
        column = int(share.argmin())
        raise ValueError(
            f"the precision is singular to rounding: pivot {column + 1} of {size} is {share.min().item():.1g} of its "
            "diagonal entry; features are collinear: drop one, or raise prior_precision"
        )
