"""Chains with a border: A = [T F'; F C], where T is the chain of D and E.

Right-hand sides and solutions are a pair, that of the chain and its tip, or one array with the tip behind the chain.
"""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy

from .arrays import Likelihood, adapt, is_jax, library_of
from .errors import SpecError

np: Any = numpy
PIVOT_EPSILONS = 64  #: the least sound pivot, as nearly_singular_bound in solver.hpp


def is_pair(given: Any) -> bool:
    return isinstance(given, (tuple, list)) and len(given) == 2  # pyright: ignore[reportUnknownArgumentType]


def rows_of(border: Any) -> int:
    """The rows of a border (F, C)."""
    if not is_pair(border):
        raise SpecError("border is no pair of arrays; give (F, C), of (N, a, n) and (a, a), with the batch axis of D")
    shape = tuple(getattr(border[1], "shape", None) or np.shape(border[1]))
    if len(shape) < 2 or shape[-1] < 1:
        raise SpecError(f"C of border has shape {shape}; give (a, a), with the batch axis of D")
    return int(shape[-1])


def split(b: Any, inner: tuple[int, int], border: int, batched: bool) -> tuple[tuple[Any, Any], Callable[[Any], Any]]:
    """b as a pair, and what makes a pair of results what b was. inner: (N, n)."""
    if is_pair(b) and hasattr(b[0], "ndim"):
        return (b[0], b[1]), tuple
    array: Any = b if hasattr(b, "ndim") else adapt(b, "b")
    axis, last = int(batched), inner[0] * inner[1]
    if array.ndim not in (axis + 1, axis + 2) or array.shape[axis] != last + border:
        whole = f"({'batch, ' if batched else ''}{last + border})"
        raise SpecError(f"b has shape {tuple(array.shape)}; give {whole}, with an axis for its columns behind, or a pair of chain and tip")
    front, columns = tuple(array.shape[:axis]), tuple(array.shape[axis + 1 :])  # results may have other columns
    at = (slice(None),) * axis
    chain, tip = array[(*at, slice(None, last))], array[(*at, slice(last, None))]

    def joined(pair: Any) -> Any:
        library = _library(pair[0])
        return library.concatenate((pair[0].reshape((*front, last, *pair[0].shape[axis + 2 :])), pair[1]), axis)

    return (chain.reshape((*front, *inner, *columns)), tip), joined


def least_pivot(library: Any, L: Any, C: Any) -> Any:
    """The least pivot of the Cholesky factor L of S, over the diagonal of C that it began with, by member."""
    return (library.diagonal(L, 0, -2, -1) ** 2 / library.diagonal(C, 0, -2, -1)).min(-1)


def _library(array: Any) -> Any:
    if is_jax(array):
        return sys.modules["jax"].numpy
    return sys.modules[name] if (name := library_of(type(array))) in ("torch", "cupy") else np


def by_parts(library: Any, factor: Any, border: Any, b: Any, is_sound: Callable[[Any, Any], Any]) -> Likelihood:
    """Solution, log det A and b' A^-1 b by a Factor of T that has derivatives: what is left of A is S = C - F T^-1 F'.

    is_sound(S, C) says it by member. Results of the others are NaN, as those of a factor are.
    """
    F, C = border
    batched = F.ndim == 4
    pair, joined = split(b, (F.shape[-3], F.shape[-1]), rows_of(border), batched)
    has_columns = pair[1].ndim == int(batched) + 2
    chain, tip = pair if has_columns else (part[..., None] for part in pair)
    m = tip.shape[-1]
    solved = factor.solve(library.concatenate((chain, F.swapaxes(-1, -2)), -1))
    x, Y = solved[..., :m], solved[..., m:]

    def times(z: Any) -> Any:
        return (F @ z).sum(-3)

    S, t = C - times(Y), tip - times(x)
    S = library.tril(S) + library.tril(S, -1).swapaxes(-1, -2)
    S = library.where(is_sound(S, C)[..., None, None], S, float("nan"))
    x_tip = library.linalg.solve(S, t)
    x = x - Y @ x_tip[..., None, :, :]
    log_determinant = factor.log_determinant() + library.linalg.slogdet(S)[1]
    quadratic = (chain * x).sum((-3, -2)) + (tip * x_tip).sum(-2)
    if not has_columns:
        x, x_tip, quadratic = x[..., 0], x_tip[..., 0], quadratic[..., 0]
    return Likelihood(joined((x, x_tip)), log_determinant, quadratic)
