"""TurboMPC's example of a point mass whose policy is learned: its loss, eight steps of control for each of four starts, and its gradient.

    python tools/bench/python/point_mass.py FOLDER

FOLDER is a copy of TurboMPC's repository. "trifold" has trifold.jax.solve_rows in the place of
cudss_ffi_solve, for solutions and gradients; "dense" has its factorization of the whole matrix and "PCG" its iteration, both in JAX. Each
time is a median of compiled calls with new
keys. "loss off" and "gradient off" are how far a program is from "dense"; PCG's own iteration ends earlier, so it is not held to that.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path

import measure
import numpy as np

EXAMPLE = "examples/pointmass_rl/pointmass_rl.py"
BACKENDS = {"dense": "ADMM_JAX_LOOP_JAX_DENSE", "trifold": "ADMM_JAX_LOOP_CUDSS_FFI", "PCG": "ADMM_JAX_LOOP_PCG"}
TOLERANCE = {"float64": 1e-6, "float32": 1e-2}
OF_FLOAT32 = "1e-5"


def example(folder, backend, dtype):
    """The names of the example, with these backends and types."""
    text = (folder / EXAMPLE).read_text(encoding="utf-8")
    for what, was in (("ForwardBackend", "ADMM_FUSED_CUDSS"), ("BackwardBackend", "DIRECT_CUDSS_FFI")):
        if f"{what}.{was}" not in text:
            sys.exit(f"{EXAMPLE} has no {what}.{was}; this program was written for commit a7b8b0a of TurboMPC")
        text = text.replace(f"{what}.{was}", f"{what}.{BACKENDS[backend]}")
    if dtype == "float32":
        text = text.replace('"jax_enable_x64", True', '"jax_enable_x64", False').replace("tol=1e-8", f"tol={OF_FLOAT32}")
    names = {"__name__": "example", "__file__": str((folder / EXAMPLE).resolve())}
    exec(compile(text, EXAMPLE, "exec"), names)  # noqa: S102
    return names


def exchange():
    import trifold.jax

    backend = types.ModuleType("turbompc.solvers.linear_systems_solvers.cudss_ffi_backend")
    backend.cudss_ffi_solve = trifold.jax.solve_rows
    sys.modules[backend.__name__] = backend


def main(arguments=None):
    parser = measure.parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float64")
    options = parser.parse_args(arguments)
    sys.path.insert(0, str(options.folder))
    jax, device = measure.jax_on(options.device)
    exchange()
    table = measure.Table(
        f"TurboMPC's point mass, {options.dtype}, {device.device_kind}",
        ["program", "loss", "with gradient", "loss off", "gradient off"],
    )
    known, repeats = None, options.repeats or (1 if options.small else 7)
    for name in BACKENDS:
        names = example(options.folder, name, options.dtype)
        theta = names["init_policy"](jax.random.key(0), obs_dim=6, out_dim=9 * names["H_STAGES"])
        loss, gradient = jax.jit(names["batched_loss"]), jax.jit(jax.value_and_grad(names["batched_loss"]))
        make = lambda i: (theta, jax.random.key(i))  # noqa: B023, E731
        seconds, _ = measure.median(loss, make, jax.block_until_ready, repeats)
        with_gradient, (value, slopes) = measure.median(gradient, make, jax.block_until_ready, repeats)
        found = np.asarray(value)[None], np.concatenate([np.ravel(part) for part in jax.tree.leaves(slopes)])
        known = known or found
        most = np.inf if name == "PCG" else TOLERANCE[options.dtype]
        off = [measure.close(what, *pair, most) for what, *pair in zip(("loss", "gradient"), found, known)]
        table.add(program=name, loss_s=seconds, with_gradient_s=with_gradient, loss_off=off[0], gradient_off=off[1])
    measure.write(options.json, options, [table])
    return table.rows


if __name__ == "__main__":
    main()
