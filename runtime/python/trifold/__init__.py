"""Trifold: block tridiagonal systems, symmetric and positive definite, solved fast, again and again.

    x = trifold.solve(D, E, b)
    f = trifold.factor(D, E)
    p = trifold.Plan(block=12, horizon=20, batch=256); s = p.solver()

Images, which couple each pixel with its neighbours, are solved by trifold.grid:

    x = trifold.grid.solve(stencil, b)

Other sparse matrices are solved by trifold.sparse, which needs SciPy:

    x, info = trifold.sparse.solve(A, b)

docs/users/python.md in the repository has the whole story.
"""

from __future__ import annotations

import atexit as _atexit
import importlib.util as _util
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from . import grid, models, operators, signatures as _signatures
from ._core import LocalRanks, Plan, RankSolver, Solver, add_layer as _add_layer, finish_calls as _finish_calls, version as _version
from .arrays import BorderedMarginals, CopiedStatus, Marginals, Refined, Refinement, Status
from .banded import solveh_banded
from .bands import folded
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
    RankError,
    SparseFailed,
    SpecError,
    Unsolvable,
)
from .factor import Factor, factor, marginals, solve
from .info import info
from .matrices import from_banded, from_sparse, matvec, shortened, to_dense
from .ranks import ranks
from .structure import Factorized, Structure, factorized, solve_sparse, structure_of

__version__: str = _version
__all__ = [
    "BorderedMarginals",
    "CacheError",
    "CompileError",
    "CopiedStatus",
    "DeviceError",
    "Error",
    "Factor",
    "Factorized",
    "GridFailed",
    "LaunchError",
    "LocalRanks",
    "Marginals",
    "NearlySingular",
    "NotConverged",
    "NotPositiveDefinite",
    "OutOfRange",
    "Plan",
    "RankError",
    "RankSolver",
    "Refined",
    "Refinement",
    "Solver",
    "SparseFailed",
    "SpecError",
    "Status",
    "Structure",
    "Unsolvable",
    "factor",
    "factorized",
    "folded",
    "from_banded",
    "from_sparse",
    "grid",
    "info",
    "marginals",
    "matvec",
    "models",
    "operators",
    "ranks",
    "shortened",
    "solve",
    "solve_sparse",
    "solveh_banded",
    "structure_of",
    "to_dense",
]


def __dir__() -> list[str]:
    return [*__all__, "sparse", "__version__"]


if _TYPE_CHECKING:
    from . import sparse as sparse


def __getattr__(name: str) -> _Any:
    """trifold.sparse is imported when it is first used: it needs SciPy, and the rest does not."""
    if name == "sparse":
        from importlib import import_module

        return import_module("trifold.sparse")
    raise AttributeError(f"module 'trifold' has no attribute {name!r}")


# An installed trifold-kernels has compiled kernels, which come before the cache.
_kernels = _util.find_spec("trifold_kernels")
for _folder in (_kernels and _kernels.submodule_search_locations) or ():
    _add_layer(_folder)

_signatures.show()
_atexit.register(_finish_calls)
