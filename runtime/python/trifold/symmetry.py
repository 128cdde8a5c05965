"""Whether the triangles of A agree: one rule for chains, images and whatever else is found to be symmetric.

The difference of A(i, j) and A(j, i) is compared with sqrt(|A(i, i) A(j, j)|), which bounds them in a positive definite A in any units, or
with the larger of the two if that is more. The command and the kernels of cg have the same rule.
"""

from __future__ import annotations

from typing import Any

import numpy

np: Any = numpy
_ROUNDING = {np.dtype(np.float64): 2.0**-44, np.dtype(np.float32): 2.0**-18}


def agree(one: Any, mirrored: Any, row: Any, column: Any, dtype: Any, xp: Any = np) -> Any:
    """Whether entries equal their mirror images but for rounding. row, column: the diagonal entries of theirs. dtype: that of A."""
    with np.errstate(over="ignore", invalid="ignore"):
        size = xp.maximum(xp.maximum(abs(one), abs(mirrored)), xp.sqrt(abs(row)) * xp.sqrt(abs(column)))
        return (one == mirrored) | (abs(one - mirrored) <= _ROUNDING[np.dtype(dtype)] * size)


def blocks_agree(D: Any, xp: Any = np) -> Any:
    """Whether the diagonal blocks (..., N, n, n) are symmetric, by member."""
    diagonal = xp.diagonal(D, 0, -2, -1)
    return agree(D, D.swapaxes(-1, -2), diagonal[..., :, None], diagonal[..., None, :], D.dtype, xp).all((-3, -2, -1))


def is_symmetric(row: Any, column: Any, data: Any, size: int) -> bool:
    """Whether a matrix is symmetric, by its entries, which may come twice."""
    places, which = np.unique(row.astype(np.int64) * size + column, return_inverse=True)
    values = np.bincount(which.ravel(), data, len(places))
    row, column = divmod(places, size)
    diagonal = np.zeros(size)
    diagonal[row[row == column]] = values[row == column]
    mirror = column * size + row
    found = np.minimum(np.searchsorted(places, mirror), max(len(places) - 1, 0))
    mirrored = np.where(places[found] == mirror, values[found], 0)
    return bool(agree(values, mirrored, diagonal[row], diagonal[column], data.dtype).all())
