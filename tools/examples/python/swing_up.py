"""Pendulums swing up: Newton steps of a control problem that is not convex, for many starts at once.

A stage's unknowns are angle, speed, torque and the multipliers of its dynamics, so A has pivots of both signs. A step goes down where
as many are negative as there are multipliers. Where there are more, the Hessian is not positive definite along the dynamics, and these
members alone are factored again with more on its diagonal.
"""

import argparse
from pathlib import Path

import numpy as np
import trifold

STEP, STAGES, EFFORT, REST = 0.1, 40, 0.3, 20.0  # s; stages; weights of the torque and of the end
STATES = np.arange(2)
MULTIPLIERS = 2 * STAGES


def dynamics(x, u):
    return np.stack([x[..., 0] + STEP * x[..., 1], x[..., 1] + STEP * (u - np.sin(x[..., 0]))], -1)


def newton_system(x, u, multipliers):
    """D, E and the gradient of the Lagrangian: blocks of (angle, speed, torque, 2 multipliers), of which the last has two rows."""
    members = len(x)
    D, E = np.zeros((members, STAGES + 1, 5, 5)), np.zeros((members, STAGES, 5, 5))
    gradient = np.zeros((members, STAGES + 1, 5))
    angle = x[:, :-1, 0]
    D[:, :-1, 0, 0] = STEP * (-np.cos(angle) + multipliers[..., 1] * np.sin(angle))  # of 1 + cos(angle), which is 0 where it stands upright
    D[:, :-1, 1, 1] = 1e-3 * STEP
    D[:, :-1, 2, 2] = EFFORT * STEP
    D[:, :-1, 3, 0], D[:, :-1, 3, 1], D[:, :-1, 4, 1], D[:, :-1, 4, 2] = 1, STEP, 1, STEP
    D[:, :-1, 4, 0] = -STEP * np.cos(angle)
    D[:, :-1, 3, 3] = D[:, :-1, 4, 4] = -1e-9
    E[:, :, STATES, 3 + STATES] = -1
    D[:, -1, 0, 0], D[:, -1, 1, 1] = -REST * np.cos(x[:, -1, 0]), REST
    gradient[:, :-1, 0] = STEP * (-np.sin(angle) - multipliers[..., 1] * np.cos(angle)) + multipliers[..., 0]
    gradient[:, :-1, 1] = 1e-3 * STEP * x[:, :-1, 1] + STEP * multipliers[..., 0] + multipliers[..., 1]
    gradient[:, :-1, 2] = EFFORT * STEP * u + STEP * multipliers[..., 1]
    gradient[:, :-1, 3:] = dynamics(x[:, :-1], u) - x[:, 1:]
    gradient[:, 1:-1, :2] -= multipliers[:, :-1]
    gradient[:, -1, 0], gradient[:, -1, 1] = -REST * np.sin(x[:, -1, 0]), REST * x[:, -1, 1]
    gradient[:, -1, :2] -= multipliers[:, -1]
    # The start stays where it is.
    D[:, 0, :2, :2], D[:, 0, 3:, :2], gradient[:, 0, :2] = np.eye(2), 0, 0
    return D, np.ascontiguousarray(E), gradient


def merit(x, u):
    cost = STEP * (1 + np.cos(x[:, :-1, 0]) + 5e-4 * x[:, :-1, 1] ** 2 + EFFORT / 2 * u**2).sum(-1)
    end = REST * (1 + np.cos(x[:, -1, 0]) + x[:, -1, 1] ** 2 / 2)
    return cost + end + 20 * np.abs(dynamics(x[:, :-1], u) - x[:, 1:]).sum((-1, -2))


def newton_step(solver, D, E, gradient):
    """The step, and how often each member was factored."""
    members = len(D)
    sizes = np.append(np.full(STAGES, 5), 2)
    primal = np.tile(np.array([1.0, 1, 1, 0, 0]), (members, STAGES + 1, 1))
    shift, repeat, times = np.zeros(members), np.ones(members, bool), np.zeros(members, int)
    while repeat.any():
        solver.factor(D, E, sizes=sizes, diagonal=shift[:, None, None] * primal, active=repeat, check=False)
        status = solver.status()
        times += repeat
        repeat = repeat & ((status.block >= 0) | status.nearly_singular | (status.negative != MULTIPLIERS))
        shift[repeat] = np.maximum(4 * shift[repeat], 0.02)
    return -solver.solve(gradient), times


def swing_up(members=64, seed=0):
    """(x, u, how often each member was factored in each step)."""
    rng = np.random.default_rng(seed)
    x = np.zeros((members, STAGES + 1, 2))
    x[:, 0] = rng.uniform(-1, 1, (members, 2))
    u, multipliers = np.zeros((members, STAGES)), np.zeros((members, STAGES, 2))
    for t in range(STAGES):
        x[:, t + 1] = dynamics(x[:, t], u[:, t])
    solver = trifold.Plan(block=5, horizon=STAGES + 1, batch=members, sizes=True, matrix="symmetric").solver()
    all_times = []
    for _ in range(60):
        D, E, gradient = newton_system(x, u, multipliers)
        if np.abs(gradient).max() < 1e-8:
            break
        step, times = newton_step(solver, D, E, gradient)
        all_times.append(times)
        before, length = merit(x, u), np.ones(members)
        for _ in range(12):  # halve the steps that do not go down
            further = x + length[:, None, None] * step[..., :2], u + length[:, None] * step[:, :-1, 2]
            worse = merit(*further) > before + 1e-10
            length[worse] /= 2
        x, u = further
        multipliers = multipliers + length[:, None, None] * step[:, :-1, 3:]
    return x, u, np.array(all_times)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default=".", help="folder for the picture")
    output = Path(parser.parse_args(arguments).output)
    x, u, times = swing_up()
    upright = np.abs(np.cos(x[:, -1, 0]) + 1).max()
    draw(x, times, output / "swing_up.png")
    print(f"{len(times)} steps, {times.sum()} factorizations for {len(x)} members; at the end at most {upright:.1e} from upright")
    return x, u, times


def draw(x, times, path):
    import matplotlib.pyplot as plt

    plt.style.use(Path(__file__).parents[2] / "look.mplstyle")
    figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5), layout="constrained")
    seconds = STEP * np.arange(STAGES + 1)
    above.plot(seconds, x[:, :, 0].T, color="C0", alpha=0.3, linewidth=0.8)
    above.set(xlabel="time in s", ylabel="angle in rad", yticks=[-np.pi, 0, np.pi], yticklabels=["-π", "0", "π"])
    below.bar(np.arange(1, len(times) + 1), (times > 1).sum(1), color="C1")
    below.set(xlabel="Newton step", ylabel="members factored again")
    figure.savefig(path)
    plt.close(figure)


if __name__ == "__main__":
    main()
