"""Images in JAX: trifold.jax.grid, for jit, grad, jvp and vmap.

    x = trifold.jax.grid.solve(stencil, b)

Arrays and options are those of trifold.grid. Derivatives of all orders, forward and backward, are further solutions. Each of them factors A
again, for a factor is not passed on between XLA's operations; so solve for all right-hand sides in one call. vmap makes one batch of
stencils, and more right-hand sides where only b is mapped. An image that fails has results of NaN, for a compiled function cannot raise:
look for them outside of it.
"""

from __future__ import annotations

import functools
import importlib
import math
from typing import Any, Unpack

import numpy

from .. import _jax_primitives as _p
from ..errors import SpecError
from ..grid import MATRIX, MOST_AT_A_TIME, Matrix
from ..options import read, takes, whole

_np: Any = numpy
_jax: Any = importlib.import_module("jax")
_jnp: Any = importlib.import_module("jax.numpy")

__all__ = ["solve"]


@takes(MATRIX)
def solve(stencil: Any, b: Any, **options: Unpack[Matrix]) -> Any:
    """A^-1 b with the shape of b. stencil: (..., H, W, 9); b: (..., H, W) or (..., H, W, m). Raises SpecError on what does not fit."""
    stencil, b = _p.read_array(stencil, "stencil"), _p.read_array(b, "b")
    settings = read(solve, options, MATRIX)
    whole(settings["workers"], "workers", 1)
    _check(stencil, b, settings["boundary"])
    *front, height, width, _ = stencil.shape
    images = (math.prod(front), height, width)
    x = _solved(*_p.same_axes(stencil.reshape(*images, 9), b.reshape(*images, -1)), tuple(settings.items()))
    return x.reshape(b.shape)


def _check(stencil: Any, b: Any, boundary: str) -> None:
    if stencil.ndim < 3 or stencil.shape[-1] != 9 or 0 in stencil.shape:
        raise SpecError(f"stencil has shape {stencil.shape}; give (H, W, 9), or (..., H, W, 9) for many images")
    pixels = stencil.shape[:-1]
    _p.expect_columns(b, pixels, stencil.dtype, "the stencil")
    least = 3 if boundary == "fixed" else 2
    if min(pixels[-2:]) < least:
        raise SpecError(f"images of {pixels[-2]} by {pixels[-1]} pixels are too small; give {least} by {least} or more")


@functools.partial(_jax.jit, static_argnums=2)
def _solved(stencil: Any, b: Any, options: tuple[tuple[str, Any], ...]) -> Any:
    """x of (B, H, W, 9) and (B, H, W, m). Derivatives are those of A x, which JAX finds itself."""

    times = functools.partial(_times, stencil, symmetric=("matrix", "symmetric") in options, fixed=("boundary", "fixed") in options)
    ways = ({"operation": operation, "options": options} for operation in ("factor_solve", "solve_transposed"))
    return _p.solution(_grid_solve_p, times, stencil, b, *ways)


def _times(stencil: Any, x: Any, *, symmetric: bool, fixed: bool) -> Any:
    """A x."""
    height, width = stencil.shape[-3:-1]
    unknown = _np.ones((height, width), bool)
    if fixed:
        unknown = _np.pad(unknown[1:-1, 1:-1], 1)
    beside = _np.pad(unknown, 1)
    around = _jnp.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)])
    before = _jnp.pad(stencil, [(0, 0), (1, 1), (1, 1), (0, 0)])
    result = _jnp.zeros_like(x)
    for k in range(9):
        rows, columns = slice(k // 3, k // 3 + height), slice(k % 3, k % 3 + width)
        entry = stencil[..., k]
        if symmetric and k > 4:
            entry = _jnp.where(beside[rows, columns], before[:, rows, columns, 8 - k], entry if fixed else 0)
        result = result + entry[..., None] * around[:, rows, columns]
    return _jnp.where(unknown[..., None], result, x)


def _lower(ctx: Any, *operands: Any, operation: str, options: tuple[tuple[str, Any], ...]) -> Any:
    of_stencil, of_b = ctx.avals_in
    batch, height, width, columns = map(int, of_b.shape)
    settings = dict(options)
    fields = {"workers": settings.pop("workers"), "columns": columns}
    spec = {**settings, "batch": batch, "height": height, "width": width, "precision": _p.precision(of_stencil)}
    spec["rhs"] = min(columns, MOST_AT_A_TIME)
    spec["operations"] = ["factor_solve", "solve"] if operation == "factor_solve" else ["factor", operation]
    return _p.ffi.ffi_lowering("trifold_grid_solve")(ctx, *operands, problem=_p.problem("grid", operation, spec=spec, **fields))


_grid_solve_p = _p.make_solution("grid_solve")
for _platform in ("cpu", "cuda"):
    _p.mlir.register_lowering(_grid_solve_p, _lower, platform=_platform)
