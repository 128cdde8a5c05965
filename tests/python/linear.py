"""Tests of images and sparse matrices that are the same for both, and for each library: x = A^-1 b, where values stand for entries of
A, and its derivatives by both, against dense algebra in NumPy."""

from __future__ import annotations

import grids
import numpy as np
import pytest
from faces import all_close, close, stepped
from problems import weights_of

TIGHT = {"rtol": 1e-13}


class Images:
    """Stencils of one kind, and their solutions by a face."""

    def __init__(self, face, size, matrix, boundary, dtype=np.float64, front=(), columns=None):
        self.face, self.options = face, {"matrix": matrix, "boundary": boundary}
        self.values = grids.make(*size, front, matrix, boundary, dtype)
        self.b, self.by_x = (grids.rhs(*size, front, columns, dtype, seed) for seed in (7, 3))
        self.tolerance = 1e-12 if dtype == np.float64 else 1e-5
        read = list(grids.entries(matrix, boundary, *size))
        self.index = np.array([np.ravel_multi_index(place, (*size, 9)) for place, _, _ in read])
        self.rows, self.columns = (np.array([entry[k] for entry in read]) for k in (1, 2))

    def dense(self, values):
        return grids.dense(values, **self.options)

    def solve(self, values, b):
        return self.face.module.grid.solve(values, b, **self.options)

    def ways(self, values, b):
        """Each way to a solution, and to one with A' behind them."""
        if self.face.name != "torch":
            return (self.solve(values, b),)
        f = self.face.module.grid.factor(values, rhs=2, **self.options)
        return self.solve(values, b), f.solve(b), f.solve_transposed(b)

    def many(self, count):
        return grids.make(*self.values.shape[-3:-1], (count, *self.values.shape[:-3]), **self.options)


class Entries:
    """Places of the values of a csr or bsr matrix."""

    def __init__(self, A):
        place = A.copy()
        place.data = np.arange(1, A.data.size + 1).reshape(A.data.shape)
        place = place.tocoo()
        self.A, self.index, (self.rows, self.columns) = A, place.data - 1, place.coords

    def dense(self, values):
        A = np.zeros(self.A.shape)
        A[self.rows, self.columns] = np.asarray(values, np.float64).ravel()[self.index]
        return A


class Sparse(Entries):
    """Values of a pattern, and their solutions by a face."""

    tolerance = 1e-9

    def __init__(self, face, A, b, **options):
        super().__init__(A)
        self.face, self.values, self.b, self.by_x = face, A.data, b, weights_of([b])[0]
        self.solver = face.module.sparse.Solver(face.sparse(A), **options)

    def solve(self, values, b):
        return self.solver.solve(values, b, **TIGHT)

    def ways(self, values, b):
        if self.face.name != "torch":
            return (self.solve(values, b),)
        return self.solve(values, b), self.solve(values, b), self.solver.solve_transposed(values, b, **TIGHT)

    def many(self, count):
        return self.values * np.linspace(1, 2, count).reshape(-1, *[1] * self.values.ndim)


def slopes(case, values, b, by_x, transposed=False):
    """x, and the gradients of its products with by_x by values and by b."""
    A = case.dense(values)
    A = A.swapaxes(-1, -2) if transposed else A
    flat_b, flat_by_x = (array.astype(np.float64).reshape(*A.shape[:-1], -1) for array in (b, by_x))
    x, w = np.linalg.solve(A, flat_b), np.linalg.solve(A.swapaxes(-1, -2), flat_by_x)
    left, right = (x, w) if transposed else (w, x)
    of_values = np.zeros((*A.shape[:-2], np.size(values) // int(np.prod(A.shape[:-2]))))
    np.add.at(of_values, (..., case.index), -(left[..., case.rows, :] * right[..., case.columns, :]).sum(-1))
    return x.reshape(b.shape), of_values.reshape(np.shape(values)), w.reshape(b.shape)


def of_ways(case, values, b, weights):
    """Solutions by all ways, and the gradients of the sum of their products with weights."""
    found = [slopes(case, values, b, weight, way == 2) for way, weight in enumerate(weights)]
    return [x for x, _, _ in found], [sum(part) for part in zip(*(rest for _, *rest in found))]


class Linear:
    """For classes that have the fixtures face, case and small, a case of float64 without a batch axis of its own."""

    def weights(self, case):
        return [case.by_x * (1 + way) for way in range(3 if case.face.name == "torch" else 1)]

    def test_gradients(self, case):
        weights = self.weights(case)
        xs, expected = of_ways(case, case.values, case.b, weights)
        values, gradients = case.face.values_and_gradients(case.ways, (case.values, case.b), weights)
        assert all(array.dtype == case.values.dtype for array in (*values, *gradients))
        all_close(values, xs, case.tolerance)
        all_close(gradients, expected, case.tolerance)
        if case.face.name == "torch":  # a backward pass with a graph of its own takes another way
            again = case.face.values_and_gradients(case.ways, (case.values, case.b), weights, graph=True)[1]
            all_close(again, expected, case.tolerance)

    def test_gradients_by_one_array(self, small):
        expected = slopes(small, small.values, small.b, small.by_x)[1:]
        for k in (0, 1):
            found = small.face.values_and_gradients(lambda *a: (small.solve(*a),), (small.values, small.b), [small.by_x], [k])[1]
            close(found[0], expected[k])

    def test_second_derivatives(self, small):
        """Derivatives of gradients along a change, against differences of the oracle's."""
        weights = self.weights(small)
        change = np.zeros(small.values.size)
        change[small.index] = np.random.default_rng(2).standard_normal(len(small.index))
        changes = change.reshape(small.values.shape), weights_of([small.b], 6)[0]
        expected = stepped(lambda *a: of_ways(small, *a, weights)[1], (small.values, small.b), changes)
        all_close(small.face.along(small.ways, (small.values, small.b), weights, changes), expected, 1e-6)

    @pytest.mark.parametrize("axes", [(0, 0), (None, 0), (0, None), (0, -1), (1, 0)])
    def test_vmap(self, small, axes):
        """A batch equals its members alone; gradients of what has no axis are sums over them."""
        count, face = 3, small.face
        arrays = [small.many(count), np.stack([small.b * (1 + k) for k in range(count)])]
        arrays = [array if axis is not None else array[0] for array, axis in zip(arrays, axes)]
        members = [[array[k] if axis is not None else array for array, axis in zip(arrays, axes)] for k in range(count)]
        weights = [np.stack([small.by_x * (2 + k) for k in range(count)])]
        found = [slopes(small, *one, weights[0][k]) for k, one in enumerate(members)]
        given = [array if axis is None else np.moveaxis(array, 0, axis) for array, axis in zip(arrays, axes)]
        values, gradients = face.values_and_gradients(face.vmap(lambda *a: (small.solve(*a),), axes), given, weights)
        close(values[0], np.stack([x for x, _, _ in found]))
        for gradient, theirs, axis in zip(gradients, zip(*(rest for _, *rest in found)), axes):
            close(gradient, np.sum(theirs, 0) if axis is None else np.moveaxis(np.stack(theirs), 0, axis))

    def test_transforms_in_each_other(self, small):
        face, values = small.face, small.many(3)
        b = np.stack([small.b * (1 + k) for k in range(3)])

        def total(values, b):
            return (face.give(small.by_x) * small.solve(values, b)).sum()

        mine = face.compiled(face.vmap(face.grad(total, (0, 1))))(face.give(values), face.give(b))
        expected = zip(*(slopes(small, values[k], b[k], small.by_x)[1:] for k in range(3)))
        for one, theirs in zip(mine, map(np.stack, expected)):
            close(face.get(one), theirs)
        A = small.dense(small.values)
        if small.b.size == len(A):
            jacobian = face.jacobian(small.solve, 1)(face.give(small.values), face.give(small.b))
            close(face.get(jacobian).reshape(A.shape), np.linalg.inv(A))
