"""Bands of blocks, in which each block is coupled to the next w."""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

from typing import Any

import numpy

from .arrays import ArrayLike
from .batches import Together, fitting, library
from .errors import SpecError
from .namespaces import Namespace, namespace_of
from .options import flag

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
    below = parts if plan.ring else space.concatenate([parts, space.zeros_like(whole[..., :1, :, :, :, :])], -5)  # the last has none

    def at(p: int, q: int) -> Any:
        """Block q of each fold, and the p-th from the fold's first one."""
        return whole[..., :, p, :, q, :] if p < w else below[..., :, p - w, :, q, :]

    def joined(blocks: list[Any], axis: int) -> Any:
        together = space.stack(blocks, axis)
        return together.reshape((*outer, -1, *together.shape[len(outer) + 2 :]))[..., :horizon, :, :]

    beside = [joined([at(q + k, q) for q in range(w)], len(outer) + 1) for k in range(w + 1)]
    if plan.ring:
        return beside[0], space.stack(beside[1:], -3)
    ends = [(part, horizon - k) for k, part in enumerate(beside[1:], 1)]
    kept = [space.concatenate([part[..., : max(end, 0), :, :], 0 * part[..., max(end, 0) :, :, :]], -3) for part, end in ends]
    return beside[0], space.stack(kept, -3)


def folded(D: ArrayLike, E: ArrayLike, b: ArrayLike, *, ring: bool = False) -> tuple[Any, Any, Any]:
    """(D, E, b) of the chain that a band is solved by, for whatever takes chains alone.

    D: (N, n, n), E: (N, w, n, n), as solve(bandwidth=w) takes them; b: (N, n), or (N, n, m), with the batch axis of D. The results have
    ceil(N / w) blocks of w n rows, the last filled up with the identity, and zeros of b: x is what x.reshape(-1, n)[:N] has, with the batch
    axis in front. Of a ring they are one. Arrays of NumPy, CuPy, torch or JAX, with derivatives. Raises SpecError on what does not fit.
    """
    space = namespace_of([D, E, b])
    blocks, below, right = space.symmetric(space.array(D, "D")), space.array(E, "E"), space.array(b, "b")
    if blocks.ndim not in (3, 4) or below.ndim != blocks.ndim + 1 or right.ndim not in (blocks.ndim - 1, blocks.ndim):
        raise SpecError(
            f"D has shape {tuple(blocks.shape)}, E {tuple(below.shape)} and b {tuple(right.shape)}; give (N, n, n), (N, w, n, n) and (N, n)"
        )
    axis, w = blocks.ndim - 3, below.shape[-3]
    ring = flag(ring, "ring")
    return *folded_blocks(space, blocks, expect_band(blocks, below, w, ring), ring), folded_rows(right, axis, w)


def expect_band(D: Any, E: Any, bandwidth: int, ring: bool = False) -> Any:
    """E, with zeros for the blocks that lead beyond the last one; a ring has none. Raises where it does not fit D."""
    horizon, n = D.shape[-3], D.shape[-1]
    fits = (horizon, bandwidth, n, n)
    if E is None or tuple(E.shape[-4:]) != fits:
        given = "is missing" if E is None else f"has shape {tuple(E.shape)}"
        raise SpecError(f"E {given}; give {fits}, as D has {horizon} blocks")
    if ring:
        return E
    space = namespace_of([E])
    inside = np.arange(horizon)[:, None] + np.arange(bandwidth) + 1 < horizon
    return space.xp.where(space.constant(inside)[..., None, None] > 0, E, space.constant(0.0))


def folded_blocks(space: Namespace, D: Any, E: Any, ring: bool = False) -> tuple[Any, Any]:
    """D and E of the chain, from those of a band without entries beyond the last block. Of D lower triangles are read."""
    horizon, w, n = D.shape[-3], E.shape[-3], D.shape[-1]
    if ring and horizon % w != 0:
        more = next(k for k in range(min(w, horizon), horizon + 1) if horizon % k == 0)
        raise SpecError(
            f"a ring of {horizon} blocks is solved by {w} at a time, and {horizon % w} are left at its seam; give bandwidth = {more}, "
            f"with zeros in E beyond {w}"
        )
    front, count, axis = tuple(D.shape[:-3]), -(-horizon // w), D.ndim - 3
    beyond = space.constant(np.arange(count * w) >= horizon)[:, None, None] > 0
    own = space.xp.where(beyond, space.constant(np.eye(n)), _filled_up(D, axis, w))
    columns = space.xp.concatenate([own[..., None, :, :], _filled_up(E, axis, w)], -3)  # block (q + k, q) at (q, k)
    columns = columns.reshape((*front, count, w * (w + 1), n, n))
    p, q = np.indices((w, w))

    def joined(blocks: Any, k: Any) -> Any:
        """Block (p, q) of each is the k-th of column q; where that is above its diagonal or below the last one, 0."""
        there = (k >= 0) & (k <= w)
        taken = blocks[..., np.where(there, q * (w + 1) + k, 0).ravel(), :, :].reshape((*blocks.shape[:-3], w, w, n, n))
        kept = space.xp.where(space.constant(there)[..., None, None] > 0, taken, space.constant(0.0))
        return kept.swapaxes(-3, -2).reshape((*blocks.shape[:-3], w * n, w * n))

    inner = joined(columns, p - q)
    below_diagonal = space.constant(np.kron(p >= q, np.ones((n, n)))) > 0
    inner = space.xp.where(below_diagonal, inner, inner.swapaxes(-1, -2))
    coupled = count if ring else count - 1
    return inner, joined(columns[..., :coupled, :, :, :], p - q + w) if coupled > 0 else None


def folded_rows(b: Any, axis: int, bandwidth: int) -> Any:
    """b of the chain, from that of a band, (N, n) or (N, n, m) behind a number of axes."""
    filled = _filled_up(b, axis, bandwidth)
    front, (n, *columns) = tuple(b.shape[:axis]), b.shape[axis + 1 :]
    return filled.reshape((*front, filled.shape[axis] // bandwidth, bandwidth * n, *columns))


def folded_border(F: Any, axis: int, bandwidth: int) -> Any:
    """F of the chain, from that of a band, (N, a, n) behind a number of axes."""
    filled = _filled_up(F, axis, bandwidth)
    front, (a, n) = tuple(F.shape[:axis]), F.shape[-2:]
    return filled.reshape((*front, -1, bandwidth, a, n)).swapaxes(-2, -3).reshape((*front, -1, a, bandwidth * n))


def _filled_up(array: Any, axis: int, bandwidth: int) -> Any:
    """With zeros behind, so that the bandwidth divides the length of that axis."""
    missing = -array.shape[axis] % bandwidth
    if missing == 0:
        return array
    space: Any = library(array)
    first = array[(slice(None),) * axis + (slice(0, 1),)]
    more = space.zeros_like(space.broadcast_to(first, (*array.shape[:axis], missing, *array.shape[axis + 1 :])))
    return space.concatenate([array, more], axis)
