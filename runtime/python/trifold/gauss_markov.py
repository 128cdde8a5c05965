"""Gaussian processes on a line as state spaces, at any times."""

# pyright: reportConstantRedefinition=false
# Matrices have the upper-case letters of the textbooks.

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy

from .errors import SpecError
from .namespaces import Namespace, namespace_of
from .options import real

np: Any = numpy
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_NEAR = 2.0  #: steps shorter than this, in units of 1 / rate, have Q by an integral, for the difference would cancel


class GaussMarkov(NamedTuple):
    """f(times[t]) = H x(t), in the order of the arguments of kalman(). Hyperparameters with a batch axis give all but H one."""

    F: Any  #: (N - 1, n, n)
    H: Any  #: (1, n)
    Q: Any  #: (N - 1, n, n)
    P0: Any  #: (n, n), of the stationary process


def matern(order: float, length: Any, variance: Any, times: Any) -> GaussMarkov:
    """The Matern process of order 0.5, 1.5 or 2.5, with n = 1, 2 or 3: f and its derivatives.

    length and variance: numbers, or (batch,); times: (N,), or (batch, N), strictly increasing, N at least 1. The covariance of f at a
    distance s is variance * exp(-u) * (1, 1 + u, or 1 + u + u^2 / 3), where u = sqrt(2 * order) * s / length.

    Arrays of NumPy, or of torch or JAX where an argument is one, with gradients to length, variance and times.
    Raises SpecError on another order, on shapes that do not fit, on length or variance that is not positive and finite, and on times
    that do not increase; within jit, vmap and torch.compile, and on a GPU, only on the first two.

    Steps much shorter than the length cost digits, about as many as (length / step) to the power of 2 * order has: order 2.5 with steps of
    less than a thousandth of the length is beyond float64, as kalman() then says.
    """
    order = real(order, "order")
    if order not in (0.5, 1.5, 2.5):
        raise SpecError(f"order is {order}; give 0.5, 1.5 or 2.5")
    space = namespace_of([length, variance, times])
    with space.exact():
        length, variance = _positive(space, length, "length"), _positive(space, variance, "variance")
        steps = _steps(space, times)
        _agree(_batches((steps, 1), (length, 0), (variance, 0)))
        return _matern(space, int(order - 0.5), length, variance, steps)


def _matern(space: Namespace, p: int, length: Any, variance: Any, steps: Any) -> GaussMarkov:
    """Worked out in the time u = rate * t, where d/du x = (N - 1) x + white noise and N is nilpotent, then scaled."""
    n = p + 1
    rate = math.sqrt(2 * p + 1) / length
    companion = np.diag(np.ones(p), 1)
    companion[-1] -= [math.comb(n, k) for k in range(n)]
    nilpotent = companion + np.eye(n)
    density = 2.0 ** (2 * p + 1) * math.factorial(p) ** 2 / math.factorial(2 * p)
    start = [[1.0]], [[1, 0], [0, 1]], [[1, 0, -1 / 3], [0, 1 / 3, 0], [-1 / 3, 0, 1]]

    u = (rate[..., None] * steps)[..., None, None]
    P = space.constant(start[p])
    F = space.xp.exp(-u) * _powers(space, nilpotent, u)
    # The integral of h h', where h is the answer to an impulse. Nothing cancels in a sum of squares.
    short = space.xp.where(u < _NEAR, u, _NEAR)
    v = short * space.constant(0.5 * (_POINTS + 1))
    h = [space.xp.exp(-v) * _polynomial(nilpotent, row, v) for row in range(n)]
    h = space.xp.concatenate(h, -2)
    near = density * ((h * (0.5 * short * space.constant(_WEIGHTS))) @ h.swapaxes(-1, -2))
    Q = space.xp.where(u < _NEAR, near, P - F @ P @ F.swapaxes(-1, -2))

    units = rate[..., None] ** space.constant(range(n))
    both = units[..., :, None] * units[..., None, :]
    ratio = units[..., :, None] / units[..., None, :]
    power = variance[..., None, None]
    H = space.constant(np.eye(1, n))
    Q = (power * both)[..., None, :, :] * Q
    return GaussMarkov(F * ratio[..., None, :, :], H, 0.5 * (Q + Q.swapaxes(-1, -2)), power * both * P)


def _powers(space: Namespace, nilpotent: Any, u: Any) -> Any:
    """exp(nilpotent u)."""
    result, term = space.constant(np.eye(len(nilpotent))), np.eye(len(nilpotent))
    for k in range(1, len(nilpotent)):
        term = term @ nilpotent / k
        result = result + space.constant(term) * u**k
    return result


def _polynomial(nilpotent: Any, row: int, v: Any) -> Any:
    """An entry of the last column of exp(nilpotent v)."""
    result, term = 0.0 * v + float(row == len(nilpotent) - 1), np.eye(len(nilpotent))
    for k in range(1, len(nilpotent)):
        term = term @ nilpotent / k
        result = result + float(term[row, -1]) * v**k
    return result


def oscillating(process: GaussMarkov, period: Any, times: Any) -> GaussMarkov:
    """The process whose covariance is that of another times cos(2 pi s / period); it has twice the states.

    process: at the same times. period: a number, or (batch,). With a long length it is a seasonal pattern that changes slowly.
    Libraries and errors are those of matern().
    """
    space = namespace_of([*_matrices(process), period, times])
    with space.exact():
        period, steps = _positive(space, period, "period"), _steps(space, times)
        F, H, Q, P0 = arrays = _read(space, process)
        if steps.shape[-1] != F.shape[-3]:
            raise SpecError(f"times has {steps.shape[-1] + 1} entries, and the process {F.shape[-3]} steps; give the times of matern()")
        _agree(_batches((steps, 1), (period, 0)) | _batches_of(arrays))
        angle = (2 * math.pi / period)[..., None] * steps
        cos, sin = space.xp.cos(angle)[..., None, None], space.xp.sin(angle)[..., None, None]
        turn = cos * space.constant(np.eye(2)) + sin * space.constant([[0, 1], [-1, 0]])
        one = space.constant(np.eye(2))
        return GaussMarkov(_kron(F, turn), _kron(H, space.constant([[1, 0]])), _kron(Q, one), _kron(P0, one))


def total(*processes: GaussMarkov) -> GaussMarkov:
    """The sum of independent processes at the same times; its states are those of all. Libraries are those of matern()."""
    if not processes:
        raise SpecError("a sum of no processes; give at least one")
    space = namespace_of([value for process in processes for value in _matrices(process)])
    parts = [_read(space, process) for process in processes]
    if len({part[0].shape[-3] for part in parts}) > 1:
        raise SpecError(f"processes of {', '.join(str(part[0].shape[-3]) for part in parts)} steps; make all at the same times")
    if len({part[1].shape[0] for part in parts}) > 1:
        raise SpecError(f"processes with H of {', '.join(str(part[1].shape[0]) for part in parts)} rows; give them as many")
    _agree({batch for part in parts for batch in _batches_of(part)})
    F, Q, P0 = (_block_diagonal(space, [part[k] for part in parts]) for k in (0, 2, 3))
    return GaussMarkov(F, space.xp.concatenate([part[1] for part in parts], -1), Q, P0)


def _block_diagonal(space: Namespace, blocks: list[Any]) -> Any:
    n = sum(block.shape[-1] for block in blocks)
    result, start = 0.0, 0
    for block in blocks:
        place = np.eye(n)[start : start + block.shape[-1]]
        result = result + space.constant(place.T) @ block @ space.constant(place)
        start += block.shape[-1]
    return result


def _kron(a: Any, b: Any) -> Any:
    product = a[..., :, None, :, None] * b[..., None, :, None, :]
    return product.reshape(*product.shape[:-4], product.shape[-4] * product.shape[-3], product.shape[-2] * product.shape[-1])


def _positive(space: Namespace, value: Any, name: str) -> Any:
    value = space.array(value, name)
    if value.ndim > 1:
        raise SpecError(f"{name} has shape {tuple(value.shape)}; give a number, or (batch,)")
    if space.known((value > 0) & space.xp.isfinite(value)) is False:
        raise SpecError(f"{name} must be positive and finite")
    return value


def _matrices(process: Any) -> Any:
    if not issubclass(type(process), (tuple, list)) or len(process) != len(GaussMarkov._fields):
        raise SpecError(f"a process is a {type(process).__name__}; give what matern(), oscillating() or total() returns")
    return process


def _read(space: Namespace, process: Any) -> Any:
    """F, H, Q and P0 in this library, where they fit each other."""
    F, H, Q, P0 = arrays = [space.array(value, f"{name} of a process") for name, value in zip(GaussMarkov._fields, process)]
    n = P0.shape[-1] if P0.ndim else 0
    steps = F.shape[-3:] if F.ndim in (3, 4) else ()
    fits = len(steps) == 3 and tuple(steps[1:]) == (n, n) and Q.ndim in (3, 4) and tuple(Q.shape[-3:]) == tuple(steps)
    if not fits or H.ndim != 2 or H.shape[-1] != n or P0.ndim not in (2, 3) or P0.shape[-2] != n:
        shapes = ", ".join(f"{name} {tuple(array.shape)}" for name, array in zip(GaussMarkov._fields, arrays))
        raise SpecError(f"a process has {shapes}; give F and Q as (N - 1, n, n), H as (1, n) and P0 as (n, n)")
    return arrays


def _steps(space: Namespace, times: Any) -> Any:
    times = space.array(times, "times")
    if times.ndim not in (1, 2) or times.shape[-1] < 1:
        raise SpecError(f"times has shape {tuple(times.shape)}; give (N,) or (batch, N)")
    steps = times[..., 1:] - times[..., :-1]
    if space.known((steps > 0) & space.xp.isfinite(steps)) is False:
        raise SpecError("times must be finite and increase strictly; give values at one time as rows of H and ys, or their mean")
    return steps


def _batches(*arrays: tuple[Any, int]) -> set[int]:
    """Lengths of the axis in front of an array's own ``axes``."""
    return {int(array.shape[0]) for array, axes in arrays if array.ndim > axes}


def _batches_of(process: Any) -> set[int]:
    F, _, Q, P0 = process
    return _batches((F, 3), (Q, 3), (P0, 2))


def _agree(batches: set[int]) -> None:
    if len(batches - {1}) > 1:
        raise SpecError(f"batch axes of {', '.join(map(str, sorted(batches - {1})))}; they must be equal, or 1")
