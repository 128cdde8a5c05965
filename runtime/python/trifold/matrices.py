"""A as blocks, as one matrix, and as others store it."""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

from typing import Any

import numpy

from ._sparse_rows import coordinates
from .arrays import ArrayLike, kind_of, plain, readable
from .bands import expect_band
from .errors import SpecError
from .namespaces import Namespace, namespace_of
from .options import flag, lower_alone, whole
from .symmetry import agree

np: Any = numpy
_LARGEST_BLOCK = 4096
_SMALL = {"float64": 2.0**-100, "float32": 2.0**-40}  # their squares are far below the rounding


def matvec(
    D: ArrayLike,
    E: ArrayLike | None,
    x: ArrayLike,
    *,
    ring: bool = False,
    lengths: Any = None,
    sizes: Any = None,
    bandwidth: int = 1,
    upper: Any = None,
) -> Any:
    """A x. D: (N, n, n), of which only the lower triangles are read; E: (N - 1, n, n), or None when N is 1; x: (N, n), or (N, n, m).

    ring: E has N blocks, of which the last couples the last block to the first. bandwidth, w: E is (N, w, n, n), and E[i, k] is block
    (i + k + 1, i), of a ring ((i + k + 1) mod N, i). lengths and sizes are those of solve(): what D, E and x hold beyond is not used, and
    A x is zero there. upper, in the shape of E: blocks (i, i + 1) of a general A, of which all of D is read; in a ring the last is
    A(N - 1, 0). Each may have batch axes in front, which are broadcast. Arrays of NumPy, CuPy, torch or JAX, with gradients; without upper
    those of D are symmetric. Raises SpecError on what does not fit.
    """
    w = expect_together(ring, lengths, sizes, bandwidth, upper)
    space, blocks, below = _read(D, E, x, ring=ring, bandwidth=w)
    given = space.array(x, "x")
    n, horizon = blocks.shape[-1], blocks.shape[-3]
    columns = given.ndim > 2 and tuple(given.shape[-3:-1]) == (horizon, n)
    if not columns and tuple(given.shape[-2:]) != (horizon, n):
        raise SpecError(f"x has shape {tuple(given.shape)}; give {(horizon, n)}, or {(horizon, n, 'm')}")
    given = given if columns else given[..., None]
    if lengths is not None or sizes is not None:
        blocks, below, there = shortened_blocks(space, blocks, below, lengths, sizes)
        given = space.xp.where(there[..., None], given, space.constant(0.0))
    above = _above(space, below, upper)
    with space.exact():
        result = (space.symmetric(blocks) if upper is None else blocks) @ given
        for k, (part, other) in enumerate(zip(_of_ring(below, w), _of_ring(above, w)) if ring else [], 1):
            result = result + space.xp.roll(part @ given, k, -3) + other @ space.xp.roll(given, -k, -3)
        for k, (part, other) in enumerate([] if ring else zip(_couplings(below, horizon, w), _couplings(above, horizon, w)), 1):
            down, up = part @ given[..., :-k, :, :], other @ given[..., k:, :, :]
            none = 0 * result[..., :k, :, :]
            result = result + space.xp.concatenate([none, down], -3) + space.xp.concatenate([up, none], -3)
    return result if columns else result[..., 0]


def to_dense(
    D: ArrayLike,
    E: ArrayLike | None,
    *,
    ring: bool = False,
    lengths: Any = None,
    sizes: Any = None,
    bandwidth: int = 1,
    upper: Any = None,
) -> Any:
    """A as one matrix, (N n, N n), with batch axes in front where D has any. Arrays and errors are those of matvec().

    Beyond lengths and sizes it is the identity, so that its inverse and its determinant are those of the smaller matrix.
    """
    w = expect_together(ring, lengths, sizes, bandwidth, upper)
    space, blocks, lower = _read(D, E, ring=ring, bandwidth=w)
    if lengths is not None or sizes is not None:
        blocks, lower, _ = shortened_blocks(space, blocks, lower, lengths, sizes)
    above, blocks = _above(space, lower, upper), space.symmetric(blocks) if upper is None else blocks
    horizon, n = blocks.shape[-3], blocks.shape[-1]
    at, place = np.eye(horizon), "...kab,ik,jk->...iajb"
    with space.exact():
        result = space.xp.einsum(place, blocks, space.constant(at), space.constant(at))
        beside = zip(*((_of_ring(one, w) if ring else _couplings(one, horizon, w)) for one in (lower, above)))
        for k, (part, other) in enumerate(beside, 1):
            count = part.shape[-3]
            first, second = space.constant(np.roll(at, k, 0)[:, :count]), space.constant(at[:, :count])
            result = result + space.xp.einsum(place, part, first, second) + space.xp.einsum(place, other, second, first)
    return result.reshape(*result.shape[:-4], horizon * n, horizon * n)


def _couplings(E: Any, horizon: int, bandwidth: int) -> list[Any]:
    """The blocks below the diagonal by their distance from it, 1 and more."""
    if bandwidth == 1:
        return [E] if horizon > 1 else []
    return [E[..., : horizon - k - 1, k, :, :] for k in range(min(bandwidth, horizon - 1))]


def _above(space: Namespace, E: Any, upper: Any) -> Any:
    """The blocks above the diagonal, in the shape of E."""
    if upper is None:
        return E.swapaxes(-1, -2)
    given = space.array(upper, "upper")
    if tuple(given.shape[-3:]) != tuple(E.shape[-3:]):
        raise SpecError(f"upper has shape {tuple(given.shape)}; give {tuple(E.shape[-3:])}, as E has")
    return given


def _of_ring(E: Any, bandwidth: int) -> list[Any]:
    """Its blocks by how far ahead they lead."""
    return [E] if bandwidth == 1 else [E[..., k, :, :] for k in range(bandwidth)]


def expect_together(ring: Any, lengths: Any, sizes: Any, bandwidth: Any, upper: Any = None) -> int:
    """The bandwidth. Raises where shapes are asked for that there are not together."""
    ring, w = flag(ring, "ring"), whole(bandwidth, "bandwidth", 1)
    own = "lengths" if lengths is not None else "sizes" if sizes is not None else ""
    if ring and lengths is not None:
        raise SpecError("a ring has no end, so its members have no lengths of their own; leave ring or lengths out")
    if ring and own:
        raise SpecError(f"a ring with {own} is not there yet; leave one of them out")
    if upper is not None and (own or w > 1):
        raise SpecError(f"a general matrix with {own or 'bandwidth'} is not there yet; leave upper or {own or 'bandwidth'} out")
    if w > 1 and own:
        raise SpecError(f"bandwidth and {own} are not there yet together; leave one of them out")
    return w


def expect_general(ring: Any, lengths: Any, sizes: Any, bandwidth: Any, border: Any, triangle: str) -> None:
    """Raises where what is given with upper is not there for general matrices."""
    expect_together(ring, lengths, sizes, bandwidth, True)
    if border is not None:
        raise SpecError("a general matrix with a border is not there yet; leave upper or border out")
    if lower_alone(triangle):
        raise SpecError("all of D is read where upper is given; leave triangle out")


def expect_diagonals(dl: Any, d: Any, du: Any, b: Any) -> None:
    """Raises where shapes are not those of tridiagonal_solve()."""
    shapes = [tuple(x.shape) for x in (dl, d, du, b)]
    if d.ndim < 1 or 0 in shapes[1] or any(shape != shapes[1] for shape in shapes[:3]):
        raise SpecError(f"dl, d and du have shapes {shapes[0]}, {shapes[1]} and {shapes[2]}; give (..., m) of all three")
    if b.ndim != d.ndim + 1 or shapes[3][:-1] != shapes[1] or shapes[3][-1] == 0:
        raise SpecError(f"b has shape {shapes[3]}; give {(*shapes[1], 'n')}, as d has {shapes[1]}")


def shortened(D: ArrayLike, E: ArrayLike | None, b: ArrayLike, lengths: Any = None, *, sizes: Any = None) -> tuple[Any, Any, Any]:
    """(D, E, b) with the identity in D, and zeros in E and b, beyond the lengths of the members and the sizes of the blocks.

    lengths: (batch,) whole numbers, or one; sizes: (N,), or (batch, N). With these every solver has solutions, log determinants and
    quadratics of the smaller members, and derivatives that are zero beyond; but it treats all N blocks, where lengths= of trifold.solve()
    leaves out what is beyond. Arrays and errors are those of matvec(). Where it cannot be told whether numbers fit, as within jit and on a
    GPU, D has NaN for those that do not.
    """
    space, blocks, lower = _read(D, E, b)
    right = space.array(b, "b")
    front = tuple(blocks.shape[:-1])
    if blocks.ndim not in (3, 4) or right.ndim > blocks.ndim or tuple(right.shape[: len(front)]) != front:
        raise SpecError(f"D has shape {tuple(blocks.shape)} and b {tuple(right.shape)}; give b of {front}, or {(*front, 'm')}")
    blocks, below, there = shortened_blocks(space, blocks, None if E is None else lower, lengths, sizes)
    return blocks, below, space.xp.where(there if right.ndim == blocks.ndim - 1 else there[..., None], right, space.constant(0.0))


def shortened_blocks(space: Namespace, D: Any, E: Any, lengths: Any, sizes: Any) -> tuple[Any, Any, Any]:
    """D, E, and which rows of the blocks there are: (N, n), with the batch axis of D."""
    batch, (horizon, _, n), where = tuple(D.shape[:-3]), D.shape[-3:], space.xp.where
    in_length, is_length = _below(space, lengths, "lengths", horizon, (batch,))
    in_size, is_size = _below(space, sizes, "sizes", n, ((horizon,), (*batch, horizon)))
    there = space.xp.broadcast_to(in_length[..., None] & in_size, (*batch, horizon, n))
    beyond = where((is_length[..., None] & is_size)[..., None, None], space.constant(np.eye(n)), space.constant(np.nan))
    blocks = where(there[..., :, None] & there[..., None, :], D, beyond)
    below = None if E is None else where(there[..., 1:, :, None] & there[..., :-1, None, :], E, space.constant(0.0))
    return blocks, below, there


def _below(space: Namespace, given: Any, name: str, count: int, fits: tuple[Any, ...]) -> tuple[Any, Any]:
    """Which of the numbers from 0 are below those that are given, and which of these are from 0 to ``count``: below others is none."""
    if given is None:
        return space.constant(np.ones(count)) > 0, space.constant(1.0) > 0
    ends: Any = readable(given, name)
    ends = ends if hasattr(ends, "dtype") else np.asarray(ends)
    if kind_of(ends) not in "iub":
        raise SpecError(f"{name} has elements of {ends.dtype}; give whole numbers")
    if tuple(ends.shape) not in ((), *fits):
        raise SpecError(f"{name} has shape {tuple(ends.shape)}; give {fits[-1]}")
    if namespace_of([ends]).known((ends >= 0) & (ends <= count)) is False:
        place, value = next((place, value) for place, value in np.ndenumerate(np.asarray(ends)) if not 0 <= value <= count)
        raise SpecError(f"{name}{''.join(f'[{k}]' for k in place)} is {value}; give 0 to {count}")
    ends = space.constant(ends)
    fit = (ends >= 0) & (ends <= count)
    return (space.constant(np.arange(count)) < ends[..., None]) & fit[..., None], fit


def step_of_inverse(n: int, dtype: Any) -> float:
    """The size of e V for derivatives of the selected inverse, where A is about 1 and V is a change of it.

    The matrix [[A, e V], [e V, A]] has the blocks of -A^-1 V A^-1 in its inverse, times e, off the diagonal.
    All that is computed there is odd in e, so it has no rounding of anything larger. Terms of e^3 are below the rounding.
    """
    if 2 * n > _LARGEST_BLOCK:
        raise SpecError(f"D has blocks of {n}; derivatives of the selected inverse take blocks of at most {_LARGEST_BLOCK // 2}")
    return _SMALL[str(dtype).rpartition(".")[2]]


def _read(D: Any, E: Any, *others: Any, ring: bool = False, bandwidth: int = 1) -> tuple[Namespace, Any, Any]:
    """D and E, which has no blocks where it is None."""
    space = namespace_of([D, *([] if E is None else [E]), *others])
    D = space.array(D, "D")
    if D.ndim < 3 or D.shape[-1] != D.shape[-2] or 0 in D.shape:
        raise SpecError(f"D has shape {tuple(D.shape)}; give (N, n, n), or (batch, N, n, n)")
    horizon, n = D.shape[-3], D.shape[-1]
    if bandwidth > 1:
        return space, D, expect_band(D, E if E is None else space.array(E, "E"), bandwidth, flag(ring, "ring"))
    couplings = horizon if flag(ring, "ring") else horizon - 1
    if E is None and couplings > 0:
        raise SpecError(f"E is None; give {(couplings, n, n)}, as D has {horizon} blocks")
    E = space.constant(np.zeros((0, n, n))) if E is None else space.array(E, "E")
    if tuple(E.shape[-3:]) != (couplings, n, n):
        raise SpecError(f"E has shape {tuple(E.shape)}; give {(couplings, n, n)}, as D has {horizon} blocks")
    return space, D, E


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
