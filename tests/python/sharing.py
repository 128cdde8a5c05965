"""Work on several ranks: threads and processes, where their arrays are, and what is tested in each place."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import trifold
from faces import tolerances
from problems import blocks_of_inverse, dense, make, rhs, solution

PROGRAM = Path(__file__).with_name("rank_program.py")
SECONDS = 120  # that processes may take
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch")
needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or shutil.which("mpirun") is None, reason="no mpi4py, or no mpirun"
)
KINDS = [pytest.param("mpi", marks=needs_mpi), pytest.param("gloo", marks=needs_torch)]


class Host:
    """Ranks on processors, with arrays of NumPy."""

    def put(self, array, rank):
        return array

    def get(self, array):
        return np.asarray(array)

    def current(self, rank):
        return contextlib.nullcontext()

    def options(self, rank):
        """Arguments of trifold.ranks that say where."""
        return {}


class Torch(Host):
    def __init__(self):
        self.library = pytest.importorskip("torch")
        if not self.library.cuda.is_available():
            pytest.skip("this torch has no CUDA")

    def put(self, array, rank):
        return self.library.from_numpy(np.ascontiguousarray(array)).to(f"cuda:{rank}")

    def get(self, array):
        return array.cpu().numpy()

    def current(self, rank):
        return self.library.cuda.device(rank)

    def options(self, rank):
        return {"device": f"cuda:{rank}"}


class Cupy(Host):
    def __init__(self, library=None):
        self.library = library or pytest.importorskip("cupy")

    def put(self, array, rank):
        with self.current(rank):
            return self.library.asarray(array)

    def get(self, array):
        return array.get()

    def current(self, rank):
        return self.library.cuda.Device(rank)

    def options(self, rank):
        return {"device": f"cuda:{rank}"}


class Jax(Cupy):
    """Arrays of JAX, which CuPy reads and makes."""

    def __init__(self):
        super().__init__()
        self.jax = pytest.importorskip("jax")
        if self.jax.default_backend() != "gpu":
            pytest.skip("this JAX has no CUDA")
        self.jax.config.update("jax_enable_x64", True)

    def put(self, array, rank):
        return self.jax.device_put(array, self.jax.devices()[rank])

    def get(self, array):
        return np.asarray(array) if isinstance(array, self.jax.Array) else array.get()


def on_ranks(count, work, timeout=30.0):
    """What work(transport) returns or raises on each rank."""
    local = trifold.LocalRanks(count, timeout)
    results = [None] * count

    def run(rank, transport):
        try:
            results[rank] = work(transport)
        except trifold.Error as error:
            results[rank] = error.with_traceback(None)
        except BaseException as error:  # such as what pytest.raises raises
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank, local.take(rank))) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, trifold.Error):
            raise result
    return results


def sound(results):
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results


def own(chain, array, couplings=False):
    axis = 1 if array.ndim == 4 else 0
    count = chain.couplings if couplings else chain.blocks
    return array.take(range(chain.first, chain.first + count), axis)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def on_processes(kind, count, *words):
    """Exit codes and what was printed. Processes of torch are started one by one, as a launcher would."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(count),
    }
    command = [sys.executable, str(PROGRAM), kind, *words]
    if kind == "mpi":
        done = subprocess.run(["mpirun", "-n", str(count), *command], env=environment, capture_output=True, text=True, timeout=SECONDS)
        return [done.returncode], done.stdout + done.stderr
    processes = [
        subprocess.Popen(command, env={**environment, "RANK": str(rank)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for rank in range(count)
    ]
    try:
        printed = [process.communicate(timeout=SECONDS)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [process.returncode for process in processes], "".join(printed)


def makes_chain(place, transport, **options):
    return trifold.ranks(transport, **place.options(transport.rank), **options)


def parts(place, chain, *arrays):
    """This rank's of D, E and b, where the ranks are."""
    return [place.put(array, chain.rank) for array in owned(chain, *arrays)]


def owned(chain, D, E, b):
    """This rank's of D, E and b, of which b may have more axes than own() can tell from a batch."""
    right = slice(chain.first, chain.first + chain.blocks)
    return own(chain, D), own(chain, E, True), b[:, right] if D.ndim == 4 else b[right]


def all_calls(place, count, columns=None, dtype="float64", n=4, horizon=15):
    D, E = make(n, horizon, dtype=dtype)
    b = rhs(n, horizon, columns=columns, dtype=dtype)
    (diagonal, lower), near = blocks_of_inverse(D, E), tolerances(np.dtype(dtype))

    def work(transport):
        with place.current(transport.rank):
            chain = makes_chain(place, transport, block=n, horizon=horizon, dtype=dtype, rhs=columns or 1)
            of_D, of_E, of_b = parts(place, chain, D, E, b)
            x = chain.factor_solve(of_D, of_E, of_b, check=True)
            quadratic = chain.quadratic()
            assert type(x) is type(of_b)
            chain.factor(of_D, of_E)
            for _ in range(3):  # on a GPU the second is recorded, and the third is its graph
                np.testing.assert_array_equal(place.get(chain.solve(of_b)), place.get(x))
            for y in (chain.factor_forward(of_D, of_E, of_b), chain.forward(of_b)):
                np.testing.assert_allclose(place.get(chain.backward(y)), place.get(x), **near)
            inverse = chain.selected_inverse()
            assert chain.status().block == -1
            np.testing.assert_allclose(place.get(inverse[0]), own(chain, diagonal), **near)
            np.testing.assert_allclose(place.get(inverse[1]), own(chain, lower, True), **near)
            following, end = chain.next_block(of_b), chain.first + chain.blocks
            assert (following is None) == (end == horizon)
            assert following is None or np.array_equal(place.get(following).reshape(b[end].shape), b[end])
            return place.get(x), place.get(chain.log_determinant()), place.get(quadratic)

    expected = solution(D, E, b)
    results = sound(on_ranks(count, work))
    np.testing.assert_allclose(np.concatenate([x for x, _, _ in results]), expected, **near)
    squares = np.einsum("ik...,ik...->...", b.astype(float), expected)
    for _, logs, quadratic in results:
        assert logs.dtype == quadratic.dtype == np.float64
        np.testing.assert_allclose(logs, np.linalg.slogdet(dense(D, E))[1], rtol=near["rtol"])
        np.testing.assert_allclose(quadratic, squares, rtol=10 * near["rtol"])


def batches_with_shifts_and_masks(place, count, n=3, horizon=8, call=None):
    """call: factor_solve, or what calls it elsewhere."""
    D, E, b = *make(n, horizon, 4), rhs(n, horizon, 4)
    shift, active = np.array([0.0, 1, 2, 3]), np.array([True, True, False, True])

    def work(transport):
        rank = transport.rank
        with place.current(rank):
            chain = makes_chain(place, transport, block=n, horizon=horizon, batch=5)
            arrays = parts(place, chain, D, E, b)
            out = place.put(np.full((4, chain.blocks, n), 7.0), rank)
            given = {"shift": place.put(shift, rank), "active": place.put(active, rank)}
            (call or trifold.RankSolver.factor_solve)(chain, *arrays, out, **given)
            assert chain.status().floors.tolist() == [0, 0, -1, 0]
            return place.get(out)

    x = np.concatenate(sound(on_ranks(count, work)), 1)
    expected = solution(D + shift[:, None, None, None] * np.eye(n), E, b)
    np.testing.assert_allclose(x[active], expected[active], rtol=1e-9)
    assert (x[2] == 7).all()


def refinement_of_single_precision(place, count, columns=None, n=6, horizon=17):
    D, E, b = *make(n, horizon, 2), rhs(n, horizon, 2, columns)
    shift = np.array([0.0, 1.0])

    def work(transport):
        rank = transport.rank
        with place.current(rank):
            chain = makes_chain(place, transport, block=n, horizon=horizon, dtype="float32", batch=2, rhs=columns or 1)
            arrays = owned(chain, D, E, b)
            narrow, wide = ([place.put(array.astype(type_), rank) for array in arrays] for type_ in (np.float32, np.float64))
            x = chain.factor_solve(*narrow, shift=place.put(shift.astype(np.float32), rank))
            x = place.put(place.get(x).astype(np.float64), rank)
            for arguments, words in (
                ((*wide, None), "x is None; give the solution that is to be corrected"),
                ((*wide, narrow[2]), "x is .*; give float64"),
                ((narrow[0], *wide[1:], x), "E is .*; these ranks take float32"),
            ):
                with pytest.raises(trifold.SpecError, match=words):
                    chain.refine(*arguments)
            refined = chain.refine(*wide, x, shift=place.put(shift, rank))
            assert refined.converged.all() and (refined.iterations > 0).all()
            return place.get(x)

    expected = solution(D + shift[:, None, None, None] * np.eye(n), E, b)
    np.testing.assert_allclose(np.concatenate(sound(on_ranks(count, work)), 1), expected, rtol=1e-12, atol=1e-13)


def not_positive_definite(place, count):
    """All ranks name the block."""
    D, E, b = *make(3, 7), rhs(3, 7)
    D[5, 1, 1] = -1

    def work(transport):
        rank = transport.rank
        with place.current(rank):
            chain = makes_chain(place, transport, block=3, horizon=7)
            if place.options(rank):
                with pytest.raises(trifold.SpecError, match="D is on the CPU and ranks are on GPU .; copy the array there"):
                    chain.factor_solve(own(chain, D), own(chain, E, True), own(chain, b))
                x = chain.factor_solve(*parts(place, chain, D, E, b))  # on a GPU calls look at the status only where they are told to
                assert np.isnan(place.get(x)).any()
            chain.factor_solve(*parts(place, chain, D, E, b), check=True)

    for error in on_ranks(count, work):
        assert isinstance(error, trifold.NotPositiveDefinite), repr(error)
        assert (error.block, error.row) == (5, 1)


def a_rank_hangs(count, make_solver, solve, timeout=1.0):
    """The others' errors name it. The last of them to wait sets it free."""
    done = threading.Event()

    def work(transport):
        rank, solver = transport.rank, make_solver(transport)
        solve(solver)
        if rank == 1:
            return done.wait(60)
        begin = time.monotonic()
        try:
            return solve(solver)
        finally:
            assert time.monotonic() - begin < 20
            done.set()

    errors = on_ranks(count, work, timeout)
    for error in errors[:1] + errors[2:]:
        assert isinstance(error, trifold.RankError), repr(error)
        assert error.rank == 1


def ranks_disagree(count, make_solver, right, wrong, words, culprit=1, timeout=30.0):
    """make_solver(transport, **arguments): the others' errors name the rank that has other arguments."""
    for rank, error in enumerate(on_ranks(count, lambda t: make_solver(t, **(wrong if t.rank == culprit else right)), timeout)):
        if rank == culprit and isinstance(error, (trifold.SpecError, trifold.DeviceError)):
            continue
        assert isinstance(error, trifold.RankError), error
        assert error.rank == culprit
        assert words in str(error)


def processes(kind, count, *words, says, codes=None):
    """Processes that end so, and the words that they say, with how often."""
    ended, printed = on_processes(kind, count, *words)
    assert ended == codes if codes else not any(ended), printed
    assert printed.count(says[0]) == says[1], printed
