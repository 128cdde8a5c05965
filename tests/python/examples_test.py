"""The examples in tools/examples/python, small."""

import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "tools/examples/python"


def example(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_mpc(tmp_path):
    torch = pytest.importorskip("torch")
    mpc = example("mpc")
    flight = mpc.fly(4, 100, 10, "cpu")
    assert flight["states"][-1, :, ::4].norm(dim=-1).max() < 0.01 < flight["states"][0, :, ::4].norm(dim=-1).min()
    assert flight["inputs"].abs().max() <= 1
    if importlib.util.find_spec("matplotlib"):
        mpc.draw(flight, str(tmp_path / "mpc.png"))
        assert (tmp_path / "mpc.png").stat().st_size > 10_000
    # A plan is optimal: a step down the gradient, within the bounds, does not move it.
    A, B = mpc.models(4, torch.float64, "cpu")
    x = flight["states"][0]
    u = mpc.Controller(A, B).plan(x, 800).requires_grad_()
    weights = torch.tensor(mpc.WEIGHTS * mpc.AXES, dtype=torch.float64)
    cost, state = mpc.INPUT_WEIGHT * u.square().sum() / 2, x
    for k in range(mpc.N):
        state = (A @ state[..., None] + B @ u[:, k, :, None])[..., 0]
        cost = cost + (weights * state.square()).sum() / 2
    (gradient,) = torch.autograd.grad(cost, u)
    moved = (u - gradient).clamp(-1, 1) - u
    assert moved.abs().max() < 1e-6
    assert (u.abs() == 1).any() and (u.abs() < 1).any()
