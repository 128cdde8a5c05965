"""marginals(): all of one factorization, in NumPy, torch and JAX, with gradients, against dense algebra."""

import numpy as np
import pytest
import trifold
from problems import blocks_of_inverse, dense, make, rhs, singular

CASES = [(None, None), (None, 2), (3, None), (3, 2), (1, None)]


def expected(D, E, b):
    """By dense algebra."""
    if D.ndim == 4:
        return [np.stack(part) for part in zip(*(expected(*one) for one in zip(D, E, b)))]
    A = dense(D, E)
    flat = b.reshape(len(A), -1).astype(np.float64)
    x = np.linalg.solve(A, flat)
    quadratic = np.sum(flat * x, 0).reshape(b.shape[2:])
    return [x.reshape(b.shape), np.linalg.slogdet(A)[1], quadratic, *blocks_of_inverse(D, E)]


def libraries():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    import trifold.jax as tj
    import trifold.torch as tt

    return torch, tt, jax, tj


@pytest.mark.parametrize(("batch", "columns"), CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "horizon"), [(3, 7), (8, 1), (5, 40)])
def test_all_faces(n, horizon, batch, columns, dtype):
    torch, tt, jax, tj = libraries()
    arrays = *make(n, horizon, batch, dtype), rhs(n, horizon, batch, columns, dtype)
    tolerance = 1e-10 if dtype == np.float64 else 2e-4
    plan = trifold.Plan(block=n, horizon=horizon, dtype=dtype, batch=batch or 1, rhs=columns or 1, operations="all")
    results = {
        "numpy": trifold.marginals(*arrays),
        "solver": plan.solver().marginals(*arrays),
        "torch": tt.marginals(*map(torch.from_numpy, arrays)),
        "jax": tj.marginals(*arrays),
        "jitted": jax.jit(tj.marginals)(*arrays),
    }
    for mine in results.values():
        assert isinstance(mine, trifold.Marginals)
        for part, theirs in zip(mine, expected(*arrays)):
            assert part.shape == theirs.shape
            np.testing.assert_allclose(part, theirs, rtol=tolerance, atol=tolerance)


def test_many_right_hand_sides():
    """More than a Plan of torch and JAX solves at once."""
    torch, tt, _, tj = libraries()
    arrays = *make(3, 5), rhs(3, 5, columns=70)
    for mine in (trifold.marginals(*arrays), tt.marginals(*map(torch.from_numpy, arrays)), tj.marginals(*arrays)):
        for part, theirs in zip(mine, expected(*arrays)):
            np.testing.assert_allclose(part, theirs, rtol=1e-10, atol=1e-10)


def weighted(parts, weights, sum_of):
    return sum(sum_of(part * weight) for part, weight in zip(parts, weights))


@pytest.mark.parametrize(("batch", "columns"), CASES)
def test_gradients(batch, columns):
    """Gradients of a sum of all five, by torch and JAX, against what separate calls say, which are tested elsewhere."""
    torch, tt, jax, tj = libraries()
    arrays = *make(3, 6, batch), rhs(3, 6, batch, columns)
    random = np.random.default_rng(5)
    weights = [random.standard_normal(part.shape) for part in expected(*arrays)]

    def apart(D, E, b):
        f = tj.factor(D, E)
        return weighted([f.solve(b), f.log_determinant(), f.quadratic(b), *f.selected_inverse()], weights, jax.numpy.sum)

    oracle = jax.grad(apart, (0, 1, 2))(*arrays)
    mine = jax.jit(jax.grad(lambda *a: weighted(tj.marginals(*a), weights, jax.numpy.sum), (0, 1, 2)))(*arrays)
    leaves = [torch.from_numpy(array).requires_grad_() for array in arrays]
    weighted(tt.marginals(*leaves), map(torch.from_numpy, weights), torch.sum).backward()
    for one, tensor, theirs in zip(mine, leaves, oracle):
        np.testing.assert_allclose(one, theirs, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(tensor.grad, theirs, rtol=1e-9, atol=1e-11)


def test_second_derivatives():
    check_grads = pytest.importorskip("jax.test_util").check_grads
    torch, tt, jax, tj = libraries()
    D, E, b = *make(2, 4), rhs(2, 4)

    def of_jax(D, E, b):
        return sum(jax.numpy.sum(part**2) for part in tj.marginals((D + D.mT) / 2, E, b))

    check_grads(of_jax, (D, E, b), order=2, modes=["fwd", "rev"], rtol=1e-5)

    def of_torch(D, E, b):
        return sum((part**2).sum() for part in tt.marginals((D + D.mT) / 2, E, b))

    assert torch.autograd.gradgradcheck(of_torch, [torch.from_numpy(array).requires_grad_() for array in (D, E, b)])


def test_vmap():
    """Of everything, and of b alone: then there is one factorization."""
    torch, tt, jax, tj = libraries()
    arrays = *make(3, 5, 4), rhs(3, 5, 4)
    tensors = [torch.from_numpy(array) for array in arrays]
    for mine in (torch.vmap(tt.marginals)(*tensors), jax.vmap(tj.marginals)(*arrays)):
        for part, theirs in zip(mine, trifold.marginals(*arrays)):
            np.testing.assert_allclose(part, theirs, rtol=1e-10, atol=1e-12)
    D, E, b = arrays[0][0], arrays[1][0], arrays[2]
    both = (
        torch.vmap(tt.marginals, in_dims=(None, None, 0))(tensors[0][0], tensors[1][0], tensors[2]),
        jax.vmap(tj.marginals, in_axes=(None, None, 0))(D, E, b),
    )
    for mine in both:
        for k, one in enumerate(b):
            for part, theirs in zip(mine, trifold.marginals(D, E, one)):
                np.testing.assert_allclose(part[k], theirs, rtol=1e-10, atol=1e-12)


def test_one_call_of_xla():
    """And nothing as large as a factor is copied, nor by a gradient."""
    *_, jax, tj = libraries()
    arrays = *make(8, 64), rhs(8, 64)
    compiled = jax.jit(tj.marginals).lower(*arrays).compile().as_text()
    assert compiled.count("custom-call(") == 1

    def scalar(D, E, b):
        return weighted(tj.marginals(D, E, b), [1] * 5, jax.numpy.sum)

    compiled = jax.jit(jax.grad(scalar)).lower(*arrays).compile().as_text()
    assert not [line for line in compiled.splitlines() if " copy(" in line and " u8[" in line]


def test_what_fails():
    torch, tt, jax, tj = libraries()
    D, E, b = *make(3, 5), rhs(3, 5)
    D[2] *= -1
    for call in (lambda: trifold.marginals(D, E, b), lambda: tt.marginals(*map(torch.from_numpy, (D, E, b)))):
        with pytest.raises(trifold.NotPositiveDefinite, match="block 2"):
            call()
    for mine in (trifold.marginals(D, E, b, check=False), tj.marginals(D, E, b)):
        assert all(np.isnan(part).all() for part in mine)
    with jax.default_device(jax.devices("cpu")[0]):  # a GPU leaves what it computed
        D, E = singular(dtype=np.float32)
        b = np.ones((3, 1), np.float32)
        assert all(np.isnan(part).all() for part in tj.marginals(D, E, b))
        assert all(np.isfinite(part).all() for part in tj.marginals(D, E, b, accept_nearly_singular=True))
    with pytest.raises(trifold.SpecError, match="mixed"):
        trifold.marginals(*make(3, 5), rhs(3, 5), mixed=True)


@pytest.mark.parametrize("batch", [None, 3])
def test_block_tridiagonal_normal(batch):
    """Against the moments of the dense Gaussian; the second moments are the gradients of the log normalizer, as dynamax has them."""
    *_, jax, tj = libraries()
    D, E, h = *make(3, 6, batch), rhs(3, 6, batch)
    D = (D + D.swapaxes(-1, -2)) / 2
    value, mean, second, following = jax.jit(tj.block_tridiagonal_normal)(D, E, h)
    x, log_determinant, quadratic, diagonal, lower = expected(D, E, h)
    np.testing.assert_allclose(value, (quadratic - log_determinant + 18 * np.log(2 * np.pi)) / 2, rtol=1e-12)
    np.testing.assert_allclose(mean, x, rtol=1e-10)
    np.testing.assert_allclose(second, diagonal + x[..., :, None] * x[..., None, :], rtol=1e-10)
    np.testing.assert_allclose(following, lower + x[..., 1:, :, None] * x[..., :-1, None, :], rtol=1e-10, atol=1e-14)
    slopes = jax.grad(lambda *a: jax.numpy.sum(tj.block_tridiagonal_normal(*a)[0]), (0, 1, 2))(D, E, h)
    for mine, theirs in zip((-2 * slopes[0], -slopes[1], slopes[2]), (second, following, mean)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)


def test_gradients_of_second_moments():
    check_grads = pytest.importorskip("jax.test_util").check_grads
    *_, jax, tj = libraries()

    def moments(D, E, h):
        return tj.block_tridiagonal_normal((D + D.mT) / 2, E, h)

    check_grads(moments, (*make(2, 4), rhs(2, 4)), order=1, modes=["fwd", "rev"], rtol=1e-5)
    D, E, h = *make(2, 4, 3), rhs(2, 4, 3)
    mapped = jax.vmap(moments)(D, E, h)
    for mine, theirs in zip(mapped, moments(D, E, h)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    with pytest.raises(trifold.SpecError, match="h has shape"):
        tj.block_tridiagonal_normal(D[0], E[0], h[0][..., None])
