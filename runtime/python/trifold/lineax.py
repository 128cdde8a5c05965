"""Trifold as a solver of lineax, which must be installed.

    operator = trifold.lineax.BlockTridiagonal(D, E)
    x = lineax.linear_solve(operator, b, trifold.lineax.Solver()).value

D: (N, n, n), E: (N - 1, n, n), b: (N, n), as in trifold.jax.solve; with vmap batches are one launch.
"""

from __future__ import annotations

import importlib
from typing import Any

from . import _jax_primitives as _p, jax as _tj
from .errors import SpecError

_jax: Any = importlib.import_module("jax")
_lx: Any = importlib.import_module("lineax")

__all__ = ["BlockTridiagonal", "Solver"]


class BlockTridiagonal(_lx.AbstractLinearOperator):
    """The symmetric matrix of blocks D on the diagonal, of which the lower triangles count, and E below it. Taken to be positive
    definite."""

    D: Any
    E: Any

    def mv(self, vector: Any) -> Any:
        return _p.times(_p.blocks(self.D[None]), self.E[None], vector[None, ..., None])[0, ..., 0]

    def as_matrix(self) -> Any:
        shape = self.D.shape[:2]
        size = shape[0] * shape[1]
        identity = _jax.numpy.eye(size, dtype=self.D.dtype).reshape(size, *shape)
        return _jax.vmap(self.mv)(identity).reshape(size, size)

    def transpose(self) -> BlockTridiagonal:
        return self

    def in_structure(self) -> Any:
        return _jax.ShapeDtypeStruct(self.D.shape[:2], self.D.dtype)

    def out_structure(self) -> Any:
        return self.in_structure()


class Solver(_lx.AbstractLinearSolver):
    """Solves with a BlockTridiagonal. Its state is the factor, so lineax's derivatives and further solutions factor nothing again."""

    def init(self, operator: Any, options: dict[str, Any]) -> Any:
        if not isinstance(operator, BlockTridiagonal):
            raise SpecError(f"trifold.lineax.Solver got a {type(operator).__name__}; give a trifold.lineax.BlockTridiagonal")
        return _tj.factor(operator.D, operator.E)

    def compute(self, state: Any, vector: Any, options: dict[str, Any]) -> Any:
        return state.solve(vector), _lx.RESULTS.successful, {}

    def transpose(self, state: Any, options: dict[str, Any]) -> Any:
        return state, options

    def conj(self, state: Any, options: dict[str, Any]) -> Any:
        return state, options

    def assume_full_rank(self) -> bool:
        return True


def _always(answer: bool) -> Any:
    def of(operator: Any) -> bool:
        return answer

    return of


def _itself(operator: Any) -> Any:
    return operator


def _diagonal(operator: Any) -> Any:
    return _jax.numpy.diagonal(operator.D, axis1=-2, axis2=-1).reshape(-1)


_no = ("is_diagonal", "is_tridiagonal", "has_unit_diagonal", "is_lower_triangular", "is_upper_triangular", "is_negative_semidefinite")
for _name in ("is_symmetric", "is_positive_semidefinite", *_no):
    getattr(_lx, _name).register(BlockTridiagonal, _always(_name not in _no))
for _name in ("linearise", "materialise", "conj"):
    getattr(_lx, _name).register(BlockTridiagonal, _itself)
_lx.diagonal.register(BlockTridiagonal, _diagonal)
