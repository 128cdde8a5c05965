"""trifold.torch.grid and trifold.jax.grid on the CPU: values and gradients against dense matrices and finite differences, bad input."""

import functools

import numpy as np
import pytest
import trifold
from grid_test import CASES, PARAMETERS, close, diffusion, problem
from grids import entries, make, rhs, unknowns
from trifold import grid

MORE = [case for case in CASES if case[0] != (33, 31)]


def places(matrix, boundary, height, width):
    """Of A: which number of the flat stencil each entry is, and where; and the rows that are x = b."""
    read = list(entries(matrix, boundary, height, width))
    index = np.array([np.ravel_multi_index(place, (height, width, 9)) for place, _, _ in read])
    rows, columns = (np.array([entry[k] for entry in read]) for k in (1, 2))
    return index, rows, columns, np.flatnonzero(~unknowns(height, width, boundary))


# PyTorch


def torch_oracle(stencil, b, matrix, boundary):
    """x by a dense matrix, of which gradients come from torch itself."""
    import torch

    *front, height, width, _ = stencil.shape
    index, rows, columns, ring = places(matrix, boundary, height, width)
    A = stencil.new_zeros((*front, height * width, height * width))
    A[..., rows, columns] = stencil.reshape(*front, -1)[..., index]
    A[..., ring, ring] = 1
    return torch.linalg.solve(A, b.reshape(*front, height * width, -1)).reshape(b.shape)


@pytest.mark.parametrize(PARAMETERS, MORE)
def test_torch_gradients(size, matrix, boundary, dtype, front, columns):
    torch = pytest.importorskip("torch")
    import trifold.torch as tt

    stencil, b, kind = problem(size, matrix, boundary, dtype, front, columns)
    leaves = [torch.from_numpy(array).requires_grad_() for array in (stencil, b)]
    doubles = [leaf.detach().double().requires_grad_() for leaf in leaves]
    weights = torch.from_numpy(rhs(*size, front, columns, dtype, seed=3))
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    expected = torch_oracle(*doubles, **kind)
    theirs = torch.autograd.grad(expected, doubles, weights.double())
    for mine in (tt.grid.solve(*leaves, **kind), tt.grid.factor(leaves[0], **kind).solve(leaves[1])):
        assert mine.dtype == weights.dtype
        close(mine.detach(), expected.detach(), tolerance)
        # Without and with a graph of the backward pass, which take different ways.
        for graph in (False, True):
            for m, t in zip(torch.autograd.grad(mine, leaves, weights, retain_graph=True, create_graph=graph), theirs):
                close(m.detach(), t, tolerance)
    close(torch.autograd.grad(tt.grid.solve(leaves[0].detach(), leaves[1], **kind), leaves[1], weights)[0], theirs[1], tolerance)
    close(torch.autograd.grad(tt.grid.solve(leaves[0], leaves[1].detach(), **kind), leaves[0], weights)[0], theirs[0], tolerance)


@pytest.mark.parametrize("columns", [None, 3])
@pytest.mark.parametrize(("matrix", "boundary"), [(m, b) for m in ("general", "symmetric") for b in ("natural", "fixed")])
def test_torch_finite_differences(matrix, boundary, columns):
    torch = pytest.importorskip("torch")
    import trifold.torch as tt

    stencil, b, kind = problem((3, 4), matrix, boundary, front=(2,), columns=columns)
    inside = torch.from_numpy(stencil != 0).double()  # entries beyond the image must stay zero
    for transposed in (False, True):

        def function(stencil, b, transposed=transposed):
            f = tt.grid.factor(stencil * inside, rhs=2, **kind)
            return f.solve_transposed(b) if transposed else f.solve(b)

        leaves = [torch.from_numpy(array).requires_grad_() for array in (stencil, b)]
        assert torch.autograd.gradcheck(function, leaves, atol=1e-7, rtol=1e-6)
        assert torch.autograd.gradgradcheck(function, leaves, atol=1e-7, rtol=1e-6, fast_mode=True)


@pytest.mark.parametrize(("matrix", "boundary"), [("general", "natural"), ("symmetric", "fixed")])
def test_torch_transforms(matrix, boundary):
    """vmap, grad, vjp and jacrev of torch.func, in each other, and of a factor that was made outside."""
    torch, func = pytest.importorskip("torch"), pytest.importorskip("torch.func")
    tt = pytest.importorskip("trifold.torch")
    kind = {"matrix": matrix, "boundary": boundary}
    stencil, b = torch.from_numpy(make(4, 5, **kind)), torch.from_numpy(rhs(4, 5))
    stencils, many = torch.from_numpy(make(4, 5, (3,), **kind)), torch.from_numpy(rhs(4, 5, (3,)))
    columns = torch.from_numpy(rhs(4, 5, (3,), columns=2))
    f = tt.grid.factor(stencil, **kind)

    def total(solve):
        return lambda stencil, b: (solve(stencil, b) ** 3).sum()

    def all_of(solve, again):
        yield func.vmap(solve, (None, 0))(stencil, many)
        yield func.vmap(again)(many)
        yield func.vmap(again)(columns)
        yield func.vmap(solve, (0, None))(stencils, b)
        yield func.vmap(solve)(stencils, many)
        yield from func.grad(total(solve), (0, 1))(stencil, b)
        yield from func.vmap(func.grad(total(solve), (0, 1)))(stencils, many)
        yield from func.vjp(solve, stencil, b)[1](b)
        yield from func.jacrev(solve, (0, 1))(stencil, b)
        yield func.jacrev(again)(b)

    mine = all_of(functools.partial(tt.grid.solve, **kind), f.solve)
    theirs = all_of(lambda stencil, b: torch_oracle(stencil, b, **kind), lambda b: torch_oracle(stencil, b, **kind))
    for one, other in zip(mine, theirs, strict=True):
        close(one, other, 1e-9)


def test_torch_graphs():
    torch = pytest.importorskip("torch")
    import trifold.torch as tt

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
    torch = pytest.importorskip("torch")
    import trifold.torch as tt

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


# JAX


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax")
    if not trifold.info()["jax"]:
        pytest.skip("built without the headers of XLA's FFI")
    jax.config.update("jax_enable_x64", True)
    return jax


def jax_oracle(jax, matrix, boundary):
    def solve(stencil, b):
        *front, height, width, _ = stencil.shape
        index, rows, columns, ring = places(matrix, boundary, height, width)
        A = jax.numpy.zeros((*front, height * width, height * width), stencil.dtype)
        A = A.at[..., rows, columns].set(stencil.reshape(*front, -1)[..., index])
        A = A.at[..., ring, ring].set(1)
        return jax.numpy.linalg.solve(A, b.reshape(*front, height * width, -1)).reshape(b.shape)

    return solve


@pytest.mark.parametrize(PARAMETERS, MORE[::3])
def test_jax_gradients(jax, size, matrix, boundary, dtype, front, columns):
    import trifold.jax as tj

    stencil, b, kind = problem(size, matrix, boundary, dtype, front, columns)
    weights = rhs(*size, front, columns, dtype, seed=3)
    oracle = jax_oracle(jax, **kind)
    mine = functools.partial(tj.grid.solve, **kind)
    tolerance = 1e-12 if dtype == np.float64 else 1e-5

    @functools.partial(jax.jit, static_argnums=0)
    def derivatives(solve, stencil, b, weights):
        """x, its gradients, and how it changes as these change."""
        x, back = jax.vjp(solve, stencil, b)
        return x, *back(weights), jax.jvp(solve, (stencil, b), (0.1 * stencil, weights))[1]

    wide = [array.astype(np.float64) for array in (stencil, b, weights)]
    for m, t in zip(derivatives(mine, stencil, b, weights), derivatives(oracle, *wide), strict=True):
        assert m.dtype == dtype
        close(m, t, tolerance)


@pytest.mark.parametrize("boundary", ["natural", "fixed"])
def test_jax_entries_that_are_not_read(jax, boundary):
    import trifold.jax as tj

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


def test_jax_second_derivatives(jax):
    import trifold.jax as tj

    stencil, b, kind = problem((3, 4), "symmetric", "fixed", columns=2)
    hessians = []
    for solve in (lambda *a: tj.grid.solve(*a, **kind), jax_oracle(jax, **kind)):

        def number(scale, shift, solve=solve):
            return (solve(stencil * (1 + scale[:, None, None]), b + shift) ** 2).sum()

        hessians.append(jax.jit(jax.hessian(number, (0, 1)))(0.1 * np.arange(3.0), np.array([0.5, -0.5])))
    for mine, theirs in zip(jax.tree.leaves(hessians[0]), jax.tree.leaves(hessians[1])):
        close(mine, theirs, 1e-10)


@pytest.mark.parametrize("axes", [(0, 0), (None, 0), (0, None), (2, 1)])
@pytest.mark.parametrize("columns", [None, 2])
def test_jax_vmap(jax, axes, columns):
    import trifold.jax as tj

    stencil, b = make(3, 5, (4, 2)), rhs(3, 5, (4, 2), columns)
    kind = {"matrix": "general", "boundary": "natural"}
    given = [np.moveaxis(array, 0, axis) if axis is not None else array[0] for array, axis in zip((stencil, b), axes)]
    for function in (lambda s, b: tj.grid.solve(s, b), jax.grad(lambda s, b: (tj.grid.solve(s, b) ** 2).sum(), (0, 1))):
        mine = jax.vmap(function, axes)(*given)
        function = jax.jit(function)
        one_by_one = [function(stencil[k if axes[0] is not None else 0], b[k if axes[1] is not None else 0]) for k in range(4)]
        for m, t in zip(jax.tree.leaves(mine), zip(*map(jax.tree.leaves, one_by_one))):
            close(m, np.stack(t), 1e-12)
    close(jax.vmap(tj.grid.solve, axes)(*given), jax.vmap(jax_oracle(jax, **kind), axes)(*given), 1e-12)


def test_jax_failures(jax):
    import trifold.jax as tj

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
