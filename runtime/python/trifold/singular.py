"""Limits of results where covariances are singular, by extrapolation from a little noise to none (Richardson)."""

# pyright: reportConstantRedefinition=false
# Matrices have the upper-case letters of the textbooks.

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from .errors import SpecError
from .namespaces import Namespace
from .series import Given

np: Any = numpy
Function = Callable[[Given], tuple[Any, ...]]
_AMOUNTS = 0.5 ** np.arange(3)  #: noise of each system, relative to the first
_FIRST = (1e-4, 1e-5, 1e-6)  #: amounts to begin with, in units of what the states vary by
_ENOUGH = 1e-7
_SMALL_BATCH = 10000  #: values of series for which calls cost more than that factors are not shared
_SMALL, _NEGATIVE = 1e-6, 1e-9  #: eigenvalues of covariances in these units that are nearly 0, and below it


def _weights(amounts: Any) -> Any:
    """Weights of values at these amounts in the polynomial through them, at 0."""
    return np.array([np.prod([b / (b - a) for b in amounts if b != a]) for a in amounts])


_WEIGHTS = _weights(_AMOUNTS)
_CHANGE = _WEIGHTS - np.concatenate([[0.0], _weights(_AMOUNTS[1:])])  #: weights of the change by the last order


def limit(function: Function, given: Given, of_steps: bool) -> tuple[list[Any], float | None]:
    """function(given) as covariances go to those that are given, and about how far it is off; None where that cannot be looked at.

    Results are analytic in the noise that is added, as long as values that are observed are not determined by others. The difference of
    the last two orders is an estimate that is too large, by about the ratio of the noise to where the series ends to converge.
    of_steps: whether Q has part in it. Shapes must fit.
    """
    noise, least = _noise(given, of_steps), math.inf
    best: list[Any] = []
    if not noise:
        return list(function(given)), 0.0
    if given.P0.shape[-1] == 1 and list(noise) == ["R"] and given.space.epsilon < 1e-10:
        return list(function(_with(given, noise, 1e-14))), 0.0  # a state is all that a value says: no digits are lost
    for first in _FIRST if given.space.epsilon < 1e-10 else (1e-2,):
        try:
            result, off = _extrapolated(function, given, noise, first)
        except SpecError:
            if not best:
                raise
            break
        if off is None:
            return result, None
        if off < least:
            best, least = result, off
        if off < _ENOUGH:
            break
    return best, 8 * least  # differences see a part of the rounding


def _extrapolated(function: Function, given: Given, noise: dict[str, Any], first: float) -> tuple[list[Any], float | None]:
    space, count, batched = given.space, len(_AMOUNTS), _batched(given)
    members = max((int(array.shape[0]) for array in batched.values()), default=1)
    if members > 1 and math.prod(given.ys.shape) > _SMALL_BATCH:
        results = [function(_with(given, noise, first * amount)) for amount in _AMOUNTS]
        parts = [None if part[0] is None else space.xp.stack(part) for part in zip(*results)]
    else:  # all amounts in one batch
        amounts = space.constant(np.repeat(first * _AMOUNTS, members))[:, None, None, None]
        given = given._replace(**{name: _repeated(space, array, count) for name, array in batched.items()})
        noise = {name: _repeated(space, extra, count) if extra.ndim > 2 else extra for name, extra in noise.items()}
        parts = list(function(_with(given, noise, amounts)))
        if batched:
            parts = [None if part is None else part.reshape(count, members, *part.shape[1:]) for part in parts]
    found = [None if part is None else _weighted(space, _WEIGHTS, part) for part in parts]
    off = 0.0
    for part, value in list(zip(parts, found))[::2][:2]:  # the likelihood, or the mean and the likelihood
        size, change = (space.xp.abs(x).max() for x in (space.fixed(value), _weighted(space, _CHANGE, space.fixed(part))))
        if space.known(change == change) is None:
            return found, None
        off = max(off, float(change) / float(size)) if float(size) else off
    return found, off


def _repeated(space: Namespace, array: Any, count: int) -> Any:
    return array if array.shape[0] == 1 else space.xp.concatenate([array] * count, 0)


def _weighted(space: Namespace, weights: Any, part: Any) -> Any:
    return (space.constant(weights) @ part.reshape(len(weights), -1)).reshape(tuple(part.shape[1:]))


def _batched(given: Given) -> dict[str, Any]:
    """Arguments that have a batch axis."""
    axes = {"F": 3, "H": 3, "Q": 3, "R": 3, "P0": 2, "ys": 2, "m0": 1, "c": 2, "d": 2, "spread": 0}
    arrays = {name: getattr(given, name) for name in axes}
    return {name: array for name, array in arrays.items() if getattr(array, "ndim", 0) > axes[name]}


def _with(given: Given, noise: dict[str, Any], amount: Any) -> Given:
    """Covariances with that amount of noise. An amount with axes is one for each of a batch."""
    changed: dict[str, Any] = {}
    for name, extra in noise.items():
        matrix = getattr(given, name)
        if name == "P0":
            changed[name] = matrix + (amount if isinstance(amount, float) else amount[..., 0]) * extra
        else:
            changed[name] = (matrix[None] if matrix.ndim == 2 else matrix) + amount * extra[..., None, :, :]
    return given._replace(**changed)


def _noise(given: Given, of_steps: bool) -> dict[str, Any]:
    """Noise for those of Q, R and P0 that are singular, or may be, in units of what comes to each state and value by Q within n steps.

    A state to which nothing comes gets little, for it may be summed up over all times.
    """
    space, xp, n = given.space, given.space.xp, int(given.P0.shape[-1])
    F, H, Q, R = (_one(getattr(given, name)) for name in ("F", "H", "Q", "R"))
    step, reached = Q, Q
    for _ in range(n - 1):
        step = F @ step @ F.swapaxes(-1, -2)
        reached = reached + step
    start = space.diagonal(given.P0)
    states, values = space.diagonal(reached) / n, space.diagonal(H @ reached @ H.swapaxes(-1, -2) / n + R)
    values = xp.where(values > 0, values, space.constant(1.0))
    if not of_steps and space.known(start > 0):
        units = {"R": values}  # the start is nearly always regular; else it is refused, and this is called again
    else:
        most = xp.amax(states, -1)[..., None]
        most = xp.where(most > 0, most, space.constant(1.0))
        states = xp.where(states > 0, states, most / given.ys.shape[-2] ** 2)
        units = {"Q": states, "R": values, "P0": xp.where(start > 0, start, states)}
    noise: dict[str, Any] = {}
    for name, unit in units.items():
        matrix, root = getattr(given, name), xp.sqrt(unit)
        root = root[..., None, :] if name != "P0" and matrix.ndim > 2 else root
        unit_matrix = matrix / (root[..., :, None] * root[..., None, :])
        least = unit_matrix[..., 0] if matrix.shape[-1] == 1 else xp.linalg.eigvalsh(unit_matrix)[..., 0]
        if space.known(least > -_NEGATIVE) is False:
            raise SpecError(f"{name} has a negative eigenvalue; give a covariance")
        if space.known(least > _SMALL) is not True and (of_steps or name != "Q"):
            noise[name] = space.constant(np.eye(unit.shape[-1])) * space.fixed(unit)[..., None, :]
    return noise


def _one(matrix: Any) -> Any:
    """The mean over times."""
    return matrix.mean(-3) if matrix.ndim > 2 else matrix
