"""trifold.ranks: threads, processes of MPI, and processes of torch.distributed, against NumPy."""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import trifold
from problems import blocks_of_inverse, dense, make, rhs, solution

PROGRAM = Path(__file__).with_name("rank_program.py")
SECONDS = 120  # that processes may take
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch")
needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or shutil.which("mpirun") is None, reason="no mpi4py, or no mpirun"
)


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


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("columns", [None, 3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_all_calls_on_threads(count, columns, dtype):
    D, E = make(4, 15, dtype=dtype)
    b = rhs(4, 15, columns=columns, dtype=dtype)
    diagonal, lower = blocks_of_inverse(D, E)

    def work(transport):
        chain = trifold.ranks(transport, block=4, horizon=15, dtype=dtype, rhs=columns or 1)
        of_D, of_E, of_b = own(chain, D), own(chain, E, True), own(chain, b)
        x = chain.factor_solve(of_D, of_E, of_b)
        quadratic = chain.quadratic()
        chain.factor(of_D, of_E)
        np.testing.assert_array_equal(chain.solve(of_b), x)
        np.testing.assert_allclose(chain.backward(chain.factor_forward(of_D, of_E, of_b)), x, rtol=1e-4)
        np.testing.assert_allclose(chain.backward(chain.forward(of_b)), x, rtol=1e-4)
        inverse = chain.selected_inverse()
        assert chain.status().block == -1
        tight = 1e-3 if dtype == "float32" else 1e-9
        np.testing.assert_allclose(inverse[0], own(chain, diagonal), rtol=tight, atol=tight / 10)
        np.testing.assert_allclose(inverse[1], own(chain, lower, True), rtol=tight, atol=tight / 10)
        return x, chain.log_determinant(), quadratic

    expected = solution(D, E, b)
    results = sound(on_ranks(count, work))
    tight = 1e-4 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(np.concatenate([x for x, _, _ in results]), expected, rtol=tight, atol=tight)
    squares = np.einsum("ik...,ik...->...", b.astype(float), expected)
    for _, logs, quadratic in results:
        np.testing.assert_allclose(logs, np.linalg.slogdet(dense(D, E))[1], rtol=tight)
        np.testing.assert_allclose(quadratic, squares, rtol=10 * tight)


def test_batches_with_shifts_and_masks():
    D, E, b = *make(3, 8, 4), rhs(3, 8, 4)
    shift, active = np.array([0.0, 1, 2, 3]), np.array([True, True, False, True])

    def work(transport):
        chain = trifold.ranks(transport, block=3, horizon=8, batch=5)
        out = np.full((4, chain.blocks, 3), 7.0)
        chain.factor_solve(
            own(chain, D), own(chain, E, True), b[:, chain.first : chain.first + chain.blocks], out, shift=shift, active=active
        )
        assert chain.status().floors.tolist() == [0, 0, -1, 0]
        return out

    x = np.concatenate(sound(on_ranks(3, work)), 1)
    shifted = D + shift[:, None, None, None] * np.eye(3)
    expected = solution(shifted, E, b)
    np.testing.assert_allclose(x[active], expected[active], rtol=1e-9)
    assert (x[2] == 7).all()


def test_bits_of_one_device():
    D, E, b = *make(6, 21), rhs(6, 21)
    plan = trifold.Plan(block=6, horizon=21, schedule="twisted:2", variant="tile", any_size=True)

    def work(transport):
        chain = trifold.ranks(transport, block=6, blocks=[10, 11][transport.rank])
        return chain.factor_solve(own(chain, D), own(chain, E, True), own(chain, b))

    x = np.concatenate(sound(on_ranks(2, work)))
    np.testing.assert_array_equal(x, plan.solver().factor_solve(D, E, b))


@pytest.mark.parametrize("columns", [None, 2])
def test_refinement_of_single_precision(columns):
    D, E, b = *make(6, 17, 2), rhs(6, 17, 2, columns)

    def work(transport):
        chain = trifold.ranks(transport, block=6, horizon=17, dtype="float32", batch=2, rhs=columns or 1)
        wide = own(chain, D), own(chain, E, True), b[:, chain.first : chain.first + chain.blocks]
        x = chain.factor_solve(*(array.astype(np.float32) for array in wide)).astype(np.float64)
        refined = chain.refine(*wide, x)
        assert refined.converged.all() and (refined.iterations > 0).all()
        for arguments, words in (
            ((*wide, None), "x is None; give the solution that is to be corrected"),
            ((*wide, x.astype(np.float32)), "x is .*; give float64"),
            ((wide[0].astype(np.float32), *wide[1:], x), "E is .*; these ranks take float32"),
        ):
            with pytest.raises(trifold.SpecError, match=words):
                chain.refine(*arguments)
        return x

    np.testing.assert_allclose(np.concatenate(sound(on_ranks(3, work)), 1), solution(D, E, b), rtol=1e-12, atol=1e-13)


def test_a_last_rank_of_one_block_refines():
    D, E, b = *make(3, 4), rhs(3, 4)

    def work(transport):
        chain = trifold.ranks(transport, block=3, blocks=[3, 1][transport.rank])
        mine = own(chain, D), own(chain, E, True), own(chain, b)
        x = chain.factor_solve(*mine)
        assert chain.refine(*mine, x).converged
        return x

    np.testing.assert_allclose(np.concatenate(sound(on_ranks(2, work))), solution(D, E, b), rtol=1e-12)


def test_a_transport_of_the_callers():
    """Queues, as anyone may write them."""
    import queue

    boxes = [[queue.Queue() for _ in range(2)] for _ in range(2)]

    class Mine:
        ranks = 2

        def __init__(self, rank):
            self.rank = rank

        def send(self, to, data):
            boxes[to][self.rank].put(bytes(data))

        def receive(self, source, data):
            data[:] = boxes[self.rank][source].get(timeout=60)

    D, E, b = *make(3, 9), rhs(3, 9)

    def work(transport):
        chain = trifold.ranks(Mine(transport.rank), block=3, horizon=9)
        return chain.factor_solve(own(chain, D), own(chain, E, True), own(chain, b))

    np.testing.assert_allclose(np.concatenate(sound(on_ranks(2, work))), solution(D, E, b), rtol=1e-10)


def test_errors_of_a_callers_transport_come_back():
    class Broken:
        rank, ranks = 1, 2

        def send(self, to, data):
            raise ConnectionError("the cable is out")

        receive = send

    with pytest.raises(ConnectionError, match="cable"):
        trifold.ranks(Broken(), block=3, horizon=9)


def test_a_chain_that_is_not_positive_definite_names_its_block():
    D, E, b = *make(3, 9), rhs(3, 9)
    D[6, 1, 1] = -1

    def work(transport):
        chain = trifold.ranks(transport, block=3, horizon=9)
        return chain.factor_solve(own(chain, D), own(chain, E, True), own(chain, b))

    for error in on_ranks(3, work):
        assert isinstance(error, trifold.NotPositiveDefinite)
        assert (error.block, error.row) == (6, 1)


def test_arrays_that_do_not_fit():
    chain = trifold.ranks(trifold.LocalRanks(1).take(0), block=3, horizon=4)
    D, E, b = *make(3, 4), rhs(3, 4)
    for arguments, words in (
        ((D[:3], E, b), r"D has shape \(3, 3, 3\), and rank 0 holds 4 of 4 blocks, from 0 on; give \(4, 3, 3\)"),
        ((D, D, b), r"E has shape \(4, 3, 3\); give \(3, 3, 3\): the last rank has one block less than D"),
        ((D, None, b), r"E is missing; give \(3, 3, 3\)"),
        ((D, E, b[:2]), r"b has shape \(2, 3\); give \(4, 3\), or \(4, 3, m\)"),
        ((D.astype("f4"), E, b), "D is .*float32.*; these ranks take float64"),
        ((D[None].repeat(2, 0), E, b), "D has 2 members; these ranks take 1 to 1. Give a larger batch to trifold.ranks"),
    ):
        with pytest.raises(trifold.SpecError, match=words):
            chain.factor_solve(*arguments)
    with pytest.raises(trifold.SpecError, match="needs a factorization"):
        chain.solve(b)


def test_arguments_that_do_not_fit():
    def take():
        return trifold.LocalRanks(1).take(0)

    for arguments, words in (
        ({"block": 3}, "give horizon, .* or blocks"),
        ({"block": 3, "horizon": 4, "blocks": 4}, "one of the two"),
        ({"block": 3, "horizon": 0}, "horizon = 0 is out of range"),
        ({"block": 3, "horizon": 4, "timeout": 3}, "give it to LocalRanks"),
        ({"block": 3, "horizon": 4, "schedule": 2}, "schedule = 2 is no text"),
        ({"block": 3, "horizon": 4, "dtype": "mixed"}, "precision"),
        ({"block": 3, "horizon": 4, "device": "gpu"}, "gpu"),
        ({"block": 3, "horizon": 4, "nccl": 4096}, "a communicator of NCCL is for GPUs; give device='cuda:0' or its like with it"),
        ({"block": 3, "horizon": 4, "nccl": 0}, "nccl = 0 is no address of an ncclComm_t"),
        ({"block": 3, "horizon": 4, "nccl": "world"}, "nccl = 'world' is no address of an ncclComm_t; give it as an integer above 0"),
    ):
        with pytest.raises(trifold.SpecError, match=words):
            trifold.ranks(take(), **arguments)
    with pytest.raises(trifold.SpecError, match="a int is no communicator"):
        trifold.ranks(3, block=3, horizon=4)
    taken = take()
    trifold.ranks(taken, block=3, horizon=4)
    with pytest.raises(trifold.SpecError, match="belongs to a solver already"):
        trifold.ranks(taken, block=3, horizon=4)
    with pytest.raises(trifold.SpecError, match="give at least 1"):
        trifold.LocalRanks(0)


@pytest.mark.parametrize(
    "arguments, culprit, words",
    [
        ({"block": 4, "horizon": 9}, 1, "rank 1 has"),
        ({"block": 3, "blocks": 3}, 1, "rank 1 has given its own blocks"),
        ({"block": 3, "horizon": "nine"}, 1, "arguments were refused"),
        ({"block": 3, "horizon": 9, "device": "cuda:99"}, 1, "arguments were refused"),
    ],
)
def test_ranks_that_disagree_are_named(arguments, culprit, words):
    def work(transport):
        return trifold.ranks(transport, **(arguments if transport.rank == culprit else {"block": 3, "horizon": 9}))

    for rank, error in enumerate(on_ranks(3, work)):
        if rank == culprit and isinstance(error, (trifold.SpecError, trifold.DeviceError)):
            continue
        assert isinstance(error, trifold.RankError)
        assert error.rank == culprit
        assert words in str(error)


def test_a_rank_that_hangs_is_named():
    D, E, b = *make(3, 9), rhs(3, 9)
    done = threading.Event()

    def work(transport):
        chain = trifold.ranks(transport, block=3, horizon=9)
        if chain.rank == 1:
            return done.wait(60)
        try:
            return chain.factor_solve(own(chain, D), own(chain, E, True), own(chain, b))
        finally:
            done.set()

    first, _, last = on_ranks(3, work, timeout=1.0)
    for error in (first, last):
        assert isinstance(error, trifold.RankError)
        assert error.rank == 1


@needs_torch
def test_gradients_on_threads():
    torch = pytest.importorskip("torch")
    import trifold.torch as tt

    D, E, b = (torch.from_numpy(array) for array in (*make(4, 11, 2), rhs(4, 11, 2, 3)))
    weights = torch.from_numpy(rhs(4, 11, 2, 3, seed=3))

    def whole(solve):
        leaves = [array.clone().requires_grad_() for array in (D, E, b)]
        (solve(*leaves) * weights).sum().backward()
        return [leaf.grad for leaf in leaves]

    expected = whole(tt.solve)

    def work(transport):
        chain = tt.ranks(transport, block=4, horizon=11, batch=2, rhs=3)
        first, last = chain.solver.first, chain.solver.first + chain.solver.blocks

        def part(array, count=chain.solver.blocks):
            return array[:, first : first + count]

        couplings = chain.solver.couplings
        leaves = [part(D).clone().requires_grad_(), part(E, couplings).clone().requires_grad_(), part(b).clone().requires_grad_()]
        x = chain.solve(*leaves)
        chain.solve(2 * leaves[0].detach(), leaves[1].detach(), leaves[2].detach())  # another factorization in between
        (x * weights[:, first:last]).sum().backward()
        for leaf, all_ranks, count in zip(leaves, expected, (last - first, couplings, last - first)):
            torch.testing.assert_close(leaf.grad, part(all_ranks, count), rtol=1e-9, atol=1e-11)

    sound(on_ranks(3, work))


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


@pytest.mark.parametrize("kind", [pytest.param("mpi", marks=needs_mpi), pytest.param("gloo", marks=needs_torch)])
@pytest.mark.parametrize("count", [2, 3])
def test_processes(kind, count):
    codes, printed = on_processes(kind, count, "solve")
    assert not any(codes), printed
    assert printed.count("is right") == count


@pytest.mark.parametrize("kind", [pytest.param("mpi", marks=needs_mpi), pytest.param("gloo", marks=needs_torch)])
def test_a_process_that_hangs_is_named(kind):
    codes, printed = on_processes(kind, 3, "hang", "1")
    assert not any(codes), printed
    assert printed.count("says: rank 1 has ended, or has not answered") == 2, printed


@pytest.mark.parametrize("kind", [pytest.param("mpi", marks=needs_mpi), pytest.param("gloo", marks=needs_torch)])
def test_processes_that_disagree(kind):
    codes, printed = on_processes(kind, 3, "differ", "1")
    assert not any(codes), printed
    assert printed.count("says: rank 1 has") == 3, printed


@needs_torch
def test_a_process_that_is_killed_is_named():
    codes, printed = on_processes("gloo", 4, "kill", "1")
    assert codes == [0, -9, 0, 0], printed
    assert printed.count("says: rank 1 has ended") == 3, printed


@needs_mpi
def test_mpi_ends_all_where_a_process_is_killed():
    codes, printed = on_processes("mpi", 3, "kill", "1")
    assert codes[0] != 0
    assert "is right" not in printed


@needs_mpi
def test_no_communicator():
    code = """
import trifold, trifold.sparse, scipy.sparse
from mpi4py import MPI
A = scipy.sparse.eye_array(4)
for call in (lambda: trifold.ranks(MPI.COMM_NULL, block=2, horizon=8), lambda: trifold.sparse.ranks(MPI.COMM_NULL, A)):
    try:
        call()
    except trifold.SpecError as error:
        assert "MPI.COMM_NULL, which has no ranks" in str(error)
    else:
        raise AssertionError
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
