"""Learns how well each pixel of a plate conducts heat, from the temperatures that a few lamps cause.

    python tools/examples/python/conductivity.py --output out

The temperatures u of one lamp solve -div(c grad u) = its light, and are zero on the edge of the plate. They were measured everywhere, with
noise. Sought is the conductivity c of each pixel: L-BFGS changes log c until the measurements are met, with a mild wish for smoothness.
All lamps are right-hand sides of one factorization, and a gradient of all pixels is one more solution with it: trifold.torch.grid.
Needs torch and matplotlib.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
import trifold.torch as tt

NOISE = 0.002  # of the largest temperature


def plate(size):
    """log c as it is, (size, size): a ring that conducts well, and a disc that does not."""
    y, x = np.mgrid[0:size, 0:size] / (size - 1) - 0.5
    ring = np.exp(-(((np.hypot(x + 0.12, y + 0.08) - 0.22) / 0.06) ** 2))
    disc = np.exp(-((np.hypot(x - 0.2, y - 0.22) / 0.13) ** 4))
    return torch.from_numpy(1.5 * ring - 1.2 * disc)


def lamps(size, count):
    """(size, size, count): light of a few places, on the plate without its edge."""
    y, x = np.mgrid[0:size, 0:size] / (size - 1)
    random = np.random.default_rng(0)
    light = np.stack([np.exp(-(np.hypot(x - at[0], y - at[1]) ** 2) / 0.02) for at in random.uniform(0.2, 0.8, (count, 2))], -1)
    light[[0, -1]] = light[:, [0, -1]] = 0
    return torch.from_numpy(light)


def stencils(log_c):
    """Stencils of -div(c grad): a pixel gives its neighbour on a side heat by the mean of both c."""
    c = torch.exp(log_c)
    down, right = (c[1:] + c[:-1]) / 2, (c[:, 1:] + c[:, :-1]) / 2
    pad = torch.nn.functional.pad
    beside = {1: pad(down, (0, 0, 1, 0)), 3: pad(right, (1, 0)), 5: pad(right, (0, 1)), 7: pad(down, (0, 0, 0, 1))}
    zero = torch.zeros_like(c)
    entries = [-beside[k] if k in beside else zero for k in range(9)]
    entries[4] = sum(beside.values())
    return torch.stack(entries, -1)


def temperatures(log_c, light):
    return tt.grid.solve(stencils(log_c), light, matrix="symmetric", boundary="fixed")


def misfit(log_c, light, measured):
    """Squares of what is left of the measurements, in units of their noise, and of differences of neighbours."""
    left = (temperatures(log_c, light) - measured) / (NOISE * measured.max())
    rough = log_c.diff(dim=0).square().sum() + log_c.diff(dim=1).square().sum()
    return left.square().mean() * log_c.numel() + 2 * rough


def learn(light, measured, truth, iterations):
    """log c, and the error at each evaluation: the root mean square of log c - truth."""
    log_c = torch.zeros_like(truth).requires_grad_()
    optimizer = torch.optim.LBFGS([log_c], max_iter=iterations, history_size=20, tolerance_change=1e-12, line_search_fn="strong_wolfe")
    errors = []

    def value():
        optimizer.zero_grad()
        loss = misfit(log_c, light, measured)
        loss.backward()
        errors.append(error_of(log_c.detach(), truth))
        return loss

    optimizer.step(value)
    return log_c.detach(), [*errors, error_of(log_c.detach(), truth)]


def error_of(log_c, truth):
    return (log_c - truth).square().mean().sqrt().item()


def draw(truth, learned, measured, errors, file):
    import matplotlib.pyplot as plt

    plt.style.use(Path(__file__).parents[2] / "look.mplstyle")
    figure, axes = plt.subplots(1, 4, figsize=(11, 2.9))
    ends = {"vmin": truth.min(), "vmax": truth.max(), "cmap": "RdBu_r"}
    for axis, (title, image, colors) in zip(
        axes,
        (
            ("temperatures of one lamp", measured[..., 0], {"cmap": "inferno"}),
            ("log c, as it is", truth, ends),
            ("as learned", learned, ends),
        ),
    ):
        axis.imshow(image, **colors)
        axis.set_title(title)
        axis.set_axis_off()
    axes[3].plot(errors)
    axes[3].set_ylim(0)
    axes[3].set_title("error of log c, by evaluation")
    figure.savefig(file, dpi=90)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder of conductivity.png")
    parser.add_argument("--size", type=int, default=129, help="pixels of the plate, each way")
    parser.add_argument("--lamps", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=60)
    options = parser.parse_args(arguments)
    truth, light = plate(options.size), lamps(options.size, options.lamps)
    exact = temperatures(truth, light)
    noise = torch.randn(exact.shape, generator=torch.Generator().manual_seed(0), dtype=exact.dtype)
    measured = exact + NOISE * exact.max() * noise
    start = time.perf_counter()
    learned, errors = learn(light, measured, truth, options.iterations)
    seconds = time.perf_counter() - start
    print(f"error of log c: {errors[0]:.3f} at first, {errors[-1]:.3f} when learned")
    print(f"{len(errors) - 1} values with gradients of {truth.numel()} numbers in {seconds:.1f} s")
    options.output.mkdir(parents=True, exist_ok=True)
    draw(truth, learned, measured, errors, options.output / "conductivity.png")
    return errors


if __name__ == "__main__":
    main()
