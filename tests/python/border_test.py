"""Chains with a border, [T F'; F C], against dense matrices."""

import pickle

import numpy as np
import pytest
import trifold


def dense(N, n, a, seed, batch=None):
    """Dense A, and its D, E, F and C."""
    rng = np.random.default_rng(seed)
    rows = N * n + a
    A = rng.uniform(-1, 1, (batch or 1, rows, rows))
    A = A + A.swapaxes(1, 2)
    block = np.arange(rows) // n
    in_chain = np.arange(rows) < N * n
    apart = (abs(block[:, None] - block) > 1) & in_chain[:, None] & in_chain
    A[:, apart] = 0
    A += np.eye(rows) * (abs(A).sum(2)[..., None] + 0.1)

    def blocks(count, row, column, height, width):
        return np.stack([A[:, row(i) : row(i) + height, column(i) : column(i) + width] for i in range(count)], 1)

    D = blocks(N, lambda i: i * n, lambda i: i * n, n, n)
    E = blocks(N - 1, lambda i: (i + 1) * n, lambda i: i * n, n, n) if N > 1 else np.zeros((len(A), 0, n, n))
    F = blocks(N, lambda i: N * n, lambda i: i * n, a, n)
    arrays = (A, D, E, F, A[:, N * n :, N * n :].copy())
    return arrays if batch else tuple(array[0] for array in arrays)


@pytest.mark.parametrize("N,n,a,m", [(1, 1, 1, None), (7, 3, 4, None), (33, 2, 1, 3), (5, 8, 17, 2)])
@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_solve_and_factor(N, n, a, m, batch, dtype):
    A, D, E, F, C = (array.astype(dtype) for array in dense(N, n, a, 1, batch))
    A = A.astype(np.float64)
    front = () if batch is None else (batch,)
    columns = () if m is None else (m,)
    b = np.random.default_rng(2).standard_normal((*front, N * n + a, *columns)).astype(dtype)
    tolerance = 1e-13 if dtype == np.float64 else 1e-5
    at = len(front)
    expected = np.linalg.solve(A, b if m else b[..., None]).reshape(b.shape)
    chain, tip = np.split(b, [N * n], at)
    chain = chain.reshape(*front, N, n, *columns)
    border = (F, C)
    np.testing.assert_allclose(trifold.solve(D, E, b, border=border), expected, atol=tolerance)
    x, x_tip = trifold.solve(D, E, (chain, tip), border=border)
    assert x.shape == chain.shape and x_tip.shape == tip.shape
    factor = trifold.factor(D, E, border=border, rhs=m or 1)
    np.testing.assert_allclose(factor.solve(b), expected, atol=tolerance)
    np.testing.assert_allclose(factor.backward(factor.forward(b)), expected, atol=tolerance)
    np.testing.assert_allclose(factor.log_determinant(), np.linalg.slogdet(A)[1], rtol=100 * tolerance)
    np.testing.assert_allclose(factor.quadratic(b), (b * expected).sum(at), rtol=100 * tolerance, atol=tolerance)
    diagonal, lower, arrow, corner = factor.selected_inverse()
    inverse = np.linalg.inv(A)
    np.testing.assert_allclose(corner, inverse[..., N * n :, N * n :], atol=tolerance)
    for i in range(N):
        rows = slice(i * n, (i + 1) * n)
        np.testing.assert_allclose(diagonal[..., i, :, :], inverse[..., rows, rows], atol=tolerance)
        np.testing.assert_allclose(arrow[..., i, :, :], inverse[..., N * n :, rows], atol=tolerance)
        if i + 1 < N:
            np.testing.assert_allclose(lower[..., i, :, :], inverse[..., (i + 1) * n : (i + 2) * n, rows], atol=tolerance)
    assert np.all(factor.status.block == -1)


def test_shift_reaches_the_tip_and_its_failure_is_named():
    A, D, E, F, C = dense(4, 3, 2, 3)
    b = np.arange(14.0)
    x = trifold.solve(D, E, b, border=(F, C), shift=2.0)
    np.testing.assert_allclose(x, np.linalg.solve(A + 2 * np.eye(14), b), atol=1e-13)
    with pytest.raises(trifold.NotPositiveDefinite, match="block 4, row 1"):
        trifold.solve(D, E, b, border=(F, C - np.diag([0, 99])))
    x = trifold.solve(D, E, b, border=(F, C - np.diag([0, 99])), check=False)
    assert np.isnan(x).all()


@pytest.mark.parametrize("batch", [None, 2])
def test_marginals(batch):
    A, D, E, F, C = dense(5, 2, 3, 6, batch)
    front = () if batch is None else (batch,)
    b = np.random.default_rng(8).standard_normal((*front, 13))
    found = trifold.marginals(D, E, b, border=(F, C))
    inverse = np.linalg.inv(A)
    np.testing.assert_allclose(found.x, (inverse @ b[..., None])[..., 0], atol=1e-13)
    np.testing.assert_allclose(found.log_determinant, np.linalg.slogdet(A)[1], rtol=1e-13)
    np.testing.assert_allclose(found.quadratic, np.einsum("...i,...i", b, found.x), rtol=1e-12)
    blocks = inverse[..., :10, :10].reshape(*front, 5, 2, 5, 2)
    for k in range(5):
        np.testing.assert_allclose(found.diagonal[..., k, :, :], blocks[..., k, :, k, :], atol=1e-14)
        np.testing.assert_allclose(found.arrow[..., k, :, :], inverse[..., 10:, 2 * k : 2 * k + 2], atol=1e-14)
    np.testing.assert_allclose(found.lower[..., 3, :, :], blocks[..., 4, :, 3, :], atol=1e-14)
    np.testing.assert_allclose(found.corner, inverse[..., 10:, 10:], atol=1e-14)
    assert trifold.marginals(D, E, (b[..., :10].reshape(*front, 5, 2), b[..., 10:]), border=(F, C)).x[1].shape == (*front, 3)
    with pytest.raises(trifold.NotPositiveDefinite, match="block 5"):
        trifold.marginals(D, E, b, border=(F, C - 99 * np.eye(3)))


@pytest.mark.parametrize("batch", [None, 2])
def test_draws(batch):
    """With z the normal numbers, X' A X is Z' Z."""
    A, D, E, F, C = dense(5, 2, 3, 5, batch)
    front = () if batch is None else (batch,)
    factor = trifold.factor(D, E, border=(F, C))
    z = np.random.default_rng(7).standard_normal((*front, 13, 4))
    chain, tip = factor.sample(7, draws=4)
    assert chain.shape == (*front, 5, 2, 4) and tip.shape == (*front, 3, 4)
    x = np.concatenate([chain.reshape(*front, 10, 4), tip], -2)
    np.testing.assert_allclose(x.swapaxes(-1, -2) @ A @ x, z.swapaxes(-1, -2) @ z, atol=1e-11)
    mean = np.arange(13.0) + np.zeros((*front, 13))
    np.testing.assert_allclose(factor.sample(7, mean, 4), x + mean[..., None], atol=1e-13)
    pair = factor.sample(7, (mean[..., :10].reshape(*front, 5, 2), mean[..., 10:]), 4)
    np.testing.assert_array_equal(pair[1], tip + mean[..., 10:, None])
    assert [part.shape for part in factor.sample()] == [(*front, 5, 2), (*front, 3)]


def test_bad_input():
    _, D, E, F, C = dense(4, 3, 2, 4)
    b = np.ones(14)
    for words, call in (
        ("border is no pair", lambda: trifold.solve(D, E, b, border=F)),
        (r"b has shape \(13,\); give \(14\)", lambda: trifold.solve(D, E, b[1:], border=(F, C))),
        (r"F of border has shape \(4, 1, 3\)", lambda: trifold.solve(D, E, b, border=(F[:, :1], C))),
        ("C of border has shape", lambda: trifold.solve(D, E, b, border=(F, 1.0))),
        ("mixed precision has no border", lambda: trifold.solve(D, E, b, border=(F, C), mixed=True)),
        ("marginals has no border", lambda: trifold.Plan(block=3, horizon=4, border=2).solver().marginals(D, E, D[0], border=(F, C))),
        (r"mean has shape \(14,\); give \(4, 3\)", lambda: trifold.factor(D, E, border=(F, C)).sample(mean=(b, np.zeros(2)))),
        ("this solver has no border", lambda: trifold.Plan(block=3, horizon=4).solver().factor(D, E, border=(F, C))),
        ("border is no pair", lambda: trifold.Plan(block=3, horizon=4, border=2).solver().factor(D, E)),
        ("with a border give", lambda: trifold.Plan(block=3, horizon=4, border=2).solver().factor_solve(D, E, D[0], border=(F, C))),
    ):
        with pytest.raises(trifold.SpecError, match=words):
            call()


def test_a_plan_pickles_with_its_border():
    plan = trifold.Plan(block=3, horizon=4, border=2)
    assert pickle.loads(pickle.dumps(plan)).border == 2 and "border=2" in repr(plan)


@pytest.mark.parametrize("batch", [None, 2])
def test_gradients_of_torch(batch):
    torch = pytest.importorskip("torch")
    import trifold.torch

    A, D, E, F, C = (torch.tensor(array, requires_grad=True) for array in dense(4, 2, 3, 5, batch))
    b = torch.tensor(np.random.default_rng(6).standard_normal((*A.shape[:-2], 11)), requires_grad=True)
    x = trifold.torch.solve(D, E, b, border=(F, C))
    np.testing.assert_allclose(x.detach(), torch.linalg.solve(A, b).detach(), atol=1e-13)

    def values(D, E, F, C, b):
        found = trifold.torch.likelihood((D + D.mT) / 2, E, b, border=(F, (C + C.mT) / 2))
        return found.x, found.log_determinant, found.quadratic

    assert torch.autograd.gradcheck(values, (D, E, F, C, b))
    np.testing.assert_allclose(values(D, E, F, C, b)[1].detach(), torch.linalg.slogdet(A)[1].detach(), rtol=1e-12)
    with pytest.raises(trifold.NotPositiveDefinite):
        trifold.torch.solve(D, E, b, border=(F, -C))
    assert trifold.torch.solve(D, E, b, border=(F, -C), check=False).isnan().all()
    if batch:
        mapped = torch.func.vmap(lambda *all: trifold.torch.solve(all[0], all[1], all[4], border=(all[2], all[3])))
        np.testing.assert_allclose(mapped(D, E, F, C, b).detach(), x.detach(), atol=1e-13)


def test_a_tip_that_rounding_decides():
    """S = 2 + 4e-16 - 2, which all solvers refuse alike."""
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    import trifold.jax
    import trifold.torch

    D, E, F, b = np.ones((2, 1, 1)), np.zeros((1, 1, 1)), np.ones((2, 1, 1)), np.ones(3)
    C = np.full((1, 1), 2 + 4e-16)
    with pytest.raises(trifold.NearlySingular):
        trifold.solve(D, E, b, border=(F, C))
    arrays = [torch.tensor(array) for array in (D, E, b, F, C)]
    with pytest.raises(trifold.NearlySingular):
        trifold.torch.solve(*arrays[:3], border=arrays[3:])
    assert trifold.torch.solve(*arrays[:3], border=arrays[3:], check=False).isfinite().all()
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        assert np.isnan(trifold.jax.solve(D, E, b, border=(F, C))).all()
        assert np.isfinite(trifold.jax.solve(D, E, b, border=(F, C), accept_nearly_singular=True)).all()
        with pytest.raises(trifold.SpecError, match="triangles of D differ"):
            trifold.jax.solve(np.triu(np.ones((1, 2, 2))) * 3, None, np.ones(3), border=(np.ones((1, 1, 2)), C), check_symmetry=True)


def test_gradients_of_jax():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        import trifold.jax

        A, D, E, F, C = map(jnp.asarray, dense(4, 2, 3, 7, 2))
        b = jnp.asarray(np.random.default_rng(8).standard_normal((2, 11)))
        solve = jax.jit(lambda D, E, F, C, b: trifold.jax.solve(D, E, b, border=(F, C)))
        np.testing.assert_allclose(solve(D, E, F, C, b), jnp.linalg.solve(A, b[..., None])[..., 0], atol=1e-13)
        mapped = jax.vmap(solve)(D, E, F, C, b)
        np.testing.assert_allclose(mapped, solve(D, E, F, C, b), atol=1e-13)

        def value(F, C):
            found = trifold.jax.likelihood(D, E, b, border=(F, C))
            return (found.log_determinant + found.quadratic).sum() + jnp.sin(found.x).sum()

        def of_dense(F, C):
            whole = A.at[:, 8:, 8:].set((C + C.swapaxes(-1, -2)) / 2)
            rows = F.swapaxes(1, 2).reshape(2, 3, 8)
            whole = whole.at[:, 8:, :8].set(rows).at[:, :8, 8:].set(rows.swapaxes(1, 2))
            x = jnp.linalg.solve(whole, b[..., None])[..., 0]
            return (jnp.linalg.slogdet(whole)[1] + (b * x).sum(-1)).sum() + jnp.sin(x).sum()

        found, expected = (jax.grad(one, (0, 1))(F, C) for one in (value, of_dense))
        np.testing.assert_allclose(found[0], expected[0], atol=1e-11)
        symmetric = (found[1] + found[1].swapaxes(-1, -2)) / 2
        np.testing.assert_allclose(symmetric, expected[1], atol=1e-11)
