"""General matrices, with U above the diagonal: solutions, the transpose and the determinant against dense ones; derivatives in torch and
JAX; tridiagonal systems as JAX has them."""

import pickle

import numpy as np
import pytest
import trifold

TOLERANCE = {"float64": 1e-12, "float32": 1e-4}


def system(n, N, batch=None, ring=False, dtype="float64", columns=None, seed=0):
    """The largest entries of D's blocks are off the diagonal, so that rows have to be interchanged."""
    rng, front = np.random.default_rng(seed + 10 * n + N), () if batch is None else (batch,)
    couplings = N if ring else N - 1
    D = rng.uniform(-1, 1, (*front, N, n, n)) + (3 + n) * np.roll(np.eye(n), n // 2, 1)
    E, U = (rng.uniform(-1, 1, (*front, couplings, n, n)) for _ in range(2))
    b = rng.uniform(-1, 1, (*front, N, n) if columns is None else (*front, N, n, columns))
    return tuple(part.astype(dtype) for part in (D, E, U, b))


def dense(D, E, U, ring=False):
    """A, block by block."""
    D, E, U = (np.asarray(part, np.float64) for part in (D, E, U))
    N, n = D.shape[-3:-1]
    A = np.zeros((*D.shape[:-3], N, n, N, n))
    for i in range(N):
        A[..., i, :, i, :] += D[..., i, :, :]
    for i in range(N if ring else N - 1):
        A[..., (i + 1) % N, :, i, :] += E[..., i, :, :]
        A[..., i, :, (i + 1) % N, :] += U[..., i, :, :]
    return A.reshape(*D.shape[:-3], N * n, N * n)


def solution(A, b, inner):
    """A^-1 b in the shape of b, whose axes behind the batch are inner."""
    rows = A.shape[-1]
    right = np.asarray(b, np.float64).reshape(*A.shape[:-2], rows, -1)
    return np.linalg.solve(A, right).reshape(np.shape(b))


def transposed(A):
    return np.swapaxes(A, -1, -2)


def close(found, exact, dtype="float64"):
    return np.abs(np.asarray(found, np.float64) - exact).max() <= TOLERANCE[dtype] * max(1.0, np.abs(exact).max())


@pytest.mark.parametrize("n, N", [(1, 1), (1, 9), (2, 2), (3, 4), (5, 3), (7, 20), (17, 5), (33, 3)])
@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_solves_with_A_and_its_transpose(n, N, ring, dtype):
    D, E, U, b = system(n, N, 3, ring, dtype, columns=2)
    A = dense(D, E, U, ring)
    E, U = (E, U) if E.shape[1] else (None, None)
    options = {"ring": ring, "upper": U, **({} if U is not None else {"matrix": "general"})}
    assert close(trifold.solve(D, E, b, **options), solution(A, b, (N, n)), dtype)
    factor = trifold.factor(D, E, **options)
    assert factor.plan.matrix == "general" and factor.plan.variant.startswith("getrf")
    assert close(factor.solve(b), solution(A, b, (N, n)), dtype)
    assert close(factor.solve_transposed(b), solution(transposed(A), b, (N, n)), dtype)
    y = factor.forward(b)
    assert close(factor.backward(y), solution(A, b, (N, n)), dtype)
    sign, log = np.linalg.slogdet(A)
    assert (factor.determinant_sign() == sign).all()
    assert np.allclose(factor.log_determinant(), log, rtol=0, atol=N * n * TOLERANCE[dtype])
    x = np.asarray(b)
    product = (A @ x.reshape(3, N * n, 2)).reshape(b.shape)
    assert close(trifold.matvec(D, E, b, ring=ring, upper=U) if U is not None else product, product, dtype)
    assert U is None or close(trifold.to_dense(D, E, ring=ring, upper=U), A, dtype)


def test_one_system_and_batch_axes_that_some_arrays_have():
    D, E, U, b = system(3, 4)
    exact = solution(dense(D, E, U), b, (4, 3))
    assert close(trifold.solve(D, E, b, upper=U), exact)
    factor = trifold.factor(D, E, upper=U)
    assert factor.determinant_sign().shape == () and factor.determinant_sign() in (-1, 1)
    many = np.random.default_rng(1).normal(size=(5, 4, 3))
    assert close(factor.solve_transposed(many)[2], solution(transposed(dense(D, E, U)), many[2], (4, 3)))
    above = np.stack([U, 2 * U])
    x = trifold.solve(D, E, many[:2], upper=above)
    for k in range(2):
        assert close(x[k], solution(dense(D, E, above[k]), many[k], (4, 3)))
    x = trifold.solve(D[None], E, many[0], upper=above)
    assert x.shape == (2, 4, 3) and close(x[1], solution(dense(D, E, above[1]), many[0], (4, 3)))
    x = trifold.solve(D[None], E[None], many, upper=U)
    assert x.shape == (5, 4, 3) and close(x[4], solution(dense(D, E, U), many[4], (4, 3)))
    integers = trifold.solve((4 * D).astype(int).tolist(), (4 * E).astype(int), [[1, 2, 3]] * 4, upper=(4 * U).astype(int))
    assert close(
        integers, solution(dense((4 * D).astype(int), (4 * E).astype(int), (4 * U).astype(int)), np.array([[1.0, 2, 3]] * 4), (4, 3))
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("ring", [False, True])
def test_refinement(dtype, ring):
    D, E, U, b = system(4, 6, 3, ring, dtype, columns=2)
    b *= 1e3
    A = dense(D, E, U, ring)
    epsilon = np.finfo(dtype).eps
    x = trifold.solve(D, E, b, upper=U, ring=ring, refine=2)
    assert close(x, solution(A, b, (6, 4)), dtype)
    factor = trifold.factor(D, E, upper=U, ring=ring)
    better, error = factor.refine(D, E, b, x + np.asarray(1e-3, dtype) * x, upper=U)
    better, error = factor.refine(D, E, b, better, upper=U)
    assert (np.asarray(error) <= 4 * epsilon).all()
    assert close(better, solution(A, b, (6, 4)), dtype)
    with pytest.raises(trifold.SpecError, match="upper"):
        factor.refine(D, E, b, x)


def test_shift_diagonal_mask_and_widening():
    D, E, U, b = system(2, 5, 3)
    diagonal, shift = np.random.default_rng(2).normal(size=(3, 5, 2)), np.array([0.0, 1.0, 2.0])
    A = dense(D, E, U) + (diagonal + shift[:, None, None]).reshape(3, 10, 1) * np.eye(10)
    assert close(trifold.solve(D, E, b, upper=U, shift=shift, diagonal=diagonal), solution(A, b, (5, 2)))
    D[1] = U[1] = np.nan
    x = trifold.solve(D, E, b, upper=U, active=[True, False, True])
    exact = solution(dense(D[::2], E[::2], U[::2]), b[::2], (5, 2))
    assert close(x[::2], exact)
    D, E, U, b = system(4, 6, columns=9)
    factor = trifold.factor(D, E, upper=U)
    assert close(factor.solve(b), solution(dense(D, E, U), b, (6, 4))) and factor.plan.rhs > 1
    assert close(factor.solve_transposed(b), solution(transposed(dense(D, E, U)), b, (6, 4)))


def test_failures():
    D, E, U, b = system(3, 4, 3)
    A = dense(D, E, U)
    D[1, 2, :, 1] = U[1, 1, :, 1] = E[1, 2, :, 1] = 0  # a column of zeros
    with pytest.raises(trifold.NotPositiveDefinite, match="1 of 3 general matrices .*member 1 at block 2, row 1") as caught:
        trifold.solve(D, E, b, upper=U)
    assert [tuple(failure) for failure in caught.value.failures] == [(1, 2, 1)]
    factor = trifold.factor(D, E, upper=U, check=False)
    x = factor.solve(b)
    assert np.isnan(x[1]).all() and close(x[::2], solution(A[::2], b[::2], (4, 3)))
    assert np.isnan(factor.determinant_sign()[1]) and np.isnan(factor.log_determinant()[1])
    D[1, 0] = 1e-12 * D[0, 0]  # blocks are not interchanged, so what is behind a small one grows
    with pytest.raises(trifold.Unsolvable):
        trifold.solve(D[1:2], E[1:2], b[1:2], upper=U[1:2])


def test_condition():
    D, E, U, _ = system(3, 5, 4)
    D[1, 2] *= np.array([1, 1e5, 1e-5])[:, None]
    D[2, 2] *= np.array([1, 1e5, 1e-5])
    D[3, 0] = np.ones((3, 3)) + np.diag([0, 1e-6, 2e-6])
    found = trifold.factor(D, E, upper=U, accept_nearly_singular=True).reciprocal_condition(D, E, upper=U)
    A = dense(D, E, U)
    A = A / np.abs(A).max(-1, keepdims=True)
    A = A / np.abs(A).max(-2, keepdims=True)
    exact = 1 / (np.abs(A).sum(1).max(1) * np.abs(np.linalg.inv(A)).sum(1).max(1))
    assert (found >= 0.999 * exact).all() and (found <= 3 * exact).all()


def test_a_plan_and_its_solver():
    D, E, U, b = system(4, 6, 2)
    A = dense(D, E, U)
    plan = trifold.Plan(block=4, horizon=6, batch=2, matrix="general")
    assert "matrix='general'" in repr(plan) and pickle.loads(pickle.dumps(plan)).matrix == "general"
    solver, out = plan.solver(), np.empty_like(b)
    assert solver.factor_solve(D, E, b, out, upper=U) is out and close(out, solution(A, b, (6, 4)))
    assert solver.solve_transposed(b, out) is out and close(out, solution(transposed(A), b, (6, 4)))
    solver.factor(D[:1], E[:1], upper=U[:1])
    assert close(solver.solve(b[:1]), solution(A[:1], b[:1], (6, 4)))
    alone = trifold.Plan(block=4, horizon=6, batch=2, matrix="general", operations="factor,solve_transposed").solver()
    alone.factor(D, E, upper=U)
    assert close(alone.solve_transposed(b), solution(transposed(A), b, (6, 4)))
    value = np.zeros(plan.value_bytes + 64, np.uint8)
    value = value[-value.ctypes.data % 64 :][: plan.value_bytes]
    plan.solver(value).factor(D, E, upper=U)
    assert close(plan.solver(plan.copy_value(value)).solve_transposed(b), solution(transposed(A), b, (6, 4)))
    factor = pickle.loads(pickle.dumps(trifold.factor(D, E, upper=U)))
    assert close(factor.solve_transposed(b), solution(transposed(A), b, (6, 4)))


def test_refusals():
    D, E, U, b = system(2, 3)
    symmetric = (D + np.swapaxes(D, 1, 2) + 20 * np.eye(2), E)
    refused = [
        (lambda: trifold.solve(D, E, b, matrix="general"), "upper, the blocks .* is missing; give \\(2, 2, 2\\)"),
        (lambda: trifold.solve(D, E, b, matrix="symmetric", upper=U), "upper has blocks of a general matrix, and matrix is 'symmetric'"),
        (lambda: trifold.solve(D, E, b, matrix="positive-definite", upper=U), "matrix is 'positive-definite'"),
        (lambda: trifold.solve(D, E, b, upper=U[:1]), "upper.* has shape \\(1, 2, 2\\); give \\(2, 2, 2\\)"),
        (lambda: trifold.solve(D, E, b, upper=U.astype(np.float32)), "upper.*float32"),
        (lambda: trifold.solve(D, E, b, upper=U, mixed=True), "mixed precision is for positive definite matrices"),
        (lambda: trifold.solve(D, E, b, upper=U, lengths=2), "a general matrix with lengths is not there yet"),
        (lambda: trifold.solve(D, E, b, upper=U, sizes=2), "a general matrix with sizes is not there yet"),
        (lambda: trifold.solve(D, np.zeros((3, 2, 2, 2)), b, upper=U, bandwidth=2), "a general matrix with bandwidth is not there yet"),
        (lambda: trifold.solve(D, E, (b, b[0, :1]), upper=U, border=(D[:, :1], D[0, :1, :1])), "with border is not there yet"),
        (lambda: trifold.solve(D, E, b, upper=U, pivot_floor=1e-8), "pivot_floor"),
        (lambda: trifold.marginals(D, E, b, upper=U), "a general matrix has no marginals"),
        (lambda: trifold.factor(D, E, upper=U).quadratic(b), "a general matrix has no quadratic; multiply b and solve"),
        (lambda: trifold.factor(D, E, upper=U).selected_inverse(), "inverse"),
        (lambda: trifold.factor(D, E, upper=U).sample(), "is the precision of no Gaussian"),
        (lambda: trifold.factor(D, E, upper=U).reciprocal_condition(D, E), "upper, the blocks .* is missing"),
        (lambda: trifold.Plan(block=2, horizon=3).solver().factor(*symmetric, upper=U), "upper is for general matrices"),
        (lambda: trifold.Plan(block=2, horizon=3).solver().solve_transposed(b), "solve_transposed"),
        (lambda: trifold.matvec(D, E, b, upper=U[:1]), "upper has shape \\(1, 2, 2\\); give \\(2, 2, 2\\)"),
        (lambda: trifold.matvec(D, E, b, upper=U, lengths=2), "a general matrix with lengths"),
    ]
    for call, words in refused:
        with pytest.raises(trifold.SpecError, match=words):
            call()
    assert close(trifold.factor(*symmetric).solve_transposed(b), trifold.solve(*symmetric, b))
    assert trifold.factor(*symmetric).determinant_sign() == 1
    assert trifold.factor(-symmetric[0], E, matrix="symmetric").determinant_sign() == 1  # of six rows


def test_operators():
    linalg = pytest.importorskip("scipy.sparse.linalg")
    D, E, U, b = system(3, 4)
    A, operator = dense(D, E, U), trifold.operators.chain(D, E, U)
    inverse = trifold.operators.inverse(trifold.factor(D, E, upper=U))
    assert close(operator @ b.ravel(), A @ b.ravel()) and close(operator.rmatvec(b.ravel()), A.T @ b.ravel())
    assert close(inverse.rmatvec(b.ravel()), np.linalg.solve(A.T, b.ravel()))
    x, status = linalg.gmres(operator, b.ravel(), M=inverse, rtol=1e-12)
    assert status == 0 and close(x, np.linalg.solve(A, b.ravel()))


# torch


def tensors(*arrays):
    torch = pytest.importorskip("torch")
    return tuple(torch.tensor(array, requires_grad=True) for array in arrays)


def of_dense(torch, D, E, U, b, ring=False, turned=False):
    """A^-1 b by torch.linalg."""
    A = trifold.to_dense(D, E, ring=ring, upper=U)
    A = A.mT if turned else A
    return torch.linalg.solve(A, b.reshape(*A.shape[:-1], -1)).reshape(b.shape)


@pytest.mark.parametrize(
    "ring, n, N, batch, columns",
    [(False, 3, 4, None, None), (False, 2, 3, 2, 2), (True, 2, 4, 2, None), (True, 2, 1, None, 3), (True, 2, 2, None, None)],
)
def test_torch_gradients(ring, n, N, batch, columns):
    torch = pytest.importorskip("torch")
    import trifold.torch as tt

    arguments = tensors(*system(n, N, batch, ring, columns=columns))
    for turned in (False, True):

        def solved(D, E, U, b, turned=turned):
            factor = tt.factor(D, E, upper=U, ring=ring)
            return factor.solve_transposed(b) if turned else tt.solve(D, E, b, upper=U, ring=ring)

        found, exact = solved(*arguments), of_dense(torch, *arguments, ring, turned)
        assert torch.allclose(found, exact, rtol=1e-9, atol=1e-11)
        weights = torch.randn(found.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        for one, other in zip(*(torch.autograd.grad(x, arguments, weights) for x in (found, exact))):
            assert torch.allclose(one, other, rtol=1e-8, atol=1e-10)
        assert torch.autograd.gradcheck(solved, arguments)
    assert torch.autograd.gradgradcheck(lambda *given: tt.solve(*given[:2], given[3], upper=given[2], ring=ring), arguments)


def test_torch_alone_and_transformed():
    torch = pytest.importorskip("torch")
    import trifold.torch as tt

    D, E, U, b = tensors(*system(2, 1)[:1], *system(2, 1)[:1], *system(2, 1)[:1], system(2, 1)[3])
    assert torch.autograd.gradcheck(lambda D, b: tt.factor(D, None, upper=E[:0]).solve(b), (D, b))
    D, E, U, b = (x.detach() for x in tensors(*system(3, 4, 5)))
    exact = of_dense(torch, D, E, U, b)
    call = lambda D, E, U, b: tt.solve(D, E, b, upper=U)  # noqa: E731
    assert torch.allclose(torch.func.vmap(call)(D, E, U, b), exact)
    assert torch.allclose(torch.func.vmap(call, (0, None, 0, 0))(D, E[0], U, b), of_dense(torch, D, E[:1].expand_as(E), U, b))
    assert torch.allclose(torch.func.vmap(call, (None, None, None, 0))(D[0], E[0], U[0], b)[2], of_dense(torch, D[0], E[0], U[0], b[2]))
    twice = torch.func.vmap(call)(*(torch.stack([x, x]) for x in (D, E, U, b)))
    assert torch.allclose(twice[1], exact)
    loss = lambda D, E, U, b: call(D, E, U, b).square().sum()  # noqa: E731
    of_dense_loss = lambda D, E, U, b: of_dense(torch, D, E, U, b).square().sum()  # noqa: E731
    everything = (0, 1, 2, 3)
    for found, expected in zip(*(torch.func.vmap(torch.func.grad(f, everything))(D, E, U, b) for f in (loss, of_dense_loss))):
        assert torch.allclose(found, expected, rtol=1e-8, atol=1e-10)
    narrow = [x.float().requires_grad_() for x in (D, E, U, b)]
    x = call(*narrow)
    assert x.dtype == torch.float32 and torch.allclose(x.double(), exact, rtol=1e-4, atol=1e-5)
    assert all(g.dtype == torch.float32 and g.isfinite().all() for g in torch.autograd.grad(x.sum(), narrow))
    x = torch.compile(call, backend="eager")(D, E, U, b)
    assert torch.allclose(x, exact)


def test_torch_factor_and_refusals():
    torch = pytest.importorskip("torch")
    import trifold.torch as tt

    D, E, U, b = tensors(*system(3, 4, 2))
    plain = tt.factor(*(x.detach() for x in (D, E)), upper=U.detach())
    assert torch.allclose(plain.log_determinant(), torch.linalg.slogdet(trifold.to_dense(D, E, upper=U)).logabsdet)
    assert torch.equal(pickle.loads(pickle.dumps(plain)).solve(b), plain.solve(b))
    bad = U.detach().clone(), D.detach().clone()
    refused = [
        (lambda: tt.factor(D, E, upper=U).log_determinant(), "no derivatives"),
        (lambda: tt.solve(D, E, b, upper=U[:, :1]), "upper has shape \\(2, 1, 3, 3\\); give \\(2, 3, 3, 3\\)"),
        (lambda: tt.solve(D, None, b, upper=U), "E is missing"),
        (lambda: tt.solve(D, E, b, upper=U.float()), "upper is torch.float32"),
        (lambda: tt.solve(D, E, b[:, :3], upper=U), "b has shape"),
        (lambda: tt.solve(D, E, b, upper=U, lengths=2), "a general matrix with lengths"),
        (lambda: tt.solve(D, E, b, upper=U, border=(D, D)), "a general matrix with a border"),
        (lambda: tt.solve(D, E, b, upper=U, triangle="lower"), "all of D is read"),
        (lambda: tt.solve(D, E, b, upper=bad[0].numpy()), "upper is a ndarray; give a tensor"),
    ]
    for call, words in refused:
        with pytest.raises(trifold.SpecError, match=words):
            call()
    bad[1][1] = 0
    with pytest.raises(trifold.NotPositiveDefinite, match="member 1 at block 0, row 0"):
        tt.solve(bad[1], E, b, upper=U)
    x = tt.solve(bad[1], E, b, upper=U, check=False)
    assert x[1].isnan().all() and x[0].isfinite().all()


@pytest.mark.parametrize("shape, columns", [((1,), 1), ((7,), 2), ((2, 3, 6), 1)])
def test_torch_tridiagonal(shape, columns):
    torch = pytest.importorskip("torch")
    import trifold.torch as tt

    rng = np.random.default_rng(3)
    dl, d, du = (rng.normal(size=shape) for _ in range(3))
    arguments = tensors(dl, d + 4, du, rng.normal(size=(*shape, columns)))

    def by_dense(dl, d, du, b):
        A = torch.diag_embed(d) + torch.diag_embed(dl[..., 1:], -1) + torch.diag_embed(du[..., :-1], 1)
        return torch.linalg.solve(A, b)

    found, exact = tt.tridiagonal_solve(*arguments), by_dense(*arguments)
    assert torch.allclose(found, exact, rtol=1e-10, atol=1e-12)
    assert torch.autograd.gradcheck(tt.tridiagonal_solve, arguments)
    if len(shape) > 1:
        assert torch.allclose(torch.func.vmap(tt.tridiagonal_solve)(*arguments), exact)
    with pytest.raises(trifold.SpecError, match="dl, d and du have shapes"):
        tt.tridiagonal_solve(arguments[0][..., :0], *arguments[1:])
    with pytest.raises(trifold.SpecError, match="b has shape"):
        tt.tridiagonal_solve(*arguments[:3], arguments[1])


# JAX


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax")
    if not trifold.info()["jax"]:
        pytest.skip("built without the headers of XLA's FFI")
    with jax.default_device(jax.devices("cpu")[0]):
        jax.config.update("jax_enable_x64", True)
        yield jax


def by_jnp(jax, D, E, U, b, ring=False, turned=False):
    A = trifold.to_dense(D, E, ring=ring, upper=U)
    A = A.mT if turned else A
    return jax.numpy.linalg.solve(A, b.reshape(*A.shape[:-1], -1)).reshape(b.shape)


@pytest.mark.parametrize(
    "ring, n, N, batch, columns", [(False, 3, 4, None, None), (True, 2, 4, 2, 2), (False, 2, 1, None, None), (True, 2, 2, None, None)]
)
def test_jax_derivatives(jax, ring, n, N, batch, columns):
    import trifold.jax as tj
    from jax.test_util import check_grads

    arguments = tuple(map(jax.numpy.asarray, system(n, N, batch, ring, columns=columns)))

    def solved(D, E, U, b):
        return tj.solve(D, E, b, upper=U, ring=ring)

    def by_factor(D, E, U, b):
        f = tj.factor(D, E, upper=U, ring=ring)
        return f.solve(b) + 2 * f.solve_transposed(b)

    def both(D, E, U, b):
        return by_jnp(jax, D, E, U, b, ring) + 2 * by_jnp(jax, D, E, U, b, ring, True)

    assert np.allclose(solved(*arguments), by_jnp(jax, *arguments, ring), rtol=1e-10, atol=1e-12)
    assert np.allclose(jax.jit(by_factor)(*arguments), both(*arguments), rtol=1e-10, atol=1e-12)
    check_grads(solved, arguments, 2 if n == 3 else 1)
    losses = [lambda *given, f=f: (f(*given) ** 2).sum() for f in (by_factor, both)]
    for found, exact in zip(*(jax.jit(jax.grad(loss, (0, 1, 2, 3)))(*arguments) for loss in losses)):
        assert np.allclose(found, exact, rtol=1e-8, atol=1e-10)


def test_jax_batches(jax):
    import trifold.jax as tj

    D, E, U, b = map(jax.numpy.asarray, system(3, 4, 5))
    exact = by_jnp(jax, D, E, U, b)
    call = lambda D, E, U, b: tj.solve(D, E, b, upper=U)  # noqa: E731
    assert np.allclose(jax.vmap(call)(D, E, U, b), exact)
    assert np.allclose(jax.vmap(call, (None, None, 0, None))(D[0], E[0], U, b[0])[3], by_jnp(jax, D[0], E[0], U[3], b[0]))
    assert np.allclose(jax.vmap(call, (None, None, None, 0))(D[0], E[0], U[0], b)[2], by_jnp(jax, D[0], E[0], U[0], b[2]))
    gradient = jax.vmap(jax.grad(lambda *given: call(*given).sum(), (0, 2)))(D, E, U, b)
    expected = jax.vmap(jax.grad(lambda *given: by_jnp(jax, *given).sum(), (0, 2)))(D, E, U, b)
    assert all(np.allclose(*pair, rtol=1e-8, atol=1e-10) for pair in zip(gradient, expected))
    narrow = [x.astype(np.float32) for x in (D, E, U, b)]
    assert call(*narrow).dtype == np.float32 and np.allclose(call(*narrow), exact, rtol=1e-4, atol=1e-5)
    factor = jax.jit(lambda D, E, U: tj.factor(D, E, upper=U))(D, E, U)
    assert np.allclose(factor.solve(b), exact) and np.allclose(factor.solve_transposed(b), by_jnp(jax, D, E, U, b, turned=True))
    assert np.allclose(factor.log_determinant(), np.linalg.slogdet(dense(D, E, U))[1])
    bad = D.at[1].set(0)
    x = call(bad, E, U, b)
    assert np.isnan(x[1]).all() and np.allclose(x[0], exact[0])
    refused = [
        (lambda: jax.grad(lambda D: tj.factor(D, E, upper=U).log_determinant().sum())(D), "no derivatives"),
        (lambda: tj.solve(D, E, b, upper=U[:, :1]), "upper has shape"),
        (lambda: tj.solve(D, None, b, upper=U), "E is missing"),
        (lambda: tj.solve(D, E, b, upper=narrow[2]), "upper is float32"),
        (lambda: tj.solve(D, E, b, upper=U, sizes=2), "a general matrix with sizes"),
    ]
    for refusal, words in refused:
        with pytest.raises(trifold.SpecError, match=words):
            refusal()


@pytest.mark.parametrize("shape, columns", [((1,), 1), ((7,), 2), ((2, 3, 6), 1)])
def test_jax_tridiagonal(jax, shape, columns):
    import trifold.jax as tj
    from jax.test_util import check_grads

    rng = np.random.default_rng(3)
    dl, d, du, b = (jax.numpy.asarray(rng.normal(size=of)) for of in (shape, shape, shape, (*shape, columns)))
    d = d + 4
    dl, du = dl.at[..., 0].set(0), du.at[..., -1].set(0)
    exact = jax.lax.linalg.tridiagonal_solve(dl, d, du, b) if shape[-1] > 1 else b / d[..., None]
    assert np.allclose(tj.tridiagonal_solve(dl, d, du, b), exact, rtol=1e-10, atol=1e-12)
    assert np.allclose(tj.tridiagonal_solve(dl + np.eye(shape[-1])[0], d, du, b), exact, rtol=1e-10, atol=1e-12)  # dl[0] is not used
    check_grads(tj.tridiagonal_solve, (dl, d, du, b), 1)
    if len(shape) > 1:
        assert np.allclose(jax.jit(jax.vmap(tj.tridiagonal_solve))(dl, d, du, b), exact)
    with pytest.raises(trifold.SpecError, match="b has shape"):
        tj.tridiagonal_solve(dl, d, du, d)
