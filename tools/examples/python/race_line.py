"""A line along a closed track: smooth, near the middle, and as long as the track is, so that its end is its beginning.

The squares of second differences of the points p and w |p - middle|^2 are summed up and minimized. A block has two points, so that second
differences reach the next block at most; the last block reaches the first, which makes a ring. All weights are one batch.
"""

import argparse
from pathlib import Path

import numpy as np
import trifold

BLOCKS = 200  # of two points each


def track():
    """The middle of a track of about 500 m, (points, 2)."""
    angle = np.linspace(0, 2 * np.pi, 2 * BLOCKS, endpoint=False)
    return np.stack([100 * np.cos(angle), 60 * np.sin(angle) + 15 * np.sin(3 * angle) + 6 * np.sin(7 * angle)], 1)


def lines(middle, weights):
    """The line of each weight, (weights, points, 2)."""
    w = np.asarray(weights)[:, None, None, None]
    D = np.array([[6.0, -4], [-4, 6]]) + w * np.eye(2)
    E = np.array([[1.0, -4], [0, 1]])  # rows: the points of the next block
    blocks = middle.reshape(BLOCKS, 2, 2)
    x = trifold.solve(np.repeat(D, BLOCKS, 1), np.tile(E, (len(w), BLOCKS, 1, 1)), w * blocks, ring=True)
    return x.reshape(len(w), -1, 2)


def curvature(points):
    """1 / radius at each point, in 1/m."""
    before, after = np.roll(points, 1, -2), np.roll(points, -1, -2)
    (ax, ay), (bx, by) = np.moveaxis(points - before, -1, 0), np.moveaxis(after - points, -1, 0)
    sides = [np.linalg.norm(side, axis=-1) for side in (points - before, after - points, after - before)]
    return 2 * (ax * by - ay * bx) / np.prod(sides, axis=0)


def draw(middle, weights, found, path):
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    left.plot(*np.concatenate([middle, middle[:1]]).T, color="0.75", linewidth=6, label="middle of the track")
    right.plot(abs(curvature(middle)), color="0.75", label="middle of the track")
    for weight, line in zip(weights, found):
        left.plot(*np.concatenate([line, line[:1]]).T, label=f"weight {weight:g}")
        right.plot(abs(curvature(line)), label=f"weight {weight:g}")
    left.set(aspect="equal", xlabel="m", ylabel="m")
    right.set(xlabel="point", ylabel="curvature, 1/m")
    right.legend()
    figure.savefig(path, dpi=80)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default=".", help="folder for the picture")
    middle, weights = track(), (1e-3, 1e-4, 1e-5)
    found = lines(middle, weights)
    draw(middle, weights, found, Path(parser.parse_args(arguments).output) / "race_line.png")
    sharpest = [abs(curvature(points)).max() for points in (middle, *found)]
    print("sharpest bends: radii of", ", ".join(f"{1 / bend:.0f} m" for bend in sharpest), "in the middle and for weights of", weights)
    return middle, found, sharpest


if __name__ == "__main__":
    main()
