"""Solutions of any family in PyTorch, with gradients: trifold.torch.families. They follow from the table of the family.

    s = trifold.families.Solver("grid", width=129, height=65)
    x = trifold.torch.families.solve(s, stencil, b)

An operation that factors takes the values of A; "solve" has an adjoint, and an outer product which gives the gradient by the values, in the
table. Derivatives of first order exist, in reverse mode.
"""

from __future__ import annotations

import importlib
from typing import Any

from .._torch_derivatives import expect_tensor
from ..families import Solver, differentiable

__all__ = ["solve"]

torch: Any = importlib.import_module("torch")


def solve(solver: Solver, values: Any, b: Any, *, operation: str = "solve", **options: Any) -> Any:
    """Result of an operation for values of A, with gradients to both. options: fields of the call. Raises SpecError where it has none."""
    expect_tensor(values, "values")
    expect_tensor(b, "b")
    differentiable(solver, operation)
    return _Solve.apply(solver, values, b, operation, options)


class _Solve(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, solver: Solver, values: Any, b: Any, operation: str, options: dict[str, Any]) -> Any:
        solver.run(solver.factors, values.detach())
        x = solver.run(operation, b.detach(), **options)
        ctx.solver, ctx.operation, ctx.options = solver, operation, options
        ctx.save_for_backward(values, x)
        return x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_x: Any) -> Any:
        values, x = ctx.saved_tensors
        solver, row = ctx.solver, ctx.solver.operations[ctx.operation]
        solver.run(solver.factors, values.detach())
        known = {"X": x, "dE/dX": by_x.contiguous()}
        arrays = solver.operations[row["outer"]]["arrays"]
        makes_by_b = any(one["name"] == "dE/dB" and one["access"] == "write" for one in arrays)
        if not makes_by_b or not ctx.needs_input_grad[1]:
            known["dE/dB"] = solver.run(row["adjoint"], known["dE/dX"], **ctx.options)
        if not ctx.needs_input_grad[1]:
            return None, None, known["dE/dB"], None, None
        inputs = [
            torch.zeros_like(values) if one["access"] == "update" else known[one["name"]] for one in arrays if one["access"] != "write"
        ]
        results: Any = solver.run(row["outer"], *inputs)
        made = [one["name"] for one in arrays if one["access"] != "read"]
        known.update(zip(made, results if len(made) > 1 else [results]))
        return None, known["dE/dA"].reshape(values.shape), known["dE/dB"], None, None
