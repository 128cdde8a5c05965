"""trifold.ranks on two CUDA devices: threads with arrays of torch, CuPy and JAX, and processes of torch.distributed. Skipped where there
are fewer devices, or a library is missing."""

import threading
import time

import numpy as np
import pytest
import trifold
from problems import blocks_of_inverse, dense, make, rhs, solution
from ranks_test import on_processes, on_ranks, own, sound

pytestmark = [
    pytest.mark.skipif(len(trifold.info()["devices"]["cuda"]["devices"]) < 2, reason="no two CUDA devices"),
    pytest.mark.usefixtures("time_limit"),
]


class Torch:
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


class Cupy:
    def __init__(self):
        self.library = pytest.importorskip("cupy")

    def put(self, array, rank):
        with self.current(rank):
            return self.library.asarray(array)

    def get(self, array):
        return self.library.asnumpy(array)

    def current(self, rank):
        return self.library.cuda.Device(rank)


class Jax:
    def __init__(self):
        self.library = pytest.importorskip("jax")
        if self.library.default_backend() != "gpu":
            pytest.skip("this JAX has no CUDA")
        self.library.config.update("jax_enable_x64", True)
        Cupy()  # reads and makes the arrays

    def put(self, array, rank):
        return self.library.device_put(array, self.library.devices()[rank])

    def get(self, array):
        return np.asarray(array) if isinstance(array, self.library.Array) else array.get()

    def current(self, rank):
        return pytest.importorskip("cupy").cuda.Device(rank)


@pytest.mark.parametrize("library", [Torch, Cupy, Jax])
@pytest.mark.parametrize(("columns", "dtype"), [(None, "float64"), (3, "float64"), (3, "float32")])
def test_all_calls(library, columns, dtype):
    there = library()
    D, E = make(4, 15, dtype=dtype)
    b = rhs(4, 15, columns=columns, dtype=dtype)
    diagonal, lower = blocks_of_inverse(D, E)
    tight = dict(rtol=1e-3, atol=1e-4) if dtype == "float32" else dict(rtol=1e-9, atol=1e-11)

    def work(transport):
        rank = transport.rank
        with there.current(rank):
            chain = trifold.ranks(transport, block=4, horizon=15, dtype=dtype, rhs=columns or 1, device=f"cuda:{rank}")
            of_D, of_E, of_b = (there.put(array, rank) for array in (own(chain, D), own(chain, E, True), own(chain, b)))
            x = chain.factor_solve(of_D, of_E, of_b, check=True)
            assert type(x) is type(of_b)
            quadratic = there.get(chain.quadratic())
            chain.factor(of_D, of_E)
            for _ in range(3):  # the second is recorded, and the third is its graph
                np.testing.assert_array_equal(there.get(chain.solve(of_b)), there.get(x))
            np.testing.assert_allclose(there.get(chain.backward(chain.factor_forward(of_D, of_E, of_b))), there.get(x), **tight)
            np.testing.assert_allclose(there.get(chain.backward(chain.forward(of_b))), there.get(x), **tight)
            inverse = chain.selected_inverse()
            assert chain.status().block == -1
            np.testing.assert_allclose(there.get(inverse[0]), own(chain, diagonal), **tight)
            np.testing.assert_allclose(there.get(inverse[1]), own(chain, lower, True), **tight)
            following = chain.next_block(of_b)
            if rank == 0:
                np.testing.assert_array_equal(there.get(following), b[chain.blocks : chain.blocks + 1])
            else:
                assert following is None
            return there.get(x), there.get(chain.log_determinant()), quadratic

    expected = solution(D, E, b)
    results = sound(on_ranks(2, work))
    np.testing.assert_allclose(np.concatenate([x for x, _, _ in results]), expected, **tight)
    squares = np.einsum("ik...,ik...->...", b.astype(float), expected)
    for _, logs, quadratic in results:
        np.testing.assert_allclose(logs, np.linalg.slogdet(dense(D, E))[1], rtol=tight["rtol"])
        np.testing.assert_allclose(quadratic, squares, rtol=10 * tight["rtol"])


def test_batches_on_a_stream_of_torch():
    there = Torch()
    torch = there.library
    D, E, b = *make(20, 32, 4), rhs(20, 32, 4)
    shift = np.array([0.0, 1, 2, 3])

    def work(transport):
        rank = transport.rank
        chain = trifold.ranks(transport, block=20, horizon=32, batch=5, device=torch.device("cuda", rank))
        mine = own(chain, D), own(chain, E, True), b[:, chain.first : chain.first + chain.blocks], shift
        of_D, of_E, of_b, of_shift = (there.put(array, rank) for array in mine)
        out = torch.full_like(of_b, 7.0)
        active = torch.tensor([True, True, False, True], device=f"cuda:{rank}")
        stream = torch.cuda.Stream(rank)
        stream.wait_stream(torch.cuda.default_stream(rank))
        with torch.cuda.stream(stream):
            late = of_b * 0
            torch.cuda._sleep(20_000_000)
            late += of_b  # the calls come after it only if they are on the same stream
            chain.factor_solve(of_D, of_E, late, out, shift=of_shift, active=active)
            result = out + 0
        stream.synchronize()
        assert chain.status().floors.tolist() == [0, 0, -1, 0]
        return there.get(result)

    x = np.concatenate(sound(on_ranks(2, work)), 1)
    expected = solution(D + shift[:, None, None, None] * np.eye(20), E, b)
    active = [0, 1, 3]
    np.testing.assert_allclose(x[active], expected[active], rtol=1e-9)
    assert (x[2] == 7).all()


def test_refinement_of_single_precision():
    there = Torch()
    D, E, b = *make(20, 40), rhs(20, 40)

    def work(transport):
        rank = transport.rank
        chain = trifold.ranks(transport, block=20, horizon=40, dtype="float32", device=f"cuda:{rank}")
        wide = [there.put(array, rank) for array in (own(chain, D), own(chain, E, True), own(chain, b))]
        x = chain.factor_solve(*(array.float() for array in wide)).double()
        refined = chain.refine(*wide, x)
        assert refined.converged and refined.iterations > 0
        return there.get(x)

    np.testing.assert_allclose(np.concatenate(sound(on_ranks(2, work))), solution(D, E, b), rtol=1e-12, atol=1e-13)


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


def test_errors():
    there = Torch()
    D, E, b = *make(4, 15), rhs(4, 15)
    D[9, 1, 1] = -1

    def work(transport):
        rank = transport.rank
        chain = trifold.ranks(transport, block=4, horizon=15, device=f"cuda:{rank}")
        arrays = own(chain, D), own(chain, E, True), own(chain, b)
        with pytest.raises(trifold.SpecError, match=f"D is on the CPU and ranks are on GPU {rank}; copy the array there"):
            chain.factor_solve(*arrays)
        with pytest.raises(trifold.SpecError, match=f"D is on GPU {1 - rank} and ranks are on GPU {rank}"):
            chain.factor_solve(*(there.put(array, 1 - rank) for array in arrays))
        x = chain.factor_solve(*(there.put(array, rank) for array in arrays))
        assert x.isnan().any()
        chain.check()

    for error in on_ranks(2, work):
        assert isinstance(error, trifold.NotPositiveDefinite)
        assert (error.block, error.row) == (9, 1)


def test_two_ranks_on_one_device_are_refused():
    results = on_ranks(2, lambda transport: trifold.ranks(transport, block=4, horizon=15, device="cuda:0"))
    for error in results:
        assert isinstance(error, trifold.DeviceError)
        assert "each rank needs a GPU of its own" in str(error)


def test_a_rank_that_comes_no_more_is_named():
    there = Torch()
    D, E, b = *make(4, 15), rhs(4, 15)
    done = threading.Event()

    def work(transport):
        rank = transport.rank
        chain = trifold.ranks(transport, block=4, horizon=15, device=f"cuda:{rank}")
        arrays = [there.put(array, rank) for array in (own(chain, D), own(chain, E, True), own(chain, b))]
        chain.factor_solve(*arrays)
        if rank == 1:
            return done.wait(60)
        begin = time.monotonic()
        try:
            return chain.factor_solve(*arrays)
        finally:
            assert time.monotonic() - begin < 20
            done.set()

    error, _ = on_ranks(2, work, timeout=2.0)
    assert isinstance(error, trifold.RankError)
    assert error.rank == 1


@pytest.mark.parametrize("kind", ["cuda", "nccl"])
def test_processes(kind):
    Torch()
    codes, printed = on_processes(kind, 2, "solve")
    assert not any(codes), printed
    assert printed.count("is right") == 2


def test_a_process_that_is_killed_is_named():
    Torch()
    codes, printed = on_processes("cuda", 2, "kill", "1")
    assert codes == [0, -9], printed
    assert "rank 0 says: rank 1 has ended" in printed


def test_processes_that_disagree():
    Torch()
    codes, printed = on_processes("cuda", 2, "differ", "1")
    assert not any(codes), printed
    assert printed.count("says: rank 1 has") == 2
