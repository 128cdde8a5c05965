"""trifold.grid on a CUDA device: arrays of torch, CuPy and JAX, streams, gradients. Skipped where there is no device, or a library is
missing."""

import numpy as np
import pytest
import trifold
from grid_test import close
from grids import dense, make, rhs, solution
from trifold import grid

pytestmark = [
    pytest.mark.skipif(not trifold.info()["devices"]["cuda"]["devices"], reason="no CUDA device"),
    pytest.mark.usefixtures("time_limit"),
]
CASES = [
    (dtype, matrix, boundary)
    for dtype in (np.float64, np.float32)
    for matrix in ("general", "symmetric")
    for boundary in ("natural", "fixed")
]


@pytest.fixture
def torch():
    library = pytest.importorskip("torch")
    if not library.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    return library


def problem(dtype, matrix, boundary):
    return make(33, 31, (2,), matrix, boundary, dtype), rhs(33, 31, (2,), 3, dtype), {"matrix": matrix, "boundary": boundary}


def check_all(stencil, b, to_device, to_numpy, kind):
    tolerance = 1e-12 if stencil.dtype == np.float64 else 1e-5
    A, by_x = dense(stencil, **kind), rhs(33, 31, (2,), 3, stencil.dtype, seed=3)
    on_device = to_device(stencil), to_device(b), to_device(by_x)
    f = grid.factor(on_device[0], rhs=2, **kind)
    f.check()
    x = grid.solve(*on_device[:2], **kind)
    assert type(x) is type(on_device[1])
    close(to_numpy(x), solution(A, b), tolerance)
    close(to_numpy(f.solve(on_device[1])), solution(A, b), tolerance)
    close(to_numpy(f.refine(on_device[1], x)), solution(A, b), tolerance)
    w = to_numpy(f.solve_transposed(on_device[2]))
    close(w, solution(A.swapaxes(-1, -2), by_x), tolerance)
    on_cpu = grid.factor(stencil, **kind).gradients(solution(A, b).astype(b.dtype), by_x)
    for mine, theirs in zip(f.gradients(x, on_device[2]), on_cpu):
        close(to_numpy(mine), theirs, tolerance)
    close(f.log_determinant().log, np.linalg.slogdet(A)[1], tolerance)
    assert np.array_equal(f.log_determinant().sign, np.linalg.slogdet(A)[0])
    assert f.status.problem.tolist() == ["none", "none"]


def of_stencil_and_b(stencil, x, by_x, kind):
    """The gradients on the CPU, in the order of solve's arguments."""
    by_b, by_stencil = grid.factor(stencil, **kind).gradients(x, by_x)
    return by_stencil, by_b


@pytest.mark.parametrize("case", CASES)
def test_torch(torch, case):
    stencil, b, kind = problem(*case)
    check_all(stencil, b, lambda a: torch.from_numpy(a).cuda(), lambda a: a.cpu().numpy(), kind)


@pytest.mark.parametrize("case", CASES)
def test_cupy(case):
    cupy = pytest.importorskip("cupy")
    stencil, b, kind = problem(*case)
    check_all(stencil, b, cupy.asarray, cupy.asnumpy, kind)


@pytest.mark.parametrize("case", CASES[:4])
def test_jax(case):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu" or not trifold.info()["jax"]:
        pytest.skip("this JAX has no CUDA")
    import trifold.jax as tj

    jax.config.update("jax_enable_x64", True)
    stencil, b, kind = problem(*case)
    x, back = jax.vjp(jax.jit(lambda *a: tj.grid.solve(*a, **kind)), stencil, b)
    close(x, solution(dense(stencil, **kind), b), 1e-12)
    for mine, theirs in zip(back(b), of_stencil_and_b(stencil, np.asarray(x), b, kind)):
        close(mine, theirs, 1e-12)


def test_torch_gradients(torch):
    import trifold.torch as tt

    stencil, b, kind = problem(np.float64, "general", "natural")
    leaves = [torch.from_numpy(array).cuda().requires_grad_() for array in (stencil, b)]
    x = tt.grid.solve(*leaves, **kind)
    weights = torch.from_numpy(rhs(33, 31, (2,), 3, seed=3)).cuda()
    theirs = of_stencil_and_b(stencil, x.detach().cpu().numpy(), weights.cpu().numpy(), kind)
    for mine, expected in zip(torch.autograd.grad(x, leaves, weights), theirs):
        close(mine.cpu().numpy(), expected, 1e-12)


def test_streams(torch):
    """Solvers go from stream to stream, and no work overtakes that of another."""
    stencil, b, _ = problem(np.float64, "general", "natural")
    given = [(torch.from_numpy(stencil * scale).cuda(), torch.from_numpy(b).cuda()) for scale in (1.0, 2.0, 4.0)]
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in given]
    results = []
    for _ in range(5):
        for stream, arrays in zip(streams, given):
            with torch.cuda.stream(stream):
                results.append(grid.solve(*arrays))
    torch.cuda.synchronize()
    expected = solution(dense(stencil), b)
    for k, x in enumerate(results):
        close(x.cpu().numpy() * 2.0 ** (k % 3), expected, 1e-12)


def test_an_image_that_fails(torch):
    stencil, b, _ = problem(np.float64, "general", "natural")
    stencil[1, 3, 4, 4] = np.nan
    given = torch.from_numpy(stencil).cuda(), torch.from_numpy(b).cuda()
    x = grid.solve(*given).cpu().numpy()
    assert np.isnan(x[1]).all() and np.isfinite(x[0]).all()
    with pytest.raises(trifold.GridFailed, match=r"image 1: the stencil of pixel \[3, 4\]"):
        grid.solve(*given, check=True)


def test_wrong_device(torch):
    stencil, b, _ = problem(np.float64, "general", "natural")
    on_device = torch.from_numpy(stencil).cuda(), torch.from_numpy(b).cuda()
    with pytest.raises(trifold.SpecError, match="b is on the CPU and the stencil on GPU 0; move one of them"):
        grid.solve(on_device[0], torch.from_numpy(b))
    with pytest.raises(trifold.SpecError, match="b is on GPU 0 and the stencil on the CPU"):
        grid.solve(stencil, on_device[1])
