"""Stencils with known answers: a dense matrix in float64 is the oracle."""

from __future__ import annotations

import numpy as np

SIZES = [(2, 2), (3, 5), (17, 9), (33, 31)]  # H, W


def around(k, height, width):
    """(rows, columns) of the pixels that have a neighbour k, and those of the neighbours."""
    dy, dx = k // 3 - 1, k % 3 - 1
    here = (slice(max(-dy, 0), height - max(dy, 0)), slice(max(-dx, 0), width - max(dx, 0)))
    there = (slice(max(dy, 0), height - max(-dy, 0)), slice(max(dx, 0), width - max(-dx, 0)))
    return here, there


def make(height, width, front=(), matrix="general", boundary="natural", dtype=np.float64, seed=0):
    """Diagonally dominant stencils. What is not to be read holds large numbers."""
    random = np.random.default_rng(seed + 100 * height + width)
    stencil = np.zeros((*front, height, width, 9))
    for k in range(9):
        here, _ = around(k, height, width)
        stencil[(..., *here, k)] = random.uniform(-1, 1, stencil[(..., *here, k)].shape)
    stencil[..., 4] = 8.5 + random.uniform(0, 1, stencil.shape[:-1])
    if matrix == "symmetric":
        unknown = unknowns(height, width, boundary)
        for k in range(5, 9):
            here, there = around(k, height, width)
            unread = unknown[here] & unknown[there]
            stencil[(..., *here, k)] = np.where(unread, 1e3, stencil[(..., *here, k)])
    if boundary == "fixed":
        stencil[..., ~unknowns(height, width, boundary), :] = 1e4
    return stencil.astype(dtype)


def unknowns(height, width, boundary):
    result = np.ones((height, width), bool)
    if boundary == "fixed":
        result[[0, -1]] = result[:, [0, -1]] = False
    return result


def rhs(height, width, front=(), columns=None, dtype=np.float64, seed=7):
    back = () if columns is None else (columns,)
    return np.random.default_rng(seed).standard_normal((*front, height, width, *back)).astype(dtype)


def entries(matrix, boundary, height, width):
    """Of each number of the stencil that is read: its place, and those that it has in A: ((y, x, k), row, column)."""
    unknown = unknowns(height, width, boundary)
    for y, x in np.argwhere(unknown):
        for k in range(9):
            to_y, to_x = y + k // 3 - 1, x + k % 3 - 1
            if not (0 <= to_y < height and 0 <= to_x < width):
                continue
            row, column = y * width + x, to_y * width + to_x
            if matrix == "general" or not unknown[to_y, to_x] or k == 4:
                yield (y, x, k), row, column
            elif k < 4:
                yield (y, x, k), row, column
                yield (y, x, k), column, row


def dense(stencil, matrix="general", boundary="natural"):
    """A as a matrix, or one for each image."""
    height, width = stencil.shape[-3:-1]
    A = np.zeros((*stencil.shape[:-3], height * width, height * width))
    for place, row, column in entries(matrix, boundary, height, width):
        A[..., row, column] = stencil[(..., *place)]
    for y, x in np.argwhere(~unknowns(height, width, boundary)):
        A[..., y * width + x, y * width + x] = 1
    return A


def solution(A, b):
    return np.linalg.solve(A, b.astype(np.float64).reshape(*A.shape[:-1], -1)).reshape(b.shape)
