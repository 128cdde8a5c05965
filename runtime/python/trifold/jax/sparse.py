"""Sparse systems in JAX: trifold.jax.sparse, for jit, grad, jvp and vmap. Needs SciPy.

    x = trifold.jax.sparse.solve(A, b)
    s = trifold.jax.sparse.Solver(A); x = s.solve(A, b)

A: a BCSR of jax.experimental.sparse, with numbers for values or, where n_dense is 2, with blocks of 1 to 8. b and x: (n,), or (n, m) for m
right-hand sides. Options are those of trifold.sparse. The pattern of A must be known when a function is traced: make the Solver outside of
jit. Derivatives of all orders, forward and backward, by the values of A and by b, are further solutions, and those backward take the
transposed preconditioner.

Arrays stay where they are: on a GPU the whole solution, with its derivatives, is made there, by a Solver on that GPU, which is the default
where A is on one. On a processor values stay factored while they stay the same; on a GPU each solution factors them. vmap of b alone makes
more right-hand sides, that of values solves one system after the other. A system that fails, or does not converge, has an x of NaN, for a
compiled function cannot raise: look for them outside of it.
"""

from __future__ import annotations

import functools
import importlib
import math
from typing import Any, NamedTuple, Unpack

import numpy

from .. import _jax_primitives as _p
from .._sparse_values import for_one_call, matrix_of
from ..errors import SpecError
from ..options import takes
from ..sparse import ITERATION, MOST_ITERATIONS, Iteration, Solver as _Solver

__all__ = ["Solver", "solve"]

_np: Any = numpy
_jax: Any = importlib.import_module("jax")
_jnp: Any = importlib.import_module("jax.numpy")
_BCSR: Any = importlib.import_module("jax.experimental.sparse").BCSR


@takes(ITERATION)
def solve(A: Any, b: Any, *, rtol: float | None = None, atol: float = 0.0, maxiter: int | None = None, **options: Unpack[Iteration]) -> Any:
    """A^-1 b, with derivatives by the values of A and by b. The plan of A's pattern is made for this call alone: Solver keeps it."""
    b = _p.read_array(b, "b")
    return Solver(A, **for_one_call(options, b, maxiter)).solve(A, b, rtol=rtol, atol=atol)


class Call(NamedTuple):
    """Data that all values and right-hand sides of an operation of XLA share. It holds the Solver for as long as XLA has the code."""

    solver: Solver
    transposed: bool
    rtol: float
    atol: float
    maxiter: int

    def problem(self, b: Any) -> str:
        operation = "solve_transposed" if self.transposed else "solve"
        limits = {"rtol": self.rtol, "atol": self.atol, "maxiter": self.maxiter, "shift": self.solver.plan.shift}
        return _p.problem("sparse", operation, number=self.solver.plan.core.number, columns=_columns(b), **limits)

    def on_host(self, values: Any, b: Any) -> Any:
        x = _np.empty_like(b)
        values, b = _np.asarray(values), _np.asarray(b)
        self.solver.plan.core.solve_with(values, b, x, _columns(b), *self[1:], self.solver.plan.shift)
        return x


class Solver:
    """The plan of a pattern, for values that change from call to call. Options and errors are those of trifold.sparse.Solver."""

    @takes(ITERATION)
    def __init__(self, A: Any, *, maxiter: int = MOST_ITERATIONS, **options: Unpack[Iteration]) -> None:
        _expect(A)
        if options.get("block") is not None:
            raise SpecError("block is that of A; give a BCSR whose data has blocks, with n_dense=2")
        if any(isinstance(array, _jax.core.Tracer) for array in (A.indptr, A.indices)):
            raise SpecError("the pattern of A is traced by JAX, as within jit; make the Solver outside of it")
        if options.get("device") is None:
            options["device"] = _where(A.indices)
        starts, columns = _np.asarray(A.indptr), _np.asarray(A.indices)
        self._entries = int(starts[-1])  # those that are no room
        values = _np.zeros((self._entries, *A.data.shape[1:]), A.data.dtype)  # those of A may be traced
        self.plan = _Solver.of_pattern(matrix_of(starts, columns[: self._entries], values, _scalars(A)), maxiter, options)
        self.block, self.dtype, self.data_shape, self.shape = self.plan.block, values.dtype, A.data.shape, self.plan.shape
        # Unsigned, for JAX adds to signed indices, and may not where they vary over a mesh.
        self._rows = _np.repeat(_np.arange(len(self.plan.starts) - 1, dtype=_np.uint32), _np.diff(self.plan.starts))
        self._columns = self.plan.columns.astype(_np.uint32)

    def solve(self, A: Any, b: Any, *, rtol: float | None = None, atol: float = 0.0, maxiter: int | None = None) -> Any:
        """A^-1 b. A: a BCSR of the pattern, which is not compared again, or its data alone."""
        values, b = _p.read_array(A.data if isinstance(A, _BCSR) else A, "A"), _p.read_array(b, "b")
        if values.shape != self.data_shape:
            raise SpecError(f"A has data of shape {values.shape}, and the Solver was made for {self.data_shape}; make another one")
        if values.dtype != self.dtype:
            raise SpecError(f"A is {values.dtype}, and the Solver {self.dtype}; convert it")
        _p.expect_columns(b, self.shape[:1], self.dtype, "the Solver")
        limits = self.plan.limits(rtol, atol, maxiter)
        values, b, *pattern = _p.same_axes(self._placed(values), b, _jnp.asarray(self._rows), _jnp.asarray(self._columns))
        ways = ({"call": Call(self, transposed, **limits)} for transposed in (False, True))
        return _p.solution(_solve_p, functools.partial(self._times, values, *pattern), values, b, *ways)

    def _placed(self, values: Any) -> Any:
        """In the order of the plan."""
        places = self.plan.places
        values = values[: self._entries]
        if places.at is not None:
            values = _jax.ops.segment_sum(values.reshape(-1), places.at, math.prod(places.rows))
        return values.reshape(places.rows)

    def _times(self, values: Any, rows: Any, columns: Any, x: Any) -> Any:
        """A x."""
        blocks, of_x = values.reshape(-1, self.block, self.block), x.reshape(-1, self.block, x.size // self.shape[0])
        return _jnp.zeros_like(of_x).at[rows].add(blocks @ of_x[columns], indices_are_sorted=True).reshape(x.shape)


def _expect(A: Any) -> None:
    if not isinstance(A, _BCSR):
        raise SpecError(f"A is a {type(A).__name__}; give a BCSR, as jax.experimental.sparse.BCSR.from_scipy_sparse makes it")
    if A.n_batch != 0 or A.n_dense not in (0, 2):
        raise SpecError(f"A has n_batch = {A.n_batch} and n_dense = {A.n_dense}; give one matrix, of numbers or of blocks")


def _where(array: Any) -> str:
    """The device that an array is on: of several the first."""
    if not isinstance(array, _jax.Array):
        return "cpu"
    first = min(array.devices(), key=lambda device: device.id)
    return f"cuda:{first.local_hardware_id}" if first.platform == "gpu" and "cuda" in first.client.platform_version else "cpu"


def _scalars(A: Any) -> tuple[int, int]:
    """Rows and columns of numbers. A BCSR of blocks counts blocks: (rows, columns, block, block)."""
    block = A.shape[2] if A.n_dense == 2 else 1
    return A.shape[0] * block, A.shape[1] * block


def _columns(b: Any) -> int:
    return int(b.shape[1]) if b.ndim == 2 else 1


def _by_python(values: Any, b: Any, *, call: Call) -> list[Any]:
    """By way of the processor."""
    return [_jax.pure_callback(call.on_host, _jax.ShapeDtypeStruct(b.shape, b.dtype), values, b)]


def _lower(ctx: Any, values: Any, b: Any, *, call: Call) -> Any:
    ctx.module_context.add_keepalive(call)
    return _p.ffi.ffi_lowering("trifold_sparse_solve")(ctx, values, b, problem=call.problem(ctx.avals_in[1]))


_lower_by_python = _p.mlir.lower_fun(_by_python, multiple_results=True)


def _lower_for_cuda(ctx: Any, values: Any, b: Any, *, call: Call) -> Any:
    lower = _lower if call.solver.plan.core.device.startswith("cuda") else _lower_by_python
    return lower(ctx, values, b, call=call)


def _one_by_one(primitive: Any, arguments: Any, axes: Any, **parameters: Any) -> Any:
    values, *mapped_b = [_jnp.moveaxis(array, axis, 0) for array, axis in zip(arguments, axes) if axis is not None]

    def solve(one: Any) -> Any:
        return primitive.bind(one[0], *(one[1:] or arguments[1:]), **parameters)

    return _jax.lax.map(solve, (values, *mapped_b)), [0]


def _eagerly(*arguments: Any, call: Call) -> Any:
    """Keeps no Solver, as a cache of functions by their parameters would."""
    return _jax.jit(functools.partial(_solve_p.bind, call=call))(*arguments)


_solve_p = _p.make_solution("sparse_solve", _one_by_one, _eagerly)
_p.mlir.register_lowering(_solve_p, _lower_by_python)
_p.mlir.register_lowering(_solve_p, _lower, platform="cpu")
_p.mlir.register_lowering(_solve_p, _lower_for_cuda, platform="cuda")
