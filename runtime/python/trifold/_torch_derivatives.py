"""Derivatives that a chain in one place and one over ranks share, in PyTorch."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

torch: Any = importlib.import_module("torch")
TRANSFORMED, PLAIN = 1, 3  # answers of torch_way: within a transform of torch.func, and tensors that nothing follows
_SMALL_BLOCK = 16  # outer products up to here go by elements: 0.32 ms for 0.71 by matrix products, 4096 of 20 x 12, H200


class Likelihood(NamedTuple):
    """Parts of a Gaussian density, from one factorization."""

    x: Any  #: A^-1 b, as b
    log_determinant: Any  #: log det A, float64: () or (batch,)
    quadratic: Any  #: b' A^-1 b, float64: (), (m,), (batch,) or (batch, m)


def spread(numbers: Any, like: Any, dims: int) -> Any:
    """A number for each right-hand side (or member), as a factor of arrays like b (or D)."""
    numbers = numbers.to(like.dtype)
    return numbers[..., None, None, :] if like.dim() == dims else numbers[..., None, None]


def outer_blocks(u: Any, x: Any, columns: bool) -> tuple[Any, Any]:
    """Blocks (i, i) and (i + 1, i) of u x' + x u'."""
    if not columns:
        u, x = u[..., None], x[..., None]
        if u.shape[-2] <= _SMALL_BLOCK:
            return _elementwise(u, x, u.mT, x.mT), _elementwise(
                u[..., 1:, :, :], x[..., 1:, :, :], u.mT[..., :-1, :, :], x.mT[..., :-1, :, :]
            )
    left, right = torch.cat((u, x), -1), torch.cat((x, u), -1).mT
    return left @ right, left[..., 1:, :, :] @ right[..., :-1, :, :]


def _elementwise(u: Any, x: Any, row_u: Any, row_x: Any) -> Any:
    return torch.addcmul(u * row_x, x, row_u)


def of_log_determinant(inverse: tuple[Any, Any], gl: Any) -> tuple[Any, Any]:
    """Twice the derivative by D's blocks, and that by E's, from the blocks of A^-1 and the gradient of log det A."""
    diagonal, lower = inverse
    twice = 2 * gl.to(diagonal.dtype)[..., None, None, None]
    return twice * diagonal, twice * lower
