"""Steps of refinement, against products with dense matrices."""

import numpy as np
import pytest
import trifold
from signs_test import quasi_definite


def backward_error(A, x, b):
    """The largest |b - A x| / (|A| |x| + |b|) of a row, by member, in long double."""
    A, x, b = (np.asarray(part, np.longdouble) for part in (A, x, b))
    product = (A * x[..., None, :]).sum(-1)
    return (np.abs(b - product) / ((np.abs(A) * np.abs(x)[..., None, :]).sum(-1) + np.abs(b))).max(-1).astype(float)


def chains(dtype="float64", N=7, n=4, seed=0):
    rng = np.random.default_rng(seed)
    D, E = quasi_definite(rng, (3,), N, n)
    return *(part.astype(dtype) for part in (D, E)), rng.normal(size=(3, N, n)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_factor_refines(dtype):
    D, E, b = chains(dtype)
    A, epsilon = trifold.to_dense(D.astype(float), E.astype(float)), np.finfo(dtype).eps
    f = trifold.factor(D, E, matrix="symmetric")
    start = f.solve(b) * np.asarray(1.001, dtype)
    found = f.refine(D, E, b, start)
    assert found.x.dtype == dtype and found.backward_error.shape == (3,) and found.backward_error.dtype == np.float64
    error = backward_error(A, found.x.reshape(3, -1), b.reshape(3, -1))
    assert (error < 2 * epsilon).all() and np.allclose(found.backward_error, error, rtol=0, atol=1e-15)
    assert backward_error(A, start.reshape(3, -1), b.reshape(3, -1)).min() > 1e-5  # it is left as it was
    assert "refine" in f.plan.operations and (f.status.negative == (np.linalg.eigvalsh(A) < 0).sum(-1)).all()
    assert np.allclose(f.solve(b), found.x, rtol=1e3 * epsilon, atol=1e3 * epsilon)  # the factor has moved, and is the same
    one = trifold.factor(D[0], E[0], matrix="symmetric").refine(D[0], E[0], b[0], start[0])
    assert one.backward_error.shape == () and np.abs(one.x - found.x[0]).max() < 10 * epsilon


@pytest.mark.parametrize("options", ["ring", "lengths", "sizes", "bandwidth", "columns", "one A", "shift"])
def test_solve_refines(options):
    rng = np.random.default_rng(7)
    N, n = 6, 3
    D, E = np.tile(8 * np.eye(n), (2, N, 1, 1)), rng.normal(size=(2, N - 1, n, n))
    b, given = rng.normal(size=(2, N, n)), {}
    if options == "ring":
        E, given = rng.normal(size=(2, N, n, n)), {"ring": True}
    elif options == "bandwidth":
        E, given = 0.5 * rng.normal(size=(2, N, 2, n, n)), {"bandwidth": 2}
    elif options == "columns":
        b = rng.normal(size=(2, N, n, 70))
    elif options == "one A":
        D, E = D[0], E[0]
    elif options == "shift":
        given = {"shift": np.array([1.0, 2.0]), "diagonal": rng.uniform(size=(2, N, n))}
    else:
        given = {options: np.array([4, 6]) if options == "lengths" else np.array([[3, 2, 3, 0, 1, 3], [1, 1, 2, 3, 3, 2]])}
    x = trifold.solve(D, E, b, **given)
    refined = trifold.solve(D, E, b, refine=2, **given)
    assert refined.shape == x.shape and np.abs(refined - x).max() < 1e-14
    assert ((refined == 0) == (x == 0)).all()


def test_digits_that_growth_has_taken_come_back():
    N = 9
    D, E = np.tile(np.array([[1e-7, 1], [1, 0]]), (N, 1, 1)), np.zeros((N - 1, 2, 2))
    E[:, 1, 0] = 0.25
    b = np.random.default_rng(0).normal(size=(N, 2))
    exact = np.linalg.solve(trifold.to_dense(D, E), b.reshape(-1)).reshape(N, 2)
    error = [np.abs(trifold.solve(D, E, b, matrix="symmetric", refine=k) - exact).max() / np.abs(exact).max() for k in range(3)]
    assert error[0] > 1e-12 and error[1] < error[0] / 100 and error[2] < 1e-15, error


def test_members_that_fail_are_nan():
    D, E, b = chains()
    D[1, 2] = 0
    E[1] = 0
    x = trifold.solve(D, E, b, matrix="symmetric", refine=1, check=False)
    assert np.isnan(x[1]).all() and np.isfinite(x[[0, 2]]).all()
    f = trifold.factor(D, E, matrix="symmetric", check=False)
    error = f.refine(D, E, b, f.solve(b)).backward_error
    assert np.isnan(error[1]) and (error[[0, 2]] < 1e-15).all()


def test_a_plan_that_refines():
    D, E, b = chains()
    solver = trifold.Plan(block=4, horizon=7, batch=3, matrix="symmetric", operations="factor_solve,refine").solver()
    x = solver.factor_solve(D, E, b)
    error = solver.refine(D, E, b, x)
    assert (solver.refinement().backward_error == error).all() and (solver.refinement().iterations == 1).all()
    plain = trifold.Plan(block=4, horizon=7, batch=3, matrix="symmetric").solver()
    plain.factor(D, E)
    with pytest.raises(trifold.SpecError, match="no kernels for refine; add it"):
        plain.refine(D, E, b, x)
    with pytest.raises(trifold.SpecError, match="X .* overlaps B"):
        solver.refine(D, E, x, x)
    with pytest.raises(trifold.SpecError, match="x is None"):
        solver.refine(D, E, b, None)


def test_what_is_refused():
    D, E, b = chains()
    with pytest.raises(trifold.SpecError, match="mixed precision refines every solution"):
        trifold.solve(4 * np.ones((1, 1, 1)), None, np.ones((1, 1)), mixed=True, refine=1)
    with pytest.raises(trifold.SpecError, match="refinement with a border"):
        trifold.solve(D, E, (b, np.ones((3, 1))), border=(np.ones((3, 7, 1, 4)), np.ones((3, 1, 1))), refine=1)
    with pytest.raises(trifold.SpecError, match="refine = -1 is out of range"):
        trifold.solve(D, E, b, refine=-1)
    with pytest.raises(trifold.SpecError, match="D has shape"):
        trifold.factor(D, E, matrix="symmetric").refine(D[:2], E[:2], b[:2], b[:2].copy())


def test_arrays_of_torch_and_jax():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    D, E, b = chains("float32")
    plain = trifold.solve(D, E, b, matrix="symmetric", refine=1)
    tensors = [torch.from_numpy(part) for part in (D, E, b)]
    x = trifold.solve(*tensors, matrix="symmetric", refine=1)
    assert isinstance(x, torch.Tensor) and (x.numpy() == plain).all()
    f = trifold.factor(*tensors[:2], matrix="symmetric")
    found = f.refine(*tensors, f.solve(tensors[2]))
    assert isinstance(found.backward_error, torch.Tensor) and (found.x.numpy() == plain).all()
    arrays = [jax.numpy.asarray(part) for part in (D, E, b)]
    x = trifold.solve(*arrays, matrix="symmetric", refine=1)
    assert isinstance(x, jax.Array) and (np.asarray(x) == plain).all()
    f = trifold.factor(*arrays[:2], matrix="symmetric")
    found = f.refine(*arrays, f.solve(arrays[2]))
    assert isinstance(found.x, jax.Array) and (np.asarray(found.x) == plain).all()


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_statuses_are_copied(library):
    D, E, b = chains()
    D[1, 2] = 0
    E[1] = 0
    if library == "torch":
        torch = pytest.importorskip("torch")
        D, E = torch.from_numpy(D), torch.from_numpy(E)
    solver = trifold.Plan(block=4, horizon=7, batch=3, matrix="symmetric").solver()
    solver.factor(D, E, check=False)
    copied, status = solver.copy_status(), solver.status()
    for name in copied._fields:
        assert (np.asarray(getattr(copied, name)) == getattr(status, name))[[0, 2]].all(), name
    assert int(copied.block[1]) == 2 and type(copied.block).__module__.startswith(library)
    plain = trifold.factor(np.eye(2)[None], None)
    found = plain._solver.copy_status()
    assert int(found.block) == -1 and float(found.least_pivot) == 1 and found.negative is None
