"""Sparse matrices of SciPy and torch, whose structure is found, and operators of SciPy."""

import logging

import numpy as np
import pytest
import trifold
from grids import dense as dense_image, make as make_image
from problems import dense, make, rhs

sparse = pytest.importorskip("scipy.sparse")
linalg = pytest.importorskip("scipy.sparse.linalg")


def chain(n, horizon, dtype=np.float64):
    D, E = make(n, horizon, dtype=dtype)
    return dense(D, E).astype(dtype)


def laplacian(height, width):
    """Of nine neighbours, nonsymmetric by a drift."""
    size = height * width
    A = sparse.lil_array((size, size))
    for y in range(height):
        for x in range(width):
            for dy in (-1, 0, 1):
                for dx in (-1, 0, 1):
                    if 0 <= y + dy < height and 0 <= x + dx < width:
                        A[y * width + x, (y + dy) * width + x + dx] = 9.5 if dy == dx == 0 else -1 + 0.1 * dx
    return A.tocsr()


@pytest.mark.parametrize("columns", [None, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_a_chain_is_found(form, dtype, columns):
    A = chain(4, 9, dtype)
    b = rhs(4, 9, columns=columns).reshape(36, *(() if columns is None else (columns,))).astype(dtype)
    given = sparse.coo_array(A).asformat(form)
    found = trifold.structure_of(given)
    assert (found.kind, found.block, found.horizon) == ("chain", 4, 9)
    x = trifold.solve_sparse(given, b)
    assert x.dtype == dtype
    np.testing.assert_allclose(
        x, np.linalg.solve(A.astype(np.float64), b), rtol=1e-9 if dtype == np.float64 else 1e-3, atol=1e-5 if dtype == np.float32 else 0
    )


@pytest.mark.parametrize(("size", "reach", "block"), [(10, 0, 1), (10, 1, 1), (11, 3, 3), (50, 7, 7), (1, 0, 1)])
def test_bands_are_chains(size, reach, block):
    """A last block that is not whole is filled up."""
    random = np.random.default_rng(0)
    A = np.tril(np.triu(random.standard_normal((size, size)), -reach), reach)
    A = A @ np.diag(np.ones(size)) + A.T + 4 * (reach + 1) * np.eye(size)
    given = sparse.csr_array(A)
    found = trifold.structure_of(given)
    assert found.block == block and found.horizon == -(-size // block)
    b = random.standard_normal(size)
    np.testing.assert_allclose(trifold.solve_sparse(given, b), np.linalg.solve(A, b), rtol=1e-10)


@pytest.mark.parametrize("drift", [True, False])
def test_an_image_is_found(drift, caplog):
    A = laplacian(30, 21)
    A = A if drift else (A + A.T) / 2
    caplog.set_level(logging.INFO, "trifold")
    solve = trifold.factorized(A)
    assert (solve.structure.kind, solve.structure.height, solve.structure.width) == ("grid", 30, 21)
    assert "630 rows is taken for an image of 30 by 21 pixels" in caplog.text
    assert repr(solve) == "<trifold.Factorized: an image of 30 by 21 pixels>"
    b = np.random.default_rng(0).standard_normal((630, 2))
    expected = linalg.spsolve(A.tocsc(), b)
    np.testing.assert_allclose(solve(b), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(solve(b[:, 0]), expected[:, 0], rtol=1e-9, atol=1e-12)


def test_an_indefinite_image():
    A = laplacian(20, 20)
    A = (A + A.T) / 2 - 9 * sparse.eye_array(400)
    b = np.ones(400)
    np.testing.assert_allclose(A @ trifold.solve_sparse(A, b), b, atol=1e-8)


def test_entries_that_come_twice():
    A = sparse.coo_array(([1.0, 3, 2, -1, -1], ([0, 0, 1, 0, 1], [0, 0, 1, 1, 0])), shape=(2, 2))
    np.testing.assert_allclose(trifold.solve_sparse(A, [1.0, 0]), np.linalg.solve(A.toarray(), [1, 0]))


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_tensors(layout):
    torch = pytest.importorskip("torch")
    A = chain(3, 8)
    tensor = torch.from_numpy(A)
    given = tensor.to_sparse_coo() if layout == "coo" else tensor.to_sparse_csr()
    b = torch.arange(24, dtype=torch.float64)
    x = trifold.solve_sparse(given, b)
    assert isinstance(x, torch.Tensor)
    np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=1e-10)
    with pytest.raises(trifold.SpecError, match="dense tensor"):
        trifold.solve_sparse(tensor, b)


def test_what_has_no_structure():
    """SciPy's goes to the iteration of trifold.sparse, and what that does not solve is said."""
    torch = pytest.importorskip("torch")
    size = 3000
    ring = sparse.eye_array(size) * 4 + sparse.eye_array(size, k=1) - sparse.eye_array(size, k=-1)
    ring = sparse.csr_array(ring + sparse.coo_array(([1.0, -1.0], ([0, size - 1], [size - 1, 0])), shape=(size, size)))
    found = trifold.structure_of(ring)
    assert found.kind == "sparse" and "reach 2999 rows away" in str(found)
    b = np.random.default_rng(0).standard_normal((size, 2))
    assert abs(ring @ trifold.solve_sparse(ring, b) - b).max() < 1e-8
    skew = sparse.csr_array(np.eye(7) * 4 + np.eye(7, k=1))
    assert "not symmetric" in trifold.structure_of(skew).why
    with pytest.raises(trifold.SpecError, match="neither an image nor a chain: it is not symmetric"):
        trifold.solve_sparse(torch.from_numpy(skew.toarray()).to_sparse_coo(), torch.ones(7))
    rotation = sparse.csr_array(np.roll(np.eye(7), 1, 0) + 1e-3 * np.eye(7))
    with pytest.raises(trifold.Unsolvable):
        trifold.solve_sparse(rotation, np.ones(7) * [1, -1, 1, -1, 2, 3, 4])


@pytest.mark.parametrize(("dtype", "bound"), [(np.float64, 2.0**-44), (np.float32, 2.0**-18)])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_symmetry_is_a_matter_of_rounding(dtype, bound, unit):
    """Of the diagonal, in any units: beyond it the lower triangle is not taken for A."""
    line = sparse.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(30, 30)).tolil()
    for part, symmetric in ((0.4, True), (4, False), (1e-3, True)):
        line[3, 4] = -1 - part * bound * 2.5
        A = sparse.csr_array(line.tocsr() * unit).astype(dtype)
        if part == 1e-3:  # of an entry that is stored once
            A = sparse.csr_array(A + sparse.coo_array(([part * bound * unit], ([5], [3])), shape=A.shape)).astype(dtype)
        assert (trifold.structure_of(A).kind == "chain") is symmetric
        x = rhs(1, 30).ravel().astype(dtype)
        np.testing.assert_allclose(trifold.solve_sparse(A, A @ x), x, rtol=1e-10 if dtype == np.float64 else 1e-3)
        if symmetric:
            trifold.from_sparse(A, 2)
        else:
            with pytest.raises(trifold.SpecError, match=r"not symmetric: A\[4, 3\] = .* and A\[3, 4\]"):
                trifold.from_sparse(A, 2)


def test_what_is_said_of_images_and_others():
    """Errors as of chains: b that is not finite, and x beyond the range."""
    line = sparse.diags_array([-1.2, 3.0, -1.0], offsets=[-1, 0, 1], shape=(20, 20))
    image = sparse.kronsum(line, line).tocsr()
    for A in (image, (line + line.T).tocsr(), sparse.csr_array(image + 1e-3 * sparse.eye_array(400, k=300))):
        b = np.ones(A.shape[0])
        solve = trifold.factorized(A)
        for call in (solve, lambda b, A=A: trifold.solve_sparse(A, b)):
            with pytest.raises(trifold.Unsolvable):
                call(np.where(np.arange(len(b)) == 3, np.nan, b))
        assert np.isfinite(solve(b)).all()
    with pytest.raises(trifold.OutOfRange):
        trifold.solve_sparse(1e-300 * image, np.full(400, 1e30))


def test_room_behind_entries():
    A = sparse.csr_array(chain(3, 5))
    b = rhs(3, 5).ravel()
    expected, blocks = trifold.solve_sparse(A, b), trifold.from_sparse(A, 3)
    A.data, A.indices = np.append(A.data, [9.0, 9.0]), np.append(A.indices, [14, 14]).astype(np.int32)
    np.testing.assert_array_equal(trifold.solve_sparse(A, b), expected)
    for mine, theirs in zip(trifold.from_sparse(A, 3), blocks):
        np.testing.assert_array_equal(mine, theirs)


def test_what_does_not_fit():
    A = sparse.csr_array(chain(2, 3))
    for matrix, b, message in (
        (sparse.csr_array(np.ones((2, 3))), np.ones(2), "square"),
        (A * 1j, np.ones(6), "complex"),
        (A.toarray(), np.ones(6), "A is a ndarray"),
        (A, np.ones(5), "b has shape"),
    ):
        with pytest.raises(trifold.SpecError, match=message):
            trifold.solve_sparse(matrix, b)
    with pytest.raises(trifold.NotPositiveDefinite):
        trifold.solve_sparse(-A, np.ones(6))


def test_operators_of_chains():
    D, E = make(3, 7)
    A, B = dense(D, E), trifold.operators.chain(D, E)
    x = rhs(3, 7, columns=2).reshape(21, 2)
    np.testing.assert_allclose(B @ x, A @ x)
    np.testing.assert_allclose(B.T @ x[:, 0], A @ x[:, 0])
    M = trifold.operators.inverse(trifold.factor(D, E))
    np.testing.assert_allclose(M @ x, np.linalg.solve(A, x), rtol=1e-9)
    solution, info = linalg.cg(B, x[:, 0], M=M, rtol=1e-12, maxiter=3)
    assert info == 0
    np.testing.assert_allclose(A @ solution, x[:, 0], rtol=1e-8, atol=1e-10)
    values = linalg.eigsh(B, k=2, sigma=0, OPinv=M, return_eigenvectors=False)
    np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(A)[:2])
    np.testing.assert_allclose(B @ (x * (1 + 2j)), A @ x * (1 + 2j))
    assert trifold.operators.chain(D.astype(np.float32), E.astype(np.float32)).dtype == np.float32
    with pytest.raises(trifold.SpecError, match="without a batch"):
        trifold.operators.chain(*make(3, 7, 2))
    with pytest.raises(trifold.SpecError, match="2 members"):
        trifold.operators.inverse(trifold.factor(*make(3, 7, 2)))


def test_operators_of_images():
    stencil = make_image(6, 5)
    A = dense_image(stencil)
    B, M = trifold.operators.grid(stencil), trifold.operators.inverse(trifold.grid.factor(stencil))
    x = np.random.default_rng(1).standard_normal((30, 2))
    np.testing.assert_allclose(B @ x, A @ x)
    np.testing.assert_allclose(B.T @ x[:, 0], A.T @ x[:, 0])
    np.testing.assert_allclose(M @ x, np.linalg.solve(A, x), rtol=1e-8)
    np.testing.assert_allclose(M.T @ x, np.linalg.solve(A.T, x), rtol=1e-8)
