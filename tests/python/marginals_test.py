"""marginals(): all of one factorization, in NumPy, torch and JAX. chains.py compares values and gradients with dense algebra."""

import numpy as np
import pytest
import trifold
from faces import Jax, Torch, all_close
from problems import make, moments, rhs, singular


def libraries():
    torch, jax = Torch(), Jax()
    return torch.library, torch.module, jax.library, jax.module


def test_many_right_hand_sides():
    """More than a Plan of torch and JAX solves at once; and those of a Solver."""
    torch, tt, _, tj = libraries()
    arrays = *make(3, 5), rhs(3, 5, columns=70)
    solver = trifold.Plan(block=3, horizon=5, rhs=70, operations="all").solver()
    for mine in (
        trifold.marginals(*arrays),
        solver.marginals(*arrays),
        tt.marginals(*map(torch.from_numpy, arrays)),
        tj.marginals(*arrays),
    ):
        all_close(mine, moments(*arrays))


def test_one_call_of_xla():
    """And nothing as large as a factor is copied, nor by a gradient."""
    *_, jax, tj = libraries()
    arrays = *make(8, 64), rhs(8, 64)
    compiled = jax.jit(tj.marginals).lower(*arrays).compile().as_text()
    assert compiled.count("custom-call(") == 1

    def scalar(D, E, b):
        return sum(map(jax.numpy.sum, tj.marginals(D, E, b)))

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
    x, log_determinant, quadratic, diagonal, lower = moments(D, E, h)
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

    @jax.jit
    def expectations(D, E, h):
        return tj.block_tridiagonal_normal((D + D.mT) / 2, E, h)

    check_grads(expectations, (*make(2, 4), rhs(2, 4)), order=1, modes=["fwd", "rev"], rtol=1e-5)
    D, E, h = *make(2, 4, 3), rhs(2, 4, 3)
    mapped = jax.vmap(expectations)(D, E, h)
    for mine, theirs in zip(mapped, expectations(D, E, h)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    with pytest.raises(trifold.SpecError, match="h has shape"):
        tj.block_tridiagonal_normal(D[0], E[0], h[0][..., None])
