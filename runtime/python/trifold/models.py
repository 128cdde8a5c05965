"""Models that are block tridiagonal systems: Kalman smoothers, time series, and Gaussian processes on a line.

    smoothed = trifold.models.kalman(F, H, Q, R, P0, ys)
    smoothed = trifold.models.kalman(*trifold.models.ar([0.5, 0.3], variance), ys)
    F, H, Q, P0 = trifold.models.matern(1.5, length, variance, times)

docs/users/models.md in the repository has more.
"""

from __future__ import annotations

from .filters import Filtered, Forecast, filtered, forecast
from .gauss_markov import GaussMarkov, matern, oscillating
from .lqr import Optimal, lqr
from .regression import Regression, regression
from .state_space import NormalEquations, Smoothed, kalman, log_likelihood, normal_equations, precision, sample
from .structural import StateSpace, ar, arma, local_level, local_linear_trend, seasonal, total

__all__ = [
    "Filtered",
    "Forecast",
    "GaussMarkov",
    "NormalEquations",
    "Optimal",
    "Regression",
    "Smoothed",
    "StateSpace",
    "ar",
    "arma",
    "filtered",
    "forecast",
    "kalman",
    "local_level",
    "local_linear_trend",
    "log_likelihood",
    "lqr",
    "matern",
    "normal_equations",
    "oscillating",
    "precision",
    "regression",
    "sample",
    "seasonal",
    "total",
]
