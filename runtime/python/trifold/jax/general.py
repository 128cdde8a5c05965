"""General matrices in JAX: what trifold.jax.solve() and factor() are where upper is given.

Derivatives of all orders, forward and backward, are solutions with A and A' by the factor of the first.
"""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

import importlib
import math
from typing import Any

from .. import _jax_primitives as _p
from ..batches import fitting_factor, fitting_upper
from ..errors import SpecError
from ..matrices import expect_diagonals

_jax: Any = importlib.import_module("jax")
_jnp: Any = importlib.import_module("jax.numpy")
_CANONICAL = 4  # axes of D: those of a batch of one at least


def solve(D: Any, E: Any, upper: Any, b: Any, ring: bool, accept: bool) -> Any:
    together, matrix, batched = _read(D, E, upper, b, ring)
    right = _columns(matrix[0], batched, together.b)
    x = _p.call(_p.general_factor_solve_p, *matrix, right, inverse=False, accept=accept)[1]
    return together.back(x.reshape(together.b.shape))


def factor(D: Any, E: Any, upper: Any, rhs: int, ring: bool, accept: bool) -> Factor:
    _, matrix, batched = _read(D, E, upper, None, ring)
    (value,) = _p.call(_p.general_factor_p, *matrix, rhs=rhs, inverse=False, accept=accept)
    return Factor(value, matrix, batched)


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, accept: bool) -> Any:
    dl, d, du, b = (_p.read_array(array, name) for array, name in ((dl, "dl"), (d, "d"), (du, "du"), (b, "b")))
    expect_diagonals(dl, d, du, b)
    members, rows, columns = math.prod(d.shape[:-1]), d.shape[-1], b.shape[-1]
    D, E, U = (x.reshape(members, x.shape[-1], 1, 1) for x in (d, dl[..., 1:], du[..., :-1]))
    return solve(D, E, U, b.reshape(members, rows, 1, columns), False, accept).reshape(b.shape)


def _read(D: Any, E: Any, upper: Any, b: Any, ring: bool) -> Any:
    """Arrays with one batch axis or none, (D, E, upper) with one, and whether it was given."""
    given = (None if array is None else _p.read_array(array, name) for array, name in ((D, "D"), (E, "E"), (upper, "upper"), (b, "b")))
    together, above = fitting_upper(*given)
    blocks = together.D
    if blocks.ndim not in (3, _CANONICAL) or blocks.shape[-1] != blocks.shape[-2] or 0 in blocks.shape:
        raise SpecError(f"D has shape {blocks.shape}; give (N, n, n), or (batch, N, n, n)")
    couplings = blocks.shape[-3] - (0 if ring else 1)
    fits = (*blocks.shape[:-3], couplings, *blocks.shape[-2:])
    beside = [_fitting(array, name, fits, blocks) for array, name in ((together.E, "E"), (above, "upper"))]
    batched = blocks.ndim == _CANONICAL
    return together, tuple(array if batched else array[None] for array in (blocks, *beside)), batched


def _fitting(array: Any, name: str, fits: tuple[int, ...], blocks: Any) -> Any:
    if array is None and 0 in fits:
        return _jnp.zeros(fits, blocks.dtype)
    if array is None or array.shape != fits:
        given = "is missing" if array is None else f"has shape {array.shape}"
        raise SpecError(f"{name} {given}; give {fits}, as D has {blocks.shape}")
    if array.dtype != blocks.dtype:
        raise SpecError(f"{name} is {array.dtype} and D {blocks.dtype}; give arrays of one type")
    return array


def _columns(D: Any, batched: bool, b: Any) -> Any:
    _p.expect_columns(b, D.shape[:3] if batched else D.shape[1:3], D.dtype, "D")
    return b.reshape(*D.shape[:3], -1)


class Factor:
    """Result of trifold.jax.factor() with upper: a pytree, which may go into and out of compiled functions."""

    def __init__(self, value: Any, matrix: Any, batched: bool) -> None:
        #: matrix: D, E and upper, with a batch axis
        self.value, self.matrix, self.batched = value, matrix, batched

    def solve(self, b: Any) -> Any:
        """A^-1 b. b: (N, n) or (N, n, m), with the batch axis of D in front where D has one."""
        return self._swept(_p.general_solve_p, b)

    def solve_transposed(self, b: Any) -> Any:
        """A'^-1 b, likewise."""
        return self._swept(_p.general_solve_transposed_p, b)

    def log_determinant(self) -> Any:
        """log |det A| by member, without derivatives: they take blocks of A^-1, which are not there."""
        (result,) = _p.call(_p.general_log_determinant_p, self.value, *self.matrix, inverse=False)
        return result if self.batched else result[0]

    def __repr__(self) -> str:
        D = self.matrix[0]
        return f"<trifold.jax.Factor of a general matrix: block={D.shape[-1]}, horizon={D.shape[-3]}, dtype={D.dtype}>"

    def _swept(self, primitive: Any, b: Any) -> Any:
        D = self.matrix[0]
        if D.ndim != _CANONICAL:
            raise SpecError("this factor was made under vmap, as many members apart: use it there, or factor the batch in one call without")
        batch = D.shape[0] if self.batched else None
        b, back, _ = fitting_factor(tuple(D.shape[1:3]), batch, _p.read_array(b, "b"))
        return back(_p.call(primitive, self.value, *self.matrix, _columns(D, self.batched, b), inverse=False)[0].reshape(b.shape))


def _flatten(f: Factor) -> tuple[Any, Any]:
    return (f.value, f.matrix), f.batched


def _unflatten(batched: bool, children: Any) -> Factor:
    value, matrix = children
    return Factor(value, matrix, batched)


_jax.tree_util.register_pytree_node(Factor, _flatten, _unflatten)
