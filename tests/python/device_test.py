"""What needs a CUDA device: torch, CuPy and JAX arrays on it, streams, captured graphs, and what a call costs the host.

    python -m pytest tests/python/device_test.py -s      prints the costs
Skipped where there is no device, or where a library is missing.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trifold
from chains import Calls, Derivatives
from faces import Cupy, Jax, JaxArrays, Torch, TorchTensors, tolerances
from host_time import empty_operator, per_call
from problems import blocks_of_inverse, dense, make, reciprocal_condition, rhs, rows, singular, solution
from trifold import _core

pytestmark = [
    pytest.mark.skipif(not trifold.info()["devices"]["cuda"]["devices"], reason="no CUDA device"),
    pytest.mark.usefixtures("time_limit"),
]
MOST_US = 5.0  # that a Solver's call may cost the host over the C++ interface
MOST_JAX_US = 3.0  # that trifold.jax may cost over a call of XLA's that does nothing and the C++ library's call
MOST_COLD_SECONDS = 1.7  # that trifold.jax may add to the first call of a value and its gradient


@pytest.fixture
def torch():
    return Torch("cuda").library


@pytest.fixture
def tt(torch):
    return Torch("cuda").module


@pytest.fixture
def jax():
    return Jax("cuda").library


class TestArrays(Calls):
    @pytest.fixture(params=[TorchTensors, Cupy, JaxArrays])
    def face(self, request):
        return request.param("cuda")


class TestTorch(Calls, Derivatives):
    @pytest.fixture
    def face(self):
        return Torch("cuda")


def on_torch(torch, *arrays):
    return [torch.from_numpy(array).cuda() for array in arrays]


def on_cupy(cupy, *arrays):
    return [cupy.asarray(array) for array in arrays]


def image(height, width):
    """A dense matrix of nine neighbours, nonsymmetric."""
    A = np.zeros((height, width, height, width))
    for y in range(height):
        for x in range(width):
            A[y, x, max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2] = -1
            A[y, x, y, x + 1 : x + 2] = -1.2
            A[y, x, y, x] = 10
    return A.reshape(height * width, -1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("library", [TorchTensors, Cupy])
def test_sparse_matrices(library, dtype):
    """A chain and an image are found, and solved on the GPU."""
    face = library("cuda")
    for A, kind in ((dense(*make(5, 30)), "chain"), (image(24, 19), "grid")):
        b = np.random.default_rng(0).standard_normal((len(A), 2)).astype(dtype)
        given = face.give(A.astype(dtype))
        given = pytest.importorskip("cupyx.scipy.sparse").csr_matrix(given) if library is Cupy else given.to_sparse_csr()
        assert trifold.structure_of(given).kind == kind
        for solve in (trifold.factorized(given), lambda b, given=given: trifold.solve_sparse(given, b)):
            for columns in (b, b[:, 0]):
                x = solve(face.give(columns.copy()))
                assert isinstance(x, face.kind) and (x.dtype, x.device) == (face.give(b).dtype, face.give(b).device)
                np.testing.assert_allclose(face.get(x), np.linalg.solve(A, columns), **tolerances(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_operators_of_cupy(dtype):
    cupy = pytest.importorskip("cupy")
    linalg = pytest.importorskip("cupyx.scipy.sparse.linalg")
    nD, nE = make(5, 30, dtype=dtype)
    D, E = on_cupy(cupy, nD, nE)
    A, M = trifold.operators.chain(D, E), trifold.operators.inverse(trifold.factor(D, E))
    assert isinstance(A, linalg.LinearOperator) and A.shape == (150, 150)
    whole = dense(nD, nE)
    b = np.random.default_rng(0).standard_normal((150, 3)).astype(dtype)
    for columns in (b[:, 0], b):
        given = cupy.asarray(columns)
        np.testing.assert_allclose((A @ given).get(), whole @ columns, **tolerances(dtype))
        np.testing.assert_allclose((M @ given).get(), np.linalg.solve(whole, columns), **tolerances(dtype))
    x, info = linalg.cg(A, cupy.asarray(b[:, 0]), M=M)
    assert info == 0
    np.testing.assert_allclose(x.get(), np.linalg.solve(whole, b[:, 0]), **tolerances(dtype))
    stencil = np.zeros((6, 7, 9), dtype)
    stencil[..., 4], stencil[:, :-1, 5], stencil[1:, :, 1] = 5, -1, -0.5
    ours, theirs = (trifold.operators.grid(s) for s in (cupy.asarray(stencil), stencil))
    v = np.random.default_rng(1).standard_normal(42).astype(dtype)
    np.testing.assert_allclose((ours @ cupy.asarray(v)).get(), theirs @ v, **tolerances(dtype))
    np.testing.assert_allclose(ours.rmatvec(cupy.asarray(v)).get(), theirs.rmatvec(v), **tolerances(dtype))
    f = trifold.grid.factor(cupy.asarray(stencil))
    np.testing.assert_allclose((theirs @ (trifold.operators.inverse(f) @ cupy.asarray(v)).get()), v, **tolerances(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch", [None, 3])
def test_rows_of_blocks(jax, batch, dtype):
    """TurboMPC's array (N, n, 3 n), read where it is."""
    import trifold.jax as tj

    for n, horizon in ((3, 7), (12, 20), (3, 1)):
        D, E = make(n, horizon, batch, dtype)
        b = rhs(n, horizon, batch, dtype=dtype)
        S = rows(D, E)
        np.testing.assert_allclose(jax.jit(tj.solve_rows)(S, b), trifold.solve(D, E if horizon > 1 else None, b), **tolerances(dtype))
        on_cpu = jax.device_put((S, b), jax.devices("cpu")[0])
        slopes = [jax.grad(lambda S, b: (tj.solve_rows(S, b) ** 3).sum(), (0, 1))(*given) for given in ((S, b), on_cpu)]
        for mine, theirs in zip(*slopes):
            np.testing.assert_allclose(mine, theirs, rtol=tolerances(dtype)["rtol"], atol=tolerances(dtype)["atol"])


def test_the_status_is_lazy(torch):
    D, E = make(3, 7, 3)
    D[1, 4] *= -1
    b = rhs(3, 7, 3)
    tD, tE, tb = on_torch(torch, D, E, b)
    x = trifold.solve(tD, tE, tb)  # does not raise
    assert torch.isnan(x[1]).all() and not torch.isnan(x[0]).any()
    f = trifold.factor(tD, tE)
    assert list(f.status.block) == [-1, 4, -1]
    with pytest.raises(trifold.NotPositiveDefinite):
        trifold.solve(tD, tE, tb, check=True)


def test_nearly_singular_members(torch):
    D, E = singular(3)
    D[[0, 2]] *= 2
    D[1, 2] *= 1 + 2e-15  # so that the last pivot is positive, whatever the order of elimination
    tD, tE, tb = on_torch(torch, D, E, rhs(1, 3, 3))
    assert torch.isfinite(trifold.solve(tD, tE, tb)).all()  # does not raise
    f = trifold.factor(tD, tE)
    assert list(f.status.nearly_singular) == [False, True, False]
    with pytest.raises(trifold.NearlySingular):
        f.solve(tb, check=True)
    f = trifold.factor(tD, tE, accept_nearly_singular=True)
    f.solve(tb, check=True)
    assert not f.status.nearly_singular.any() and f.status.least_pivot[1] < 1e-14
    found = f.reciprocal_condition(tD, tE)
    assert found[1] < 1e-14 and found[0] == pytest.approx(reciprocal_condition(D[0], E[0]), rel=0.5)


def test_masked_members(torch):
    D, E, b = on_torch(torch, *make(3, 7, 3), rhs(3, 7, 3))
    active = torch.tensor([True, False, True], device="cuda")
    x = trifold.factor(D, E, active=active).solve(b)
    assert torch.isnan(x[1]).all() and not torch.isnan(x[[0, 2]]).any()


def test_streams(torch):
    """Work goes to the current stream: it comes after what that stream does already."""
    nD, nE = make(17, 32)
    nb = rhs(17, 32)
    D, E, b = on_torch(torch, nD, nE, nb)
    solver = trifold.Plan(block=17, horizon=32, device="cuda:0").solver()
    late = torch.zeros_like(b)
    out = torch.empty_like(b)
    solver.factor_solve(D, E, b, out)
    trifold.solve(D, E, b)  # compiled before the stream is given time to end
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        late.copy_(b)
        solver.factor_solve(D, E, late, out)
        x = trifold.solve(D, E, late)
    assert not stream.query()  # nothing has waited
    stream.synchronize()
    for result in (out, x):
        np.testing.assert_allclose(result.cpu().numpy(), solution(nD, nE, nb), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("over_value", [False, True])
def test_captured_by_torch(torch, over_value):
    nD, nE = make(17, 32)
    D, E, b = on_torch(torch, nD, nE, rhs(17, 32))
    plan = trifold.Plan(block=17, horizon=32, device="cuda:0", operations="all")
    value = torch.empty(plan.value_bytes, dtype=torch.uint8, device="cuda") if over_value else None
    solver = plan.solver(value)
    x, log_determinant = torch.empty_like(b), torch.empty((), dtype=torch.float64, device="cuda")

    def work():
        solver.factor(D, E)
        solver.solve(b, x)
        solver.log_determinant(log_determinant)

    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    for seed in range(3):
        fresh = rhs(17, 32, seed=seed)
        b.copy_(torch.from_numpy(fresh))
        x.zero_()
        graph.replay()
        torch.cuda.synchronize()
        np.testing.assert_allclose(x.cpu().numpy(), solution(nD, nE, fresh), rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(log_determinant.item(), np.linalg.slogdet(dense(nD, nE))[1], rtol=1e-12)


def test_a_factor_is_a_value(torch):
    """Many values at a time, more than there are Solvers, copied, with their memory used by others in between."""
    plan = trifold.Plan(block=17, horizon=32, device="cuda:0", operations="all")
    values, problems = [], []
    for seed in range(12):
        problems.append((*make(17, 32, seed=seed), rhs(17, 32, seed=seed)))
        D, E, _ = on_torch(torch, *problems[-1])
        value = torch.empty(plan.value_bytes, dtype=torch.uint8, device="cuda")
        plan.solver(value).factor(D, E)
        values.append(value.clone())
        value.fill_(255)
    for value, (D, E, b) in reversed(list(zip(values, problems))):
        (tb,) = on_torch(torch, b)
        again = plan.solver(value)
        np.testing.assert_allclose(again.solve(tb).cpu().numpy(), solution(D, E, b), rtol=1e-9, atol=1e-11)
        y, quadratic = again.forward_quadratic(tb)
        np.testing.assert_allclose(quadratic.item(), np.sum(b * solution(D, E, b)), rtol=1e-10)
        np.testing.assert_allclose(again.selected_inverse()[0].cpu().numpy(), blocks_of_inverse(D, E)[0], rtol=1e-8, atol=1e-10)


def test_devices_that_differ(torch):
    D, E, b = on_torch(torch, *make(3, 7), rhs(3, 7))
    with pytest.raises(trifold.SpecError, match="on the CPU and the Plan is for GPU 0"):
        trifold.solve(D, E.cpu(), b)
    with pytest.raises(trifold.SpecError, match="on GPU 0 and the Plan is for the CPU"):
        trifold.Plan(block=3, horizon=7).solver().factor(D, E)
    with pytest.raises(trifold.SpecError, match="on the CPU"):
        trifold.Plan(block=3, horizon=7, device="cuda:0").solver().factor(D.cpu(), E.cpu())


@pytest.mark.alone
def test_memory_does_not_grow(torch):
    D, E, b = on_torch(torch, *make(17, 32, 8), rhs(17, 32, 8))
    for _ in range(20):
        trifold.solve(D, E, b)
    torch.cuda.synchronize()
    before = torch.cuda.mem_get_info()[0]
    for _ in range(500):
        trifold.factor(D, E).solve(b)
        trifold.solve(D, E, b)
    torch.cuda.synchronize()
    assert before - torch.cuda.mem_get_info()[0] < 64 << 20


@pytest.mark.alone
@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_host_time_of_a_solver(library):
    module = pytest.importorskip(library)
    arrays = (*make(12, 20, 256, np.float32), rhs(12, 20, 256, dtype=np.float32))
    D, E, b = (on_torch if library == "torch" else on_cupy)(module, *arrays)
    synchronize = module.cuda.synchronize if library == "torch" else module.cuda.Device().synchronize
    solver = trifold.Plan(block=12, horizon=20, dtype="float32", batch=256, device="cuda:0").solver()
    x = b.clone() if library == "torch" else b.copy()
    solver.factor_solve(D, E, b, x)
    alone = min(_least(solver, b, x, synchronize) for _ in range(60)) * 1e6
    calls = (lambda: solver.solve(b, x), lambda: solver.factor_solve(D, E, b, x), lambda: trifold.solve(D, E, b))
    solve, factor_solve, functional = per_call(*calls, synchronize=synchronize)
    print(
        f"\n{library}: host time of a call: Solver::solve in C++ {alone:.2f} us, Solver.solve {solve:.2f} us "
        f"(over it {solve - alone:.2f}), Solver.factor_solve {factor_solve:.2f} us, trifold.solve {functional:.2f} us"
    )
    assert solve - alone < MOST_US


def _least(solver, b, x, synchronize):
    synchronize()
    return _core.seconds_of_solve(solver, b, x, 50)


def library_per_call(torch, D, E, b, rounds=60, repeats=50):
    """Microseconds of the host for a factorization and solution into a value, as trifold.torch and trifold.jax call the C++ library."""
    plan = trifold.Plan(block=D.shape[-1], horizon=D.shape[-3], dtype=D.dtype, batch=len(D), device="cuda:0")
    solver, best = plan.solver(torch.empty(plan.value_bytes, dtype=torch.uint8, device="cuda")), float("inf")
    for _ in range(rounds):
        torch.cuda.synchronize()
        best = min(best, _core.seconds_of_factor_solve(solver, D, E, b, torch.empty_like(b), repeats) * 1e6)
    return best


# trifold.torch


def leaves(torch, *arrays):
    return [array.requires_grad_() for array in on_torch(torch, *arrays)]


def value_and_gradients(torch, function, arguments):
    result = function(*arguments)
    return result.detach(), torch.autograd.grad(result, arguments)


def losses(tt):
    """Functions of D, E and b with one number as result: what they are made of, and their name."""
    return {
        "solve": lambda D, E, b: tt.solve(D, E, b).square().sum(),
        "quadratic": lambda D, E, b: tt.quadratic(D, E, b).sum(),
        "log_determinant": lambda D, E, b: tt.log_determinant(D, E).sum() + 0 * b.sum(),
        "likelihood": lambda D, E, b: tt.likelihood(D, E, b).log_determinant.sum() + tt.likelihood(D, E, b).quadratic.sum(),
    }


@pytest.mark.parametrize("name", ["solve", "quadratic", "log_determinant", "likelihood"])
def test_forward_and_backward_in_a_captured_graph(torch, tt, name):
    function = losses(tt)[name]
    arguments = leaves(torch, *make(17, 32, 3), rhs(17, 32, 3))
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        value_and_gradients(torch, function, arguments)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        value, gradients = value_and_gradients(torch, function, arguments)
    for seed in range(3):
        fresh = (*make(17, 32, 3, seed=seed), rhs(17, 32, 3, seed=seed))
        with torch.no_grad():
            for argument, array in zip(arguments, fresh):
                argument.copy_(torch.from_numpy(array))
        graph.replay()
        torch.cuda.synchronize()
        expected = value_and_gradients(torch, function, leaves(torch, *fresh))
        torch.testing.assert_close(value, expected[0], rtol=1e-10, atol=1e-10)
        for mine, theirs in zip(gradients, expected[1]):
            torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-10)


def test_compiled(torch, tt):
    arguments = leaves(torch, *make(3, 7, 4), rhs(3, 7, 4))
    for mode in ("default", "reduce-overhead"):
        compiled = torch.compile(losses(tt)["solve"], mode=mode, fullgraph=True)
        expected = value_and_gradients(torch, losses(tt)["solve"], arguments)
        for _ in range(3):
            torch.compiler.cudagraph_mark_step_begin()
            value, gradients = value_and_gradients(torch, compiled, arguments)
            torch.testing.assert_close(value, expected[0], rtol=1e-10, atol=1e-10)
            for mine, theirs in zip(gradients, expected[1]):
                torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-10)


@pytest.mark.alone
@pytest.mark.parametrize("gradient", [False, True])
def test_host_time_of_an_operator(torch, tt, gradient):
    """What eager, differentiable calls cost over an empty operator and the call of the C++ library."""
    D, E, b = (
        array.requires_grad_(gradient) for array in on_torch(torch, *make(12, 20, 256, np.float32), rhs(12, 20, 256, dtype=np.float32))
    )
    tt.solve(D, E, b)
    library = library_per_call(torch, *(array.detach() for array in (D, E, b)))
    nothing = empty_operator(torch, "cuda")
    empty, mine = per_call(lambda: nothing(D, E, b, False), lambda: tt.solve(D, E, b), synchronize=torch.cuda.synchronize)
    print(
        f"\ntorch, gradient {gradient}: trifold.torch.solve {mine:.2f} us, an empty operator {empty:.2f} us, "
        f"the call of the C++ library {library:.2f} us: over both {mine - empty - library:.2f} us"
    )
    assert mine - empty - library < MOST_US


def device_time(torch, call, rounds=20, calls=20):
    """Seconds of the device for one call that is captured on the current stream, so that the host is out of it."""
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        for _ in range(calls):
            call()
    best = float("inf")
    for _ in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        best = min(best, start.elapsed_time(end) / 1e3 / calls)
    return best


@pytest.mark.alone
@pytest.mark.parametrize(("n", "horizon", "batch"), [(12, 20, 4096), (24, 203, 64), (48, 100, 16)])
def test_device_time_of_the_backward_pass(torch, tt, n, horizon, batch):
    """The backward pass of solve and quadratic against factor_solve, and of log det against selected inverse and solve."""
    # Autograd runs a backward pass on the stream of its forward pass. So both are on the stream that is captured: the default one cannot
    # be.
    with torch.cuda.stream(torch.cuda.Stream()):
        times = times_of_the_backward_pass(torch, tt, n, horizon, batch)
    print(f"\nn={n} N={horizon} batch={batch} float64: " + ", ".join(f"{name} {t * 1e6:.1f} us" for name, t in times.items()))
    assert times["backward of solve"] <= 1.1 * times["factor_solve"]
    assert times["backward of quadratic"] <= 1.1 * times["factor_solve"]
    assert times["backward of log_determinant"] <= 1.1 * (times["selected_inverse"] + times["solve"])


def times_of_the_backward_pass(torch, tt, n, horizon, batch):
    D, E, b = leaves(torch, *make(n, horizon, batch), rhs(n, horizon, batch))
    plain = [array.detach() for array in (D, E, b)]
    factored = tt.factor(*plain[:2])
    times = {
        "factor_solve": device_time(torch, lambda: tt.solve(*plain)),
        "solve": device_time(torch, lambda: factored.solve(plain[2])),
        "selected_inverse": device_time(torch, factored.selected_inverse),
    }
    ones = torch.ones_like(b)
    for name in ("solve", "quadratic", "log_determinant"):
        result = tt.log_determinant(D, E) if name == "log_determinant" else getattr(tt, name)(D, E, b)
        g = ones if name == "solve" else torch.ones_like(result)
        inputs = (D, E) if name == "log_determinant" else (D, E, b)
        times["backward of " + name] = device_time(torch, lambda r=result, i=inputs, g=g: torch.autograd.grad(r, i, g, retain_graph=True))
    return times


# trifold.jax. jax_test.py runs on the device too, where JAX has one.


def test_jax_in_command_buffers(jax):
    """Enough calls for XLA to record a graph, which it replays with other inputs and at other addresses."""
    import trifold.jax as tj

    D, E = make(17, 32)

    @jax.jit
    def chain(D, E, b):
        f = tj.factor(D, E)
        for _ in range(6):
            b = f.solve(b) * 10 + b
        return b, f.log_determinant()

    kept = []
    A = dense(D, E)
    step = 10 * np.linalg.inv(A) + np.eye(A.shape[0])
    for seed in range(8):
        b = rhs(17, 32, seed=seed)
        x, log_determinant = chain(D * (1 + (seed == 7)), E * (1 + (seed == 7)), b)
        kept.append(x)
        if seed < 7:
            expected = np.linalg.matrix_power(step, 6) @ b.reshape(-1)
            np.testing.assert_allclose(np.asarray(x).reshape(-1), expected, rtol=1e-8, atol=1e-9)
            np.testing.assert_allclose(log_determinant, np.linalg.slogdet(A)[1], rtol=1e-10)
    np.testing.assert_allclose(log_determinant, np.linalg.slogdet(2 * A)[1], rtol=1e-10)


def test_jax_on_both_kinds_of_devices(jax):
    import trifold.jax as tj

    D, E = make(3, 7, 2)
    b = rhs(3, 7, 2)
    for place in (jax.devices("cpu")[0], jax.devices()[0]):
        x = jax.jit(tj.solve)(*(jax.device_put(array, place) for array in (D, E, b)))
        assert x.devices() == {place}
        np.testing.assert_allclose(x, solution(D, E, b), rtol=1e-9, atol=1e-11)


def test_jax_members_that_fail(jax):
    import trifold.jax as tj

    D, E = make(3, 7, 3)
    D[1, 4] *= -1
    x = np.asarray(jax.jit(tj.solve)(D, E, rhs(3, 7, 3)))
    assert np.isnan(x[1]).all() and not np.isnan(x[[0, 2]]).any()
    D, E = singular()
    D[2] *= 1 + 2e-15  # so that the last pivot is positive, whatever the order of elimination
    b = rhs(1, 3)
    assert np.isfinite(tj.solve(D, E, b)).all()  # nearly singular: what was computed
    np.testing.assert_array_equal(tj.solve(D, E, b), tj.solve(D, E, b, accept_nearly_singular=True))


@pytest.mark.alone
def test_host_time_of_jax(torch, jax):
    """A jitted call of ours over one of the same shapes that does nothing, and over the call of the C++ library that it makes."""
    import trifold.jax as tj
    from trifold import _jax_primitives as primitives

    jax.ffi.register_ffi_target("trifold_nothing", _core.jax_handlers()["cuda_nothing"], platform="CUDA")
    arrays = (*make(12, 20, 256, np.float32), rhs(12, 20, 256, dtype=np.float32))
    D, E, b = map(jax.numpy.asarray, arrays)
    value = jax.ShapeDtypeStruct(primitives._value_shape(D, E, 1, False), np.uint8)
    problem = primitives._problem("factor_solve", D, E, 1, False)

    @jax.jit
    def nothing(D, E, b):
        call = jax.ffi.ffi_call("trifold_nothing", (value, jax.ShapeDtypeStruct((*b.shape, 1), b.dtype)))
        return call(D, E, b[..., None], problem=problem)[1][..., 0]

    ours = jax.jit(tj.solve)
    synchronize = lambda: jax.block_until_ready(ours(D, E, b))  # noqa: E731
    empty, mine = per_call(lambda: nothing(D, E, b), lambda: ours(D, E, b), synchronize=synchronize)
    library = library_per_call(torch, *on_torch(torch, *arrays))
    print(
        f"\njax: host time of a jitted call: empty {empty:.2f} us, solve {mine:.2f} us (over it {mine - empty:.2f}), the call of the "
        f"C++ library {library:.2f} us: over both {mine - empty - library:.2f} us"
    )
    assert mine - empty - library < MOST_JAX_US


COLD = """
import sys, time
import numpy as np, jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
from problems import make, rhs
from trifold import _core, _jax_primitives as primitives
if sys.argv[1] == "empty":
    def register():
        for call in primitives._CALLS:
            jax.ffi.register_ffi_target("trifold_" + call, _core.jax_handlers()["cuda_nothing"], platform="CUDA")
    primitives.register = register
import trifold.jax as tj
D, E = map(jnp.asarray, make(24, 203))
b = jnp.asarray(rhs(24, 203))
jax.block_until_ready(jax.jit(lambda a: a @ a)(D))
def likelihood(D, E, b):
    terms = tj.likelihood(D, E, b)
    return terms.quadratic - terms.log_determinant
start = time.perf_counter()
jax.block_until_ready(jax.jit(jax.value_and_grad(likelihood, (0, 1, 2)))(D, E, b))
print("seconds", time.perf_counter() - start)
"""


@pytest.mark.alone
def test_cold_start_of_jax(jax, tmp_path):
    """The first call with nothing in the cache of kernels, over the same with calls that do nothing."""

    def seconds(kind):
        folders = [str(Path(trifold.__file__).parents[1]), str(Path(__file__).parent)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders), "TRIFOLD_CACHE_DIR": str(tmp_path / kind)}
        environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        done = subprocess.run([sys.executable, "-c", COLD, kind], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return float(done.stdout.split()[-1])

    empty, mine = seconds("empty"), seconds("trifold")
    print(f"\njax: first call of value and gradient, n = 24, N = 203: empty {empty:.2f} s, trifold {mine:.2f} s (adds {mine - empty:.2f})")
    assert mine - empty < MOST_COLD_SECONDS
