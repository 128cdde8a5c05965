"""A process that is a rank, which ranks_test.py and ranks_device_test.py start.

rank_program.py KIND solve           solves a chain with the other processes, and compares with NumPy; gradients too where torch is there
rank_program.py KIND sparse          solves a sparse system with the other processes, and compares with a process for itself
rank_program.py KIND hang RANK       that rank makes no call, and the others' errors name it
rank_program.py KIND kill RANK       that rank is killed by a signal
rank_program.py KIND differ RANK     that rank has another block

KIND: mpi or gloo; or cuda, which is gloo with a GPU for each rank; or nccl, where the GPUs' communicator is that of torch's group
"""

import os
import signal
import sys
import time

import numpy as np
import trifold
from problems import dense, make, rhs, solution

N, HORIZON, TIMEOUT = 5, 14, 3.0
PLACE = {}  # arguments of trifold.ranks that say where


def communicator(kind):
    """It, this rank, and how the process ends."""
    if kind == "mpi":
        from mpi4py import MPI

        return MPI.COMM_WORLD, MPI.COMM_WORLD.Get_rank(), lambda: None
    import torch
    import torch.distributed as dist

    if kind in ("cuda", "nccl"):
        PLACE["device"] = f"cuda:{os.environ['RANK']}"
    if kind != "nccl":
        dist.init_process_group("gloo")
        return dist.group.WORLD, dist.get_rank(), dist.destroy_process_group
    device = torch.device(PLACE["device"])
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    dist.all_reduce(torch.ones(1, device=device))  # torch makes its communicator
    PLACE["nccl"] = dist.group.WORLD._get_backend(device)._comm_ptr()
    return dist.group.WORLD, dist.get_rank(), dist.destroy_process_group


def to_device(array):
    """A tensor there, where there is one."""
    if not PLACE:
        return array
    import torch

    return torch.from_numpy(np.ascontiguousarray(array)).to(PLACE["device"])


def to_numpy(array):
    return array.cpu().numpy() if PLACE else array


def own(chain, D, E, b):
    first, last = chain.first, chain.first + chain.blocks
    return D[first:last], E[first : first + chain.couplings], b[first:last]


def solve(world, rank):
    D, E, b = *make(N, HORIZON), rhs(N, HORIZON)
    chain = trifold.ranks(world, block=N, horizon=HORIZON, **PLACE)
    mine = [to_device(array) for array in own(chain, D, E, b)]
    x = chain.factor_solve(*mine)
    np.testing.assert_allclose(to_numpy(x), own(chain, D, E, solution(D, E, b))[2], rtol=1e-10)
    np.testing.assert_allclose(to_numpy(chain.log_determinant()), np.linalg.slogdet(dense(D, E))[1], rtol=1e-12)
    for _ in range(3):  # GPUs record the second one
        np.testing.assert_array_equal(to_numpy(chain.solve(mine[2])), to_numpy(x))
    if "nccl" in PLACE:
        return
    given = trifold.ranks(world, block=N, blocks=2 if rank == 0 else (HORIZON - 2) // (chain.ranks - 1), **PLACE)
    assert given.blocks == (2 if rank == 0 else (HORIZON - 2) // (chain.ranks - 1))


def gradients(world):
    import torch
    import trifold.torch as tt

    D, E, b = *make(N, HORIZON), rhs(N, HORIZON)
    chain = tt.ranks(world, block=N, horizon=HORIZON, **PLACE)
    mine = [torch.as_tensor(to_device(array)).requires_grad_() for array in own(chain.solver, D, E, b)]
    whole = [torch.from_numpy(array).requires_grad_() for array in (D, E, b)]
    weights = torch.from_numpy(rhs(N, HORIZON, seed=3))
    x, log_determinant, quadratic = chain.likelihood(*mine)
    assert x.device == log_determinant.device == quadratic.device == mine[0].device
    first, last = chain.solver.first, chain.solver.first + chain.solver.blocks
    (((x * weights[first:last].to(x.device)).sum()) - 0.5 * log_determinant + 0.25 * quadratic).backward()
    x, log_determinant, quadratic = tt.likelihood(*whole)
    ((x * weights).sum() - 0.5 * log_determinant + 0.25 * quadratic).backward()
    for one, of_all in zip(mine, own(chain.solver, *(array.grad for array in whole))):
        assert one.grad.device == one.device
        torch.testing.assert_close(one.grad.cpu(), of_all, rtol=1e-9, atol=1e-11)


def differ(world, rank, culprit):
    try:
        trifold.ranks(world, block=N + (rank == culprit), horizon=HORIZON, **PLACE)
    except trifold.RankError as error:
        assert error.rank == culprit, str(error)
        print(f"rank {rank} says: {error}", flush=True)
        return
    raise AssertionError("no error")


def sparse(world):
    import scipy.sparse
    import trifold.sparse

    line = scipy.sparse.diags_array([-1.2, 2.1, -0.8], offsets=[-1, 0, 1], shape=(20, 20))
    A, b = scipy.sparse.kronsum(line, line, format="csr"), np.random.default_rng(4).standard_normal(400)
    options = {"partition": "greedy", "subdomain": 40}
    on_gpu = {"device": PLACE["device"], "variant": "sweeps:one_launch=0"} if PLACE else {}
    shared = trifold.sparse.ranks(world, A, **options, **PLACE).solve(to_device(b))
    alone = trifold.sparse.Solver(A, **options, **on_gpu).solve(b)
    np.testing.assert_array_equal(to_numpy(shared.x), alone.x)
    assert shared.iterations == alone.iterations > 3


def trouble(world, rank, how, culprit):
    D, E, b = *make(N, HORIZON), rhs(N, HORIZON)
    chain = trifold.ranks(world, block=N, horizon=HORIZON, timeout=TIMEOUT, **PLACE)
    if rank == culprit and how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if rank == culprit:
        time.sleep(2 * TIMEOUT)
        return
    begin = time.monotonic()
    try:
        chain.factor_solve(*(to_device(array) for array in own(chain, D, E, b)))
    except trifold.RankError as error:
        assert error.rank == culprit, str(error)
        assert time.monotonic() - begin < 2 * TIMEOUT
        print(f"rank {rank} says: {error}", flush=True)
        return
    raise AssertionError("no error")


def main():
    kind, how, *culprit = sys.argv[1:]
    world, rank, end = communicator(kind)
    if how in ("solve", "sparse"):
        if how == "sparse":
            sparse(world)
        else:
            solve(world, rank)
        if how == "solve" and kind in ("gloo", "cuda"):
            gradients(world)
        print(f"rank {rank} is right", flush=True)
        end()
    elif how == "differ":
        differ(world, rank, int(culprit[0]))
        end()
    else:
        trouble(world, rank, how, int(culprit[0]))
        if kind != "mpi":
            os._exit(0)  # torch's own group does not end without the lost process


main()
