"""trifold.jax.solve_rows on TurboMPC's array of rows of blocks, against dense algebra."""

import numpy as np
import pytest
import trifold
from problems import dense, make, rhs, rows

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy
tj = pytest.importorskip("trifold.jax")


def whole(S):
    """The dense matrix, of all entries of S that count."""
    horizon, n, _ = S.shape
    A = jnp.zeros((horizon * n, (horizon + 2) * n), S.dtype)
    for i in range(horizon):
        A = A.at[i * n : (i + 1) * n, i * n : (i + 3) * n].set(S[i])
    return A[:, n:-n]


def by_dense(S, b):
    return jnp.linalg.solve(whole(S), b.reshape(b.shape[0] * b.shape[1], -1)).reshape(b.shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [None, 3])
@pytest.mark.parametrize(("n", "horizon"), [(3, 7), (12, 20), (5, 1), (1, 9)])
def test_solutions(n, horizon, columns, dtype):
    D, E = make(n, horizon, None, dtype)
    b = rhs(n, horizon, None, columns, dtype)
    S = rows(D, E)
    np.testing.assert_array_equal(np.asarray(whole(S)), dense(D, E).astype(dtype))
    x = tj.solve_rows(S, b)
    assert x.dtype == dtype and x.shape == b.shape
    near = dict(rtol=1e-10, atol=1e-12) if dtype == np.float64 else dict(rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(x, by_dense(S.astype(np.float64), b.astype(np.float64)), **near)
    np.testing.assert_allclose(jax.jit(tj.solve_rows)(S, b), x, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients(dtype):
    """Gradients of a matrix of which every entry counts, forward and backward."""
    D, E = make(3, 6, None, dtype)
    S, b = rows(D, E), rhs(3, 6, None, None, dtype)

    def total(solve):
        return lambda S, b: (solve(S, b) ** 3).sum()

    near = dict(rtol=1e-9, atol=1e-11) if dtype == np.float64 else dict(rtol=5e-3, atol=1e-4)
    mine, theirs = (jax.grad(total(solve), (0, 1))(S, b) for solve in (tj.solve_rows, by_dense))
    for one, other in zip(mine, theirs):
        np.testing.assert_allclose(one, other, **near)
    change = rhs(3, 6, None, None, dtype)
    mine, theirs = (jax.jvp(lambda b: solve(S, b), (b,), (change,))[1] for solve in (tj.solve_rows, by_dense))
    np.testing.assert_allclose(mine, theirs, **near)
    curvature = jax.grad(lambda s: jax.grad(lambda s: total(tj.solve_rows)(s * S, b))(s))(1.0)
    expected = jax.grad(lambda s: jax.grad(lambda s: total(by_dense)(s * S, b))(s))(1.0)
    np.testing.assert_allclose(curvature, expected, rtol=1e-9 if dtype == np.float64 else 1e-2)


@pytest.mark.parametrize("mapped", [(0, 0), (None, 0), (0, None)])
def test_batches(mapped):
    D, E = make(3, 6, 4)
    S, b = rows(D, E), rhs(3, 6, 4)
    given = [array if axis == 0 else array[0] for array, axis in zip((S, b), mapped)]
    expected = jax.vmap(by_dense, mapped)(*given)
    np.testing.assert_allclose(jax.vmap(tj.solve_rows, mapped)(*given), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(tj.solve_rows(S, b), jax.vmap(by_dense)(S, b), rtol=1e-10, atol=1e-12)
    slope = jax.vmap(jax.grad(lambda S, b: (tj.solve_rows(S, b) ** 3).sum()))(S, b)
    np.testing.assert_allclose(slope, jax.vmap(jax.grad(lambda S, b: (by_dense(S, b) ** 3).sum()))(S, b), rtol=1e-8, atol=1e-10)


def test_what_does_not_fit():
    D, E = make(3, 6)
    S, b = rows(D, E), rhs(3, 6)
    with pytest.raises(trifold.SpecError, match=r"S has shape \(6, 3, 3\); give \(N, n, 3 n\)"):
        tj.solve_rows(D, b)
    with pytest.raises(trifold.SpecError, match="b has shape"):
        tj.solve_rows(S, b[:5])
    with pytest.raises(trifold.SpecError, match="b is float32 and S float64"):
        tj.solve_rows(S, b.astype(np.float32))
    assert np.isnan(tj.solve_rows(-S, b)).all()
