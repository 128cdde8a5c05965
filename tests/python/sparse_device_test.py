"""trifold.sparse on a CUDA device: arrays of torch, CuPy and JAX, and gradients that never leave it. Skipped where there is no device, or a
library is missing."""

import numpy as np
import pytest
import trifold

sp = pytest.importorskip("scipy.sparse")
sla = pytest.importorskip("scipy.sparse.linalg")
from faces import Cupy, Jax, Torch, TorchTensors, close  # noqa: E402
from linear import Sparse  # noqa: E402
from sparse_gradient_test import Derivatives, problem  # noqa: E402
from sparse_test import Calls  # noqa: E402
from trifold import sparse  # noqa: E402  which needs SciPy

pytestmark = [
    pytest.mark.skipif(not trifold.info()["devices"]["cuda"]["devices"], reason="no CUDA device"),
    pytest.mark.usefixtures("time_limit"),
]


class TestArrays(Calls):
    @pytest.fixture(params=[TorchTensors, Cupy])
    def face(self, request):
        return request.param("cuda")


class TestDerivatives(Derivatives):
    @pytest.fixture(params=[Torch, Jax])
    def face(self, request):
        return request.param("cuda")


@pytest.mark.parametrize("block", [1, 2])
def test_nothing_leaves_the_device(block):
    one = Sparse(Torch("cuda"), *problem(block, 6, columns=2))
    assert one.solver.current.solver.core.device == "cuda:0"
    values, b = one.face.leaves((one.values, one.b))
    x = one.solve(values, b)
    assert x.is_cuda and all(gradient.is_cuda for gradient in one.face.library.autograd.grad(x.sum(), (values, b)))
    one = Sparse(Jax("cuda"), *problem(block, 6, columns=2))
    assert one.solver.plan.core.device == "cuda:0"
    jax = one.face.library
    text = jax.jit(lambda v, r: jax.vjp(one.solve, v, r)[1](r)).lower(one.values, one.b).as_text()
    assert "callback" not in text
    one.b[3, 1] = np.nan
    x = np.asarray(one.solve(one.values, one.b))
    assert np.isnan(x[:, 1]).all() and np.isfinite(x[:, 0]).all()
    assert np.isnan(one.solve(one.values * 0, one.b)).all()


def test_operator_of_cupy():
    cupy = pytest.importorskip("cupy")
    linalg = pytest.importorskip("cupyx.scipy.sparse.linalg")
    from cupyx.scipy.sparse import csr_matrix

    A, b = problem(1, 12)
    on_device = csr_matrix(A)
    x, info = linalg.gmres(on_device, cupy.asarray(b), M=sparse.ildu0(on_device), rtol=1e-10)
    assert info == 0
    close(cupy.asnumpy(x), sla.spsolve(A.tocsc(), b), 1e-7)


def test_jax_with_a_solver_of_the_processor():
    A, b = problem(2, 6)
    one = Sparse(Jax("cuda"), A, b, device="cpu")
    f = one.face.library.jit(one.solve)
    assert "callback" in f.lower(A.data, b).as_text()
    close(f(A.data, b), sla.spsolve(A.tocsc(), b))
