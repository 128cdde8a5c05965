"""Symmetric matrices with pivots of both signs, against dense eigenvalues and solutions."""

import numpy as np
import pytest
import trifold


def quasi_definite(rng, shape, N, n, regularization=1e-2):
    """[H A'; A -C] in each block, with couplings: positive rows 0 to n // 2, negative ones behind."""
    positive = np.arange(n) < (n + 1) // 2
    signs = np.where(positive, 1.0, -1.0)
    D = rng.normal(size=(*shape, N, n, n))
    D = D @ np.swapaxes(D, -1, -2) / n + 2 * np.eye(n) + regularization * np.eye(n)
    D = np.where(positive[:, None] != positive, rng.normal(size=(*shape, N, n, n)), D * signs[:, None])
    D = np.tril(D) + np.swapaxes(np.tril(D, -1), -1, -2)
    E = 0.4 * rng.normal(size=(*shape, max(N - 1, 0), n, n)) / n
    return D, E


def dense(D, E):
    return trifold.to_dense(D, E)


def counts(A):
    return (np.linalg.eigvalsh(A) < 0).sum(-1)


def backward_error(A, x, b):
    size = np.abs(A).sum(-1).max(-1) * np.abs(x).max(-1) + np.abs(b).max(-1)
    return np.abs((A @ x[..., None])[..., 0] - b).max(-1) / size


@pytest.mark.parametrize("n, N", [(1, 1), (1, 9), (2, 7), (3, 4), (5, 3), (7, 33), (12, 20), (17, 5), (33, 3)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_solves_and_counts(n, N, dtype):
    rng, tolerance = np.random.default_rng(n + N), 1e-13 if dtype == "float64" else 1e-5
    D, E = (part.astype(dtype) for part in quasi_definite(rng, (3,), N, n))
    b = rng.normal(size=(3, N, n)).astype(dtype)
    A = dense(D.astype(float), E.astype(float))
    factor = trifold.factor(D, E if N > 1 else None, matrix="symmetric")
    x = factor.solve(b)
    assert backward_error(A, x.reshape(3, -1).astype(float), b.reshape(3, -1).astype(float)).max() < tolerance
    assert (factor.status.negative == counts(A)).all() and (factor.status.growth > 0).all()
    sign, log = np.linalg.slogdet(A)
    assert np.allclose(factor.log_determinant(), log, rtol=1e3 * tolerance, atol=1e3 * tolerance)
    assert ((-1.0) ** factor.status.negative == sign).all()
    exact = (b.reshape(3, -1) * np.linalg.solve(A, b.reshape(3, -1, 1).astype(float))[..., 0]).sum(-1)
    assert np.allclose(factor.quadratic(b), exact, rtol=1e4 * tolerance, atol=1e4 * tolerance)
    y = factor.forward(b)
    assert np.allclose(factor.backward(y), x, rtol=0, atol=0)
    diagonal, lower = factor.selected_inverse()
    inverse = np.linalg.inv(A).reshape(3, N, n, N, n)
    scale = np.abs(inverse).max()
    for i in range(N):
        assert np.abs(diagonal[:, i] - inverse[:, i, :, i]).max() < 1e3 * tolerance * scale
        assert i + 1 == N or np.abs(lower[:, i] - inverse[:, i + 1, :, i]).max() < 1e3 * tolerance * scale


def test_condition():
    D, E = quasi_definite(np.random.default_rng(8), (3,), 5, 4)
    D[..., 1, 1] = 0  # the diagonal says nothing of the size of a row
    scale = 10.0 ** np.random.default_rng(9).uniform(-8, 8, (3, 5, 4))
    D, E = D * scale[..., :, None] * scale[..., None, :], E * scale[:, 1:, :, None] * scale[:, :-1, None, :]
    found = trifold.factor(D, E, matrix="symmetric").reciprocal_condition(D, E)
    A = dense(D, E)
    root = np.sqrt(np.abs(A).max(-1))
    A = A / root[:, :, None] / root[:, None, :]
    exact = 1 / (np.abs(A).sum(1).max(1) * np.abs(np.linalg.inv(A)).sum(1).max(1))
    assert (found >= 0.99 * exact).all() and (found <= 5 * exact).all()


def test_positive_definite_solutions_are_those_of_cholesky():
    rng = np.random.default_rng(3)
    D = np.tile(4 * np.eye(3), (6, 1, 1))
    E = 0.3 * rng.normal(size=(5, 3, 3))
    b = rng.normal(size=(6, 3))
    assert np.allclose(trifold.solve(D, E, b, matrix="symmetric"), trifold.solve(D, E, b), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("shape", ["ring", "lengths", "sizes", "bandwidth"])
def test_shapes(shape):
    rng = np.random.default_rng(5)
    N, n = 6, 3
    D, E = quasi_definite(rng, (2,), N, n)
    b = rng.normal(size=(2, N, n))
    if shape == "ring":
        E = 0.2 * rng.normal(size=(2, N, n, n)) / n
        x = trifold.solve(D, E, b, ring=True, matrix="symmetric")
        A = trifold.to_dense(D, E, ring=True)
    elif shape == "bandwidth":
        E = 0.1 * rng.normal(size=(2, N, 2, n, n)) / n
        x = trifold.solve(D, E, b, bandwidth=2, matrix="symmetric")
        A = dense(D, E[:, : N - 1, 0]).reshape(2, N, n, N, n)
        for i in range(N - 2):
            A[:, i + 2, :, i], A[:, i, :, i + 2] = E[:, i, 1], np.swapaxes(E[:, i, 1], 1, 2)
        A = A.reshape(2, N * n, N * n)
    else:
        numbers = np.array([4, 6]) if shape == "lengths" else np.array([[3, 2, 3, 0, 1, 3], [1, 1, 2, 3, 3, 2]])
        options = {shape: numbers}
        x = trifold.solve(D, E, b, **options, matrix="symmetric")
        D, E, b = trifold.shortened(D, E, b, *(() if shape == "sizes" else (numbers,)), **({"sizes": numbers} if shape == "sizes" else {}))
        A = dense(D, E)
    assert backward_error(A, x.reshape(2, -1), b.reshape(2, -1)).max() < 1e-14


@pytest.mark.parametrize("batch", [1, 9])
@pytest.mark.parametrize("shape", ["sizes", "lengths"])
def test_growth_is_that_of_the_rows_that_are_there(batch, shape):
    D = np.tile(1e-30 * np.array([[1e-20, 0], [1, 0]]), (batch, 3, 1, 1))  # far below the ones of the identity
    D[:, 1:] = 1e-30 * np.eye(2)
    options = {"sizes": [2, 2, 1]} if shape == "sizes" else {"lengths": np.full(batch, 2)}
    status = trifold.factor(D, np.zeros((batch, 2, 2, 2)), matrix="symmetric", check=False, **options).status
    assert status.nearly_singular.all() and np.allclose(status.growth, 1e20)


def test_what_fails_says_why():
    D, E, b = np.tile(np.array([[0.0, 1], [1, 0]]), (2, 1, 1)), np.zeros((1, 2, 2)), np.ones((2, 2))
    with pytest.raises(trifold.NotPositiveDefinite, match="a pivot that is zero.*block 0, row 0.*quasi-definite"):
        trifold.solve(D, E, b, matrix="symmetric")
    D[:, 0, 0] = 1e-20  # the elimination would grow by 1e20
    with pytest.raises(trifold.NearlySingular, match="growth 1.0e[+]20"):
        trifold.solve(D, E, b, matrix="symmetric")
    with pytest.raises(trifold.SpecError, match='matrix is "indefinite"; give positive-definite, symmetric or general'):
        trifold.solve(D, E, b, matrix="indefinite")
    with pytest.raises(trifold.SpecError, match="pivot_floor"):
        trifold.solve(D, E, b, matrix="symmetric", pivot_floor=1e-8)
    with pytest.raises(trifold.SpecError, match="border"):
        trifold.solve(D, E, (b, np.ones(1)), matrix="symmetric", border=(np.ones((2, 1, 2)), np.ones((1, 1))))
    D[:, 0, 0] = 1
    with pytest.raises(trifold.SpecError, match="Gaussian"):
        trifold.factor(D, E, matrix="symmetric").sample(0)


def fuzzed(rng, kind, count, N, n):
    """Symmetric chains that are no good news: random, with zeros on the diagonal, singular, made to grow, permuted identities."""
    D, E = rng.normal(size=(count, N, n, n)), rng.normal(size=(count, N - 1, n, n))
    D = D + np.swapaxes(D, -1, -2)
    if kind == "zeros":
        D[..., np.arange(n), np.arange(n)] *= rng.integers(0, 2, (count, N, n))
    elif kind == "integers":
        D, E = np.round(D), np.round(E)
    elif kind == "singular":  # row and column r are twice row and column 0 of their block
        block = rng.integers(0, N, count)
        for m, i in enumerate(block):
            T = np.eye(n)
            T[-1] = 2 * T[0] if n > 1 else 0
            D[m, i] = T @ D[m, i] @ T.T
            if i > 0:
                E[m, i - 1] = T @ E[m, i - 1]
            if i + 1 < N:
                E[m, i] = E[m, i] @ T.T
    elif kind == "grows":
        D[..., np.arange(n), np.arange(n)] *= 10.0 ** rng.uniform(-12, 0, (count, N, n))
    elif kind == "permuted":
        D, E = np.zeros_like(D), np.zeros_like(E)
        for m in range(count):
            order = rng.permutation(n)
            D[m] = np.eye(n)[order] + np.eye(n)[order].T
    elif kind == "quasi-definite":
        D, E = quasi_definite(rng, (count,), N, n, regularization=10.0 ** rng.uniform(-10, -2))
    return D, E


@pytest.mark.parametrize("kind", ["random", "zeros", "integers", "singular", "grows", "permuted", "quasi-definite"])
def test_fuzzed_matrices_are_right_or_refused(kind):
    rng = np.random.default_rng(len(kind))
    good = total = 0
    for trial in range(15):
        N, n, count = int(rng.integers(1, 6)), int(rng.integers(1, 7)), 100
        D, E = fuzzed(rng, kind, count, N, n)
        A = dense(D, E)
        scale = 10.0 ** rng.uniform(-30, 30, (count, N, n)) if trial % 3 == 0 else np.ones((count, N, n))
        D, E = D * scale[..., :, None] * scale[..., None, :], E * scale[:, 1:, :, None] * scale[:, :-1, None, :]
        scaled, b = dense(D, E), rng.normal(size=(count, N, n)) * scale
        factor = trifold.factor(D, E if N > 1 else None, matrix="symmetric", check=False)
        x = factor.solve(b)
        status = factor.status
        ok = (status.block < 0) & ~status.nearly_singular & status.solution
        with np.errstate(all="ignore"):
            residual = b.reshape(count, -1) - (scaled @ x.reshape(count, -1, 1))[..., 0]
            x = x + factor.solve(np.where(ok[:, None], residual, 0).reshape(x.shape))
            error = backward_error(scaled, x.reshape(count, -1), b.reshape(count, -1))
        eigenvalues = np.linalg.eigvalsh(A)
        clear = np.abs(eigenvalues).min(-1) > 1e-11 * np.abs(eigenvalues).max(-1)  # else eigenvalues are rounding, and have no sign
        assert (error[ok] < 1e-12).all(), (kind, trial, error[ok].max())
        assert (status.negative == (eigenvalues < 0).sum(-1))[ok & clear].all(), (kind, trial)
        good, total = good + ok.sum(), total + count
    assert kind in ("singular", "permuted") or good > total // 4, (good, total)
    assert kind != "quasi-definite" or good == total
