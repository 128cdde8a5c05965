"""Functions that bring Plans, Solvers and factors back from a pickle."""

from __future__ import annotations

from typing import Any

from ._core import Plan, Solver
from .errors import SpecError


def plan(arguments: dict[str, Any]) -> Plan:
    """Made again: kernels come from the cache of this machine, or are compiled."""
    return Plan(**arguments)


def solver(made: Plan, value: Any, members: int, batched: bool, layout: str) -> Solver:
    """Over a copy of the value, where there is one. Without it nothing is factored."""
    if value is None:
        return made.solver(members=members, batched=batched)
    if made.layout != layout:
        raise SpecError(f"this factor is of {layout}, and the same Plan is of {made.layout} here; factor the matrix again")
    return made.solver(made.copy_value(value), members=members, batched=batched)
