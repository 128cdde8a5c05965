"""Implicit steps of sound in a shear flow over a wall, by line smoothers: blocks of 4 unknowns, open lines across and periodic ones along.

Unknowns are density, both velocities and pressure, linear around a flow that is faster away from the wall. Cells are thin near the wall,
which slows down a smoother that solves cell by cell. Lines across, and then lines along, need a tenth of its sweeps. All lines of a
direction are one batch, which is factored once.
"""

import argparse
from pathlib import Path

import numpy as np
import trifold

WIDTH, HEIGHT, STEPS, STEP = 56, 40, 10, 0.03  # cells along and across; a step of time
ALONG = np.array([[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]])
ACROSS = np.array([[0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
BOUNCE = np.diag([1, 1, -1, 1])  # a cell behind the wall, where the flow across is turned


def upwind(flux):
    """The parts of a flux that go forward and back."""
    values, vectors = np.linalg.eig(flux)
    forward = np.real(vectors * np.maximum(np.real(values), 0) @ np.linalg.inv(vectors))
    return forward, flux - forward


class Flow:
    """(I / STEP + L) q = b on cells (WIDTH, HEIGHT), with the blocks of A on lines of both directions."""

    def __init__(self, width=WIDTH, height=HEIGHT):
        edges = np.expm1(np.linspace(0, np.log(1000), height + 1)) / 999  # the last cell is 1000 times as thick as the first
        self.y, thick = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
        self.x, long = (np.arange(width) + 0.5) / width, 1 / width
        speed = 0.5 * np.tanh(self.y / 0.1)
        along = np.array([upwind(u * np.eye(4) + ALONG) for u in speed]) / long
        up, down = (part / thick[:, None, None] for part in upwind(ACROSS))
        D = np.eye(4) / STEP + along[:, 0] - along[:, 1] + up - down
        D[0] -= up[0] @ BOUNCE  # beyond the last cell there is nothing
        self.D = np.broadcast_to(D, (width, height, 4, 4)).copy()
        self.across = [np.broadcast_to(part, (width, height - 1, 4, 4)).copy() for part in (-up[1:], down[:-1])]
        self.along = [np.broadcast_to(part[:, None], (height, width, 4, 4)).copy() for part in (-along[:, 0], along[:, 1])]
        self.cells = trifold.factor(self.D.reshape(-1, 1, 4, 4), None, matrix="general")
        self.lines_across = trifold.factor(self.D, self.across[0], upper=self.across[1])
        turned = np.ascontiguousarray(self.D.swapaxes(0, 1))
        self.lines_along = trifold.factor(turned, self.along[0], upper=self.along[1], ring=True)

    def beside(self, q, across, along):
        """Sums over neighbours across and along."""
        result = np.zeros_like(q)
        if across:
            result += trifold.matvec(0 * self.D, self.across[0], q, upper=self.across[1])
        if along:
            turned, nothing = q.swapaxes(0, 1), 0 * self.D.swapaxes(0, 1)
            result += trifold.matvec(nothing, self.along[0], turned, ring=True, upper=self.along[1]).swapaxes(0, 1)
        return result

    def residual(self, q, b):
        return b - (self.D @ q[..., None])[..., 0] - self.beside(q, True, True)

    def sweep_cells(self, q, b):
        return self.cells.solve((b - self.beside(q, True, True)).reshape(-1, 1, 4)).reshape(q.shape)

    def sweep_across(self, q, b):
        return self.lines_across.solve(b - self.beside(q, False, True))

    def sweep_both(self, q, b):
        q = self.sweep_across(q, b)
        return self.lines_along.solve(np.ascontiguousarray((b - self.beside(q, True, False)).swapaxes(0, 1))).swapaxes(0, 1)

    def start(self):
        """A pulse of pressure near the wall."""
        q = np.zeros((len(self.x), len(self.y), 4))
        pulse = np.exp(-(((self.x[:, None] - 0.3) ** 2 + (self.y - 0.2) ** 2) / 0.003))
        q[..., 0] = q[..., 3] = pulse
        return q


def history(flow, sweep, b, sweeps, least=1e-12):
    """Residuals over that of the start, and the solution."""
    q = np.zeros_like(b)
    sizes = [1.0]
    while len(sizes) <= sweeps and sizes[-1] > least:
        q = sweep(q, b)
        sizes.append(np.linalg.norm(flow.residual(q, b)) / np.linalg.norm(b))
    return sizes, q


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default=".", help="folder for the picture")
    output = Path(parser.parse_args(arguments).output)
    flow = Flow()
    ways = {"cells": flow.sweep_cells, "lines across": flow.sweep_across, "lines across and along": flow.sweep_both}
    histories = {name: history(flow, sweep, flow.start() / STEP, 200)[0] for name, sweep in ways.items()}
    q = flow.start()
    for _ in range(STEPS):
        _, q = history(flow, flow.sweep_both, q / STEP, 200, 1e-8)
    draw(flow, q, histories, output / "lines.png")
    for name, sizes in histories.items():
        print(f"{name}: the residual is {sizes[-1]:.1e} after {len(sizes) - 1} sweeps")
    return flow, q, histories


def draw(flow, q, histories, path):
    import matplotlib.pyplot as plt

    plt.style.use(Path(__file__).parents[2] / "look.mplstyle")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    shown = left.pcolormesh(flow.x, flow.y, q[..., 3].T, shading="nearest")
    figure.colorbar(shown, label="pressure")
    left.set(xlabel="along, periodic", ylabel="across, from the wall", title=f"after {STEPS * STEP:.1f} units of time")
    for name, sizes in histories.items():
        right.semilogy(sizes, label=name)
    right.set(xlabel="sweeps", ylabel="residual")
    right.legend()
    figure.savefig(path)
    plt.close(figure)


if __name__ == "__main__":
    main()
