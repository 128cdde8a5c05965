"""Plans, Solvers and factors go through pickles and copies."""

import copy
import pickle
import subprocess
import sys

import grids
import numpy as np
import pytest
import trifold
from problems import make, rhs, solution


def test_plans():
    plan = trifold.Plan(block=3, horizon=7, dtype="float32", batch=4, rhs=2, schedule="recursive:2", operations="factor,solve")
    again = pickle.loads(pickle.dumps(plan))
    assert again.handle == plan.handle and repr(again) == repr(plan) and again.operations == plan.operations
    assert pickle.loads(pickle.dumps(trifold.Plan(block=3, horizon=7, dtype="mixed"))).dtype == "mixed"


def test_solvers():
    D, E = make(3, 7, 4)
    b = rhs(3, 7, 4)
    plan = trifold.Plan(block=3, horizon=7, batch=4)
    empty = pickle.loads(pickle.dumps(plan.solver()))
    np.testing.assert_allclose(empty.factor_solve(D, E, b), solution(D, E, b), rtol=1e-10, atol=1e-12)
    solver = plan.solver(plan.copy_value(np.zeros(plan.value_bytes, np.uint8)))
    solver.factor(D[:3], E[:3])
    for again in (pickle.loads(pickle.dumps(solver)), copy.copy(solver), copy.deepcopy(solver)):
        assert again.value is not solver.value
        np.testing.assert_array_equal(again.solve(b[:3]), solver.solve(b[:3]))


def test_factors():
    D, E = make(3, 7)
    b = rhs(3, 7, columns=2)
    f = trifold.factor(D, E)
    for again in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
        np.testing.assert_array_equal(again.solve(b), f.solve(b))
        np.testing.assert_array_equal(again.quadratic(b), f.quadratic(b))
    stencil, image = grids.make(5, 7, (2,)), grids.rhs(5, 7, (2,))
    images = trifold.grid.factor(stencil, rhs=2, pivoting="none")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(images)).solve(image), images.solve(image))


def test_in_another_process():
    D, E = make(3, 7)
    f = trifold.factor(D, E)
    b = rhs(3, 7)
    code = "import sys, pickle; f, b = pickle.load(sys.stdin.buffer); sys.stdout.buffer.write(pickle.dumps(f.solve(b)))"
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps((f, b)), capture_output=True, check=True)
    np.testing.assert_array_equal(pickle.loads(done.stdout), f.solve(b))


def test_a_factor_of_another_plan():
    solver = trifold.factor(*make(3, 7))._solver
    restore, (plan, value, members, batched, layout) = solver.__reduce__()
    with pytest.raises(trifold.SpecError, match="factor the matrix again"):
        restore(plan, value, members, batched, layout + " of tomorrow")


def test_values_that_are_not_aligned():
    """A copy is where NumPy puts it: a Solver over it works, or is refused at once, with what to do."""
    D, E = make(3, 7)
    b = rhs(3, 7)
    f = trifold.factor(D, E)
    memory = np.empty(f.value.size + 128, np.uint8)
    crooked = memory[-memory.ctypes.data % 64 + 16 :][: f.value.size]
    crooked[:] = f.value
    with pytest.raises(trifold.SpecError, match="not aligned to 64 bytes; give plan.copy_value"):
        f.plan.solver(crooked)
    crooked.flags.writeable = False
    np.testing.assert_array_equal(f.plan.solver(f.plan.copy_value(crooked)).solve(b), f.solve(b))
    for wrong in (crooked[:-1], crooked.view(np.int8), "text", crooked[None]):
        with pytest.raises(trifold.SpecError, match="value is"):
            f.plan.copy_value(wrong)
