"""Matrices of finite elements: every x that is called solved is one, and an error names a way out."""

import numpy as np
import pytest
import trifold

scipy = pytest.importorskip("scipy")
import scipy.sparse as sp  # noqa: E402
import trifold.sparse  # noqa: E402
from scipy.spatial import Delaunay  # noqa: E402


def interval(cells, order, other, derivative=0, of_other=0):
    """Integrals of products of Lagrange elements of an order and of another on [0, 1], or of their derivatives."""
    points, weights = np.polynomial.legendre.leggauss(4)
    points, weights = (points + 1) / 2, weights / 2 / cells

    def values(order, derivative):
        nodes = np.linspace(0, 1, order + 1)
        basis = [np.poly(np.delete(nodes, i)) / np.prod(nodes[i] - np.delete(nodes, i)) for i in range(order + 1)]
        return np.array([np.polyval(np.polyder(b, derivative), points) for b in basis]) * cells**derivative

    local = values(order, derivative) * weights @ values(other, of_other).T
    cell, i, j = np.ogrid[:cells, : order + 1, : other + 1]
    rows, columns = np.broadcast_arrays(cell * order + i, cell * other + j)
    shape = (cells * order + 1, cells * other + 1)
    return sp.coo_array((np.tile(local.ravel(), cells), (rows.ravel(), columns.ravel())), shape=shape).tocsr()


def tensor(*factors):
    product = factors[0]
    for factor in factors[1:]:
        product = sp.kron(product, factor)
    return product.tocsr()


def box(cells, order, dimensions):
    """The Laplacian on quadrilaterals or hexahedra, zero at the edges."""
    K, M = (interval(cells, order, order, d, d)[1:-1, 1:-1] for d in (1, 0))
    return sum(tensor(*(K if k == axis else M for k in range(dimensions))) for axis in range(dimensions))


def stokes(cells):
    """Taylor-Hood elements of orders 2 and 1 on quadrilaterals; one pressure is held. No zero of the pressures' block is stored."""
    A, inner = box(cells, 2, 2), slice(1, -1)
    D, C = (interval(cells, 1, 2, 0, d)[:, inner] for d in (1, 0))
    B = sp.hstack([tensor(D, C), tensor(C, D)]).tocsr()[1:]
    return sp.block_array([[sp.block_diag([A, A]), B.T], [B, None]]).tocsr()


def simplices(dimensions, count, local, block=1, free=False):
    """Linear elements on triangles or tetrahedra between random points, zero at the hull unless free.

    local: the matrix of one, from its gradients [i, axis] and its volume."""
    points = np.random.default_rng(3).random((count, dimensions))
    mesh = Delaunay(points)
    edges = points[mesh.simplices[:, 1:]] - points[mesh.simplices[:, :1]]
    gradients = np.linalg.inv(edges).transpose(0, 2, 1)
    gradients = np.concatenate([-gradients.sum(1, keepdims=True), gradients], 1)
    volumes = abs(np.linalg.det(edges)) / (2 if dimensions == 2 else 6)
    values = np.array([local(g, v) for g, v in zip(gradients, volumes, strict=True)])
    places = (mesh.simplices[:, :, None] * block + np.arange(block)).reshape(len(values), -1)
    rows, columns = np.broadcast_arrays(places[:, :, None], places[:, None, :])
    A = sp.coo_array((values.ravel(), (rows.ravel(), columns.ravel())), shape=(count * block, count * block)).tocsr()
    inner = np.setdiff1d(np.arange(count), [] if free else mesh.convex_hull)
    kept = (inner[:, None] * block + np.arange(block)).ravel()
    return A[kept][:, kept], points[inner]


def laplace(g, v):
    return v * g @ g.T


def elastic(g, v, shear=0.4e9, bulk=0.6e9):
    i, j = g[:, None, :, None], g[None, :, None, :]
    dot = (g @ g.T)[:, :, None, None] * np.eye(g.shape[1])
    stiffness = v * (shear * (dot + g[None, :, :, None] * g[:, None, None, :]) + bulk * i * j)
    return stiffness.transpose(0, 2, 1, 3).reshape(g.size, g.size)


def matting(height, width, scribbles):
    """The matting Laplacian of Levin, Lischinski and Weiss (2006) on windows of 3x3 pixels."""
    rng = np.random.default_rng(0)
    image = np.clip(0.5 + 0.02 * np.cumsum(rng.standard_normal((height, width, 3)), 1), 0, 1)
    numbers, windows = np.arange(height * width).reshape(height, width), np.lib.stride_tricks.sliding_window_view
    places = windows(numbers, (3, 3)).reshape(-1, 9)
    colours = image.reshape(-1, 3)[places]
    apart = colours - colours.mean(1, keepdims=True)
    spread = np.linalg.inv(apart.transpose(0, 2, 1) @ apart / 9 + 1e-7 / 9 * np.eye(3))
    values = np.eye(9) - (1 + apart @ spread @ apart.transpose(0, 2, 1)) / 9
    rows, columns = np.broadcast_arrays(places[:, :, None], places[:, None, :])
    A = sp.coo_array((values.ravel(), (rows.ravel(), columns.ravel()))).tocsr()
    return A + sp.diags_array(100.0 * (rng.random(height * width) < scribbles))


def with_hull(change):
    """The Laplacian on triangles, whose values at some points are given: by rows of the identity, or by a penalty."""
    A, _ = simplices(2, 300, laplace, free=True)
    held = np.arange(0, 300, 7)
    if change == "penalty":
        return A + sp.coo_array((np.full(len(held), 1e20), (held, held)), shape=A.shape).tocsr()
    keep = np.ones(300)
    keep[held] = 0
    return sp.diags_array(keep) @ A + sp.diags_array(1 - keep)


def convection(rate):
    return lambda g, v: rate * laplace(g, v) + v / 3 * np.ones((3, 1)) @ (g @ [1.0, 0.3])[None, :]


def mass(g, v):
    n = len(g)
    return v / (n * (n + 1)) * (np.ones((n, n)) + np.eye(n))


MATRICES = {
    "triangles": lambda: simplices(2, 400, laplace)[0],
    "tetrahedra": lambda: simplices(3, 400, laplace)[0],
    "Q1 quadrilaterals": lambda: box(20, 1, 2),
    "Q2 quadrilaterals": lambda: box(12, 2, 2),
    "Q3 quadrilaterals": lambda: box(8, 3, 2),
    "Q1 hexahedra": lambda: box(8, 1, 3),
    "Q2 hexahedra": lambda: box(4, 2, 3),
    "Q1 bricks, flat": lambda: tensor(*[interval(8, 1, 1, 1, 1)[1:-1, 1:-1]] * 2) + 1e-6 * box(8, 1, 2),
    "mass of triangles": lambda: simplices(2, 400, mass, free=True)[0],
    "mass of tetrahedra": lambda: simplices(3, 300, mass, free=True)[0],
    "rows of the identity": lambda: with_hull("rows"),
    "penalty": lambda: with_hull("penalty"),
    "Neumann": lambda: simplices(2, 300, laplace, free=True)[0],
    "elastic triangles": lambda: simplices(2, 300, elastic, 2)[0],
    "elastic tetrahedra": lambda: simplices(3, 200, elastic, 3)[0],
    "nearly incompressible": lambda: simplices(2, 300, lambda g, v: elastic(g, v, 1, 5e3), 2)[0],
    "free elastic body": lambda: simplices(2, 200, elastic, 2, free=True)[0],
    "Stokes 4": lambda: stokes(4),
    "Stokes 9": lambda: stokes(9),
    "diffusion and convection": lambda: simplices(2, 300, convection(1e-1))[0],
    "convection": lambda: simplices(2, 300, convection(1e-4))[0],
    "Helmholtz": lambda: simplices(2, 400, lambda g, v: laplace(g, v) - 300 * mass(g, v))[0],
    "matting": lambda: matting(21, 33, 0.1),
    "matting, singular": lambda: matting(21, 33, 0),
}
SINGULAR = {"Neumann", "free elastic body", "matting, singular"}
INDEFINITE = {"Stokes 4", "Stokes 9", "Helmholtz", "convection"}  # a chain must be definite, and ILDU0 is weak where flow dominates


def relative_residual(A, x, b):
    wide = A.tocsr().astype(np.longdouble)
    apart = b.astype(np.longdouble) - wide @ x.astype(np.longdouble)
    return float(np.linalg.norm(apart) / np.linalg.norm(b.astype(np.longdouble)))


@pytest.mark.parametrize("name", MATRICES)
def test_elements(name):
    A = MATRICES[name]().tocsr()
    rng = np.random.default_rng(1)
    b = rng.standard_normal(A.shape[0]) if name in SINGULAR else A @ rng.standard_normal(A.shape[0])
    try:
        x = trifold.solve_sparse(A, b)
        sizes = abs(A) @ abs(x) + abs(b)  # the numbers that rounding is measured by, as for a direct solver
        assert relative_residual(A, x, b) * np.linalg.norm(b) < 1e-13 * np.linalg.norm(sizes)
        assert name in SINGULAR or relative_residual(A, x, b) < 1e-12
    except trifold.Error as error:
        assert name in SINGULAR | INDEFINITE, error
        assert any(way in str(error) for way in ("BiCGSTAB", "preconditioner", "Anchor", "anchor")), error
    for method in ("cg", "bicgstab"):
        for dtype, rtol in ((np.float64, 1e-8), (np.float32, 1e-5)):
            A_, b_ = A.astype(dtype), b.astype(dtype)
            try:
                solution = trifold.sparse.solve(A_, b_, method=method, check=False)
            except trifold.Error as error:
                assert "take method bicgstab" in str(error) or "preconditioner" in str(error)
                continue
            if solution.info == 0:
                assert name not in SINGULAR
                assert relative_residual(A_, solution.x, b_) <= 1.05 * rtol
            else:
                assert relative_residual(A_, solution.x, b_) <= 1.1
