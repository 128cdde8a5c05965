"""A batch axis in some of D, E and b, and none in the others: the same as repeated arrays, in all libraries."""

import numpy as np
import pytest
import trifold
from problems import make, rhs

B, N, n, m = 3, 5, 2, 4


def arrays(which, columns):
    """D, E and b, with a batch axis in those that are named: "B", of length 1: "1"."""
    D, E = make(n, N, B)
    b = rhs(n, N, B, m if columns else None)
    return [array[0] if kind == "-" else array[:1] if kind == "1" else array for array, kind in zip((D, E, b), which)]


def faces():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    import trifold.jax as tj
    import trifold.torch as tt

    return {"numpy": (trifold, np.asarray), "torch": (tt, torch.from_numpy), "jax": (tj, jax.numpy.asarray), "jit": (tj, jax.numpy.asarray)}


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("which", ["BBB", "B--", "-B-", "--B", "BB-", "B-B", "-BB", "1BB", "BB1", "B1-", "1-B"])
@pytest.mark.parametrize("face", ["numpy", "torch", "jax", "jit"])
def test_as_if_repeated(face, which, columns):
    module, give = faces()[face]
    D, E, b = arrays(which, columns)
    whole = [
        np.ascontiguousarray(np.broadcast_to(a if kind != "-" else a[None], (B, *a.shape[(kind != "-") :])))
        for a, kind in zip((D, E, b), which)
    ]
    D, E, b = map(give, (D, E, b))
    solve, marginals = module.solve, module.marginals
    if face == "jit":
        jax = pytest.importorskip("jax")
        solve, marginals = jax.jit(solve), jax.jit(marginals)
    expected = trifold.marginals(*whole)
    np.testing.assert_allclose(solve(D, E, b), expected.x, rtol=1e-10, atol=1e-12)
    mine = marginals(D, E, b)
    np.testing.assert_allclose(mine.x, expected.x, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mine.quadratic, expected.quadratic, rtol=1e-10)
    np.testing.assert_allclose(np.broadcast_to(mine.log_determinant, (B,)), expected.log_determinant, rtol=1e-10)
    np.testing.assert_allclose(np.broadcast_to(mine.diagonal, expected.diagonal.shape), expected.diagonal, rtol=1e-10, atol=1e-12)
    if which == "1-B":
        return  # a factor with a batch axis takes a batch of that length
    f = module.factor(D, E)
    np.testing.assert_allclose(np.broadcast_to(f.solve(b), expected.x.shape), expected.x, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.broadcast_to(f.quadratic(b), expected.quadratic.shape), expected.quadratic, rtol=1e-10)
    np.testing.assert_allclose(np.broadcast_to(f.backward(f.forward(b)), expected.x.shape), expected.x, rtol=1e-10, atol=1e-12)


def test_gradients_are_summed_over_the_batch():
    modules = faces()
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    D, E, b = arrays("-B-", False)
    weights = rhs(n, N, B, seed=3)
    mine = jax.grad(lambda *a: jax.numpy.sum(modules["jax"][0].solve(*a) * weights), (0, 1, 2))(D, E, b)
    leaves = [torch.from_numpy(array.copy()).requires_grad_() for array in (D, E, b)]
    (modules["torch"][0].solve(*leaves) * torch.from_numpy(weights)).sum().backward()
    apart = [jax.grad(lambda *a: jax.numpy.sum(modules["jax"][0].solve(*a) * weights[k]), (0, 1, 2))(D, E[k], b) for k in range(B)]
    expected = sum(one[0] for one in apart), np.stack([one[1] for one in apart]), sum(one[2] for one in apart)
    for one, tensor, theirs in zip(mine, leaves, expected):
        np.testing.assert_allclose(one, theirs, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(tensor.grad, theirs, rtol=1e-9, atol=1e-12)


def test_a_batch_of_b_alone_is_factored_once():
    """Its right-hand sides are columns, and integers and lists are arrays here too."""
    D, E, b = arrays("--B", False)
    assert trifold.factor(D, E).plan.batch == 1
    np.testing.assert_allclose(trifold.solve(D.tolist(), E.tolist(), b.tolist()), trifold.solve(D, E, b))


@pytest.mark.parametrize("face", ["numpy", "torch", "jax"])
def test_lengths_that_do_not_fit(face):
    module, give = faces()[face]
    D, E = make(n, N, B)
    with pytest.raises(trifold.SpecError, match=r"batch axes of 2, 3; they must be equal, or 1"):
        module.solve(give(D), give(E), give(rhs(n, N, 2)))
    with pytest.raises(trifold.SpecError, match=r"batch axes of 2, 3"):
        module.solve(give(D), give(E[:2]), give(rhs(n, N, 3)))
