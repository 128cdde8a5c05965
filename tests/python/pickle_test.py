"""Plans, Solvers and factors go through pickles and copies."""

import copy
import pickle
import subprocess
import sys

import grids
import numpy as np
import pytest
import trifold
from problems import make, rhs, solution


def test_plans():
    plan = trifold.Plan(block=3, horizon=7, dtype="float32", batch=4, rhs=2, schedule="recursive:2", operations="factor,solve")
    again = pickle.loads(pickle.dumps(plan))
    assert again.handle == plan.handle and repr(again) == repr(plan) and again.operations == plan.operations
    assert pickle.loads(pickle.dumps(trifold.Plan(block=3, horizon=7, dtype="mixed"))).dtype == "mixed"


def test_solvers():
    D, E = make(3, 7, 4)
    b = rhs(3, 7, 4)
    plan = trifold.Plan(block=3, horizon=7, batch=4)
    empty = pickle.loads(pickle.dumps(plan.solver()))
    np.testing.assert_allclose(empty.factor_solve(D, E, b), solution(D, E, b), rtol=1e-10, atol=1e-12)
    solver = plan.solver(plan.copy_value(np.zeros(plan.value_bytes, np.uint8)))
    solver.factor(D[:3], E[:3])
    for again in (pickle.loads(pickle.dumps(solver)), copy.copy(solver), copy.deepcopy(solver)):
        assert again.value is not solver.value
        np.testing.assert_array_equal(again.solve(b[:3]), solver.solve(b[:3]))


def test_factors():
    D, E = make(3, 7)
    b = rhs(3, 7, columns=2)
    f = trifold.factor(D, E)
    for again in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
        np.testing.assert_array_equal(again.solve(b), f.solve(b))
        np.testing.assert_array_equal(again.quadratic(b), f.quadratic(b))
    stencil, image = grids.make(5, 7, (2,)), grids.rhs(5, 7, (2,))
    images = trifold.grid.factor(stencil, rhs=2, pivoting="none")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(images)).solve(image), images.solve(image))


def copies(given):
    return pickle.loads(pickle.dumps(given)), copy.deepcopy(given), copy.copy(given)


def test_solutions_of_sparse_systems():
    sp, sparse = pytest.importorskip("scipy.sparse"), pytest.importorskip("trifold.sparse")
    A = sp.diags_array([-1.0, 4.0, -0.5], offsets=[-1, 0, 3], shape=(12, 12)).tocsc()
    b = np.arange(12.0)
    s = sparse.Solver(A, method="gmres", shift=1e-3)
    s.update(2 * A)
    solution = s.solve(b)
    for again in copies(solution):
        np.testing.assert_array_equal(again.x, solution.x)
        assert again.info == 0 and again.residual == solution.residual and again.worst.end == "converged"
    for again in copies(s):
        np.testing.assert_array_equal(again.solve(b).x, solution.x)
        again.update(3 * A.data)
        np.testing.assert_array_equal(again.multiply(b), sparse.Solver(3 * A).multiply(b))
    for again in copies(sparse.ildu0(A)):
        np.testing.assert_array_equal(again @ b, sparse.ildu0(A) @ b)
    with pytest.raises(trifold.SparseFailed):
        s.update(np.nan * A)
    with pytest.raises(trifold.SpecError, match="update it before"):
        pickle.dumps(s)


@pytest.mark.parametrize("kind", ["chain", "grid", "sparse"])
def test_structures(kind):
    sp = pytest.importorskip("scipy.sparse")
    line = sp.diags_array([-1.0 if kind == "chain" else -1.2, 3.0, -1.0], offsets=[-1, 0, 1], shape=(20, 20))
    A = {"chain": line, "grid": sp.kronsum(line, line), "sparse": sp.csr_array(line + sp.eye_array(20, k=15))}[kind].tocsr()
    solve, b = trifold.factorized(A), np.ones(A.shape[0])
    assert solve.structure.kind == kind
    for again in copies(solve):
        np.testing.assert_array_equal(again(b), solve(b))
        assert again.structure == solve.structure


def test_operators():
    pytest.importorskip("scipy.sparse")
    D, E = make(3, 7)
    stencil = grids.make(4, 5)
    made = trifold.operators
    for operator in (made.chain(D, E), made.grid(stencil), made.inverse(trifold.factor(D, E)), made.inverse(trifold.grid.factor(stencil))):
        b = np.arange(1.0, operator.shape[0] + 1)
        for again in copies(operator):
            np.testing.assert_array_equal(again @ b, operator @ b)
            np.testing.assert_array_equal(again.T @ b, operator.T @ b)


def test_errors():
    D, E = make(3, 7)
    stencil = grids.make(4, 5)
    sp = pytest.importorskip("scipy.sparse")
    calls = [
        lambda: trifold.sparse.Solver(sp.eye_array(3).tocsr() * np.inf),
        lambda: trifold.solve(-D, E, rhs(3, 7)),
        lambda: trifold.solve(D, E, rhs(3, 7) * np.nan),
        lambda: trifold.solve(np.ones((2, 2, 2)), np.zeros((1, 2, 2)), np.ones((2, 2))),
        lambda: trifold.grid.solve(stencil * np.nan, np.ones((4, 5))),
        lambda: trifold.Plan(block=0, horizon=1),
        lambda: trifold.Plan(block=3, horizon=7, device="cuda:63"),
    ]
    for call in calls:
        with pytest.raises(trifold.Error) as raised:
            call()
        for again in copies(raised.value):
            assert type(again) is type(raised.value) and str(again) == str(raised.value) and vars(again) == vars(raised.value)


def test_what_torch_and_jax_hold():
    sp, torch, _ = (pytest.importorskip(name) for name in ("scipy.sparse", "torch", "jax"))
    import trifold.jax.sparse
    import trifold.torch.sparse
    from jax.experimental.sparse import BCSR

    A = sp.diags_array([-1.0, 4.0, -0.5], offsets=[-1, 0, 3], shape=(12, 12)).tocsr().astype(np.float32)
    index, values, b = [torch.from_numpy(part) for part in (A.indptr, A.indices)], torch.from_numpy(A.data), torch.ones(12)
    stencil = torch.from_numpy(grids.make(4, 5))
    layer = torch.nn.Module()
    layer.solver = trifold.torch.sparse.Solver(torch.sparse_csr_tensor(*index, values, A.shape))
    layer.image = trifold.torch.grid.factor(stencil)
    for again in copies(layer):
        assert torch.equal(again.solver.solve(values, b, rtol=1e-5), layer.solver.solve(values, b, rtol=1e-5))
        assert torch.equal(again.image.solve(stencil[..., 0]), layer.image.solve(stencil[..., 0]))
    b = np.ones(12, np.float32)
    solver = trifold.jax.sparse.Solver(BCSR.from_scipy_sparse(A))
    for again in copies(solver):
        np.testing.assert_array_equal(again.solve(A.data, b, rtol=1e-5), solver.solve(A.data, b, rtol=1e-5))


def test_in_another_process():
    D, E = make(3, 7)
    f = trifold.factor(D, E)
    b = rhs(3, 7)
    code = "import sys, pickle; f, b = pickle.load(sys.stdin.buffer); sys.stdout.buffer.write(pickle.dumps(f.solve(b)))"
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps((f, b)), capture_output=True, check=True)
    np.testing.assert_array_equal(pickle.loads(done.stdout), f.solve(b))


def test_a_factor_of_another_plan():
    solver = trifold.factor(*make(3, 7))._solver
    restore, (plan, value, members, batched, layout) = solver.__reduce__()
    with pytest.raises(trifold.SpecError, match="factor the matrix again"):
        restore(plan, value, members, batched, layout + " of tomorrow")


def test_values_that_are_not_aligned():
    """A copy is where NumPy puts it: a Solver over it works, or is refused at once, with what to do."""
    D, E = make(3, 7)
    b = rhs(3, 7)
    f = trifold.factor(D, E)
    memory = np.empty(f.value.size + 128, np.uint8)
    crooked = memory[-memory.ctypes.data % 64 + 16 :][: f.value.size]
    crooked[:] = f.value
    with pytest.raises(trifold.SpecError, match="not aligned to 64 bytes; give plan.copy_value"):
        f.plan.solver(crooked)
    crooked.flags.writeable = False
    np.testing.assert_array_equal(f.plan.solver(f.plan.copy_value(crooked)).solve(b), f.solve(b))
    for wrong in (crooked[:-1], crooked.view(np.int8), "text", crooked[None]):
        with pytest.raises(trifold.SpecError, match="value is"):
            f.plan.copy_value(wrong)
