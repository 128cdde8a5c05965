"""trifold.jax on the CPU: all that chains.py asks of a library, and JAX's own: calls of XLA, transforms, shards."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trifold
from chains import Derivatives, by_library, everything, symmetric
from faces import Jax, all_close, stepped
from problems import dense, make, moments, rhs, singular, solution, weights_of

jax = pytest.importorskip("jax")
jnp = jax.numpy
jax.config.update("jax_enable_x64", True)
if not trifold.info()["jax"]:
    pytest.skip("built without the headers of XLA's FFI", allow_module_level=True)

import trifold.jax as tj  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

TIGHT = dict(rtol=1e-9, atol=1e-11)
GRADIENTS = dict(rtol=1e-6, atol=1e-6)


@pytest.fixture
def face():
    return Jax()


class TestJax(Derivatives):
    pass


@pytest.fixture
def on_cpu():
    with jax.default_device(jax.devices("cpu")[0]):
        yield


def problem(n, horizon, batch=None, columns=None, dtype=np.float64):
    D, E = make(n, horizon, batch, dtype)
    return jnp.asarray(D), jnp.asarray(E), jnp.asarray(rhs(n, horizon, batch, columns, dtype))


def dense_terms(D, E, b):
    return by_library(jnp, D, E, b)


def close(mine, oracle, tolerances=TIGHT):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, **tolerances), mine, oracle)


@pytest.mark.parametrize(("n", "horizon", "batch", "columns"), [(1, 1, None, None), (3, 7, 3, 2), (17, 2, None, 2)])
def test_tangents(n, horizon, batch, columns):
    """Derivatives forward, of values alone."""
    arrays = *make(n, horizon, batch), rhs(n, horizon, batch, columns)
    function, places = everything(tj)
    changes = symmetric(*weights_of(arrays))
    tangents = jax.jit(lambda arrays, changes: jax.jvp(function, arrays, changes)[1])(arrays, changes)
    expected = stepped(moments, arrays, changes)
    all_close(tangents, [expected[k] for k in places], 1e-7)


def test_a_traced_array_in_trifold_solve():
    with pytest.raises(trifold.SpecError, match="D is traced by JAX.*use trifold.jax"):
        jax.jit(trifold.solve)(*problem(3, 2))


def test_higher_derivatives_of_the_log_determinant():
    D, E, b = problem(2, 2)
    for order in (jax.hessian, lambda f, at: jax.jacrev(jax.hessian(f, at), at)):
        mine = jax.jit(order(tj.log_determinant, (0, 1)))(D, E)
        close(mine, jax.jit(order(lambda D, E: dense_terms(D, E, b)[1], (0, 1)))(D, E))


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


def test_vmap_of_one_block():
    D, E, b = problem(3, 1, 4)
    moments = jax.vmap(tj.marginals)(D, E, b)
    close(moments.diagonal[:, 0], np.linalg.inv(D[:, 0]))
    assert moments.lower.shape == (4, 0, 3, 3)


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


def test_control_flow_and_remat():
    D, E, b = problem(3, 7)

    def steps(D, solve, b):
        return jnp.sum(jax.lax.scan(lambda x, _: (solve(D, E, x), None), b, None, length=3)[0])

    gradient = jax.jit(jax.grad(steps), static_argnums=1)
    expected = gradient(D, lambda *a: dense_terms(*a)[0], b)
    close(gradient(D, tj.solve, b), expected, GRADIENTS)
    close(gradient(D, jax.checkpoint(tj.solve), b), expected, GRADIENTS)


def test_a_batch_of_factors_is_not_divided():
    D, E, b = problem(3, 7, 4)
    fs = jax.vmap(tj.factor)(D, E)
    with pytest.raises(trifold.SpecError, match="cannot be divided"):
        jax.tree.map(lambda leaf: leaf[0], fs).solve(b[0])


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
    halves = jax.jit(lambda D, E, b: solve((D + D.mT) / 2, E, b))
    check_grads(halves, (D, E, b), order=1, atol=1e-6, rtol=1e-6, eps=1e-5)
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


def test_symmetry_is_looked_at_where_that_is_asked_for(on_cpu):
    D, E, b = (np.stack([one, one]) for one in (*make(3, 7), rhs(3, 7)))
    expected = jax.jit(trifold.jax.solve)(D, E, b)
    D[1, 4, 0, 2] += 1e-20 + 1e-16 * D[1, 4, 0, 0]  # rounding
    np.testing.assert_array_equal(trifold.jax.solve(D, E, b, check_symmetry=True), expected)
    D[1, 4, 0, 2] += 1e-9 * D[1, 4, 0, 0]
    for call in (lambda: trifold.jax.solve(D, E, b, check_symmetry=True), lambda: trifold.jax.factor(D, E, check_symmetry=True)):
        with pytest.raises(trifold.SpecError, match="the triangles of D differ by more than rounding"):
            call()
    np.testing.assert_array_equal(trifold.jax.solve(D, E, b), expected)

    def total(D, b):
        x = trifold.jax.factor(D, E, check_symmetry=True).solve(b)
        return x.sum(), x

    (_, x), slope = jax.jit(jax.value_and_grad(total, has_aux=True))(D, b)
    for array in (x, slope):
        assert np.isfinite(array[0]).all() and np.isnan(array[1]).all()
    with pytest.raises(trifold.SpecError, match="check_symmetry = 2 is neither True nor False"):
        trifold.jax.solve(D, E, b, check_symmetry=2)
