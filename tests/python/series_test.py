"""Models of time series against the exact filters of statsmodels, and series as callers have them."""

import warnings

import numpy as np
import pytest
import trifold
from trifold import models

AR = {"ar1": ([0.5], []), "ar2": ([0.5, 0.3], []), "near a unit root": ([1.95, -0.9506], []), "arma21": ([0.5, 0.3], [0.4])}
ARMA = {**AR, "not quite invertible": ([0.5, 0.3], [-0.95]), "ma2": ([], [0.6, 0.2]), "ar8": ([0.1] * 8, []), "arma28": ([0.5, 0.3], [0.2] * 8)}
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


def close(actual, expected, tolerance=1e-9):
    """Relative to the largest entry."""
    expected = np.asarray(expected)
    assert np.shape(actual) == expected.shape
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=0, atol=tolerance * np.abs(expected).max())


def arma_oracle(y, ar, ma, variance):
    sarimax = pytest.importorskip("statsmodels.tsa.statespace.sarimax")
    model = sarimax.SARIMAX(y, order=(len(ar), 0, len(ma)), enforce_stationarity=False, enforce_invertibility=False)
    model.ssm.initialize_stationary()
    model.loglikelihood_burn = 0
    return model.smooth([*ar, *ma, variance])


def trend_oracle(y, name):
    structural = pytest.importorskip("statsmodels.tsa.statespace.structural")
    options, parameters, _ = TRENDS[name]
    model = structural.UnobservedComponents(y, **options, use_exact_diffuse=True)
    model.loglikelihood_burn = 0
    return model.smooth(parameters)


def agree(model, y, oracle, tolerance):
    smoothed = models.kalman(*model, y)
    close(smoothed.mean, oracle.smoothed_state.T, tolerance)
    close(smoothed.covariance, np.moveaxis(oracle.smoothed_state_cov, -1, 0), 10 * tolerance)
    close(smoothed.log_likelihood, oracle.llf)
    close(models.log_likelihood(*model, y), oracle.llf)
    forecast, expected = models.forecast(*model, y, steps=7), oracle.get_forecast(7)
    close(forecast.mean[:, 0], expected.predicted_mean, tolerance)
    close(forecast.variance[:, 0], expected.var_pred_mean, tolerance)
    filtered = models.filtered(*model, y)
    known = ~np.isnan(filtered.mean[:, 0])
    assert known.sum() > len(y) - 12
    close(filtered.mean[known], oracle.filtered_state.T[known], 3 * tolerance)
    close(filtered.covariance[known], np.moveaxis(oracle.filtered_state_cov, -1, 0)[known], 10 * tolerance)


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
