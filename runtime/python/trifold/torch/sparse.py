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

from .._sparse_values import CurrentValues, for_one_call, matrix_of
from .._torch_derivatives import Solve, System, expect_tensor, follows_nothing
from ..errors import SpecError
from ..options import takes
from ..sparse import ITERATION, MOST_ITERATIONS, Iteration, Solver as _Solver

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
    expect_tensor(b, "b")
    return Solver(A, **for_one_call(options, b, maxiter)).solve(A, b, rtol=rtol, atol=atol, check=check)


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
        at, self.column_of = (torch.as_tensor(array, device=A.device) for array in (plan.starts, plan.columns))
        self.rows, self.row_of = plan.places.rows, torch.arange(len(at) - 1, device=A.device).repeat_interleave(at.diff())

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
        expect_tensor(A, "A")
        expect_tensor(b, "b")
        values = A
        if A.layout != torch.strided:
            values = _values_of(A)
            same = tuple(A.shape) == self.shape and A.crow_indices().equal(self.starts) and A.col_indices().equal(self.columns)
            if not same:
                raise SpecError("A has another pattern than the tensor that the Solver was made of; make another Solver, or store zeros")
        for tensor, name in ((values, "A"), (b, "b")):
            if (tensor.dtype, tensor.device) != (self.dtype, self.device):
                raise SpecError(f"{name} is {tensor.dtype} on {tensor.device}, and the Solver {self.dtype} on {self.device}; convert it")
        return Solve.apply(_System(self, settings), self.current.solver.places.put(values), b, transposed)


def _driver() -> str:
    return "cuda" if torch.version.hip is None else "hip"


def _values_of(A: Any) -> Any:
    expect_tensor(A, "A")
    if A.layout not in (torch.sparse_csr, torch.sparse_bsr):
        raise SpecError(f"A has the layout {str(A.layout).removeprefix('torch.')}; give A.to_sparse_csr(), or A.to_sparse_bsr((3, 3))")
    if A.dim() != 2 or A.values().dim() not in (1, 3):
        raise SpecError(f"A has shape {tuple(A.shape)} and values {tuple(A.values().shape)}; give one matrix")
    return A.values()


class _System(System):
    """A Solver and the settings of a call."""

    def __init__(self, solver: Solver, settings: dict[str, Any]) -> None:
        self.solver, self.settings = solver, settings

    def axes(self, values: Any) -> int:
        return 1

    def solution(self, values: Any, b: Any, transposed: bool) -> Any:
        return torch.as_tensor(self.solver.current.solve(values, b, transposed=transposed, **self.settings))

    def outer(self, values: Any, rows: Any, columns: Any) -> Any:
        solver = self.solver
        if follows_nothing(rows, columns):
            return torch.as_tensor(solver.current.solver.gradient_rows(columns, rows))
        rows, columns = (array.reshape(-1, solver.current.solver.block, array.numel() // solver.shape[0]) for array in (rows, columns))
        return -(rows[solver.row_of] @ columns[solver.column_of].mT).reshape(solver.rows)
