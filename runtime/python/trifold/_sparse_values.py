"""What the solutions with gradients of trifold.torch.sparse and trifold.jax.sparse share."""

from __future__ import annotations

import threading
from typing import Any

import numpy

from .arrays import library_of
from .errors import SpecError
from .sparse import Solver, scipy

np: Any = numpy


def matrix_of(starts: Any, columns: Any, values: Any, shape: tuple[int, int]) -> Any:
    """Arrays of NumPy as a matrix of SciPy, whose values keep their order. Raises SpecError where columns do not ascend."""
    if values.ndim == 1:
        matrix = scipy.sparse.csr_array((values, columns, starts), shape=shape)
    else:
        matrix = scipy.sparse.bsr_array((values, columns, starts), shape=shape)
    if not matrix.has_canonical_format:
        raise SpecError("the columns of a row of A do not ascend, or repeat; put them in order, each once, so that values have a place")
    return matrix


class CurrentValues:
    """A Solver whose values are those of each call. Those of the last one are factored once."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self._lock = threading.Lock()
        self._values: Any = None

    def solve(self, values: Any, b: Any, *, transposed: bool, **options: Any) -> Any:
        """x of A x = b, or of A' x = b, with these values. Raises SparseFailed."""
        with self._lock:
            self._take(values)
            call = self.solver.solve_transposed if transposed else self.solver.solve
            return call(b, **options).x

    def _take(self, values: Any) -> None:
        is_torch = library_of(type(values)) == "torch"
        if self._values is not None and (values.equal(self._values) if is_torch else np.array_equal(values, self._values)):
            return
        self._values = None  # where the update fails
        self.solver.update(values)
        self._values = values.clone() if is_torch else values.copy()
