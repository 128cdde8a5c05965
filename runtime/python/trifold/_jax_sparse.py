"""Sparse systems in JAX: trifold.jax.sparse, for jit, grad, jvp and vmap. Needs SciPy.

    x = trifold.jax.sparse.solve(A, b)
    s = trifold.jax.sparse.Solver(A); x = s.solve(A, b)

A: a BCSR of jax.experimental.sparse, with numbers for values or, where n_dense is 2, with blocks of 1 to 8. b and x: (n,), or (n, m) for m
right-hand sides. Options are those of trifold.sparse. The pattern of A must be known when a function is traced: make the Solver outside of
jit. Derivatives of all orders, forward and backward, by the values of A and by b, are further solutions, and those backward take the
transposed preconditioner. Values stay factored while they stay the same.

XLA calls back into Python, so arrays of a GPU go to the processor and back. vmap solves one system after the other. A system that fails, or
does not converge, has an x of NaN, for a compiled function cannot raise: look for them outside of it.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any, Unpack

import numpy

from ._jax_primitives import read_array
from ._sparse_values import CurrentValues, matrix_of
from .errors import SpecError, Unsolvable
from .options import takes
from .sparse import ITERATION, MOST_AT_A_TIME, MOST_ITERATIONS, Iteration, Solver as _Solver

__all__ = ["Solver", "solve"]

_np: Any = numpy
_jax: Any = importlib.import_module("jax")
_jnp: Any = importlib.import_module("jax.numpy")
_BCSR: Any = importlib.import_module("jax.experimental.sparse").BCSR


@takes(ITERATION)
def solve(A: Any, b: Any, *, rtol: float = 1e-8, atol: float = 0.0, maxiter: int | None = None, **options: Unpack[Iteration]) -> Any:
    """A^-1 b, with derivatives by the values of A and by b. The plan of A's pattern is made for this call alone: Solver keeps it."""
    b = read_array(b, "b")
    if "rhs" not in options and b.ndim == 2:
        options["rhs"] = min(max(b.shape[1], 1), MOST_AT_A_TIME)
    return Solver(A, maxiter=MOST_ITERATIONS if maxiter is None else maxiter, **options).solve(A, b, rtol=rtol, atol=atol)


class Solver:
    """The plan of a pattern, for values that change from call to call. Options and errors are those of trifold.sparse.Solver."""

    @takes(ITERATION)
    def __init__(self, A: Any, *, maxiter: int = MOST_ITERATIONS, **options: Unpack[Iteration]) -> None:
        _expect(A)
        if options.get("block") is not None:
            raise SpecError("block is that of A; give a BCSR whose data has blocks, with n_dense=2")
        if any(isinstance(array, _jax.core.Tracer) for array in (A.indptr, A.indices)):
            raise SpecError("the pattern of A is traced by JAX, as within jit; make the Solver outside of it")
        starts, columns = _np.asarray(A.indptr), _np.asarray(A.indices)
        rows = _np.repeat(_np.arange(len(starts) - 1), _np.diff(starts))
        values = _np.zeros(A.data.shape, A.data.dtype)  # the identity, since those of A may be traced
        values[rows == columns] = _np.eye(values.shape[1], dtype=values.dtype) if values.ndim == 3 else 1
        self.current = CurrentValues(_Solver(matrix_of(starts, columns, values, _scalars(A)), maxiter=maxiter, **options))
        self.block, self.dtype, self.data_shape = self.current.solver.block, values.dtype, values.shape
        self.shape = self.current.solver.shape
        self._rows, self._columns = rows, columns

    def solve(self, A: Any, b: Any, *, rtol: float = 1e-8, atol: float = 0.0, maxiter: int | None = None) -> Any:
        """A^-1 b. A: a BCSR of the pattern, which is not compared again, or its data alone."""
        values, b = read_array(A.data if isinstance(A, _BCSR) else A, "A"), read_array(b, "b")
        if values.shape != self.data_shape:
            raise SpecError(f"A has data of shape {values.shape}, and the Solver was made for {self.data_shape}; make another one")
        if b.ndim not in (1, 2) or b.shape[0] != self.shape[0] or 0 in b.shape:
            raise SpecError(f"b has shape {b.shape}; give ({self.shape[0]},), or ({self.shape[0]}, m) for m right-hand sides")
        for array, name in ((values, "A"), (b, "b")):
            if array.dtype != self.dtype:
                raise SpecError(f"{name} is {array.dtype}, and the Solver {self.dtype}; convert it")
        settings = {"rtol": rtol, "atol": atol, "maxiter": maxiter}

        def iteration(transposed: bool) -> Any:
            def call(_: Any, right: Any) -> Any:
                like = _jax.ShapeDtypeStruct(right.shape, right.dtype)
                host = functools.partial(self._on_host, transposed, settings)
                return _jax.pure_callback(host, like, values, right, vmap_method="sequential")

            return call

        return _jax.lax.custom_linear_solve(functools.partial(self._times, values), b, iteration(False), iteration(True))

    def _times(self, values: Any, x: Any) -> Any:
        """A x."""
        blocks = values.reshape(-1, self.block, self.block)
        parts = blocks @ x.reshape(-1, self.block, x.size // self.shape[0])[self._columns]
        return _jax.ops.segment_sum(parts, self._rows, self.shape[0] // self.block, indices_are_sorted=True).reshape(x.shape)

    def _on_host(self, transposed: bool, settings: dict[str, Any], values: Any, b: Any) -> Any:
        b = _np.asarray(b)
        try:
            return self.current.solve(_np.asarray(values), b, transposed=transposed, check=True, **settings)
        except Unsolvable:
            return _np.full_like(b, _np.nan)


def _expect(A: Any) -> None:
    if not isinstance(A, _BCSR):
        raise SpecError(f"A is a {type(A).__name__}; give a BCSR, as jax.experimental.sparse.BCSR.from_scipy_sparse makes it")
    if A.n_batch != 0 or A.n_dense not in (0, 2):
        raise SpecError(f"A has n_batch = {A.n_batch} and n_dense = {A.n_dense}; give one matrix, of numbers or of blocks")


def _scalars(A: Any) -> tuple[int, int]:
    """Rows and columns of numbers. A BCSR of blocks counts blocks: (rows, columns, block, block)."""
    block = A.shape[2] if A.n_dense == 2 else 1
    return A.shape[0] * block, A.shape[1] * block
