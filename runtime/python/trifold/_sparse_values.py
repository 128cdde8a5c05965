"""Shared parts of the solutions with gradients of trifold.torch.sparse and trifold.jax.sparse."""

from __future__ import annotations

import threading
from typing import Any

from .sparse import MOST_AT_A_TIME, MOST_ITERATIONS, Solver, scipy


def matrix_of(starts: Any, columns: Any, values: Any, shape: tuple[int, int]) -> Any:
    """Arrays of NumPy as a matrix of SciPy, whose values keep their order."""
    make = scipy.sparse.csr_array if values.ndim == 1 else scipy.sparse.bsr_array
    return make((values, columns, starts), shape=shape)


def for_one_call(options: Any, b: Any, maxiter: int | None) -> Any:
    """Options of a Solver that solves for b alone."""
    rhs = {"rhs": min(max(int(b.shape[1]), 1), MOST_AT_A_TIME)} if b.ndim == 2 else {}
    return {"maxiter": MOST_ITERATIONS if maxiter is None else maxiter, **rhs, **options}


class CurrentValues:
    """A Solver whose values are those of each call, in the order of its plan. Those of the last one are factored once."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self._lock = threading.Lock()

    def __reduce__(self) -> Any:
        return CurrentValues, (self.solver,)

    def solve(self, values: Any, b: Any, *, transposed: bool, **options: Any) -> Any:
        """x of A x = b, or of A' x = b, with these values. Raises SparseFailed."""
        with self._lock:
            if not self.solver.holds(values):
                self.solver.update_rows(values)
            call = self.solver.solve_transposed if transposed else self.solver.solve
            return call(b, **options).x
