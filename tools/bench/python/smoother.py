"""Value and gradient of a Kalman filter's log likelihood, to all its parameters: trifold.models against filters written in JAX.

    python tools/bench/python/smoother.py --device cuda

    trifold      trifold.models.log_likelihood: one block tridiagonal system
    associative  the parallel filter of Sarkka and Garcia-Fernandez (2021) by jax.lax.associative_scan
    sequential   the textbook's filter by jax.lax.scan

All three compute the same number in float64 and are jitted. Parameters are F, H, m0 and the triangular factors of Q, R and P0, new at
random in each call. In a batch each series has parameters of its own, by vmap. "Call" is one call from the arguments to the end of the
gradient, median; "stream" is a call of many that are enqueued together. Agreement is checked in the same run.
"""

from __future__ import annotations

import functools
import math
import statistics

import measure

LOG_2_PI = math.log(2 * math.pi)


def make_parameters(jax, n, m, front, key):
    """A stable model that is excited in all its states, and its observations are not far from what it says."""
    jnp, random = jax.numpy, jax.random
    keys = random.split(key, 6)

    def root(key, size):
        entries = random.normal(key, (*front, size, size), jnp.float64) / math.sqrt(size)
        return jnp.tril(0.5 * entries) + jnp.eye(size)

    return {
        "F": 0.9 * jnp.linalg.qr(random.normal(keys[0], (*front, n, n), jnp.float64))[0],
        "H": random.normal(keys[1], (*front, m, n), jnp.float64) / math.sqrt(n),
        "Q": root(keys[2], n),
        "R": root(keys[3], m),
        "P0": root(keys[4], n),
        "m0": random.normal(keys[5], (*front, n), jnp.float64),
    }


def covariances(p):
    return (p[name] @ p[name].T for name in ("Q", "R", "P0"))


def with_trifold(models, p, ys):
    Q, R, P0 = covariances(p)
    return models.log_likelihood(p["F"], p["H"], Q, R, P0, ys, m0=p["m0"], complete=True)


def log_normal(jax, residual, S):
    """log N(residual; 0, S) by one Cholesky factorization."""
    L = jax.numpy.linalg.cholesky(S)
    white = jax.scipy.linalg.solve_triangular(L, residual, lower=True)
    return -0.5 * (white @ white + residual.size * LOG_2_PI) - jax.numpy.log(jax.numpy.diagonal(L)).sum()


def with_scan(jax, p, ys):
    """Predicts and updates, time after time."""
    jnp, scipy = jax.numpy, jax.scipy
    F, H = p["F"], p["H"]
    Q, R, P0 = covariances(p)

    def step(carry, y):
        mean, P = carry
        HP = H @ P
        S = HP @ H.T + R
        residual = y - H @ mean
        gain = scipy.linalg.cho_solve((jnp.linalg.cholesky(S), True), HP).T
        mean, P = mean + gain @ residual, P - gain @ HP
        P = 0.5 * (P + P.T)
        return (F @ mean, F @ P @ F.T + Q), log_normal(jax, residual, S)

    return jax.lax.scan(step, (p["m0"], P0), ys)[1].sum()


def with_associative_scan(jax, p, ys):
    """Elements (A, b, C, eta, J) of the filter, their products, then the density of each observation given those before."""
    jnp, scipy = jax.numpy, jax.scipy
    F, H, m0 = p["F"], p["H"], p["m0"]
    Q, R, P0 = covariances(p)
    one = jnp.eye(len(m0))

    def first(y):
        S = H @ P0 @ H.T + R
        gain = scipy.linalg.cho_solve((jnp.linalg.cholesky(S), True), H @ P0).T
        zero = jnp.zeros_like(m0)
        return jnp.zeros_like(F), m0 + gain @ (y - H @ m0), P0 - gain @ S @ gain.T, zero, jnp.zeros_like(F)

    def later(y):
        factor = jnp.linalg.cholesky(H @ Q @ H.T + R), True
        gain = scipy.linalg.cho_solve(factor, H @ Q).T
        HF = H @ F
        seen = HF.T @ scipy.linalg.cho_solve(factor, jnp.column_stack((HF, y)))
        return F - gain @ HF, gain @ y, Q - gain @ H @ Q, seen[:, -1], seen[:, :-1]

    @jax.vmap
    def combine(earlier, later):
        A1, b1, C1, eta1, J1 = earlier
        A2, b2, C2, eta2, J2 = later
        left = jnp.linalg.solve(one + J2 @ C1, A2.T).T
        right = jnp.linalg.solve(one + C1 @ J2, A1).T
        return (
            left @ A1,
            left @ (b1 + C1 @ eta2) + b2,
            left @ C1 @ A2.T + C2,
            right @ (eta2 - J2 @ b1) + eta1,
            right @ J2 @ A1 + J1,
        )

    rest = jax.vmap(later)(ys[1:])
    elements = jax.tree.map(lambda a, b: jnp.concatenate((a[None], b)), first(ys[0]), rest)
    _, means, P, _, _ = jax.lax.associative_scan(combine, elements)

    def density(mean, P, y):
        return log_normal(jax, y - H @ mean, H @ P @ H.T + R)

    ahead, spread = means[:-1] @ F.T, F @ P[:-1] @ F.T + Q
    return density(m0, P0, ys[0]) + jax.vmap(density)(ahead, spread, ys[1:]).sum()


def contenders(jax):
    from trifold import models

    return {
        "trifold": functools.partial(with_trifold, models),
        "sequential": functools.partial(with_scan, jax),
        "associative": functools.partial(with_associative_scan, jax),
    }


def compare(name, result, expected):
    """Differences of a value and of gradients from those of trifold. Raises where they are not the same."""
    value = measure.close(f"value of {name}", result[0], expected[0], 1e-8)
    return value, max(measure.close(f"gradient of {name} to {key}", result[1][key], expected[1][key], 1e-6) for key in expected[1])


def stream_seconds(call, data, wait, calls):
    """Of one call among many that are enqueued before the device has done them."""
    return measure.seconds(lambda: [call(*data[i % len(data)]) for i in range(calls)], wait)[0] / calls


def measured(jax, function, make, repeats):
    """(numbers of a row, result of make(0))."""
    compile_seconds, call = measure.seconds(lambda: jax.jit(function).lower(*make(0)).compile())
    row = {"compile_s": compile_seconds}
    result = jax.block_until_ready(call(*make(0)))
    row["call_s"] = measure.median(call, make, jax.block_until_ready, repeats)[0]
    few, data = max(2, min(repeats, int(0.5 / row["call_s"]))), [make(i) for i in range(4)]
    row["stream_s"] = statistics.median(stream_seconds(call, data, jax.block_until_ready, few) for _ in range(3))
    return row, result


def run(jax, table, sizes, batch, repeats):
    n, m, horizon = sizes
    front = () if batch == 1 else (batch,)
    draw = jax.jit(lambda key: (make_parameters(jax, n, m, front, key), jax.random.normal(key, (*front, horizon, m), jax.numpy.float64)))
    of_trifold = expected = None
    for name, function in contenders(jax).items():
        both = jax.value_and_grad(function)
        row, result = measured(jax, both if batch == 1 else jax.vmap(both), lambda i: draw(jax.random.key(i)), repeats)
        of_trifold, expected = of_trifold or row["call_s"], expected or result
        value, gradient = compare(name, result, expected)
        row |= {"value_off": value, "gradient_off": gradient, "of_trifold": row["call_s"] / of_trifold}
        table.add(N_x_n=f"{horizon} x {n}, {m} values a time", series=batch, what=name, **row)


def main(arguments=None):
    options = measure.parser(__doc__)
    options.add_argument("--batches", type=int, nargs="+", help="series in a call")
    options = options.parse_args(arguments)
    jax, device = measure.jax_on(options.device)
    sizes = (3, 2, 5) if options.small else (24, 8, 203)
    batches = options.batches or ([1, 3] if options.small else [1, 64])
    columns = ["N x n", "series", "what", "call", "of trifold", "stream", "compile", "value off", "gradient off"]
    table = measure.Table(f"Value and gradient of a log likelihood, float64, {device.device_kind}", columns)
    for batch in batches:
        run(jax, table, sizes, batch, options.repeats or (3 if options.small else 30))
    return measure.write(options, table)


if __name__ == "__main__":
    main()
