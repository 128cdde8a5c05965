"""Gaussian-process regression on a long irregular series: carbon dioxide on Mauna Loa, 1958 to 2001, and a forecast.

    python tools/examples/python/gaussian_process.py --output out

The process is a sum: a slow trend, two harmonics of the year that change slowly, and a part that varies within weeks. As a state space it
has seven states a date, and the dates, which lack 59 weeks, are one block tridiagonal system: time and memory grow linearly.
Its eight hyperparameters are those of the highest likelihood, by L-BFGS; all differences of a gradient are one batch.
Needs scipy, statsmodels, which ships the data, and matplotlib.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from statsmodels.datasets import co2
from trifold import models

NAMES = ("trend length", "trend variance", "season length", "year variance", "half-year variance", "fast length", "fast variance", "noise")
START = np.log([30.0, 900.0, 40.0, 4.0, 0.5, 0.2, 0.1, 0.05])  # years and ppm^2


def read():
    """(years, ppm) of the weeks that have a value, and all weeks from the first of them to the end of 2005.

    Weeks are counted in whole days first: a date that rounding makes two would be a step of no length.
    """
    series = co2.load_pandas().data["co2"].dropna()
    days = (series.index - series.index[0]).days.to_numpy()
    first = 1958 + (series.index[0].day_of_year - 1) / 365.25
    weeks = np.union1d(days, np.arange(0, (2006 - first) * 365.25, 7))
    return first + days / 365.25, series.to_numpy(), first + weeks / 365.25


def process(logarithms, years):
    """The state space at these times, and the noise. logarithms: (8,), or (8, batch)."""
    trend, height, season, year, half, fast, small, noise = np.exp(logarithms)
    F, H, Q, P0 = models.total(
        models.matern(1.5, trend, height, years),
        models.oscillating(models.matern(0.5, season, year, years), 1.0, years),
        models.oscillating(models.matern(0.5, season, half, years), 0.5, years),
        models.matern(0.5, fast, small, years),
    )
    return {"F": F, "H": H, "Q": Q, "R": np.reshape(noise, (*np.shape(noise), 1, 1, 1)) if np.ndim(noise) else [[noise]], "P0": P0}


def loss(logarithms, years, ppm):
    """Minus the log posterior and its gradient, by central differences in one batch. The prior: each within a factor of e^1.5."""
    step = 1e-4
    points = logarithms[:, None] + step * np.concatenate([np.zeros((8, 1)), np.eye(8), -np.eye(8)], 1)
    values = -models.log_likelihood(**process(points, years), ys=ppm) + 0.5 * (((points - START[:, None]) / 1.5) ** 2).sum(0)
    return values[0], (values[1:9] - values[9:]) / (2 * step)


def smooth(logarithms, years, ppm, at):
    """Mean and standard deviation of the trend, and of the whole process, at those times of which some may have values."""
    times = np.union1d(years, at)
    ys = np.full(len(times), np.nan)
    ys[np.searchsorted(times, years)] = ppm
    arguments = process(logarithms, times)
    smoothed = models.kalman(**arguments, ys=ys)
    H = arguments["H"][0]
    wanted = np.searchsorted(times, at)
    variance = np.einsum("i,tij,j->t", H, smoothed.covariance[wanted], H)
    return smoothed.mean[wanted, 0], smoothed.mean[wanted] @ H, np.sqrt(variance)


def draw(years, ppm, middle, at, found, file):
    import matplotlib.pyplot as plt

    plt.style.use(Path(__file__).parents[2] / "look.mplstyle")
    trend, mean, deviation = found
    figure, (whole, end) = plt.subplots(2, 1, figsize=(9, 6))
    for axis in (whole, end):
        axis.plot(years, ppm, ".", color="#222", ms=2, label="weekly values")
        axis.fill_between(at, middle + mean - 2 * deviation, middle + mean + 2 * deviation, color="#c8553d", alpha=0.25, lw=0)
        axis.plot(at, middle + mean, color="#c8553d", lw=0.8, label="Gaussian process, two standard deviations to either side")
        axis.plot(at, middle + trend, color="#3d6fc8", lw=1.2, label="its trend")
        axis.set_ylabel("CO2, ppm")
    whole.legend()
    end.set_xlim(years[-1] - 5, at[-1])
    end.set_ylim(ppm[-260:].min() - 3, middle + mean[-1] + 9)
    figure.savefig(file, dpi=90)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder of gaussian_process.png")
    parser.add_argument("--iterations", type=int, default=15)
    parser.add_argument("--every", type=int, default=4, help="learn from every so many values; the regression takes all")
    options = parser.parse_args(arguments)
    years, ppm, weeks = read()
    middle = ppm.mean()
    start = time.perf_counter()
    learned = minimize(
        loss,
        START,
        (years[:: options.every], ppm[:: options.every] - middle),
        "L-BFGS-B",
        jac=True,
        options={"maxiter": options.iterations},
    )
    print(f"learned in {time.perf_counter() - start:.1f} s, {learned.nfev} values with gradients")
    print(", ".join(f"{name} {value:.3g}" for name, value in zip(NAMES, np.exp(learned.x))))
    start = time.perf_counter()
    found = smooth(learned.x, years, ppm - middle, weeks)
    print(f"{len(years)} values, {len(weeks)} times, {time.perf_counter() - start:.2f} s")
    # Two years held back, against what came.
    kept = years < years[-1] - 2
    _, mean, deviation = smooth(learned.x, years[kept], ppm[kept] - middle, years[~kept])
    error = ppm[~kept] - middle - mean
    spread = np.sqrt(deviation**2 + np.exp(learned.x[7]))
    print(f"two years ahead: error {np.sqrt(np.mean(error**2)):.2f} ppm, {np.mean(np.abs(error) < 2 * spread):.0%} within two deviations")
    options.output.mkdir(parents=True, exist_ok=True)
    draw(years, ppm, middle, weeks, found, options.output / "gaussian_process.png")
    return np.sqrt(np.mean(error**2)), np.mean(np.abs(error) < 2 * spread)


if __name__ == "__main__":
    main()
