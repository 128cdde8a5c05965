"""trifold.grid on the CPU: solutions, gradients and determinants against dense matrices and finite differences, all arrays, bad input."""

import itertools
import os
import threading

import numpy as np
import pytest
import trifold
from grids import SIZES, around, dense, entries, make, rhs, solution, unknowns
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


def close(mine, theirs, tolerance):
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    assert mine.shape == theirs.shape
    assert np.abs(mine - theirs).max() <= tolerance * np.abs(theirs).max()


def problem(size, matrix, boundary, dtype=np.float64, front=(), columns=None):
    stencil = make(*size, front, matrix, boundary, dtype)
    return stencil, rhs(*size, front, columns, dtype), {"matrix": matrix, "boundary": boundary}


@pytest.mark.parametrize(PARAMETERS, CASES)
def test_solutions(size, matrix, boundary, dtype, front, columns):
    stencil, b, kind = problem(size, matrix, boundary, dtype, front, columns)
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    A = dense(stencil, **kind)
    x = grid.solve(stencil, b, **kind)
    assert x.dtype == dtype
    close(x, solution(A, b), tolerance)
    f = grid.factor(stencil, rhs=2, **kind)
    close(f.solve(b), solution(A, b), tolerance)
    close(f.solve_transposed(b), solution(A.swapaxes(-1, -2), b), tolerance)
    log, sign = f.log_determinant()
    expected = np.linalg.slogdet(A)
    close(log, expected[1], tolerance)
    assert np.array_equal(sign, expected[0])
    assert np.all(f.status.problem == "none") and np.shape(f.status.problem) == front and np.shape(f.status.front) == (*front, 4)
    f.check()


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


@pytest.mark.parametrize(PARAMETERS, CASES)
def test_gradients(size, matrix, boundary, dtype, front, columns):
    """Against -w[i] x[j] at all places of A that a number stands for."""
    stencil, b, kind = problem(size, matrix, boundary, dtype, front, columns)
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    A = dense(stencil, **kind)
    by_x = rhs(*size, front, columns, dtype, seed=3)
    x, w = solution(A, b), solution(A.swapaxes(-1, -2), by_x)
    flat_x, flat_w = (v.reshape(*front, size[0] * size[1], -1) for v in (x, w))
    expected = np.zeros(stencil.shape)
    for place, row, column in entries(matrix, boundary, *size):
        expected[(..., *place)] -= (flat_w[..., row, :] * flat_x[..., column, :]).sum(-1)
    f = grid.factor(stencil, **kind)
    by_b, by_stencil = f.gradients(f.solve(b), by_x)
    assert by_b.dtype == by_stencil.dtype == dtype
    close(by_b, w, tolerance)
    close(by_stencil, expected, tolerance)


@pytest.mark.parametrize(("matrix", "boundary"), KINDS)
def test_finite_differences(matrix, boundary):
    stencil, b, kind = problem((3, 5), matrix, boundary, columns=3)
    by_x = rhs(3, 5, columns=3, seed=3)
    f = grid.factor(stencil, **kind)
    by_b, by_stencil = f.gradients(f.solve(b), by_x)
    for array, gradient in ((stencil, by_stencil), (b, by_b)):
        for place in np.ndindex(array.shape):
            y, x = place[0], place[1]
            if array is stencil and not (0 <= y + place[2] // 3 - 1 < 3 and 0 <= x + place[2] % 3 - 1 < 5):
                assert gradient[place] == 0
                continue
            kept = array[place]
            values = []
            for change in (1e-5, -1e-5):
                array[place] = kept + change
                values.append((by_x * grid.solve(stencil, b, **kind)).sum())
            array[place] = kept
            assert abs((values[0] - values[1]) / 2e-5 - gradient[place]) < 1e-8


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


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    stencil, b, _ = problem((9, 17), "general", "natural", columns=3)
    tensors = torch.from_numpy(stencil), torch.from_numpy(b)
    x = grid.solve(*tensors)
    assert isinstance(x, torch.Tensor) and np.array_equal(x.numpy(), grid.solve(stencil, b))
    by_b, by_stencil = grid.factor(tensors[0]).gradients(x, tensors[1])
    assert isinstance(by_b, torch.Tensor) and by_stencil.shape == tensors[0].shape
    with pytest.raises(trifold.SpecError, match="use trifold.torch"):
        grid.solve(tensors[0].requires_grad_(), tensors[1])


def test_jax_arrays():
    jnp = pytest.importorskip("jax.numpy")
    stencil, b, _ = problem((9, 17), "general", "natural", np.float32)
    x = grid.solve(jnp.asarray(stencil), jnp.asarray(b))
    assert isinstance(x, type(jnp.zeros(()))) and np.array_equal(np.asarray(x), grid.solve(stencil, b))
    f = grid.factor(jnp.asarray(stencil))
    for result in (f.solve(jnp.asarray(b)), f.refine(jnp.asarray(b), x), *f.gradients(x, jnp.asarray(b))):
        assert isinstance(result, type(x))


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


# Threads and forks


def test_threads_share_a_factor_and_the_solvers():
    stencil = make(33, 31)
    f = grid.factor(stencil)
    rights = [rhs(33, 31, seed=k) for k in range(3)]
    expected = [f.solve(b) for b in rights]
    wrong = []

    def work(b, x):
        for _ in range(30):
            if not np.array_equal(f.solve(b), x) or not np.array_equal(grid.solve(stencil, b), x):
                wrong.append(b)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(rights, expected)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


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


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_child_goes_on(workers):
    stencil, b = make(33, 31), rhs(33, 31)
    f = grid.factor(stencil, workers=workers)
    expected = f.solve(b)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            same = np.array_equal(f.solve(b), expected) and np.array_equal(grid.solve(stencil, b, workers=workers), expected)
            del f
            same = same and np.array_equal(grid.factor(stencil, workers=workers).solve(b), expected)
            status = 0 if same else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.array_equal(f.solve(b), expected)


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
        (lambda: grid.factor(stencil, rhs=0), "right-hand sides = 0"),
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
