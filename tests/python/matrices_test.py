"""A x, A as one matrix, and A from what others store, against dense algebra."""

import numpy as np
import pytest
import trifold
from problems import dense, make, rhs


@pytest.mark.parametrize(("batch", "columns"), [(None, None), (None, 2), (3, None), (3, 2)])
def test_products(batch, columns):
    D, E = make(3, 5, batch)
    x = rhs(3, 5, batch, columns)
    A = dense(D, E)
    np.testing.assert_allclose(trifold.to_dense(D, E), A)
    np.testing.assert_allclose(trifold.to_dense(D + np.triu(D, 1), E), A)  # of D the lower triangles
    flat = x.reshape(*A.shape[:-1], -1)
    np.testing.assert_allclose(trifold.matvec(D, E, x), (A @ flat).reshape(x.shape), rtol=1e-12)


def test_a_batch_of_one_array_alone():
    D, E = make(3, 5)
    x = rhs(3, 5, 4, 2)
    np.testing.assert_allclose(trifold.matvec(D, E, x)[3], trifold.matvec(D, E, x[3]))
    one, _ = make(2, 1)
    np.testing.assert_allclose(trifold.matvec(one, None, np.ones((1, 2)))[0], dense(one, np.zeros((0, 2, 2))) @ [1, 1])


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_other_libraries(library):
    module = pytest.importorskip(library)
    D, E = make(3, 5, 2, np.float32)
    x = rhs(3, 5, 2, dtype=np.float32)
    give = module.from_numpy if library == "torch" else module.numpy.asarray
    mine = trifold.matvec(give(D), give(E), give(x))
    assert isinstance(mine, type(give(x)))
    np.testing.assert_allclose(mine, trifold.matvec(D, E, x), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(trifold.to_dense(give(D), give(E)), dense(D, E), rtol=1e-6)


def test_gradients_are_symmetric():
    """And what is above the diagonal is not read, be it NaN."""
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    D, E = make(3, 4, dtype=np.float32)
    x = rhs(3, 4, dtype=np.float32)
    expected = (x[:, :, None] + x[:, None, :]) / 2
    poisoned = D + np.triu(np.full((3, 3), np.nan, np.float32), 1)
    tensor = torch.from_numpy(D).requires_grad_()
    trifold.matvec(tensor, torch.from_numpy(E), torch.from_numpy(x)).sum().backward()
    np.testing.assert_allclose(tensor.grad, expected, rtol=1e-5, atol=1e-6)
    gradient = jax.grad(lambda D: trifold.matvec(D, E, x).sum())(jax.numpy.asarray(D))
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)
    for give in (np.asarray, torch.from_numpy, jax.numpy.asarray):
        np.testing.assert_allclose(trifold.to_dense(give(poisoned), give(E)), dense(D, E), rtol=1e-6)


@pytest.mark.parametrize("form", ["bsr", "csr", "coo"])
@pytest.mark.parametrize("triangle", ["both", "lower"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_from_sparse(form, triangle, dtype):
    sparse = pytest.importorskip("scipy.sparse")
    D, E = make(3, 5, dtype=dtype)
    D, A = np.tril(D) + np.tril(D, -1).swapaxes(1, 2), dense(D, E).astype(dtype)
    given = A if triangle == "both" else np.tril(A)
    matrix = sparse.bsr_array(given, blocksize=(3, 3)) if form == "bsr" else sparse.coo_array(given).asformat(form)
    for mine, expected in zip(trifold.from_sparse(matrix, None if form == "bsr" else 3), (D, E)):
        assert mine.dtype == dtype
        np.testing.assert_array_equal(mine, expected)


@pytest.mark.parametrize("lower", [True, False])
def test_from_banded(lower):
    linalg = pytest.importorskip("scipy.linalg")
    D, E = make(3, 5)
    A, b = dense(D, E), rhs(3, 5)
    ab = np.zeros((6, 15))
    for k in range(6):
        if lower:
            ab[k, : 15 - k] = np.diag(A, -k)
        else:
            ab[5 - k, k:] = np.diag(A, k)
    x = trifold.solve(*trifold.from_banded(ab, 3, lower), b)
    np.testing.assert_allclose(x.ravel(), linalg.solveh_banded(ab, b.ravel(), lower=lower), rtol=1e-9)


def test_what_does_not_fit():
    sparse = pytest.importorskip("scipy.sparse")
    D, E = make(3, 5)
    A = dense(D, E)
    for matrix, block, message in (
        (A, 3, "A is a ndarray"),
        (sparse.csr_array(A), None, "block is missing"),
        (sparse.csr_array(A), 4, "no blocks of 4 x 4"),
        (sparse.csr_array(A), 1, r"entry \(\d+, \d+\) is outside"),
        (sparse.csr_array(A + np.eye(15, k=1)), 3, "not symmetric"),
        (sparse.csr_array(A * 1j), 3, "complex"),
    ):
        with pytest.raises(trifold.SpecError, match=message):
            trifold.from_sparse(matrix, block)
    with pytest.raises(trifold.SpecError, match="ab has shape"):
        trifold.from_banded(np.ones((2, 5)), 3)
    with pytest.raises(trifold.SpecError, match="x has shape"):
        trifold.matvec(D, E, np.ones(15))
    with pytest.raises(trifold.SpecError, match="E is None"):
        trifold.to_dense(D, None)
