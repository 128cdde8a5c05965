"""Families by the names in their tables on a CUDA device: arrays of torch and CuPy, gradients in torch and JAX. The bits are those of the
family's own module."""

import numpy as np
import pytest
import trifold
import trifold.families
from families_test import image

pytestmark = [
    pytest.mark.skipif(not trifold.info()["devices"]["cuda"]["devices"], reason="no CUDA device"),
    pytest.mark.usefixtures("time_limit"),
]


@pytest.fixture
def torch():
    library = pytest.importorskip("torch")
    return library if library.cuda.is_available() else pytest.skip("torch sees no CUDA device")


def test_tensors_and_arrays_of_cupy(torch):
    cupy = pytest.importorskip("cupy")
    stencil, b = image(33, 31), np.random.default_rng(5).normal(size=(33, 31))
    s = trifold.families.Solver("grid", width=31, height=33, device="cuda:0")
    own = trifold.grid.solve(torch.tensor(stencil).cuda(), torch.tensor(b).cuda())
    assert s.factor_solve(torch.tensor(stencil).cuda(), torch.tensor(b).cuda()).equal(own)
    assert np.array_equal(s.factor_solve(cupy.asarray(stencil), cupy.asarray(b)).get(), own.cpu().numpy())
    assert s.outcomes()[0]["problem"] == "none"
    with pytest.raises(trifold.SpecError, match="B is on the CPU and the Solver on GPU 0; make it with another device, or copy the array"):
        s.solve(b)


def test_gradients(torch):
    import trifold.torch
    import trifold.torch.families

    stencil, b = (torch.tensor(array).cuda() for array in (image(33, 31), np.random.default_rng(5).normal(size=(33, 31))))
    s = trifold.families.Solver("grid", width=31, height=33, device="cuda:0")

    def gradients(solve):
        arrays = [array.clone().requires_grad_() for array in (stencil, b)]
        solve(*arrays).square().sum().backward()
        return [array.grad for array in arrays]

    own, found = gradients(trifold.torch.grid.solve), gradients(lambda *arrays: trifold.torch.families.solve(s, *arrays))
    assert all(one.equal(other) for one, other in zip(own, found))


def test_gradients_in_jax():
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no CUDA device")
    import trifold.jax
    import trifold.jax.families

    stencil, b = image(33, 31).astype("f4"), np.random.default_rng(5).normal(size=(33, 31)).astype("f4")
    s = trifold.families.Solver("grid", width=31, height=33, precision="f32")

    def gradients(solve):
        return jax.jit(jax.grad(lambda *arrays: (solve(*arrays) ** 2).sum(), (0, 1)))(stencil, b)

    for one, other in zip(gradients(trifold.jax.grid.solve), gradients(lambda *arrays: trifold.jax.families.solve(s, *arrays))):
        assert abs(one - other).max() < 1e-5 * abs(one).max()
