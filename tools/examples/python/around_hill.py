"""1024 controllers find ways around a hill, by exact Newton steps that become one CUDA graph.

The hill's Hessian is not positive definite, so some members of a step have wrong inertia: not as many negative pivots as there are
multipliers. These alone are factored again, with a larger shift, as often as it takes. Statuses stay in the memory of the device, where a
few operations on arrays decide: torch's within the graph, or NumPy's in a loop on a CPU.
"""

import argparse

import numpy as np
import trifold

STAGES, STEP, HEIGHT, WIDTH = 20, 0.25, 4.0, 0.7  # stages; s; of the hill, whose top is at 0
X, U = 4, 2  # position and speed; force
N = X + U + X  # rows of a stage: state, input, multipliers of the dynamics
MULTIPLIERS = X * (STAGES + 1)
ROUNDS, FIRST = 12, 0.05  # factorizations of a step, at most; shift of the second one


def quadratic_part():
    """D, E of all but the hill, and the linear term: from the left to the right, with little force."""
    A, B = np.eye(X), np.zeros((X, U))
    A[:2, 2:], B[2:] = STEP * np.eye(2), STEP * np.eye(2)
    D, E = np.zeros((STAGES + 1, N, N)), np.zeros((STAGES, N, N))
    D[:, :X, :X], D[:, X : X + U, X : X + U] = np.diag([1e-2, 1e-2, 0.1, 0.1]), 0.1 * np.eye(U)
    D[:-1, X + U :, :X], D[:-1, X + U :, X : X + U] = A, B
    D[:, X + U :, X + U :] = -1e-8 * np.eye(X)
    D[-1, X + U :, X + U :] = -np.eye(X)  # of no use, for the last stage has no dynamics
    D[0, :X, :X] += 1e3 * np.eye(X)  # holds the start
    D[-1, :X, :X] += 10 * np.eye(X)  # and the end
    D = np.tril(D) + np.tril(D, -1).transpose(0, 2, 1)
    E[:, :X, X + U :] = -np.eye(X)
    return D, E


def linear_part(members, seed):
    rng = np.random.default_rng(seed)
    linear = np.zeros((members, STAGES + 1, N))
    start = np.concatenate([np.full((members, 1), -2.0), rng.uniform(-0.6, 0.6, (members, 1))], 1)
    linear[:, 0, :2] = -1e3 * start
    linear[:, -1, 0] = -10 * 2.0
    return linear


class Controllers:
    def __init__(self, members, device, seed=0):
        self.on_gpu = device != "cpu"
        if self.on_gpu:
            import torch as library

            self.array = lambda values: library.tensor(values, device="cuda")
        else:
            library, self.array = np, np.array
        self.library = library
        D, E = quadratic_part()
        self.D, self.E = self.array(D), self.array(np.tile(E, (members, 1, 1, 1)))
        self.linear = self.array(linear_part(members, seed))
        self.primal = self.array(np.repeat([1.0, 0], [X + U, X]))
        self.z = self.array(np.zeros((members, STAGES + 1, N)))
        self.z[:, :, 1] = self.array(np.linspace(-1e-3, 1e-3, members))[
            :, None
        ]  # else a straight way is as good to the left as to the right
        self.shift, self.times = self.array(np.zeros(members)), self.array(np.zeros(members, np.int64))
        self.repeat = self.array(np.ones(members, np.bool_))
        self.size = self.array(np.zeros(members))
        plan = trifold.Plan(block=N, horizon=STAGES + 1, batch=members, matrix="symmetric", device="cuda" if self.on_gpu else "cpu")
        self.solver = plan.solver()

    def derivatives(self):
        """The Hessian's D, and the gradient of the Lagrangian."""
        z, E, einsum = self.z, self.E[0], self.library.einsum
        gradient = einsum("kij,mkj->mki", self.D, z) + self.linear
        gradient[:, 1:] += einsum("kij,mkj->mki", E, z[:, :-1])
        gradient[:, :-1] += einsum("kji,mkj->mki", E, z[:, 1:])
        p = z[:, :, :2]
        hill = HEIGHT / WIDTH**2 * self.library.exp(-(p**2).sum(-1) / (2 * WIDTH**2))
        D = self.D[None] + 0 * self.z[:, :, None, :]
        D[:, :, :2, :2] += hill[..., None, None] * p[..., :, None] * p[..., None, :] / WIDTH**2
        for k in range(2):
            D[:, :, k, k] -= hill
        gradient[:, :, :2] -= hill[..., None] * p
        return D, gradient

    def factor_wrong(self, D):
        """Factors those members whose inertia is wrong, and finds who is wrong now."""
        self.solver.factor(D, self.E, diagonal=self.shift[:, None, None] * self.primal + 0 * self.z, active=self.repeat, check=False)
        status = self.solver.copy_status()  # in the memory of the device, so that the host does not wait
        self.times += self.repeat
        self.repeat &= (status.block >= 0) | (status.nearly_singular != 0) | (status.negative != MULTIPLIERS)
        self.shift[:] = self.library.where(self.repeat, 4 * self.shift + FIRST, self.shift)

    def step(self):
        self.repeat[:], self.shift[:], self.times[:] = True, 0, 0
        D, gradient = self.derivatives()
        for _ in range(ROUNDS):
            if not self.on_gpu and not self.repeat.any():  # a graph has all rounds, of which the last ones find nothing to do
                break
            self.factor_wrong(D)
        direction = self.solver.solve(gradient)
        longest = abs(direction[:, :, :2]).reshape(len(direction), -1).max(1)
        longest = longest.values if self.on_gpu else longest
        self.z -= direction / (1 + longest / 0.5)[:, None, None]
        self.size[:] = longest

    def stepper(self):
        """A function that takes a step: on a GPU the replay of one graph."""
        if not self.on_gpu:
            return self.step
        graphs = self.library.cuda
        before = self.z.clone()
        stream = graphs.Stream()
        with graphs.stream(stream):  # once outside of the graph, as torch wants it
            self.step()
        stream.synchronize()
        self.z.copy_(before)
        graph = graphs.CUDAGraph()
        with graphs.graph(graph):
            self.step()
        return graph.replay


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    options = parser.parse_args(arguments)
    all_of = Controllers(options.members, options.device)
    step, times = all_of.stepper(), []
    for _ in range(options.steps):
        step()
        times.append(all_of.times.tolist())
    times, left = np.array(times), np.array(all_of.size.tolist())
    again = (times > 1).sum(1)
    print(f"{again.max()} members at most were factored again in a step, {times.max()} times; {again[-1]} in the last one")
    print(f"steps at the end: {left.max():.1e} at most; {(np.array(all_of.z.tolist())[:, STAGES // 2, 1] > 0).mean():.0%} pass on the left")
    return all_of, times


if __name__ == "__main__":
    main()
