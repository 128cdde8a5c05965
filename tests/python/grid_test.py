"""trifold.grid on the CPU: solutions, gradients and determinants against dense matrices, arrays of all libraries, bad input."""

import itertools

import numpy as np
import pytest
import trifold
from faces import JaxArrays, Numpy, TorchTensors, close
from grids import SIZES, around, dense, make, rhs, solution, unknowns
from linear import Images, slopes
from trifold import grid

KINDS = list(itertools.product(("general", "symmetric"), ("natural", "fixed")))
# Each size with each kind of matrix and boundary; precisions, images and right-hand sides take turns.
SHAPES = [((), None), ((3,), None), ((), 3), ((2, 2), 1), ((2,), 3)]
CASES = [
    (size, *kind, dtype, *SHAPES[(i + 2 * j + k) % len(SHAPES)])
    for i, size in enumerate(SIZES)
    for j, kind in enumerate(KINDS)
    for k, dtype in enumerate((np.float64, np.float32))
    if not (kind[1] == "fixed" and min(size) < 3)
]
PARAMETERS = ("size", "matrix", "boundary", "dtype", "front", "columns")


def problem(size, matrix, boundary, dtype=np.float64, front=(), columns=None):
    stencil = make(*size, front, matrix, boundary, dtype)
    return stencil, rhs(*size, front, columns, dtype), {"matrix": matrix, "boundary": boundary}


class Calls:
    """What each library offers, without derivatives, for classes that have the fixtures face and case."""

    def test_all_calls(self, face, case):
        one = Images(face, *case)
        A, (stencil, b, by_x) = one.dense(one.values), map(face.give, (one.values, one.b, one.by_x))
        x = grid.solve(stencil, b, **one.options)
        assert isinstance(x, face.kind) and x.dtype == b.dtype
        f = grid.factor(stencil, rhs=2, **one.options)
        f.check()
        expected, of_stencil, of_b = slopes(one, one.values, one.b, one.by_x)
        for mine in (x, f.solve(b), f.refine(b, x)):
            close(face.get(mine), expected, one.tolerance)
        close(face.get(f.solve_transposed(b)), solution(A.swapaxes(-1, -2), one.b), one.tolerance)
        for mine, theirs in zip(f.gradients(x, by_x), (of_b, of_stencil)):
            assert isinstance(mine, face.kind) and mine.dtype == b.dtype
            close(face.get(mine), theirs, one.tolerance)
        log, sign = map(face.get, f.log_determinant())
        signs, logs = np.linalg.slogdet(A)
        close(log, logs, one.tolerance)
        assert np.array_equal(sign, signs)
        front = one.values.shape[:-3]
        assert np.all(f.status.problem == "none") and np.shape(f.status.problem) == front and np.shape(f.status.front) == (*front, 4)


class TestNumpy(Calls):
    @pytest.fixture
    def face(self):
        return Numpy()

    @pytest.fixture(params=CASES, ids=str)
    def case(self, request):
        return request.param


class TestLibraries(Calls):
    @pytest.fixture(params=[TorchTensors, JaxArrays])
    def face(self, request):
        return request.param()

    @pytest.fixture(params=CASES[5::9], ids=str)
    def case(self, request):
        return request.param


def test_tensors_with_gradients():
    torch = pytest.importorskip("torch")
    stencil, b, _ = problem((9, 17), "general", "natural")
    with pytest.raises(trifold.SpecError, match="use trifold.torch"):
        grid.solve(torch.from_numpy(stencil).requires_grad_(), torch.from_numpy(b))


@pytest.mark.parametrize(PARAMETERS, CASES)
def test_refinement(size, matrix, boundary, dtype, front, columns):
    """A step takes an error that was put there away, and does not change the x that it is given, but where it is to."""
    stencil, b, kind = problem(size, matrix, boundary, dtype, front, columns)
    tolerance = 1e-12 if dtype == np.float64 else 1e-6
    A = dense(stencil, **kind)
    f = grid.factor(stencil, **kind)
    for transposed, matrices in ((False, A), (True, A.swapaxes(-1, -2))):
        expected = solution(matrices, b)
        wrong = (expected * 1.01).astype(dtype)
        ring = ~unknowns(*size, boundary)
        at = (..., ring) if columns is None else (..., ring, slice(None))
        wrong[at] += (b - (matrices @ wrong.reshape(*front, ring.size, -1)).reshape(b.shape))[at]  # what a solution has there
        kept = wrong.copy()
        close(f.refine(b, wrong, transposed=transposed), expected, tolerance)
        assert np.array_equal(wrong, kept)
        assert f.refine(b, wrong, wrong, transposed=transposed) is wrong
        close(wrong, expected, tolerance)


def test_steps_of_refinement():
    """In float32, for diffusion, whose condition shows: each step takes digits of the residual."""
    stencil, b = diffusion(65, 65, np.float32), rhs(65, 65, dtype=np.float32)
    A = dense(stencil)
    residuals = [np.abs(A @ grid.solve(stencil, b, refine=steps).astype(np.float64).ravel() - b.ravel()).max() for steps in (0, 1)]
    assert residuals[1] < residuals[0] / 2


def diffusion(height, width, dtype=np.float64, sink=1e-3):
    """-1 to the four next pixels; rows sum up to the sink."""
    stencil = np.zeros((height, width, 9), dtype)
    for k in (1, 3, 5, 7):
        here, _ = around(k, height, width)
        stencil[(*here, k)] = -1
    stencil[..., 4] = sink - stencil.sum(-1)
    return stencil


def test_a_matrix_that_needs_pivoting():
    stencil = make(9, 17)
    stencil[..., 4] = 0.01
    b = rhs(9, 17)
    expected = solution(dense(stencil), b)
    close(grid.solve(stencil, b, check=False), expected, 1e-9)
    assert np.sign(np.linalg.slogdet(dense(stencil))[0]) == grid.factor(stencil, check=False).log_determinant().sign


def test_results_go_where_they_are_told():
    stencil, b, _ = problem((9, 17), "general", "natural")
    expected = grid.solve(stencil, b)
    out = np.empty_like(b)
    assert grid.solve(stencil, b, out) is out and np.array_equal(out, expected)
    f = grid.factor(stencil)
    assert f.solve(b, out) is out
    own = b.copy()
    assert f.solve(own, own) is own and np.array_equal(own, expected)
    own = b.copy()
    assert np.array_equal(f.solve_transposed(own, own), f.solve_transposed(b))


def test_arrays_with_gaps_and_other_arrays():
    stencil, b, _ = problem((9, 17), "general", "natural")
    expected = grid.solve(stencil, b)
    assert np.array_equal(grid.solve(np.asfortranarray(stencil), b.T.copy().T), expected)
    assert np.array_equal(grid.solve(np.stack([stencil, stencil], -1)[..., 0], np.stack([b, b], -1)[..., 1]), expected)
    assert np.array_equal(grid.solve(stencil.tolist(), b.tolist()), expected)


def test_workers_change_no_bit():
    stencil, b, _ = problem((33, 31), "general", "natural", front=(2,), columns=3)
    assert np.array_equal(grid.solve(stencil, b), grid.solve(stencil, b, workers=2))


def test_large_image():
    """Against SuperLU."""
    scipy = pytest.importorskip("scipy.sparse")
    from scipy.sparse.linalg import splu

    random = np.random.default_rng(1)
    size = 513
    stencil = np.zeros((size, size, 9))
    rows, columns, values = [], [], []
    number = np.arange(size * size).reshape(size, size)
    for k in range(9):
        here, there = around(k, size, size)
        stencil[(*here, k)] = random.uniform(-1.2, 0.1, stencil[(*here, k)].shape)
    stencil[..., 4] = 0.01 - (stencil.sum(-1) - stencil[..., 4])
    for k in range(9):
        here, there = around(k, size, size)
        rows.append(number[here].ravel())
        columns.append(number[there].ravel())
        values.append(stencil[(*here, k)].ravel())
    A = scipy.csc_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))))
    b = random.standard_normal((size, size))
    x = grid.solve(stencil, b)
    close(x, splu(A).solve(b.ravel()).reshape(size, size), 1e-9)
    assert np.abs(A @ x.ravel() - b.ravel()).max() <= 1e-13 * (abs(A).sum(1).max() * np.abs(x).max() + np.abs(b).max())


def test_factors_of_one_shape_are_apart():
    first, second = make(9, 17), make(9, 17, seed=5)
    b = rhs(9, 17)
    f, g = grid.factor(first), grid.factor(second)
    close(f.solve(b), solution(dense(first), b), 1e-12)
    close(g.solve(b), solution(dense(second), b), 1e-12)
    del f
    h = grid.factor(2 * first)  # in the memory of f
    close(h.solve(b), solution(2 * dense(first), b), 1e-12)
    close(g.solve(b), solution(dense(second), b), 1e-12)


# What goes wrong


def change(array, place, value):
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("stencil", "b", "options", "message"),
    [
        (np.zeros((1, 7, 9)), np.zeros((1, 7)), {}, "height is 1 pixel"),
        (np.zeros((7, 1, 9)), np.zeros((7, 1)), {}, "width is 1 pixel"),
        (np.zeros((7, 2, 9)), np.zeros((7, 2)), {"boundary": "fixed"}, "give 3 to"),
        (make(5, 7)[..., :8], rhs(5, 7), {}, r"stencil has shape \(5, 7, 8\); give \(H, W, 9\)"),
        (make(5, 7)[0], rhs(5, 7), {}, r"give \(H, W, 9\)"),
        (make(5, 7), rhs(7, 5), {}, r"b has shape \(7, 5\); give \(5, 7\), or \(5, 7, m\)"),
        (make(5, 7), rhs(5, 7)[0], {}, "b has shape"),
        (make(5, 7), rhs(5, 7, columns=2)[..., None], {}, "b has shape"),
        (make(5, 7), rhs(5, 7, columns=2)[..., :0], {}, "b has shape"),
        (make(5, 7, (2,)), rhs(5, 7), {}, r"give \(2, 5, 7\)"),
        (make(5, 7, (2,)), rhs(5, 7, (3,)), {}, "b has shape"),
        (make(5, 7, (2,))[:0], rhs(5, 7, (2,))[:0], {}, "size 0"),
        (make(5, 7), rhs(5, 7, dtype=np.float32), {}, "b is .* float32 .* float64; convert"),
        (make(5, 7).astype(int), rhs(5, 7), {}, "stencil is .* int64 .*; convert"),
        (make(5, 7).astype(complex), rhs(5, 7), {}, "convert it to float32 or float64"),
        (None, rhs(5, 7), {}, "stencil is None"),
        (None, None, {}, "stencil is None"),
        (1.0, 2.0, {}, r"stencil has shape \(\); give"),
        (make(5, 7), None, {}, "b is None"),
        (make(5, 7), rhs(5, 7), {"matrix": "spd"}, "matrix = 'spd' is not known; give 'general' or 'symmetric'"),
        (make(5, 7), rhs(5, 7), {"boundary": "open"}, "boundary = 'open' is not known"),
        (make(5, 7), rhs(5, 7), {"pivoting": "full"}, "pivoting = 'full' is not known"),
        (make(5, 7), rhs(5, 7), {"refine": -1}, "refine = -1"),
        (make(5, 7), rhs(5, 7), {"workers": 0}, "workers"),
        (make(5, 7), rhs(5, 7), {"out": np.zeros((5, 8))}, "out has shape"),
        (make(5, 7), rhs(5, 7), {"out": np.zeros((5, 7), np.float32)}, "out is"),
        (make(5, 7), rhs(5, 7), {"out": np.zeros((7, 5)).T}, "gaps"),
    ],
)
def test_bad_input(stencil, b, options, message):
    with pytest.raises(trifold.SpecError, match=message):
        grid.solve(stencil, b, **options)


def test_bad_input_of_a_factor():
    stencil, b = make(5, 7), rhs(5, 7)
    f = grid.factor(stencil)
    for call, message in (
        (lambda: grid.factor(stencil, rhs=0), "rhs = 0 is out of range"),
        (lambda: f.solve(b[:-1]), "b has shape"),
        (lambda: f.refine(b, b[..., None]), "x has shape .* give x in the shape of b"),
        (lambda: f.refine(b, b, b), "X .* overlaps B"),
        (lambda: f.gradients(b, b[..., None]), "by_x has shape"),
        (lambda: f.solve(b.astype(np.float32)), "convert"),
    ):
        with pytest.raises(trifold.SpecError, match=message):
            call()


@pytest.mark.parametrize("boundary", ["natural", "fixed"])
def test_entries_that_are_not_read_may_hold_anything(boundary):
    stencil = diffusion(5, 7)
    poisoned = stencil.copy()
    if boundary == "natural":
        poisoned[..., 5:] = np.nan
    else:
        poisoned[[0, -1]] = poisoned[:, [0, -1]] = np.nan
        poisoned[2, 2:4, 5:] = np.nan  # the neighbours of these are no ring
    options = {"matrix": "symmetric", "boundary": boundary, "refine": 1}
    np.testing.assert_array_equal(grid.solve(poisoned, rhs(5, 7), **options), grid.solve(stencil, rhs(5, 7), **options))


@pytest.mark.parametrize(
    ("stencil", "options", "problem", "where", "message"),
    [
        (change(make(5, 7), (0, 3, 1), 1.0), {}, "beyond_image", (3, 0), r"pixel \[0, 3\] reaches beyond the image; set its entries there"),
        (change(make(5, 7), (2, 6, 4), np.nan), {}, "not_finite", (6, 2), r"pixel \[2, 6\] holds an infinity or NaN"),
        (change(make(5, 7), (2, 6, 0), np.inf), {}, "not_finite", (6, 2), "infinity"),
        (diffusion(5, 7, sink=0), {}, "nearly_singular", None, "add a little to the diagonal"),
        (change(diffusion(5, 7), (2, 3, 4), -9), {"matrix": "symmetric"}, "pivot", None, "not positive definite"),
        (np.zeros((5, 7, 9)), {"pivoting": "none"}, None, None, "pivot|singular"),
    ],
)
def test_images_that_fail(stencil, options, problem, where, message):
    b = rhs(5, 7)
    with pytest.raises(trifold.GridFailed, match=message) as caught:
        grid.solve(stencil, b, **options)
    error = caught.value
    assert isinstance(error, ArithmeticError) and error.image == 0 and error.failures[0][0] == 0
    if problem is not None:
        assert error.problem == problem
    if where is not None:
        assert (error.x, error.y) == where
    with pytest.raises(trifold.GridFailed):
        grid.factor(stencil, **options)
    f = grid.factor(stencil, check=False, **options)
    assert f.status.problem == error.problem
    with pytest.raises(trifold.GridFailed, match=message):
        f.check()


def test_one_image_of_many_fails():
    stencil, b = make(5, 7, (2, 2)), rhs(5, 7, (2, 2))
    expected = grid.solve(stencil, b)
    stencil[1, 0, 2, 3, 4] = np.nan
    with pytest.raises(trifold.GridFailed, match="1 of 4 images cannot be solved: image 2"):
        grid.solve(stencil, b)
    x = grid.solve(stencil, b, check=False)
    assert np.isnan(x[1, 0]).all()
    x[1, 0] = expected[1, 0]
    assert np.array_equal(x, expected)
    f = grid.factor(stencil, check=False)
    assert f.status.problem.tolist() == [["none", "none"], ["not_finite", "none"]]
    assert (f.status.x[1, 0], f.status.y[1, 0]) == (3, 2)
    assert np.isnan(f.log_determinant().log).tolist() == [[False, False], [True, False]]


def upwind(sink=0.0):
    """Convection in conservation form on 3 by 2 pixels: columns of A sum to the sink."""
    A = np.array(
        [
            [1.2, -1.2, 0, -0.5, 0, 0],
            [-0.7, 2.5, -1.3, 0, -0.5, 0],
            [0, -0.8, 1.9, 0, 0, -0.6],
            [-0.5, 0, 0, 0.6, -0.6, 0],
            [0, -0.5, 0, -0.1, 1.9, -1.3],
            [0, 0, -0.6, 0, -0.8, 1.9],
        ]
    ) + sink * np.eye(6)
    stencil = np.zeros((2, 3, 9))
    for row, column in zip(*np.nonzero(A)):
        stencil[row // 3, row % 3, 3 * (column // 3 - row // 3 + 1) + column % 3 - row % 3 + 1] = A[row, column]
    return stencil


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_singular_images_are_refused_and_accepted(dtype):
    stencil, b = upwind().astype(dtype), np.eye(1, 6).reshape(2, 3).astype(dtype)
    with pytest.raises(trifold.GridFailed, match="singular to this precision") as caught:
        grid.solve(stencil, b)
    assert isinstance(caught.value, trifold.Unsolvable) and caught.value.problem == "nearly_singular" and caught.value.x == -1
    f = grid.factor(stencil, check=False)
    for result in (f.solve(b), f.solve_transposed(b), f.refine(b, b), f.gradients(b, b)[0], f.log_determinant().log):
        assert np.isnan(result).all()
    assert f.reciprocal_condition() < np.finfo(dtype).eps
    f = grid.factor(stencil, accept_nearly_singular=True)
    assert f.status.problem == "none" and np.isfinite(f.solve(b)).all()
    f = grid.factor(upwind(0.01).astype(dtype))
    assert f.reciprocal_condition() > 1e-4


def test_what_leaves_the_range():
    stencil, b = make(5, 7, (2,)), rhs(5, 7, (2,))
    b[1, 2, 3] = np.nan
    with pytest.raises(trifold.OutOfRange, match="1 of 2 images, the first of them 1") as caught:
        grid.solve(stencil, b)
    assert caught.value.failures == [(1, True, False)]
    x = grid.solve(stencil, b, check=False)
    assert np.isfinite(x[0]).all() and np.isnan(x[1]).any()
    f = grid.factor(stencil)
    f.solve(b)
    assert f.status.solution.tolist() == [True, False]
    with pytest.raises(trifold.OutOfRange):
        f.check()
    f.solve(np.ones_like(b))
    f.check()
