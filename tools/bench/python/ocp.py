#!/usr/bin/env python3
"""Times whole solutions of optimal control problems by cuPIQP, with its own solver of chains, socu, and with Trifold in its place.

    python tools/bench/python/ocp.py --solver socu --dtype float64 --masses 4 --horizon 30 --batch 1,64,1024

Needs cuPIQP, Warp, CuPy and a CUDA device. A problem is a line of masses with springs, of which the last is pushed: 2 masses + 1 rows in a
block. Each line has the least time of a solution, which is a graph, iterations, and how far it is from the first solver's.
"""

import argparse
import time

import cupy
import numpy as np
import warp as wp


def dynamics(masses, dt=0.1):
    """x: positions and speeds; by a Taylor series."""
    spring = -2 * np.eye(masses) + np.eye(masses, k=1) + np.eye(masses, k=-1)
    A = np.block([[np.zeros((masses, masses)), np.eye(masses)], [spring, -0.1 * np.eye(masses)]])
    B = np.zeros((2 * masses, 1))
    B[-1] = 1
    step, term = np.eye(2 * masses), np.eye(2 * masses)
    integral = dt * np.eye(2 * masses)
    for k in range(1, 12):
        term = term @ A * dt / k
        step, integral = step + term, integral + term * dt / (k + 1)
    return step, integral @ B


def problem(dtype, masses, horizon, batch, graph):
    from cupiqp.multistage.ocp_solver import OcpSolver

    n = 2 * masses
    A, B = dynamics(masses)
    solver = OcpSolver(dtype=wp.float32 if dtype == "float32" else wp.float64)
    solver.settings.enable_cuda_graph = graph
    solver.setup(N=horizon, nx=n, nu=1, idxbu=[0], idxbx=list(range(masses)), batch_size=batch)

    def give(name, k, value):
        solver.set(name, k, cupy.asarray(np.asarray(value, dtype)))

    for k in range(horizon + 1):
        give("Q", k, np.eye(n) * (10 if k == horizon else 1))
        give("lbx", k, np.full(masses, -4.0))
        give("ubx", k, np.full(masses, 4.0))
        if k < horizon:
            give("A", k, A)
            give("B", k, B)
            give("R", k, [[0.1]])
            give("lbu", k, [-0.5])
            give("ubu", k, [0.5])
    x0 = np.random.default_rng(0).uniform(-1, 1, (batch, n))
    give("x0", 0, x0 if batch > 1 else x0[0])
    return solver


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--solver", choices=["socu", "trifold"], required=True)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--masses", type=int, default=4)
    parser.add_argument("--horizon", type=int, default=30)
    parser.add_argument("--batch", default="1,64,1024")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--no-graph", action="store_true")
    options = parser.parse_args()
    if options.solver == "trifold":
        import trifold.socu

        trifold.socu.exchange_in_cupiqp()
    for batch in map(int, options.batch.split(",")):
        began = time.perf_counter()
        solver = problem(options.dtype, options.masses, options.horizon, batch, not options.no_graph)
        solver.solve()
        wp.synchronize()
        cold, times = time.perf_counter() - began, []
        for _ in range(options.repeats):
            began = time.perf_counter()
            solver.solve()
            wp.synchronize()
            times.append(time.perf_counter() - began)
        kkt = solver._kkt_system._kkt_solver
        parts = {}
        for name, call in (("factor", kkt.factor), ("solve", kkt._cholesky_solve_launch)):
            call()
            wp.synchronize()
            began = time.perf_counter()
            for _ in range(options.repeats):
                call()
            wp.synchronize()
            parts[name] = (time.perf_counter() - began) / options.repeats
        iterations, statuses = solver.result.info.iter.numpy(), solver.result.info.status.numpy()
        solved, first = int(np.count_nonzero(statuses == 0)), float(solver.u_traj.numpy()[0, 0, 0])
        what = f"{options.solver} {options.dtype} n={2 * options.masses + 1} N={options.horizon + 1} batch={batch}"
        print(
            f"{what}: {min(times) * 1e3:.3f} ms, factor {parts['factor'] * 1e6:.1f} us, solve {parts['solve'] * 1e6:.1f} us, "
            f"iterations {iterations.max()}, solved {solved}, u = {first:.6f}, first call {cold:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
