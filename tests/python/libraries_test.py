"""Arrays of torch and JAX on the CPU: read in place, and results of the library that came in. Without the library there is nothing to
test."""

import numpy as np
import pytest
import trifold
from chains import Calls
from faces import JaxArrays, TorchTensors
from problems import make, rhs, solution


class TestTensors(Calls):
    @pytest.fixture
    def face(self):
        return TorchTensors()


class TestArraysOfJax(Calls):
    @pytest.fixture
    def face(self):
        return JaxArrays()


def test_torch():
    torch = pytest.importorskip("torch")
    arrays = *make(3, 7, 2), rhs(3, 7, 2, 2)
    expected, (D, E, b) = solution(*arrays), map(torch.from_numpy, arrays)
    solver = trifold.Plan(block=3, horizon=7, batch=2, rhs=2, dtype=torch.float64, device=torch.device("cpu")).solver()
    out = torch.empty_like(b)
    assert solver.factor_solve(D, E, b, out) is out
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-10, atol=1e-12)
    gaps = torch.stack([b, b], -1)[..., 0]
    assert not gaps.is_contiguous()
    np.testing.assert_allclose(solver.solve(gaps).numpy(), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(trifold.solve(D, E, b, active=torch.tensor([True, False]), shift=0.0)[0].numpy(), expected[0], rtol=1e-10)


def test_torch_is_told_what_fits():
    torch = pytest.importorskip("torch")
    D, E, b = map(torch.from_numpy, (*make(3, 7), rhs(3, 7)))
    with pytest.raises(trifold.SpecError, match="trifold.torch"):
        trifold.solve(D.clone().requires_grad_(), E, b)
    with torch.no_grad():
        trifold.solve(D.clone().requires_grad_(), E, b)
    with pytest.raises(trifold.SpecError, match="convert"):
        trifold.solve(D.to(torch.bfloat16), E, b)
    with pytest.raises((trifold.SpecError, RuntimeError, BufferError)):
        trifold.solve(D.to("meta"), E.to("meta"), b.to("meta"))
    with pytest.raises((trifold.SpecError, RuntimeError, BufferError)):
        trifold.solve(D.to_sparse(), E, b)
    with pytest.raises(trifold.SpecError, match="out has shape"):
        trifold.Plan(block=3, horizon=7).solver().factor_solve(D, E, b, torch.empty(7, 2))
    # NumPy and torch in one call: both are memory of the processor.
    assert isinstance(trifold.solve(D.numpy(), E, b), torch.Tensor)
    assert isinstance(trifold.solve(D, E, b.numpy()), np.ndarray)


def test_jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    D, E, b = map(jax.numpy.asarray, (*make(3, 7, 2), rhs(3, 7, 2)))
    solver = trifold.Plan(block=3, horizon=7, batch=2, dtype=jax.numpy.float64).solver()
    assert isinstance(solver.factor_solve(D, E, b), jax.Array)
    with pytest.raises(trifold.SpecError, match="results go into"):
        solver.solve(b, b)
