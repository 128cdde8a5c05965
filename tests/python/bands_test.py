"""Bands of blocks, bands of numbers, and blocks with rows of their own, against dense matrices."""

import pickle

import numpy as np
import pytest
import trifold

RNG = np.random.default_rng(7)


def band(N, n, w, batch=(), seed=1, beyond=np.nan, ring=False):
    """D, E and b of a band, and its dense matrices."""
    rng = np.random.default_rng(seed)
    D, E = rng.normal(size=(*batch, N, n, n)), rng.normal(size=(*batch, N, w, n, n))
    D = D + D.swapaxes(-1, -2) + (4 * n * w + 4) * np.eye(n)
    dense = np.zeros((*batch, N, n, N, n))
    for i in range(N):
        dense[..., i, :, i, :] = D[..., i, :, :]
        for k in range(w):
            if i + k + 1 < N or ring:
                to = (i + k + 1) % N
                dense[..., to, :, i, :] += E[..., i, k, :, :]
                dense[..., i, :, to, :] += E[..., i, k, :, :].swapaxes(-1, -2)
            else:
                E[..., i, k, :, :] = beyond
    return D, E, rng.normal(size=(*batch, N, n)), dense.reshape(*batch, N * n, N * n)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("batch", [(), (5,)])
@pytest.mark.parametrize(
    ("N", "n", "w", "ring"),
    [
        *((*sizes, False) for sizes in [(7, 2, 2), (9, 3, 3), (33, 1, 8), (2, 4, 2), (3, 2, 5), (16, 6, 2)]),
        *((*sizes, True) for sizes in [(2, 3, 2), (4, 2, 2), (9, 3, 3), (32, 1, 8)]),
    ],
)
def test_bands_agree_with_a_dense_solver(N, n, w, ring, batch, dtype):
    D, E, b, A = band(N, n, w, batch, ring=ring)
    D, E, b = (array.astype(dtype) for array in (D, E, b))
    tolerance = 1e-12 if dtype == "float64" else 2e-5
    inverse = np.linalg.inv(A)
    expected = (inverse @ b.reshape(*batch, -1, 1)).reshape(b.shape)
    options = {"bandwidth": w, "ring": ring}
    found, factor = trifold.marginals(D, E, b, **options), trifold.factor(D, E, **options)
    np.testing.assert_allclose(trifold.solve(D, E, b, **options), expected, atol=tolerance)
    np.testing.assert_allclose(factor.solve(b), expected, atol=tolerance)
    np.testing.assert_allclose(found.x, expected, atol=tolerance)
    np.testing.assert_allclose(found.log_determinant, np.linalg.slogdet(A)[1], rtol=tolerance)
    np.testing.assert_allclose(found.quadratic, (b * expected).sum((-1, -2)), rtol=10 * tolerance)
    blocks = inverse.reshape(*batch, N, n, N, n)
    for diagonal, lower in ((found.diagonal, found.lower), factor.selected_inverse()):
        assert lower.shape == E.shape
        for i in range(N):
            np.testing.assert_allclose(diagonal[..., i, :, :], blocks[..., i, :, i, :], atol=tolerance)
            for k in range(w):
                below = blocks[..., (i + k + 1) % N, :, i, :] if i + k + 1 < N or ring else np.zeros((*batch, n, n))
                np.testing.assert_allclose(lower[..., i, k, :, :], below, atol=tolerance)
    scale = np.sqrt(np.diagonal(A, 0, -2, -1))
    condition = np.linalg.cond(A / scale[..., None] / scale[..., None, :], 1)
    estimate = np.asarray(factor.reciprocal_condition(D, E)) * condition
    assert ((estimate >= 0.99) & (estimate <= 3)).all()


def test_batches_of_bands_draws_and_pickles():
    D, E, b, A = band(9, 2, 3)
    many = RNG.normal(size=(4, 9, 2))
    x = trifold.solve(D, E, many, bandwidth=3)
    np.testing.assert_allclose(x, np.linalg.solve(A, many.reshape(4, -1, 1)).reshape(many.shape), atol=1e-13)
    np.testing.assert_allclose(trifold.solve(np.stack([D, D]), E, b, bandwidth=3)[1], trifold.solve(D, E, b, bandwidth=3), atol=1e-13)
    factor = trifold.factor(D, E, bandwidth=3)
    draws = factor.sample(1, draws=20000).reshape(18, -1)
    np.testing.assert_allclose(draws @ draws.T / draws.shape[1], np.linalg.inv(A), atol=0.02)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(factor)).solve(b), factor.solve(b))
    plan = trifold.Plan(block=2, horizon=9, bandwidth=3, operations="all")
    assert "bandwidth=3" in repr(plan)
    solver = pickle.loads(pickle.dumps(plan)).solver()
    solver.factor(D, E)
    np.testing.assert_array_equal(solver.solve(b), factor.solve(b))
    assert solver.selected_inverse()[0].shape == (3, 6, 6)  # as it is solved


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize(("N", "n", "w"), [(1, 2, 2), (7, 2, 2), (33, 1, 8), (3, 2, 5)])
def test_products_and_dense_matrices_of_bands(N, n, w, ring, batch):
    D, E, x, A = band(N, n, w, batch, ring=ring)
    D = np.where(np.tri(n) > 0, D, np.nan)
    np.testing.assert_allclose(trifold.to_dense(D, E, bandwidth=w, ring=ring), A, atol=1e-14)
    expected = (A @ x.reshape(*batch, -1, 1)).reshape(x.shape)
    np.testing.assert_allclose(trifold.matvec(D, E, x, bandwidth=w, ring=ring), expected, atol=1e-12)
    if ring:
        return
    np.testing.assert_allclose(trifold.matvec(D, E, x[..., None], bandwidth=w)[..., 0], expected, atol=1e-12)
    for words, coupling, options in [
        ("has shape", E[..., :-1, :, :, :], {"bandwidth": w}),
        ("E is missing; give", None, {"bandwidth": w}),
        ("bandwidth and lengths are not there yet", E, {"bandwidth": w, "lengths": 1}),
        ("bandwidth = 0 is out of range", E, {"bandwidth": 0}),
    ]:
        for call in (lambda: trifold.matvec(D, coupling, x, **options), lambda: trifold.to_dense(D, coupling, **options)):
            with pytest.raises(trifold.SpecError, match=words):
                call()


def test_products_of_shorter_members_and_smaller_blocks():
    D, E, x, A = band(6, 3, 1, (4,))
    E, lengths, sizes = E[:, :-1, 0], np.array([6, 2, 0, 5]), np.array([3, 2, 0, 3, 1, 3])
    there = (np.arange(6) < lengths[:, None])[..., None] & (np.arange(3) < sizes[:, None])
    x = np.where(there, x, np.nan)
    found = trifold.matvec(D, E, x, lengths=lengths, sizes=sizes)
    whole = trifold.to_dense(D, E, lengths=lengths, sizes=sizes)
    for k, rows in enumerate(there.reshape(4, -1)):
        np.testing.assert_allclose(found[k].ravel()[rows], A[k][rows][:, rows] @ x[k].ravel()[rows], atol=1e-13)
        np.testing.assert_array_equal(whole[k], np.where(rows & rows[:, None], A[k], np.eye(18)))
    assert not found[~there].any()
    np.testing.assert_array_equal(trifold.matvec(D, E, x[..., None], lengths=lengths, sizes=sizes)[..., 0], found)
    with pytest.raises(trifold.SpecError, match=r"x has shape \(4, 6, 2\)"):
        trifold.matvec(D, E, x[..., :2], lengths=lengths)
    with pytest.raises(trifold.SpecError, match=r"give b of \(4, 6, 3\), or \(4, 6, 3, 'm'\)"):
        trifold.shortened(D, E, x[..., :2], lengths)
    np.testing.assert_array_equal(trifold.to_dense(D[:, :1], None, sizes=2)[0], np.pad(D[0, 0, :2, :2], (0, 1)) + np.diag([0, 0, 1]))


def test_gradients_of_products_of_bands():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    D, E, x, _ = band(5, 2, 2)
    leaf = torch.tensor(E, requires_grad=True)
    trifold.matvec(torch.tensor(D), leaf, torch.tensor(x), bandwidth=2).sum().backward()
    of_jax = jax.grad(lambda E: trifold.matvec(D, E, x, bandwidth=2).sum())(E)
    one = np.ones(2)
    for i in range(5):
        for k in range(2):
            inside = i + k + 1 < 5
            expected = np.outer(one, x[i]) + np.outer(x[i + k + 1], one) if inside else np.zeros((2, 2))
            np.testing.assert_allclose(leaf.grad[i, k], expected, atol=1e-13)
            np.testing.assert_allclose(of_jax[i, k], expected, atol=1e-13)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(("N", "w"), [(1, 0), (5, 0), (1, 1), (6, 1), (30, 2), (31, 7), (4, 6)])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_bands_of_numbers_are_those_of_scipy(N, w, lower, columns):
    linalg = pytest.importorskip("scipy.linalg")
    ab = np.full((2, w + 1, N), np.nan)
    for k in range(w + 1):
        row, inside = (k, slice(0, max(N - k, 0))) if lower else (w - k, slice(min(k, N), N))
        ab[:, row, inside] = RNG.normal(size=ab[:, row, inside].shape) + (2 * w + 8 if k == 0 else 0)
    b = RNG.normal(size=(2, N, *columns))
    x = trifold.solveh_banded(ab, b, lower=lower)
    for one, right, found in zip(ab, b, x):
        rows = min(w + 1, N) if lower else w + 1  # SciPy takes no more diagonals than rows
        expected = linalg.solveh_banded(one[:rows] if lower else one[-min(w + 1, N) :], right, lower=lower, check_finite=False)
        np.testing.assert_allclose(found, expected, atol=1e-13)
        np.testing.assert_allclose(trifold.solveh_banded(one, right, lower=lower), expected, atol=1e-13)


def sizes_of(batch, N, n, seed=3):
    sizes = np.random.default_rng(seed).integers(0, n + 1, (*batch, N))
    sizes[..., 0] = n
    return sizes


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("batch", [(), (5,)])
@pytest.mark.parametrize(("N", "n"), [(1, 3), (7, 2), (9, 17), (33, 1)])
def test_blocks_of_unequal_size(N, n, batch, dtype):
    D, E, b, A = band(N, n, 1, batch)
    E, sizes = E[..., :-1, 0, :, :], sizes_of(batch, N, n)
    inside = np.arange(n) < sizes[..., None]
    both = inside[..., :, None] & inside[..., None, :]
    D, b = np.where(both, D, np.nan), np.where(inside, b, np.nan)
    E = np.where(inside[..., 1:, :, None] & inside[..., :-1, None, :], E, np.nan)
    D, E, b = (array.astype(dtype) for array in (D, E, b))
    tolerance = 1e-12 if dtype == "float64" else 2e-5
    x = trifold.solve(D, E if N > 1 else None, b, sizes=sizes)
    found = trifold.marginals(D, E if N > 1 else None, b, sizes=sizes.astype("int32"))
    taken = trifold.solve(*trifold.shortened(D, E if N > 1 else None, b, sizes=sizes))
    np.testing.assert_allclose(taken, x, atol=tolerance)
    assert not x[~inside].any()
    rows = inside.reshape(-1, N * n)
    for k, (which, matrix) in enumerate(zip(rows, A.reshape(-1, N * n, N * n))):
        right, own = b.reshape(-1, N * n)[k, which], np.linalg.inv(matrix[which][:, which])
        np.testing.assert_allclose(x.reshape(-1, N * n)[k, which], own @ right, atol=tolerance)
        np.testing.assert_allclose(np.ravel(found.log_determinant)[k], -np.linalg.slogdet(own)[1], rtol=tolerance)
        np.testing.assert_allclose(np.ravel(found.quadratic)[k], right @ own @ right, rtol=10 * tolerance)
        diagonal = np.concatenate([np.diag(block) for block in found.diagonal.reshape(-1, N, n, n)[k]])
        np.testing.assert_allclose(diagonal[which], np.diag(own), atol=tolerance)


def test_ends_of_a_batch_lengths_and_a_border():
    D, E, b, A = band(6, 3, 1, (4,))
    E, sizes = E[:, :-1, 0], np.array([3, 3, 3, 3, 3, 1])
    rows = np.arange(18) < 16
    x = trifold.solve(D, E, b, sizes=sizes)
    for k in range(4):
        np.testing.assert_allclose(x[k].ravel()[rows], np.linalg.solve(A[k][rows][:, rows], b[k].ravel()[rows]), atol=1e-13)
    np.testing.assert_array_equal(trifold.solve(D, E, b, sizes=np.tile(sizes, (4, 1))), x)
    factor = trifold.factor(D, E, sizes=sizes)
    assert factor.plan.sizes
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(factor)).solve(b), factor.solve(b))
    lengths = np.array([6, 2, 0, 5])
    both = trifold.solve(D, E, b, sizes=sizes, lengths=lengths)
    np.testing.assert_allclose(both, trifold.solve(*trifold.shortened(D, E, b, lengths, sizes=sizes)), atol=1e-14)
    F, C, tip = RNG.normal(size=(4, 6, 2, 3)), np.tile(90 * np.eye(2), (4, 1, 1)), RNG.normal(size=(4, 2))
    F[:, 5, :, 1:] = np.nan
    found, found_tip = trifold.solve(D, E, (b, tip), border=(F, C), sizes=sizes)
    for k in range(4):
        arrow = F[k].transpose(1, 0, 2).reshape(2, 18)[:, rows]
        whole = np.block([[A[k][rows][:, rows], arrow.T], [arrow, C[k]]])
        expected = np.linalg.solve(whole, np.concatenate([b[k].ravel()[rows], tip[k]]))
        np.testing.assert_allclose(np.concatenate([found[k].ravel()[rows], found_tip[k]]), expected, atol=1e-13)


@pytest.mark.parametrize(("N", "w", "ring"), [(6, 2, False), (7, 3, False), (6, 2, True), (3, 3, True)])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_a_band_with_a_border(N, w, ring, columns):
    D, E, b, A = band(N, 2, w, (3,), ring=ring)
    F, C = RNG.normal(size=(3, N, 4, 2)), np.tile(200 * np.eye(4), (3, 1, 1))
    b, tip = b.reshape(*b.shape, *[1] * len(columns)) * np.ones(columns), RNG.normal(size=(3, 4, *columns))
    options = {"border": (F, C), "bandwidth": w, "ring": ring}
    factor, together = trifold.factor(D, E, **options), trifold.marginals(D, E, (b, tip), **options)
    for x, found in (trifold.solve(D, E, (b, tip), **options), factor.solve((b, tip)), together.x):
        for k in range(3):
            arrow = F[k].transpose(1, 0, 2).reshape(4, 2 * N)
            whole = np.block([[A[k], arrow.T], [arrow, C[k]]])
            expected = np.linalg.solve(whole, np.concatenate([b[k].reshape(2 * N, *columns), tip[k]]))
            np.testing.assert_allclose(np.concatenate([x[k].reshape(2 * N, *columns), found[k]]), expected, atol=1e-13)
    for diagonal, lower, arrow, corner in (factor.selected_inverse(), together[3:]):
        assert diagonal.shape == D.shape and lower.shape == E.shape
        for k in range(3):
            under = F[k].transpose(1, 0, 2).reshape(4, -1)
            inverse = np.linalg.inv(np.block([[A[k], under.T], [under, C[k]]]))
            blocks = inverse[: 2 * N, : 2 * N].reshape(N, 2, N, 2)
            np.testing.assert_allclose(corner[k], inverse[2 * N :, 2 * N :], atol=1e-14)
            for i in range(N):
                np.testing.assert_allclose(diagonal[k, i], blocks[i, :, i], atol=1e-14)
                np.testing.assert_allclose(arrow[k, i], inverse[2 * N :, 2 * i : 2 * i + 2], atol=1e-14)
                for j in range(w):
                    expected = blocks[(i + j + 1) % N, :, i] if ring or i + j + 1 < N else 0
                    np.testing.assert_allclose(lower[k, i, j], expected, atol=1e-14)


@pytest.mark.parametrize(("N", "w", "ring"), [(6, 2, False), (7, 3, False), (2, 4, False), (6, 2, True), (3, 3, True)])
def test_a_folded_band_is_a_chain(N, w, ring):
    D, E, b, _ = band(N, 2, w, (3,), ring=ring)
    x = trifold.solve(D, E, b, bandwidth=w, ring=ring)
    found = trifold.solve(*trifold.folded(D, E, b, ring=ring), ring=ring).reshape(3, -1, 2)[:, :N]
    np.testing.assert_allclose(found, x, atol=1e-14)
    if ring:
        more = r"a ring of 7 blocks is solved by 3 at a time, and 1 are left at its seam; give bandwidth = 7, with zeros in E beyond 3"
        D, E, b, _ = band(7, 2, 3, ring=True)
        for call in (lambda: trifold.solve(D, E, b, bandwidth=3, ring=True), lambda: trifold.folded(D, E, b, ring=True)):
            with pytest.raises(trifold.SpecError, match=more):
                call()
        return
    columns = trifold.solve(*trifold.folded(D[0], E[0], b[0][..., None])).reshape(-1, 2, 1)[:N]
    np.testing.assert_allclose(columns[..., 0], x[0], atol=1e-14)


def test_gradients_of_a_folded_band_in_torch_and_jax():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    import trifold.jax
    import trifold.torch

    jax.config.update("jax_enable_x64", True)
    D, E, b, A = band(5, 2, 2, beyond=0.0)
    x = np.linalg.solve(A, b.ravel())
    u = np.linalg.solve(A, np.ones(10)).reshape(5, 2)
    system = [torch.tensor(array, requires_grad=True) for array in (D, E, b)]
    trifold.torch.solve(*trifold.folded(*system)).reshape(-1, 2)[:5].sum().backward()
    of_jax = jax.grad(lambda E, b: trifold.jax.solve(*trifold.folded(D, E, b)).reshape(-1, 2)[:5].sum(), (0, 1))(E, b)
    x = x.reshape(5, 2)
    for i in range(5):
        for k in range(2):
            expected = -(np.outer(u[i + k + 1], x[i]) + np.outer(x[i + k + 1], u[i])) if i + k + 1 < 5 else np.zeros((2, 2))
            for gradient in (system[1].grad, of_jax[0]):
                np.testing.assert_allclose(gradient[i, k], expected, atol=1e-14)
    np.testing.assert_allclose(system[2].grad, u, atol=1e-14)
    np.testing.assert_allclose(of_jax[1], u, atol=1e-14)


def test_bad_bands_and_sizes_are_refused():
    D, E, b, _ = band(5, 2, 2, (2,))
    chain = E[:, :-1, 0]
    for words, coupling, options in [
        (r"sizes\[1\]\[4\] is 3; give 0 to 2", chain, {"sizes": np.array([[2] * 5, [2, 2, 2, 2, 3]])}),
        (r"sizes\[0\]\[1\] is -1", chain, {"sizes": np.array([2, -(2**40), 2, 2, 2])}),
        ("sizes has shape", chain, {"sizes": np.array([2, 2])}),
        ("sizes is .*; give whole numbers", chain, {"sizes": np.ones(5)}),
        ("bandwidth and sizes are not there yet together", E, {"sizes": 2, "bandwidth": 2}),
        ("bandwidth and lengths are not there yet together", E, {"lengths": 2, "bandwidth": 2}),
        ("bandwidth = 0 is out of range", chain, {"bandwidth": 0}),
        (r"E has shape \(2, 5, 2, 2, 2\); give \(N, 3, n, n\)", E, {"bandwidth": 3}),
        (r"E has shape \(2, 4, 2, 2\); give \(N, 2, n, n\)", chain, {"bandwidth": 2}),
        (r"E is missing; give \(2, 5, 2, 2, 2\)", None, {"bandwidth": 2}),
        ("mixed precision has no bandwidth", E, {"bandwidth": 2, "mixed": True}),
    ]:
        right = (b, np.ones((2, 1))) if "border" in options else b
        with pytest.raises(trifold.SpecError, match=words):
            trifold.solve(D, coupling, right, **options)
    with pytest.raises(trifold.SpecError, match="make a Plan with sizes=True"):
        trifold.Plan(block=2, horizon=5, batch=2).solver().factor(D, chain, sizes=2)
    with pytest.raises(trifold.SpecError, match=r"sizes has shape \(2,\); give \(2, 5\)"):
        trifold.shortened(D, chain, b, sizes=np.array([1, 2]))
    with pytest.raises(trifold.SpecError, match=r"E has shape .*; give \(5, 1, 2, 2\)"):
        trifold.folded(D, chain[:, :, None], b)
    with pytest.raises(trifold.SpecError, match="ab has shape"):
        trifold.solveh_banded(np.ones(3), np.ones(3))
    with pytest.raises(trifold.SpecError, match=r"b has shape \(3,\); give \(4,\), or \(4, 'm'\)"):
        trifold.solveh_banded(np.ones((2, 4)), np.ones(3))
    with pytest.raises(trifold.NotPositiveDefinite, match="block 3"):
        D[0, 3] = -1
        trifold.solve(D[0], E[0], b[0], bandwidth=2)
