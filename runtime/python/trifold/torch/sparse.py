"""Sparse systems in PyTorch, with gradients: trifold.torch.sparse. Needs SciPy.

    x = trifold.torch.sparse.solve(A, b)
    s = trifold.torch.sparse.Solver(A); x = s.solve(A, b)

A: a tensor of layout sparse_csr, or sparse_bsr with blocks of 1 to 8; float32 or float64. b and x: (n,), or (n, m) for m right-hand sides.
Options and errors are those of trifold.sparse. With w = A'^-1 g, where g is the gradient of x, that of b is w, and that of the value of A
at (i, j) is -w[i] x[j], summed over right-hand sides. w takes one iteration with the transposed preconditioner. It ends at the same
tolerance, so gradients are about as accurate as x is. Derivatives of any order exist, in reverse mode.
"""

from __future__ import annotations

import importlib
from typing import Any, Unpack

from .._core import torch_way
from .._sparse_values import CurrentValues, matrix_of
from .._torch_derivatives import PLAIN
from ..errors import SpecError
from ..options import takes
from ..sparse import ITERATION, MOST_AT_A_TIME, MOST_ITERATIONS, Iteration, Solver as _Solver

__all__ = ["Solver", "solve"]

torch: Any = importlib.import_module("torch")


@takes(ITERATION)
def solve(
    A: Any,
    b: Any,
    *,
    rtol: float | None = None,
    atol: float = 0.0,
    maxiter: int | None = None,
    check: bool = True,
    **options: Unpack[Iteration],
) -> Any:
    """A^-1 b, with gradients to the values of A and to b. The plan of A's pattern is made for this call alone: Solver keeps it."""
    _expect(b, "b")
    if "rhs" not in options and b.dim() == 2:
        options["rhs"] = min(max(b.shape[1], 1), MOST_AT_A_TIME)
    made = Solver(A, maxiter=MOST_ITERATIONS if maxiter is None else maxiter, **options)
    return made.solve(A, b, rtol=rtol, atol=atol, check=check)


class Solver:
    """The plan of a pattern, for values that change from call to call.

    Options and errors are those of trifold.sparse.Solver; device is that of A.
    """

    @takes(ITERATION)
    def __init__(self, A: Any, *, maxiter: int = MOST_ITERATIONS, **options: Unpack[Iteration]) -> None:
        values = _values_of(A)
        if options.get("block") is not None:
            raise SpecError("block is that of A; give a tensor of layout sparse_bsr, as A.to_sparse_bsr((3, 3)) makes it")
        self.starts, self.columns = A.crow_indices().detach(), A.col_indices().detach()
        starts, columns, data = [tensor.detach().cpu().numpy() for tensor in (self.starts, self.columns, values)]
        given: dict[str, Any] = {"device": str(A.device) if A.device.type != "cuda" else f"{_driver()}:{A.device.index}", **options}
        matrix = matrix_of(starts, columns, data, tuple(A.shape))
        if not matrix.has_canonical_format:  # torch's own gradients take that for granted
            raise SpecError("the columns of a row of A do not ascend, or repeat; put them in order, each once, as torch expects them")
        self.current = CurrentValues(_Solver(matrix, maxiter=maxiter, **given))
        self.shape, self.dtype, self.device = tuple(A.shape), A.dtype, A.device
        plan = self.current.solver
        at, to = (torch.as_tensor(array, device=A.device) for array in (plan.starts, plan.columns))
        self.rows, self.row_of, self.column_of = (
            plan.places.rows,
            torch.arange(len(at) - 1, device=A.device).repeat_interleave(at.diff()),
            to,
        )

    def solve(self, A: Any, b: Any, *, rtol: float | None = None, atol: float = 0.0, maxiter: int | None = None, check: bool = True) -> Any:
        """A^-1 b. A: a tensor of the pattern, or its values alone, as A.values() has them. check: raise SparseFailed unless all right-hand
        sides have converged; else x is the last that was reached."""
        return self._solve(A, b, False, {"rtol": rtol, "atol": atol, "maxiter": maxiter, "check": check})

    def solve_transposed(
        self, A: Any, b: Any, *, rtol: float | None = None, atol: float = 0.0, maxiter: int | None = None, check: bool = True
    ) -> Any:
        """A'^-1 b, likewise."""
        return self._solve(A, b, True, {"rtol": rtol, "atol": atol, "maxiter": maxiter, "check": check})

    def _solve(self, A: Any, b: Any, transposed: bool, settings: dict[str, Any]) -> Any:
        _expect(A, "A")
        _expect(b, "b")
        values = A
        if A.layout != torch.strided:
            values = _values_of(A)
            same = tuple(A.shape) == self.shape and A.crow_indices().equal(self.starts) and A.col_indices().equal(self.columns)
            if not same:
                raise SpecError("A has another pattern than the tensor that the Solver was made of; make another Solver, or store zeros")
        for tensor, name in ((values, "A"), (b, "b")):
            if (tensor.dtype, tensor.device) != (self.dtype, self.device):
                raise SpecError(f"{name} is {tensor.dtype} on {tensor.device}, and the Solver {self.dtype} on {self.device}; convert it")
        return _Solve.apply(self, self.current.solver.places.put(values), b, transposed, settings)

    def of_values(self, rows: Any, columns: Any) -> Any:
        """-rows[i] columns[j] where the plan has a value at (i, j), summed over right-hand sides."""
        if not torch.is_grad_enabled() and torch_way(rows, columns) == PLAIN:
            return torch.as_tensor(self.current.solver.gradient_rows(columns, rows))
        block = self.current.solver.block
        rows, columns = rows.reshape(self.shape[0] // block, block, -1), columns.reshape(self.shape[0] // block, block, -1)
        return -(rows[self.row_of] @ columns[self.column_of].mT).reshape(self.rows)


def _driver() -> str:
    return "cuda" if torch.version.hip is None else "hip"


def _expect(tensor: Any, name: str) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise SpecError(f"{name} is a {type(tensor).__name__}; give a tensor")


def _values_of(A: Any) -> Any:
    _expect(A, "A")
    if A.layout not in (torch.sparse_csr, torch.sparse_bsr):
        raise SpecError(f"A has the layout {str(A.layout).removeprefix('torch.')}; give A.to_sparse_csr(), or A.to_sparse_bsr((3, 3))")
    if A.dim() != 2 or A.values().dim() not in (1, 3):
        raise SpecError(f"A has shape {tuple(A.shape)} and values {tuple(A.values().shape)}; give one matrix")
    return A.values()


class _Solve(torch.autograd.Function):
    """A^-1 b or A'^-1 b, by the values of A. The backward pass of one is the other."""

    @staticmethod
    def forward(solver: Solver, values: Any, b: Any, transposed: bool, settings: dict[str, Any]) -> Any:
        return torch.as_tensor(solver.current.solve(values.detach(), b.detach(), transposed=transposed, **settings))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.solver, values, _, ctx.transposed, ctx.settings = inputs
        ctx.save_for_backward(values, output)

    @staticmethod
    def backward(ctx: Any, by_x: Any) -> Any:
        values, x = ctx.saved_tensors
        by_b = _Solve.apply(ctx.solver, values, by_x, not ctx.transposed, ctx.settings)
        if not ctx.needs_input_grad[1]:
            return None, None, by_b, None, None
        rows, columns = (x, by_b) if ctx.transposed else (by_b, x)
        return None, ctx.solver.of_values(rows, columns), by_b, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, solver: Solver, values: Any, b: Any, transposed: bool, settings: dict[str, Any]) -> Any:
        """Mapped right-hand sides are more of them; mapped values are solved with one after the other."""
        of_values, of_b = in_dims[1:3]
        if of_values is None:
            b = b.movedim(of_b, -1)
            return _Solve.apply(solver, values, b.flatten(1), transposed, settings).reshape(b.shape), b.dim() - 1
        pairs = ((values.select(of_values, k), b if of_b is None else b.select(of_b, k)) for k in range(info.batch_size))
        return torch.stack([_Solve.apply(solver, *pair, transposed, settings) for pair in pairs]), 0
