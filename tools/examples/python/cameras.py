"""Positions of cameras along a way, from displacements that each has measured to the next eight.

Each measurement couples two cameras, so A is a band of blocks: (N, 8, 2, 2) below the diagonal. Its inverse says how well each position is
known. With one neighbour alone errors add up as on any dead reckoning.
"""

import argparse
from pathlib import Path

import numpy as np
import trifold

CAMERAS, NEIGHBOURS, NOISE = 400, 8, 0.05  # m, of a displacement


def way():
    """Positions of the cameras, (N, 2), in m."""
    t = np.linspace(0, 2 * np.pi, CAMERAS)
    return np.stack([30 * np.sin(t) * np.cos(t / 2), 18 * np.sin(2 * t)], 1)


def measured(positions, neighbours, rng):
    """Displacements to the k-th next camera, (N, neighbours, 2); those beyond the last one are not there."""
    result = np.full((CAMERAS, neighbours, 2), np.nan)
    for k in range(1, neighbours + 1):
        result[:-k, k - 1] = positions[k:] - positions[:-k] + rng.normal(0, NOISE, (CAMERAS - k, 2))
    return result


def located(displacements):
    """(positions, standard deviations) from displacements, the first camera at the start of the way."""
    neighbours = displacements.shape[1]
    D, b = np.zeros((CAMERAS, 2, 2)), np.zeros((CAMERAS, 2))
    E = np.tile(-np.eye(2) / NOISE**2, (CAMERAS, neighbours, 1, 1))
    for k in range(1, neighbours + 1):
        step = displacements[:-k, k - 1] / NOISE**2
        for end, sign in ((slice(k, None), 1), (slice(None, -k), -1)):
            D[end] += np.eye(2) / NOISE**2
            b[end] += sign * step
    D[0] += np.eye(2) * 1e8
    b[0] += 1e8 * way()[0]
    E = E[:-1, 0] if neighbours == 1 else E  # one neighbour is a chain
    found = trifold.marginals(D, E, b, bandwidth=neighbours)
    return found.x, np.sqrt(found.diagonal[:, 0, 0])


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default=".", help="folder for the picture")
    output = Path(parser.parse_args(arguments).output)
    true, displacements = way(), measured(way(), NEIGHBOURS, np.random.default_rng(2))
    results = {count: located(displacements[:, :count]) for count in (1, NEIGHBOURS)}
    draw(true, results, output / "cameras.png")
    for count, (x, spread) in results.items():
        error = np.linalg.norm(x - true, axis=1).max()
        print(f"{count} neighbour{'s'[: count > 1]}: at most {error:.2f} m from the way, the last camera known to {spread[-1]:.2f} m")
    return true, results


def draw(true, results, path):
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    left.plot(*true.T, color="0.75", linewidth=5, label="the way")
    for count, (x, spread) in results.items():
        name = f"{count} neighbour{'s'[: count > 1]}"
        left.plot(*x.T, linewidth=1, label=name)
        right.plot(spread, label=name)
    left.set(xlabel="m", ylabel="m", aspect="equal")
    right.set(xlabel="camera", ylabel="standard deviation, m")
    left.legend()
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    main()
