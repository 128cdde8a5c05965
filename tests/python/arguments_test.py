"""Every public function, with arrays that say more than their real numbers: masks, imaginary parts, gradients, fields.

Such an array is taken rightly, or refused with SpecError. None of it is dropped.
"""

import functools
import importlib
import inspect

import grids
import numpy as np
import pytest
import trifold
from problems import make, rhs

sp = pytest.importorskip("scipy.sparse")

MODULES = ("trifold", *(f"trifold.{name}" for name in ("grid", "operators", "models", "sparse", "torch", "jax")))
MODULES += tuple(f"trifold.{face}.{family}" for face in ("torch", "jax") for family in ("grid", "sparse"))
PROCESSES = {"trifold.models.total", "trifold.models.oscillating"}  # whose arrays are those of matern()
NO_ARRAYS = {"trifold.info", "trifold.ranks", "trifold.torch.ranks", "trifold.sparse.ranks"}


def chain():
    D, E = make(3, 7)
    return {"D": D, "E": E, "b": rhs(3, 7)}


def image():
    return {"stencil": grids.make(5, 6), "b": grids.rhs(5, 6)}


def matrix(kind="csr"):
    return sp.diags_array([-1.0, 4.0, -0.5], offsets=[-1, 0, 3], shape=(12, 12)).asformat(kind)


def space():
    F, H, Q, R, P0 = 0.9 * np.eye(2), np.ones((1, 2)), np.eye(2), np.ones((1, 1)), np.eye(2)
    return {"F": F, "H": H, "Q": Q, "R": R, "P0": P0, "ys": np.ones((5, 1)), "m0": np.ones(2), "c": np.ones(2), "d": np.ones(1)}


def of_sparse(values):
    """A matrix whose data are these, as they are."""
    made = matrix()
    made.data = values
    return made


def some(names, arrays):
    return {name: arrays[name] for name in names}


def factor_of(arrays):
    return trifold.factor(arrays["D"], arrays["E"])


def calls():
    """Name, a function of arrays, and sound arrays for it."""
    D, E, b = chain().values()
    f, solver = trifold.factor(D, E), trifold.Plan(block=3, horizon=7, operations="all").solver()
    solver.factor(D, E)
    g = trifold.grid.factor(image()["stencil"])
    s, P = trifold.sparse.Solver(matrix()), trifold.sparse.ildu0(matrix())
    x, data = np.ones(12), matrix().data
    options = {**chain(), "shift": np.array(0.5), "diagonal": np.ones((7, 3))}
    for name in ("solve", "marginals"):
        yield f"trifold.{name}", getattr(trifold, name), chain()
    yield "trifold.solve", lambda D, E, b, diagonal: trifold.solve(D, E, b, diagonal=diagonal), some(("D", "E", "b", "diagonal"), options)
    yield "trifold.solve", lambda D, E, b, upper: trifold.solve(D, E, b, upper=upper), general()
    yield "trifold.matvec", lambda D, E, b, upper: trifold.matvec(D, E, b, upper=upper), general()
    yield "trifold.factor", trifold.factor, some(("D", "E"), chain())
    yield "trifold.matvec", trifold.matvec, {**some(("D", "E"), chain()), "x": b}
    yield "trifold.to_dense", trifold.to_dense, some(("D", "E"), chain())
    yield "trifold.shortened", lambda D, E, b: trifold.shortened(D, E, b, 5), chain()
    yield "trifold.folded", trifold.folded, {**chain(), "E": np.ones((7, 2, 3, 3))}
    yield "trifold.solveh_banded", trifold.solveh_banded, {"ab": np.array([[5.0] * 6, [1.0] * 6])[::-1], "b": np.ones(6)}
    yield "trifold.from_banded", lambda ab: trifold.from_banded(ab, 2), {"ab": np.ones((2, 8))}
    yield "trifold.from_sparse", lambda data: trifold.from_sparse(diagonal(data), 2), {"data": np.ones(8)}
    for name in ("structure_of", "factorized"):
        yield f"trifold.{name}", lambda data, name=name: getattr(trifold, name)(diagonal(data)), {"data": np.ones(8)}
    yield "trifold.solve_sparse", lambda data, b: trifold.solve_sparse(diagonal(data), b), {"data": np.ones(8), "b": np.ones(8)}
    for A in (grid_matrix(), matrix()):
        yield "trifold.solve_sparse", lambda b, A=A: trifold.solve_sparse(A, b), {"b": np.ones(A.shape[0])}
        yield "trifold.Factorized", trifold.factorized(A), {"b": np.ones(A.shape[0])}
    for name in ("solve", "forward", "backward", "quadratic"):
        yield "trifold.Factor", getattr(f, name), {"b": b}
    yield "trifold.Factor", lambda mean: f.sample(1, mean), {"mean": b}
    yield "trifold.Factor", f.reciprocal_condition, some(("D", "E"), chain())
    for name in ("solve", "forward", "backward", "forward_quadratic"):
        yield "trifold.Solver", getattr(solver, name), {"b": b}
    for name in ("factor_solve", "factor_forward", "marginals"):
        yield "trifold.Solver", getattr(solver, name), chain()
    yield "trifold.Solver", solver.factor, some(("D", "E"), chain())
    yield "trifold.Solver", lambda mean: solver.sample(1, mean), {"mean": b}
    yield "trifold.grid.solve", trifold.grid.solve, image()
    yield "trifold.grid.factor", trifold.grid.factor, some(("stencil",), image())
    for name in ("solve", "solve_transposed"):
        yield "trifold.grid.Factor", getattr(g, name), some(("b",), image())
    yield "trifold.grid.Factor", g.refine, {"b": image()["b"], "x": image()["b"]}
    yield "trifold.grid.Factor", g.gradients, {"x": image()["b"], "by_x": image()["b"]}
    yield "trifold.operators.chain", trifold.operators.chain, some(("D", "E"), chain())
    yield "trifold.operators.chain", lambda x: trifold.operators.chain(D, E) @ x, {"x": np.ones(21)}
    yield "trifold.operators.grid", trifold.operators.grid, some(("stencil",), image())
    yield "trifold.operators.grid", lambda x: trifold.operators.grid(image()["stencil"]) @ x, {"x": np.ones(30)}
    yield "trifold.operators.inverse", lambda x: trifold.operators.inverse(f) @ x, {"x": np.ones(21)}
    yield "trifold.models.kalman", trifold.models.kalman, space()
    for name in ("log_likelihood", "normal_equations", "filtered"):
        yield f"trifold.models.{name}", getattr(trifold.models, name), space()
    yield "trifold.models.forecast", functools.partial(trifold.models.forecast, steps=2), space()
    yield "trifold.models.regression", trifold.models.regression, {**space(), "X": np.arange(5.0)[:, None]}
    one = np.array(0.5)
    series = {"ar": ("coefficients", "variance"), "arma": ("ar", "ma", "variance"), "local_level": ("level", "noise")}
    series["local_linear_trend"] = ("level", "slope", "noise")
    for name, parameters in series.items():
        yield f"trifold.models.{name}", getattr(trifold.models, name), {parameter: one for parameter in parameters}
    yield "trifold.models.seasonal", functools.partial(trifold.models.seasonal, 4), {"variance": one, "noise": one}
    control = {"A": np.eye(2), "B": np.ones((2, 1)), "Q": np.eye(2), "R": np.eye(1), "Qf": np.eye(2), "x0": np.ones(2), "c": np.ones(2)}
    yield "trifold.models.lqr", functools.partial(trifold.models.lqr, horizon=4), control
    # Its draws have no gradients, as it says, and with a seed of NumPy's it refuses tensors.
    yield "trifold.models.sample", functools.partial(trifold.models.sample, generator=1), space()
    yield "trifold.models.precision", lambda F, Q, P0: trifold.models.precision(F, Q, P0, 4), some(("F", "Q", "P0"), space())
    times = {"length": np.array(2.0), "variance": np.array(1.5), "times": np.arange(5.0)}
    yield "trifold.models.matern", lambda length, variance, times: trifold.models.matern(1.5, length, variance, times), times
    yield "trifold.sparse.solve", lambda data, b, x0: trifold.sparse.solve(of_sparse(data), b, x0=x0), {"data": data, "b": x, "x0": x}
    yield "trifold.sparse.Solver", lambda data: trifold.sparse.Solver(of_sparse(data)), {"data": data}
    yield "trifold.sparse.ildu0", lambda data: trifold.sparse.ildu0(of_sparse(data)), {"data": data}
    yield "trifold.sparse.Solver", lambda partition: trifold.sparse.Solver(matrix(), partition=partition), {"partition": np.arange(12) // 6}
    for name in ("solve", "solve_transposed", "apply", "apply_transposed", "multiply", "multiply_transposed"):
        yield "trifold.sparse.Solver", getattr(s, name), {"b": x}
    for name in ("gradient", "gradient_values"):
        yield "trifold.sparse.Solver", getattr(s, name), {"x": x, "by_b": x}
    yield "trifold.sparse.Solver", s.update, {"data": data}
    yield "trifold.sparse.Preconditioner", P.update, {"data": data}
    for name in ("matvec", "rmatvec"):
        yield "trifold.sparse.Preconditioner", getattr(P, name), {"x": x}


def general():
    return {**chain(), "upper": chain()["E"]}


def diagonals():
    return {"dl": np.ones(7), "diagonal": np.full(7, 4.0), "du": np.ones(7), "b": np.ones((7, 2))}


def of_torch():
    torch, tt = pytest.importorskip("torch"), importlib.import_module("trifold.torch")
    D, E, b = (torch.from_numpy(array) for array in chain().values())
    f, g, S = (
        tt.factor(D, E),
        tt.grid.factor(torch.from_numpy(image()["stencil"])),
        tt.sparse.Solver(tensor(torch, torch.from_numpy(matrix().data))),
    )
    for name in ("solve", "likelihood", "marginals", "quadratic"):
        yield f"trifold.torch.{name}", getattr(tt, name), chain()
    for name in ("factor", "log_determinant"):
        yield f"trifold.torch.{name}", getattr(tt, name), some(("D", "E"), chain())
    for name in ("solve", "forward", "backward", "quadratic"):
        yield "trifold.torch.Factor", getattr(f, name), some(("b",), chain())
    yield "trifold.torch.solve", lambda D, E, b, upper: tt.solve(D, E, b, upper=upper), general()
    yield "trifold.torch.tridiagonal_solve", lambda dl, diagonal, du, b: tt.tridiagonal_solve(dl, diagonal, du, b), diagonals()
    yield "trifold.torch.Factor", lambda mean: f.sample(None, mean), {"mean": chain()["b"]}
    yield "trifold.torch.grid.solve", tt.grid.solve, image()
    yield "trifold.torch.grid.factor", lambda stencil: tt.grid.factor(stencil).stencil, some(("stencil",), image())
    for name in ("solve", "solve_transposed"):
        yield "trifold.torch.grid.Factor", getattr(g, name), some(("b",), image())
    both = {"values": matrix().data, "b": np.ones(12)}
    yield "trifold.torch.sparse.solve", lambda values, b: tt.sparse.solve(tensor(torch, values), b), both
    for name in ("solve", "solve_transposed"):
        yield "trifold.torch.sparse.Solver", getattr(S, name), both


def of_jax():
    jax, tj = pytest.importorskip("jax"), importlib.import_module("trifold.jax")
    js = importlib.import_module("jax.experimental.sparse")
    f, S = tj.factor(*make(3, 7)), tj.sparse.Solver(js.BCSR.from_scipy_sparse(matrix()))
    for name in ("solve", "likelihood", "marginals", "quadratic", "block_tridiagonal_normal"):
        yield f"trifold.jax.{name}", getattr(tj, name), chain()
    for name in ("factor", "log_determinant", "selected_inverse"):
        yield f"trifold.jax.{name}", getattr(tj, name), some(("D", "E"), chain())
    yield "trifold.jax.solve", lambda D, E, b, upper: tj.solve(D, E, b, upper=upper), general()
    yield "trifold.jax.tridiagonal_solve", lambda dl, diagonal, du, b: tj.tridiagonal_solve(dl, diagonal, du, b), diagonals()
    yield "trifold.jax.solve_rows", tj.solve_rows, {"S": np.concatenate([make(3, 7)[0]] * 3, -1), "b": chain()["b"]}
    for name in ("solve", "forward", "backward", "quadratic"):
        yield "trifold.jax.Factor", getattr(f, name), some(("b",), chain())
    yield "trifold.jax.Factor", lambda mean: f.sample(jax.random.key(0), mean), {"mean": chain()["b"]}
    yield "trifold.jax.grid.solve", tj.grid.solve, image()
    both = {"values": matrix().data, "b": np.ones(12)}
    yield "trifold.jax.sparse.solve", lambda b: tj.sparse.solve(js.BCSR.from_scipy_sparse(matrix()), b), {"b": np.ones(12)}
    yield "trifold.jax.sparse.Solver", S.solve, both


def diagonal(data):
    made = sp.csr_array(sp.eye_array(8))
    made.data = data
    return made


def grid_matrix():
    line = sp.diags_array([-1.2, 3.0, -1.0], offsets=[-1, 0, 1], shape=(20, 20))
    return sp.kronsum(line, line).tocsr()


def tensor(torch, values):
    A = matrix()
    if not isinstance(values, torch.Tensor):
        raise trifold.SpecError("torch itself takes no other values than tensors")
    return torch.sparse_csr_tensor(torch.from_numpy(A.indptr), torch.from_numpy(A.indices), values, A.shape)


SPOILED = {
    "mask": lambda array: np.ma.masked_array(array, mask=np.arange(array.size).reshape(array.shape) == array.size - 1),
    "imaginary part": lambda array: array + 1j,
    "gradient": lambda array: pytest.importorskip("torch").from_numpy(np.array(array, np.float64)).requires_grad_(),
    "fields": lambda array: np.zeros(array.shape, [("re", float), ("im", float)]),
}


def has_gradient(result):
    if isinstance(result, (tuple, list)):
        return any(map(has_gradient, result))
    return getattr(result, "requires_grad", False) is True


def run(call, arrays):
    """By position, but for what kalman() and its like take by name only."""
    more = {name: arrays[name] for name in ("m0", "c", "d") if name in arrays}
    return call(*(array for name, array in arrays.items() if name not in more), **more)


def is_right(kind, call, arrays, name, result):
    """Whether what was taken is what it should be."""
    if kind == "gradient":
        return has_gradient(result)
    if kind == "mask" and name == "ys":
        arrays = {**arrays, name: arrays[name].copy()}
        arrays[name].flat[-1] = np.nan
        expected = run(call, arrays)
        return np.array_equal(result[0] if isinstance(result, tuple) else result, expected[0] if isinstance(expected, tuple) else expected)
    if kind == "imaginary part" and name == "x":
        return np.allclose(result, call(arrays[name]) + 1j * call(np.ones_like(arrays[name])))
    return False


@pytest.mark.filterwarnings("error", "ignore:Sparse")
@pytest.mark.parametrize("kind", SPOILED)
@pytest.mark.parametrize("face", [calls, of_torch, of_jax])
def test_nothing_is_dropped(face, kind):
    torch = pytest.importorskip("torch") if face is of_torch else None
    dropped = []
    for where, call, arrays in face():
        for name, array in arrays.items():
            given = {other: torch.from_numpy(one) if torch else one for other, one in arrays.items()}
            given[name] = SPOILED[kind](array)
            if torch and kind == "imaginary part":
                given[name] = torch.from_numpy(given[name])
            try:
                result = run(call, given)
            except trifold.SpecError:
                continue
            except Exception as error:
                dropped.append((where, name, repr(error)[:150]))
                continue
            if not is_right(kind, call, arrays, name, result):
                dropped.append((where, name, str(result)[:80]))
    assert not dropped, "\n".join(map(str, dropped))


def public():
    for module in MODULES:
        try:
            found = importlib.import_module(module)
        except ImportError:
            continue
        for name in found.__all__:
            member = getattr(found, name)
            if callable(member) and not (inspect.isclass(member) and issubclass(member, (Exception, tuple))):
                yield f"{module}.{name}"


def test_every_function_is_walked():
    walked = {where for face in (calls, of_torch, of_jax) for where, *_ in face()}
    made = {"trifold.Plan", "trifold.LocalRanks", "trifold.RankSolver"}  # which take no arrays, or are tested with their ranks
    assert set(public()) - walked - NO_ARRAYS - PROCESSES - made == set()
