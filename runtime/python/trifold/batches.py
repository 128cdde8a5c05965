"""Batch axes that some arrays of a call have and others do without, in the library of the arrays."""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from .arrays import adapt, is_jax, library_of
from .errors import SpecError
from .options import flag

np: Any = numpy
_BATCHED = 4  # axes of D with a batch


class Together(NamedTuple):
    """Arrays as a solver takes them, and what makes a solution the shape that was asked for."""

    D: Any
    E: Any
    b: Any
    back: Callable[[Any], Any]  #: brings x back
    back_columns: Callable[[Any], Any]  #: brings results back of which each right-hand side has one


def itself(result: Any) -> Any:
    return result


def library(array: Any) -> Any:
    if is_jax(array):
        return sys.modules["jax"].numpy
    return sys.modules[name] if (name := library_of(type(array))) in ("torch", "cupy") else np


def expect_ring(D: Any, E: Any, ring: bool | None) -> None:
    """Requires of shapes of D and E that E has as many blocks as D where there is a ring, and there alone. None: either will do."""
    if ring is None or (E[-3:-2] == D[-3:-2]) == flag(ring, "ring"):  # within torch.jit.trace sizes are tensors, and slices are not
        return
    below = (*D[:-3], D[-3] if ring else D[-3] - 1, *D[-2:])
    also = "" if ring else "; E of a ring has as many blocks as D, and ring=True says so"
    raise SpecError(f"E has shape {tuple(E)}; give {tuple(below)}, as D has {tuple(D)}{also}")


def fitting(D: Any, E: Any, b: Any = None) -> Together:
    """D and E with a batch axis where one of them or of b has one; one A with a batch of b keeps its one factorization.

    Arrays that fit as they are, and those that fit in no way, are left to whoever takes them, who says what is wrong.
    """
    try:
        fits = _agree(D, E, b)
    except AttributeError:  # lists, or what has no shape
        D, E, b = (None if array is None else adapt(array, name) for array, name in ((D, "D"), (E, "E"), (b, "b")))
        fits = D is None or _agree(D, E, b)
    matrices = [array for array in (D, E) if array is not None]
    if fits or not all(array.ndim in (_BATCHED - 1, _BATCHED) for array in matrices):
        return Together(D, E, b, itself, itself)
    inner = (int(matrices[0].shape[-3]), int(matrices[0].shape[-2]))
    sizes = [int(array.shape[0]) for array in matrices if array.ndim == _BATCHED]
    if not sizes:
        return Together(D, E, *_as_columns(inner, b))
    members = None if b is None else _members(inner, b)
    size = _common(sizes if members is None else [*sizes, members])
    D, E = (None if array is None else _repeated(array, size, array.ndim < _BATCHED) for array in (D, E))
    return Together(D, E, b if b is None else _repeated(b, size, members is None), itself, itself)


def fitting_upper(D: Any, E: Any, upper: Any, b: Any = None) -> tuple[Together, Any]:
    """fitting() of a general matrix, and its blocks above the diagonal, with the batch axis of the others."""
    D, E, *_ = fitting(D, E)
    D, upper, *_ = fitting(D, upper)
    together = fitting(D, E, b)
    return together, fitting(together.D, upper).E


def fitting_factor(inner: tuple[int, int], batch: int | None, b: Any) -> tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]:
    """b for a factor of blocks (N, n), and the functions of Together. batch: how many members it has; None: it has no batch axis."""
    b = b if hasattr(b, "ndim") else adapt(b, "b")
    if batch is None:
        return _as_columns(inner, b)
    if b.ndim in (3, 4) and tuple(b.shape[:3]) == (batch, *inner):
        return b, itself, itself
    members = _members(inner, b)
    return (_repeated(b, batch, members is None) if members in (None, 1) else b), itself, itself


def _agree(D: Any, E: Any, b: Any) -> bool:
    """Whether nothing is to be done: by shapes alone, for every call asks."""
    if E is not None and (E.ndim != D.ndim or (D.ndim == _BATCHED and E.shape[0] != D.shape[0])):
        return False
    if b is None:
        return True
    axes = D.ndim - 1
    return b.ndim in (axes, axes + 1) and b.shape[:axes] == D.shape[:axes]


def _members(inner: tuple[int, int], b: Any) -> int | None:
    """The length of b's batch axis. It has none where it is (N, n), or (N, n, m)."""
    alone = b.ndim == len(inner) or (b.ndim == len(inner) + 1 and tuple(b.shape[:2]) == inner)
    return None if alone else int(b.shape[0])


def _common(sizes: list[int]) -> int:
    longer = set(sizes) - {1}
    if len(longer) > 1:
        raise SpecError(f"batch axes of {', '.join(map(str, sorted(longer)))}; they must be equal, or 1")
    return longer.pop() if longer else 1


def _repeated(array: Any, size: int, alone: bool) -> Any:
    array = array[None] if alone else array
    return array if array.shape[0] == size else library(array).broadcast_to(array, (size, *array.shape[1:]))


def _as_columns(inner: tuple[int, int], b: Any) -> tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]:
    """A batch of b, of one A: more right-hand sides, behind those that it has."""
    if b is None or b.ndim not in (3, 4) or _members(inner, b) is None or tuple(b.shape[1:3]) != inner:
        return b, itself, itself
    moved = library(b).moveaxis(b, 0, -1)
    columns = tuple(moved.shape[2:])

    def back(x: Any) -> Any:
        return library(x).moveaxis(x.reshape((*inner, *columns)), -1, 0)

    def back_columns(result: Any) -> Any:
        return library(result).moveaxis(result.reshape(columns), -1, 0)

    return moved.reshape((*inner, -1)), back, back_columns
