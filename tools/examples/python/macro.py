"""Learns the macroeconomic smoother of tools/examples/kalman_smoother from its data, by L-BFGS.

    python tools/examples/python/macro.py --output out

Twelve series, each a level with a slope under noise, 24 states over 203 quarters. The C++ example fixes how much levels and slopes vary,
how large the noise is and how it is correlated. Here these 48 numbers are those of the highest likelihood, with a mild prior around the
fixed ones. Gradients are those of trifold.torch. Needs torch and matplotlib.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from pathlib import Path

import numpy as np
import torch
from trifold import models

DATA = Path(__file__).parents[1] / "kalman_smoother/data/us-macro-1959-2009.csv"
GROWS = ("realgdp", "realcons", "realinv", "realgovt", "realdpi", "cpi", "m1", "pop")
RATES = ("unemp", "infl", "tbilrate", "realint")
# Standard deviations around the trend, and loadings on the business cycle, as the C++ example fixes them.
CYCLE = (1.5, 1.2, 7.2, 2.6, 1.1, 1.3, 2.6, 0.07, 0.73, 2.2, 1.3, 1.9)
LOADING = (0.9, 0.9, 0.9, -0.2, 0.8, -0.3, 0.0, -0.2, -0.9, 0.5, 0.5, -0.2)


def read():
    """(years, values): 100 times the logarithm of what grows, rates as they are; the first two rates of change are not known."""
    with DATA.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    years = np.array([int(row["year"]) + (int(row["quarter"]) - 0.5) / 4 for row in rows])
    columns = [[100 * math.log(float(row[name])) for row in rows] for name in GROWS]
    columns += [[float(row[name]) for row in rows] for name in RATES]
    values = np.array(columns).T
    values[0, [len(GROWS) + RATES.index(name) for name in ("infl", "realint")]] = np.nan
    return years, values


def model(free, values):
    """The arguments of kalman(). free: (4, 12), 0 where the parameters are those of the C++ example."""
    count = values.shape[1]
    cycle = torch.tensor(CYCLE, dtype=torch.float64) * torch.exp(free[0])
    level, slope = cycle / 20 * torch.exp(free[1]), cycle / 40 * torch.exp(free[2])
    loading = 0.99 * torch.tanh(torch.atanh(torch.tensor(LOADING, dtype=torch.float64)) + free[3])
    correlation = torch.outer(loading, loading)
    correlation = correlation - torch.diag(correlation.diagonal()) + torch.eye(count, dtype=torch.float64)
    first = np.where(np.isnan(values[0]), values[1], values[0])
    wide = np.array(CYCLE)
    return {
        "F": np.kron(np.eye(count), [[1.0, 1.0], [0.0, 1.0]]),
        "H": np.kron(np.eye(count), [[1.0, 0.0]]),
        "Q": torch.diag(torch.stack([level, slope], -1).reshape(-1) ** 2),
        "R": cycle[:, None] * correlation * cycle[None, :],
        "P0": np.diag(np.stack([(10 * wide) ** 2, wide**2], -1).reshape(-1)),
        "ys": values,
        "m0": np.stack([first, 0 * first], -1).reshape(-1),
    }


def learn(values, iterations):
    """The free parameters, and the likelihoods on the way. The prior has a standard deviation of 1: a factor of e."""
    free = torch.zeros(4, values.shape[1], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([free], lr=1, max_iter=iterations, history_size=20, line_search_fn="strong_wolfe")
    path = []

    def loss():
        optimizer.zero_grad()
        value = models.log_likelihood(**model(free, values))
        (0.5 * (free**2).sum() - value).backward()
        path.append(value.item())
        return 0.5 * (free**2).sum().detach() - value.detach()

    optimizer.step(loss)
    return free.detach(), path


def draw(years, values, fixed, learned, path, file):
    import matplotlib.pyplot as plt

    plt.style.use(Path(__file__).parents[2] / "look.mplstyle")
    figure, axes = plt.subplots(2, 2, figsize=(9, 6))
    for axis, (name, title) in zip(axes.flat, (("realgdp", "Real GDP"), ("realinv", "Investment"), ("unemp", "Unemployment"))):
        i = (*GROWS, *RATES).index(name)
        line = np.polynomial.Polynomial.fit(years, values[:, i], 1)(years) if name in GROWS else 0 * years
        axis.plot(years, values[:, i] - line, color="#222", lw=0.8, label="data")
        for smoothed, color, label in ((fixed, "#888", "fixed"), (learned, "#c8553d", "learned")):
            mean, half = smoothed.mean[:, 2 * i].numpy() - line, 2 * np.sqrt(smoothed.variance[:, 2 * i].numpy())
            axis.fill_between(years, mean - half, mean + half, color=color, alpha=0.2, lw=0)
            axis.plot(years, mean, color=color, lw=1.4, label=label)
        axis.set_title(title + (", percent from a straight line" if name in GROWS else ", percent"))
    axes[0, 0].legend()
    axes[1, 1].plot(path)
    axes[1, 1].set_title("log likelihood, by evaluation")
    figure.savefig(file, dpi=90)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder of macro.png")
    parser.add_argument("--iterations", type=int, default=60)
    options = parser.parse_args(arguments)
    years, values = read()
    fixed = models.kalman(**model(torch.zeros(4, values.shape[1], dtype=torch.float64), values))
    start = time.perf_counter()
    free, path = learn(values, options.iterations)
    seconds = time.perf_counter() - start
    learned = models.kalman(**model(free, values))
    print(f"log likelihood: {fixed.log_likelihood:.4f} as fixed, {learned.log_likelihood:.4f} as learned")
    print(f"{len(path)} values with gradients of 48 parameters in {seconds:.1f} s")
    options.output.mkdir(parents=True, exist_ok=True)
    draw(years, values, fixed, learned, path, options.output / "macro.png")
    return path


if __name__ == "__main__":
    main()
