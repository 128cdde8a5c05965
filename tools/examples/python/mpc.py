"""A fleet under model predictive control: a batch of quadratic programs with bounded inputs, solved by ADMM in torch at each step.

    python tools/examples/python/mpc.py                        on the CPU, in seconds
    python tools/examples/python/mpc.py --device cuda --fleet 4096 --picture mpc.png

Each drone flies to the origin. Its model: three axes of position, velocity, acceleration and the rate of it, with a lag of its own, n = 12.
Over the next N = 20 steps it chooses inputs |u| <= 1 that minimize the sum of x' Q x + u' R u. ADMM parts the bounds from the dynamics:
what is left is a linear system in the multipliers of the dynamics, block tridiagonal and positive definite, the same in each iteration.
So it is factored once for the whole flight, and each iteration is one solve for the whole fleet. On a GPU all iterations of a step are one
captured graph.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch
import trifold.torch

AXES, N, DT, RHO = 3, 20, 0.05, 0.2
WEIGHTS = (4.0, 1.0, 0.1, 0.01)  # of position, velocity, acceleration and its rate
INPUT_WEIGHT = 0.05


def models(fleet: int, dtype: torch.dtype, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """A (fleet, 12, 12) and B (fleet, 12, 3): each drone has a lag and a strength of its own."""
    random = torch.Generator().manual_seed(0)
    lag, strength = 0.1 + 0.1 * torch.rand(fleet, generator=random), 3 + 2 * torch.rand(fleet, generator=random)
    flow = torch.zeros(fleet, 5, 5)
    flow[:, 0, 1] = flow[:, 1, 2] = flow[:, 2, 3] = 1
    flow[:, 3, 2], flow[:, 3, 3], flow[:, 3, 4] = -1 / lag**2, -2 / lag, strength / lag**2
    step = torch.linalg.matrix_exp(flow.double() * DT)
    eye = torch.eye(AXES, dtype=torch.float64)
    A, B = torch.kron(eye, step[:, :4, :4].contiguous()), torch.kron(eye, step[:, :4, 4:].contiguous())
    return A.to(device, dtype), B.to(device, dtype)


class Controller:
    """The program of each drone, factored, and ADMM's variables, from which the next step goes on."""

    def __init__(self, A: torch.Tensor, B: torch.Tensor) -> None:
        fleet, n, inputs = B.shape
        self.A, self.B = A, B
        self.q_inverse = 1 / torch.tensor(WEIGHTS * AXES, dtype=A.dtype, device=A.device)
        self.r_inverse = 1 / (INPUT_WEIGHT + RHO)
        D = (A * self.q_inverse) @ A.mT + self.r_inverse * B @ B.mT + torch.diag(self.q_inverse)
        D = D[:, None].repeat(1, N, 1, 1)
        D[:, 0] -= (A * self.q_inverse) @ A.mT  # the first state is given
        E = (-A * self.q_inverse)[:, None].expand(fleet, N - 1, n, n).contiguous()
        self.factor = trifold.torch.factor(D, E)
        self.bounded, self.duals = (A.new_zeros(fleet, N, inputs) for _ in range(2))

    def plan(self, x: torch.Tensor, iterations: int) -> torch.Tensor:
        """Inputs (fleet, N, 3) from the states x (fleet, 12): N steps ahead."""
        first = torch.einsum("fij,fj->fi", self.A, x)
        bounded, duals = self.bounded, self.duals
        for _ in range(iterations):
            wish = RHO * (bounded - duals)
            b = -self.r_inverse * (wish @ self.B.mT)
            b[:, 0] -= first
            multipliers = self.factor.solve(b)
            inputs = self.r_inverse * (wish + multipliers @ self.B)
            bounded = (inputs + duals).clamp(-1, 1)
            duals = duals + inputs - bounded
        self.bounded.copy_(bounded)  # in place, for captured graphs
        self.duals.copy_(duals)
        return bounded

    def move_on(self) -> None:
        """The next step begins with this plan, moved by one step."""
        for array in (self.bounded, self.duals):
            array.copy_(torch.cat((array[:, 1:], array[:, -1:]), 1))

    def step(self, x: torch.Tensor, iterations: int) -> torch.Tensor:
        """The inputs (fleet, 3) of this step."""
        inputs = self.plan(x, iterations)[:, 0]
        self.move_on()
        return inputs


class Captured:
    """The steps of a controller on a GPU: a graph, which the host enqueues by one call. Results are overwritten by the next step."""

    def __init__(self, control: Controller, iterations: int) -> None:
        self.control = control  # whose memory the graph works in
        self.x = control.A.new_zeros(control.A.shape[:2])
        kept = control.bounded.clone(), control.duals.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # what is made once is made before the capture
            control.step(self.x, iterations)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.inputs = control.step(self.x, iterations)
        control.bounded.copy_(kept[0])
        control.duals.copy_(kept[1])

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x, non_blocking=True)
        self.graph.replay()
        return self.inputs


def steps_of(control: Controller, iterations: int, device: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """Returns a function from states (fleet, 12) to inputs (fleet, 3), as fast as the device can."""
    return Captured(control, iterations) if device.startswith("cuda") else lambda x: control.step(x, iterations)


def fly(fleet: int, steps: int, iterations: int, device: str, dtype: torch.dtype = torch.float64) -> dict[str, torch.Tensor | float]:
    """Closes the loop. Returns states (steps + 1, fleet, 12), inputs (steps, fleet, 3) and the seconds of a step (median)."""
    A, B = models(fleet, dtype, device)
    x = torch.zeros(fleet, 4 * AXES)
    x[:, ::4] = 4 * torch.rand(fleet, AXES, generator=torch.Generator().manual_seed(1)) - 2
    x = x.to(device, dtype)
    control = Controller(A, B)
    control.plan(x, 20)  # the first plan starts from nothing
    step = steps_of(control, iterations, device)
    states, inputs, seconds = [x], [], []
    for _ in range(steps):
        start = time.perf_counter()
        u = step(x)
        if device != "cpu":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
        x = torch.einsum("fij,fj->fi", A, x) + torch.einsum("fij,fj->fi", B, u)
        states.append(x)
        inputs.append(u.clone())
    return {"states": torch.stack(states), "inputs": torch.stack(inputs), "seconds": sorted(seconds)[steps // 2]}


def draw(flight: dict[str, torch.Tensor | float], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.style.use(Path(__file__).parents[2] / "look.mplstyle")
    shown = 12
    states, inputs = (flight[name][:, :shown].cpu() for name in ("states", "inputs"))
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6))
    left.plot(states[..., 0], states[..., 4], linewidth=1)
    left.plot(0, 0, "k+")
    left.set(title=f"{shown} drones fly to the origin", xlabel="x", ylabel="y", aspect="equal")
    right.step(torch.arange(len(inputs)) * DT, inputs[..., 0], where="post", linewidth=1)
    right.axhline(1, color="k", linestyle=":")
    right.axhline(-1, color="k", linestyle=":")
    right.set(title="Inputs of the first axis, within bounds", xlabel="seconds")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description="Model predictive control of a fleet")
    parser.add_argument("--fleet", type=int, default=64)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--iterations", type=int, default=10, help="of ADMM in each step")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--picture", help="where to draw the flight (needs matplotlib)")
    given = parser.parse_args()
    flight = fly(given.fleet, given.steps, given.iterations, given.device)
    each = flight["seconds"]
    distance = flight["states"][:, :, ::4].norm(dim=-1)
    print(
        f"{given.fleet} programs of {N} steps and {4 * AXES} states, {given.iterations} iterations: "
        f"{each * 1e3:.2f} ms a step ({1 / each:.0f} Hz)"
    )
    print(f"distance to the origin: {distance[0].mean():.2f} at first, {distance[-1].max():.4f} at most at the end")
    print(f"largest input: {flight['inputs'].abs().max():.3f}")
    if given.picture:
        draw(flight, given.picture)


if __name__ == "__main__":
    main()
