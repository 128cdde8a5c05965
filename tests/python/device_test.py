"""What needs a CUDA device: torch, CuPy and JAX arrays on it, streams, captured graphs, and what a call costs the host.

    python -m pytest tests/python/device_test.py -s      prints the costs
Skipped where there is no device, or where a library is missing.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import trifold
from problems import blocks_of_inverse, dense, make, rhs, solution
from trifold import _core

pytestmark = pytest.mark.skipif(not trifold.info()["devices"]["cuda"]["devices"], reason="no CUDA device")
MOST_US = 5.0  # that a Solver's call may cost the host over the C++ interface
MOST_JAX_US = 3.0  # that trifold.jax may cost over a call of XLA's that does nothing
MOST_COLD_SECONDS = 1.7  # that trifold.jax may add to the first call of a value and its gradient


@pytest.fixture
def torch():
    library = pytest.importorskip("torch")
    if not library.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    return library


def on_torch(torch, *arrays):
    return [torch.from_numpy(array).cuda() for array in arrays]


def on_cupy(cupy, *arrays):
    return [cupy.asarray(array) for array in arrays]


def check_all(solve, factor, D, E, b, to_numpy, dtype=np.float64):
    """Every function of the package against the oracle."""
    tight = dict(rtol=1e-9, atol=1e-11) if dtype == np.float64 else dict(rtol=2e-3, atol=2e-4)
    nD, nE, nb = (to_numpy(array) for array in (D, E, b))
    expected = solution(nD, nE, nb)
    x = solve(D, E, b)
    assert type(x) is type(b)
    np.testing.assert_allclose(to_numpy(x), expected, **tight)
    f = factor(D, E)
    np.testing.assert_allclose(to_numpy(f.solve(b)), expected, **tight)
    np.testing.assert_allclose(to_numpy(f.backward(f.forward(b))), expected, **tight)
    np.testing.assert_allclose(to_numpy(f.log_determinant()), np.linalg.slogdet(dense(nD, nE))[1], rtol=tight["rtol"])
    np.testing.assert_allclose(to_numpy(f.quadratic(b)), np.einsum("bikm,bikm->bm", nb, expected), rtol=tight["rtol"])
    diagonal, lower = f.selected_inverse()
    for member in range(nD.shape[0]):
        mine = blocks_of_inverse(nD[member], nE[member])
        np.testing.assert_allclose(to_numpy(diagonal)[member], mine[0], **tight)
        np.testing.assert_allclose(to_numpy(lower)[member], mine[1], **tight)
    assert np.all(f.status.block == -1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "horizon"), [(3, 7), (17, 32), (64, 5)])
def test_torch(torch, n, horizon, dtype):
    arrays = on_torch(torch, *make(n, horizon, 3, dtype), rhs(n, horizon, 3, 2, dtype))
    check_all(trifold.solve, trifold.factor, *arrays, lambda t: t.cpu().numpy(), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cupy(dtype):
    cupy = pytest.importorskip("cupy")
    arrays = on_cupy(cupy, *make(17, 32, 3, dtype), rhs(17, 32, 3, 2, dtype))
    check_all(trifold.solve, trifold.factor, *arrays, cupy.asnumpy, dtype)


def test_jax_arrays():
    jax = pytest.importorskip("jax")
    pytest.importorskip("cupy")
    jax.config.update("jax_enable_x64", True)
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no CUDA")
    D, E = make(3, 7)
    b = rhs(3, 7)
    x = trifold.solve(*map(jax.numpy.asarray, (D, E, b)))
    assert isinstance(x, jax.Array)
    np.testing.assert_allclose(np.asarray(x), solution(D, E, b), rtol=1e-10, atol=1e-12)


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


def per_call(call, synchronize, rounds=60, calls=50):
    """Microseconds of the host for one call: the least of the rounds, each short enough for the device's queue."""
    best = float("inf")
    for _ in range(rounds):
        synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - start) / calls)
    synchronize()
    return best * 1e6


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
    solve = per_call(lambda: solver.solve(b, x), synchronize)
    factor_solve = per_call(lambda: solver.factor_solve(D, E, b, x), synchronize)
    functional = per_call(lambda: trifold.solve(D, E, b), synchronize)
    print(
        f"\n{library}: host time of a call: Solver::solve in C++ {alone:.2f} us, Solver.solve {solve:.2f} us (over it {solve - alone:.2f}), "
        f"Solver.factor_solve {factor_solve:.2f} us, trifold.solve {functional:.2f} us"
    )
    assert solve - alone < MOST_US


def _least(solver, b, x, synchronize):
    synchronize()
    return _core.seconds_of_solve(solver, b, x, 50)


# trifold.jax. jax_test.py runs on the device too, where JAX has one.


@pytest.fixture
def jax():
    library = pytest.importorskip("jax")
    library.config.update("jax_enable_x64", True)
    if library.default_backend() != "gpu":
        pytest.skip("this JAX has no CUDA")
    if not trifold.info()["jax"]:
        pytest.skip("built without the headers of XLA's FFI")
    return library


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "horizon"), [(1, 1), (3, 7), (17, 32), (64, 5)])
def test_jax(jax, n, horizon, dtype):
    import trifold.jax as tj
    from jax_test import by_hand, scalar

    D, E = make(n, horizon, None, dtype)
    b = rhs(n, horizon, None, 2, dtype)
    tight = dict(rtol=1e-8, atol=1e-8) if dtype == np.float64 else dict(rtol=5e-3, atol=5e-3)
    terms = jax.jit(tj.gaussian)(D, E, b)
    assert next(iter(terms.mean.devices())).platform == "gpu"
    np.testing.assert_allclose(terms.mean, solution(D, E, b), **tight)
    value, gradients = jax.jit(jax.value_and_grad(lambda *a: scalar(tj.gaussian(*a)), (0, 1, 2)))(D, E, b)
    expected, by_oracle = by_hand(*(array.astype(np.float64) for array in (D, E, b)))
    np.testing.assert_allclose(value, expected, rtol=tight["rtol"])
    for mine, oracle in zip(gradients, by_oracle):
        np.testing.assert_allclose(mine, oracle, **tight)


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


def test_host_time_of_jax(jax):
    """A jitted call of ours over one of the same shapes that does nothing."""
    import trifold.jax as tj
    from trifold import _jax_primitives as primitives

    jax.ffi.register_ffi_target("trifold_nothing", _core.jax_handlers()["cuda_nothing"], platform="CUDA")
    arrays = (*make(12, 20, 256, np.float32), rhs(12, 20, 256, dtype=np.float32))
    D, E, b = map(jax.numpy.asarray, arrays)
    value = jax.ShapeDtypeStruct(primitives._value_shape(D, 1, False), np.uint8)
    problem = primitives._problem("factor_solve", D, 1, False)

    @jax.jit
    def nothing(D, E, b):
        call = jax.ffi.ffi_call("trifold_nothing", (value, jax.ShapeDtypeStruct((*b.shape, 1), b.dtype)))
        return call(D, E, b[..., None], problem=problem)[1][..., 0]

    ours = jax.jit(tj.solve)
    synchronize = lambda: jax.block_until_ready(ours(D, E, b))  # noqa: E731
    empty = per_call(lambda: nothing(D, E, b), synchronize)
    mine = per_call(lambda: ours(D, E, b), synchronize)
    print(f"\njax: host time of a jitted call: empty {empty:.2f} us, solve {mine:.2f} us (over it {mine - empty:.2f})")
    assert mine - empty < MOST_JAX_US


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
    terms = tj.gaussian(D, E, b)
    return terms.quadratic - terms.log_determinant
start = time.perf_counter()
jax.block_until_ready(jax.jit(jax.value_and_grad(likelihood, (0, 1, 2)))(D, E, b))
print("seconds", time.perf_counter() - start)
"""


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
