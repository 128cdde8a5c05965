"""Results, against dense solutions: shapes, batches, right-hand sides, options, both precisions."""

import pickle

import numpy as np
import pytest
import trifold
from chains import Calls, Draws
from faces import Numpy
from problems import blocks_of_inverse, dense, make, reciprocal_condition, rhs, singular, solution


@pytest.fixture
def face():
    return Numpy()


class TestNumpy(Calls, Draws):
    pass


def test_mixed_is_as_accurate_as_float64():
    D, E = make(3, 7)
    b = rhs(3, 7)
    np.testing.assert_allclose(trifold.solve(D, E, b, mixed=True), solution(D, E, b), rtol=1e-11, atol=1e-13)
    f = trifold.factor(D, E, mixed=True)
    np.testing.assert_allclose(f.solve(b), solution(D, E, b), rtol=1e-11, atol=1e-13)
    with pytest.raises(trifold.SpecError, match="mixed"):
        f.quadratic(b)


@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_factor_for_many_right_hand_sides(batch, dtype):
    D, E = make(5, 9, batch, dtype=dtype)
    f = trifold.factor(D, E, rhs=16)
    assert f.plan.rhs == 16
    rtol, atol = (1e-10, 1e-12) if dtype == np.float64 else (1e-3, 1e-5)
    for columns in (None, 1, 5, 16, 37):
        b = rhs(5, 9, batch, columns, dtype=dtype)
        x = solution(D, E, b)
        np.testing.assert_allclose(f.solve(b), x, rtol=rtol, atol=atol)
        np.testing.assert_allclose(f.backward(f.forward(b)), x, rtol=rtol, atol=atol)
        axes = (0, 1) if batch is None else (1, 2)
        np.testing.assert_allclose(f.quadratic(b), np.sum(b * x, axes, dtype=np.float64), rtol=1e4 * rtol)
        assert f.status.solution if batch is None else all(f.status.solution)
    with pytest.raises(trifold.SpecError, match="rhs = 0 is out of range"):
        trifold.factor(D, E, rhs=0)


@pytest.mark.parametrize("batch, dtype", [(None, np.float64), (3, np.float64), (None, np.float32)])
def test_a_factor_finds_its_width_by_itself(batch, dtype):
    D, E = make(5, 9, batch, dtype=dtype)
    f = trifold.factor(D, E)
    log_determinant, value = f.log_determinant(), f.value
    for columns, width in [(3, 1), (20, 32), (2, 32), (70, 128)]:
        b = rhs(5, 9, batch, columns, dtype=dtype)
        for call in ("solve", "forward"):
            np.testing.assert_array_equal(getattr(f, call)(b), getattr(trifold.factor(D, E, rhs=width), call)(b))
        assert f.plan.rhs == width
    assert len(f.value) > len(value)
    np.testing.assert_array_equal(f.log_determinant(), log_determinant)
    assert np.all(f.status.block == -1)
    np.testing.assert_array_equal(f.selected_inverse()[0], trifold.factor(D, E).selected_inverse()[0])
    np.testing.assert_allclose(f.quadratic(b), trifold.factor(D, E).quadratic(b), rtol=1e-12 if dtype == np.float64 else 1e-5)


def test_a_solver_of_a_plan_keeps_its_width():
    D, E = make(3, 7)
    plan = trifold.Plan(block=3, horizon=7, operations="all")
    value = trifold.factor(D, E).value
    solver = plan.solver(value)
    solver.solve(rhs(3, 7, columns=16))
    assert solver.plan.rhs == 1
    assert solver.value is value
    mixed = trifold.factor(D, E, mixed=True)
    mixed.solve(rhs(3, 7, columns=16))
    assert mixed.plan.rhs == 1


def test_one_block_needs_no_coupling():
    D, E = make(3, 1)
    b = rhs(3, 1)
    for coupling in (None, E):
        np.testing.assert_allclose(trifold.solve(D, coupling, b), solution(D, E, b), rtol=1e-10)
        np.testing.assert_allclose(trifold.factor(D, coupling).solve(b), solution(D, E, b), rtol=1e-10)


def test_only_lower_triangles_are_read():
    D, E = make(3, 7)
    b = rhs(3, 7)
    poisoned = D + np.triu(np.full((3, 3), np.nan), 1)
    np.testing.assert_array_equal(trifold.solve(poisoned, E, b), trifold.solve(D, E, b))


def test_shift_and_diagonal():
    D, E = make(3, 7, 2)
    b = rhs(3, 7, 2)
    shift = np.array([0.5, 2.0])
    diagonal = np.random.default_rng(1).uniform(0, 1, (2, 7, 3))
    moved = D + shift[:, None, None, None] * np.eye(3) + diagonal[..., None] * np.eye(3)
    expected = solution(moved, E, b)
    np.testing.assert_allclose(trifold.solve(D, E, b, shift=shift, diagonal=diagonal), expected, rtol=1e-10, atol=1e-12)
    f = trifold.factor(D, E, shift=shift, diagonal=diagonal)
    np.testing.assert_allclose(f.solve(b), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(trifold.solve(D, E, b, shift=0.5)[0], solution(D + 0.5 * np.eye(3), E, b)[0], rtol=1e-10)


@pytest.mark.parametrize("kind", [bool, np.int32, np.int64])
def test_members_that_are_not_active_stay(kind):
    D, E = make(3, 7, 3)
    b = rhs(3, 7, 3)
    active = np.array([1, 0, 1]).astype(kind)
    solver = trifold.Plan(block=3, horizon=7, batch=3).solver()
    out = np.full_like(b, 9.0)
    solver.factor_solve(D, E, b, out, active=active)
    assert np.all(out[1] == 9.0)
    np.testing.assert_allclose(out[[0, 2]], solution(D, E, b)[[0, 2]], rtol=1e-10, atol=1e-12)
    assert np.all(np.isnan(trifold.factor(D, E, active=active).solve(b, check=False)[1]))


def test_pivot_floor_is_counted():
    D = np.array([[[1.0, 0.0], [0.0, 1e-30]]])
    f = trifold.factor(D, None, pivot_floor=1e-8)
    assert f.status.floors == 1


def test_the_least_pivot():
    """That of Cholesky's factor, over the diagonal. Powers of two that scale rows and columns do not change it."""
    D, E = make(3, 7)
    A = dense(D, E)
    f = trifold.factor(D, E, schedule="sequential")
    np.testing.assert_allclose(f.status.least_pivot, np.min(np.diag(np.linalg.cholesky(A)) ** 2 / np.diag(A)), rtol=1e-12)
    assert not f.status.nearly_singular
    scale = 2.0 ** np.random.default_rng(3).integers(-60, 60, (7, 3))
    scaled = D * scale[:, :, None] * scale[:, None, :], E * scale[1:, :, None] * scale[:-1, None, :]
    assert trifold.factor(*scaled, schedule="sequential").status.least_pivot == f.status.least_pivot


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_nearly_singular_matrix(dtype):
    D, E = singular(3, dtype)
    D[[0, 2]] *= 2
    b = rhs(1, 3, 3, dtype=dtype)
    plan = trifold.Plan(block=1, horizon=3, batch=3, dtype=dtype)
    for call in (trifold.solve, lambda D, E, b: trifold.factor(D, E), plan.solver().factor_solve):
        with pytest.raises(trifold.NearlySingular, match="accept_nearly_singular") as raised:
            call(D, E, b)
        assert [member for member, _ in raised.value.failures] == [1]
    x = trifold.solve(D, E, b, check=False)
    assert np.all(np.isfinite(x))
    sound = [0, 2]
    np.testing.assert_allclose(x[sound], solution(D[sound], E[sound], b[sound]), rtol=1e-4)
    f = trifold.factor(D, E, check=False)
    assert list(f.status.nearly_singular) == [False, True, False]
    assert 0 < f.status.least_pivot[1] < 8 * np.finfo(dtype).eps and f.status.least_pivot[0] > 0.1
    with pytest.raises(trifold.NearlySingular):
        f.solve(b, check=True)
    np.testing.assert_array_equal(f.solve(b), x)  # as the factor was made


def test_a_nearly_singular_matrix_that_is_accepted():
    D, E = singular()
    b = rhs(1, 3)
    accepted = {"accept_nearly_singular": True}
    x = trifold.solve(D, E, b, **accepted)
    f = trifold.factor(D, E, **accepted)
    for one in (f, pickle.loads(pickle.dumps(f))):
        np.testing.assert_array_equal(one.solve(b), x)
        assert not one.status.nearly_singular and one.status.least_pivot < 1e-15
        one._solver.check()
    solver = trifold.Plan(block=1, horizon=3).solver()
    np.testing.assert_array_equal(solver.factor_solve(D, E, b, **accepted), x)
    solver.factor_forward(D, E, b, **accepted)
    solver.factor(D, E, **accepted)
    with pytest.raises(trifold.NearlySingular):
        solver.factor(D, E)
    assert not trifold.factor(D, E, pivot_floor=1e-3).status.nearly_singular


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_reciprocal_condition(dtype):
    """The estimate of |A^-1| is never above it, and seldom much below."""
    D, E = make(3, 7, 3, dtype)
    D[1] -= np.asarray(0.999 * np.linalg.eigvalsh(dense(D[1], E[1]))[0] * np.eye(3), dtype)
    expected = np.array([reciprocal_condition(d, e) for d, e in zip(D, E)])
    f = trifold.factor(D, E)
    found = f.reciprocal_condition(D, E)
    assert found.shape == (3,) and found.dtype == np.float64 and expected[1] < 1e-2 * expected[0]
    ratio = found / expected
    assert np.all(ratio > (1 - 1e-9 if dtype == np.float64 else 0.99)) and np.all(ratio < 2)
    alone = trifold.factor(D[1], E[1]).reciprocal_condition(D[1], E[1])
    assert isinstance(alone, float) and alone == pytest.approx(found[1])


def test_reciprocal_condition_of_what_was_factored():
    D, E = make(3, 7, 2)
    shift, diagonal = np.array([5.0, 50.0]), np.random.default_rng(1).uniform(0, 9, (2, 7, 3))
    moved = D + shift[:, None, None, None] * np.eye(3) + diagonal[..., None] * np.eye(3)
    expected = [reciprocal_condition(d, e) for d, e in zip(moved, E)]
    f = trifold.factor(D, E, shift=shift, diagonal=diagonal)
    np.testing.assert_allclose(f.reciprocal_condition(D, E, shift=shift, diagonal=diagonal), expected, rtol=0.5)
    np.testing.assert_allclose(trifold.factor(moved, E, mixed=True).reciprocal_condition(moved, E), expected, rtol=0.5)
    solver = trifold.Plan(block=3, horizon=7, batch=4).solver()
    active = np.array([True, False])
    solver.factor(moved, E, active=active)
    found = solver.reciprocal_condition(moved, E, active=active)
    assert np.isnan(found[1]) and found[0] == pytest.approx(expected[0], rel=0.5)
    D, E = singular()
    assert trifold.factor(D, E, check=False).reciprocal_condition(D, E) < 1e-15
    assert trifold.factor(-D, E, check=False).reciprocal_condition(-D, E) == 0
    assert trifold.factor(D[:1], None).reciprocal_condition(D[:1], None) == 1


def test_plan_and_solver():
    D, E = make(12, 20, 6, np.float32)
    b = rhs(12, 20, 6, dtype=np.float32)
    plan = trifold.Plan(block=12, horizon=20, dtype="float32", batch=8, rhs=1, device="cpu", schedule="auto")
    assert (plan.block, plan.horizon, plan.batch, plan.rhs, plan.dtype, plan.device) == (12, 20, 8, 1, "float32", "cpu")
    assert "block=12" in repr(plan) and plan.value_bytes > 0
    solver = plan.solver()
    out = np.empty_like(b)
    assert solver.factor_solve(D, E, b, out) is out
    expected = solution(D, E, b)
    np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(solver.solve(b), expected, rtol=1e-3, atol=1e-4)
    assert np.all(solver.status().block == -1)
    inverse = np.empty_like(D), np.empty_like(E)
    with pytest.raises(trifold.SpecError, match="operations"):
        solver.selected_inverse(out=inverse)
    complete = trifold.Plan(block=12, horizon=20, dtype=np.float32, batch=8, operations="all").solver()
    complete.factor(D, E)
    assert complete.selected_inverse(out=inverse)[0] is inverse[0]
    np.testing.assert_allclose(inverse[0][1], blocks_of_inverse(D[1], E[1])[0], rtol=1e-3, atol=1e-4)


def test_more_columns_than_the_plan_has():
    D, E = make(3, 7)
    b = rhs(3, 7, columns=5)
    solver = trifold.Plan(block=3, horizon=7, rhs=2).solver()
    np.testing.assert_allclose(solver.factor_solve(D, E, b), solution(D, E, b), rtol=1e-10, atol=1e-12)


def test_in_place():
    D, E = make(3, 7)
    b = rhs(3, 7)
    expected = solution(D, E, b)
    solver = trifold.Plan(block=3, horizon=7).solver()
    solver.factor_solve(D, E, b, b)
    np.testing.assert_allclose(b, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("schedule", ["sequential", "twisted:2", "multi-stage", "recursive:2"])
def test_schedules(schedule):
    D, E = make(3, 23)
    b = rhs(3, 23)
    f = trifold.factor(D, E, schedule=schedule, workers=2)
    assert f.plan.schedule.startswith(schedule.split(":")[0])
    np.testing.assert_allclose(f.solve(b), solution(D, E, b), rtol=1e-10, atol=1e-12)


def test_plans_are_kept():
    first = trifold.Plan(block=3, horizon=7)
    assert first.handle == trifold.Plan(block=3, horizon=7).handle
    assert first.handle != trifold.Plan(block=3, horizon=8).handle


def test_a_factor_is_a_value():
    D, E = make(3, 23, 2)
    b = rhs(3, 23, 2)
    plan = trifold.Plan(block=3, horizon=23, batch=2, operations="all", schedule="recursive:2")
    value = np.empty(plan.value_bytes + 64, np.uint8)
    value = value[-value.ctypes.data % 64 :][: plan.value_bytes]
    plan.prepare(value)
    plan.solver(value).factor(D, E)
    copy = np.empty(plan.value_bytes + 192, np.uint8)
    copy = copy[-copy.ctypes.data % 64 + 64 :][: plan.value_bytes]
    copy[:] = value
    value[:] = 255  # the copy stands alone
    again = plan.solver(copy, members=2, batched=True)
    np.testing.assert_allclose(again.solve(b), solution(D, E, b), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(again.log_determinant(), np.linalg.slogdet(dense(D, E))[1], rtol=1e-12)
    y, quadratic = again.forward_quadratic(b)
    np.testing.assert_allclose(again.backward(y), solution(D, E, b), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(quadratic, np.einsum("bik,bik->b", b, solution(D, E, b)), rtol=1e-12)
    np.testing.assert_allclose(again.selected_inverse()[0][0], blocks_of_inverse(D[0], E[0])[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_draws_of_a_solver_against_a_dense_cholesky(dtype):
    """The sequential schedule eliminates block after block, so its L is that of A."""
    D, E = make(3, 7, dtype=dtype)
    solver = trifold.Plan(block=3, horizon=7, dtype=dtype, schedule="sequential").solver()
    solver.factor(D, E)
    z = np.random.default_rng(5).standard_normal((7, 3, 4)).astype(dtype)
    draws = solver.sample(np.random.default_rng(5), draws=4)
    expected = np.linalg.solve(np.linalg.cholesky(dense(D, E)).T, z.reshape(21, 4).astype(np.float64))
    assert draws.dtype == dtype
    np.testing.assert_allclose(draws.reshape(21, 4), expected, atol=1e-13 if dtype == np.float64 else 1e-5)


def test_what_objects_say_of_themselves():
    D, E = make(3, 7, 2)
    f = trifold.factor(D, E)
    for text in (repr(f), repr(f.plan), repr(f.plan.solver())):
        assert "block=3" in text and "horizon=7" in text and "float64" in text
    assert "trifold.Factor" in repr(f)
    assert set(dir(trifold)) >= set(trifold.__all__)
    assert not {"arrays", "options", "errors", "pickles", "toolkit", "annotations"} & set(dir(trifold))


def test_integers_become_float64():
    D, E, b = [[[4]], [[5]]], [[[1]]], [[1], [2]]
    x = trifold.solve(np.array(D), np.array(E), np.array(b))
    assert x.dtype == np.float64
    np.testing.assert_allclose(x, trifold.solve(np.array(D, float), np.array(E, float), np.array(b, float)))
    np.testing.assert_allclose(trifold.factor(np.array(D), np.array(E)).solve(b), x)
    with pytest.raises(trifold.SpecError, match="complex"):
        trifold.solve(np.array(D, complex), np.array(E), np.array(b))
