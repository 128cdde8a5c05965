"""State spaces against a textbook Kalman filter and Rauch-Tung-Striebel smoother, and Gaussian processes against dense kernels."""

import math

import numpy as np
import pytest
import trifold
from trifold import models


def at(value, t, core):
    """What holds at time t, of a constant or of one a time."""
    return value if np.ndim(value) == core else value[t]


def textbook(F, H, Q, R, P0, ys, m0=None, c=None, d=None):
    """Covariance form, one series: shares nothing with the normal equations."""
    n, m = P0.shape[0], ys.shape[1]
    m0, c, d = (np.zeros(k) if v is None else v for v, k in ((m0, n), (c, n), (d, m)))
    means, covariances, ahead, log_likelihood = [], [], [], 0.0
    for t, y in enumerate(ys):
        mean, P = m0, P0
        if t > 0:
            f = at(F, t - 1, 2)
            mean, P = f @ means[-1] + at(c, t - 1, 1), f @ covariances[-1] @ f.T + at(Q, t - 1, 2)
        ahead.append((mean, P))
        seen = ~np.isnan(y)
        h, r = at(H, t, 2)[seen], at(R, t, 2)[np.ix_(seen, seen)]
        S = h @ P @ h.T + r
        innovation = y[seen] - at(d, t, 1)[seen] - h @ mean
        gain = np.linalg.solve(S, h @ P).T
        rest = np.eye(n) - gain @ h
        means.append(mean + gain @ innovation)
        covariances.append(rest @ P @ rest.T + gain @ r @ gain.T)
        if seen.any():
            log_likelihood -= 0.5 * (innovation @ np.linalg.solve(S, innovation) + np.linalg.slogdet(2 * math.pi * S)[1])
    neighbours = [None] * (len(ys) - 1)
    for t in reversed(range(len(ys) - 1)):
        mean, P = ahead[t + 1]
        gain = np.linalg.solve(P, at(F, t, 2) @ covariances[t]).T
        means[t] = means[t] + gain @ (means[t + 1] - mean)
        neighbours[t] = covariances[t + 1] @ gain.T
        covariances[t] = covariances[t] + gain @ (covariances[t + 1] - P) @ gain.T
    return np.array(means), np.array(covariances), log_likelihood, np.array(neighbours).reshape(-1, n, n)


def covariance(random, size, front=()):
    factor = random.standard_normal((*front, size, size))
    return factor @ factor.swapaxes(-1, -2) / size + 0.1 * np.eye(size)


def problem(n, m, horizon, *, varying=False, missing=False, batch=None, seed=0):
    random = np.random.default_rng(seed + 100 * n + horizon)
    steps, times = ((horizon - 1,), (horizon,)) if varying else ((), ())
    front = () if batch is None else (batch,)
    wide = (*front, *(steps or ((1,) if batch else ())))
    ys = 3 * random.standard_normal((*front, horizon, m))
    if missing:
        ys[random.random(ys.shape) < 0.3] = np.nan
        ys[..., horizon // 2, :] = np.nan
    return {
        "F": 0.9 * np.linalg.qr(random.standard_normal((*(wide if batch else steps), n, n)))[0],
        "H": random.standard_normal((*times, m, n)),
        "Q": covariance(random, n, steps),
        "R": covariance(random, m, times),
        "P0": covariance(random, n, front),
        "ys": ys,
        "m0": random.standard_normal((*front, n)),
        "c": random.standard_normal((*steps, n)),
        "d": random.standard_normal((*times, m)),
    }


def close(actual, expected, tolerance=1e-9):
    """Relative to the largest entry."""
    expected = np.asarray(expected)
    assert np.shape(actual) == expected.shape
    if expected.size:
        np.testing.assert_allclose(np.asarray(actual), expected, rtol=0, atol=tolerance * np.abs(expected).max())


def compare(smoothed, expected, tolerance=1e-9):
    mean, P, log_likelihood, neighbours = expected
    close(smoothed.mean, mean, tolerance)
    close(smoothed.covariance, P, tolerance)
    close(smoothed.variance, np.diagonal(P, 0, -2, -1), tolerance)
    close(smoothed.neighbours, neighbours, tolerance)
    # One plus a logarithm: of no values at all it is 0.
    close(1 + np.abs(smoothed.log_likelihood), 1 + np.abs(log_likelihood), tolerance)
    assert np.all(np.abs(log_likelihood) < 1e-3) or np.all(np.sign(smoothed.log_likelihood) == np.sign(log_likelihood))


@pytest.mark.parametrize("horizon", [1, 2, 33])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 2), (7, 8)])
@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_smoother(n, m, horizon, varying, missing):
    p = problem(n, m, horizon, varying=varying, missing=missing)
    compare(models.kalman(**p), textbook(**p))
    assert models.log_likelihood(**p) == models.kalman(**p).log_likelihood


def test_defaults_and_one_value_a_time():
    p = problem(3, 1, 9)
    for name in ("m0", "c", "d"):
        p.pop(name)
    smoothed = models.kalman(**{**p, "ys": p["ys"][:, 0].tolist()})
    compare(smoothed, textbook(**p))
    mean, variance, log_likelihood = smoothed[:3]
    assert mean is smoothed.mean and variance is smoothed.variance and log_likelihood is smoothed.log_likelihood


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("varying", [False, True])
def test_batch(missing, varying):
    p = problem(3, 2, 12, batch=4, varying=varying, missing=missing)
    smoothed = models.kalman(**p)
    one = [textbook(**{**p, **{k: p[k][i] if varying or k != "F" else p[k][i, 0] for k in ("F", "P0", "ys", "m0")}}) for i in range(4)]
    compare(smoothed, [np.array(part) for part in zip(*one)])


def test_series_of_one_model_share_a_factorization(monkeypatch):
    p = problem(3, 2, 12)
    ys = np.stack([p["ys"], 2 * p["ys"], -p["ys"]])
    shapes = []
    factor = trifold.factor
    monkeypatch.setattr("trifold.state_space.factor", lambda D, E: shapes.append(D.shape) or factor(D, E))
    for F in (p["F"], p["F"][None, None]):
        smoothed = models.kalman(**{**p, "F": F, "ys": ys})
        compare(smoothed, [np.array(part) for part in zip(*(textbook(**{**p, "ys": y}) for y in ys))])
    assert shapes == [(12, 3, 3)] * 2


def test_a_batch_of_models_for_one_series():
    p = problem(3, 2, 12)
    scales = np.array([0.5, 1.0, 2.0])
    Q = scales[:, None, None, None] * p["Q"]
    expected = [textbook(**{**p, "Q": s * p["Q"]}) for s in scales]
    compare(models.kalman(**{**p, "Q": Q}), [np.array(part) for part in zip(*expected)])


@pytest.mark.parametrize("batch", [None, 3])
def test_normal_equations_are_those_of_kalman(batch):
    p = problem(3, 2, 12)
    ys = p["ys"] if batch is None else np.stack([p["ys"]] * batch)
    smoothed = models.kalman(**{**p, "ys": ys})
    D, E, b, constant = models.normal_equations(**{**p, "ys": ys})
    close(trifold.solve(D, E, b), smoothed.mean)
    f = trifold.factor(D, E)
    close(-(constant + f.log_determinant() - f.quadratic(b)) / 2, smoothed.log_likelihood)


def test_precision_is_the_inverse_of_the_covariance_of_the_states():
    p = problem(3, 1, 5, varying=True)
    D, E = models.precision(p["F"], p["Q"], p["P0"])
    diagonal, lower = trifold.factor(D, E).selected_inverse()
    P = p["P0"]
    for t in range(5):
        close(diagonal[t], P)
        if t < 4:
            close(lower[t], p["F"][t] @ P)
            P = p["F"][t] @ P @ p["F"][t].T + p["Q"][t]
    again = models.precision(p["F"][0], p["Q"][0], p["P0"], horizon=1)
    close(again[0][0], np.linalg.inv(p["P0"]))
    with pytest.raises(trifold.SpecError, match="give horizon"):
        models.precision(p["F"][0], p["Q"][0], p["P0"])


def test_the_likelihood_keeps_its_digits_far_from_zero():
    """Values of 1e6 with noise of 1: b' A^-1 b would leave few digits of the likelihood."""
    p = problem(2, 1, 40, seed=3)
    p["F"], p["c"], p["d"], p["m0"] = np.array([[1.0, 1.0], [0.0, 1.0]]), None, None, np.array([1e6, 0])
    p["H"] = np.array([[1.0, 0.0]])
    p["ys"] = 1e6 + p["ys"]
    near = {**p, "ys": p["ys"] - 1e6, "m0": np.zeros(2)}
    close(models.log_likelihood(**p), textbook(**near)[2], 1e-9)


def test_float32():
    p = {key: value.astype(np.float32) for key, value in problem(3, 2, 33, missing=True).items()}
    smoothed = models.kalman(**p)
    assert smoothed.mean.dtype == np.float32
    compare(smoothed, textbook(**{key: value.astype(np.float64) for key, value in p.items()}), 2e-4)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"F": np.eye(4)}, r"F has shape \(4, 4\); give \(3, 3\), \(11, 3, 3\) or \(batch, 11, 3, 3\)"),
        ({"Q": np.ones((12, 3, 3))}, r"Q has shape \(12, 3, 3\)"),
        ({"H": np.eye(3)}, r"H has shape .*give \(2, 3\), \(12, 2, 3\)"),
        ({"R": np.eye(3)}, "R has shape"),
        ({"P0": np.ones((2, 3))}, "P0 has shape"),
        ({"P0": np.zeros((0, 0))}, "at least one"),
        ({"P0": 1.0}, r"F has shape \(3, 3\); give \(1, 1\)"),
        ({"ys": np.zeros((0, 2))}, "at least one"),
        ({"ys": np.zeros((5, 0))}, "ys has shape"),
        ({"ys": 3.0}, "ys has shape"),
        ({"ys": np.zeros((2, 2, 12, 2))}, "ys has shape"),
        ({"ys": None}, "ys is None"),
        ({"ys": [["a", "b"]]}, "give real numbers"),
        ({"F": np.eye(3) * 1j}, "give real numbers"),
        ({"ys": np.full((12, 2), np.inf)}, "ys has infinities; give NaN"),
        ({"m0": np.zeros(2)}, r"m0 has shape \(2,\); give \(3,\) or \(batch, 3\)"),
        ({"c": np.zeros((12, 3))}, "c has shape"),
        ({"d": np.zeros((12, 3))}, "d has shape"),
        ({"F": np.full((3, 3), np.nan)}, "F has infinities or NaN"),
        ({"P0": np.diag([1, -np.inf, 1])}, "P0 has infinities or NaN"),
        ({"P0": np.diag([1, np.nan, 1])}, "P0 has infinities or NaN"),
        ({"Q": np.diag([1.0, 0.0, 1.0]), "singular": False}, "Q is not positive definite, or singular.*singular=True"),
        ({"Q": np.ones((3, 3)), "singular": False}, "Q is not positive definite, or singular"),
        ({"Q": np.diag([1.0, -1e-6, 1.0])}, "Q has a negative eigenvalue"),
        ({"R": np.array([[1.0, 2.0], [2.0, 1.0]])}, "R has a negative eigenvalue"),
        ({"P0": -np.eye(3)}, "P0 has a negative eigenvalue"),
        ({"singular": "yes"}, "singular = 'yes'"),
        ({"Q": np.eye(3) + np.eye(3, k=1)}, "Q is not symmetric"),
        ({"Q": np.eye(3) + 1e-7 * np.eye(3, k=1)}, "Q is not symmetric"),
        ({"ys": np.zeros((2, 12, 2)), "P0": np.stack([np.eye(3)] * 3)}, "batch axes"),
    ],
)
def test_bad_input(change, text):
    with pytest.raises(trifold.SpecError, match=text):
        models.kalman(**{**problem(3, 2, 12), **change})


def test_covariances_that_were_computed():
    """An inverse is symmetric to its condition times the rounding only."""
    args = problem(3, 2, 12)
    wanted = models.kalman(**args)
    off = args["Q"] * (1 + 1e-10 * np.triu(np.ones((3, 3)), 1))
    assert np.any(off != np.swapaxes(off, -1, -2))
    for got, want in zip(models.kalman(**{**args, "Q": off}), wanted):
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-9)


def kernel(order, length, variance, times):
    u = np.sqrt(2 * order) * np.abs(times[:, None] - times[None, :]) / length
    return variance * np.exp(-u) * {0.5: 1, 1.5: 1 + u, 2.5: 1 + u + u * u / 3}[order]


def states_covariance(process):
    """Of all f(times), by the recursion."""
    P, rows = process.P0, []
    for t in range(len(process.F) + 1):
        row, cross = [(process.H @ P @ process.H.T).item()], P
        for F in process.F[t:]:
            cross = F @ cross
            row.append((process.H @ cross @ process.H.T).item())
        rows.append(np.concatenate([np.zeros(t), row]))
        if t < len(process.F):
            P = process.F[t] @ P @ process.F[t].T + process.Q[t]
    upper = np.array(rows)
    return upper + np.triu(upper, 1).T


TIMES = np.concatenate([[-3.0, -2.999], np.sort(np.random.default_rng(2).uniform(0, 30, 40)), [31.0, 90.0]])


@pytest.mark.parametrize("order", [0.5, 1.5, 2.5])
def test_matern_has_its_kernel(order):
    process = models.matern(order, 2.5, 1.7, TIMES)
    close(states_covariance(process), kernel(order, 2.5, 1.7, TIMES), 1e-12)
    # The covariance of a step, where the plain difference has any digits.
    difference = process.P0 - process.F @ process.P0 @ process.F.swapaxes(-1, -2)
    close(process.Q, difference, 1e-12)


@pytest.mark.parametrize("step", [1e-8, 1e-3, 0.1, 1.999, 2.001, 30.0, 1e4])
@pytest.mark.parametrize("order", [0.5, 1.5, 2.5])
def test_the_noise_of_steps_of_any_size_is_positive_definite(order, step):
    """Against the integral over many short pieces."""
    process = models.matern(order, np.sqrt(2 * order), 1.0, [0.0, step])
    points, weights = np.polynomial.legendre.leggauss(20)
    end = min(step, 60.0)
    s = (0.5 * end / 50 * (points + 1) + end / 50 * np.arange(50)[:, None]).reshape(-1)
    weights = np.tile(weights / 50, 50)
    p = int(order - 0.5)
    h = np.exp(-s) * np.array([[1 + 0 * s], [s, 1 - s], [s**2 / 2, s - s**2 / 2, 1 - 2 * s + s**2 / 2]][p])
    density = [2.0, 4.0, 16 / 3][p]
    expected = density * (h * (0.5 * end * weights)) @ h.T
    scale = np.sqrt(np.diagonal(expected))
    np.testing.assert_allclose(process.Q[0] / np.outer(scale, scale), expected / np.outer(scale, scale), rtol=0, atol=1e-13)
    models.precision(process.F, process.Q, process.P0)


def test_too_little_noise_for_the_digits_is_an_error():
    F, H, Q, P0 = models.matern(2.5, 8.0, 2.0, [0.0, 0.001, 1.0, 2.0])
    for call in (models.kalman, models.log_likelihood):
        with pytest.raises(trifold.SpecError, match="less than two digits"):
            call(F, H, Q, [[0.09]], P0, np.ones(4))


def test_a_sum_with_a_season_is_a_gaussian_process():
    TIMES = np.cumsum(np.random.default_rng(2).uniform(0.3, 1.5, 44))
    trend = models.matern(2.5, 8.0, 2.0, TIMES)
    season = models.oscillating(models.matern(1.5, 20.0, 0.7, TIMES), 1.3, TIMES)
    F, H, Q, P0 = models.total(trend, season)
    K = kernel(2.5, 8.0, 2.0, TIMES) + kernel(1.5, 20.0, 0.7, TIMES) * np.cos(2 * np.pi * (TIMES[:, None] - TIMES) / 1.3)
    random = np.random.default_rng(5)
    ys = random.standard_normal(len(TIMES))
    ys[::6] = np.nan
    seen = ~np.isnan(ys)
    smoothed = models.kalman(F, H, Q, [[0.09]], P0, ys)
    S = K[np.ix_(seen, seen)] + 0.09 * np.eye(seen.sum())
    close(smoothed.mean @ H[0], K[:, seen] @ np.linalg.solve(S, ys[seen]), 1e-8)
    variance = np.diagonal(K - K[:, seen] @ np.linalg.solve(S, K[seen]))
    close(np.einsum("i,tij,j->t", H[0], smoothed.covariance, H[0]), variance, 1e-8)
    exact = -0.5 * (ys[seen] @ np.linalg.solve(S, ys[seen]) + np.linalg.slogdet(2 * np.pi * S)[1])
    close(smoothed.log_likelihood, exact, 1e-8)


def test_a_batch_of_hyperparameters():
    lengths, variances = np.array([1.0, 2.0, 4.0]), np.array([0.5, 1.0, 2.0])
    ys = np.sin(TIMES)
    F, H, Q, P0 = models.total(
        models.matern(1.5, lengths, variances, TIMES), models.oscillating(models.matern(0.5, 3.0, lengths, TIMES), variances, TIMES)
    )
    together = models.log_likelihood(F, H, Q, [[0.1]], P0, ys)
    assert together.shape == (3,)
    for i in range(3):
        season = models.oscillating(models.matern(0.5, 3.0, lengths[i], TIMES), variances[i], TIMES)
        F, H, Q, P0 = models.total(models.matern(1.5, lengths[i], variances[i], TIMES), season)
        close(together[i], models.log_likelihood(F, H, Q, [[0.1]], P0, ys), 1e-10)


def test_one_time():
    F, H, Q, P0 = models.matern(2.5, 1.0, 2.0, [0.3])
    smoothed = models.kalman(F, H, Q, [[1.0]], P0, [3.0])
    close(smoothed.mean[0, 0], 2.0)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((1.0, 1.0, 1.0, [0.0, 1.0]), "order is 1.0; give 0.5, 1.5 or 2.5"),
        ((0.5, 0.0, 1.0, [0.0, 1.0]), "length must be positive"),
        ((0.5, 1.0, np.nan, [0.0, 1.0]), "variance must be positive"),
        ((0.5, 1.0, 1.0, [0.0, 0.0]), "increase strictly"),
        ((0.5, 1.0, 1.0, [0.0, np.inf]), "increase strictly"),
        ((0.5, 1.0, 1.0, []), "times has shape"),
        ((0.5, 1.0, 1.0, 2.0), "times has shape"),
        ((0.5, np.ones((2, 2)), 1.0, [0.0, 1.0]), "length has shape"),
        ((0.5, np.ones(2), np.ones(3), [0.0, 1.0]), "batch axes"),
    ],
)
def test_bad_hyperparameters(arguments, text):
    with pytest.raises(trifold.SpecError, match=text):
        models.matern(*arguments)


def test_bad_processes():
    process = models.matern(0.5, 1.0, 1.0, [0.0, 1.0])
    with pytest.raises(trifold.SpecError, match="no processes"):
        models.total()
    with pytest.raises(trifold.SpecError, match="at the same times"):
        models.total(process, models.matern(0.5, 1.0, 1.0, [0.0, 1.0, 2.0]))
    with pytest.raises(trifold.SpecError, match="times of matern"):
        models.oscillating(process, 1.0, [0.0, 1.0, 2.0])
    with pytest.raises(trifold.SpecError, match="period must be positive"):
        models.oscillating(process, -1.0, [0.0, 1.0])


def parameters(varying, missing, batch):
    """Parameters as functions of free numbers: covariances stay positive definite."""
    return problem(3, 2, 9, varying=varying, missing=missing, batch=batch)


def numeric_gradient(call, p, name, direction, step=1e-5):
    ahead, behind = ({**p, name: p[name] + sign * step * direction} for sign in (1, -1))
    return (call(ahead) - call(behind)) / (2 * step)


def directions(p, seed=4):
    random = np.random.default_rng(seed)
    for name, value in p.items():
        direction = random.standard_normal(value.shape)
        yield name, direction + direction.swapaxes(-1, -2) if name in ("Q", "R", "P0") else direction


CASES = [(False, False, None), (True, True, None), (False, False, 2), (True, True, 2)]


@pytest.mark.parametrize("case", CASES)
def test_torch_has_the_results_of_numpy_and_their_gradients(case):
    torch = pytest.importorskip("torch")
    pytest.importorskip("trifold.torch")
    p = parameters(*case)
    tensors = {key: torch.tensor(value, requires_grad=True) for key, value in p.items()}
    ours, expected = models.kalman(**tensors), models.kalman(**p)
    for a, b in zip(ours, expected):
        assert isinstance(a, torch.Tensor)
        close(a.detach().numpy(), b)
    models.log_likelihood(**tensors).sum().backward()
    for name, direction in directions(p):
        slope = numeric_gradient(lambda q: models.log_likelihood(**q).sum(), p, name, np.where(np.isnan(p[name]), 0, direction))
        found = tensors[name].grad.numpy()
        assert np.all(np.isfinite(found))
        np.testing.assert_allclose((found * direction).sum(), slope, rtol=2e-6, atol=1e-6)
    tensors = {key: torch.tensor(value, requires_grad=True) for key, value in p.items()}
    weights = np.random.default_rng(6).standard_normal(expected.mean.shape)
    (models.kalman(**tensors).mean * torch.from_numpy(weights)).sum().backward()
    for name in ("F", "R", "ys"):
        direction = dict(directions(p))[name]
        slope = numeric_gradient(lambda q: (models.kalman(**q).mean * weights).sum(), p, name, np.where(np.isnan(p[name]), 0, direction))
        np.testing.assert_allclose((tensors[name].grad.numpy() * direction).sum(), slope, rtol=2e-6, atol=1e-6)


def test_torch_among_arrays_of_numpy():
    torch = pytest.importorskip("torch")
    pytest.importorskip("trifold.torch")
    p = parameters(False, True, None)
    smoothed = models.kalman(**{**p, "Q": torch.tensor(p["Q"])})
    close(smoothed.mean.numpy(), models.kalman(**p).mean)
    narrow = models.kalman(**{**p, "Q": torch.tensor(p["Q"], dtype=torch.float32)})
    assert narrow.mean.dtype == torch.float32
    with pytest.raises(trifold.SpecError, match="Q is not positive definite"):
        models.kalman(**{**p, "Q": torch.zeros(3, 3)}, singular=False)


def test_gradients_of_hyperparameters_in_torch():
    torch = pytest.importorskip("torch")
    pytest.importorskip("trifold.torch")
    times = np.cumsum(np.random.default_rng(2).uniform(0.3, 1.5, 12))

    def value(length, variance, period, times):
        season = models.oscillating(models.matern(1.5, length * 3, variance, times), period, times)
        F, H, Q, P0 = models.total(models.matern(2.5, length, variance, times), season)
        return models.log_likelihood(F, H, Q, [[0.3]], P0, np.cos(np.arange(12.0)))

    inputs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (2.0, 0.7, 1.9, times)]
    assert torch.autograd.gradcheck(value, inputs, eps=1e-6, atol=1e-5)
    close(value(*inputs).item(), value(2.0, 0.7, 1.9, times))


@pytest.mark.parametrize("case", CASES[3:])
def test_jax_has_the_results_of_numpy_and_their_gradients(case):
    jax = pytest.importorskip("jax")
    pytest.importorskip("trifold.jax")
    jax.config.update("jax_enable_x64", True)
    p = parameters(*case)
    arrays = {key: jax.numpy.asarray(value) for key, value in p.items()}
    expected = models.kalman(**p)

    def total(p):
        smoothed = models.kalman(**p)
        return smoothed.log_likelihood.sum(), smoothed

    gradients, smoothed = jax.jit(jax.grad(total, has_aux=True))(arrays)
    for a, b in zip(smoothed, expected):
        assert isinstance(a, jax.Array)
        close(a, b)
    for name, direction in directions(p):
        slope = numeric_gradient(lambda q: models.log_likelihood(**q).sum(), p, name, np.where(np.isnan(p[name]), 0, direction))
        assert np.all(np.isfinite(gradients[name]))
        np.testing.assert_allclose((np.asarray(gradients[name]) * direction).sum(), slope, rtol=2e-6, atol=1e-6)


def test_jax_vmap_and_bad_input():
    jax = pytest.importorskip("jax")
    pytest.importorskip("trifold.jax")
    jax.config.update("jax_enable_x64", True)
    p = problem(3, 2, 9, missing=True)
    scales = np.array([0.5, 1.0, 2.0])
    together = jax.jit(jax.vmap(lambda s: models.log_likelihood(**{**p, "Q": s * p["Q"]})))(jax.numpy.asarray(scales))
    close(together, [models.log_likelihood(**{**p, "Q": s * p["Q"]}) for s in scales])
    with pytest.raises(trifold.SpecError, match="Q is not symmetric"):
        models.kalman(**{**p, "Q": jax.numpy.triu(jax.numpy.ones((3, 3)))})
    assert np.isnan(jax.jit(lambda Q: models.log_likelihood(**{**p, "Q": Q}))(-np.eye(3)))


def test_complete_series_in_jax():
    """If nothing is missing R is factored once, in compiled code too; that is said, for it cannot be seen."""
    jax = pytest.importorskip("jax")
    pytest.importorskip("trifold.jax")
    jax.config.update("jax_enable_x64", True)
    p = problem(3, 5, 9)
    value = jax.jit(lambda p: models.log_likelihood(**p, complete=True))
    close(value(p), models.log_likelihood(**p))
    assert all("9,5,5" not in line for line in value.lower(p).compile().as_text().splitlines())
    p["ys"][4, 1] = np.nan
    assert np.isnan(value(p))
    with pytest.raises(trifold.SpecError, match="complete says that no value is missing"):
        models.kalman(**p, complete=True)


@pytest.mark.parametrize("missing", [False, True])
def test_second_derivatives_in_jax(missing):
    """By differences of gradients; the first ones do not go through the states, and the second ones do."""
    jax = pytest.importorskip("jax")
    pytest.importorskip("trifold.jax")
    jax.config.update("jax_enable_x64", True)
    p = problem(2, 2, 5, missing=missing, seed=1)
    assert np.isnan(p["ys"]).sum() == 4 * missing
    away = dict(directions(p))

    def along(t):
        return models.log_likelihood(**{**p, **{name: p[name] + t * away[name] for name in ("F", "H", "m0", "c", "d")}})

    def noise(t):
        return models.log_likelihood(**{**p, **{name: (1 + t) * p[name] for name in ("Q", "R", "P0")}})

    for function in (along, noise):
        slope, step = jax.jit(jax.grad(function)), 1e-5
        curvature = (slope(step) - slope(-step)) / (2 * step)
        np.testing.assert_allclose(jax.jit(jax.grad(jax.grad(function)))(0.0), curvature, rtol=1e-7)
        np.testing.assert_allclose(jax.jit(jax.jacfwd(jax.grad(function)))(0.0), curvature, rtol=1e-7)


def test_torch_and_jax_in_one_call():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    with pytest.raises(trifold.SpecError, match="one library"):
        models.matern(0.5, torch.ones(()), jax.numpy.ones(()), [0.0, 1.0])


@pytest.mark.parametrize("whole", [False, True])
def test_masked_values_are_missing(whole):
    """The textbook's level with a slope; of what is masked the fill value is no data, in arrays of any type."""
    F, H, Q, R, P0 = [[1, 1], [0, 1]], [[1, 0]], np.diag([0.1, 0.01]), [[1.0]], 100 * np.eye(2)
    values = np.array([1, 2, -999, 3, 5]) if whole else np.array([1.0, 2.2, -999, 3.7, 5.1])
    ys = np.ma.array(values, mask=[0, 0, 1, 0, 0])
    missing = values.astype(float)
    missing[2] = np.nan
    expected = models.kalman(F, H, Q, R, P0, missing)
    for given in (ys, ys[:, None], list(ys[:, None])):
        smoothed = models.kalman(F, H, Q, R, P0, given)
        np.testing.assert_array_equal(smoothed.mean, expected.mean)
        assert smoothed.log_likelihood == expected.log_likelihood == models.log_likelihood(F, H, Q, R, P0, given)
    if not whole:
        np.testing.assert_allclose(expected.mean[:, 0], [1.0533, 2.0325, 2.9945, 3.9570, 4.9467], atol=5e-5)
        np.testing.assert_allclose(expected.log_likelihood, -10.2510, atol=5e-5)
    with pytest.raises(trifold.SpecError, match="masked"):
        models.kalman(F, H, Q, R, P0, ys, complete=True)
    for name, place in (("H", 1), ("Q", 2), ("P0", 4)):
        arguments = [F, H, Q, R, P0, ys]
        arguments[place] = np.ma.array(arguments[place], mask=np.eye(2, dtype=bool)[: len(arguments[place])])
        with pytest.raises(trifold.SpecError, match=f"{name} has masked entries"):
            models.kalman(*arguments)


@pytest.mark.parametrize(
    ("H", "shape", "message"), [([1, 0], (3, 5), "ys has shape"), (np.eye(2), (1, 5), r"ys has shape \(1, 5\).*\(N, 2\)")]
)
def test_values_that_do_not_fit_h(H, shape, message):
    R = np.eye(len(H)) if np.ndim(H) > 1 else [[1.0]]
    with pytest.raises(trifold.SpecError, match=message if np.ndim(H) > 1 else "H has shape"):
        models.kalman(np.eye(2), H, np.eye(2), R, np.eye(2), np.ones(shape))
    with pytest.raises(trifold.SpecError, match="R has shape"):
        models.kalman(np.eye(2), [[1, 0]], np.eye(2), np.eye(2), np.eye(2), np.ones(5))


STRANGE = [None, "x", 1.5, -1, [], [[1.0]], np.ones(3), np.ones((2, 2)), np.ones((3, 2, 2)), np.ones((2, 3, 2, 2)), np.zeros((0, 2, 2))]
STRANGE += [object(), [1, [2]], np.nan, np.ones((2, 2), complex), (1, 2, 3, 4), {}, np.ones((1,) * 9), np.ones((4, 3, 2, 2)), np.ones(2)]


@pytest.mark.parametrize("name", ["matern", "oscillating", "total", "precision", "kalman"])
def test_whatever_is_given_to_a_model(name):
    """Each argument of another kind: an error of ours, or a result; none of Python's own."""
    times = np.arange(4.0)
    process = models.matern(1.5, 2.0, 1.0, times)
    arguments = {
        "matern": (1.5, 2.0, 1.0, times),
        "oscillating": (process, 3.0, times),
        "total": (process, process),
        "precision": (process.F, process.Q, process.P0, 4),
        "kalman": (process.F, process.H, process.Q, [[1.0]], process.P0, times),
    }[name]
    changed = [(*arguments[:k], strange, *arguments[k + 1 :]) for k in range(len(arguments)) for strange in STRANGE]
    if arguments[0] is process:
        parts = [(*process[:k], strange, *process[k + 1 :]) for k in range(4) for strange in STRANGE]
        changed += [(part, *arguments[1:]) for part in parts]
    refused = 0
    for given in changed:
        try:
            getattr(models, name)(*given)
        except trifold.Error:
            refused += 1
    assert refused > len(changed) / 2


def test_what_is_singular_to_rounding_has_too_few_digits():
    given = ([[1.0]], [[1.0]], [[1e-15]], [[1.0]], [[1.0]], np.ones(2))
    for call in (models.kalman, models.log_likelihood):
        with pytest.raises(trifold.SpecError, match="less than two digits"):
            call(*given)


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("batch", ["none", "of ys alone", "of all"])
def test_moments_of_draws(library, batch):
    p = problem(2, 1, 3, batch=2 if batch == "of all" else None)
    if batch == "of ys alone":
        p["ys"] = np.stack([p["ys"], -p["ys"]])
    if library == "jax":
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        p, generator = jax.tree.map(jax.numpy.asarray, p), jax.random.key(2)
        with pytest.raises(trifold.SpecError, match="key of jax.random"):
            models.sample(**p)
    elif library == "torch":
        torch = pytest.importorskip("torch")
        p = {name: torch.as_tensor(value) for name, value in p.items()}
        generator = torch.Generator().manual_seed(2)
    else:
        generator = np.random.default_rng(2)
    smoothed = models.kalman(**p)
    draws = models.sample(**p, generator=generator, draws=20000)
    assert tuple(draws.shape) == (*smoothed.mean.shape, 20000)
    assert tuple(models.sample(**p, generator=generator).shape) == tuple(smoothed.mean.shape)
    rest = np.asarray(draws) - np.asarray(smoothed.mean)[..., None]
    scale = np.max(np.asarray(smoothed.variance))
    assert np.max(abs(rest.mean(-1))) < 0.04 * np.sqrt(scale)
    covariance = np.einsum("...ak,...bk->...ab", rest, rest) / 20000
    assert np.max(abs(covariance - np.asarray(smoothed.covariance))) < 0.05 * scale
    ahead = np.einsum("...ak,...bk->...ab", rest[..., 1:, :, :], rest[..., :-1, :, :]) / 20000
    assert np.max(abs(ahead - np.asarray(smoothed.neighbours))) < 0.05 * scale
