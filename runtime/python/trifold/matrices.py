"""A as blocks, as one matrix, and as others store it."""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

from typing import Any

import numpy

from ._sparse_rows import coordinates
from .arrays import ArrayLike, plain
from .errors import SpecError
from .namespaces import Namespace, namespace_of
from .options import flag, whole
from .symmetry import agree

np: Any = numpy
_LARGEST_BLOCK = 4096
_SMALL = {"float64": 2.0**-100, "float32": 2.0**-40}  # their squares are far below the rounding


def matvec(D: ArrayLike, E: ArrayLike | None, x: ArrayLike, *, ring: bool = False) -> Any:
    """A x. D: (N, n, n), of which only the lower triangles are read; E: (N - 1, n, n), or None when N is 1; x: (N, n), or (N, n, m).

    ring: E has N blocks, of which the last couples the last block to the first. Each may have batch axes in front, which are broadcast.
    Arrays of NumPy, CuPy, torch or JAX, with gradients; those of D are symmetric. Raises SpecError on shapes that do not fit.
    """
    space, blocks, below = _read(D, E, x, ring=ring)
    given = space.array(x, "x")
    n, horizon = blocks.shape[-1], blocks.shape[-3]
    columns = given.ndim > 2 and tuple(given.shape[-3:-1]) == (horizon, n)
    if not columns and tuple(given.shape[-2:]) != (horizon, n):
        raise SpecError(f"x has shape {tuple(given.shape)}; give {(horizon, n)}, or {(horizon, n, 'm')}")
    given = given if columns else given[..., None]
    with space.exact():
        result = blocks @ given
        if ring:
            roll, above = space.xp.roll, below.swapaxes(-1, -2)
            result = result + roll(below @ given, 1, -3) + above @ roll(given, -1, -3)
        elif horizon > 1:
            down, up = below @ given[..., :-1, :, :], below.swapaxes(-1, -2) @ given[..., 1:, :, :]
            none = 0 * result[..., :1, :, :]
            result = result + space.xp.concatenate([none, down], -3) + space.xp.concatenate([up, none], -3)
    return result if columns else result[..., 0]


def to_dense(D: ArrayLike, E: ArrayLike | None, *, ring: bool = False) -> Any:
    """A as one matrix, (N n, N n), with batch axes in front where D has any. Arrays and errors are those of matvec()."""
    space, blocks, lower = _read(D, E, ring=ring)
    horizon, n = blocks.shape[-3], blocks.shape[-1]
    at, count = np.eye(horizon), lower.shape[-3]
    below = np.roll(at, 1, 0)[:, :count]
    place = "...kab,ik,jk->...iajb"
    with space.exact():
        result = space.xp.einsum(place, blocks, space.constant(at), space.constant(at))
        if count > 0:
            first, second = space.constant(below), space.constant(at[:, :count])
            result = result + space.xp.einsum(place, lower, first, second) + space.xp.einsum(place, lower.swapaxes(-1, -2), second, first)
    return result.reshape(*result.shape[:-4], horizon * n, horizon * n)


def shortened(D: ArrayLike, E: ArrayLike | None, b: ArrayLike, lengths: Any = None, *, sizes: Any = None) -> tuple[Any, Any, Any]:
    """(D, E, b) with the identity in D, and zeros in E and b, beyond the lengths of the members and the sizes of the blocks.

    lengths: (batch,) numbers, or one; sizes: (N,), or (batch, N). With these every solver has solutions, log determinants and quadratics of
    the smaller members, and derivatives that are zero beyond; but it treats all N blocks, where lengths= of trifold.solve() leaves out what
    is beyond. Arrays and errors are those of matvec().
    """
    space, blocks, lower = _read(D, E, b)
    right = space.array(b, "b")
    if blocks.ndim not in (3, 4) or right.ndim not in (blocks.ndim - 1, blocks.ndim):
        raise SpecError(f"D has shape {tuple(blocks.shape)} and b {tuple(right.shape)}; give each a batch axis, or none")
    batch, horizon, n = tuple(blocks.shape[:-3]), blocks.shape[-3], blocks.shape[-1]

    def inside(given: Any, name: str, count: int, fits: tuple[Any, ...]) -> Any:
        """Whether numbers below `count` are below those that are given."""
        ends = space.array(count if given is None else given, name)[..., None]
        if tuple(ends.shape[:-1]) not in ((), *fits):
            raise SpecError(f"{name} has shape {tuple(ends.shape[:-1])}; give {fits[-1]}")
        return space.constant(np.arange(count)) < ends

    there = inside(lengths, "lengths", horizon, (batch,))[..., None] & inside(sizes, "sizes", n, ((horizon,), (*batch, horizon)))
    where, zero = space.xp.where, space.constant(0.0)
    both = there[..., :, None] & there[..., None, :]
    below = None if E is None else where(there[..., 1:, :, None] & there[..., :-1, None, :], lower, zero)
    kept = where(there if right.ndim == blocks.ndim - 1 else there[..., None], right, zero)
    return where(both, space.array(D, "D"), space.constant(np.eye(n))), below, kept


def step_of_inverse(n: int, dtype: Any) -> float:
    """The size of e V for derivatives of the selected inverse, where A is about 1 and V is a change of it.

    The matrix [[A, e V], [e V, A]] has the blocks of -A^-1 V A^-1 in its inverse, times e, off the diagonal.
    All that is computed there is odd in e, so it has no rounding of anything larger. Terms of e^3 are below the rounding.
    """
    if 2 * n > _LARGEST_BLOCK:
        raise SpecError(f"D has blocks of {n}; derivatives of the selected inverse take blocks of at most {_LARGEST_BLOCK // 2}")
    return _SMALL[str(dtype).rpartition(".")[2]]


def _read(D: Any, E: Any, *others: Any, ring: bool = False) -> tuple[Namespace, Any, Any]:
    """D as symmetric blocks, and E, of no blocks where it is None."""
    space = namespace_of([D, *([] if E is None else [E]), *others])
    D = space.array(D, "D")
    if D.ndim < 3 or D.shape[-1] != D.shape[-2] or 0 in D.shape:
        raise SpecError(f"D has shape {tuple(D.shape)}; give (N, n, n), or (batch, N, n, n)")
    horizon, n = D.shape[-3], D.shape[-1]
    couplings = horizon if flag(ring, "ring") else horizon - 1
    if E is None and couplings > 0:
        raise SpecError(f"E is None; give {(couplings, n, n)}, as D has {horizon} blocks")
    E = space.constant(np.zeros((0, n, n))) if E is None else space.array(E, "E")
    if tuple(E.shape[-3:]) != (couplings, n, n):
        raise SpecError(f"E has shape {tuple(E.shape)}; give {(couplings, n, n)}, as D has {horizon} blocks")
    return space, space.symmetric(D), E


def from_sparse(A: Any, block: int | None = None) -> tuple[Any, Any]:
    """(D, E) of a sparse matrix or array of SciPy: BSR, CSR, or any other format. float32 stays, and all else is float64.

    block: n; by default that of a BSR matrix. The lower triangle may be stored alone; an upper one must be its mirror image.
    Raises SpecError where A is not symmetric, or has entries outside of the diagonal blocks and their neighbours.
    """
    entries = coordinates(A, "a sparse matrix or array of SciPy")
    if block is None and getattr(A, "format", "") != "bsr":
        raise SpecError("block is missing: only a BSR matrix says how large its blocks are; give n")
    n = whole(A.blocksize[0] if block is None else block, "block", 1)
    size = A.shape[0]
    if A.shape != (size, size) or size == 0 or size % n != 0:
        raise SpecError(f"A has shape {A.shape}, which are no blocks of {n} x {n}; give a square matrix of whole blocks")
    return from_entries(*entries, size, n)


def from_banded(ab: ArrayLike, block: int, lower: bool = False) -> tuple[Any, Any]:
    """(D, E) of a matrix as scipy.linalg.solveh_banded takes it: diagonals as rows of ab. block: n. Errors are those of from_sparse()."""
    bands, n, lower = np.asarray(plain(ab, "ab")), whole(block, "block", 1), flag(lower, "lower")
    if bands.ndim != 2 or 0 in bands.shape or bands.shape[1] % n != 0:
        raise SpecError(f"ab has shape {bands.shape}; give (diagonals, N n) for blocks of {n}")
    diagonals, size = bands.shape
    row, column = np.indices(bands.shape)
    # ab[k, j] is A[j + k, j] of a lower form, and A[j - (diagonals - 1 - k), j] of an upper one, which is mirrored here.
    other = column + row if lower else column - (diagonals - 1 - row)
    inside = (other >= 0) & (other < size)
    ends = other[inside], column[inside]
    return from_entries(np.maximum(*ends), np.minimum(*ends), bands[inside], size, n)


def from_entries(row: Any, column: Any, data: Any, size: int, n: int) -> tuple[Any, Any]:
    at, beside = row // n, column // n
    far = (abs(at - beside) > 1) & (data != 0)
    if far.any():
        k = int(np.argmax(far))
        raise SpecError(f"entry ({row[k]}, {column[k]}) is outside of the blocks of {n} beside the diagonal; give larger blocks")
    shape = (3, size // n, n, n)
    blocks = np.zeros(shape, np.float32 if data.dtype == np.float32 else np.float64)
    near = abs(at - beside) <= 1
    np.add.at(blocks, (at[near] - beside[near], beside[near], row[near] % n, column[near] % n), data[near])  # entries may come twice
    D, E, above = blocks[0], blocks[1][:-1], blocks[-1][1:]
    if not (np.triu(D, 1).any() or above.any()):
        D = np.tril(D) + np.tril(D, -1).swapaxes(-1, -2)
    else:
        _expect_symmetric(D, E, above)
    return D, E


def _expect_symmetric(D: Any, E: Any, above: Any) -> None:
    n = D.shape[-1]
    diagonal = np.diagonal(D, 0, -2, -1)
    for blocks, mirrored, of_row, of_column, below in ((D, D, diagonal, diagonal, 0), (E, above, diagonal[1:], diagonal[:-1], n)):
        fits = agree(blocks, mirrored.swapaxes(-1, -2), of_row[:, :, None], of_column[:, None, :], D.dtype)
        if not fits.all():
            k, i, j = (int(part) for part in np.argwhere(~fits)[0])
            row, column = k * n + below + i, k * n + j
            raise SpecError(
                f"A is not symmetric: A[{row}, {column}] = {blocks[k, i, j]} and A[{column}, {row}] = {mirrored[k, j, i]}; give its lower "
                "triangle alone, or both, equal but for rounding"
            )
