"""Trifold: block tridiagonal systems, symmetric and positive definite, solved fast, again and again.

    x = trifold.solve(D, E, b)
    f = trifold.factor(D, E)
    p = trifold.Plan(block=12, horizon=20, batch=256); s = p.solver()

Images, which couple each pixel with its neighbours, are solved by trifold.grid:

    x = trifold.grid.solve(stencil, b)

docs/users/python.md in the repository has the whole story.
"""

from __future__ import annotations

import atexit as _atexit

from . import grid, models, operators, signatures as _signatures
from ._core import Plan, Solver, finish_calls as _finish_calls, version as _version
from .arrays import Marginals, Refinement, Status
from .errors import (
    CacheError,
    CompileError,
    DeviceError,
    Error,
    GridFailed,
    LaunchError,
    NearlySingular,
    NotConverged,
    NotPositiveDefinite,
    OutOfRange,
    SpecError,
    Unsolvable,
)
from .factor import Factor, factor, marginals, solve
from .info import info
from .matrices import from_banded, from_sparse, matvec, to_dense
from .structure import Factorized, Structure, factorized, solve_sparse, structure_of

__version__: str = _version
__all__ = [
    "CacheError",
    "CompileError",
    "DeviceError",
    "Error",
    "Factor",
    "Factorized",
    "GridFailed",
    "LaunchError",
    "Marginals",
    "NearlySingular",
    "NotConverged",
    "NotPositiveDefinite",
    "OutOfRange",
    "Plan",
    "Refinement",
    "Solver",
    "SpecError",
    "Status",
    "Structure",
    "Unsolvable",
    "factor",
    "factorized",
    "from_banded",
    "from_sparse",
    "grid",
    "info",
    "marginals",
    "matvec",
    "models",
    "operators",
    "solve",
    "solve_sparse",
    "structure_of",
    "to_dense",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


_signatures.show()
_atexit.register(_finish_calls)
