"""Filtered states and forecasts of linear Gaussian state spaces."""

# pyright: reportConstantRedefinition=false, reportPrivateUsage=false
# Matrices have the upper-case letters of the textbooks.

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from .errors import SpecError
from .namespaces import Namespace
from .options import whole
from .series import Given, huge, read
from .state_space import Smoothed, _call, _covariance, _finite, _fitted, _mv, _smoothed, _t

np: Any = numpy


class Filtered(NamedTuple):
    """States given the observations up to their times, with a batch axis in front where an argument had one."""

    mean: Any  #: (N, n)
    variance: Any  #: (N, n), the diagonals of covariance
    covariance: Any  #: (N, n, n)


class Forecast(NamedTuple):
    """Observations after the end of a series, with a batch axis in front where an argument had one."""

    mean: Any  #: (steps, m)
    variance: Any  #: (steps, m), the diagonals of covariance
    covariance: Any  #: (steps, m, m), with the errors of observation


def forecast(
    F: Any,
    H: Any,
    Q: Any,
    R: Any,
    P0: Any,
    ys: Any,
    *,
    steps: int,
    m0: Any = None,
    c: Any = None,
    d: Any = None,
    singular: bool | None = None,
) -> Any:
    """Means and variances of the next steps observations: a Forecast, or a list of them for a list of series.

    Arguments, libraries and errors are those of kalman(); those that differ from time to time must go on to N + steps. It takes as long as
    kalman() does of N + steps times. Where ys is of pandas results are arrays all the same, for times to come have no index yet.
    """
    steps = whole(steps, "steps", 1)
    given = read(F, H, Q, R, P0, ys, m0, c, d)
    space, N = given.space, int(given.ys.shape[-2])
    ends = [N] if given.lengths is None else given.lengths
    results: list[Forecast] = []
    for k, end in enumerate(ends):
        known = given.ys if given.lengths is None else given.ys[k, :end]
        later = space.constant(np.full((*known.shape[:-2], steps, known.shape[-1]), np.nan))
        smoothed = Smoothed(*_call(_smoothed, given._replace(ys=space.xp.concatenate([known, later], -2)), False, singular))
        at = [matrix[..., end:, :, :] if matrix.ndim > 2 and matrix.shape[-3] > 1 else matrix for matrix in (given.H, given.R)]
        H, R = (matrix if matrix.ndim > 2 else matrix[None] for matrix in at)
        mean = _mv(H, smoothed.mean[..., end:, :])
        if given.d is not None:
            mean = mean + (given.d[..., end:, :] if given.d.ndim > 1 and given.d.shape[-2] > 1 else given.d)
        covariance = H @ smoothed.covariance[..., end:, :, :] @ _t(H) + R
        results.append(Forecast(mean, space.diagonal(covariance), covariance))
    return results[0] if given.lengths is None else results


def filtered(
    F: Any,
    H: Any,
    Q: Any,
    R: Any,
    P0: Any,
    ys: Any,
    *,
    m0: Any = None,
    c: Any = None,
    d: Any = None,
    singular: bool | None = None,
) -> Any:
    """States given what is observed up to their times: a Filtered, or a list of them for a list of series.

    Arguments, libraries and errors are those of kalman(), and Q and R may be singular. Times go one by one, some 50 us each with NumPy,
    for a batch not much more; JAX compiles the loop. Before the values determine all states of a diffuse start entries are NaN. That is
    found from the values, so within jit and on a GPU all are NaN then. singular is for these first times.
    """
    given = read(F, H, Q, R, P0, ys, m0, c, d)
    space = given.space
    with space.exact():
        first = _determined(given, singular) if given.is_open else None
        mean, covariance = _filter(space, _fitted(given), first)
    return given.back(Filtered(mean, space.diagonal(covariance), covariance))


def _determined(given: Given, singular: bool | None) -> tuple[int, Any, Any] | None:
    """The first time at which the states of all series are determined, and these."""
    space, N = given.space, int(given.ys.shape[-2])
    if space.known(given.ys == given.ys) is None:
        return None
    for count in range(1, N + 1):
        try:
            smoothed = Smoothed(*_call(_smoothed, _until(given, count), False, singular))
        except SpecError:
            if count == N:
                raise
            continue
        return count - 1, smoothed.mean[..., -1, :], smoothed.covariance[..., -1, :, :]
    raise SpecError("ys has no times; give at least one")


def _until(given: Given, count: int) -> Given:
    """The model of the first times."""
    N, changed = int(given.ys.shape[-2]), {}
    for name, core, times in (("F", 2, N - 1), ("Q", 2, N - 1), ("c", 1, N - 1), ("H", 2, N), ("R", 2, N), ("d", 1, N), ("ys", 1, N)):
        array = getattr(given, name)
        if array is not None and array.ndim > core and array.shape[-core - 1] == times:
            changed[name] = array[(..., slice(0, count - (N - times)), *[slice(None)] * core)]
    return given._replace(**changed)


def _filter(space: Namespace, of: Any, first: tuple[int, Any, Any] | None) -> tuple[Any, Any]:
    """Means and covariances by the textbook's recursion, with the covariance in Joseph's form."""
    xp, n, m, N, front = space.xp, of.n, of.m, of.horizon, of.front
    F, H, c, d = (
        None if array is None else _finite(space, array, name) for array, name in ((of.F, "F"), (of.H, "H"), (of.c, "c"), (of.d, "d"))
    )
    Q, R = _covariance(space, of.Q, "Q"), _covariance(space, of.R, "R")
    one, unit = space.constant(np.eye(n)), space.constant(np.eye(m))
    varying: dict[str, Any] = {"y": xp.moveaxis(of.ys, -2, 0)}
    fixed: dict[str, Any] = {}
    for name, array, core in (("F", F, 2), ("Q", Q, 2), ("H", H, 2), ("R", R, 2), ("c", c, 1), ("d", d, 1)):
        if array is None:
            fixed[name] = space.constant(np.zeros(n if name == "c" else m))
        elif array.shape[-core - 1] == 1:
            fixed[name] = array[(..., 0, *[slice(None)] * core)]
        else:
            array = xp.moveaxis(array, -core - 1, 0)
            varying[name] = array if array.shape[0] == N else xp.concatenate([array, array[-1:]], 0)  # the last step leads nowhere

    def step(ahead: Any, now: dict[str, Any]) -> Any:
        mean, P = ahead
        at = {**fixed, **now}
        seen = ~xp.isnan(at["y"])
        H = xp.where(seen[..., None], at["H"], 0.0)
        R = xp.where(seen[..., None] & seen[..., None, :], at["R"], unit)
        PH = P @ _t(H)
        S = H @ PH + R
        gain = PH / S if m == 1 else _t(xp.linalg.solve(S, _t(PH)))
        mean = mean + _mv(gain, xp.where(seen, at["y"] - at["d"], 0.0) - _mv(H, mean))
        rest = one - gain @ H
        P = rest @ P @ _t(rest) + gain @ R @ _t(gain)
        return (_mv(at["F"], mean) + at["c"], at["F"] @ P @ _t(at["F"]) + at["Q"]), (mean, P)

    if first is None:
        begin = 0
        mean = space.constant(np.zeros(n)) if of.m0 is None else _finite(space, of.m0, "m0")
        P = xp.where(_covariance(space, of.P0, "P0") == huge(space), float("nan"), of.P0)
        ahead = space.spread(mean, (*front, n)), space.spread(P, (*front, n, n))
    else:
        begin, mean, P = first[0] + 1, first[1], first[2]
        steps = {name: array[begin - 1] for name, array in varying.items()}
        at = {**fixed, **steps}
        ahead = _mv(at["F"], mean) + at["c"], at["F"] @ P @ _t(at["F"]) + at["Q"]
    rows = _scan(space, step, ahead, {name: array[begin:] for name, array in varying.items()}, N - begin)
    if first is not None:
        head = [space.constant(np.full((begin - 1, *part.shape), np.nan)) for part in first[1:]]
        rows = [
            xp.concatenate([gap, part[None], *([] if rows is None else [rows[k]])], 0) for k, (gap, part) in enumerate(zip(head, first[1:]))
        ]
    return xp.moveaxis(rows[0], 0, -2), xp.moveaxis(rows[1], 0, -3)


def _scan(space: Namespace, step: Callable[[Any, Any], Any], ahead: Any, inputs: dict[str, Any], count: int) -> Any:
    """Outcomes of all steps, with an axis for times in front; None of none."""
    if space.name == "jax":
        scan: Any = importlib.import_module("jax.lax").scan
        return scan(step, ahead, inputs)[1]
    rows: list[Any] = []
    for t in range(count):
        ahead, row = step(ahead, {name: array[t] for name, array in inputs.items()})
        rows.append(row)
    return [space.xp.stack(part) for part in zip(*rows)] if rows else None
