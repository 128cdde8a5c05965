"""Models that are block tridiagonal systems: Kalman smoothers, and Gaussian processes on a line.

    smoothed = trifold.models.kalman(F, H, Q, R, P0, ys)
    F, H, Q, P0 = trifold.models.matern(1.5, length, variance, times)

docs/users/python.md in the repository has more.
"""

from __future__ import annotations

from .gauss_markov import GaussMarkov, matern, oscillating, total
from .lqr import Optimal, lqr
from .state_space import NormalEquations, Smoothed, kalman, log_likelihood, normal_equations, precision, sample

__all__ = [
    "GaussMarkov",
    "NormalEquations",
    "Optimal",
    "Smoothed",
    "kalman",
    "log_likelihood",
    "lqr",
    "matern",
    "normal_equations",
    "oscillating",
    "precision",
    "sample",
    "total",
]
