"""trifold.torch.grid and trifold.jax.grid on the CPU: all that linear.py asks of a family, and what is of images alone; bad input."""

import functools

import numpy as np
import pytest
import trifold
from faces import Jax, Torch, close
from grid_test import CASES, KINDS, diffusion, problem
from grids import make, rhs, solution
from linear import Images, Linear
from trifold import grid

MORE = [case for case in CASES if case[0] != (33, 31)]


class Derivatives(Linear):
    @pytest.fixture(params=[(*kind, columns) for kind, columns in zip(KINDS, (None, 2, 2, None))], ids=str)
    def small(self, request, face):
        matrix, boundary, columns = request.param
        return Images(face, (3, 4), matrix, boundary, columns=columns)


class TestTorch(Derivatives):
    @pytest.fixture
    def face(self):
        return Torch()

    @pytest.fixture(params=MORE, ids=str)
    def case(self, request, face):
        return Images(face, *request.param)


class TestJax(Derivatives):
    @pytest.fixture
    def face(self):
        return Jax()

    @pytest.fixture(params=MORE[::3], ids=str)
    def case(self, request, face):
        return Images(face, *request.param)

    def test_tangents(self, case):
        """Derivatives forward, of values alone."""
        changes = (0.125 * case.values, case.by_x)
        jvp = case.face.library.jit(lambda arrays, changes: case.face.library.jvp(case.solve, arrays, changes)[1])
        A = case.dense(case.values)
        x, of_A = solution(A, case.b), case.dense((case.values + changes[0]).astype(np.float64)) - A
        moved = changes[1] - (of_A @ x.reshape(*A.shape[:-1], -1)).reshape(x.shape)
        close(jvp((case.values, case.b), changes), solution(A, moved), case.tolerance)


def test_torch_graphs():
    face = Torch()
    torch, tt = face.library, face.module
    stencil, b, _ = problem((9, 17), "general", "natural")
    A, right = (torch.from_numpy(array).requires_grad_() for array in (stencil, b))
    x = tt.grid.solve(A, right)
    with torch.no_grad():
        assert not tt.grid.solve(A, right).requires_grad
        A.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        x.sum().backward()
    compiled = torch.compile(lambda A, right: tt.grid.solve(2 * A, right).square().sum(), backend="aot_eager")
    A = torch.from_numpy(stencil).requires_grad_()
    (mine,) = torch.autograd.grad(compiled(A, right), A)
    (same,) = torch.autograd.grad(tt.grid.solve(2 * A, right).square().sum(), A)
    close(mine, same, 1e-13)


def test_torch_failures():
    face = Torch()
    torch, tt = face.library, face.module
    stencil, b = torch.from_numpy(make(5, 7, (2,))), torch.from_numpy(rhs(5, 7, (2,)))
    for call, message in (
        (lambda: tt.grid.solve(stencil.numpy(), b), "stencil is a ndarray; give a tensor"),
        (lambda: tt.grid.solve(stencil, None), "b is a NoneType; give a tensor"),
        (lambda: tt.grid.solve(stencil, b.float()), "convert"),
        (lambda: tt.grid.solve(stencil, b[0]), "b has shape"),
        (lambda: tt.grid.solve(stencil, b, boundary="open"), "boundary = 'open'"),
    ):
        with pytest.raises(trifold.SpecError, match=message):
            call()
    stencil[1, 2, 3, 4] = torch.nan
    with pytest.raises(trifold.GridFailed, match="image 1: the stencil of pixel"):
        tt.grid.solve(stencil, b)
    stencil.requires_grad_()
    x = tt.grid.solve(stencil, b, check=False)
    assert torch.isnan(x[1]).all() and torch.isfinite(x[0]).all()
    (gradient,) = torch.autograd.grad(x.sum(), stencil)
    assert torch.isfinite(gradient[0]).all() and torch.isnan(gradient[1, 1, 1]).all()


@pytest.mark.parametrize("boundary", ["natural", "fixed"])
def test_jax_entries_that_are_not_read(boundary):
    face = Jax()
    jax, tj = face.library, face.module
    stencil, b, kind = problem((5, 7), "symmetric", boundary)
    unread = np.abs(stencil) >= 1e3
    if boundary == "natural":
        unread[..., 5:] = True  # beyond the image too
    changes = []
    for given in (np.where(unread, 0, stencil), np.where(unread, np.nan, stencil)):
        change = np.where(unread, given, 0.1 * stencil)
        changes.append(jax.jvp(functools.partial(tj.grid.solve, **kind), (given, b), (change, b)))
    for mine, theirs in zip(*changes):
        np.testing.assert_array_equal(mine, theirs)


def test_jax_failures():
    tj = Jax().module
    stencil, b = make(5, 7), rhs(5, 7)
    for call, message in (
        (lambda: tj.grid.solve(stencil[..., :8], b), "stencil has shape"),
        (lambda: tj.grid.solve(stencil[:1], b[:1]), "too small; give 2 by 2"),
        (lambda: tj.grid.solve(stencil[:2], b[:2], boundary="fixed"), "too small; give 3 by 3"),
        (lambda: tj.grid.solve(stencil, b[0]), "b has shape"),
        (lambda: tj.grid.solve(stencil, b.astype(np.float32)), "one type"),
        (lambda: tj.grid.solve(stencil.astype(int), b), "convert"),
        (lambda: tj.grid.solve(None, b), "stencil is None"),
        (lambda: tj.grid.solve(stencil, b, matrix="spd"), "matrix = 'spd' is not known; give 'general' or 'symmetric'"),
    ):
        with pytest.raises(trifold.SpecError, match=message):
            call()
    x = tj.grid.solve(np.stack([stencil, diffusion(5, 7), np.full_like(stencil, np.nan)]), np.stack([b] * 3))
    assert np.isnan(x).any((1, 2)).tolist() == [False, False, True] and np.isnan(x[2]).all()
    close(x[0], grid.solve(stencil, b), 1e-12)
