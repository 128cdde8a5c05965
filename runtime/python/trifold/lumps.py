"""Steps of a state space, or several taken together until their noise reaches all states where that of one step does not.

A companion form has noise in one direction of n, and n steps of it are one of the state space F^n, whose noise has a regular covariance.
States within follow from those at both ends, and from noise that leads nowhere in k steps. Nothing is lost, and there are fewer blocks.
"""

# pyright: reportConstantRedefinition=false
# Matrices have the upper-case letters of the textbooks.

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy

from .series import Given

np: Any = numpy


class Lumps(NamedTuple):
    """k steps as one. A block holds X, the state at the beginning, and u, standard normal numbers that stand for noise within."""

    k: int
    F: Any  #: F^k
    Q: Any  #: covariance of the noise of k steps
    T: Any  #: (k + 1, n, entries of X and u + n): the states at these times, of X, u and the next X


def one_step(given: Given) -> Lumps | None:
    """Steps as they are. None where matrices are not the same for all times and series, or there are several values a time."""
    F, Q, n = given.F, given.Q, int(given.P0.shape[-1])
    if given.space.name != "numpy" or given.space.epsilon > 1e-10 or given.c is not None or 0 in given.ys.shape:
        return None
    if F.shape != (n, n) or Q.shape != (n, n) or given.H.shape != (1, n) or given.R.shape[-2:] != (1, 1) or given.ys.shape[-1] != 1:
        return None
    return Lumps(1, F, Q, np.eye(2 * n).reshape(2, n, 2 * n))


def lumps_of(given: Given) -> Lumps | None:
    """One step where Q is regular; None also where noise never reaches all states, and where Q is no covariance."""
    steps = one_step(given)
    if steps is None or not (np.isfinite(given.F).all() and np.isfinite(given.Q).all()):
        return None
    F, Q, n = given.F, given.Q, len(given.F)
    G = _column(Q)
    if G is None:
        reached, step = Q, Q
        for _ in range(n - 1):
            step = F @ step @ F.T
            reached = reached + step
        scale = np.sqrt(np.where(reached.diagonal() > 0, reached.diagonal(), 1.0))
        sizes, directions = np.linalg.eigh(Q / np.outer(scale, scale))
        if sizes[0] < -1e-9 or not sizes[-1] > 0:
            return None
        if sizes[0] > 1e-6:
            return steps
        G = scale[:, None] * directions[:, sizes > 1e-15] * np.sqrt(sizes[sizes > 1e-15])
    elif n == 1:
        return steps
    rows, powers = [G], [np.eye(n), F]
    for k in range(2, n + 1):
        rows, powers = [F @ rows[0], *rows], [*powers, F @ powers[-1]]
        C = np.concatenate(rows, 1)
        units = np.sqrt((C * C).sum(1))
        if C.shape[1] < n or not (units > 0).all():
            continue
        left, singular, right = np.linalg.svd(C / units[:, None])
        if singular[-1] > 1e-3 * singular[0]:
            return _lumps(k, powers, rows, C, (right[:n].T / singular) @ (left.T / units), right[n:].T)
    return None


def _column(Q: Any) -> Any:
    """The column G for which G G' is Q, if there is one."""
    diagonal = Q.diagonal()
    largest = int(diagonal.argmax())
    if not diagonal[largest] > 0 or diagonal.min() < 0:
        return None
    G = Q[:, largest : largest + 1] / np.sqrt(diagonal[largest])
    root = np.sqrt(diagonal)
    return G if (np.abs(Q - G @ G.T) <= 1e-15 * root * root[:, None]).all() else None


def _lumps(k: int, powers: list[Any], rows: list[Any], C: Any, inverse: Any, free: Any) -> Lumps:
    """inverse: from the state at the end to the least noise that leads there; free: noise that leads nowhere in k steps."""
    n, r = rows[0].shape
    T = np.zeros((k + 1, n, n + free.shape[1] + n))
    T[0, :, :n], T[k, :, -n:] = np.eye(n), np.eye(n)
    for i in range(1, k):
        S = np.zeros((n, r * k))
        S[:, : r * i] = C[:, r * (k - i) :]
        T[i, :, -n:] = to_end = S @ inverse
        T[i, :, :n], T[i, :, n:-n] = powers[i] - to_end @ powers[k], S @ free
    return Lumps(k, powers[k], C @ C.T, T)


class Lumped:
    """A _Model of NumPy's arrays with one value a time and the same matrices for all: few calls, each for all times.

    pair: C++'s system of two states without values. It has all blocks that there are, and what goes into it is checked.
    """

    def __init__(self, given: Any, lumps: Lumps, pair: Any) -> None:
        self.space, self.front, self.is_open, self.horizon = given.space, given.front, given.is_open, given.horizon
        self.lumps, self.pair, self.n = lumps, pair, int(lumps.F.shape[0])
        self.q = int(lumps.T.shape[-1]) - self.n  # entries of a block
        self.R, self.P0, self.m0 = given.R[..., 0, :, :], given.P0, given.m0
        self.rows = (given.H[0] @ lumps.T[:-1])[:, 0]
        y = (given.ys if given.d is None else given.ys - given.d)[..., 0]
        J = -(-self.horizon // lumps.k)
        y = np.concatenate([y, np.full((*y.shape[:-1], J * lumps.k - self.horizon), np.nan)], -1).reshape(*y.shape[:-1], J, lumps.k)
        seen = ~np.isnan(y)
        self.y, self.seen = np.where(seen, y, 0.0), seen
        if int(seen.sum()) == math.prod(given.ys.shape):
            self.seen = seen[(0,) * (seen.ndim - 2)]  # the same for all series
        self.seen = self.seen.astype(float)
        self.root = np.linalg.cholesky(pair.made.D[..., 1, :, :])

    def system(self) -> tuple[Any, Any, Any]:
        """Blocks are rows of q * q entries on the way, which NumPy adds faster than matrices of a few."""
        n, q, J = self.n, self.q, self.y.shape[-2]
        made, R, F = self.pair.made, self.R, self.lumps.F
        start, end = made.D[..., 0, :, :], made.D[..., 1, :, :]
        first, last, step = np.zeros((3, *start.shape[:-2], q, q))
        first[..., :n, :n], last[..., :n, :n], step[..., :n, :n] = start, end, made.E[..., 0, :, :]
        first[..., n:, n:] = last[..., n:, n:] = np.eye(q - n)
        between = last.copy()
        between[..., :n, :n] += F.T @ end @ F
        front = np.broadcast_shapes(first.shape[:-2], self.seen.shape[:-2], R.shape[:-2])
        D, E = np.empty((*front, J + 1, q * q)), np.empty((*front, J, q * q))
        first, last, step, between = (part.reshape(*part.shape[:-2], 1, q * q) for part in (first, last, step, between))
        D[...], E[...] = between, step
        D[..., :1, :], D[..., -1:, :] = first, last
        b = np.zeros((*self.front, J + 1, q))
        pull, ends = self.y / R, (self.rows[:, :q], np.concatenate([self.rows[:, q:], np.zeros((len(self.rows), q - n))], 1))
        b[..., 0, :n] += made.b[..., 0, :]
        places = [(D[..., :-1, :], 0, 0), (D[..., 1:, :], 1, 1), (E, 1, 0)]
        for to, i, j in places if self.lumps.k > 1 else places[:1]:  # else a value has part in one state alone
            to += self.seen @ ((ends[i][:, :, None] * ends[j][:, None, :]).reshape(-1, q * q) / R)
        b[..., :-1, :] += pull @ ends[0]
        if self.lumps.k > 1:
            b[..., 1:, :] += pull @ ends[1]
        return D.reshape(*front, J + 1, q, q), E.reshape(*front, J, q, q), b

    def least(self, z: Any) -> Any:
        X, u = z[..., : self.n], z[..., self.n :]
        ahead = X[..., :-1, :] @ self.lumps.F.T
        step, rest, R = (X[..., 1:, :] - ahead) @ self.root, self._rest(z), self.R[..., 0, 0]
        squares = np.einsum("...ti,...ti->...", step, step) + np.einsum("...ti,...ti->...", rest, rest) / R
        squares = squares + np.einsum("...ti,...ti->...", u, u) + np.log(2 * math.pi * R) * self.seen.sum((-1, -2))
        logarithms = -2 * (self.y.shape[-2] - 1) * np.log(self.root.diagonal(0, -2, -1)).sum(-1)
        return (self.pair.least(np.stack([X[..., 0, :], ahead[..., 0, :]], -2)) + squares + logarithms)[()]

    def refined(self, z: Any, f: Any) -> Any:
        """A step of iterative refinement: what is left comes from residuals of the model, which know more digits than D, E and b do."""
        n, F = self.n, self.lumps.F
        if self.lumps.k == 1:
            return z
        X = z[..., :n]
        step = (X[..., 1:, :] - X[..., :-1, :] @ F.T) @ self.root @ self.root.swapaxes(-1, -2)
        left, pull = np.zeros_like(z), (self._rest(z) / self.R) @ self.rows
        left[..., n:] = -z[..., n:]
        left[..., :-1, :] += pull[..., : self.q]
        left[..., 1:, :n] += pull[..., self.q :] - step
        left[..., :-1, :n] += step @ F
        start = X[..., 0, :] if self.m0 is None else X[..., 0, :] - self.m0
        left[..., 0, :n] -= (np.linalg.inv(self.P0) @ start[..., None])[..., 0]
        return z + f.solve(left)

    def spread(self, *blocks: Any) -> Any:
        """Blocks of one inverse that all series share, for each."""
        return (self.space.spread(part, (*self.front, *part.shape[-3:])) for part in blocks)

    def _rest(self, z: Any) -> Any:
        """Values less what the states say of them."""
        q, rows = self.q, self.rows.T
        rest = self.y - z[..., :-1, :] @ rows[:q]
        return (rest if self.lumps.k == 1 else rest - z[..., 1:, : self.n] @ rows[q:]) * self.seen


def of_times(lumps: Lumps, horizon: int, z: Any, D: Any, E: Any) -> tuple[Any, Any, Any]:
    """States of all times, their covariances and those of neighbours, from blocks of the solution and of the inverse."""
    if lumps.k == 1:
        return z[..., :-1, :], D[..., :-1, :, :], E[..., :-1, :, :]
    n, q, T = len(lumps.F), E.shape[-1], lumps.T
    x = np.concatenate([z[..., :-1, :], z[..., 1:, :n]], -1) @ T[:-1].reshape(-1, q + n).T
    S = np.empty((*E.shape[:-2], q + n, q + n))
    S[..., :q, :q], S[..., q:, q:], S[..., q:, :q] = D[..., :-1, :, :], D[..., 1:, :n, :n], E[..., :n, :]
    S[..., :q, q:] = E[..., :n, :].swapaxes(-1, -2)
    product = S @ T.reshape(-1, q + n).T  # (..., J, q + n, (k + 1) n)
    both: list[list[Any]] = [[], []]
    for i in range(len(T) - 1):
        at = product[..., i * n : (i + 1) * n].swapaxes(-1, -2)
        for k, parts in enumerate(both):
            parts.append((at @ T[i + k].T).swapaxes(-1, -2))
    covariance, neighbours = (np.stack(parts, -3).reshape(*E.shape[:-3], -1, n, n) for parts in both)
    x = x.reshape(*x.shape[:-2], -1, n)[..., :horizon, :].copy()
    return x, covariance[..., :horizon, :, :].copy(), neighbours[..., : horizon - 1, :, :].copy()
