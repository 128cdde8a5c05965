"""Every family by the names in its tables: what other languages call too, and how a family of your own is reached.

    s = trifold.families.Solver("grid", width=129, height=65)
    x = s.factor_solve(stencil, b)
    s.outcomes()

tables() lists families, their fields, operations and arrays. A call takes the arrays that its operation reads, in the order of the table,
and returns those that it writes; or writes into out. Arrays are those of NumPy, torch or CuPy on the solver's device, of any shape with
the right number of elements. trifold.torch.families has derivatives.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

from ._core import AnySolver
from .errors import SpecError
from .options import tables

__all__ = ["Solver", "tables"]


def __dir__() -> list[str]:
    return __all__


class Solver:
    """Calls of a problem of a family, one at a time.

    problem: fields of the family's Spec; of a sparse system also mesh, or starts and columns. device: "cpu", "cuda:0", "hip:0" or "auto".
    tuning: fields of the family's tuning. Each operation is a method. Raises SpecError with what is wrong, DeviceError, CompileError.
    """

    def __init__(self, family: str, *, device: Any = "cpu", tuning: dict[str, Any] | None = None, **problem: Any) -> None:
        self.family, self.device, self.tuning, self.problem = family, device, tuning or {}, problem
        self.core = AnySolver(family, json.dumps(problem), device, json.dumps(self.tuning))
        self.operations: dict[str, Any] = {row["name"]: row for row in tables()[family]["operations"]}

    def __reduce__(self) -> Any:
        return _again, (self.family, self.device, self.tuning, self.problem)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.operations]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__") or name not in self.__dict__.get("operations", ()):
            raise AttributeError(f"a Solver of this family has no {name!r}")
        return functools.partial(self.run, name)

    @property
    def factors(self) -> str:
        """The operation that takes values of A, and nothing else."""
        return next((name for name, row in self.operations.items() if row["factors"] and len(row["arrays"]) == 1), "")

    def size_of(self, operation: str, k: int) -> int:
        """Elements of an operation's array, for one column and all members."""
        return self.core.size_of(operation, k)

    @property
    def spec(self) -> dict[str, Any]:
        """All fields of the problem."""
        return json.loads(self.core.spec)

    def run(self, operation: str, *arrays: Any, out: Any = None, **options: Any) -> Any:
        """A call. arrays: those that the operation reads or updates. out: those that it writes. options: fields of a call."""
        if operation not in self.operations:
            raise SpecError(f"operation = {operation!r} is not known; give {', '.join(self.operations)}")
        rows = self.operations[operation]["arrays"]
        given = sum(row["access"] != "write" for row in rows)
        if len(arrays) != given:
            names = [row["name"] for row in rows if row["access"] != "write"]
            raise SpecError(f"{operation} reads {given} arrays, {', '.join(names)}; {len(arrays)} are given")
        results: Any = iter(out if isinstance(out, tuple) else (out,))  # pyright: ignore[reportUnknownArgumentType]
        inputs = iter(arrays)
        all_of_them = [next(results, None) if row["access"] == "write" else next(inputs) for row in rows]
        return self.core.run(operation, all_of_them, json.dumps(options))

    def outcomes(self) -> list[dict[str, Any]]:
        """Outcomes of all members of the last calls, by the columns of the table. Waits."""
        return json.loads(self.core.outcomes())

    def check(self) -> None:
        """Waits, and raises what the family raises where a member failed."""
        self.core.check()


def differentiable(solver: Solver, operation: str) -> None:
    """Raises SpecError unless the operation has an adjoint, and an outer product for the gradient by the values."""
    row = solver.operations.get(operation, {})
    if not (row.get("adjoint") and row.get("outer")):
        able = [name for name, one in solver.operations.items() if one["adjoint"] and one["outer"]]
        raise SpecError(f"operation = {operation!r} has no derivatives in this family; give {' or '.join(able)}")


def _again(family: str, device: Any, tuning: Any, problem: dict[str, Any]) -> Solver:
    return Solver(family, device=device, tuning=tuning, **problem)
