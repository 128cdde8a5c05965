"""Layers of compiled kernels: an installed trifold_kernels serves before the cache, where nothing may be compiled."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

SOLVE = """
    import numpy as np, trifold
    D, E = np.tile(4 * np.eye(3), (9, 1, 1)), np.tile(-np.eye(3), (8, 1, 1))
    assert np.isfinite(trifold.solve(D, E, np.ones((9, 3)))).all()
    plan = trifold.Plan(block=3, horizon=9)
    print(plan.report["prebuilt"], trifold.info()["layers"])
"""


def run(code, **environment):
    environment = {**os.environ, "TRIFOLD_LOG": "warning", **{name: str(value) for name, value in environment.items()}}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


def test_installed_kernels(tmp_path):
    package = tmp_path / "trifold_kernels"
    package.mkdir(mode=0o700)
    (package / "__init__.py").touch()
    assert run(SOLVE, TRIFOLD_CACHE_DIR=package)[0] == "False []"
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    without_compiler = {"TRIFOLD_DISABLE": "jit", "PATH": "", "TRIFOLD_CACHE_DIR": tmp_path / "empty"}
    assert run(SOLVE, PYTHONPATH=paths, **without_compiler) == (f"True ['{package}']", "")
    out, _ = run("import trifold; print(trifold.info())", PYTHONPATH=paths)
    assert f"prebuilt kernels: {package}" in out.splitlines()


def test_others_may_not_write_to_it(tmp_path):
    package = tmp_path / "trifold_kernels"
    package.mkdir()
    package.chmod(0o777)
    (package / "__init__.py").touch()
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    out, error = run(SOLVE, PYTHONPATH=paths, TRIFOLD_CACHE_DIR=tmp_path / "cache")
    assert out == "False []"
    assert "others may write" in error and "the kernels there are not used" in error


def test_a_wheel_has_entries_and_targets(tmp_path):
    loader = importlib.machinery.SourceFileLoader("kernel_wheel", str(Path(__file__).parents[2] / "tools/kernel_wheel"))
    kernel_wheel = importlib.util.module_from_spec(importlib.util.spec_from_loader("kernel_wheel", loader))
    loader.exec_module(kernel_wheel)
    for name, target in (("first", "sm_80"), ("second", "compute_80")):
        entry = tmp_path / name / "ab" / f"ab-{name}"
        entry.mkdir(parents=True)
        (entry / "meta.json").touch()
        (tmp_path / name / "targets").mkdir()
        (tmp_path / name / "targets" / target).touch()
    package = tmp_path / "package"
    assert kernel_wheel.copy_entries([str(tmp_path / "first"), str(tmp_path / "second")], package) == 2
    assert sorted(path.name for path in (package / "targets").iterdir()) == ["compute_80", "sm_80"]
