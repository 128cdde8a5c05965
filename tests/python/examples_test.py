"""The examples run, small, and find what they are for. Without the libraries that they show there is nothing to test."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import trifold

FOLDER = Path(__file__).parents[2] / "tools/examples/python"


def example(name, *needed):
    for library in ("matplotlib", *needed):
        pytest.importorskip(library)
    importlib.import_module("matplotlib").use("agg")
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_gaussian_process(tmp_path):
    module = example("gaussian_process", "scipy", "statsmodels")
    error, within = module.main(["--output", str(tmp_path), "--iterations", "1", "--every", "20"])
    assert error < 1.5 and within > 0.8  # ppm, two years ahead
    assert (tmp_path / "gaussian_process.png").stat().st_size > 10_000


def test_race_line(tmp_path):
    middle, found, sharpest = example("race_line").main(["--output", str(tmp_path)])
    assert found.shape == (3, *middle.shape) and sharpest == sorted(sharpest, reverse=True)
    assert (tmp_path / "race_line.png").stat().st_size > 10_000
    # Its end is its beginning: a track that begins elsewhere has the same line.
    module = example("race_line")
    np.testing.assert_allclose(module.lines(np.roll(middle, 20, 0), (1e-4,))[0], np.roll(found[1], 20, 0), atol=1e-8)


def test_cameras(tmp_path):
    true, results = example("cameras").main(["--output", str(tmp_path)])
    (one, wide), (eight, narrow) = results[1], results[8]
    assert np.abs(eight - true).max() < 0.3 < np.abs(one - true).max() < 5 * wide.max() and narrow[-1] < 0.1 * wide[-1]
    assert (tmp_path / "cameras.png").stat().st_size > 10_000


def test_hop(tmp_path):
    module = example("hop")
    x, sizes = module.main(["--output", str(tmp_path)])
    ground = module.on_ground()
    assert not x[~ground, 2].any() and (x[ground, 2].max() > 3) and set(sizes) == {2, 3}
    force = np.where(ground, x[:, 2], 0)
    defects = x[1:, :2] - x[:-1, :2] @ module.A.T - module.GRAVITY * np.outer(force[:-1] - 1, module.B)
    assert np.abs(defects).max() < 1e-4
    assert (tmp_path / "hop.png").stat().st_size > 10_000


def test_panel(tmp_path):
    module = example("panel")
    y, lengths, effects, (level, deviation, effect, spread) = module.main(["--output", str(tmp_path)])
    assert (tmp_path / "panel.png").stat().st_size > 10_000
    assert (abs(effect - effects) < 2 * spread).mean() > 0.9
    # The shortest shop is a regression with as many levels as weeks.
    weeks = lengths[-1]
    steps = np.diff(np.eye(weeks), axis=0) / module.STEP
    unknowns = np.hstack([np.eye(weeks), module.seasons(weeks).T]) / module.NOISE
    A = unknowns.T @ unknowns + np.pad(steps.T @ steps, (0, 2))
    A[-2:, -2:] += module.PRIOR * np.eye(2)
    mean = np.linalg.solve(A, unknowns.T @ y[-1, :weeks] / module.NOISE)
    np.testing.assert_allclose(np.append(level[-1, :weeks], effect[-1]), mean, atol=1e-9)
    expected = np.sqrt(np.diag(np.linalg.inv(A)))
    np.testing.assert_allclose(np.append(deviation[-1, :weeks], spread[-1]), expected, rtol=1e-9)


def test_shapes_of_input(tmp_path):
    module = example("shapes_of_input")
    counts, moves, errors = module.main(["--output", str(tmp_path)])
    assert counts == (1, 5, 14) and errors == sorted(errors, reverse=True)
    assert (tmp_path / "shapes_of_input.png").stat().st_size > 10_000
    for count, (x, p) in zip(counts, moves):  # the states are those that the force gives
        force = p @ module.shapes(count)
        np.testing.assert_allclose(x[1:], x[:-1] @ module.A.T + force[:-1, None] * module.B, atol=1e-4)


def test_macro(tmp_path):
    module = example("macro", "torch", "trifold.torch")
    path = module.main(["--output", str(tmp_path), "--iterations", "5"])
    assert path[-1] > path[0] + 500
    assert (tmp_path / "macro.png").stat().st_size > 10_000


def test_macro_is_the_model_of_the_textbook():
    """The likelihood, of the data and the parameters that tests/tools/demo checks in C++."""
    module = example("macro", "torch")
    import torch
    from models_test import close, textbook
    from trifold import models

    _, values = module.read()
    arguments = module.model(torch.zeros(4, 12, dtype=torch.float64), values)
    arguments = {key: np.asarray(value) for key, value in arguments.items()}
    assert values.shape == (203, 12) and np.isnan(values).sum() == 2
    mean, covariance, log_likelihood, _ = textbook(**arguments)
    smoothed = models.kalman(**arguments)
    close(smoothed.log_likelihood, log_likelihood, 1e-10)
    close(smoothed.mean, mean)
    close(smoothed.covariance, covariance, 1e-8)


def test_mpc(tmp_path):
    torch = pytest.importorskip("torch")
    mpc = example("mpc", "torch")
    flight = mpc.fly(4, 100, 10, "cpu")
    assert flight["states"][-1, :, ::4].norm(dim=-1).max() < 0.01 < flight["states"][0, :, ::4].norm(dim=-1).min()
    assert flight["inputs"].abs().max() <= 1
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


def test_denoise(tmp_path):
    module = example("denoise")
    before, after = module.main(["--output", str(tmp_path)])
    assert after > before + 8  # decibels
    assert 10_000 < (tmp_path / "denoise.png").stat().st_size < 200_000
    # What the docstring says that the steps make smaller, they make smaller.
    image = module.photograph()[300:340, 200:250]
    noisy = image + 0.1 * np.random.default_rng(0).standard_normal(image.shape, dtype=np.float32)

    def objective(u):
        total = np.square(u - noisy).sum(dtype=np.float64) / 2
        for _, dy, dx, distance in module.BEFORE:
            here, there = module.pairs(*u.shape[:2], dy, dx)
            total += 0.06 * np.sqrt(np.square(u[here] - u[there]).sum(-1)).sum(dtype=np.float64) / distance
        return total

    values = [objective(module.denoise(noisy, 0.06, steps)) for steps in range(5)]
    assert all(later < earlier for earlier, later in zip(values, values[1:]))


def test_conductivity(tmp_path):
    module = example("conductivity", "torch", "trifold.torch")
    errors = module.main(["--output", str(tmp_path), "--size", "33", "--iterations", "40"])
    assert errors[-1] < errors[0] / 6
    assert (tmp_path / "conductivity.png").stat().st_size > 10_000


def test_rock(tmp_path):
    module = example("rock", "scipy")
    k, pressure, leaves = module.main(["--output", str(tmp_path), "--shape", "4", "21", "13"])
    assert abs(leaves - 1) < 1e-6  # no water is lost
    assert pressure.min() > 0  # that of the corners is the least
    A, middle, _ = module.equations(k)
    left = A @ pressure.ravel()
    left[middle] -= k.ravel()[middle] / k.ravel()[middle].sum()
    assert np.linalg.norm(left) <= 1.01e-8 * np.linalg.norm(k.ravel()[middle] / k.ravel()[middle].sum())
    assert (tmp_path / "rock.png").stat().st_size > 10_000


def test_permeability(tmp_path):
    module = example("permeability", "torch", "scipy", "trifold.torch")
    errors, left = module.main(["--output", str(tmp_path), "--shape", "3", "12", "16", "--iterations", "60"])
    # All that the measurements tell is learned, and no more: they are met to their noise. Its docstring says what stays.
    assert 0.9 < left < 1.1
    assert errors[-1] < 0.45 * errors[0]
    assert (tmp_path / "permeability.png").stat().st_size > 10_000


def test_swing_up(tmp_path):
    module = example("swing_up")
    x, u, times = module.main(["--output", str(tmp_path)])
    # Feasible, upright at the end, and members were factored again where the Hessian was not positive definite along the dynamics.
    assert np.abs(module.dynamics(x[:, :-1], u) - x[:, 1:]).max() < 1e-8
    assert np.abs(np.cos(x[:, -1, 0]) + 1).max() < 1e-4 and np.abs(x[:, -1, 1]).max() < 0.05
    assert (times[0] > 1).all() and (times[-1] == 1).all()
    assert (tmp_path / "swing_up.png").stat().st_size > 10_000


def test_around_hill():
    module = example("around_hill")
    controllers, times = module.main(["--members", "40", "--steps", "60"])
    # Steps end, at a minimum, though members had wrong inertia on the way there.
    assert (times[0] > 1).any() and (times[-1] == 1).all() and times.max() < module.ROUNDS
    assert controllers.size.max() < 1e-6
    D, gradient = controllers.derivatives()
    assert abs(gradient).max() < 1e-6
    for k in (0, 39):
        values = np.linalg.eigvalsh(trifold.to_dense(D[k], controllers.E[k]))
        assert (values < 0).sum() == module.MULTIPLIERS


def test_lines(tmp_path):
    module = example("lines")
    flow, q, histories = module.main(["--output", str(tmp_path)])
    assert (tmp_path / "lines.png").stat().st_size > 10_000 and np.isfinite(q).all()
    cells, across, both = map(len, histories.values())
    assert 2 * both < 1.5 * across < cells and histories["lines across and along"][-1] < 1e-12
    # What the smoother converges to is the solution of the whole system.
    flow = module.Flow(5, 6)
    unit = np.eye(5 * 6 * 4).reshape(-1, 5, 6, 4)
    A = -np.stack([flow.residual(one, np.zeros_like(one)).ravel() for one in unit], -1)
    b = flow.start()
    _, found = module.history(flow, flow.sweep_both, b, 200)
    np.testing.assert_allclose(found.ravel(), np.linalg.solve(A, b.ravel()), atol=1e-11 * abs(found).max())
