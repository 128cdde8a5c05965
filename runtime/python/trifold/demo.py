"""A trend under noise: ``python -m trifold.demo`` solves on the CPU, and says how fast."""

from __future__ import annotations

import time
from typing import Any

import numpy

import trifold

N, SERIES = 400, 12
np: Any = numpy


def main() -> None:
    print(
        f"trifold {trifold.__version__}: the trends of {SERIES} series of {N} noisy observations, "
        f"one system of {N} blocks of {SERIES} by {SERIES}"
    )
    random = np.random.default_rng(0)
    trend = np.cumsum(random.standard_normal((N, SERIES)) * 0.1, axis=0)
    seen = trend + random.standard_normal((N, SERIES))
    # Least squares: observations have variance 1, steps of the trend 0.01.
    steps = 100.0 * np.eye(SERIES)
    D = np.eye(SERIES) + steps * np.where((np.arange(N) % (N - 1)) == 0, 1, 2)[:, None, None]
    E = np.tile(-steps, (N - 1, 1, 1))

    start = time.perf_counter()
    plan = trifold.Plan(block=SERIES, horizon=N)
    report = plan.report
    made = "prebuilt" if report["prebuilt"] else "from the cache" if report["cache_hit"] else "compiled by " + report["compiler"]
    print(f"plan: {time.perf_counter() - start:.3f} s, {made}; {plan.schedule}")
    solver = plan.solver()
    found = np.empty_like(seen)
    times: list[float] = []
    for _ in range(200):
        start = time.perf_counter()
        solver.factor_solve(D, E, seen, found)
        times.append(time.perf_counter() - start)
    print(f"factor and solve: {sorted(times)[100] * 1e6:.0f} us (median of 200)")

    residual = np.einsum("irk,ik->ir", D, found) - seen
    residual[1:] += np.einsum("irk,ik->ir", E, found[:-1])
    residual[:-1] += np.einsum("ikr,ik->ir", E, found[1:])
    print(f"largest entry of A x - b: {np.abs(residual).max():.1e}")
    print(f"error of the observations: {np.std(seen - trend):.3f}, of the trends found: {np.std(found - trend):.3f}")
    if not np.abs(residual).max() < 1e-10:
        raise SystemExit("the solution is wrong")


if __name__ == "__main__":
    main()
