"""Linear quadratic control against a dense solution of the conditions of a minimum, and against a Riccati recursion."""

import numpy as np
import pytest
import trifold
from faces import Jax, Numpy, Torch, close, stepped
from trifold import models

STAGES = {"A": "nn", "B": "nm", "Q": "nn", "R": "mm", "q": "n", "r": "m", "c": "n"}
ENDS = {"Qf": "nn", "x0": "n", "qf": "n"}


def problem(n, m, N, by_stage=(), batched=(), batch=3, seed=0):
    """Costs on one output of the states alone, so that Q is singular; and dynamics that are nearly unstable."""
    random = np.random.default_rng(seed + 1000 * n + 10 * N + m)
    found = {}
    for name, letters in {**STAGES, **ENDS}.items():
        times = (N if name in by_stage else 1,) if name in by_stage or (name in STAGES and name in batched) else ()
        size = (*([batch] if name in batched else []), *times, *({"n": n, "m": m}[letter] for letter in letters))
        one = random.standard_normal(size)
        if name == "A":
            one = one / np.sqrt(n)
        if name in ("Q", "Qf"):
            one = one[..., :1, :].swapaxes(-1, -2) @ one[..., :1, :]
        if name == "R":
            one = one @ one.swapaxes(-1, -2) / m + np.eye(m)
        found[name] = one
    return found


def staged(p, N):
    """One member with all matrices for each stage."""
    return {k: np.tile(v, (N, *[1] * len(STAGES[k]))) if k in STAGES and v.ndim == len(STAGES[k]) else v for k, v in p.items()}


def dense(p, N):
    """x, u, multipliers and value of one member, from one system of all unknowns."""
    A, B, Q, R, q, r, c, Qf, x0, qf = (staged(p, N)[k] for k in (*STAGES, *ENDS))
    n, m = B.shape[1:]
    H, C = np.zeros((N * (n + m),) * 2), np.zeros((N * n, N * (n + m)))
    h, d = np.zeros(N * (n + m)), c.reshape(-1).copy()
    d[:n] += A[0] @ x0
    for t in range(N):  # x(t + 1) and u(t)
        x, u, row = slice(t * n, t * n + n), slice(N * n + t * m, N * n + t * m + m), slice(t * n, t * n + n)
        H[x, x], h[x] = (Q[t + 1], q[t + 1]) if t + 1 < N else (Qf, qf)
        H[u, u], h[u] = R[t], r[t]
        C[row, x], C[row, u] = -np.eye(n), B[t]
        if t > 0:
            C[row, (t - 1) * n : t * n] = A[t]
    all_of_them = np.linalg.solve(np.block([[H, C.T], [C, np.zeros((N * n,) * 2)]]), np.concatenate([-h, -d]))
    z = all_of_them[: N * (n + m)]
    value = z @ H @ z / 2 + h @ z + x0 @ Q[0] @ x0 / 2 + q[0] @ x0
    x = np.concatenate([x0, z[: N * n]]).reshape(N + 1, n)
    return x, z[N * n :].reshape(N, m), all_of_them[N * (n + m) :].reshape(N, n), value


def riccati(p, N):
    """x and u of one member, by feedback."""
    A, B, Q, R, q, r, c, V, x0, v = (staged(p, N)[k] for k in (*STAGES, *ENDS))
    gains = []
    for t in reversed(range(N)):
        ahead = v + V @ c[t]
        gains.append(-np.linalg.solve(R[t] + B[t].T @ V @ B[t], np.c_[B[t].T @ V @ A[t], r[t] + B[t].T @ ahead]))
        K, k = gains[-1][:, :-1], gains[-1][:, -1]
        V, v = Q[t] + A[t].T @ V @ (A[t] + B[t] @ K), q[t] + A[t].T @ (ahead + V @ B[t] @ k)
    x, u = [x0], []
    for t, gain in enumerate(reversed(gains)):
        u.append(gain @ np.r_[x[-1], 1])
        x.append(A[t] @ x[-1] + B[t] @ u[-1] + c[t])
    return np.array(x), np.array(u)


def member(p, i, batched):
    found = {k: v[i] if k in batched else v for k, v in p.items()}
    return {k: v[0] if k in batched and k in STAGES and len(v) == 1 else v for k, v in found.items()}


def compare(found, expected, p=None, tolerance=1e-9):
    """p: the problem, where there are multipliers: rounding of the dynamics' residuals counts in them, times the weight of these."""
    for mine, theirs in zip([found[k] for k in range(len(expected)) if k != 2], [one for k, one in enumerate(expected) if k != 2]):
        close(mine, theirs, tolerance)
    if p is not None:
        most = max(np.abs(p[name]).max() for name in ("Q", "Qf", "R")) * np.abs(expected[0]).max()
        assert np.abs(np.asarray(found[2]) - expected[2]).max() <= 16 * np.finfo(found[2].dtype).eps ** 0.6 * most


@pytest.mark.parametrize("by_stage", [(), tuple(STAGES)])
@pytest.mark.parametrize("N", [1, 7, 33])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (7, 1), (1, 7), (7, 7), (33, 7), (7, 33), (33, 33)])
def test_minimum(n, m, N, by_stage):
    p = problem(n, m, N, by_stage)
    found = models.lqr(**p, horizon=None if by_stage else N)
    compare(found, dense(p, N), p)
    compare(found[:2], riccati(p, N))


@pytest.mark.parametrize("batched", [("x0",), ("A", "x0", "Qf", "q"), ("R", "B", "r", "c"), ("Q", "qf"), tuple(STAGES) + tuple(ENDS)])
@pytest.mark.parametrize("by_stage", [(), tuple(STAGES), ("B", "q")])
def test_batch(batched, by_stage):
    p = problem(3, 2, 7, by_stage, batched)
    expected = [dense(member(p, i, batched), 7) for i in range(3)]
    compare(models.lqr(**p, horizon=7), [np.array(part) for part in zip(*expected)], p)


def test_a_shared_model_is_factored_once(monkeypatch):
    shapes, factor = [], trifold.factor
    monkeypatch.setattr("trifold.lqr.factor", lambda D, E, **options: shapes.append(D.shape) or factor(D, E, **options))
    models.lqr(**problem(3, 2, 7, batched=("x0", "c")), horizon=7)
    assert shapes == [(7, 5, 5)]


@pytest.mark.parametrize("cost", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize("step", [0.01, 1.0])
def test_positions_alone_have_costs(step, cost):
    p = {"A": np.array([[1, step], [0, 1]]), "B": np.array([[step**2 / 2], [step]]), "R": np.array([[cost]])}
    p |= {"Q": np.diag([1.0, 0]), "Qf": np.diag([1.0, 0]), "x0": np.array([1.0, -2]), "q": np.ones(2) / 9, "c": np.ones(2) / 9}
    p |= {"r": np.ones(1), "qf": np.zeros(2)}
    compare(models.lqr(**p, horizon=300)[:2], riccati(p, 300), tolerance=1e-8)


def test_inputs_without_a_cost_and_indefinite_costs():
    """There is one minimum all the same."""
    p = problem(2, 2, 7)
    p["R"], p["Q"], p["Qf"] = np.zeros((2, 2)), np.eye(2), np.eye(2)
    compare(models.lqr(**p, horizon=7), dense(p, 7), p)
    p["R"], p["Q"] = 9 * np.eye(2), np.diag([1.0, -0.1])
    p["A"] = p["A"] / 2
    compare(models.lqr(**p, horizon=7), dense(p, 7), p)


def test_float32():
    p = {k: v.astype(np.float32) for k, v in problem(3, 2, 12).items()}
    found = models.lqr(**p, horizon=12)
    assert found.x.dtype == found.value.dtype == np.float32
    compare(found, dense({k: v.astype(np.float64) for k, v in p.items()}, 12), p, 1e-4)


@pytest.mark.parametrize("face", [Torch, Jax])
@pytest.mark.parametrize("batched", [(), ("x0", "Q")])
def test_gradients(face, batched):
    """Against differences of the dense solution."""
    N, face = 7, face()
    p = problem(3, 2, N, ("A", "q"), batched)
    for name in ("Q", "Qf"):
        p[name] = p[name] + p[name].swapaxes(-1, -2)
    members = [dense(member(p, i, batched), N) for i in range(3)] if batched else [dense(p, N)]
    expected = [np.array(part) if batched else part[0] for part in zip(*members)]
    random = np.random.default_rng(3)
    weights, changes = ([random.standard_normal(np.shape(one)) for one in many] for many in (expected, p.values()))

    def call(*arrays):
        return tuple(models.lqr(**dict(zip(p, arrays)), horizon=N))

    def oracle(*arrays):
        given = dict(zip(p, arrays))
        for name in ("Q", "R", "Qf"):
            given[name] = (given[name] + given[name].swapaxes(-1, -2)) / 2
        some = [dense(member(given, i, batched), N) for i in range(3)] if batched else [dense(given, N)]
        results = [np.array(part) if batched else part[0] for part in zip(*some)]
        return [sum(np.sum(weight * result) for weight, result in zip(weights, results))]

    values, gradients = face.values_and_gradients(call, list(p.values()), weights)
    compare(values, expected, p)
    slope = sum(np.sum(gradient * change) for gradient, change in zip(gradients, changes))
    close(slope, stepped(oracle, list(p.values()), changes)[0], 1e-6)


def test_second_derivatives_and_vmap():
    face = Jax()
    p = problem(2, 1, 5)
    names = ("A", "Q", "x0")

    def total(*arrays):
        return models.lqr(**{**p, **dict(zip(names, arrays))}, horizon=5).value

    arrays = [face.give(p[name]) for name in names]
    gradient = face.library.grad(total, (0, 1, 2))
    changes = [np.ones_like(p[name]) for name in names]
    close(face.along(lambda *a: (total(*a),), arrays, [1.0], changes)[0], stepped(lambda *a: gradient(*a), arrays, changes)[0], 1e-6)
    many = np.stack([p["x0"], 2 * p["x0"], -p["x0"]])
    mapped = face.library.jit(face.library.vmap(lambda x0: models.lqr(**{**p, "x0": x0}, horizon=5)))(many)
    compare(mapped, models.lqr(**{**p, "x0": many}, horizon=5), tolerance=1e-12)


@pytest.mark.parametrize("face", [Numpy, Torch, Jax])
def test_no_minimum(face):
    face = face()
    p = {name: face.give(array) for name, array in problem(3, 2, 7).items()}
    for change in ({"R": 0 * p["R"]}, {"R": -10 * p["R"]}):
        with pytest.raises(trifold.SpecError, match="not one minimum, or 6 sweeps do not reach it"):
            models.lqr(**{**p, **change}, horizon=7)


def test_no_minimum_in_compiled_code():
    face = Jax()
    p = problem(3, 2, 7)
    found = face.library.jit(lambda scale: models.lqr(**{**p, "R": scale[:, None, None, None] * p["R"]}, horizon=7))(np.array([1.0, -9]))
    assert all(np.isnan(part[1]).any() and np.isfinite(part[0]).all() for part in found)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"A": np.eye(4)}, r"A has shape \(4, 4\); give \(3, 3\), \(7, 3, 3\) or \(batch, 7, 3, 3\)"),
        ({"B": np.ones((8, 3, 2))}, r"B has shape \(8, 3, 2\); give \(3, 2\), \(7, 3, 2\)"),
        ({"B": np.ones(3)}, "there must be"),
        ({"R": np.eye(3)}, r"R has shape \(3, 3\); give \(2, 2\)"),
        ({"Qf": np.ones((7, 2, 3))}, r"Qf has shape .*; give \(3, 3\) or \(batch, 3, 3\)"),
        ({"q": np.ones(2)}, r"q has shape \(2,\); give \(3,\), \(7, 3\)"),
        ({"x0": 1.0}, "there must be"),
        ({"x0": np.zeros((2, 3)), "Qf": np.zeros((4, 3, 3))}, "batch axes of"),
        ({"A": np.full((3, 3), np.nan)}, "A has infinities or NaN"),
        ({"A": np.eye(3) * 1j}, "give real numbers"),
        ({"horizon": None}, "no argument says how many stages there are; give horizon"),
        ({"horizon": 0}, "horizon = 0 is out of range"),
        ({"sweeps": 1}, "sweeps = 1 is out of range; give 2 or more"),
    ],
)
def test_bad_input(change, text):
    with pytest.raises(trifold.SpecError, match=text):
        models.lqr(**{**problem(3, 2, 7), "horizon": 7, **change})
