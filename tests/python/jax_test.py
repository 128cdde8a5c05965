"""trifold.jax on the CPU: against dense algebra, finite differences and JAX's own checks. Without JAX there is nothing to test."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trifold
from problems import blocks_of_inverse, dense, make, rhs, singular, solution

jax = pytest.importorskip("jax")
jnp = jax.numpy
jax.config.update("jax_enable_x64", True)
if not trifold.info()["jax"]:
    pytest.skip("built without the headers of XLA's FFI", allow_module_level=True)

import trifold.jax as tj  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

TIGHT = dict(rtol=1e-9, atol=1e-11)
GRADIENTS = dict(rtol=1e-6, atol=1e-6)
SIZES = [(n, horizon) for n in (1, 3, 8, 17) for horizon in (1, 2, 7, 32)]


@pytest.fixture
def on_cpu():
    with jax.default_device(jax.devices("cpu")[0]):
        yield


def problem(n, horizon, batch=None, columns=None, dtype=np.float64):
    D, E = make(n, horizon, batch, dtype)
    return jnp.asarray(D), jnp.asarray(E), jnp.asarray(rhs(n, horizon, batch, columns, dtype))


def assemble(D, E):
    """A of one member as one matrix, in JAX, with symmetric gradients of D."""
    horizon, n, _ = D.shape
    rows = [[jnp.zeros((n, n), D.dtype)] * horizon for _ in range(horizon)]
    for i in range(horizon):
        rows[i][i] = (D[i] + D[i].T) / 2
        if i + 1 < horizon:
            rows[i + 1][i], rows[i][i + 1] = E[i], E[i].T
    return jnp.block(rows)


def dense_terms(D, E, b):
    """What likelihood() computes, by dense algebra, of one member."""
    A = assemble(D, E)
    flat = b.reshape(A.shape[0], -1)
    x = jnp.linalg.solve(A, flat)
    return x.reshape(b.shape), jnp.linalg.slogdet(A)[1], jnp.sum(flat * x, 0).reshape(b.shape[2:])


def of_symmetric(function):
    """A function of D's symmetric part: finite differences of D see what its gradient says."""
    return jax.jit(lambda D, *rest: function((D + D.mT) / 2, *rest))


def scalar(terms):
    """Something that depends on all of it."""
    x, log_determinant, quadratic = terms
    return jnp.sum(jnp.sin(x)) + 0.3 * jnp.sum(log_determinant) + 0.1 * jnp.sum(quadratic**2)


def close(mine, oracle, tolerances=TIGHT):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, **tolerances), mine, oracle)


@pytest.mark.parametrize(("n", "horizon"), SIZES)
def test_against_dense_algebra(n, horizon):
    """Values and gradients, where the gradient of D has the same convention: it is symmetric."""
    arguments = problem(n, horizon, columns=2)
    mine = jax.jit(jax.value_and_grad(lambda *a: scalar(tj.likelihood(*a)), (0, 1, 2)))(*arguments)
    value, gradients = by_hand(*map(np.asarray, arguments))
    np.testing.assert_allclose(mine[0], value, rtol=1e-9)
    close(mine[1], gradients, GRADIENTS)


def by_hand(D, E, b):
    """scalar(likelihood()) and its gradient from the dense inverse."""
    horizon, n, _ = D.shape
    A = dense(D, E)
    inverse = np.linalg.inv(A)
    flat = b.reshape(horizon * n, -1)
    x = inverse @ flat
    quadratic = np.sum(flat * x, 0)
    value = np.sum(np.sin(x)) + 0.3 * np.linalg.slogdet(A)[1] + 0.1 * np.sum(quadratic**2)
    weights = 0.2 * quadratic
    adjoint = inverse @ np.cos(x)
    gradient = -adjoint @ x.T + 0.3 * inverse - (x * weights) @ x.T  # of all entries of A
    gradient = (gradient + gradient.T).reshape(horizon, n, horizon, n)
    of_d = np.stack([gradient[i, :, i] / 2 for i in range(horizon)])
    of_e = np.array([gradient[i + 1, :, i] for i in range(horizon - 1)]).reshape(E.shape)
    return value, (of_d, of_e, (adjoint + 2 * x * weights).reshape(b.shape))


@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("columns", [None, 2])
@pytest.mark.parametrize(("n", "horizon"), [(1, 1), (3, 7), (17, 2)])
def test_check_grads(n, horizon, batch, columns):
    D, E, b = problem(n, horizon, batch, columns)
    check_grads(of_symmetric(tj.likelihood), (D, E, b), order=1, modes=("fwd", "rev"), atol=1e-6, rtol=1e-6, eps=1e-5)


def test_check_grads_of_second_order():
    def all_of_them(D, E, b):
        f = tj.factor(D, E)
        return tj.solve(D, E, b), f.quadratic(b), f.log_determinant()

    D, E, b = problem(3, 2)
    check_grads(of_symmetric(all_of_them), (D, E, b), order=2, modes=("rev",), atol=1e-6, rtol=1e-6, eps=1e-5)
    check_grads(of_symmetric(tj.selected_inverse), (D, E), order=2, atol=1e-6, rtol=1e-6, eps=1e-5)


def test_finite_differences_of_each_entry():
    """With triangle="lower" the gradient of D's entries, one by one: above the diagonal it is 0, below it the sum of both entries of A."""
    D, E, b = (np.asarray(array) for array in problem(3, 2))
    f = jax.jit(lambda D: scalar(tj.likelihood(D, E, b, triangle="lower")))
    gradient = np.asarray(jax.grad(f)(D))
    for at in np.ndindex(D.shape):
        step = np.zeros_like(D)
        step[at] = 1e-5
        np.testing.assert_allclose(gradient[at], (f(D + step) - f(D - step)) / 2e-5, rtol=1e-6, atol=1e-8)
    assert np.all(np.triu(gradient, 1) == 0)
    both = np.asarray(jax.grad(lambda D: scalar(tj.likelihood(D, E, b)))(D))
    np.testing.assert_allclose(np.tril(both + both.swapaxes(1, 2)) - both * np.eye(3), gradient, rtol=1e-9)
    with pytest.raises(trifold.SpecError, match="triangle = 'upper'"):
        tj.solve(D, E, b, triangle="upper")


def test_a_traced_array_in_trifold_solve():
    with pytest.raises(trifold.SpecError, match="D is traced by JAX.*use trifold.jax"):
        jax.jit(trifold.solve)(*problem(3, 2))


def test_lower_triangles():
    D, E, b = problem(3, 2)
    for function in (tj.solve, tj.quadratic):
        check_grads(jax.jit(functools.partial(function, triangle="lower")), (D, E, b), order=1, atol=1e-6, rtol=1e-6, eps=1e-5)
    for function in (tj.log_determinant, tj.selected_inverse, lambda *a, **k: tj.factor(*a, **k).log_determinant()):
        check_grads(jax.jit(functools.partial(function, triangle="lower")), (D, E), order=1, atol=1e-6, rtol=1e-6, eps=1e-5)


def test_gradients_of_ported_code():
    """One block: what jax.numpy.linalg gives for a symmetric matrix."""
    D, E, _ = problem(4, 1)
    mine = jax.grad(lambda D: tj.log_determinant(D, E))(D)
    close(mine, jax.grad(lambda D: 2 * jnp.sum(jnp.log(jnp.diag(jnp.linalg.cholesky(D[0])))))(D))
    mine = jax.grad(lambda D: jnp.sum(tj.selected_inverse(D, E)[0] ** 2))(D)
    close(mine, jax.grad(lambda D: jnp.sum(jnp.linalg.inv(D[0]) ** 2))(D))


def dense_blocks(D, E):
    """The selected inverse by dense algebra, of one member."""
    horizon, n, _ = D.shape
    inverse = jnp.linalg.inv(assemble(D, E)).reshape(horizon, n, horizon, n)
    return jnp.stack([inverse[i, :, i] for i in range(horizon)]), jnp.stack([inverse[i + 1, :, i] for i in range(horizon - 1)])


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-5)])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_derivatives_of_the_selected_inverse(dtype, tolerance, scale):
    """Derivatives are as accurate as the inverse itself, whatever the scale of A is."""
    D, E, _ = problem(4, 6)
    D, E = (scale * D).astype(dtype), (scale * E).astype(dtype)

    def gradient(inverse):
        return jax.jit(jax.grad(lambda D, E: sum(jnp.sum(jnp.sin(scale * part)) for part in inverse(D, E)), (0, 1)))

    for mine, other in zip(gradient(tj.selected_inverse)(D, E), gradient(dense_blocks)(D.astype(np.float64), E.astype(np.float64))):
        assert jnp.max(abs(mine - other)) < tolerance * jnp.max(abs(other))


def test_higher_derivatives_of_the_log_determinant():
    D, E, _ = problem(2, 2)
    for order in (jax.hessian, lambda f, at: jax.jacrev(jax.hessian(f, at), at)):
        mine = jax.jit(order(tj.log_determinant, (0, 1)))(D, E)
        close(mine, jax.jit(order(lambda D, E: jnp.linalg.slogdet(assemble(D, E))[1], (0, 1)))(D, E))


def test_the_selected_inverse_under_vmap_and_of_no_change():
    D, E, _ = problem(3, 4, 5)
    gradient = jax.grad(lambda D, E: sum(jnp.sum(part**2) for part in tj.selected_inverse(D, E)), (0, 1))
    close(jax.jit(jax.vmap(gradient))(D, E), jax.jit(gradient)(D, E))
    nothing = jax.jvp(tj.selected_inverse, (D, E), (0 * D, 0 * E))[1]
    assert not nothing[0].any() and not nothing[1].any()


@pytest.mark.parametrize(("batch", "columns"), [(None, None), (2, 3)])
def test_forward_and_backward(batch, columns):
    D, E, b = problem(3, 7, batch, columns)
    f = tj.factor(D, E)
    y = f.forward(b)
    close(f.backward(y), f.solve(b))
    close(jnp.sum(y**2, (-3, -2) if columns else (-2, -1)), f.quadratic(b))
    check_grads(f.forward, (b,), order=1)
    check_grads(jax.jit(f.backward), (b,), order=1)
    if columns:
        close(jax.vmap(lambda D, E, b: tj.factor(D, E).backward(b))(D, E, b), f.backward(b))
        close(jax.vmap(f.forward, -1, -1)(b), y)


@pytest.mark.parametrize("batch", [None, 2])
def test_moments_of_draws(batch):
    D, E, mean = problem(2, 3, batch)
    key = jax.random.key(1)
    draws = jax.jit(lambda D, E, key, mean: tj.factor(D, E).sample(key, mean, 40000))(D, E, key, mean)
    assert draws.shape == (*mean.shape, 40000)
    inverse = np.linalg.inv(dense(*map(np.asarray, (D, E)))).reshape(-1, 6, 6)
    scale = np.max(inverse)
    flat = np.asarray(draws).reshape(-1, 6, 40000)
    assert np.max(abs(flat.mean(-1) - np.asarray(mean).reshape(-1, 6))) < 0.03 * np.sqrt(scale)
    for one, expected in zip(flat, inverse):
        assert np.max(abs(np.cov(one) - expected)) < 0.03 * scale
    assert tj.factor(D, E).sample(key).shape == mean.shape
    keys = jax.random.split(key, 4)
    close(jax.vmap(tj.factor(D, E).sample)(keys)[2], tj.factor(D, E).sample(keys[2]))


def test_draws_have_gradients_of_the_mean_alone():
    D, E, mean = problem(3, 7)
    key = jax.random.key(0)
    close(jax.grad(lambda mean: jnp.sum(tj.factor(D, E).sample(key, mean)))(mean), np.ones((7, 3)))
    with pytest.raises(trifold.SpecError, match="no derivative with respect to D and E"):
        jax.grad(lambda D: jnp.sum(tj.factor(D, E).sample(key)))(D)
    with pytest.raises(trifold.SpecError, match="mean has shape"):
        tj.factor(D, E).sample(key, mean[:2])


@pytest.mark.parametrize("columns", [None, 3])
@pytest.mark.parametrize("batch", [None, 2])
def test_a_factor(batch, columns):
    D, E, b = problem(3, 7, batch, columns)
    expected = solution(*map(np.asarray, (D, E, b)))
    f = jax.jit(tj.factor)(D, E)
    close(f.solve(b), expected)
    close(jax.jit(lambda f, b: f.solve(b))(f, b), expected)
    close(f.log_determinant(), np.linalg.slogdet(dense(*map(np.asarray, (D, E))))[1])
    axes = (1, 2) if batch else (0, 1)
    close(f.quadratic(b), np.sum(np.asarray(b) * expected, axes))
    close(tj.quadratic(D, E, b), np.sum(np.asarray(b) * expected, axes))
    diagonal, lower = f.selected_inverse()
    members = zip(D, E, diagonal, lower) if batch else [(D, E, diagonal, lower)]
    for d, e, mine, below in members:
        close((mine, below), blocks_of_inverse(np.asarray(d), np.asarray(e)))


def test_gradients_through_a_factor():
    def mine(D, E, b):
        f = tj.factor(D, E)
        x = f.solve(b)
        return scalar((x, f.log_determinant(), f.quadratic(b))) + jnp.sum(f.solve(x) * b)

    def other(D, E, b):
        terms = dense_terms(D, E, b)
        return scalar(terms) + jnp.sum(dense_terms(D, E, terms[0])[0] * b)

    arguments = problem(3, 7)
    close(jax.jit(jax.grad(mine, (0, 1, 2)))(*arguments), jax.jit(jax.grad(other, (0, 1, 2)))(*arguments), GRADIENTS)


def test_hessian():
    D, E, b = problem(3, 2)

    def second(terms):
        def of_all(theta):
            return scalar(terms(D + theta[0] * jnp.eye(3), E * theta[1], b * theta[2] + theta[0]))

        def of_x(theta):
            return terms(D + theta[0] * jnp.eye(3), theta[1] * E, b)[0]

        theta = jnp.array([0.5, 0.8, 1.3])
        return jax.jit(lambda theta: (jax.hessian(of_all)(theta), jax.hessian(of_x)(theta)))(theta)

    close(second(tj.likelihood), second(dense_terms), GRADIENTS)


def test_jacobians():
    D, E, b = problem(3, 2)
    inverse = np.linalg.inv(dense(*map(np.asarray, (D, E))))
    for jacobian in (jax.jacfwd, jax.jacrev):
        close(jax.jit(jacobian(tj.solve, 2))(D, E, b).reshape(6, 6), inverse)


def calls(function, *arguments):
    """How often XLA calls us, by name, and the shapes of D and b there."""
    text = jax.jit(function).lower(*arguments).as_text()
    return [line.split("@trifold_")[1].split("(")[0] for line in text.splitlines() if "@trifold_" in line]


def test_vmap_is_one_launch():
    D, E, b = problem(3, 7, 6, 2)
    expected = solution(*map(np.asarray, (D, E, b)))
    one = jax.vmap(tj.solve)
    close(one(D, E, b), expected)
    assert calls(one, D, E, b) == ["factor_solve"]
    nested = jax.vmap(jax.vmap(one))
    deep = [array.reshape(3, 1, 2, *array.shape[1:]) for array in (D, E, b)]
    close(nested(*deep).reshape(b.shape), expected)
    assert calls(nested, *deep) == ["factor_solve"]
    within = [array.reshape(3, 2, *array.shape[1:]) for array in (D, E, b)]
    close(jax.vmap(tj.solve)(*within).reshape(b.shape), expected)
    close(
        jax.vmap(tj.solve, (1, 2, -1), 1)(jnp.moveaxis(D, 0, 1), jnp.moveaxis(E, 0, 2), jnp.moveaxis(b, 0, -1)),
        jnp.moveaxis(expected, 0, 1),
    )


def test_vmap_of_b_is_one_factor():
    D, E, b = problem(3, 7, None, 5)
    expected = solution(*map(np.asarray, (D, E, b)))
    mapped = jax.vmap(tj.solve, (None, None, 2), 2)
    close(mapped(D, E, b), expected)
    text = jax.jit(mapped).lower(D, E, b).as_text()
    assert text.count("@trifold_") == 1 and "tensor<1x7x3x3xf64>" in text and "tensor<1x7x3x5xf64>" in text
    f = tj.factor(D, E, rhs=5)
    close(jax.vmap(f.solve, 2, 2)(b), expected)
    gradient = jax.grad(lambda D: jnp.sum(jnp.sin(mapped(D, E, b))))(D)
    close(gradient, jax.jit(jax.grad(lambda D: jnp.sum(jnp.sin(dense_terms(D, E, b)[0]))))(D), GRADIENTS)


@pytest.mark.parametrize("mapped", [(0, None, None), (None, 0, None), (0, None, 0), (None, 0, 0), (0, 0, 0)])
def test_vmap_and_gradients(mapped):
    D, E, b = problem(3, 3, 4)
    arguments = [array if axis == 0 else array[0] for array, axis in zip((D, E, b), mapped)]
    mine = jax.vmap(jax.grad(lambda *a: scalar(tj.likelihood(*a)), (0, 1, 2)), mapped)
    other = jax.vmap(jax.grad(lambda *a: scalar(dense_terms(*a)), (0, 1, 2)), mapped)
    close(jax.jit(mine)(*arguments), jax.jit(other)(*arguments), GRADIENTS)


def test_a_batch_of_factors():
    D, E, b = problem(3, 7, 4)
    fs = jax.vmap(tj.factor)(D, E)
    close(jax.vmap(lambda f, b: f.solve(b))(fs, b), solution(*map(np.asarray, (D, E, b))))
    with pytest.raises(trifold.SpecError, match="cannot be divided"):
        jax.tree.map(lambda leaf: leaf[0], fs).solve(b[0])


def test_the_gradient_takes_one_factor_and_one_solution():
    D, E, b = problem(3, 7)
    assert calls(jax.grad(lambda *a: jnp.sum(jnp.sin(tj.solve(*a))), (0, 1, 2)), D, E, b) == ["factor_solve", "solve"]
    assert calls(jax.grad(lambda D: tj.log_determinant(D, E)), D) == ["factor", "selected_inverse"]

    def likelihood(D, E, b):
        terms = tj.likelihood(D, E, b)
        return terms.quadratic - terms.log_determinant

    compiled = jax.jit(jax.value_and_grad(likelihood, (0, 1, 2))).lower(D, E, b).compile().as_text()
    used = [name for name in ("factor", "factor_solve", "solve", "log_determinant", "selected_inverse") if f'"trifold_{name}"' in compiled]
    assert used == ["factor_solve", "log_determinant", "selected_inverse"]


def test_single_precision():
    D, E, b = problem(8, 7, 2, dtype=np.float32)
    terms = tj.likelihood(D, E, b)
    assert terms.x.dtype == np.float32 and terms.log_determinant.dtype == np.float64 and terms.quadratic.dtype == np.float64
    np.testing.assert_allclose(terms.x, solution(*map(np.asarray, (D, E, b))), rtol=1e-3, atol=1e-4)
    gradient = jax.jit(jax.grad(lambda *a: scalar(tj.likelihood(*a)), (0, 1, 2)))
    gradients = gradient(D, E, b)
    doubles = gradient(*(array.astype(np.float64) for array in (D, E, b)))
    close(gradients, doubles, dict(rtol=1e-3, atol=1e-3))


def test_control_flow_and_remat():
    D, E, b = problem(3, 7)

    def steps(D, solve, b):
        return jnp.sum(jax.lax.scan(lambda x, _: (solve(D, E, x), None), b, None, length=3)[0])

    gradient = jax.jit(jax.grad(steps), static_argnums=1)
    expected = gradient(D, lambda *a: dense_terms(*a)[0], b)
    close(gradient(D, tj.solve, b), expected, GRADIENTS)
    close(gradient(D, jax.checkpoint(tj.solve), b), expected, GRADIENTS)


def test_members_that_fail():
    D, E, b = problem(3, 7, 3)
    bad = D.at[1, 4].multiply(-1)
    terms = jax.jit(tj.likelihood)(bad, E, b)
    for result in (terms.x, terms.log_determinant, terms.quadratic):
        assert np.isnan(result[1]).all() and not np.isnan(result[jnp.array([0, 2])]).any()
    close(terms.x[0], tj.solve(D, E, b)[0])


def test_calls_at_the_same_time():
    """XLA runs what does not depend on each other in any order, and one value may have many readers."""
    D, E, b = problem(8, 32, 4)
    f = tj.factor(D, E)

    @jax.jit
    def many(f, b):
        return [f.solve(b * k) for k in range(1, 9)], f.selected_inverse(), f.log_determinant()

    solutions, (diagonal, _), _ = many(f, b)
    for k, x in enumerate(solutions, 1):
        close(x, k * solution(*map(np.asarray, (D, E, b))))
    close(diagonal, many(f, b)[1][0])


def test_bad_input():
    D, E, b = problem(3, 7, 2)
    for arguments, text in (
        ((D[..., :2], E, b), "D has shape"),
        ((D, E[:, :-1], b), "E has shape"),
        ((D, None, b), "E is None"),
        ((D, E, b[:, :-1]), "b has shape"),
        ((D, E, b[0, :-1]), "b has shape"),
        ((D, E[0, :-1], b), "E has shape"),
        ((D[:0], E[:0], b[:0]), "D has shape"),
        ((D.astype(int), E, b), "D is int"),
        ((D, E.astype(np.float32), b), "E is float32"),
        ((D, E, b.astype(np.float32)), "b is float32"),
    ):
        for function in (tj.solve, jax.jit(tj.solve)):
            with pytest.raises(trifold.SpecError, match=text):
                function(*arguments)
    one = problem(3, 1)
    close(tj.solve(one[0], None, one[2]), solution(*map(np.asarray, one)))


def in_a_process(code, **environment):
    here = Path(__file__).parent
    folder = str(Path(trifold.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, str(here)]), **environment}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_shard_map():
    in_a_process(
        """
import numpy as np, jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
import trifold.jax as tj
from problems import make, rhs, solution
from jax.sharding import PartitionSpec as P
shard_map = getattr(jax, "shard_map", None)
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("batch",))
assert len(jax.devices()) == 2
D, E = make(3, 7, 6)
b = rhs(3, 7, 6)
solve = jax.jit(shard_map(tj.solve, mesh=mesh, in_specs=P("batch"), out_specs=P("batch")))
x = solve(D, E, b)
assert len(x.sharding.device_set) == 2
np.testing.assert_allclose(x, solution(D, E, b), rtol=1e-9, atol=1e-11)
text = solve.lower(D, E, b).compile().as_text()
assert "f64[3,7,3,3]" in text and "all-gather" not in text

def loss(solve):
    return lambda *a: jnp.sum(jnp.sin(solve(*a)))

mine = jax.jit(jax.grad(loss(solve), (0, 1, 2)))(D, E, b)
for one, other in zip(mine, jax.grad(loss(tj.solve), (0, 1, 2))(D, E, b)):
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)

# One matrix for all, whose gradient is the sum over the devices.
def alone(D, E, b):
    return jax.vmap(tj.solve, (None, None, 0))(D, E, b)
shared = shard_map(alone, mesh=mesh, in_specs=(P(), P(), P("batch")), out_specs=P("batch"))
mine = jax.jit(jax.grad(loss(shared), (0, 1, 2)))(D[0], E[0], b)
for one, other in zip(mine, jax.grad(loss(alone), (0, 1, 2))(D[0], E[0], b)):
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
""",
        JAX_PLATFORMS="cpu",
        XLA_FLAGS="--xla_force_host_platform_device_count=2",
    )


@pytest.mark.parametrize("family", ["grid", "sparse"])
def test_shard_map_of_other_families(family):
    """Right-hand sides are shared out; the gradient of the one matrix is the sum over the devices."""
    pytest.importorskip("scipy")
    in_a_process(
        f"""
import numpy as np, jax, jax.numpy as jnp, scipy.sparse as sp
jax.config.update("jax_enable_x64", True)
import trifold.jax.grid, trifold.jax.sparse
import grids
from jax.experimental.sparse import BCSR
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("i",))
A = sp.diags_array([-1.0, 3.0, -0.7], offsets=[-1, 0, 1], shape=(30, 30)).tocsr()
if {family!r} == "grid":
    values, solve = jnp.asarray(grids.make(5, 6)), lambda v, c: trifold.jax.grid.solve(v, c.reshape(5, 6)).ravel()
    dense = grids.dense(np.asarray(values))
else:
    S = trifold.jax.sparse.Solver(BCSR.from_scipy_sparse(A))
    values, solve, dense = jnp.asarray(A.data), lambda v, c: S.solve(v, c, rtol=1e-13), A.toarray()
b = np.random.default_rng(0).standard_normal((4, 30))
many = jax.vmap(solve, (None, 0))
shared = jax.shard_map(many, mesh=mesh, in_specs=(P(), P("i")), out_specs=P("i"))
np.testing.assert_allclose(jax.jit(shared)(values, b), np.linalg.solve(dense, b.T).T, rtol=1e-9)
mine, theirs = (jax.jit(jax.grad(lambda v, c, f=f: (f(v, c) ** 3).sum(), (0, 1)))(values, b) for f in (shared, many))
for one, other in zip(mine, theirs):
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
""",
        JAX_PLATFORMS="cpu",
        XLA_FLAGS="--xla_force_host_platform_device_count=2",
    )


def test_without_double_precision():
    in_a_process(
        """
import numpy as np, jax
import trifold.jax as tj
from problems import dense, make, rhs, solution
D, E = make(3, 7, 2, np.float32)
b = rhs(3, 7, 2, dtype=np.float32)
terms = jax.jit(tj.likelihood)(D, E, b)
assert all(term.dtype == np.float32 for term in terms)
np.testing.assert_allclose(terms.x, solution(D, E, b), rtol=1e-3, atol=1e-5)
np.testing.assert_allclose(terms.log_determinant, np.linalg.slogdet(dense(D, E))[1], rtol=1e-5)
gradient = jax.jit(jax.grad(lambda D: tj.likelihood(D, E, b).log_determinant.sum()))(D)
assert gradient.dtype == np.float32 and np.isfinite(gradient).all()
"""
    )


def test_lineax():
    lineax = pytest.importorskip("lineax")
    import trifold.lineax as tl

    D, E, b = problem(3, 7)
    operator = tl.BlockTridiagonal(D, E)
    close(operator.as_matrix(), dense(*map(np.asarray, (D, E))))

    def solve(D, E, b):
        return lineax.linear_solve(tl.BlockTridiagonal(D, E), b, tl.Solver()).value

    close(jax.jit(solve)(D, E, b), solution(*map(np.asarray, (D, E, b))))
    check_grads(of_symmetric(jax.jit(solve)), (D, E, b), order=1, atol=1e-6, rtol=1e-6, eps=1e-5)
    batch = problem(3, 7, 3)
    close(jax.vmap(solve)(*batch), solution(*map(np.asarray, batch)))
    assert calls(jax.vmap(solve), *batch) == ["factor", "solve"]
    with pytest.raises(trifold.SpecError, match="BlockTridiagonal"):
        lineax.linear_solve(lineax.MatrixLinearOperator(jnp.eye(3)), jnp.ones(3), tl.Solver())


def test_arrays_that_jax_does_not_read():
    """What is masked is no data, what has DLPack alone is read, and whatever is none is named."""
    D, E, b = map(np.asarray, problem(3, 7))

    class Exchanged:
        def __dlpack__(self, **options):
            return b.__dlpack__(**options)

        def __dlpack_device__(self):
            return b.__dlpack_device__()

    b = np.array(b)
    close(tj.solve(D, E, Exchanged()), solution(D, E, b))
    close(tj.solve(D, E, np.ma.array(b)), solution(D, E, b))
    for wrong, message in (
        (np.ma.array(b, mask=b > 0), "b has masked entries"),
        (object(), "b is a object"),
        ([[1.0], [1.0, 2.0]], "b is a list"),
    ):
        with pytest.raises(trifold.SpecError, match=message):
            tj.solve(D, E, wrong)
    for rhs_at_once in (None, "x", 1.5, 0, np.ones(3)):
        with pytest.raises(trifold.SpecError, match="rhs = "):
            tj.factor(D, E, rhs=rhs_at_once)


def test_nearly_singular_members(on_cpu):
    """A compiled function cannot raise, so their results and gradients are NaN, unless they are accepted. A GPU leaves what it computed."""
    D, E = singular(3)
    D[[0, 2]] *= 2
    b = jnp.ones((3, 3, 1))

    def results(D, E, b, **accepted):
        f = tj.factor(D, E, **accepted)
        return [*tj.likelihood(D, E, b, **accepted), f.solve(b), f.log_determinant(), f.quadratic(b), *f.selected_inverse()]

    for accept in (False, True):
        accepted = {"accept_nearly_singular": accept}
        gradient = jax.jit(jax.grad(lambda D: sum(map(jnp.sum, tj.likelihood(D, E, b, **accepted)))))(D)
        mapped = jax.vmap(functools.partial(tj.solve, **accepted))(D, E, b)
        for result in (*jax.jit(functools.partial(results, **accepted))(D, E, b), mapped, gradient):
            assert np.isnan(result[1]).all() != accept and np.isfinite(result[jnp.array([0, 2])]).all()
        alone = tj.quadratic(D, E, b, **accepted), tj.log_determinant(D, E, **accepted), *tj.selected_inverse(D, E, **accepted)
        assert all(np.isnan(result[1]).all() != accept for result in alone)
    narrow = [array.astype(np.float32) for array in (D, E, b)]
    assert np.isnan(tj.solve(*narrow)[1]).all() and np.isfinite(tj.solve(*narrow, accept_nearly_singular=True)).all()
    with pytest.raises(trifold.SpecError, match="accept_nearly_singular"):
        tj.solve(D, E, b, accept_nearly_singular="yes")
