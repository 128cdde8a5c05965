"""Members with lengths of their own, against dense matrices."""

import pickle

import numpy as np
import pytest
import trifold


def batch(lengths, N, n, seed, beyond=np.nan):
    """D, E and b of chains of these lengths, and their dense matrices."""
    rng = np.random.default_rng(seed)
    D, E = rng.normal(size=(len(lengths), N, n, n)), rng.normal(size=(len(lengths), N - 1, n, n))
    D = D + D.swapaxes(-1, -2) + (4 * n + 4) * np.eye(n)
    b = rng.normal(size=(len(lengths), N, n))
    dense = [trifold.to_dense(d, e)[: k * n, : k * n] for d, e, k in zip(D, E, lengths)]
    for k, (d, e, r) in zip(lengths, zip(D, E, b)):
        d[k:], e[max(k - 1, 0) :], r[k:] = beyond, beyond, beyond
    return D, E, b, dense


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("N", "n"), [(1, 3), (7, 2), (9, 17), (33, 1)])
def test_members_are_those_of_their_lengths(N, n, dtype):
    lengths = np.array([N, 0, 1, N // 2, N])
    D, E, b, dense = batch(lengths, N, n, N)
    D, E, b = (array.astype(dtype) for array in (D, E, b))
    tolerance = 1e-12 if dtype == "float64" else 2e-5
    x = trifold.solve(D, E, b, lengths=lengths)
    found, factor = trifold.marginals(D, E, b, lengths=lengths), trifold.factor(D, E, lengths=lengths.astype(np.int32))
    assert factor.plan.lengths
    np.testing.assert_array_equal(factor.solve(b), x)
    for k, (A, length) in enumerate(zip(dense, lengths)):
        inverse, inside, right = np.linalg.inv(A), length * n, b[k, :length].reshape(-1)
        np.testing.assert_allclose(x[k, :length].reshape(-1), inverse @ right, atol=tolerance)
        assert not x[k, length:].any()
        assert not found.diagonal[k, length:].any()
        assert not found.lower[k, max(length - 1, 0) :].any()
        whole = np.zeros((N * n, N * n))
        whole[:inside, :inside] = inverse
        blocks = whole.reshape(N, n, N, n).transpose(0, 2, 1, 3)
        np.testing.assert_allclose(found.diagonal[k], blocks[range(N), range(N)], atol=tolerance)
        np.testing.assert_allclose(found.lower[k], blocks[range(1, N), range(N - 1)], atol=tolerance)
        np.testing.assert_allclose(found.log_determinant[k], np.linalg.slogdet(A)[1], rtol=tolerance)
        np.testing.assert_allclose(factor.quadratic(b)[k], right @ inverse @ right, rtol=2 * tolerance)


def test_one_chain_and_draws():
    D, E, b, (A,) = batch([4], 6, 2, 1)
    factor = trifold.factor(D[0], E[0], lengths=4)
    np.testing.assert_allclose(factor.solve(b[0])[:4].reshape(-1), np.linalg.solve(A, b[0, :4].reshape(-1)), atol=1e-13)
    assert not factor.sample(3)[4:].any()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(factor)).solve(b[0]), factor.solve(b[0]))
    plan = trifold.Plan(block=2, horizon=6, batch=3, lengths=True)
    assert pickle.loads(pickle.dumps(plan)).lengths
    assert "lengths=True" in repr(plan)
    solver = plan.solver()
    D, E, b, dense = batch([6, 2, 3], 6, 2, 2)
    for lengths in ([6, 2, 3], [1, 2, 2]):
        solver.factor(D, E, lengths=np.array(lengths, "uint8"))
        x = solver.solve(b)
        for k, length in enumerate(lengths):
            inside = 2 * length
            np.testing.assert_allclose(
                x[k, :length].reshape(-1), np.linalg.solve(dense[k][:inside, :inside], b[k, :length].reshape(-1)), atol=1e-13
            )


def test_a_border_of_members_of_unequal_length():
    lengths = np.array([6, 2, 0])
    D, E, b, dense = batch(lengths, 6, 2, 8)
    rng = np.random.default_rng(9)
    F, C, tip = rng.normal(size=(3, 6, 3, 2)), np.tile(60 * np.eye(3), (3, 1, 1)), rng.normal(size=(3, 3))
    for one, length in zip(F, lengths):
        one[length:] = np.nan
    x, found = trifold.solve(D, E, (b, tip), border=(F, C), lengths=lengths)
    for k, (A, length) in enumerate(zip(dense, lengths)):
        rows = F[k, :length].transpose(1, 0, 2).reshape(3, 2 * length)
        whole = np.linalg.solve(np.block([[A, rows.T], [rows, C[k]]]), np.concatenate([b[k, :length].ravel(), tip[k]]))
        np.testing.assert_allclose(np.concatenate([x[k, :length].ravel(), found[k]]), whole, atol=1e-13)
        assert not x[k, length:].any()


def test_the_condition_is_that_of_the_shorter_members():
    lengths = np.array([6, 2, 4])
    D, E, b, dense = batch(lengths, 6, 2, 11)
    F, C = np.random.default_rng(12).normal(size=(3, 6, 2, 2)), np.tile(40 * np.eye(2), (3, 1, 1))
    alone = trifold.factor(D, E, lengths=lengths).reciprocal_condition(D, E, lengths=lengths)
    found = trifold.factor(D, E, border=(F, C), lengths=lengths).reciprocal_condition(D, E, border=(F, C), lengths=lengths)
    for k, (A, length) in enumerate(zip(dense, lengths)):
        rows = F[k, :length].transpose(1, 0, 2).reshape(2, 2 * length)
        for matrix, value in ((A, alone[k]), (np.block([[A, rows.T], [rows, C[k]]]), found[k])):
            scale = np.sqrt(np.diag(matrix))
            scaled = matrix / scale / scale[:, None]
            assert 0.99 <= value * np.linalg.cond(scaled, 1) <= 3


def test_bad_lengths_are_refused():
    D, E, b, _ = batch([5, 5], 5, 2, 3)
    for words, lengths, options in [
        (r"lengths\[1\] is 6; give 0 to 5", [5, 6], {}),
        (r"lengths\[0\] is -1", [-(2**40), 1], {}),
        ("lengths has shape", [5], {}),
        ("give whole numbers", [5.0, 2.0], {}),
        ("a ring has no end", [5, 5], {"ring": True}),
        ("mixed precision has no lengths", [5, 5], {"mixed": True}),
    ]:
        coupling = np.concatenate([E, E[:, :1]], 1) if "ring" in options else E
        with pytest.raises(trifold.SpecError, match=words):
            trifold.solve(D, coupling, b, lengths=np.array(lengths), **options)
    with pytest.raises(trifold.SpecError, match="make a Plan with lengths=True"):
        trifold.Plan(block=2, horizon=5, batch=2).solver().factor(D, E, lengths=np.array([1, 2]))
    with pytest.raises(trifold.SpecError, match="lengths has shape"):
        trifold.shortened(D, E, b, np.array([1, 2, 3]))


@pytest.mark.parametrize("columns", [(), (3,)])
def test_shortened_is_the_same_with_the_identity(columns):
    lengths = np.array([5, 0, 1, 3])
    D, E, b, _ = batch(lengths, 5, 2, 4)
    b = b.reshape(*b.shape, *[1] * len(columns)) * np.ones(columns)
    x = trifold.solve(D, E, b, lengths=lengths)
    np.testing.assert_allclose(trifold.solve(*trifold.shortened(D, E, b, lengths)), x, atol=1e-14)
    np.testing.assert_allclose(trifold.solve(*trifold.shortened(D[3], E[3], b[3], 3)), x[3], atol=1e-14)
    assert trifold.shortened(D[:, :1], None, b[:, :1], lengths.clip(0, 1))[1] is None


def test_gradients_in_torch_are_zero_beyond():
    torch = pytest.importorskip("torch")
    import trifold.torch

    lengths = torch.tensor([4, 2, 0])
    D, E, b, _ = (torch.tensor(np.array(array)) if k < 3 else None for k, array in enumerate(batch(lengths.numpy(), 4, 2, 5)))
    taken = trifold.torch.solve(*trifold.shortened(D, E, b, lengths))
    np.testing.assert_allclose(trifold.solve(D, E, b, lengths=lengths), taken, atol=1e-14)
    full = [array.nan_to_num(0.5).requires_grad_() for array in (D + D.mT, E, b)]
    x, log_determinant, quadratic = trifold.torch.likelihood(*trifold.shortened(*full, lengths))
    (x.sum() + log_determinant.sum() + quadratic.sum()).backward()
    for array, ends in zip(full, (lengths, (lengths - 1).clamp(min=0), lengths)):
        for gradient, end in zip(array.grad, ends):
            assert not gradient[end:].any()
            assert gradient[:end].all()


def test_gradients_in_jax():
    jax = pytest.importorskip("jax")
    import trifold.jax

    jax.config.update("jax_enable_x64", True)
    lengths = np.array([4, 2, 0])
    D, E, b, _ = batch(lengths, 4, 2, 6, beyond=0.5)
    x = jax.jit(lambda *system: trifold.jax.solve(*trifold.shortened(*system, lengths)))(D, E, b)
    np.testing.assert_allclose(x, trifold.solve(D, E, b, lengths=lengths), atol=1e-14)
    gradient = jax.grad(lambda b: trifold.jax.solve(*trifold.shortened(D, E, b, lengths)).sum())(jax.numpy.asarray(b))
    assert all(not one[end:].any() and one[:end].any() for one, end in zip(gradient[:2], lengths))
