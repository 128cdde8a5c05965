"""Learns how permeable each cell of a rock is, from pressures at a few wells while others pump.

    python tools/examples/python/permeability.py --output out

One pump at a time presses water into one cell, and wells all over the rock measure the pressure, with noise. The sides of the rock have no
pressure. Sought is the permeability k of each cell: L-BFGS changes log k until the measurements are met, with a wish for smoothness. All
pumps are right-hand sides of one matrix, and a gradient by all its values is one more solution, with the transposed preconditioner:
trifold.torch.sparse. Needs torch, SciPy and matplotlib.

A third of the error stays, or two fifths, whatever the solver does: the measurements are met to their noise then, so whatever changes
pressures at the wells by less than that is not in them. More pumps and less noise tell more; without wells in the layer in the middle more
than half of it stays.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import scipy.sparse
import torch
import trifold.torch

NOISE = 0.002  # of the largest pressure
SMOOTH = 1.0  # the weight of differences of log k between neighbours, over that of what is left of the measurements


class Rock:
    """The pattern of a box of cells: seven points, and where the conductance of each face goes among the values."""

    def __init__(self, shape):
        self.shape = shape
        cells = np.arange(np.prod(shape)).reshape(shape)
        pairs = [(np.moveaxis(cells, axis, 0)[:-1].ravel(), np.moveaxis(cells, axis, 0)[1:].ravel()) for axis in range(3)]
        self.low, self.high = (np.concatenate(ends) for ends in zip(*pairs))
        count = cells.size
        rows = np.concatenate([self.low, self.high, np.arange(count)])
        columns = np.concatenate([self.high, self.low, np.arange(count)])
        pattern = scipy.sparse.csr_array(scipy.sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(count, count)))
        pattern.data = np.arange(1.0, pattern.nnz + 1)
        self.starts, self.columns = torch.from_numpy(pattern.indptr), torch.from_numpy(pattern.indices)
        place = lambda i, j: torch.from_numpy(np.asarray(pattern[i, j]).astype(np.int64).ravel() - 1)  # noqa: E731
        self.between, self.back = place(self.low, self.high), place(self.high, self.low)
        self.diagonal = place(np.arange(count), np.arange(count))
        edge = np.zeros(shape)
        edge[:, [0, -1]] = edge[:, :, [0, -1]] = 1
        self.open = torch.from_numpy(edge.ravel())
        self.solver = trifold.torch.sparse.Solver(self.matrix(torch.zeros(count, dtype=torch.float64)))

    def matrix(self, log_k):
        return torch.sparse_csr_tensor(self.starts, self.columns, self.values(log_k), (log_k.numel(), log_k.numel()))

    def values(self, log_k):
        """Conductances are harmonic means of both k; open sides take water by the k of their cell."""
        k = log_k.exp()
        through = 2 / (1 / k[self.low] + 1 / k[self.high])
        values = torch.zeros(len(self.columns), dtype=k.dtype).index_add(0, self.between, -through).index_add(0, self.back, -through)
        for cell in (self.low, self.high):
            values = values.index_add(0, self.diagonal[cell], through)
        return values.index_add(0, self.diagonal, 2 * k * self.open)

    def pressures(self, log_k, water):
        return self.solver.solve(self.values(log_k), water, rtol=1e-10)

    def roughness(self, log_k):
        return (log_k[self.low] - log_k[self.high]).square().sum()


def truth_of(shape):
    """log k: a channel that conducts well through a rock that does not, and a lens of clay."""
    z, y, x = np.meshgrid(*(np.linspace(0, 1, n) for n in shape), indexing="ij")
    channel = 2.0 * np.exp(-(((y - 0.5 - 0.25 * np.sin(5 * x)) / 0.16) ** 2) - ((z - 0.4) / 0.5) ** 2)
    clay = 1.5 * np.exp(-((np.hypot(x - 0.7, y - 0.75) / 0.2) ** 4))
    return torch.from_numpy((channel - clay).ravel())


def wells_of(shape, every=2):
    """Cells of wells, in each layer."""
    cells = np.arange(np.prod(shape)).reshape(shape)
    return cells[:, 1:-1:every, 1:-1:every].ravel()


def learn(rock, water, wells, measured, truth, iterations):
    """log k, and the error at each evaluation: the root mean square of log k - truth."""
    log_k = torch.zeros_like(truth).requires_grad_()
    optimizer = torch.optim.LBFGS([log_k], max_iter=iterations, history_size=20, tolerance_change=1e-12, line_search_fn="strong_wolfe")
    errors = []

    def value():
        optimizer.zero_grad()
        left = (rock.pressures(log_k, water)[wells] - measured) / (NOISE * measured.max())
        loss = left.square().mean() * len(truth) + SMOOTH * rock.roughness(log_k)
        loss.backward()
        errors.append(error_of(log_k.detach(), truth))
        return loss

    optimizer.step(value)
    return log_k.detach(), [*errors, error_of(log_k.detach(), truth)]


def error_of(log_k, truth):
    return (log_k - truth).square().mean().sqrt().item()


def draw(rock, truth, learned, wells, errors, file):
    import matplotlib.pyplot as plt

    plt.style.use(Path(__file__).parents[2] / "look.mplstyle")
    figure, axes = plt.subplots(1, 3, figsize=(9, 3))
    layer = rock.shape[0] // 2
    z, y, x = np.unravel_index(wells, rock.shape)
    for axis, (title, log_k) in zip(axes, (("log k of a layer, as it is, and wells", truth), ("as learned", learned))):
        axis.imshow(log_k.reshape(rock.shape)[layer], vmin=truth.min(), vmax=truth.max(), cmap="RdBu_r", origin="lower")
        axis.set_title(title)
        axis.set_axis_off()
    axes[0].plot(x[z == layer], y[z == layer], ".", color="#333", markersize=3)
    axes[2].plot(errors)
    axes[2].set_ylim(0)
    axes[2].set_title("error of log k, by evaluation")
    figure.savefig(file, dpi=90)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder of permeability.png")
    parser.add_argument("--shape", type=int, nargs=3, default=(3, 20, 26), metavar=("LAYERS", "Y", "X"), help="cells")
    parser.add_argument("--pumps", type=int, default=24)
    parser.add_argument("--iterations", type=int, default=60)
    options = parser.parse_args(arguments)
    rock = Rock(tuple(options.shape))
    truth, wells = truth_of(rock.shape), wells_of(rock.shape)
    pumps = wells[np.linspace(0, len(wells) - 1, options.pumps).astype(int)]
    water = torch.zeros(len(truth), options.pumps, dtype=torch.float64)
    water[pumps, range(options.pumps)] = 1
    exact = rock.pressures(truth, water)[wells]
    measured = exact + NOISE * exact.max() * torch.randn(exact.shape, generator=torch.Generator().manual_seed(0), dtype=exact.dtype)
    start = time.perf_counter()
    learned, errors = learn(rock, water, wells, measured, truth, options.iterations)
    seconds = time.perf_counter() - start
    left = (rock.pressures(learned, water)[wells] - measured).square().mean().sqrt() / (NOISE * measured.max())
    print(f"error of log k: {errors[0]:.3f} at first, {errors[-1]:.3f} when learned, from {len(wells)} wells")
    print(f"what is left of the measurements: {left:.2f} of their noise")
    print(f"{len(errors) - 1} values with gradients of {truth.numel()} numbers in {seconds:.1f} s")
    options.output.mkdir(parents=True, exist_ok=True)
    draw(rock, truth, learned, wells, errors, options.output / "permeability.png")
    return errors, left.item()


if __name__ == "__main__":
    main()
