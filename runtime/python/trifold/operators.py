"""Chains and images as SciPy's LinearOperators, or CuPy's where arrays are CuPy's.

    A = trifold.operators.chain(D, E)
    M = trifold.operators.inverse(trifold.factor(D, E))
    x, info = scipy.sparse.linalg.cg(B, b, M=M)

Vectors are those of the whole matrix: (N n,) of a chain, (H W,) of an image, row by row. Products with many vectors at once, of shape
(N n, m), are one call. Complex vectors are two real ones. Operators pickle, as what they were made of.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy

from .arrays import ArrayLike, adapt, guarded, kind_of, library_of, plain
from .errors import SpecError
from .factor import Factor
from .grid import Factor as GridFactor
from .matrices import matvec

np: Any = numpy

__all__ = ["chain", "grid", "inverse"]


def __dir__() -> list[str]:
    return __all__


def chain(D: ArrayLike, E: ArrayLike | None, upper: ArrayLike | None = None) -> Any:
    """A of blocks D on its diagonal, E below it and upper above it, as in trifold.solve, without a batch.

    Raises SpecError on shapes that do not fit.
    """
    blocks = _alone(D, "D", 3)
    below, above = (None if array is None else _alone(array, name, 3) for array, name in ((E, "E"), (upper, "upper")))
    inner = tuple(blocks.shape[:2])

    def product(x: Any) -> Any:
        return matvec(blocks, below, x, upper=above)

    def transposed(x: Any) -> Any:
        if above is None or below is None:
            return product(x)
        return matvec(blocks.swapaxes(1, 2), above.swapaxes(1, 2), x, upper=below.swapaxes(1, 2))

    return _operator((chain, (D, E, upper)), blocks, inner, product, transposed)


def grid(stencil: ArrayLike) -> Any:
    """A of a stencil (H, W, 9), as in trifold.grid.solve: entries beyond the image count as zero."""
    given = _alone(stencil, "stencil", 3)
    if given.shape[-1] != len(_AROUND):
        raise SpecError(f"stencil has shape {tuple(given.shape)}; give (H, W, 9)")

    def product(x: Any) -> Any:
        return _sum_around(x, lambda k, rows, columns: given[..., k])

    def transposed(x: Any) -> Any:
        around = _padded(given)
        return _sum_around(x, lambda k, rows, columns: around[rows, columns, len(_AROUND) - 1 - k])

    return _operator((grid, (stencil,)), given, tuple(given.shape[:2]), product, transposed)


def inverse(factor: Factor | GridFactor) -> Any:
    """A^-1 of trifold.factor() or of trifold.grid.factor(), of one system: a preconditioner, or what shift-and-invert takes."""
    if isinstance(factor, GridFactor):
        stencil = _alone(factor.stencil, "the factor's stencil", 3)
        return _operator((inverse, (factor,)), stencil, tuple(stencil.shape[:2]), factor.solve, factor.solve_transposed)
    if not isinstance(factor, Factor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SpecError(f"factor is a {type(factor).__name__}; give what trifold.factor() or trifold.grid.factor() returns")
    if factor.batch is not None:
        raise SpecError(f"the factor has {factor.batch} members; an operator is of one")
    return _operator((inverse, (factor,)), factor, (factor.plan.horizon, factor.plan.block), factor.solve, factor.solve_transposed)


_AROUND = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]


def _padded(array: Any) -> Any:
    xp = importlib.import_module(library_of(type(array)))
    return xp.pad(array, [(1, 1), (1, 1)] + [(0, 0)] * (array.ndim - 2))


def _sum_around(x: Any, entries: Callable[[int, slice, slice], Any]) -> Any:
    """The sum over neighbours of entries times x."""
    height, width = x.shape[:2]
    around, result = _padded(x), 0
    for k, (dy, dx) in enumerate(_AROUND):
        rows, columns = slice(1 + dy, 1 + dy + height), slice(1 + dx, 1 + dx + width)
        entry = entries(k, rows, columns)
        result = result + (entry[..., None] if x.ndim > entry.ndim else entry) * around[rows, columns]
    return result


def _alone(array: Any, name: str, axes: int) -> Any:
    given = plain(array, name)
    given = np.asarray(adapt(given, name)) if library_of(type(given)) == "torch" else given
    if given.ndim != axes:
        raise SpecError(f"{name} has shape {tuple(given.shape)}; an operator is of one system, without a batch axis")
    return given


def _operator(
    made: tuple[Any, ...], like: Any, inner: tuple[int, ...], product: Callable[[Any], Any], transposed: Callable[[Any], Any]
) -> Any:
    """The LinearOperator of functions of arrays of the shape inner, or (*inner, m). made: what makes it again, for pickles."""
    of = like.value if isinstance(like, Factor) else like
    scipy = "cupyx.scipy" if library_of(type(of)) == "cupy" else "scipy"
    kind = _pickled(importlib.import_module(f"{scipy}.sparse.linalg").LinearOperator)
    size = int(inner[0] * inner[1])
    narrow = like.plan.dtype == "float32" if isinstance(like, Factor) else like.dtype == np.float32
    dtype = np.dtype(np.float32 if narrow else np.float64)

    def flat(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def call(x: Any) -> Any:
            if kind_of(x) == "c":
                return call(x.real) + 1j * call(x.imag)
            x = plain(x, "the vector")
            given = x.astype(dtype).reshape((*inner, *(() if x.ndim == 1 or x.shape[1:] == (1,) else x.shape[1:])))
            return function(given).reshape(x.shape)

        return call

    forward, backward = flat(product), flat(transposed)
    operator = kind((size, size), matvec=forward, rmatvec=backward, matmat=forward, rmatmat=backward, dtype=dtype)
    operator.made = made
    return operator


@functools.cache
def _pickled(kind: Any) -> Any:
    """Operators that pickle as what made them, of SciPy or CuPy."""
    custom: Any = kind((1, 1), matvec=np.asarray, dtype=np.float64).__class__

    def reduce(self: Any, protocol: Any = None) -> Any:
        return self.made

    return guarded(type("Operator", (custom,), {"__reduce_ex__": reduce, "__module__": __name__}))
