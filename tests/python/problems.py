"""Problems with known answers: NumPy's dense solver is the oracle."""

from __future__ import annotations

import numpy as np


def make(n, horizon, batch=None, dtype=np.float64, seed=0):
    """D and E of a well-conditioned system, or of a batch of them."""
    random = np.random.default_rng(seed + 1000 * n + horizon)
    front = () if batch is None else (batch,)
    factor = random.standard_normal((*front, horizon, n, n))
    E = random.standard_normal((*front, horizon - 1, n, n)) / 2
    D = factor @ factor.swapaxes(-1, -2) + 2 * n * np.eye(n)
    return D.astype(dtype), E.astype(dtype)


def rhs(n, horizon, batch=None, columns=None, dtype=np.float64, seed=7):
    front = () if batch is None else (batch,)
    back = () if columns is None else (columns,)
    return np.random.default_rng(seed).standard_normal((*front, horizon, n, *back)).astype(dtype)


def singular(batch=None, dtype=np.float64):
    """D and E of rank 2 for three unknowns, but for the rounding of their entries."""
    front = () if batch is None else (batch,)
    D, E = np.array([0.5, 0.8, 0.3], dtype), np.array([-0.5, -0.3], dtype)
    return np.tile(D.reshape(3, 1, 1), (*front, 1, 1, 1)), np.tile(E.reshape(2, 1, 1), (*front, 1, 1, 1))


def reciprocal_condition(D, E):
    """In the 1-norm, of one A scaled to a diagonal of ones."""
    A = dense(D, E)
    root = np.sqrt(np.diag(A))
    return 1 / np.linalg.cond(A / root / root[:, None], 1)


def dense(D, E):
    """A as one matrix, or one for each member, in float64."""
    if D.ndim == 4:
        return np.stack([dense(d, e) for d, e in zip(D, E)])
    horizon, n, _ = D.shape
    A = np.zeros((horizon, n, horizon, n))
    for i in range(horizon):
        lower = np.tril(D[i].astype(np.float64))
        A[i, :, i, :] = lower + np.tril(lower, -1).T
        if i + 1 < horizon:
            A[i + 1, :, i, :] = E[i]
            A[i, :, i + 1, :] = E[i].T
    return A.reshape(horizon * n, horizon * n)


def solution(D, E, b):
    A = dense(D, E)
    size = A.shape[-1]
    flat = b.astype(np.float64).reshape(*A.shape[:-2], size, -1)
    return np.linalg.solve(A, flat).reshape(b.shape)


def blocks_of_inverse(D, E):
    """Blocks (i, i) and (i + 1, i) of the inverse of one A."""
    horizon, n, _ = D.shape
    inverse = np.linalg.inv(dense(D, E)).reshape(horizon, n, horizon, n)
    diagonal = np.stack([inverse[i, :, i, :] for i in range(horizon)])
    lower = [inverse[i + 1, :, i, :] for i in range(horizon - 1)]
    return diagonal, np.stack(lower) if lower else np.zeros((0, n, n))


def moments(D, E, b):
    """What marginals() computes, by dense algebra in float64."""
    if D.ndim == 4:
        return [np.stack(part) for part in zip(*(moments(*one) for one in zip(D, E, b)))]
    x = solution(D, E, b)
    quadratic = np.sum((b * x).reshape(-1, *b.shape[2:]), 0)
    return [x, np.linalg.slogdet(dense(D, E))[1], quadratic, *blocks_of_inverse(D, E)]


def slopes(D, E, b, weights, triangle="both"):
    """Gradients by D, E and b of the sum of products of moments(D, E, b) with weights; that by D is symmetric, or of lower triangles."""
    if D.ndim == 4:
        return [np.stack(part) for part in zip(*(slopes(*one[:3], one[3:], triangle) for one in zip(D, E, b, *weights)))]
    horizon, n, _ = D.shape
    of_x, of_log, of_quadratic, of_diagonal, of_lower = weights
    inverse = np.linalg.inv(dense(D, E))
    x = inverse @ b.astype(np.float64).reshape(horizon * n, -1)
    scaled, w = x * np.reshape(of_quadratic, -1), inverse @ np.reshape(of_x, x.shape)
    of_inverse = np.zeros((horizon, n, horizon, n))
    for i in range(horizon):
        of_inverse[i, :, i] = of_diagonal[i]
        of_inverse[i + 1 : i + 2, :, i] = of_lower[i : i + 1]
    of_A = of_log * inverse - (w + scaled) @ x.T - inverse @ of_inverse.reshape(inverse.shape) @ inverse
    of_A = (of_A + of_A.T).reshape(horizon, n, horizon, n)
    of_D = np.stack([of_A[i, :, i] / 2 for i in range(horizon)])
    of_E = np.array([of_A[i + 1, :, i] for i in range(horizon - 1)]).reshape(E.shape)
    if triangle == "lower":
        of_D = np.tril(2 * of_D) - of_D * np.eye(n)
    return [of_D, of_E, (w + 2 * scaled).reshape(b.shape)]


def weights_of(results, seed=5):
    random = np.random.default_rng(seed)
    return [random.standard_normal(np.shape(result)) for result in results]


def rows(D, E):
    """A's rows of blocks [A(i, i - 1), A(i, i), A(i, i + 1)]: (N, n, 3 n), with the batch axis of D."""
    none = np.zeros_like(D[..., :1, :, :])
    before = np.concatenate([none, E], -3)
    after = np.concatenate([E.swapaxes(-1, -2), none], -3)
    return np.concatenate([before, np.tril(D) + np.tril(D, -1).swapaxes(-1, -2), after], -1)
