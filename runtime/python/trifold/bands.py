"""Bands of blocks, in which each block is coupled to the next w."""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

from typing import Any

import numpy

from .arrays import ArrayLike
from .batches import Together, fitting, library
from .errors import SpecError
from .namespaces import namespace_of

np: Any = numpy


def fitting_band(D: Any, E: Any, b: Any, bandwidth: int) -> Together:
    """batches.fitting() of a band, whose E has an axis more."""
    if bandwidth < 2 or E is None:
        return fitting(D, E, b)
    if E.ndim not in (4, 5) or E.shape[-3] != bandwidth:
        raise SpecError(f"E has shape {tuple(E.shape)}; give (N, {bandwidth}, n, n), or (batch, N, {bandwidth}, n, n)")
    n = E.shape[-1]
    found = fitting(D, E.reshape((*E.shape[:-3], bandwidth * E.shape[-2], n)), b)
    return found._replace(E=found.E.reshape((*found.E.shape[:-2], bandwidth, -1, n)))


def unfolded(plan: Any, diagonal: Any, lower: Any) -> tuple[Any, Any]:
    """Blocks of an inverse in the places of those of D and E, from those that a band is solved by."""
    w, n, horizon = plan.bandwidth, plan.block, plan.horizon
    if w == 1:
        return diagonal, lower
    space: Any = library(diagonal)
    outer = tuple(diagonal.shape[:-3])
    whole = diagonal.reshape((*outer, -1, w, n, w, n))
    parts = lower.reshape((*outer, -1, w, n, w, n))
    below = space.concatenate([parts, space.zeros_like(whole[..., :1, :, :, :, :])], -5)  # the last block has none

    def at(p: int, q: int) -> Any:
        """Block q of each fold, and the p-th from the fold's first one."""
        return whole[..., :, p, :, q, :] if p < w else below[..., :, p - w, :, q, :]

    def joined(blocks: list[Any], axis: int) -> Any:
        together = space.stack(blocks, axis)
        return together.reshape((*outer, -1, *together.shape[len(outer) + 2 :]))[..., :horizon, :, :]

    beside = [joined([at(q + k, q) for q in range(w)], len(outer) + 1) for k in range(w + 1)]
    ends = [(part, horizon - k) for k, part in enumerate(beside[1:], 1)]
    kept = [space.concatenate([part[..., : max(end, 0), :, :], 0 * part[..., max(end, 0) :, :, :]], -3) for part, end in ends]
    return beside[0], space.stack(kept, -3)


def folded(D: ArrayLike, E: ArrayLike, b: ArrayLike) -> tuple[Any, Any, Any]:
    """(D, E, b) of the chain that a band is solved by, for whatever takes chains alone, such as derivatives.

    D: (N, n, n), E: (N, w, n, n), as solve(bandwidth=w) takes them; b: (N, n), or (N, n, m), with the batch axis of D. The results have
    ceil(N / w) blocks of w n rows, the last filled up with the identity, and zeros of b: x is what x.reshape(-1, n)[:N] has, with the batch
    axis in front. Arrays of NumPy, CuPy, torch or JAX, with derivatives. Raises SpecError on shapes that do not fit.
    """
    space = namespace_of([D, E, b])
    blocks, below, right = space.symmetric(space.array(D, "D")), space.array(E, "E"), space.array(b, "b")
    if blocks.ndim not in (3, 4) or below.ndim != blocks.ndim + 1 or right.ndim not in (blocks.ndim - 1, blocks.ndim):
        raise SpecError(
            f"D has shape {tuple(blocks.shape)}, E {tuple(below.shape)} and b {tuple(right.shape)}; give (N, n, n), (N, w, n, n) and (N, n)"
        )
    horizon, n, w = blocks.shape[-3], blocks.shape[-1], below.shape[-3]
    if tuple(below.shape[-4:]) != (horizon, w, n, n):
        raise SpecError(f"E has shape {tuple(below.shape)}; give {(horizon, w, n, n)}, as D has {horizon} blocks")
    xp = space.xp
    count, one, none = -(-horizon // w), space.constant(np.eye(n)), 0 * blocks[..., 0, :, :]

    def block(row: int, column: int) -> Any:
        if row < column:
            return block(column, row).swapaxes(-1, -2)
        if row >= horizon or row - column > w:
            return none + one if row == column else none
        return blocks[..., row, :, :] if row == column else below[..., column, row - column - 1, :, :]

    def fold(i: int, j: int) -> Any:
        rows = [xp.concatenate([block(i * w + p, j * w + q) for q in range(w)], -1) for p in range(w)]
        return xp.concatenate(rows, -2)

    missing = count * w - horizon
    axis = blocks.ndim - 3
    if missing > 0:
        nothing = 0 * (right[:, :1] if axis else right[:1])
        right = xp.concatenate([right, *[nothing] * missing], axis)
    shape = (*right.shape[:axis], count, w * n, *right.shape[axis + 2 :])
    couplings = [fold(i + 1, i) for i in range(count - 1)]
    lower = xp.stack(couplings, axis) if couplings else None
    return xp.stack([fold(i, i) for i in range(count)], axis), lower, right.reshape(shape)
