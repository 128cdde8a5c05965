"""Second moments of a Gaussian with a block tridiagonal precision, and gradients through them: against dynamax, which must be installed.

    python tools/bench/python/second_moments.py

"trifold" is trifold.jax.block_tridiagonal_normal, "dynamax" its block_tridiag_mvn_expectations, which differentiates a scan. "Call" takes
all of (log normalizer, Ex, ExxT, ExxnT), "gradient" a weighted sum of ExxT and ExxnT with its gradients to the precision and h. Each is a
median of calls, each with new random data. Values and gradients of both must agree.

"smoother off" compares means, covariances and cross covariances of a linear Gaussian model with those of dynamax's lgssm_smoother.
"""

from __future__ import annotations

import importlib

import measure
import numpy as np

SIZES = ((200, 8), (1000, 8), (5000, 16))
SMALL = ((6, 3), (4, 1))
TOLERANCE = 1e-10
OF_SMOOTHER = 1e-8  # its solutions have 1e-9 added to their diagonals


def problem(jax, horizon, n, seed):
    """J_diag, J_lower, h, and the weights of both second moments."""
    jnp = jax.numpy
    keys = jax.random.split(jax.random.key(seed), 5)
    root = jax.random.normal(keys[0], (horizon, n, n)) / np.sqrt(n)
    shapes = ((horizon - 1, n, n), (horizon, n), (horizon, n, n), (horizon - 1, n, n))
    lower, h, *weights = (jax.random.normal(key, shape) for key, shape in zip(keys[1:], shapes))
    return root @ root.mT + 3 * jnp.eye(n), 0.5 * lower / np.sqrt(n), h, *weights


def with_gradient(jax, expectations):
    def weighted(diagonal, lower, h, w, v):
        _, _, second, next_one = expectations(diagonal, lower, h)
        return jax.numpy.sum(second * w) + jax.numpy.sum(next_one * v)

    return jax.jit(jax.value_and_grad(weighted, (0, 1, 2)))


def of_smoother(jax, expectations, horizon=20):
    """How far means, covariances and cross products are from those of lgssm_smoother."""
    inference = importlib.import_module("dynamax.linear_gaussian_ssm.inference")
    jnp = jax.numpy
    F, H = jnp.array([[1.0, 0.4], [-0.2, 0.9]]), jnp.array([[1.0, 0.5]])
    Q, R, P0, m0 = jnp.diag(jnp.array([0.3, 0.2])), jnp.array([[0.5]]), 2 * jnp.eye(2), jnp.array([1.0, -1.0])
    parameters = inference.ParamsLGSSM(
        initial=inference.ParamsLGSSMInitial(mean=m0, cov=P0),
        dynamics=inference.ParamsLGSSMDynamics(weights=F, bias=jnp.zeros(2), input_weights=jnp.zeros((2, 0)), cov=Q),
        emissions=inference.ParamsLGSSMEmissions(weights=H, bias=jnp.zeros(1), input_weights=jnp.zeros((1, 0)), cov=R),
    )
    ys = jax.random.normal(jax.random.key(3), (horizon, 1))
    theirs = inference.lgssm_smoother(parameters, ys)
    W, V = jnp.linalg.inv(Q), jnp.linalg.inv(R)
    diagonal = jnp.tile(H.T @ V @ H, (horizon, 1, 1)).at[1:].add(W).at[:-1].add(F.T @ W @ F).at[0].add(jnp.linalg.inv(P0))
    h = (ys @ V @ H).at[0].add(jnp.linalg.solve(P0, m0))
    _, mean, second, next_one = expectations(diagonal, jnp.tile(-W @ F, (horizon - 1, 1, 1)), h)
    errors = [
        measure.close("means", mean, theirs.smoothed_means, OF_SMOOTHER),
        measure.close("covariances", second - mean[:, :, None] * mean[:, None, :], theirs.smoothed_covariances, OF_SMOOTHER),
        measure.close("cross products", next_one.mT, theirs.smoothed_cross_covariances, OF_SMOOTHER),
    ]
    return max(errors)


def main(arguments=None):
    parser = measure.parser(__doc__)
    options = parser.parse_args(arguments)
    jax, device = measure.jax_on(options.device)
    import trifold.jax

    dynamax = importlib.import_module("dynamax.linear_gaussian_ssm.info_inference")
    programs = {"dynamax": dynamax.block_tridiag_mvn_expectations, "trifold": trifold.jax.block_tridiagonal_normal}
    table = measure.Table(
        f"Second moments, float64, {device.device_kind}",
        ["T x D", "program", "call", "gradient", "dynamax over it", "values off", "gradients off", "smoother off"],
    )
    repeats = options.repeats or (2 if options.small else 9)
    for horizon, n in SMALL if options.small else SIZES:
        known = {}
        for name, expectations in programs.items():
            make = lambda i: problem(jax, horizon, n, i)  # noqa: E731
            plain, gradient = jax.jit(expectations), with_gradient(jax, expectations)
            call, values = measure.median(lambda *data: plain(*data[:3]), make, jax.block_until_ready, repeats)
            seconds, (_, slopes) = measure.median(gradient, make, jax.block_until_ready, repeats)
            known.setdefault("values", values)
            known.setdefault("slopes", slopes)
            known.setdefault("seconds", seconds)
            off = [
                max(measure.close(what, mine, theirs, TOLERANCE) for mine, theirs in zip(found, known[what]) if theirs.size)
                for what, found in (("values", values), ("slopes", slopes))
            ]
            table.add(
                T_x_D=f"{horizon} x {n}",
                program=name,
                call_s=call,
                gradient_s=seconds,
                dynamax_over_it=known["seconds"] / seconds,
                values_off=off[0],
                gradients_off=off[1],
                smoother_off=of_smoother(jax, expectations),
            )
    measure.write(options.json, options, [table])
    return table.rows


if __name__ == "__main__":
    main()
