"""Pressure and flow through a layered rock, from a well in the middle to one in each corner.

    python tools/examples/python/rock.py --output out

Each layer of the rock has a permeability k of its own, and within a layer its logarithm is smooth and random. Water is pressed into the
middle column of cells, and leaves at the corners, whose pressure is zero. Darcy's law says that the flow between two cells is the
difference of their pressures times a mean of their k, and what flows into a cell flows out of it: one equation for each cell, whose entries
range over many powers of ten. trifold.sparse solves it. Needs SciPy and matplotlib.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import scipy.sparse
import trifold.sparse

ACROSS_LAYERS = 0.1  # permeability between layers, over that within one


def rock(shape, seed=0):
    """k of each cell, (layers, y, x)."""
    random = np.random.default_rng(seed)
    layers, height, width = shape
    y, x = np.mgrid[0:height, 0:width]
    log_k = np.empty(shape)
    for layer in range(layers):
        waves = [
            np.cos(a * x + b * y + phase)
            for a, b, phase in zip(random.normal(0, 0.35, 12), random.normal(0, 0.12, 12), random.uniform(0, 2 * np.pi, 12))
        ]
        log_k[layer] = random.normal(0, 1.2) + 1.2 * np.sqrt(2 / 12) * np.sum(waves, 0)
    return np.exp(log_k)


def faces(shape):
    """(low, high, axis) of all faces: the cells that they are between, counted from 0, and the axis from one to the other."""
    cells = np.arange(np.prod(shape)).reshape(shape)
    for axis in range(3):
        low, high = np.moveaxis(cells, axis, 0)[:-1], np.moveaxis(cells, axis, 0)[1:]
        yield low.ravel(), high.ravel(), axis


def conductance(k, low, high, axis):
    """Flow through faces for a difference of pressure of 1: the harmonic mean of both k."""
    k = k.ravel()
    return 2 / (1 / k[low] + 1 / k[high]) * (ACROSS_LAYERS if axis == 0 else 1)


def equations(k):
    """A of all cells, and cells of the well in the middle and of those in the corners."""
    count = k.size
    cells = np.arange(count).reshape(k.shape)
    wells = cells[:, [0, 0, -1, -1], [0, -1, 0, -1]].ravel()
    middle = cells[:, k.shape[1] // 2, k.shape[2] // 2]
    rows, columns, values = [wells], [wells], [10 * k.ravel()[wells]]
    for low, high, axis in faces(k.shape):
        between = conductance(k, low, high, axis)
        rows += [low, high, low, high]
        columns += [high, low, low, high]
        values += [-between, -between, between, between]
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return scipy.sparse.csr_array(scipy.sparse.coo_array(entries, shape=(count, count))), middle, wells


def speed(k, pressure):
    """Flow in each cell along x and y, each (layers, y, x): the mean of its two faces."""
    result = []
    for low, high, axis in faces(k.shape):
        through = conductance(k, low, high, axis) * (pressure.ravel()[low] - pressure.ravel()[high])
        mean = np.zeros(k.size)
        np.add.at(mean, low, through / 2)
        np.add.at(mean, high, through / 2)
        result.append(mean.reshape(k.shape))
    return result[2], result[1]


def draw(k, pressure, solution, file):
    import matplotlib.pyplot as plt

    plt.style.use(Path(__file__).parents[2] / "look.mplstyle")
    along_x, along_y = speed(k, pressure)
    layer = int(np.argmax(k.mean((1, 2))))  # most water flows there
    figure, axes = plt.subplots(1, 4, figsize=(12, 4))
    flow = np.hypot(along_x, along_y)[:, k.shape[1] // 2]
    images = (
        (f"permeability of layer {layer}", np.log10(k[layer]), "viridis", "log10 k", "y"),
        ("pressure, and where water flows", pressure[layer], "RdBu_r", "pressure, of 1 pumped into k = 1", "y"),
        ("flow through the middle", np.log10(flow + 1e-12 * flow.max()), "magma", "log10 of the flow of a cell, of 1 in all", "layer"),
    )
    for axis, (title, image, colors, meaning, up) in zip(axes, images):
        lowest = image.max() - 4 if colors == "magma" else None
        shown = axis.imshow(image, cmap=colors, origin="lower", vmin=lowest, aspect="auto" if up == "layer" else "equal")
        figure.colorbar(shown, ax=axis, shrink=0.8, label=meaning)
        axis.set_title(title)
        axis.set(xlabel="x, cells", ylabel=f"{up}{', cells' if up == 'y' else ''}")
    lines = {"color": "#333", "linewidth": 0.6, "arrowsize": 0.7, "density": 1.2}
    axes[1].streamplot(*map(np.arange, k.shape[:0:-1]), along_x[layer], along_y[layer], **lines)
    solution.plot(axes[3])
    axes[3].set_title("the iteration")
    figure.savefig(file, dpi=90)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder of rock.png")
    parser.add_argument("--shape", type=int, nargs=3, default=(20, 110, 60), metavar=("LAYERS", "Y", "X"), help="cells")
    parser.add_argument("--device", default="cpu", help="cpu, cuda:0 or auto")
    parser.add_argument("--workers", type=int, default=2, help="threads of the CPU")
    options = parser.parse_args(arguments)
    k = rock(tuple(options.shape))
    A, middle, wells = equations(k)
    water = np.zeros(A.shape[0])
    water[middle] = k.ravel()[middle] / k.ravel()[middle].sum()  # 1 in all, more where it flows well
    start = time.perf_counter()
    solution = trifold.sparse.solve(A, water, rtol=1e-8, device=options.device, workers=options.workers)
    seconds = time.perf_counter() - start
    pressure = solution.x.reshape(k.shape)
    leaves = (10 * k.ravel()[wells] * solution.x[wells]).sum()
    print(f"{A.shape[0]} cells, {solution.iterations} iterations, {seconds:.1f} s")
    print(f"of 1 that flows in {leaves:.6f} flows out; the pressure at the middle is {pressure.max():.3f}")
    options.output.mkdir(parents=True, exist_ok=True)
    draw(k, pressure, solution, options.output / "rock.png")
    return k, pressure, leaves


if __name__ == "__main__":
    main()
