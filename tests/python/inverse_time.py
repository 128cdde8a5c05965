"""Seconds of a gradient through the selected inverse, at T blocks of D rows: python tests/python/inverse_time.py T D."""

import resource
import sys
import time

import jax
import jax.numpy as jnp
from problems import make

jax.config.update("jax_enable_x64", True)
import trifold.jax as tj  # noqa: E402

T, n = map(int, sys.argv[1:3])
for dtype in ("float64", "float32"):
    D, E = (jnp.asarray(array, dtype) for array in make(n, T))
    gradient = jax.jit(jax.grad(lambda D, E: sum(jnp.sum(part**2) for part in tj.selected_inverse(D, E)), (0, 1)))
    jax.block_until_ready(gradient(D, E))
    times = []
    for _ in range(11):
        start = time.perf_counter()
        jax.block_until_ready(gradient(D, E))
        times.append(time.perf_counter() - start)
        if sum(times) > 40:
            break
    print(f"T = {T}, D = {n}, {dtype}: {1e3 * min(times):.2f} ms, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
