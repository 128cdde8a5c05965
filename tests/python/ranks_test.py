"""trifold.ranks: threads, processes of MPI, and processes of torch.distributed, against NumPy."""

import subprocess
import sys

import numpy as np
import pytest
import sharing
import trifold
from problems import make, rhs, solution
from sharing import KINDS, SECONDS, Host, needs_mpi, needs_torch, on_processes, on_ranks, own, sound


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("columns", [None, 3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_all_calls_on_threads(count, columns, dtype):
    sharing.all_calls(Host(), count, columns, dtype)


def test_batches_with_shifts_and_masks():
    sharing.batches_with_shifts_and_masks(Host(), 3)


@pytest.mark.parametrize("columns", [None, 2])
def test_refinement_of_single_precision(columns):
    sharing.refinement_of_single_precision(Host(), 3, columns)


def test_a_chain_that_is_not_positive_definite_names_its_block():
    sharing.not_positive_definite(Host(), 3)


def test_bits_of_one_device():
    D, E, b = *make(6, 21), rhs(6, 21)
    plan = trifold.Plan(block=6, horizon=21, schedule="twisted:2", variant="tile", any_size=True)

    def work(transport):
        chain = trifold.ranks(transport, block=6, blocks=[10, 11][transport.rank])
        return chain.factor_solve(own(chain, D), own(chain, E, True), own(chain, b))

    x = np.concatenate(sound(on_ranks(2, work)))
    np.testing.assert_array_equal(x, plan.solver().factor_solve(D, E, b))


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


RIGHT = {"block": 3, "horizon": 9}


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"block": 4, "horizon": 9}, "rank 1 has"),
        ({"block": 3, "blocks": 3}, "rank 1 has given its own blocks"),
        ({"block": 3, "horizon": "nine"}, "arguments were refused"),
        ({"block": 3, "horizon": 9, "device": "cuda:99"}, "arguments were refused"),
    ],
)
def test_ranks_that_disagree_are_named(wrong, words):
    sharing.ranks_disagree(3, trifold.ranks, RIGHT, wrong, words)


def test_a_rank_that_hangs_is_named():
    D, E, b = *make(3, 9), rhs(3, 9)
    sharing.a_rank_hangs(
        3,
        lambda transport: trifold.ranks(transport, **RIGHT),
        lambda chain: chain.factor_solve(own(chain, D), own(chain, E, True), own(chain, b)),
    )


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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [2, 3])
def test_processes(kind, count):
    sharing.processes(kind, count, "solve", says=("is right", count))


@pytest.mark.parametrize("kind", KINDS)
def test_a_process_that_hangs_is_named(kind):
    sharing.processes(kind, 3, "hang", "1", says=("says: rank 1 has ended, or has not answered", 2))


@pytest.mark.parametrize("kind", KINDS)
def test_processes_that_disagree(kind):
    sharing.processes(kind, 3, "differ", "1", says=("says: rank 1 has", 3))


@needs_torch
def test_a_process_that_is_killed_is_named():
    sharing.processes("gloo", 4, "kill", "1", says=("says: rank 1 has ended", 3), codes=[0, -9, 0, 0])


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
