"""Guard zones around every output: whatever a call is told of members, batch axes and columns, nothing but its results is written."""

import itertools
import threading

import grids
import numpy as np
import pytest
import trifold
from problems import blocks_of_inverse, dense, make, rhs, solution

ZONE = 4096  # bytes before and after
MARK = 0xA5
TIGHT = dict(rtol=1e-9, atol=1e-11)
LOOSE = dict(rtol=1e-3, atol=1e-4)


class Guards:
    """Makes arrays that lie between marks."""

    def __init__(self):
        self.blocks = []

    def empty(self, shape, dtype=np.float64):
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        memory = np.full(size + 2 * ZONE + 64, MARK, np.uint8)
        start = ZONE + -(memory.ctypes.data + ZONE) % 64
        self.blocks.append((memory, start, start + size))
        return memory[start : start + size].view(dtype).reshape(shape)

    def of(self, array):
        result = self.empty(array.shape, array.dtype)
        result[...] = array
        return result

    def check(self):
        for memory, start, stop in self.blocks:
            assert (memory[:start] == MARK).all() and (memory[stop:] == MARK).all()


@pytest.fixture
def guards(monkeypatch):
    """With those arrays too that the package makes for its results."""
    made = Guards()

    class WithGuards:
        empty = staticmethod(made.empty)

        def __getattr__(self, name):
            return getattr(np, name)

    monkeypatch.setattr(trifold.arrays, "np", WithGuards())
    yield made
    made.check()


def every_call(guards, solver, D, E, b, given):
    """All calls of a Solver on these arrays, with results of its own or in arrays that are given."""

    def out(shape, dtype=D.dtype):
        return guards.empty(shape, dtype) if given else None

    front, tolerances = D.shape[:-3], TIGHT if D.dtype == np.float64 else LOOSE
    expected = solution(D, E, b)
    np.testing.assert_allclose(solver.factor_solve(D, E, b, out(b.shape)), expected, **tolerances)
    solver.factor_forward(D, E, b, out(b.shape))
    solver.factor(D, E)
    y = solver.forward(b, out(b.shape))
    np.testing.assert_allclose(solver.backward(y, out(b.shape)), expected, **tolerances)
    np.testing.assert_allclose(solver.solve(b, out(b.shape)), expected, **tolerances)
    columns = b.shape[-1] if b.ndim == D.ndim else 1
    sums = (*front, columns) if b.ndim == D.ndim else front
    if columns == solver.plan.rhs:
        quadratic = solver.forward_quadratic(b, out(b.shape), out(sums, np.float64))[1]
        np.testing.assert_allclose(quadratic, np.sum(b * expected, (-3, -2) if b.ndim == D.ndim else (-2, -1)), **tolerances)
    log_determinant = solver.log_determinant(out(front, np.float64))
    np.testing.assert_allclose(log_determinant, np.linalg.slogdet(dense(D, E))[1], **tolerances)
    diagonal, lower = solver.selected_inverse((out(D.shape), out(E.shape)) if given else None)
    assert (diagonal.shape, lower.shape) == (D.shape, E.shape)
    first = (0,) * len(front)
    np.testing.assert_allclose(diagonal[first], blocks_of_inverse(D[first], E[first])[0], **tolerances)
    assert np.shape(solver.status().block) == front
    guards.check()


@pytest.mark.parametrize(("horizon", "dtype", "rhs_of_plan"), [(7, np.float64, 2), (1, np.float32, 1)])
def test_solvers(guards, horizon, dtype, rhs_of_plan):
    """Fewer members than the batch, with and without a batch axis; more and fewer columns than the Plan has right-hand sides."""
    plan = trifold.Plan(block=3, horizon=horizon, batch=5, rhs=rhs_of_plan, dtype=dtype, operations="all")
    value = guards.empty((plan.value_bytes,), np.uint8)
    solvers = plan.solver(), plan.solver(value)
    for members, columns, given in itertools.product((None, 1, 3, 5), (None, 1, rhs_of_plan, 2 * rhs_of_plan + 1), (False, True)):
        D, E = (guards.of(array) for array in make(3, horizon, members, dtype))
        b = guards.of(rhs(3, horizon, members, columns, dtype))
        for solver in solvers:
            every_call(guards, solver, D, E, b, given)


def test_mixed(guards):
    plan = trifold.Plan(block=3, horizon=7, batch=4, rhs=2, dtype="mixed")
    over_value, own = plan.solver(guards.empty((plan.value_bytes,), np.uint8)), plan.solver()
    for members, columns in itertools.product((None, 2, 4), (None, 1, 5)):
        D, E = make(3, 7, members)
        b = rhs(3, 7, members, columns)
        for solver, message in ((own, "call solve or factor_solve"), (over_value, "memory of its own")):
            solver.factor(D, E)
            with pytest.raises(trifold.SpecError, match=message):
                solver.refinement()
            for out in (None, guards.empty(b.shape)):
                np.testing.assert_allclose(solver.solve(b, out), solution(D, E, b), **TIGHT)
                np.testing.assert_allclose(solver.factor_solve(D, E, b, out), solution(D, E, b), **TIGHT)
        assert np.shape(own.refinement().iterations) == D.shape[:-3]


def test_members_and_batch_axes(guards):
    """Each way to say what a value holds: either it is refused, or all results have room for what is written."""
    batch = 200
    D, E = make(3, 4, batch)
    plan = trifold.Plan(block=3, horizon=4, batch=batch, operations="all")
    value = guards.empty((plan.value_bytes,), np.uint8)
    plan.solver(value).factor(D, E)
    for members, batched in itertools.product((0, 1, 2, batch, batch + 1, -1), (None, False, True)):
        many = members if members else batch
        if not 1 <= many <= batch or (batched is False and many > 1):
            with pytest.raises(trifold.SpecError, match="members"):
                plan.solver(value, members=members, batched=batched)
            continue
        solver = plan.solver(value, members=members, batched=batched)
        assert solver.batched == (many > 1 if batched is None else batched)
        front = (many,) if solver.batched else ()
        some = slice(many) if solver.batched else 0
        for out in (None, guards.empty(front)):
            result = solver.log_determinant(out)
            assert result.shape == front
            np.testing.assert_allclose(result, np.linalg.slogdet(dense(D[some], E[some]))[1], **TIGHT)
        b = rhs(3, 4, batch)[some]
        np.testing.assert_allclose(solver.solve(b, guards.empty(b.shape)), solution(D[some], E[some], b), **TIGHT)
        y, quadratic = solver.forward_quadratic(b)
        assert (y.shape, quadratic.shape) == (b.shape, front)
        assert solver.selected_inverse()[0].shape == (*front, 4, 3, 3)
        assert np.shape(solver.status().block) == front
        for wrong in (np.empty((*front, 1)), np.empty(many + 1), np.empty(front, np.float32)):
            with pytest.raises(trifold.SpecError, match="out"):
                solver.log_determinant(wrong)
    guards.check()


def test_a_call_that_is_refused_changes_no_members(guards):
    """What a refused factorization said of members is not what the value holds."""
    plan = trifold.Plan(block=3, horizon=4, batch=8, operations="all")
    D, E = make(3, 4, 8)
    for solver in (plan.solver(), plan.solver(guards.empty((plan.value_bytes,), np.uint8))):
        solver.factor(D[:2], E[:2])
        for options in ({"pivot_floor": -1.0}, {"shift": np.ones(3)}, {"active": np.ones(3, bool)}):
            with pytest.raises(trifold.SpecError):
                solver.factor(D, E, **options)
            assert solver.log_determinant().shape == (2,)
        with pytest.raises(trifold.SpecError):
            solver.factor(D, E[:-1])
        assert solver.log_determinant().shape == (2,)


def test_a_call_goes_by_the_members_that_it_began_with(guards):
    """Another thread factors more members while a result for fewer is made."""
    batch = 64
    D, E = make(3, 4, batch)
    plan = trifold.Plan(block=3, horizon=4, batch=batch, operations="all")
    solver = plan.solver(plan.copy_value(np.zeros(plan.value_bytes, np.uint8)))
    solver.factor(D, E)

    def work():
        for k in range(400):
            some = slice(1 if k % 2 else batch)
            solver.factor(D[some], E[some], check=False)

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        assert solver.log_determinant().shape[0] in (1, batch)
        assert solver.selected_inverse(check=False)[0].shape[0] in (1, batch)
        guards.check()
        guards.blocks.clear()
    thread.join()


def test_factors(guards):
    for members, columns in itertools.product((None, 1, 3), (None, 1, 4)):
        D, E = make(3, 7, members)
        b = rhs(3, 7, members, columns)
        x = solution(D, E, b)
        np.testing.assert_allclose(trifold.solve(D, E, b), x, **TIGHT)
        f = trifold.factor(D, E)
        np.testing.assert_allclose(f.solve(b, guards.empty(b.shape)), x, **TIGHT)
        np.testing.assert_allclose(f.backward(f.forward(b, guards.empty(b.shape)), guards.empty(b.shape)), x, **TIGHT)
        np.testing.assert_allclose(f.quadratic(b), np.sum(b * x, (-3, -2) if columns else (-2, -1)), **TIGHT)
        assert f.log_determinant().shape == D.shape[:-3]
        assert [blocks.shape for blocks in f.selected_inverse()] == [D.shape, E.shape]
        guards.check()


@pytest.mark.parametrize("matrix", ["general", "symmetric"])
@pytest.mark.parametrize("boundary", ["natural", "fixed"])
def test_images(guards, matrix, boundary):
    for front, columns in itertools.product(((), (1,), (2, 2)), (None, 1, 5)):
        stencil = grids.make(5, 7, front, matrix, boundary)
        A, b = grids.dense(stencil, matrix, boundary), grids.rhs(5, 7, front, columns)
        x = grids.solution(A, b)
        options = {"matrix": matrix, "boundary": boundary}
        for out in (None, guards.empty(b.shape)):
            np.testing.assert_allclose(trifold.grid.solve(stencil, b, out, refine=1, **options), x, **TIGHT)
            f = trifold.grid.factor(stencil, rhs=2, **options)
            np.testing.assert_allclose(f.solve(b, out), x, **TIGHT)
            f.solve_transposed(b, out)
            np.testing.assert_allclose(f.refine(b, x, out), x, **TIGHT)
        by_b, by_stencil = f.gradients(x, b)
        assert (by_b.shape, by_stencil.shape) == (b.shape, stencil.shape)
        guards.check()


def test_torch(guards):
    torch = pytest.importorskip("torch")

    def of(array):
        return torch.from_numpy(guards.of(array))

    plan = trifold.Plan(block=3, horizon=7, batch=5, rhs=2, operations="all")
    value = torch.from_numpy(guards.empty((plan.value_bytes,), np.uint8))
    solver = plan.solver(value)
    for members, columns in itertools.product((None, 1, 3, 5), (None, 1, 2, 5)):
        D, E = make(3, 7, members)
        b = rhs(3, 7, members, columns)
        x = torch.from_numpy(guards.empty(b.shape))
        solver.factor_solve(of(D), of(E), of(b), x)
        np.testing.assert_allclose(x.numpy(), solution(D, E, b), **TIGHT)
        solver.log_determinant(torch.from_numpy(guards.empty(D.shape[:-3])))
        solver.selected_inverse((torch.from_numpy(guards.empty(D.shape)), torch.from_numpy(guards.empty(E.shape))))
        guards.check()


@pytest.mark.parametrize("change", [{"batch": 4}, {"columns": 3}, {"horizon": 8}, {"dtype": np.float32}, {"half": True}])
def test_jax_buffers_of_another_problem(change):
    """XLA owns the results of trifold.jax. So its handlers refuse buffers that are not those of the problem."""
    jax = pytest.importorskip("jax")
    if not trifold.info()["jax"]:
        pytest.skip("built without the headers of XLA's FFI")
    jax.config.update("jax_enable_x64", True)
    import trifold.jax as tj
    from trifold import _jax_primitives as primitives

    D, E = map(jax.numpy.asarray, make(3, 7, 3))
    f = tj.factor(D, E)
    b = np.ones((3, 7, 3, 1))
    sizes = {"batch": 3, "horizon": 7, "columns": 1, "dtype": np.float64, "half": False, **change}
    problem = primitives._problem("solve", D, E, 1, False)  # with f
    value = f.value.reshape(-1)[: f.value.size // 2] if sizes["half"] else f.value
    shape = sizes["batch"], sizes["horizon"], 3, sizes["columns"]
    call = jax.ffi.ffi_call(
        "trifold_solve",
        (jax.ShapeDtypeStruct(value.shape, np.uint8), jax.ShapeDtypeStruct(shape, sizes["dtype"])),
        input_output_aliases={0: 0},
    )
    with pytest.raises(Exception, match="trifold: .* (elements|bytes), and the problem's has"):
        jax.block_until_ready(call(value, b, problem=problem))
