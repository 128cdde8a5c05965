"""What help(), inspect.signature(), dir() and error texts say."""

import ast
import importlib
import importlib.metadata
import inspect
import os
import pickle
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trifold
from problems import make, rhs
from trifold.options import known

ROOT = Path(__file__).parents[2]


def test_signatures_are_those_of_the_stub():
    stub = ast.parse(Path(trifold.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))
    classes = {
        node.name: {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)} for node in stub.body if isinstance(node, ast.ClassDef)
    }
    for kind in (trifold.Plan, trifold.Solver, trifold.RankSolver):
        methods = [name for name, member in vars(kind).items() if not name.startswith("_") and callable(member)]
        assert len(methods) > 2
        for name in methods:
            found, wanted = inspect.signature(getattr(kind, name)), classes[kind.__name__][name].args
            options = known(getattr(sys.modules["trifold.factor"], wanted.kwarg.annotation.slice.id)) if wanted.kwarg else {}
            assert list(found.parameters) == [one.arg for one in wanted.args + wanted.kwonlyargs] + list(options)
            defaults = [ast.literal_eval(one) for one in [*wanted.defaults, *wanted.kw_defaults] if one is not None]
            defaults += [one.default for one in options.values()]
            assert [one.default for one in found.parameters.values() if one.default is not one.empty] == defaults
    made = inspect.signature(trifold.Plan)
    assert made.parameters["dtype"].default == "float64" and made.parameters["block"].annotation == "int"
    assert "self" not in made.parameters
    solver = trifold.Plan(block=2, horizon=3).solver()
    assert list(inspect.signature(solver.solve).parameters) == ["b", "out", "active", "check"]
    assert inspect.signature(trifold.solve).parameters["D"].annotation == "ArrayLike"


def defined(stub):
    """What a stub says of each function and class, by name."""
    found = {}
    for node in ast.walk(ast.parse(Path(stub).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            found[node.name] = inspect.cleandoc(ast.get_docstring(node) or "")
        for one in getattr(node, "body", []) if isinstance(node, (ast.ClassDef, ast.Module)) else []:
            if isinstance(one, ast.FunctionDef):
                text = inspect.cleandoc(ast.get_docstring(one) or "")
                found[getattr(node, "name", ""), one.name] = ast.unparse(one.args), ast.unparse(one.returns), text
    return found


def test_the_stub_is_what_nanobind_writes(tmp_path):
    pytest.importorskip("nanobind")
    subprocess.run([ROOT / "tools/stubs", tmp_path / "stub.pyi"], env={**os.environ, "PYTHON": sys.executable}, check=True)
    assert defined(tmp_path / "stub.pyi") == defined(Path(trifold.__file__).with_name("_core.pyi"))


def test_help_has_text():
    shown = {kind: pydoc.plain(pydoc.render_doc(kind)) for kind in (trifold.Plan, trifold.Solver, trifold.Factor)}
    assert "solver(self, /, value=None, *, members=0, batched=None)" in shown[trifold.Plan]
    assert "solve(self, /, b, out=None, *, active=None, check=None)" in shown[trifold.Solver]
    assert "aligned to 64 bytes" in trifold.Plan.solver.__doc__ and "aligned to 64 bytes" in shown[trifold.Plan]
    assert all(len(kind.__doc__) > 200 for kind in shown)
    for function in (trifold.solve, trifold.factor, trifold.marginals, trifold.matvec, trifold.grid.solve):
        assert len(function.__doc__) > 100


def described(kind):
    """Names and members of a class that help() shows."""
    for name, member in vars(kind).items():
        member = getattr(member, "__func__", member)
        if not name.startswith("_") and (callable(member) or isinstance(member, property)):
            yield name, member


MODULES = ["", *(f".{name}" for name in ("grid", "operators", "models", "errors", "sparse", "torch", "jax"))]
MODULES += [f".{face}.{family}" for face in ("torch", "jax") for family in ("grid", "sparse")]


@pytest.mark.parametrize("name", MODULES)
def test_everything_public_is_described(name):
    """And each module is one that can be imported by its name."""
    for needed in ("torch", "jax"):
        if needed in name:
            pytest.importorskip(needed)
    if "sparse" in name:
        pytest.importorskip("scipy")
    module = importlib.import_module(f"trifold{name}")
    assert module.__name__ == f"trifold{name}" and module.__doc__
    for shown in module.__all__:
        member = getattr(module, shown)
        assert inspect.getdoc(member), shown
        if inspect.isclass(member) and member.__module__.startswith("trifold"):
            assert [one for one, of in described(member) if not inspect.getdoc(of)] == [], shown


def test_methods_of_a_solver_say_shapes_and_errors():
    for name in ("factor", "factor_solve", "factor_forward", "solve", "forward", "backward"):
        text = " ".join(inspect.getdoc(getattr(trifold.Solver, name)).split())
        assert "(N, n" in text or "Shapes" in text
        assert "raises" in text or "errors are" in text


def test_representations():
    plan = trifold.Plan(block=3, horizon=5, batch=2)
    assert repr(plan).startswith("trifold.Plan(block=3, horizon=5, dtype='float64', batch=2")
    assert eval(repr(plan)).layout == plan.layout
    assert repr(plan) in repr(plan.solver())
    assert repr(plan) in repr(trifold.factor(*make(3, 5, 2)))
    stencil = np.zeros((4, 5, 9))
    stencil[..., 4] = 1
    assert repr(trifold.grid.factor(stencil, matrix="symmetric")) == (
        "<trifold.grid.Factor: stencil (4, 5, 9), float64, matrix='symmetric', rhs=1>"
    )


def test_names_are_public():
    for module in (trifold, trifold.grid, pytest.importorskip("trifold.torch"), pytest.importorskip("trifold.jax")):
        shown = [name for name in dir(module) if name != "__version__"]
        late = () if module is trifold.grid else ("sparse",)  # imported when it is first used, for it needs SciPy
        assert sorted(shown) == sorted([*module.__all__, *late])
        assert not [name for name in shown if name.startswith("_") or name in ("annotations", "Any", "numpy", "importlib")]


def test_plans_solvers_and_factors_pickle():
    D, E, b = *make(3, 5), rhs(3, 5)
    plan = trifold.Plan(block=3, horizon=5, operations="all")
    again = pickle.loads(pickle.dumps(plan))
    assert repr(again) == repr(plan) and again.operations == plan.operations
    solver = pickle.loads(pickle.dumps(plan.solver()))
    np.testing.assert_array_equal(solver.factor_solve(D, E, b), plan.solver().factor_solve(D, E, b))
    f = trifold.factor(D, E)
    text = pickle.dumps(f)
    for _ in range(5):  # at addresses that are aligned by chance, and others
        np.testing.assert_array_equal(pickle.loads(text).solve(b), f.solve(b))


def test_operations_by_the_names_of_methods():
    D, E = make(3, 5)
    plan = trifold.Plan(block=3, horizon=5, operations="factor,selected_inverse")
    solver = plan.solver()
    solver.factor(D, E)
    np.testing.assert_allclose(solver.selected_inverse()[0], trifold.factor(D, E).selected_inverse()[0])
    with pytest.raises(trifold.SpecError, match="give all, or some of"):
        trifold.Plan(block=3, horizon=5, operations="inverted")


def test_pixels_are_named_by_row():
    stencil = np.zeros((4, 6, 9))
    stencil[..., 4] = 1
    stencil[1, 5, 4] = np.nan
    with pytest.raises(trifold.GridFailed, match=r"pixel \[1, 5\]") as caught:
        trifold.grid.solve(stencil, np.ones((4, 6)))
    assert (caught.value.y, caught.value.x) == (1, 5)


def test_no_words_of_other_languages():
    D, E, b = *make(3, 5), rhs(3, 5)
    solver = trifold.Plan(block=3, horizon=5).solver()
    calls = [
        lambda: solver.solve(b),
        lambda: solver.selected_inverse(),
        lambda: trifold.Plan(block=3, horizon=5, operations="factor").solver().factor_solve(D, E, b),
        lambda: trifold.Plan(block=3, horizon=5, operations="factor_solve").solver().factor_solve(D, E, np.ones((5, 3, 2))),
        lambda: trifold.Plan(block=3, horizon=5).solver().factor(D[:4], E),
        lambda: trifold.Plan(block=0, horizon=5),
        lambda: trifold.Plan(block=3, horizon=5, schedule="best"),
        lambda: trifold.solve(D, E, b[:, :2]),
    ]
    for call in calls:
        with pytest.raises(trifold.SpecError) as caught:
            call()
        for word in ("Spec'", "std::", "nullptr", "null pointer", "span", "f64", "Solver::"):
            assert word not in str(caught.value)


def test_tracers_are_sent_to_jax():
    jax = pytest.importorskip("jax")
    D, E, b = *make(3, 5), rhs(3, 5)
    for function, arguments in ((trifold.solve, (D, E, b)), (trifold.factor, (D, E)), (trifold.marginals, (D, E, b))):
        with pytest.raises(trifold.SpecError, match="use trifold.jax"):
            jax.jit(function)(*arguments)


def test_debug_nans_of_jax():
    jax = pytest.importorskip("jax")
    tj = pytest.importorskip("trifold.jax")
    D, E, b = *make(3, 5), rhs(3, 5)
    wrong = D.copy()
    wrong[2] *= -1
    jax.grad(lambda *arrays: jax.numpy.sum(tj.solve(*arrays)))(D, E, b)  # compiled before
    jax.config.update("jax_debug_nans", True)
    try:
        assert np.isfinite(tj.solve(D, E, b)).all()
        for call in (lambda: tj.solve(wrong, E, b), lambda: jax.jit(tj.solve)(wrong, E, b), lambda: jax.grad(tj.log_determinant)(wrong, E)):
            with pytest.raises(FloatingPointError, match="nan"):
                call()
    finally:
        jax.config.update("jax_debug_nans", False)


def test_a_factor_that_vmap_has_made():
    jax = pytest.importorskip("jax")
    tj = pytest.importorskip("trifold.jax")
    D, E, b = *make(3, 5, 4), rhs(3, 5, 4)
    f = jax.vmap(tj.factor)(D, E)
    for call in (lambda: f.solve(b), f.log_determinant, lambda: f.quadratic(b), f.selected_inverse):
        with pytest.raises(trifold.SpecError, match="made under vmap"):
            call()
    np.testing.assert_allclose(jax.vmap(lambda f, b: f.solve(b))(f, b), trifold.solve(D, E, b), rtol=1e-6)
    assert "batch=4" in repr(tj.factor(D, E)) and "vmap" in repr(f)


def test_what_package_indexes_show():
    shown = importlib.metadata.metadata("trifold")
    assert {"cu12", "cu13", "jax", "mpi", "torch"} <= set(shown.get_all("Provides-Extra"))
    page = shown.get_payload()
    assert "trifold.factor(D, E)" in page and not re.findall(r"\]\((?![a-z]+:)[^)]*\)", page)
