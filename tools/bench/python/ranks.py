"""A chain over several GPUs against one of them, from Python: a process a GPU of one host.

    torchrun --nproc-per-node 2 tools/bench/python/ranks.py 4096x256 16384x64

Factor and solve in f64, one right-hand side: the mean of ten calls that follow one another, by the host's clock.
"""

from __future__ import annotations

import argparse
import time

import torch
import torch.distributed as dist
import trifold

CALLS = 10


def arrays(n, blocks, couplings, device):
    D = (4 * torch.eye(n, dtype=torch.float64, device=device) + 0.5 / n).repeat(blocks, 1, 1)
    E = -torch.eye(n, dtype=torch.float64, device=device).repeat(couplings, 1, 1)
    return D, E, torch.ones(blocks, n, dtype=torch.float64, device=device)


def seconds(call, device):
    def run(calls):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return (time.perf_counter() - begin) / calls

    run(CALLS // 2)
    return run(CALLS)


def compare(horizon, n, device):
    chain = trifold.ranks(dist.group.WORLD, block=n, horizon=horizon, operations="factor_solve", device=device, timeout=100)
    mine = arrays(n, chain.blocks, chain.couplings, device)
    x = torch.empty_like(mine[2])
    of_ranks = seconds(lambda: chain.factor_solve(*mine, x), device)
    chain.check()
    if chain.rank == 0:
        whole = arrays(n, horizon, horizon - 1, device)
        solver = trifold.Plan(block=n, horizon=horizon, operations="factor_solve", device=device).solver()
        y = torch.empty_like(whole[2])
        alone = seconds(lambda: solver.factor_solve(*whole, y), device)
        off = (y[: chain.blocks] - x).abs().max().item()
        assert off < 1e-12
        both = f"alone {alone * 1e3:.3f} ms, {chain.ranks} ranks {of_ranks * 1e3:.3f} ms"
        print(f"{horizon} x {n}: {both}, {alone / of_ranks:.2f} times; X differs by {off:.1e}")
    dist.barrier()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="+", help="blocks x n, such as 4096x256")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    options = parser.parse_args()
    dist.init_process_group("gloo")
    device = torch.device("cpu") if options.device == "cpu" else torch.device("cuda", dist.get_rank())
    if device.type == "cuda":
        torch.cuda.set_device(device)
    for size in options.sizes:
        horizon, n = map(int, size.split("x"))
        compare(horizon, n, device)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
