"""Sparse matrices of SciPy, CuPy and torch: which structure they have, and solutions by it."""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

import functools
import importlib
import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from . import grid
from ._sparse_rows import coordinates, is_cupy
from .arrays import ArrayLike, adapt, library_of, plain
from .errors import GridFailed, SpecError, Unsolvable
from .factor import Factor, factor
from .matrices import from_entries
from .symmetry import is_symmetric

np: Any = numpy
_log = logging.getLogger("trifold")
_WIDEST_BLOCK = 1024  # wider bands are not worth filling up
_BACKWARD = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-6}  # backward errors of direct solvers, with some room
_MOST_REFINEMENTS = 12
_NARROW = 16  # blocks up to here make a chain of an image, too: a row of them is as fast


class Structure(NamedTuple):
    """Structure that a sparse matrix is taken for."""

    kind: str  #: "chain", "grid", or "sparse" for any other
    block: int = 0  #: n of a chain
    horizon: int = 0  #: N of a chain, of which the last block may be filled up
    height: int = 0  #: H of a grid
    width: int = 0  #: W of a grid
    why: str = ""  #: reason why another matrix is neither

    def __str__(self) -> str:
        if self.kind == "chain":
            return f"a chain of {self.horizon} blocks of {self.block}"
        if self.kind == "grid":
            return f"an image of {self.height} by {self.width} pixels"
        return f"any sparse matrix, for trifold.sparse: {self.why}"


class Factorized:
    """A factored, from factorized(): call it with b for A^-1 b. ``structure`` says what A was taken for. It pickles."""

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

    def vectors(self) -> _Vectors:
        return _Vectors(self.size, self.data.dtype, self.give)


def structure_of(A: Any) -> Structure:
    """Returns the structure that solve_sparse() takes A for. Raises SpecError on what is no square sparse matrix of real numbers."""
    return _find(_entries(A))


def solve_sparse(A: Any, b: ArrayLike) -> Any:
    """A^-1 b, where A is a sparse matrix of SciPy, CuPy or torch. b: (size,), or (size, m), of the same library.

    The structure is found: an image of nine neighbours, or a chain of blocks, whose bands are filled up, else any sparse matrix, which
    trifold.sparse solves by an iteration, for SciPy's matrices. The logger "trifold" says at level INFO what was taken; so does
    structure_of(A). A chain must be positive definite. Raises what trifold.solve() and trifold.grid.solve() raise, and Unsolvable where an
    iteration does not converge; on a GPU it waits to see. There are no gradients: a tensor that requires one is refused.
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
    entries = coordinates(A, "a sparse matrix of SciPy, CuPy or torch")
    return _checked(*entries, A.shape, __import__("cupy").asarray if is_cupy(A) else np.asarray)


def _of_torch(A: Any) -> _Entries:
    torch: Any = __import__("torch")
    if A.layout == torch.strided:
        raise SpecError("A is a dense tensor; give a sparse one, or trifold.solve its blocks")
    entries = plain(A, "A", "trifold.torch.sparse").to_sparse_coo().coalesce()
    row, column = entries.indices().cpu().numpy()
    return _checked(row, column, entries.values().cpu().numpy(), tuple(A.shape), functools.partial(torch.as_tensor, device=A.device))


def _checked(row: Any, column: Any, data: Any, shape: Any, give: Callable[[Any], Any]) -> _Entries:
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise SpecError(f"A has shape {tuple(shape)}; give a square matrix")
    data = data if data.dtype == np.float32 else data.astype(np.float64)
    there = data != 0
    return _Entries(row[there], column[there], data[there], int(shape[0]), give)


def _find(entries: _Entries) -> Structure:
    block, symmetric = _block_of_chain(entries), _is_symmetric(entries)
    width = _width_of_image(entries) if block > _NARROW or not symmetric else 0
    if width > 0:
        return Structure("grid", height=entries.size // width, width=width)
    if block > _WIDEST_BLOCK:
        return Structure("sparse", why=f"its entries reach {_reach(entries)} rows away, beyond blocks of {_WIDEST_BLOCK}")
    if not symmetric:
        return Structure("sparse", why="it is not symmetric, as a chain must be, and no image")
    return Structure("chain", block, -(-entries.size // block))


def _reach(entries: _Entries) -> int:
    return int(abs(entries.row - entries.column).max(initial=0))


def _block_of_chain(entries: _Entries) -> int:
    """The smallest block with which A is block tridiagonal: half of the reach at least, and the reach at most."""
    reach = _reach(entries)
    high, low = np.maximum(entries.row, entries.column), np.minimum(entries.row, entries.column)
    furthest = np.arange(entries.size)
    np.minimum.at(furthest, high, low)  # the leftmost entry of each row
    rows = np.flatnonzero(furthest < np.arange(entries.size))
    furthest = furthest[rows]
    if reach // 2 + 1 > _WIDEST_BLOCK:
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
    return is_symmetric(entries.row, entries.column, entries.data, entries.size)


class _Vectors(NamedTuple):
    """Size, type and place that b must have, and the way of NumPy's arrays to A's library and device."""

    size: int
    dtype: Any
    give: Callable[[Any], Any]

    def read(self, b: Any) -> Any:
        given = plain(b, "b")
        like = self.give(np.zeros(0, self.dtype))
        if library_of(type(given)) != library_of(type(like)):
            given = self.give(adapt(given, "b"))
        if len(given.shape) not in (1, 2) or given.shape[0] != self.size:
            raise SpecError(f"b has shape {tuple(given.shape)}; give ({self.size},), or ({self.size}, m) for m right-hand sides")
        return given.to(like.dtype) if library_of(type(like)) == "torch" else given.astype(self.dtype)


class _Iteration(NamedTuple):
    vectors: _Vectors
    solver: Any
    exact: Any  #: A, in a type with more digits
    why: str

    def __call__(self, b: Any) -> Any:
        """Solves for what is missing from x, again and again, until x is as accurate as that of a direct solver."""
        b, most = self.vectors.read(b), _BACKWARD[self.vectors.dtype]
        sizes = abs(self.exact)
        rows = np.asarray(sizes.max(axis=1).todense()).ravel()
        x, residual, error = np.zeros_like(b), b, np.inf
        worst: Any = None
        for _ in range(_MOST_REFINEMENTS):
            solution = self.solver.solve(residual.astype(b.dtype), check=False)
            better, worst = x + solution.x, solution.worst
            accurate = better.astype(self.exact.dtype)
            residual, before = b - self.exact @ accurate, error
            error = _backward_error(residual, sizes @ abs(accurate), rows, b, better)
            if error <= most:
                return better
            if not error < before / 2:
                break
            x = better
        raise Unsolvable(
            f"A is neither an image nor a chain: {self.why}; and the iteration of trifold.sparse, which ended with {worst.end!r} after "
            f"{worst.iterations} steps, has a backward error of {error:.1e}, above the {most:.0e} of a direct solver. Call "
            "trifold.sparse.solve() with another method, a stronger preconditioner such as 'ildu2', or a larger subdomain; or a direct "
            "solver such as scipy.sparse.linalg.spsolve()"
        )


def _iteration(A: Any, entries: _Entries, found: Structure) -> _Iteration:
    if not type(A).__module__.startswith("scipy."):
        raise SpecError(f"A is neither an image nor a chain: {found.why}. Give other matrices as those of SciPy, for trifold.sparse")
    sparse: Any = importlib.import_module("trifold.sparse")
    accurate = np.longdouble if entries.data.dtype == np.float64 else np.float64
    exact = sparse.scipy.sparse.csr_array(A, dtype=accurate, copy=True)
    return _Iteration(entries.vectors(), sparse.Solver(A.astype(entries.data.dtype)), exact, found.why)


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


class _Chain(NamedTuple):
    vectors: _Vectors
    factor: Factor

    def __call__(self, b: Any) -> Any:
        b = self.vectors.read(b)
        plan, columns = self.factor.plan, tuple(b.shape[1:])
        size = plan.horizon * plan.block
        whole = self.vectors.give(np.zeros((size, *columns), self.vectors.dtype))
        whole[: len(b)] = b
        x = self.factor.solve(whole.reshape((plan.horizon, plan.block, *columns)), check=True)
        return x.reshape((size, *columns))[: len(b)]


def _chain(entries: _Entries, found: Structure) -> _Chain:
    """Rows that fill the last block up are those of the identity."""
    size = found.horizon * found.block
    more = np.arange(entries.size, size)
    row, column = (np.concatenate([part, more]) for part in (entries.row, entries.column))
    data = np.concatenate([entries.data, np.ones(len(more), entries.data.dtype)])
    D, E = (entries.give(part) for part in from_entries(row, column, data, size, found.block))
    return _Chain(entries.vectors(), factor(D, E))


class _Image(NamedTuple):
    vectors: _Vectors
    factor: grid.Factor

    def __call__(self, b: Any) -> Any:
        b = self.vectors.read(b)
        x = self.factor.solve(b.reshape((*self.factor.stencil.shape[:2], *b.shape[1:]))).reshape(b.shape)
        self.factor.check()
        return x


def _grid(entries: _Entries, found: Structure) -> _Image:
    stencil = np.zeros((found.height, found.width, 9), entries.data.dtype)
    (y, x), (below, right) = divmod(entries.row, found.width), divmod(entries.column, found.width)
    np.add.at(stencil, (y, x, 3 * (below - y + 1) + right - x + 1), entries.data)
    f = _factor_image(entries.give(stencil), _is_symmetric(entries) and bool((stencil[..., 4] > 0).all()))
    return _Image(entries.vectors(), f)


def _factor_image(stencil: Any, symmetric: bool) -> grid.Factor:
    """Factors a symmetric image as a positive definite one first; whether it is one is seen then."""
    if symmetric:
        try:
            return grid.factor(stencil, matrix="symmetric", check=True)
        except GridFailed:
            pass
    return grid.factor(stencil, check=True)
