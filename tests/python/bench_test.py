"""The benchmarks of tools/bench/python run, small, and what they compare agrees. Their checks see results that are wrong."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "tools/bench/python"


@pytest.fixture
def bench(monkeypatch):
    """Benchmarks by their names; without the libraries that they need there is nothing to test."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def load(name, *libraries):
        for library in libraries:
            pytest.importorskip(library)
        return importlib.import_module(name)

    yield load
    if "jax" in sys.modules:
        sys.modules["jax"].config.update("jax_default_device", None)
    for name in ("measure", "smoother", "gradients", "mpc", "sparse_systems"):
        sys.modules.pop(name, None)


def device(library):
    """The GPU, where this library has one."""
    if library == "torch":
        return "cuda" if importlib.import_module("torch").cuda.is_available() else "cpu"
    return "cuda" if importlib.import_module("jax").default_backend() == "gpu" else "cpu"


def test_smoother(bench, tmp_path):
    smoother = bench("smoother", "jax", "trifold.jax")
    rows = smoother.main(["--small", "--device", device("jax"), "--json", str(tmp_path / "rows")])
    assert [(row["series"], row["what"]) for row in rows] == [
        (series, what) for series in (1, 3) for what in ("trifold", "sequential", "associative")
    ]
    for row in rows:
        assert row["value_off"] < 1e-12 and row["gradient_off"] < 1e-10
        assert 0 < row["call_s"] < 10
    assert json.loads((tmp_path / "rows").read_text(encoding="utf-8"))["tables"][0]["rows"] == rows


def test_smoother_is_the_filter_of_the_textbook(bench):
    smoother = bench("smoother", "jax", "trifold.jax")
    jax, _ = importlib.import_module("measure").jax_on("cpu")
    from models_test import textbook

    p = smoother.make_parameters(jax, 3, 2, (), jax.random.key(4))
    ys = np.random.default_rng(0).standard_normal((6, 2))
    Q, R, P0 = (np.asarray(C) for C in smoother.covariances(p))
    expected = textbook(np.asarray(p["F"]), np.asarray(p["H"]), Q, R, P0, ys, np.asarray(p["m0"]))[2]
    np.testing.assert_allclose(smoother.with_scan(jax, p, ys), expected, rtol=1e-12)


def test_smoother_sees_what_is_wrong(bench):
    smoother = bench("smoother", "jax")
    right = 5.0, {"F": np.ones((2, 2)), "Q": np.zeros((2, 2)) + 3}
    assert smoother.compare("other", right, right) == (0, 0)
    for value, slope in ((5 + 1e-6, 1.0), (5.0, 1 + 1e-5), (np.nan, 1.0), (5.0, np.nan)):
        wrong = value, {"F": np.full((2, 2), slope), "Q": right[1]["Q"]}
        with pytest.raises(AssertionError, match="of other"):
            smoother.compare("other", wrong, right)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_gradients(bench, library, tmp_path):
    gradients = bench("gradients", library, f"trifold.{library}")
    rows = gradients.main(["--small", "--device", device(library), "--library", library, "--json", str(tmp_path / "rows")])
    assert [row["N_x_n"] for row in rows] == ["4 x 5", "3 x 6", "1 x 2"]
    for row in rows:
        assert row["residual"] < 1e-15 and row["sums_off"] < 1e-14
        assert all(0 < row[name + "_s"] < 10 for name in ("likelihood", "log_determinant", "solve", "selected_inverse"))


WRONG = [(name, part) for name in ("likelihood", "log_determinant", "solve") for part in (0, 1, 2)[: 2 if name == "log_determinant" else 3]]


@pytest.mark.parametrize(("name", "part"), WRONG)
def test_gradients_see_what_is_wrong(bench, monkeypatch, name, part):
    gradients = bench("gradients", "torch", "trifold.torch")
    library = gradients.Torch("cpu")
    right = getattr(library, name)

    def wrong(*data):
        value, found = right(*data)
        return value, [g * (1 + 1e-6 * (k == part)) for k, g in enumerate(found)]

    gradients.check(library, library.make(4, 3, 0))
    monkeypatch.setattr(library, name, wrong)
    with pytest.raises(AssertionError, match="sum up to"):
        gradients.check(library, library.make(4, 3, 0))


def test_a_wrong_solution_has_a_residual(bench):
    torch = pytest.importorskip("torch")
    measure = bench("measure")
    from problems import make, rhs, solution

    D, E = make(3, 4, 2)
    b = rhs(3, 4, 2)
    x = solution(D, E, b)
    assert measure.residual(*map(torch.from_numpy, (D, E, b, x))) < 1e-15
    x[1, 2, 0] *= 1 + 1e-6
    assert measure.residual(*map(torch.from_numpy, (D, E, b, x))) > 1e-9


def test_mpc(bench, tmp_path):
    mpc = bench("mpc", "torch", "trifold.torch")
    on = device("torch")
    rows = mpc.main(["--small", "--device", on, "--json", str(tmp_path / "rows")])
    forms = ["eager", "captured"] if on == "cuda" else ["eager"]
    assert [(row["type"], row["form"]) for row in rows] == [(type_, form) for type_ in ("float32", "float64") for form in forms]
    assert all(0 < row["call_s"] < 10 for row in rows)


def test_sparse(bench, tmp_path):
    sparse = bench("sparse_systems", "scipy")
    file = tmp_path / "A.mtx"
    random = np.random.default_rng(2)
    sparse.scipy.io.mmwrite(file, sparse.mesh("5x4x3", 2, random))
    rows = sparse.main(["--small", "--leave-out", "trifold, mixed"]) + sparse.main([f"{file}:2"])
    for row in rows:
        assert row["end"] == "converged" and row["residual"] <= 1e-8 and row["solution_s"] > 0, row
    assert [(row["block"], row["solver"]) for row in rows] == [
        *((block, solver) for block in (3, 1) for solver in ("trifold", "jacobi", "spilu")),
        *((2, solver) for solver in ("trifold", "trifold, mixed", "jacobi", "spilu")),
    ]
    stopped = sparse.main(["9x9x9:1", "--limit", "0", "--leave-out", "trifold", "trifold, mixed", "spilu"])
    assert [row["end"] for row in stopped] == ["stopped"]


def test_medians_are_of_new_data(bench):
    measure = bench("measure")
    seen = []
    seconds, last = measure.median(seen.append, lambda i: (i,), lambda _: None, 4, warm=2)
    assert seen == list(range(6)) and last is None and 0 <= seconds < 1
    assert [measure.duration(s) for s in (2.5, 0.0123456, 7.2e-6, 3e-9)] == ["2.5 s", "12.3 ms", "7.2 us", "3 ns"]
