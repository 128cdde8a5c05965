"""The tests' family in Python, with gradients where torch and JAX are installed: all of it follows from its table."""

import importlib.util
import sys

if not importlib.util.find_spec("numpy"):
    print("skipped: no NumPy")
    sys.exit()
import numpy as np
import trifold.families

random = np.random.default_rng(7)
for n, dtype, bound in ((1, "f8", 1e-14), (7, "f8", 1e-13), (33, "f4", 1e-4)):
    L = np.tril(random.normal(size=(3, n, n))) + 2 * n * np.eye(n)
    b = random.normal(size=(3, n, 5))
    L, b = L.astype(dtype), b.astype(dtype)
    s = trifold.families.Solver("lower", size=n, batch=3, rhs=2, precision="f64" if dtype == "f8" else "f32")
    s.factor(L)
    assert abs(s.solve(b) - np.linalg.solve(L, b)).max() < bound
    assert abs(s.solve_transposed(b) - np.linalg.solve(L.swapaxes(1, 2), b)).max() < bound
    assert s.outcomes() == [{"row": -1, "ok": True}] * 3
    L[1, n // 2, n // 2] = 0
    s.factor(L)
    x = s.solve(b)
    assert np.isnan(x[1]).all() and not np.isnan(x[::2]).any()
    assert s.outcomes()[1] == {"row": n // 2, "ok": False}
    try:
        s.check()
        raise SystemExit("check() did not raise")
    except trifold.Unsolvable:
        pass
if importlib.util.find_spec("torch"):
    import torch
    import trifold.torch.families

    s = trifold.families.Solver("lower", size=5, batch=2)
    L = torch.tril(torch.randn(2, 5, 5, dtype=torch.float64)) + 9 * torch.eye(5)
    b = torch.randn(2, 5, dtype=torch.float64)
    arrays = [array.requires_grad_() for array in (L.contiguous(), b)]
    assert torch.autograd.gradcheck(lambda L, b: trifold.torch.families.solve(s, torch.tril(L), b), arrays)
if importlib.util.find_spec("jax"):
    import jax
    import trifold.jax.families

    jax.config.update("jax_enable_x64", True)
    s = trifold.families.Solver("lower", size=5, batch=2)
    L = np.tril(random.normal(size=(2, 5, 5))) + 9 * np.eye(5)
    b, g = random.normal(size=(2, 2, 5, 3))
    x, pull = jax.vjp(jax.jit(lambda L, b: trifold.jax.families.solve(s, L, b)), L, b)
    w = np.linalg.solve(L.swapaxes(1, 2), g)
    by_L, by_b = pull(g)
    assert abs(x - np.linalg.solve(L, b)).max() < 1e-13
    assert abs(by_b - w).max() < 1e-13
    assert abs(by_L + np.tril(w @ np.swapaxes(x, 1, 2))).max() < 1e-13
