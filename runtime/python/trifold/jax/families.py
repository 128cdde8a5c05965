"""Solutions of any family in JAX, with gradients: trifold.jax.families. They follow from the table of the family.

    s = trifold.families.Solver("grid", width=129, height=65)
    x = trifold.jax.families.solve(s, stencil, b)

Within jit the problem is that of the Solver, on the device where JAX computes. Each solution takes the values of A again. Derivatives of
first order exist, in reverse mode. A member that fails has results of NaN, for a compiled function cannot raise. vmap makes one call after
another.
"""

from __future__ import annotations

import functools
import importlib
import json
from typing import Any

from .. import _jax_primitives as _p
from ..families import Solver, differentiable

_jax: Any = importlib.import_module("jax")
_jnp: Any = importlib.import_module("jax.numpy")

__all__ = ["solve"]


def solve(solver: Solver, values: Any, b: Any, *, operation: str = "solve", **options: Any) -> Any:
    """Result of an operation for values of A, with gradients to both. options: fields of the call. Raises SpecError where it has none."""
    differentiable(solver, operation)
    values, b = _p.same_axes(_p.read_array(values, "values"), _p.read_array(b, "b"))
    return _solve(solver, operation, tuple(options.items()), values, b)


@functools.partial(_jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def _solve(solver: Solver, operation: str, options: Any, values: Any, b: Any) -> Any:
    return _call(solver, operation, options, values, b)["X"]


def _forward(solver: Solver, operation: str, options: Any, values: Any, b: Any) -> Any:
    x = _solve(solver, operation, options, values, b)
    return x, (values, x)


def _backward(solver: Solver, operation: str, options: Any, kept: Any, by_x: Any) -> Any:
    values, x = kept
    row = solver.operations[operation]
    known = {"X": x, "dE/dX": by_x}
    arrays = solver.operations[row["outer"]]["arrays"]
    if "dE/dB" not in [one["name"] for one in arrays if one["access"] == "write"]:
        known["dE/dB"] = _call(solver, row["adjoint"], options, values, by_x)["X"]
    known.update(_call(solver, row["outer"], options, values, *[known[one["name"]] for one in arrays if one["access"] == "read"]))
    return known["dE/dA"].reshape(values.shape), known["dE/dB"]


_solve.defvjp(_forward, _backward)


def _call(solver: Solver, operation: str, options: Any, values: Any, *inputs: Any) -> dict[str, Any]:
    """Results by their names. The first input has the shape of all results but those of A's values."""
    made = [one for one in solver.operations[operation]["arrays"] if one["access"] != "read"]
    like = [values if one["name"] == "dE/dA" else inputs[0] for one in made]
    columns = inputs[0].size // solver.size_of(operation, 0)
    problem = {
        "family": "any",
        "of": solver.family,
        "factor": solver.factors,
        "operation": operation,
        "spec": solver.problem,
        "tuning": solver.tuning,
        "options": {"columns": columns, **dict(options)},
    }
    zeros = [_jnp.zeros_like(array) for array, one in zip(like, made) if one["access"] == "update"]
    updated = [k for k, one in enumerate(made) if one["access"] == "update"]
    aliases = {1 + len(inputs) + at: k for at, k in enumerate(updated)}
    shapes = [_jax.ShapeDtypeStruct(array.shape, array.dtype) for array in like]
    call = _jax.ffi.ffi_call("trifold_any_solve", shapes, input_output_aliases=aliases, vmap_method="sequential")
    results = call(values, *inputs, *zeros, problem=json.dumps(problem))
    return {one["name"]: result for one, result in zip(made, results)}
