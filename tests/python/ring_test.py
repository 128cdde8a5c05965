"""Rings, whose last block is coupled to the first, against dense matrices."""

import pickle

import numpy as np
import pytest
import trifold


def ring(N, n, seed, batch=None):
    """D and E of a ring that is positive definite, and its dense matrix."""
    rng = np.random.default_rng(seed)
    D, E = rng.uniform(-1, 1, (2, batch or 1, N, n, n))
    D = D + D.swapaxes(-1, -2) + 4 * n * np.eye(n)
    A = trifold.to_dense(D, E, ring=True)
    return (A, D, E) if batch else (A[0], D[0], E[0])


def test_the_dense_matrix_by_its_blocks():
    for N in (1, 2, 3, 5):
        A, D, E = ring(N, 2, N)
        expected = np.zeros_like(A)
        for i in range(N):
            rows, below = slice(2 * i, 2 * i + 2), slice((i + 1) % N * 2, (i + 1) % N * 2 + 2)
            expected[rows, rows] += D[i]
            expected[below, rows] += E[i]
            expected[rows, below] += E[i].T
        np.testing.assert_array_equal(A, expected)
        x = np.random.default_rng(1).standard_normal((N, 2, 3))
        np.testing.assert_allclose(trifold.matvec(D, E, x, ring=True).reshape(2 * N, 3), A @ x.reshape(2 * N, 3), atol=1e-13)


@pytest.mark.parametrize("N,n,m", [(1, 3, None), (2, 2, 3), (3, 1, None), (7, 4, 2), (33, 3, None)])
@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_solve_and_factor(N, n, m, batch, dtype):
    A, D, E = ring(N, n, 1, batch)
    D, E = D.astype(dtype), E.astype(dtype)
    b = np.random.default_rng(2).standard_normal((*D.shape[:-1], *(() if m is None else (m,)))).astype(dtype)
    tolerance = 1e-13 if dtype == np.float64 else 1e-5
    flat = b.reshape(*A.shape[:-1], -1)
    expected = np.linalg.solve(A, flat).reshape(b.shape)
    np.testing.assert_allclose(trifold.solve(D, E, b, ring=True), expected, atol=tolerance)
    factor = trifold.factor(D, E, ring=True, rhs=m or 1)
    assert factor.plan.ring
    np.testing.assert_allclose(factor.solve(b), expected, atol=tolerance)
    np.testing.assert_allclose(factor.backward(factor.forward(b)), expected, atol=tolerance)
    np.testing.assert_allclose(factor.log_determinant(), np.linalg.slogdet(A)[1], rtol=100 * tolerance)
    diagonal, lower = factor.selected_inverse()
    inverse = np.linalg.inv(A).reshape(*A.shape[:-2], N, n, N, n)
    for i in range(N):
        np.testing.assert_allclose(diagonal[..., i, :, :], inverse[..., i, :, i, :], atol=tolerance)
        np.testing.assert_allclose(lower[..., i, :, :], inverse[..., (i + 1) % N, :, i, :], atol=tolerance)
    found = trifold.marginals(D, E, b, ring=True)
    np.testing.assert_allclose(found.lower, lower, atol=tolerance)
    np.testing.assert_allclose(found.x, expected, atol=tolerance)
    assert factor.sample(0).shape == D.shape[:-1]


def test_a_border_of_a_ring():
    A, D, E = ring(5, 2, 3)
    F, C = np.random.default_rng(4).uniform(-1, 1, (5, 3, 2)), 20 * np.eye(3)
    whole = np.block([[A, F.transpose(0, 2, 1).reshape(10, 3)], [F.transpose(1, 0, 2).reshape(3, 10), C]])
    b = np.arange(13.0)
    np.testing.assert_allclose(trifold.solve(D, E, b, border=(F, C), ring=True), np.linalg.solve(whole, b), atol=1e-13)


def test_bad_input():
    _, D, E = ring(4, 3, 4)
    b = np.ones((4, 3))
    for words, call in (
        (r"E has shape \(3, 3, 3\); give \(4, 3, 3\)", lambda: trifold.solve(D, E[1:], b, ring=True)),
        (r"E has shape \(4, 3, 3\); give \(3, 3, 3\)", lambda: trifold.solve(D, E, b)),
        ("mixed precision has no rings", lambda: trifold.solve(D, E, b, ring=True, mixed=True)),
        ("E is", lambda: trifold.solve(D[:1], None, b[:1], ring=True)),
        ("has chains at the ends", lambda: trifold.Plan(block=3, horizon=4, ring=True, schedule="twisted:2")),
        ("ring", lambda: trifold.solve(D, E, b, ring="yes")),
        (r"E has shape \(3, 3, 3\)", lambda: trifold.matvec(D, E[1:], b, ring=True)),
    ):
        with pytest.raises(trifold.SpecError, match=words):
            call()
    with pytest.raises(trifold.NotPositiveDefinite, match="block 0, row 2"):
        trifold.solve(D - np.diag([0, 0, 30]) * (np.arange(4) == 0)[:, None, None], E, b, ring=True)


def test_a_plan_and_a_factor_pickle():
    plan = trifold.Plan(block=3, horizon=4, ring=True)
    assert pickle.loads(pickle.dumps(plan)).ring and "ring=True" in repr(plan)
    A, D, E = ring(4, 3, 5)
    factor = pickle.loads(pickle.dumps(trifold.factor(D, E, ring=True)))
    b = np.ones((4, 3))
    np.testing.assert_allclose(factor.solve(b).ravel(), np.linalg.solve(A, b.ravel()), atol=1e-13)


@pytest.mark.parametrize("N", [1, 2, 4])
@pytest.mark.parametrize("batch", [None, 2])
def test_gradients_of_torch(N, batch):
    torch = pytest.importorskip("torch")
    import trifold.torch

    A, D, E = ring(N, 2, 5, batch)
    D, E = (torch.tensor(array, requires_grad=True) for array in (D, E))
    b = torch.tensor(np.random.default_rng(6).standard_normal(D.shape[:-1]), requires_grad=True)
    x = trifold.torch.solve(D, E, b, ring=True)
    expected = np.linalg.solve(A, b.detach().numpy().reshape(*A.shape[:-1], 1)).reshape(b.shape)
    np.testing.assert_allclose(x.detach(), expected, atol=1e-13)

    def values(D, E, b):
        found = trifold.torch.marginals((D + D.mT) / 2, E, b, ring=True)
        return found.x, found.log_determinant, found.quadratic, found.diagonal, found.lower

    assert torch.autograd.gradcheck(values, (D, E, b))
    with pytest.raises(trifold.SpecError, match="ring=True says so"):
        trifold.torch.solve(D, E, b)
    with pytest.raises(trifold.SpecError, match="E has shape"):
        trifold.torch.solve(D, E[..., 1:, :, :], b, ring=True)
    many = torch.randn(3, *b.shape, dtype=b.dtype)
    mapped = torch.func.vmap(lambda b: trifold.torch.factor(D, E, ring=True).solve(b))(many)
    np.testing.assert_allclose(mapped[1].detach(), trifold.torch.solve(D, E, many[1], ring=True).detach(), atol=1e-13)


@pytest.mark.parametrize("N", [1, 2, 4])
def test_gradients_of_jax(N):
    jax = pytest.importorskip("jax")
    import trifold.jax
    from jax.test_util import check_grads

    jax.config.update("jax_enable_x64", True)
    A, D, E = ring(N, 2, 5)
    b = np.random.default_rng(6).standard_normal((N, 2))
    x = jax.jit(lambda D, E, b: trifold.jax.solve(D, E, b, ring=True))(D, E, b)
    np.testing.assert_allclose(x.ravel(), np.linalg.solve(A, b.ravel()), atol=1e-13)

    def values(D, E, b):
        found = trifold.jax.marginals((D + D.mT) / 2, E, b, ring=True)
        return found.x, found.log_determinant, found.quadratic, found.diagonal, found.lower

    check_grads(values, (D, E, b), 1, rtol=1e-5)
    many = np.stack([D, 2 * D])
    mapped = jax.vmap(lambda D: trifold.jax.likelihood(D, E, b, ring=True).log_determinant)(many)
    np.testing.assert_allclose(mapped[0], np.linalg.slogdet(A)[1], rtol=1e-12)
    F, C = np.random.default_rng(4).uniform(-1, 1, (N, 1, 2)), 20 * np.eye(1)
    whole = np.block([[A, F.reshape(-1, 1)], [F.reshape(1, -1), C]])
    tip = np.arange(2.0 * N + 1)
    np.testing.assert_allclose(trifold.jax.solve(D, E, tip, border=(F, C), ring=True), np.linalg.solve(whole, tip), atol=1e-12)
    with pytest.raises(trifold.SpecError, match="E has shape"):
        trifold.jax.solve(D, E, b)
