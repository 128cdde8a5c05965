"""Arguments of state spaces as callers have them: scalars, series of unequal lengths, objects of pandas, starts that are diffuse."""

# pyright: reportConstantRedefinition=false
# Matrices have the upper-case letters of the textbooks.

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import numpy

from .arrays import nan_where_masked
from .errors import SpecError
from .namespaces import Namespace, namespace_of

np: Any = numpy


class Given(NamedTuple):
    """Arguments of kalman() as arrays of one library, with what brings results back into the caller's form."""

    space: Namespace
    F: Any
    H: Any
    Q: Any
    R: Any
    P0: Any
    ys: Any  #: (N, m) or (batch, N, m)
    m0: Any
    c: Any
    d: Any
    is_open: bool | None  #: whether some states have a diffuse start; None where that cannot be looked at
    spread: Any  #: log determinant of what stands for a diffuse start in P0; 0 without one
    lengths: list[int] | None  #: those of a list of series
    indices: list[Any]  #: those of pandas; None for another array

    def back(self, result: Any) -> Any:
        """Results of one call, as a list where ys was one, with the indices of pandas."""
        if self.lengths is None:
            return _indexed(result, self.indices[0])
        return [_indexed(_cut(result, k, length), index) for k, (length, index) in enumerate(zip(self.lengths, self.indices))]


def read(F: Any, H: Any, Q: Any, R: Any, P0: Any, ys: Any, m0: Any, c: Any, d: Any, X: Any = None) -> Given:
    """Raises SpecError on what is no array of real numbers, and on shapes of ys that are none of a series. X: other arrays of the call."""
    rows = _rows(H)
    several = _is_several(ys, rows)
    series = list(ys) if several else [ys]
    indices = [one.index if _is_pandas(one) else None for one in series]
    series = [_values(one) for one in series]
    space = namespace_of([F, H, Q, R, P0, *series, m0, c, d, *(X if issubclass(type(X), (list, tuple)) else [X])])
    series = [space.array(one, "ys") for one in series]
    lengths = [int(one.shape[0]) for one in series] if several else None
    ys = _padded(space, series) if several else series[0]
    if ys.ndim == 1 or (ys.ndim == 2 and rows == 1 and ys.shape[-1] != 1):
        ys = ys[..., None]
    if ys.ndim not in (2, 3) or ys.shape[-1] < 1:
        raise SpecError(
            f"ys has shape {tuple(ys.shape)}; give (N, m) or (batch, N, m), (N,) or (batch, N) for one value a time, or a list of series"
        )
    F, H, Q, R = (_axes(space.array(value, name), 2) for value, name in ((F, "F"), (H, "H"), (Q, "Q"), (R, "R")))
    m0, c, d = (None if value is None else _axes(space.array(value, name), 1) for value, name in ((m0, "m0"), (c, "c"), (d, "d")))
    P0, is_open, spread = start(space, P0, int(F.shape[-1]))
    return Given(space, F, H, Q, R, P0, ys, m0, c, d, is_open, spread, lengths, indices)


def regressors(X: Any, given: Given) -> Any:
    """X of regression() as (N, m, k), with a batch axis where it has one, and zeros behind the ends of a list of series."""
    space, (*batch, horizon, m), several = given.space, given.ys.shape, given.lengths is not None
    if several and (not issubclass(type(X), (list, tuple)) or len(X) != len(given.lengths or ())):
        raise SpecError(f"ys is a list of {batch[0]} series, and X is none of as many; give a list of their regressors")
    parts = [space.array(_values(one), "X") for one in (X if several else [X])]
    for k, (part, length) in enumerate(zip(parts, given.lengths or [horizon])):
        fronts = [()] if several or not batch else [(), tuple(batch)]
        cores = [(length, m), *([(length,)] if m == 1 else [])]
        core = next((core for core in cores for front in fronts if tuple(part.shape[:-1]) == (*front, *core)), None)
        if core is None or part.shape[-1] < 1:
            raise SpecError(f"X has shape {tuple(part.shape)}; give {f'({length}, k)' if m == 1 else f'({length}, {m}, k)'}, as ys has it")
        parts[k] = part if len(core) == 2 else part[..., None, :]
    return _padded(space, parts, 0.0) if several else parts[0]


def huge(space: Namespace) -> float:
    """The variance of a diffuse start: its inverse adds nothing to the other terms, and its square does not overflow."""
    return 2.0**400 if space.epsilon < 1e-10 else 2.0**60


def start(space: Namespace, P0: Any, n: int) -> tuple[Any, bool | None, Any]:
    """P0 with a huge() variance where it is infinite; whether it is; the log determinant of these variances."""
    variance = huge(space)
    if P0 is None:
        return space.constant(variance * np.eye(n)), True, n * math.log(variance)
    P0 = _axes(space.array(P0, "P0"), 2)
    if P0.ndim < 2 or P0.shape[-1] != P0.shape[-2]:
        return P0, False, 0.0  # whoever takes it says what is wrong
    is_open = space.diagonal(P0) == math.inf
    closed = space.known(~is_open)
    if closed:
        return P0, False, 0.0
    xp = space.xp
    either = is_open[..., :, None] | is_open[..., None, :]
    P0 = xp.where(either, space.constant(variance * np.eye(P0.shape[-1])), P0)
    return P0, None if closed is None else True, math.log(variance) * xp.where(is_open, space.constant(1.0), space.constant(0.0)).sum(-1)


def _axes(array: Any, axes: int) -> Any:
    """A scalar as a matrix or a vector."""
    return array.reshape((1,) * axes) if array.ndim == 0 else array


def _rows(H: Any) -> int | None:
    """Values a time that H is for, as far as that can be seen before it is an array."""
    try:
        shape = H.shape if hasattr(H, "shape") else np.shape(H)
    except ValueError:
        return None
    return int(shape[-2]) if len(shape) > 1 else 1 if len(shape) == 0 else None


def _is_several(ys: Any, rows: int | None) -> bool:
    """Whether ys is a list of series, and no list of numbers or of the rows of one series."""
    if not issubclass(type(ys), (list, tuple)) or not ys or not all(hasattr(one, "shape") for one in ys):
        return False
    axes = {len(one.shape) for one in ys}
    return axes == {2} or (axes == {1} and rows == 1 and {tuple(one.shape) for one in ys} != {(1,)})


def _is_pandas(ys: Any) -> bool:
    return hasattr(ys, "index") and hasattr(ys, "to_numpy")


def _values(ys: Any) -> Any:
    if _is_pandas(ys):
        values = ys.to_numpy()
        return values if values.dtype.kind in "fiub" else ys.to_numpy(dtype=float, na_value=np.nan)
    return nan_where_masked(ys)


def _padded(space: Namespace, series: list[Any], beyond: float = math.nan) -> Any:
    """(batch, N, m) of series of up to N times; what is behind the end of one is missing, or zero for regressors."""
    series = [one[:, None] if one.ndim == 1 else one for one in series]
    if len({tuple(one.shape[1:]) for one in series}) > 1:
        shapes, what = ", ".join(str(tuple(one.shape)) for one in series), "ys; give each as (N, m) with the same m"
        raise SpecError(f"series of shapes {shapes} in {what if series[0].ndim == 2 else 'X; give each as (N, k) with the same k'}")
    longest, xp = max(int(one.shape[0]) for one in series), space.xp
    ends = [space.constant(np.full((longest - one.shape[0], *one.shape[1:]), beyond)) for one in series]
    return xp.stack([xp.concatenate([one, end], 0) for one, end in zip(series, ends)])


def _cut(result: Any, k: int, length: int) -> Any:
    """Results of the series k, without what was padded."""
    steps = {"neighbours": length - 1, "log_likelihood": None, "effects": None, "deviations": None, "effects_covariance": None}
    return type(result)(*(part[k][: steps.get(name, length)] if part[k].ndim else part[k] for name, part in zip(result._fields, result)))


def _indexed(result: Any, index: Any) -> Any:
    """Means and variances of one series as objects of pandas, where its values were one."""
    if index is None or result.mean.ndim != 2 or not isinstance(result.mean, np.ndarray):
        return result
    frame = sys.modules["pandas"].DataFrame
    return result._replace(mean=frame(result.mean, index=index), variance=frame(result.variance, index=index))
