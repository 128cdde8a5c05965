"""A hopper of one leg: stages on the ground have a force, those in the air have none.

A stage's unknowns are height and speed, and on the ground the force of the leg. So blocks have three rows or two, which their sizes say.
Defects of the dynamics cost much, forces and distances from the height that the leg has on the ground little.
"""

import argparse
from pathlib import Path

import numpy as np
import trifold

STEP, GRAVITY, LEG = 0.02, 9.81, 0.5  # s, m/s², m
PHASES = [("ground", 12), ("air", 18)] * 4 + [("ground", 12)]
DEFECT, HEIGHT, FORCE = 1e6, 40.0, 1e-2  # weights
A = np.array([[1, STEP], [0, 1]])
B = np.array([STEP**2 / 2, STEP])


def on_ground():
    return np.concatenate([np.full(stages, phase == "ground") for phase, stages in PHASES])


def hop():
    """(height, speed and force over the weight of each stage, sizes of the blocks)."""
    ground = on_ground()
    stages = len(ground)
    D, E, b = np.zeros((stages, 3, 3)), np.zeros((stages - 1, 3, 3)), np.zeros((stages, 3))
    for k in range(stages - 1):
        # A defect x[k + 1] - A x[k] - B (f[k] - 1) g, of both stages' unknowns.
        here, there = np.hstack([-A, -GRAVITY * B[:, None]]), np.eye(2, 3)
        D[k] += DEFECT * here.T @ here
        D[k + 1] += DEFECT * there.T @ there
        E[k] += DEFECT * there.T @ here
        b[k] -= DEFECT * GRAVITY * here.T @ B
        b[k + 1] -= DEFECT * GRAVITY * there.T @ B
    D[:, 2, 2] += FORCE
    D[ground, 0, 0] += HEIGHT
    b[ground, 0] += HEIGHT * LEG
    for end in (0, -1):  # at rest
        D[end, :2, :2] += DEFECT * np.eye(2)
        b[end, 0] += DEFECT * LEG
    sizes = np.where(ground, 3, 2)
    return trifold.solve(D, E, b, sizes=sizes), sizes


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default=".", help="folder for the picture")
    output = Path(parser.parse_args(arguments).output)
    x, sizes = hop()
    draw(x, output / "hop.png")
    air = ~on_ground()
    force = abs(x[air, 2]).max()
    print(f"{len(x)} stages of {sizes.min()} or {sizes.max()} unknowns; highest {x[:, 0].max():.2f} m, force in the air {force:.0f}")
    return x, sizes


def draw(x, path):
    import matplotlib.pyplot as plt

    time, ground = STEP * np.arange(len(x)), on_ground()
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for axis, column, label in ((axes[0], 0, "height, m"), (axes[1], 2, "force over weight")):
        axis.plot(time, x[:, column])
        axis.set(xlabel="s", ylabel=label)
        low, high = axis.get_ylim()
        axis.fill_between(time, low, high, where=ground, color="0.9", step="mid", label="on the ground")
        axis.set_ylim(low, high)
    axes[0].legend()
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    main()
