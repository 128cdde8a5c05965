"""Whole solutions of sparse systems: trifold.sparse next to bicgstab with spilu's factors and with a Jacobi preconditioner.

    trifold problem sparse-rock --iterative --mesh 60x220x85 -o rock
    python tools/bench/python/sparse_systems.py --device cuda rock/A.mtx:1 128x128x128:3

Each argument is a matrix, or the cells of a mesh of 7 points, and behind the colon the rows of its blocks. On a GPU the others are CuPy's,
whose spilu with fill_factor=1 factors there, and without on the CPU; else they are SciPy's. All go on to the same tolerance, and the
residual is computed afterwards from x. "Setup" is what new matrices need (plan and compilation, or factors), "update" new values of the
same pattern. What takes longer than --limit seconds is stopped.
"""

from __future__ import annotations

import importlib
import time

import measure
import numpy as np
import scipy.io
import scipy.sparse
import trifold.sparse

TOLERANCE = 1e-8
MOST = 5000  # iterations
MOST_ENTRIES = 4_000_000  # of a matrix that is factored on the CPU


class Stopped(Exception):
    """It took too long."""


class Where:
    """The arrays and the methods of a device."""

    def __init__(self, device):
        self.on_gpu = device == "cuda"
        self.xp = importlib.import_module("cupy" if self.on_gpu else "numpy")
        self.sparse = importlib.import_module("cupyx.scipy.sparse" if self.on_gpu else "scipy.sparse")
        self.linalg = importlib.import_module("cupyx.scipy.sparse.linalg" if self.on_gpu else "scipy.sparse.linalg")

    def wait(self):
        if self.on_gpu:
            self.xp.cuda.Device().synchronize()

    def seconds(self, call):
        self.wait()
        return measure.seconds(call, lambda _: self.wait())


def mesh(cells, block, random):
    """-Laplace with some convection and random coupling within blocks, as `bench sparse` has it, in rows of blocks."""
    width, height, depth = (int(side) for side in cells.split("x"))
    one, kron = scipy.sparse.eye_array, scipy.sparse.kron

    def along(side, before, after):
        return before * one(side, k=-1) + after * one(side, k=1)

    rows = scipy.sparse.csr_array(
        6.05 * one(width * height * depth)
        + kron(one(height * depth), along(width, -1.1, -0.9))
        + kron(one(depth), kron(along(height, -1, -1), one(width)))
        + kron(along(depth, -1, -1), one(width * height))
    )
    rows.sort_indices()
    values = random.uniform(-0.1, 0.1, (rows.nnz, block, block)) if block > 1 else np.zeros((rows.nnz, 1, 1))
    values[rows.data == 6.05] *= 3
    values += rows.data[:, None, None] * np.eye(block)
    return scipy.sparse.bsr_array((values, rows.indices, rows.indptr))


def matrix(text, random):
    name, _, block = text.rpartition(":")
    if name.endswith(".mtx"):
        return name, int(block), scipy.sparse.csr_array(scipy.io.mmread(name))
    return name, int(block), mesh(name, int(block), random)


class Case:
    """A system on the device, on which solvers take turns."""

    def __init__(self, name, block, A, where, limit, random):
        self.name, self.block, self.where, self.limit = name, block, where, limit
        self.of_host = A
        numbers = scipy.sparse.csr_matrix(A)
        self.A = where.sparse.csr_matrix(numbers)
        self.b = where.xp.asarray(random.uniform(-1, 1, A.shape[0]))

    def residual(self, x):
        return float(self.where.xp.linalg.norm(self.b - self.A @ x) / self.where.xp.linalg.norm(self.b))

    def ours(self, **options):
        rows = self.of_host
        if rows.format != "bsr" and self.block > 1:
            rows = scipy.sparse.bsr_array(rows, blocksize=(self.block, self.block))
        device = "cuda:0" if self.where.on_gpu else "cpu"
        setup, solver = self.where.seconds(lambda: trifold.sparse.Solver(rows, block=self.block, device=device, **options))
        values = self.where.xp.asarray(rows.data)
        solver.update(values)
        update, _ = self.where.seconds(lambda: solver.update(values))
        solver.solve(self.b, rtol=TOLERANCE)
        seconds, solution = self.where.seconds(lambda: solver.solve(self.b, rtol=TOLERANCE))
        return self.row(setup, update, seconds, solution.worst.iterations, solution.x, str(solution.worst.end))

    def row(self, setup, update, seconds, iterations, x, end):
        row = {"setup_s": setup, "update_s": update, "solution_s": seconds, "iterations": iterations}
        return {**row, "residual": self.residual(x), "end": end}

    def theirs(self, prepare):
        """bicgstab with what prepare() gives."""
        setup, M = self.where.seconds(prepare)
        steps, begin = 0, time.perf_counter()

        def count(x):
            nonlocal steps, last
            steps, last = steps + 1, x
            if time.perf_counter() - begin > self.limit:
                raise Stopped

        last, end = 0 * self.b, "converged"
        try:
            seconds, (last, info) = self.where.seconds(
                lambda: self.where.linalg.bicgstab(self.A, self.b, rtol=TOLERANCE, maxiter=MOST, M=M, callback=count)
            )
            end = "converged" if info == 0 else f"info {info}"
        except Stopped:
            seconds, end = time.perf_counter() - begin, "stopped"
        return self.row(setup, setup, seconds, steps, last, end)

    def operator(self, call):
        return self.where.linalg.LinearOperator(self.A.shape, matvec=call, dtype=self.A.dtype)

    def jacobi(self):
        inverse = 1 / self.A.diagonal()
        return self.operator(lambda r: inverse * r.ravel())

    def spilu(self, **options):
        A = self.A if self.where.on_gpu else self.A.tocsc()
        factors = self.where.linalg.spilu(A, **options)
        return self.operator(lambda r: factors.solve(r.ravel()))


def contenders_of(case):
    all_of_them = {
        "trifold": case.ours,
        "trifold, mixed": lambda: case.ours(dtype="mixed"),
        "jacobi": lambda: case.theirs(case.jacobi),
    }
    if case.where.on_gpu:
        all_of_them["spilu, fill_factor=1"] = lambda: case.theirs(lambda: case.spilu(fill_factor=1))
    if case.A.nnz <= MOST_ENTRIES:
        all_of_them["spilu"] = lambda: case.theirs(case.spilu)
    return all_of_them


def main(arguments=None):
    parser = measure.parser(__doc__)
    parser.add_argument("systems", nargs="*", help="A.mtx:BLOCK or WIDTHxHEIGHTxDEPTH:BLOCK")
    parser.add_argument("--limit", type=float, default=20, help="seconds that one solution may take")
    parser.add_argument("--leave-out", nargs="*", default=[], help="solvers that do not take part")
    options = parser.parse_args(arguments)
    where = Where(options.device)
    random = np.random.default_rng(1)
    columns = ["system", "solver", "setup", "update", "solution", "iterations", "residual", "end"]
    table = measure.Table("Solutions to a residual of 1e-8", columns)
    for text in options.systems or (["8x7x6:3", "9x9x9:1"] if options.small else ["128x128x128:3"]):
        case = Case(*matrix(text, random), where, options.limit, random)
        for name, run in contenders_of(case).items():
            if name in options.leave_out:
                continue
            try:
                row = run()
            except Exception as error:  # a peer that fails must not end the others
                if name.startswith("trifold"):
                    raise
                row = {"end": f"{type(error).__name__}: {error}"}
            table.add(system=case.name, solver=name, block=case.block, **row)
    return measure.write(options, table)


if __name__ == "__main__":
    main()
