"""A cart goes through three positions, moved by 1, 5 or 14 shapes of its force that last the whole way.

The states are a chain: x[k + 1] = A x[k] + B u[k] up to a defect that costs much. The force u[k] = sum of p[j] shape[j, k] has few
parameters p, which all stages share. They are a border. What is minimized is quadratic, so one solution has states and parameters.
"""

import argparse
from pathlib import Path

import numpy as np
import trifold

STAGES, STEP = 160, 0.05  # s
DEFECT, POSITION, SPEED, FORCE = 1e6, 1.0, 0.02, 1e-5  # weights
A = np.array([[1, STEP], [0, 1 - 0.3 * STEP]])  # position and speed, with friction
B = np.array([STEP**2 / 2, STEP])


def wanted():
    """The position that is wanted at each stage."""
    time = np.arange(STAGES) * STEP
    return np.select([time < 1, time < 3.5, time < 6], [0.0, 1.0, 0.4], 0.8)


def shapes(count):
    """Cosines over the whole way, (count, stages)."""
    middle = (np.arange(STAGES) + 0.5) / STAGES
    return np.cos(np.pi * np.arange(count)[:, None] * middle)


def move(count):
    """(states, parameters) of the best move by `count` shapes."""
    basis = shapes(count)
    Q = np.diag([POSITION, SPEED])
    D = np.tile(Q + DEFECT * (np.eye(2) + A.T @ A), (STAGES, 1, 1))
    D[0] += DEFECT * (1e3 - 1) * np.eye(2)  # the start is at rest, at 0
    D[-1] -= DEFECT * A.T @ A
    E = np.tile(-DEFECT * A, (STAGES - 1, 1, 1))
    # A defect x[k + 1] - A x[k] - B u[k] couples two stages with all parameters.
    force = DEFECT * basis[:, :-1, None]
    F = np.zeros((STAGES, count, 2))
    F[1:] -= np.moveaxis(force * B, 0, 1)
    F[:-1] += np.moveaxis(force * (A.T @ B), 0, 1)
    C = DEFECT * (B @ B) * basis[:, :-1] @ basis[:, :-1].T + FORCE * basis @ basis.T
    b = np.stack([POSITION * wanted(), np.zeros(STAGES)], 1)
    return trifold.solve(D, E, (b, np.zeros(count)), border=(F, C))


def draw(counts, moves, path):
    import matplotlib.pyplot as plt

    time = np.arange(STAGES) * STEP
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    left.plot(time, wanted(), color="0.75", linewidth=4, label="wanted")
    for count, (x, p) in zip(counts, moves):
        left.plot(time, x[:, 0], label=f"{count} shape{'s'[: count > 1]} of the force")
        right.plot(time, p @ shapes(count))
    left.set(xlabel="s", ylabel="position, m")
    left.legend()
    right.set(xlabel="s", ylabel="force over mass, m/s²")
    figure.savefig(path, dpi=80)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default=".", help="folder for the picture")
    counts = (1, 5, 14)
    moves = [move(count) for count in counts]
    draw(counts, moves, Path(parser.parse_args(arguments).output) / "shapes_of_input.png")
    errors = [np.sqrt(np.mean((x[:, 0] - wanted()) ** 2)) for x, _ in moves]
    print("root mean square of the distance:", ", ".join(f"{error:.3f} m with {count}" for error, count in zip(errors, counts)))
    return counts, moves, errors


if __name__ == "__main__":
    main()
