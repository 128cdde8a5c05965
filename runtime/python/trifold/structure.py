"""Sparse matrices of SciPy, CuPy and torch: which structure they have, and solutions by it."""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from . import grid
from .arrays import ArrayLike, library_of
from .errors import GridFailed, SpecError, Unsolvable
from .factor import factor
from .matrices import from_entries

np: Any = numpy
_log = logging.getLogger("trifold")
_LARGEST_BLOCK = 1024
_BACKWARD = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-6}  # backward errors of direct solvers, with some room
_MOST_REFINEMENTS = 12
_NARROW = 16  # blocks up to here make a chain of an image, too: a row of them is as fast


class Structure(NamedTuple):
    """What a sparse matrix is taken for."""

    kind: str  #: "chain", "grid", or "sparse" for any other
    block: int = 0  #: n of a chain
    horizon: int = 0  #: N of a chain, of which the last block may be filled up
    height: int = 0  #: H of a grid
    width: int = 0  #: W of a grid
    why: str = ""  #: of another matrix: why it is neither

    def __str__(self) -> str:
        if self.kind == "chain":
            return f"a chain of {self.horizon} blocks of {self.block}"
        if self.kind == "grid":
            return f"an image of {self.height} by {self.width} pixels"
        return f"any sparse matrix, for trifold.sparse: {self.why}"


class Factorized:
    """A factored, from factorized(): call it with b for A^-1 b. ``structure`` says what A was taken for."""

    def __init__(self, structure: Structure, solve: Callable[[Any], Any]) -> None:
        self.structure, self._solve = structure, solve

    def __call__(self, b: ArrayLike) -> Any:
        """A^-1 b; b: (size,), or (size, m)."""
        return self._solve(b)

    def __repr__(self) -> str:
        return f"<trifold.Factorized: {self.structure}>"


class _Entries(NamedTuple):
    """Entries of A in NumPy, and how arrays of NumPy go to A's library and device."""

    row: Any
    column: Any
    data: Any
    size: int
    give: Callable[[Any], Any]


def structure_of(A: Any) -> Structure:
    """What solve_sparse() takes A for. Raises SpecError on what is no square sparse matrix of real numbers."""
    return _find(_entries(A))


def solve_sparse(A: Any, b: ArrayLike) -> Any:
    """A^-1 b, where A is a sparse matrix of SciPy, CuPy or torch. b: (size,), or (size, m), of the same library.

    The structure is found: an image of nine neighbours, or a chain of blocks, whose bands are filled up, else any sparse matrix, which
    trifold.sparse solves by an iteration, for SciPy's matrices. The logger "trifold" says at level INFO what was taken; so does
    structure_of(A). A chain must be positive definite. Raises what trifold.solve() and trifold.grid.solve() raise, and Unsolvable where an
    iteration does not converge.
    """
    return factorized(A)(b)


def factorized(A: Any) -> Factorized:
    """A factored, as a function that solves, like scipy.sparse.linalg.factorized(). Arguments and errors are those of solve_sparse()."""
    entries = _entries(A)
    found = _find(entries)
    _log.info("a sparse matrix of %d rows is taken for %s", entries.size, found)
    if found.kind == "sparse":
        return Factorized(found, _iteration(A, entries, found))
    return Factorized(found, _chain(entries, found) if found.kind == "chain" else _grid(entries, found))


def _entries(A: Any) -> _Entries:
    if library_of(type(A)) == "torch":
        return _of_torch(A)
    if not hasattr(A, "tocoo"):
        raise SpecError(f"A is a {type(A).__name__}; give a sparse matrix of SciPy, CuPy or torch")
    entries = A.tocoo()
    if library_of(type(entries.data)) == "cupy":
        return _checked(entries.row.get(), entries.col.get(), entries.data.get(), A.shape, __import__("cupy").asarray)
    return _checked(np.asarray(entries.row), np.asarray(entries.col), np.asarray(entries.data), A.shape, np.asarray)


def _of_torch(A: Any) -> _Entries:
    torch: Any = __import__("torch")
    if A.layout == torch.strided:
        raise SpecError("A is a dense tensor; give a sparse one, or trifold.solve its blocks")
    entries = A.detach().to_sparse_coo().coalesce()
    row, column = entries.indices().cpu().numpy()

    def give(array: Any) -> Any:
        return torch.as_tensor(array, device=A.device)

    return _checked(row, column, entries.values().cpu().numpy(), tuple(A.shape), give)


def _checked(row: Any, column: Any, data: Any, shape: Any, give: Callable[[Any], Any]) -> _Entries:
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise SpecError(f"A has shape {tuple(shape)}; give a square matrix")
    if data.dtype.kind not in "fiub":
        raise SpecError(f"A has elements of {data.dtype}; give real numbers")
    data = data if data.dtype == np.float32 else data.astype(np.float64)
    there = data != 0
    return _Entries(row[there], column[there], data[there], int(shape[0]), give)


def _find(entries: _Entries) -> Structure:
    block, symmetric = _block_of_chain(entries), _is_symmetric(entries)
    width = _width_of_image(entries) if block > _NARROW or not symmetric else 0
    if width > 0:
        return Structure("grid", height=entries.size // width, width=width)
    if block > _LARGEST_BLOCK:
        return Structure("sparse", why=f"its entries reach {_reach(entries)} rows away, beyond blocks of {_LARGEST_BLOCK}")
    if not symmetric:
        return Structure("sparse", why="it is not symmetric, as a chain must be, and no image")
    return Structure("chain", block, -(-entries.size // block))


def _reach(entries: _Entries) -> int:
    return int(abs(entries.row - entries.column).max(initial=0))


def _block_of_chain(entries: _Entries) -> int:
    """The smallest block with which all entries are in blocks beside the diagonal: half of the reach at least, and the reach at most."""
    reach = _reach(entries)
    high, low = np.maximum(entries.row, entries.column), np.minimum(entries.row, entries.column)
    furthest = np.arange(entries.size)
    np.minimum.at(furthest, high, low)  # the leftmost entry of each row
    rows = np.flatnonzero(furthest < np.arange(entries.size))
    furthest = furthest[rows]
    if reach // 2 + 1 > _LARGEST_BLOCK:
        return reach // 2 + 1
    for block in range(max((reach + 2) // 2, 1), reach):
        if (rows // block - furthest // block).max(initial=0) <= 1:
            return block
    return max(reach, 1)


def _width_of_image(entries: _Entries) -> int:
    """W, where all entries are of pixels that touch each other in rows of W; 0 where there is none."""
    reach = _reach(entries)
    for width in (reach - 1, reach, reach + 1):
        if width < 2 or entries.size % width != 0 or entries.size // width < 2:
            continue
        (y, x), (below, right) = divmod(entries.row, width), divmod(entries.column, width)
        if abs(below - y).max() <= 1 and abs(right - x).max() <= 1:
            return width
    return 0


def _is_symmetric(entries: _Entries) -> bool:
    """Whether each entry has its mirror image, but for rounding."""
    one, other = _sums(entries, entries.row, entries.column), _sums(entries, entries.column, entries.row)
    return one[0].shape == other[0].shape and bool((one[0] == other[0]).all()) and np.allclose(one[1], other[1], atol=0)


def _sums(entries: _Entries, row: Any, column: Any) -> tuple[Any, Any]:
    """Places in order, and the sums of what stands there, for entries may come twice."""
    places, which = np.unique(row.astype(np.int64) * entries.size + column, return_inverse=True)
    return places, np.bincount(which.ravel(), entries.data, len(places))


def _iteration(A: Any, entries: _Entries, found: Structure) -> Callable[[Any], Any]:
    if not type(A).__module__.startswith("scipy."):
        raise SpecError(f"A is neither an image nor a chain: {found.why}. Give other matrices as those of SciPy, for trifold.sparse")
    sparse: Any = importlib.import_module("trifold.sparse")
    solver = sparse.Solver(A.astype(entries.data.dtype))
    most = _BACKWARD[entries.data.dtype]
    accurate = np.longdouble if entries.data.dtype == np.float64 else np.float64
    exact = sparse.scipy.sparse.csr_array(A, dtype=accurate, copy=True)
    sizes = abs(exact)
    rows = np.asarray(sizes.max(axis=1).todense()).ravel()

    def solve(b: Any) -> Any:
        b = _right_hand_side(entries, b)
        x, residual, error = np.zeros_like(b), b, np.inf
        for _ in range(_MOST_REFINEMENTS):
            solution = solver.solve(residual.astype(b.dtype))
            better = x + solution.x
            residual, before = b - exact @ better.astype(accurate), error
            error = _backward_error(residual, sizes @ abs(better).astype(accurate), rows, b, better)
            if error <= most:
                return better
            if not error < before / 2:
                break
            x = better
        worst = solution.worst
        raise Unsolvable(
            f"A is neither an image nor a chain: {found.why}; and the iteration of trifold.sparse, which ended with {worst.end!r} after "
            f"{worst.iterations} steps, has a backward error of {error:.1e}, above the {most:.0e} of a direct solver. Call "
            "trifold.sparse.solve() with another method, a stronger preconditioner such as 'ildu2', or a larger subdomain; or a direct "
            "solver such as scipy.sparse.linalg.spsolve()"
        )

    return solve


def _backward_error(residual: Any, sizes: Any, rows: Any, b: Any, x: Any) -> float:
    """How much entries of A and b would have to change, over their size, for x to be exact; sizes: |A| |x|, rows: the largest of each row.

    Rows in which all of |A| |x| and b is rounding are measured against the largest x. Source: Arioli, Demmel and Duff 1989, section 4.
    """
    if not np.isfinite(x).all():
        return float("inf")
    if b.ndim == 2:
        rows = rows[:, None]
    most, small = rows * abs(x).max(axis=0), 1000 * len(x) * np.finfo(x.dtype).eps
    usual = sizes + abs(b)
    size = np.where(usual > small * (most + abs(b)), usual, sizes + most)
    return float(np.divide(abs(residual), size, out=np.zeros_like(size), where=size > 0).max(initial=0))


def _chain(entries: _Entries, found: Structure) -> Callable[[Any], Any]:
    """Rows that fill the last block up are those of the identity."""
    size = found.horizon * found.block
    more = np.arange(entries.size, size)
    row, column = (np.concatenate([part, more]) for part in (entries.row, entries.column))
    data = np.concatenate([entries.data, np.ones(len(more), entries.data.dtype)])
    D, E = (entries.give(part) for part in from_entries(row, column, data, size, found.block))
    f = factor(D, E)

    def solve(b: Any) -> Any:
        b = _right_hand_side(entries, b)
        columns = tuple(b.shape[1:])
        whole = entries.give(np.zeros((size, *columns), entries.data.dtype))
        whole[: entries.size] = b
        return f.solve(whole.reshape((found.horizon, found.block, *columns))).reshape((size, *columns))[: entries.size]

    return solve


def _grid(entries: _Entries, found: Structure) -> Callable[[Any], Any]:
    stencil = np.zeros((found.height, found.width, 9), entries.data.dtype)
    (y, x), (below, right) = divmod(entries.row, found.width), divmod(entries.column, found.width)
    np.add.at(stencil, (y, x, 3 * (below - y + 1) + right - x + 1), entries.data)
    f = _factor_image(entries.give(stencil), _is_symmetric(entries) and bool((stencil[..., 4] > 0).all()))

    def solve(b: Any) -> Any:
        b = _right_hand_side(entries, b)
        return f.solve(b.reshape((found.height, found.width, *b.shape[1:]))).reshape(b.shape)

    return solve


def _factor_image(stencil: Any, symmetric: bool) -> grid.Factor:
    """As a positive definite one where it may be that, which is seen when it is factored."""
    if symmetric:
        try:
            return grid.factor(stencil, matrix="symmetric", check=True)
        except GridFailed:
            pass
    return grid.factor(stencil, check=True)


def _right_hand_side(entries: _Entries, b: Any) -> Any:
    given = b if hasattr(b, "shape") and hasattr(b, "dtype") else np.asarray(b)
    if len(given.shape) not in (1, 2) or given.shape[0] != entries.size:
        raise SpecError(f"b has shape {tuple(given.shape)}; give ({entries.size},), or ({entries.size}, m) for m right-hand sides")
    if library_of(type(given)) == "torch":
        return given.to(entries.give(entries.data[:0]).dtype)
    return given.astype(entries.data.dtype)
