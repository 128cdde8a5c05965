"""Models of time series as state spaces, in the forms that statsmodels has: ARMA, levels, trends and seasons."""

# pyright: reportConstantRedefinition=false, reportPrivateUsage=false
# Matrices have the upper-case letters of the textbooks.

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy

from . import gauss_markov
from .errors import SpecError
from .gauss_markov import _agree, _batches, _block_diagonal, _kron
from .namespaces import Namespace, namespace_of
from .options import whole

np: Any = numpy


class StateSpace(NamedTuple):
    """The first arguments of kalman(). Parameters with a batch axis give all but H one, with an axis of 1 for times."""

    F: Any  #: (n, n)
    H: Any  #: (1, n)
    Q: Any  #: (n, n)
    R: Any  #: (1, 1)
    P0: Any  #: (n, n), of the stationary process, or infinite where there is none: a diffuse start


def ar(coefficients: Any, variance: Any, noise: Any = 0.0) -> StateSpace:
    """The stationary process y(t) = a[0] y(t - 1) + ... + a[p - 1] y(t - p) + e(t), e ~ N(0, variance): arma() without ma."""
    return arma(coefficients, (), variance, noise)


def arma(ar: Any, ma: Any, variance: Any, noise: Any = 0.0) -> StateSpace:
    """The stationary process y(t) = sum ar[k] y(t - 1 - k) + e(t) + sum ma[k] e(t - 1 - k), e ~ N(0, variance).

    ar: (p,), ma: (q,), either may be empty; variance, and noise, that of errors of observation: numbers. Each may have a batch axis.
    There are n = max(p, q + 1) states, of which y is the first; the form is that of Harvey (1989), and P0 solves P = F P F' + Q.

    Arrays of NumPy, or of torch or JAX where an argument is one, with gradients to all arguments. Raises SpecError on shapes that do not
    fit, on variances that are negative or not finite, and on ar that is not stationary; within jit, vmap and torch.compile, and on a GPU,
    only on the first.
    """
    space = namespace_of([ar, ma, variance, noise])
    with space.exact():
        ar, ma = _coefficients(space, ar, "ar"), _coefficients(space, ma, "ma")
        if space.known(_is_stationary(space, ar)) is False:
            raise SpecError("ar is not stationary: a root of 1 - ar[0] z - ar[1] z^2 - ... is not outside the unit circle")
        p, q = int(ar.shape[-1]), int(ma.shape[-1])
        n, one = max(p, q + 1), np.eye(max(p, q + 1))
        F = space.constant(np.diag(np.ones(n - 1), 1)) + (ar @ space.constant(one[:p]))[..., :, None] * space.constant(one[0])
        g = space.constant(one[0]) + ma @ space.constant(one[1 : q + 1])
        return _made(space, F, g[..., :, None] * g[..., None, :], variance, noise)


def _made(space: Namespace, F: Any, Q: Any, variance: Any, noise: Any) -> StateSpace:
    """The stationary process whose first state is observed."""
    n = int(F.shape[-1])
    variance, noise = _variance(space, variance, "variance"), _variance(space, noise, "noise")
    _agree(_batches((F, 2), (Q, 2), (variance, 0), (noise, 0)))
    Q = variance[..., None, None] * Q
    lyapunov = space.constant(np.eye(n * n)) - _kron(F, F)
    P0 = space.xp.linalg.solve(lyapunov, Q.reshape(*Q.shape[:-2], n * n, 1) + 0 * lyapunov[..., :1])
    P0 = P0.reshape(*P0.shape[:-2], n, n)
    H = space.constant(np.eye(1, n))
    return StateSpace(_timed(F), H, _timed(Q), _timed(noise[..., None, None]), 0.5 * (P0 + P0.swapaxes(-1, -2)))


def local_level(level: Any, noise: Any) -> StateSpace:
    """A random walk whose steps have the variance level, observed with errors of variance noise, and a diffuse start."""
    return _diffuse([[1.0]], {0: (level, "level")}, noise)


def local_linear_trend(level: Any, slope: Any, noise: Any) -> StateSpace:
    """A level that moves by a slope, a random walk itself; level and slope are variances of their steps. The rest is local_level()."""
    return _diffuse([[1.0, 1.0], [0.0, 1.0]], {0: (level, "level"), 1: (slope, "slope")}, noise)


def seasonal(period: int, variance: Any, noise: Any = 0.0) -> StateSpace:
    """A pattern whose sum over period times is white noise of that variance, period at least 2. It has period - 1 states.

    A period must be more than one time. For an ARMA process, levels and seasons in one series, take total().
    """
    n = whole(period, "period", 2) - 1
    return _diffuse(np.eye(n, k=-1) - np.eye(n, 1) @ np.ones((1, n)), {0: (variance, "variance")}, noise)


def _diffuse(F: Any, variances: dict[int, tuple[Any, str]], noise: Any) -> StateSpace:
    n = len(F)
    space = namespace_of([noise, *(value for value, _ in variances.values())])
    noise, Q = _variance(space, noise, "noise"), 0.0
    sizes: list[tuple[Any, int]] = []
    for k, (value, name) in variances.items():
        value = _variance(space, value, name)
        Q = Q + value[..., None, None] * space.constant(np.diag(np.eye(n)[k]))
        sizes.append((value, 0))
    _agree(_batches((noise, 0), *sizes))
    start = space.constant(np.where(np.eye(n) > 0, math.inf, 0.0))
    return StateSpace(space.constant(F), space.constant(np.eye(1, n)), _timed(Q), _timed(noise[..., None, None]), start)


def total(*processes: Any) -> Any:
    """The sum of independent processes; its states are those of all, in order.

    processes: either of matern(), oscillating() and total(), at the same times, or of arma(), local_level() and the like. Libraries are
    those of matern().
    """
    if not processes or not all(isinstance(process, StateSpace) for process in processes):
        return gauss_markov.total(*processes)
    space = namespace_of([value for process in processes for value in process])
    parts = [[space.array(value, name) for name, value in zip(StateSpace._fields, process)] for process in processes]
    _agree({size for part in parts for size in _batches((part[0], 3), (part[2], 3), (part[3], 3), (part[4], 2))})
    F, Q = (_block_diagonal(space, [part[k] for part in parts]) for k in (0, 2))
    is_open = [space.xp.isinf(part[4]) for part in parts]
    finite = _block_diagonal(space, [space.xp.where(mark, 0.0, part[4]) for mark, part in zip(is_open, parts)])
    marks = _block_diagonal(space, [space.xp.where(mark, space.constant(1.0), space.constant(0.0)) for mark in is_open])
    P0 = space.xp.where(marks > 0, math.inf, finite)
    return StateSpace(F, space.xp.concatenate([part[1] for part in parts], -1), Q, sum(part[3] for part in parts), P0)


def _is_stationary(space: Namespace, ar: Any) -> Any:
    """Whether all partial autocorrelations are below 1, by the recursion of Levinson and Durbin from the last."""
    last, xp = space.fixed(ar), space.xp
    fits = xp.abs(last[..., :1]) < math.inf
    for k in reversed(range(int(ar.shape[-1]))):
        partial, rest = last[..., k : k + 1], last[..., :k]
        fits = fits & (xp.abs(partial) < 1) if k + 1 < int(ar.shape[-1]) or k == 0 else xp.abs(partial) < 1
        last = (rest + partial * xp.flip(rest, (-1,))) / (1 - partial * partial)
    return fits


def _coefficients(space: Namespace, values: Any, name: str) -> Any:
    values = space.array(np.asarray(values, float) if isinstance(values, (tuple, list)) and not values else values, name)
    values = values[None] if values.ndim == 0 else values
    if values.ndim > 2:
        raise SpecError(f"{name} has shape {tuple(values.shape)}; give (order,) or (batch, order)")
    if space.known(space.xp.isfinite(values)) is False:
        raise SpecError(f"{name} has infinities or NaN")
    return values


def _variance(space: Namespace, value: Any, name: str) -> Any:
    value = space.array(value, name)
    if value.ndim > 1:
        raise SpecError(f"{name} has shape {tuple(value.shape)}; give a number, or (batch,)")
    if space.known((value >= 0) & space.xp.isfinite(value)) is False:
        raise SpecError(f"{name} must be finite and not negative")
    return value


def _timed(matrix: Any) -> Any:
    """A batch of matrices with an axis for times."""
    return matrix if matrix.ndim == 2 else matrix[:, None]
