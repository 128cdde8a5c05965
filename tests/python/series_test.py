"""Models of time series against the exact filters of statsmodels, and series as callers have them."""

import warnings

import numpy as np
import pytest
import trifold
from trifold import models

AR = {"ar1": ([0.5], []), "ar2": ([0.5, 0.3], []), "near a unit root": ([1.95, -0.9506], []), "arma21": ([0.5, 0.3], [0.4])}
ARMA = {
    **AR,
    "not quite invertible": ([0.5, 0.3], [-0.95]),
    "ma2": ([], [0.6, 0.2]),
    "ar8": ([0.1] * 8, []),
    "arma28": ([0.5, 0.3], [0.2] * 8),
}
TRENDS = {
    "level": ({"level": "llevel"}, [1.0, 0.1], lambda: models.local_level(0.1, 1.0)),
    "trend": ({"level": "lltrend"}, [1.0, 0.1, 0.01], lambda: models.local_linear_trend(0.1, 0.01, 1.0)),
    "smooth trend": ({"level": "strend"}, [1.0, 0.01], lambda: models.local_linear_trend(0.0, 0.01, 1.0)),
    "season": (
        {"level": "lltrend", "seasonal": 4},
        [1.0, 0.1, 0.01, 0.05],
        lambda: models.total(models.local_linear_trend(0.1, 0.01, 1.0), models.seasonal(4, 0.05)),
    ),
}


def values(horizon=120, batch=None, seed=0, missing=True):
    random = np.random.default_rng(seed)
    shape = (horizon,) if batch is None else (batch, horizon)
    y = 0.1 * random.standard_normal(shape).cumsum(-1) + random.standard_normal(shape)
    if missing:
        y[random.random(shape) < 0.15] = np.nan
        y[..., 1] = np.nan
    return y


def close(actual, expected, tolerance=1e-9, scale=0.0):
    """Relative to the largest entry, or to a scale that is larger."""
    expected = np.asarray(expected)
    assert np.shape(actual) == expected.shape
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=0, atol=tolerance * max(scale, np.abs(expected).max()))


def arma_oracle(y, ar, ma, variance):
    sarimax = pytest.importorskip("statsmodels.tsa.statespace.sarimax")
    model = sarimax.SARIMAX(y, order=(len(ar), 0, len(ma)), enforce_stationarity=False, enforce_invertibility=False)
    model.ssm.initialize_stationary()
    model.loglikelihood_burn, model.ssm.tolerance = 0, 0.0  # it takes no covariance for settled
    return model.smooth([*ar, *ma, variance])


def trend_oracle(y, name):
    structural = pytest.importorskip("statsmodels.tsa.statespace.structural")
    options, parameters, _ = TRENDS[name]
    model = structural.UnobservedComponents(y, **options, use_exact_diffuse=True)
    model.loglikelihood_burn, model.ssm.tolerance = 0, 0.0  # it takes no covariance for settled
    return model.smooth(parameters)


def agree(model, y, oracle, tolerance=1e-9):
    """Means and likelihoods to that tolerance, variances to thirty times as much."""
    smoothed, scale = models.kalman(*model, y), np.abs(oracle.predicted_state_cov[..., -1]).max()
    close(smoothed.mean, oracle.smoothed_state.T, tolerance)
    close(smoothed.covariance, np.moveaxis(oracle.smoothed_state_cov, -1, 0), 30 * tolerance, scale)
    close(smoothed.log_likelihood, oracle.llf)
    close(models.log_likelihood(*model, y), oracle.llf)
    forecast, expected = models.forecast(*model, y, steps=7), oracle.get_forecast(7)
    close(forecast.mean[:, 0], expected.predicted_mean, tolerance)
    close(forecast.variance[:, 0], expected.var_pred_mean, 30 * tolerance)
    filtered = models.filtered(*model, y)
    known = ~np.isnan(filtered.mean[:, 0])
    assert known.sum() > len(y) - 12
    close(filtered.mean[known], oracle.filtered_state.T[known], 3 * tolerance)
    close(filtered.covariance[known], np.moveaxis(oracle.filtered_state_cov, -1, 0)[known], 30 * tolerance, scale)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("horizon", [20, 500])
@pytest.mark.parametrize("name", ARMA)
def test_arma(name, horizon, missing):
    y = values(horizon, missing=missing)
    agree(models.arma(*ARMA[name], 1.7), y, arma_oracle(y, *ARMA[name], 1.7), 1e-9)
    if not ARMA[name][1]:
        for part, same in zip(models.ar(ARMA[name][0], 1.7), models.arma(*ARMA[name], 1.7)):
            np.testing.assert_array_equal(part, same)


@pytest.mark.parametrize("horizon", [20, 500])
@pytest.mark.parametrize("name", TRENDS)
def test_levels_trends_and_seasons(name, horizon):
    y = values(horizon)
    agree(TRENDS[name][2](), y, trend_oracle(y, name), 1e-9 if name in ("level", "trend") else 5e-9)


def test_what_noise_never_reaches():
    """A slope and a season that do not change: integrated for all times, so fewer digits are left, and that is told where it is."""
    structural = pytest.importorskip("statsmodels.tsa.statespace.structural")
    y = values(500)
    model = structural.UnobservedComponents(y, level="lldtrend", use_exact_diffuse=True)
    model.loglikelihood_burn = 0
    oracle = model.smooth([1.0, 0.01])
    smoothed = models.kalman(*models.local_linear_trend(0.01, 0.0, 1.0), y)
    close(smoothed.mean, oracle.smoothed_state.T, 1e-6)
    close(smoothed.log_likelihood, oracle.llf, 1e-7)
    model = structural.UnobservedComponents(values(5000), level="llevel", seasonal=12, stochastic_seasonal=False, use_exact_diffuse=True)
    model.loglikelihood_burn = 0
    season = models.total(models.local_level(0.1, 1.0), models.seasonal(12, 0.0))
    with pytest.warns(RuntimeWarning, match="less than six digits"):
        value = models.log_likelihood(*season, values(5000))
    close(value, model.loglike([1.0, 0.1]), 1e-3)


@pytest.mark.parametrize("variance", [1e-6, 1e-12, 1e-13])
def test_loss_of_digits_is_told(variance):
    """A companion form whose shift has a little noise: where more than 1e-6 of the means is lost there is a warning, and 0 is exact."""
    y, model = values(500), models.ar([0.5, 0.3], 1.0)
    noisy = model._replace(Q=model.Q + np.diag([0.0, variance]), R=np.array([[variance]]))
    exact = models.kalman(*noisy, y, singular=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        plain = models.kalman(*noisy, y)
    lost = np.abs(plain.mean - exact.mean).max() / np.abs(exact.mean).max()
    assert bool(told) == (lost > 1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models.kalman(*model, y)


@pytest.mark.parametrize("horizon", [1, 2, 3, 9])
def test_short_series(horizon):
    """More states than times."""
    y = values(20, missing=False)[:horizon]
    agree_with_dense(models.arma([0.4, 0.1, 0.2], [0.3], 2.0), y)
    agree_with_dense(models.ar([0.4, 0.1, 0.2], 2.0, 0.3), y)


def agree_with_dense(model, y):
    """The Gaussian of all values, by its covariance."""
    P, h, n = model.P0, model.H[0], len(y)
    powers = [np.eye(len(P))]
    for _ in range(n):
        powers.append(model.F @ powers[-1])
    S = np.array([[h @ powers[abs(i - j)] @ P @ h for j in range(n)] for i in range(n)]) + model.R[0, 0] * np.eye(n)
    expected = -0.5 * (y @ np.linalg.solve(S, y) + np.linalg.slogdet(2 * np.pi * S)[1])
    close(models.log_likelihood(*model, y), expected)
    smoothed = models.kalman(*model, y)
    close(smoothed.mean @ h, (S - model.R[0, 0] * np.eye(n)) @ np.linalg.solve(S, y))


def test_a_known_start_and_inputs():
    """P0 of zeros, and Q singular with inputs c: no lumps."""
    F, H, Q = np.array([[0.9, 1.0], [0.0, 0.8]]), [[1.0, 0.0]], np.diag([0.0, 1.0])
    y, c = values(40), np.array([0.3, -0.1])
    smoothed = models.kalman(F, H, Q, 0.5, np.zeros((2, 2)), y, m0=[1.0, 2.0], c=c)
    start = np.array([1.0, 2.0]) - np.linalg.solve(np.eye(2) - F, c)  # deviations from the mean of the process have no input
    mean = np.linalg.solve(np.eye(2) - F, c)
    again = models.kalman(F, H, Q, 0.5, np.zeros((2, 2)), y, m0=start, d=[mean[0]])
    close(smoothed.mean, again.mean + mean, 1e-8)
    close(smoothed.log_likelihood, again.log_likelihood)
    close(smoothed.mean[0], [1.0, 2.0], 1e-8)


def test_diffuse_starts():
    """None, infinite entries for all, and for some: the limit of large variances without what they add."""
    F, H, Q, y = [[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], np.diag([0.1, 0.01]), values(50)
    expected = models.kalman(F, H, Q, 1.0, np.diag([np.inf, np.inf]), y)
    close(models.kalman(F, H, Q, 1.0, None, y).log_likelihood, expected.log_likelihood, 0)
    near = models.kalman(F, H, Q, 1.0, 1e9 * np.eye(2), y)
    close(near.mean, expected.mean, 1e-6)
    close(near.log_likelihood + np.log(1e9), expected.log_likelihood, 1e-6)
    part = models.kalman(F, H, Q, 1.0, np.diag([np.inf, 2.0]), y)
    near = models.kalman(F, H, Q, 1.0, np.diag([1e9, 2.0]), y)
    close(part.mean, near.mean, 1e-6)
    close(near.log_likelihood + 0.5 * np.log(1e9), part.log_likelihood, 1e-6)
    for few in (y[:1], [np.nan, 1.0, np.nan]):
        for call in (models.kalman, models.log_likelihood):
            with pytest.raises(trifold.SpecError, match="do not determine the states whose start is diffuse"):
                call(F, H, Q, 1.0, None, few)


def test_lists_of_series():
    model = models.local_linear_trend(0.1, 0.01, 1.0)
    ys = [values(n, seed=n) for n in (30, 7, 12)]
    for given in (ys, tuple(y[:, None] for y in ys)):
        together, likelihoods = models.kalman(*model, given), models.log_likelihood(*model, given)
        forecasts, filters = models.forecast(*model, given, steps=3), models.filtered(*model, given)
        for k, y in enumerate(ys):
            alone = models.kalman(*model, y)
            for part, same in zip(together[k], alone):
                close(part, same, 1e-10)
            close(likelihoods[k], alone.log_likelihood)
            close(forecasts[k].mean, models.forecast(*model, y, steps=3).mean)
            close(filters[k].mean[-1], alone.mean[-1])
    batch = models.kalman(*model, np.stack([values(9, seed=k) for k in (1, 2)]))
    listed = models.kalman(*model, [values(9, seed=k) for k in (1, 2)])
    assert batch.mean.shape == (2, 9, 2) and isinstance(listed, list)
    close(batch.mean[1], listed[1].mean, 1e-12)
    with pytest.raises(trifold.SpecError, match="with the same m"):
        models.kalman(*model, [np.ones((3, 1)), np.ones((4, 2))])


def test_numbers_for_matrices():
    y = values(25)
    expected = models.kalman([[0.9]], [[1.0]], [[0.5]], [[0.2]], [[2.0]], y)
    for part, same in zip(models.kalman(0.9, 1, 0.5, 0.2, 2.0, y, m0=0.0), expected):
        np.testing.assert_array_equal(part, same)


def test_pandas():
    pandas = pytest.importorskip("pandas")
    index = pandas.date_range("2020-01-01", periods=25, freq="D")
    model, y = models.local_level(0.1, 1.0), values(25)
    series = pandas.Series(y, index=index)
    smoothed, expected = models.kalman(*model, series), models.kalman(*model, y)
    assert smoothed.mean.index.equals(index) and smoothed.variance.index.equals(index)
    np.testing.assert_array_equal(smoothed.mean.to_numpy(), expected.mean)
    frame = pandas.DataFrame({"y": pandas.array(np.where(np.isnan(y), None, y), dtype="Float64")}, index=index)
    np.testing.assert_array_equal(models.kalman(*model, frame).mean.to_numpy(), expected.mean)
    assert models.log_likelihood(*model, series) == expected.log_likelihood
    short, long = models.kalman(*model, [series[:7], series])
    assert short.mean.index.equals(index[:7]) and long.mean.index.equals(index)
    assert models.filtered(*model, series).mean.index.equals(index)


@pytest.mark.parametrize("batch", [None, 3])
def test_filters_against_smoothers_of_what_is_known(batch):
    """The last state of a smoother is that of a filter; several values a time, and matrices that differ."""
    random = np.random.default_rng(3)
    ys = random.standard_normal((12, 2) if batch is None else (batch, 12, 2))
    ys[..., 4, 0] = ys[..., 7, :] = np.nan
    F, H, Q = 0.9 * np.linalg.qr(random.standard_normal((11, 3, 3)))[0], random.standard_normal((12, 2, 3)), np.eye(3)
    R, c, d = np.array([[1.0, 0.3], [0.3, 2.0]]), random.standard_normal((11, 3)), random.standard_normal((12, 2))
    filtered = models.filtered(F, H, Q, R, np.eye(3), ys, c=c, d=d)
    for count in (1, 5, 8, 12):
        cut = (F[: count - 1], H[:count], Q, R, np.eye(3), ys[..., :count, :])
        smoothed = models.kalman(*cut, c=c[: count - 1], d=d[:count]) if count > 1 else models.kalman(F[0], *cut[1:], d=d[:1])
        close(filtered.mean[..., count - 1, :], smoothed.mean[..., -1, :], 1e-12)
        close(filtered.covariance[..., count - 1, :, :], smoothed.covariance[..., -1, :, :], 1e-12)
    ahead = models.forecast(F, H, Q, R, np.eye(3), ys[..., :9, :], steps=3, c=c, d=d)
    all_ = models.kalman(F, H, Q, R, np.eye(3), np.concatenate([ys[..., :9, :], np.full_like(ys[..., 9:, :], np.nan)], -2), c=c, d=d)
    close(ahead.mean, np.einsum("tij,...tj->...ti", H[9:], all_.mean[..., 9:, :]) + d[9:], 1e-12)


def test_batches_of_parameters():
    ar, ma, variance, noise = [[0.5, 0.3], [0.2, -0.4]], [[0.4], [0.1]], [1.0, 2.0], [0.0, 0.3]
    y = values(60)
    together = models.log_likelihood(*models.arma(ar, ma, variance, noise), y)
    for k in range(2):
        close(together[k], models.log_likelihood(*models.arma(ar[k], ma[k], variance[k], noise[k]), y))
    ys = values(60, batch=2)
    level = models.total(models.local_level(variance, 1.0), models.seasonal(3, variance))
    together = models.kalman(*level, ys)
    for k in range(2):
        one = models.total(models.local_level(variance[k], 1.0), models.seasonal(3, variance[k]))
        close(together.mean[k], models.kalman(*one, ys[k]).mean, 1e-8)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: models.ar([1.0], 1.0), "ar is not stationary"),
        (lambda: models.ar([0.5, 0.6], 1.0), "ar is not stationary"),
        (lambda: models.ar([0.2, 0.2, -1.1], 1.0), "ar is not stationary"),
        (lambda: models.ar([np.nan], 1.0), "ar has infinities or NaN"),
        (lambda: models.arma(np.ones((1, 1, 1)), [], 1.0), r"ar has shape \(1, 1, 1\)"),
        (lambda: models.arma([], ["a"], 1.0), "give real numbers"),
        (lambda: models.ar([0.5], -1.0), "variance must be finite and not negative"),
        (lambda: models.ar([0.5], np.ones((2, 2))), "variance has shape"),
        (lambda: models.ar([[0.5], [0.2]], np.ones(3)), "batch axes"),
        (lambda: models.local_level(1.0, np.inf), "noise must be finite"),
        (lambda: models.local_linear_trend(1.0, -1.0, 1.0), "slope must be finite"),
        (lambda: models.seasonal(1, 1.0), "period"),
        (lambda: models.total(models.local_level(1.0, 1.0), models.matern(0.5, 1.0, 1.0, [0.0, 1.0])), "a process"),
        (lambda: models.forecast(*models.ar([0.5], 1.0), np.ones(5), steps=0), "steps"),
        (lambda: models.filtered(*models.ar([0.5], 1.0), np.ones((5, 2, 1, 1))), "ys has shape"),
    ],
)
def test_bad_input(call, text):
    with pytest.raises(trifold.SpecError, match=text):
        call()


def likelihood(ar, ma, variance, level, y):
    return models.log_likelihood(*models.total(models.arma(ar, ma, variance), models.local_level(level, 0.4)), y, singular=True)


PARAMETERS = [np.array([0.5, 0.3]), np.array([0.4]), np.array(1.3), np.array(0.2)]


def slopes(y, step=1e-5):
    for k, parameter in enumerate(PARAMETERS):
        for i in np.ndindex(parameter.shape):
            ends = []
            for sign in (1, -1):
                changed = [p.copy() for p in PARAMETERS]
                changed[k][i] += sign * step
                ends.append(likelihood(*changed, y))
            yield k, i, (ends[0] - ends[1]) / (2 * step)


def test_gradients_in_torch():
    torch = pytest.importorskip("torch")
    pytest.importorskip("trifold.torch")
    y = values(30)
    given = [torch.tensor(p, requires_grad=True) for p in PARAMETERS]
    value = likelihood(*given, y)
    close(value.item(), likelihood(*PARAMETERS, y))
    value.backward()
    for k, i, slope in slopes(y):
        np.testing.assert_allclose(given[k].grad.numpy()[i], slope, rtol=1e-5, atol=1e-6)
    mean = models.filtered(*models.ar(given[0], 1.0), torch.tensor(y)).mean
    close(mean.detach().numpy(), models.filtered(*models.ar(PARAMETERS[0], 1.0), y).mean)


def test_gradients_in_jax():
    jax = pytest.importorskip("jax")
    pytest.importorskip("trifold.jax")
    jax.config.update("jax_enable_x64", True)
    y = values(30)
    value, gradients = jax.jit(jax.value_and_grad(lambda p: likelihood(*p, y)))([jax.numpy.asarray(p) for p in PARAMETERS])
    close(value, likelihood(*PARAMETERS, y), 1e-8)
    for k, i, slope in slopes(y):
        np.testing.assert_allclose(gradients[k][i], slope, rtol=1e-5, atol=1e-6)
    mean = jax.jit(lambda ar: models.filtered(*models.ar(ar, 1.0), jax.numpy.asarray(y)).mean)(jax.numpy.asarray(PARAMETERS[0]))
    close(mean, models.filtered(*models.ar(PARAMETERS[0], 1.0), y).mean)


def test_batches_of_starts_and_errors():
    """One model of states with a batch of P0, R and m0, which lumps take, against each alone."""
    F, H, Q, _, _ = models.ar([0.5, 0.3], 1.0)
    y, d = values(30), np.arange(30.0)[:, None]
    P0, R, m0 = np.stack([np.eye(2), 2 * np.eye(2)]), np.array([0.0, 0.4])[:, None, None, None], np.array([[1.0, 0.0], [0.0, 2.0]])
    together = models.kalman(F, H, Q, R, P0, y, m0=m0, d=d)
    for k in range(2):
        alone = models.kalman(F, H, Q, R[k, 0], P0[k], y, m0=m0[k], d=d)
        close(together.mean[k], alone.mean)
        close(together.log_likelihood[k], alone.log_likelihood)
    for name in ("d", "m0"):
        with pytest.raises(trifold.SpecError, match=f"{name} has infinities or NaN"):
            models.kalman(F, H, Q, 0.0, P0[0], y, **{name: np.full(1 if name == "d" else 2, np.nan)})
