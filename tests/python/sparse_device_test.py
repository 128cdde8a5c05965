"""trifold.sparse on a CUDA device: arrays of torch, CuPy and JAX, and gradients that never leave it. Skipped where there is no device, or a
library is missing."""

import numpy as np
import pytest
import trifold
from sparse_gradient_test import TIGHT, close, problem

sp = pytest.importorskip("scipy.sparse")
sla = pytest.importorskip("scipy.sparse.linalg")
from trifold import sparse  # noqa: E402  which needs SciPy

pytestmark = [
    pytest.mark.skipif(not trifold.info()["devices"]["cuda"]["devices"], reason="no CUDA device"),
    pytest.mark.usefixtures("time_limit"),
]
CASES = [(block, columns) for block in (1, 2, 3) for columns in (None, 3)]


@pytest.fixture
def torch():
    library = pytest.importorskip("torch")
    if not library.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    return library


@pytest.fixture
def jax():
    library = pytest.importorskip("jax")
    if library.default_backend() != "gpu" or not trifold.info()["jax"]:
        pytest.skip("this JAX has no CUDA")
    library.config.update("jax_enable_x64", True)
    return library


def gradients(A, b, by_x):
    """By the values of A and by b, of the processor."""
    s = sparse.Solver(A)
    x = s.solve(b, **TIGHT).x
    by_b = s.solve_transposed(by_x, **TIGHT).x
    return s.gradient(x, by_b).data, by_b


def check_all(A, b, to_device, to_numpy):
    s = sparse.Solver(A, device="cuda:0")
    on_device = to_device(b)
    x, info = s.solve(on_device, **TIGHT)
    assert info == 0 and type(x) is type(on_device)
    close(to_numpy(x), sla.spsolve(A.tocsc(), b))
    by_b = s.solve_transposed(to_device(b), **TIGHT).x
    close(to_numpy(by_b), sla.spsolve(A.T.tocsc(), b))
    by_values = s.gradient(x, by_b)
    assert type(by_values) is type(on_device)
    close(to_numpy(by_values), gradients(A, b, b)[0])
    close(to_numpy(s.multiply(x)), b)
    close(s.gradient(to_numpy(x), to_numpy(by_b)).data, gradients(A, b, b)[0])


@pytest.mark.parametrize(("block", "columns"), CASES)
def test_torch(torch, block, columns):
    A, b = problem(block, 8, columns=columns)
    check_all(A, b, lambda a: torch.from_numpy(a).cuda(), lambda a: a.cpu().numpy())


@pytest.mark.parametrize(("block", "columns"), CASES)
def test_cupy(block, columns):
    cupy = pytest.importorskip("cupy")
    A, b = problem(block, 8, columns=columns)
    check_all(A, b, cupy.asarray, cupy.asnumpy)


def test_operator_of_cupy():
    cupy = pytest.importorskip("cupy")
    linalg = pytest.importorskip("cupyx.scipy.sparse.linalg")
    from cupyx.scipy.sparse import csr_matrix

    A, b = problem(1, 12)
    on_device = csr_matrix(A)
    x, info = linalg.gmres(on_device, cupy.asarray(b), M=sparse.ildu0(on_device), rtol=1e-10)
    assert info == 0
    close(cupy.asnumpy(x), sla.spsolve(A.tocsc(), b), 1e-7)


@pytest.mark.parametrize("block", [1, 2])
def test_torch_gradients(torch, block):
    import trifold.torch

    A, b = problem(block, 6, columns=2)
    index = [torch.from_numpy(np.asarray(a, np.int64)).cuda() for a in (A.indptr, A.indices)]
    values, right = (torch.from_numpy(array).cuda().requires_grad_() for array in (A.data, b))
    make = torch.sparse_csr_tensor if block == 1 else torch.sparse_bsr_tensor
    s = trifold.torch.sparse.Solver(make(*index, values, A.shape))
    assert s.current.solver.core.device == "cuda:0"
    x = s.solve(values, right, **TIGHT)
    assert x.is_cuda
    by_x = torch.from_numpy(problem(block, 6, 3, columns=2)[1]).cuda()
    for mine, theirs in zip(torch.autograd.grad(x, (values, right), by_x), gradients(A, b, by_x.cpu().numpy())):
        assert mine.is_cuda
        close(mine.cpu().numpy(), theirs)
    assert torch.autograd.gradcheck(lambda v, r: s.solve(v, r, **TIGHT), (values, right))
    assert torch.autograd.gradgradcheck(lambda v, r: s.solve(v, r, **TIGHT), (values, right))


def bcsr(jax, A):
    from jax.experimental.sparse import BCSR

    shape = A.shape if A.data.ndim == 1 else (len(A.indptr) - 1, A.shape[1] // A.data.shape[1], *A.data.shape[1:])
    return BCSR((jax.numpy.asarray(A.data), jax.numpy.asarray(A.indices), jax.numpy.asarray(A.indptr)), shape=shape)


@pytest.mark.parametrize("block", [1, 2])
def test_jax(jax, block):
    import trifold.jax

    A, b = problem(block, 6, columns=2)
    s = trifold.jax.sparse.Solver(bcsr(jax, A))
    assert s.plan.core.device == "cuda:0"
    f = jax.jit(lambda v, r: jax.vjp(lambda *a: s.solve(*a, **TIGHT), v, r)[1](r))
    assert "callback" not in f.lower(A.data, b).as_text()
    close(jax.jit(lambda v, r: s.solve(v, r, **TIGHT))(A.data, b), sla.spsolve(A.tocsc(), b))
    for mine, theirs in zip(f(A.data, b), gradients(A, b, b)):
        close(mine, theirs)
    b[3, 1] = np.nan
    x = np.asarray(s.solve(A.data, b, **TIGHT))
    assert np.isnan(x[:, 1]).all() and np.isfinite(x[:, 0]).all()
    assert np.isnan(s.solve(A.data * 0, b)).all()


def test_jax_with_a_solver_of_the_processor(jax):
    import trifold.jax

    A, b = problem(2, 6)
    s = trifold.jax.sparse.Solver(bcsr(jax, A), device="cpu")
    f = jax.jit(lambda v, r: s.solve(v, r, **TIGHT))
    assert "callback" in f.lower(A.data, b).as_text()
    close(f(A.data, b), sla.spsolve(A.tocsc(), b))
