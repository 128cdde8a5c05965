"""Takes noise out of a photograph and keeps its edges: total variation, by a few linear systems on the image.

    python tools/examples/python/denoise.py --output out

The result u has the least |u - noisy|^2 / 2 + strength * sum of |u(p) - u(q)| / distance^2, over all pairs of neighbours p and q. Each step
divides by the lengths |u(p) - u(q)| that the one before has left. So u solves (1 + L) u = noisy, where L couples each pixel with its eight
neighbours, the less, the more their colours differ: one symmetric factorization, of which the three colours are right-hand sides.
Needs matplotlib, of whose sample data the photograph is.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import trifold

# The neighbours before a pixel, as (entry of its stencil, step in y, step in x), and their squared distance.
BEFORE = ((0, -1, -1, 2), (1, -1, 0, 1), (2, -1, 1, 2), (3, 0, -1, 1))
FACE = (slice(40, 300), slice(150, 410))  # what the picture shows


def photograph():
    """(600, 512, 3), from 0 to 1."""
    import matplotlib.cbook as cbook
    import matplotlib.image as image

    with cbook.get_sample_data("grace_hopper.jpg") as file:
        return image.imread(file).astype(np.float32) / 255


def pairs(height, width, dy, dx):
    """Slices of the pixels that have the neighbour at (dy, dx), and of those neighbours."""
    columns = slice(max(-dx, 0), width - max(dx, 0)), slice(max(dx, 0), width + min(dx, 0))
    rows = slice(-dy, height), slice(0, height + dy)
    return (rows[0], columns[0]), (rows[1], columns[1])


def system(image, strength, smallest=1e-2):
    """The stencils of 1 + L, of which a symmetric A has entries 0 to 4."""
    height, width, _ = image.shape
    stencil = np.zeros((height, width, 9), image.dtype)
    stencil[..., 4] = 1
    for k, dy, dx, distance in BEFORE:
        here, there = pairs(height, width, dy, dx)
        length = np.sqrt(np.square(image[here] - image[there]).sum(-1) + smallest**2)
        weight = strength / (length * distance)
        stencil[(*here, k)] = -weight
        stencil[(*here, 4)] += weight
        stencil[(*there, 4)] += weight
    return stencil


def denoise(noisy, strength, steps, workers=1):
    """The image after ``steps`` systems."""
    clean = noisy
    for _ in range(steps):
        clean = trifold.grid.solve(system(clean, strength), noisy, matrix="symmetric", workers=workers)
    return clean


def decibels(image, truth):
    """Decibels of the peak over the error: 6 more is half the error."""
    return -10 * np.log10(np.square(np.clip(image, 0, 1) - truth).mean())


def draw(panels, file):
    import matplotlib.pyplot as plt
    from PIL import Image

    plt.style.use(Path(__file__).parents[2] / "look.mplstyle")
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.3))
    for axis, (title, image) in zip(axes, panels):
        axis.imshow(np.clip(image[FACE], 0, 1), interpolation="nearest")
        axis.set_title(title)
        axis.set_axis_off()
    figure.savefig(file, dpi=100)
    Image.open(file).convert("RGB").quantize(96).save(file, optimize=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder of denoise.png")
    parser.add_argument("--noise", type=float, default=0.1, help="its standard deviation, where white is 1")
    parser.add_argument("--strength", type=float, default=0.06)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--workers", type=int, default=1, help="threads")
    options = parser.parse_args(arguments)
    truth = photograph()
    noisy = truth + options.noise * np.random.default_rng(0).standard_normal(truth.shape, dtype=np.float32)
    start = time.perf_counter()
    clean = denoise(noisy, options.strength, options.steps, options.workers)
    seconds = time.perf_counter() - start
    before, after = decibels(noisy, truth), decibels(clean, truth)
    print(f"{before:.1f} dB with the noise, {after:.1f} dB without it")
    print(f"{options.steps} systems of {truth.shape[0]} by {truth.shape[1]} pixels and three colours in {seconds:.1f} s")
    options.output.mkdir(parents=True, exist_ok=True)
    titles = f"noisy, {before:.1f} dB", f"by trifold.grid, {after:.1f} dB", "photograph"
    draw(zip(titles, (noisy, clean, truth)), options.output / "denoise.png")
    return before, after


if __name__ == "__main__":
    main()
