"""Gradients of large Gaussian log likelihoods in torch and JAX, at the sizes of ADELIA.

    python tools/bench/python/gradients.py --device cuda --library torch jax

One system in float64, N blocks of n. "Likelihood" is b' A^-1 b - log det A with its gradients to D, E and b, from one factorization.
The other columns are log det A with its gradients, A^-1 b with those of a weighted sum, and the blocks of the inverse alone.
Each is a median of calls, each with new random data on the device, from the arguments to the end of the gradient.

Behind it is what ADELIA publishes for a gradient, on a GH200. Its matrices also have an arrow of 2 to 6 rows, and its times include the
assembly of them, which ours do not: they are not times of the same work.

Results are checked at any size: the residual of a solution, and what scaling A by a number does to each result, which its gradients must
say (for log det A they sum up to the number of rows). Tests compare them with NumPy's of dense matrices.
"""

from __future__ import annotations

import math

import measure

SIZES = ((100, 812), (48, 846), (12, 708))
PUBLISHED = (0.69, 0.45, 0.08)  # seconds
SMALL = ((4, 5), (3, 6), (1, 2))
TOLERANCE = 1e-9  # of sums over all entries, relative to the sums of their sizes


class Library:
    """Calls with (D, E, b, weights). All but the last two return a value and its gradients."""

    def _add(self, trifold, with_gradients, plain):
        def likelihood(D, E, b, _):
            terms = trifold.likelihood(D, E, b)
            return terms.quadratic - terms.log_determinant

        self.likelihood = with_gradients(likelihood, 3)
        self.log_determinant = with_gradients(lambda D, E, *_: trifold.log_determinant(D, E), 2)
        self.solve = with_gradients(lambda D, E, b, weights: (trifold.solve(D, E, b) * weights).sum(), 3)
        self.selected_inverse = plain(lambda D, E, *_: trifold.factor(D, E).selected_inverse())
        self.solution = plain(lambda D, E, b, _: trifold.solve(D, E, b))


class Torch(Library):
    name = "torch"

    def __init__(self, device):
        import torch
        import trifold.torch

        self.torch, self.device = torch, device
        self.generator = torch.Generator(device)
        self.device_name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
        self._add(trifold.torch, self._with_gradients, lambda function: function)

    def make(self, horizon, n, seed):
        self.generator.manual_seed(seed)
        like = {"dtype": self.torch.float64, "device": self.device}
        return problem(lambda *shape: self.torch.randn(*shape, generator=self.generator, **like), self.torch.eye(n, **like), horizon)

    def wait(self, _):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def _with_gradients(self, function, count):
        def call(*data):
            leaves = [array.detach().requires_grad_() for array in data[:count]]
            value = function(*leaves, *data[count:])
            return value.detach(), self.torch.autograd.grad(value, leaves)

        return call


class Jax(Library):
    name = "jax"

    def __init__(self, device):
        jax, chosen = measure.jax_on(device)
        import trifold.jax

        def draw(horizon, n, key):
            keys = iter(jax.random.split(key, 4))
            return problem(lambda *shape: jax.random.normal(next(keys), shape, "float64"), jax.numpy.eye(n), horizon)

        self.device_name, self.wait = chosen.device_kind, jax.block_until_ready
        self.draw, self.key = jax.jit(draw, static_argnums=(0, 1)), jax.random.key
        self._add(trifold.jax, lambda function, count: jax.jit(jax.value_and_grad(function, tuple(range(count)))), jax.jit)

    def make(self, horizon, n, seed):
        return self.draw(horizon, n, self.key(seed))


LIBRARIES = {"torch": Torch, "jax": Jax}


def problem(normal, one, horizon):
    """(D, E, b, weights). Parts of norms of at most 1.5 and twice 0.8 around 4: positive definite, without any product of matrices."""
    n = len(one)
    D, E = normal(horizon, n, n), normal(horizon - 1, n, n)
    D = (0.5 / math.sqrt(n)) * (D + D.swapaxes(-1, -2)) + 4 * one
    return D, (0.4 / math.sqrt(n)) * E, normal(horizon, n), normal(horizon, n)


def homogeneous(name, arrays, gradients, expected):
    """Raises where the sum of entries times gradients, over arrays, is not expected; cancellation is allowed for."""
    products = [array * gradient for array, gradient in zip(arrays, gradients)]
    total, size = sum(float(p.sum()) for p in products), sum(float(abs(p).sum()) for p in products)
    error = abs(total - float(expected)) / max(size, abs(float(expected)))
    if not error <= TOLERANCE:
        raise AssertionError(f"{name}: entries times gradients sum up to {total:.12g}, not {float(expected):.12g}")
    return error


def check(library, data):
    """Largest error of the sums that scaling A and b gives, and the residual."""
    D, E, b, weights = data
    rows = D.shape[0] * D.shape[1]
    value, gradients = library.log_determinant(*data)
    errors = [homogeneous("log det", (D, E), gradients, rows)]
    likelihood, gradients = library.likelihood(*data)
    quadratic = float(likelihood) + float(value)
    errors.append(homogeneous("likelihood, A", (D, E), gradients, -quadratic - rows))
    errors.append(homogeneous("likelihood, b", (b,), gradients[2:], 2 * quadratic))
    value, gradients = library.solve(*data)
    errors.append(homogeneous("solve, A", (D, E), gradients, -float(value)))
    errors.append(homogeneous("solve, b", (b,), gradients[2:], value))
    diagonal, lower = library.selected_inverse(*data)
    errors.append(homogeneous("inverse", (D, E), (diagonal, 2 * lower), rows))
    x = library.solution(*data)
    left = measure.residual(D, E, b, x)
    if not left <= 1e-13:
        raise AssertionError(f"a residual of {left:.1e}")
    return max(errors), left


def run(library, table, size, published, repeats):
    horizon, n = size
    make = lambda i: library.make(horizon, n, i)  # noqa: E731
    seconds = {}
    for name in ("likelihood", "log_determinant", "solve", "selected_inverse"):
        seconds[f"{name}_s"] = measure.median(getattr(library, name), make, library.wait, repeats)[0]
    error, left = check(library, make(1000))
    if published is not None:
        seconds |= {"published_s": published, "times_faster": published / seconds["likelihood_s"]}
    table.add(
        N_x_n=f"{horizon} x {n}",
        library=library.name,
        residual=left,
        sums_off=error,
        **seconds,
    )


def main(arguments=None):
    parser = measure.parser(__doc__)
    parser.add_argument("--library", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    options = parser.parse_args(arguments)
    columns = ["N x n", "library", "likelihood", "published", "times faster", "log determinant", "solve", "selected inverse"]
    libraries = [LIBRARIES[name](options.device) for name in options.library]
    table = measure.Table(f"Values and gradients, float64, {libraries[0].device_name}", [*columns, "residual", "sums off"])
    for size, published in zip(SMALL, (None,) * 3) if options.small else zip(SIZES, PUBLISHED):
        for library in libraries:
            run(library, table, size, published, options.repeats or (2 if options.small else 7))
    print("\nPublished: a gradient by ADELIA on a GH200, with an arrow of 2 to 6 rows and with the assembly. Ours are without either.")
    return measure.write(options, table)


if __name__ == "__main__":
    main()
