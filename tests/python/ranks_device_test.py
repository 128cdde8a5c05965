"""trifold.ranks on two CUDA devices: threads with arrays of torch, CuPy and JAX, and processes of torch.distributed. Skipped where there
are fewer devices, or a library is missing."""

import numpy as np
import pytest
import sharing
import trifold
from problems import make, rhs, solution
from sharing import Cupy, Jax, Torch, on_ranks, own, parts, sound

pytestmark = [
    pytest.mark.skipif(len(trifold.info()["devices"]["cuda"]["devices"]) < 2, reason="no two CUDA devices"),
    pytest.mark.usefixtures("time_limit"),
]


@pytest.mark.parametrize("library", [Torch, Cupy, Jax])
@pytest.mark.parametrize(("columns", "dtype"), [(None, "float64"), (3, "float64"), (3, "float32")])
def test_all_calls(library, columns, dtype):
    sharing.all_calls(library(), 2, columns, dtype)


def test_batches_on_a_stream_of_torch():
    torch = Torch().library

    def late(chain, D, E, b, out, **options):
        stream = torch.cuda.Stream(chain.rank)
        stream.wait_stream(torch.cuda.default_stream(chain.rank))
        with torch.cuda.stream(stream):
            slow = b * 0
            torch.cuda._sleep(20_000_000)
            slow += b  # the call comes after it only if it is on the same stream
            chain.factor_solve(D, E, slow, out, **options)
        stream.synchronize()

    sharing.batches_with_shifts_and_masks(Torch(), 2, 20, 32, late)


def test_refinement_of_single_precision():
    sharing.refinement_of_single_precision(Torch(), 2, None, 20, 40)


def test_errors():
    sharing.not_positive_definite(Torch(), 2)


def test_arrays_of_another_rank():
    there = Torch()
    D, E, b = *make(4, 15), rhs(4, 15)

    def work(transport):
        rank = transport.rank
        chain = sharing.makes_chain(there, transport, block=4, horizon=15)
        arrays = own(chain, D), own(chain, E, True), own(chain, b)
        with pytest.raises(trifold.SpecError, match=f"D is on GPU {1 - rank} and ranks are on GPU {rank}"):
            chain.factor_solve(*(there.put(array, 1 - rank) for array in arrays))

    sound(on_ranks(2, work))


def test_a_rank_that_comes_no_more_is_named():
    there = Torch()
    D, E, b = *make(4, 15), rhs(4, 15)
    sharing.a_rank_hangs(
        2,
        lambda transport: sharing.makes_chain(there, transport, block=4, horizon=15),
        lambda chain: chain.factor_solve(*parts(there, chain, D, E, b)),
        timeout=2.0,
    )


@pytest.mark.parametrize("kind", ["cuda", "nccl"])
def test_processes(kind):
    Torch()
    sharing.processes(kind, 2, "solve", says=("is right", 2))


def test_a_process_that_is_killed_is_named():
    Torch()
    sharing.processes("cuda", 2, "kill", "1", says=("rank 0 says: rank 1 has ended", 1), codes=[0, -9])


def test_processes_that_disagree():
    Torch()
    sharing.processes("cuda", 2, "differ", "1", says=("says: rank 1 has", 2))


def test_the_communicator_of_cupy():
    cupy = Cupy().library
    nccl = pytest.importorskip("cupy.cuda.nccl")
    name = nccl.get_unique_id()
    D, E, b = *make(4, 15), rhs(4, 15)

    def work(transport):
        rank = transport.rank
        with cupy.cuda.Device(rank):
            communicator = nccl.NcclCommunicator(2, name, rank)
            chain = trifold.ranks(transport, block=4, horizon=15, device=f"cuda:{rank}", nccl=communicator.comm)
            x = chain.factor_solve(*(cupy.asarray(array) for array in (own(chain, D), own(chain, E, True), own(chain, b))))
            found = cupy.asnumpy(x)
            del chain
            return found

    np.testing.assert_allclose(np.concatenate(sound(on_ranks(2, work))), solution(D, E, b), rtol=1e-10)


def test_a_communicator_of_other_ranks_is_refused():
    cupy = Cupy().library
    nccl = pytest.importorskip("cupy.cuda.nccl")
    name = nccl.get_unique_id()

    def work(transport):
        with cupy.cuda.Device(transport.rank):
            communicator = nccl.NcclCommunicator(2, name, 1 - transport.rank)
            return trifold.ranks(transport, block=4, horizon=15, device=f"cuda:{transport.rank}", nccl=communicator.comm)

    for error in on_ranks(2, work):
        assert isinstance(error, (trifold.SpecError, trifold.RankError))
        assert "the communicator has rank" in str(error)


def test_two_ranks_on_one_device_are_refused():
    results = on_ranks(2, lambda transport: trifold.ranks(transport, block=4, horizon=15, device="cuda:0"))
    for error in results:
        assert isinstance(error, trifold.DeviceError)
        assert "each rank needs a GPU of its own" in str(error)
