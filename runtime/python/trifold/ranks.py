"""A long chain that several ranks share: processes of MPI or of torch.distributed, or threads."""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import timedelta
from struct import pack, unpack
from typing import Any, NoReturn

from ._core import RankSolver, Transport
from .errors import RankError, SpecError
from .options import real, whole, word

_EVEN, _REFUSED = 0, -1  # in place of a rank's own number of blocks
_USUAL_TIMEOUT = 30.0
_MOST_BYTES = 1 << 30  # bytes of one message, which MPI counts in an int


def ranks(
    communicator: Any,
    *,
    block: int,
    horizon: int | None = None,
    blocks: int | None = None,
    dtype: Any = "float64",
    batch: int = 1,
    rhs: int = 1,
    schedule: str = "auto",
    operations: str = "all",
    workers: int = 1,
    timeout: float | None = None,
    device: Any = "cpu",
    nccl: int | None = None,
) -> RankSolver:
    """This rank's solver of a chain over all ranks of the communicator, which call it together.

    communicator: one of mpi4py, a process group of torch.distributed, what LocalRanks.take() gives, or any object with rank, ranks,
    send(to, buffer) and receive(from, buffer). horizon: blocks of the whole chain, which are shared out evenly; or blocks: this rank's
    own. operations: names separated by commas, or "all". timeout: seconds that a rank waits for another, by default 30; LocalRanks has its
    own. device: this rank's, as a Plan's; each rank has a GPU of its own. nccl: the address of a communicator of NCCL between these GPUs,
    with the ranks in this order, which outlives the solver; by default one is made. The others are those of a Plan.

    Raises SpecError on arguments that cannot be served, DeviceError where the GPU or NCCL is missing, and RankError on all ranks where one
    does not come or does not agree.
    """
    transport = transport_of(communicator, timeout)
    with told(transport):
        transport.place(device, nccl)
        mine = _EVEN if blocks is None else whole(blocks, "blocks", 1)
        if (horizon is None) == (blocks is None):
            raise SpecError("give horizon, for even shares of the chain, or blocks, how many this rank holds: one of the two")
        total = 0 if horizon is None else whole(horizon, "horizon", 1)
        sizes = [whole(size, name) for size, name in ((block, "block"), (batch, "batch"), (rhs, "rhs"), (workers, "workers"))]
        words = word(schedule, "schedule"), word(operations, "operations")
    return RankSolver(
        transport,
        block=sizes[0],
        horizon=total,
        shards=_shards(gather(transport, mine)),
        dtype=dtype,
        batch=sizes[1],
        rhs=sizes[2],
        schedule=words[0],
        operations=words[1],
        workers=sizes[3],
    )


@contextmanager
def told(transport: Transport) -> Generator[None]:
    """Other ranks, which come to gather(), are told where this one's arguments are refused."""
    try:
        yield
    except Exception:
        transport.gather(_REFUSED)
        raise


def gather(transport: Transport, mine: int = 0) -> list[int]:
    """The number that each rank gives, once all have read their arguments."""
    numbers = transport.gather(mine)
    if _REFUSED in numbers:
        rank = numbers.index(_REFUSED)
        raise RankError(f"rank {rank} has failed: its arguments were refused there", rank)
    return numbers


def _shards(counts: list[int]) -> list[int]:
    """Blocks of each rank; none where they are even."""
    for rank, count in enumerate(counts):
        if (count == _EVEN) != (counts[0] == _EVEN):
            of = "the horizon" if count == _EVEN else "its own blocks"
            raise RankError(f"rank {rank} has given {of}, and rank 0 has not; give the same on all ranks", rank)
    return [] if counts[0] == _EVEN else counts


def transport_of(communicator: Any, timeout: float | None) -> Transport:
    if isinstance(communicator, Transport):
        if timeout is not None:
            raise SpecError(f"timeout = {timeout} cannot be given here; give it to LocalRanks")
        return communicator
    seconds = _USUAL_TIMEOUT if timeout is None else real(timeout, "timeout")
    if not 0 < seconds < 1e9:
        raise SpecError(f"timeout = {seconds} is out of range; give seconds above 0")
    if hasattr(communicator, "Isend"):
        return Transport(_Mpi(communicator, seconds), seconds)
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and isinstance(communicator, distributed.ProcessGroup):
        return Transport(_Gloo(distributed, communicator, seconds), seconds)
    if all(hasattr(communicator, name) for name in ("rank", "ranks", "send", "receive")):
        return Transport(communicator, seconds)
    raise SpecError(
        f"a {type(communicator).__name__} is no communicator; give one of mpi4py, a process group of torch.distributed, or what "
        "LocalRanks.take() gives"
    )


_OTHER_CALLS = "all ranks must make the same calls, with as many members and columns"


class _Messages:
    """Messages, as all transports have them. After a failure all calls raise it."""

    def __init__(self, rank: int, ranks: int, seconds: float) -> None:
        self.rank, self.ranks, self.seconds = rank, ranks, seconds
        self._failure: RankError | None = None

    def _fail(self, rank: int, what: str) -> NoReturn:
        self._failure = RankError(f"rank {rank} {what}", rank)
        raise self._failure

    def _expect_sound(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _fail_late(self, rank: int) -> NoReturn:
        self._fail(
            rank,
            f"has ended, or has not answered for {self.seconds} s, for which rank {self.rank} has waited in a call; all ranks must make "
            "the same calls in the same order",
        )

    def _last_of(self, peer: int, waits_for: Callable[[int], int | None]) -> int:
        """The rank that others wait for, and that itself waits for none."""
        for _ in range(self.ranks):
            following = waits_for(peer)
            if following is None:
                break
            peer = following
        return peer


class _Mpi(_Messages):
    """Over mpi4py, by a communicator of its own. A rank that waits long says whom for, so that all name the same one."""

    def __init__(self, communicator: Any, seconds: float) -> None:
        from mpi4py import MPI  # pyright: ignore

        self._MPI: Any = MPI
        if communicator == MPI.COMM_NULL:  # pyright: ignore
            raise SpecError("communicator is MPI.COMM_NULL, which has no ranks; call this on processes of a communicator only")
        super().__init__(communicator.Get_rank(), communicator.Get_size(), seconds)
        self._waits_for: dict[int, int] = {}
        self._said: list[Any] = []  # kept as long as messages with it may be in transit
        self._own: Any = None
        own, request = communicator.Idup()
        begin = time.monotonic()
        while not request.Test():
            if time.monotonic() - begin > seconds:
                self._failure = RankError(f"a rank has not come to trifold.ranks for {seconds} s; call it on all ranks", -1)
                raise self._failure
            time.sleep(1e-4)
        self._own = own

    def __del__(self) -> None:
        # To free it would wait for ranks that have failed.
        if self._own is not None and self._failure is None and not self._MPI.Is_finalized():
            self._own.Free()

    def send(self, to: int, data: memoryview) -> None:
        for part in _parts(data):
            self._wait(self._own.Isend([part, self._MPI.BYTE], to, 0), to, None)

    def receive(self, source: int, data: memoryview) -> None:
        for part in _parts(data):
            self._wait(self._own.Irecv([part, self._MPI.BYTE], source, 0), source, len(part))

    def _wait(self, request: Any, peer: int, expected: int | None) -> None:
        self._expect_sound()
        status, begin, turns, has_said = self._MPI.Status(), time.monotonic(), 0, False
        try:
            while not request.Test(status):
                waited = time.monotonic() - begin
                # The notice has a third of the time to reach the others.
                if not has_said and waited > self.seconds * 2 / 3:
                    self._say(peer)
                    has_said = True
                if waited > self.seconds:
                    self._listen()
                    self._fail_late(self._last_of(peer, self._waits_for.get))
                turns += 1
                if turns > 100:
                    time.sleep(2e-5)
                    self._listen()
        except self._MPI.Exception as error:
            self._fail(peer, f"cannot be reached, or has sent more than rank {self.rank} expects; {_OTHER_CALLS}: {error}")
        if has_said:
            self._say(-1)
        if expected is not None and status.Get_count(self._MPI.BYTE) != expected:
            self._fail(peer, f"has sent {status.Get_count(self._MPI.BYTE)} bytes where rank {self.rank} expects {expected}; {_OTHER_CALLS}")

    def _say(self, peer: int) -> None:
        """Tells the others whom this rank waits for; -1: for none."""
        self._said.append(pack("i", peer))
        for other in range(self.ranks):
            if other != self.rank:
                self._own.Isend([self._said[-1], self._MPI.BYTE], other, 1).Free()

    def _listen(self) -> None:
        status, notice = self._MPI.Status(), bytearray(4)
        while self._own.Iprobe(self._MPI.ANY_SOURCE, 1, status):
            source = status.Get_source()
            self._own.Recv([notice, self._MPI.BYTE], source, 1)
            (peer,) = unpack("i", notice)
            if peer < 0:
                self._waits_for.pop(source, None)
            else:
                self._waits_for[source] = peer


def _parts(data: memoryview) -> list[memoryview]:
    return [data[first : first + _MOST_BYTES] for first in range(0, max(len(data), 1), _MOST_BYTES)]


class _Gloo(_Messages):
    """Over torch.distributed, by a group of its own on the CPUs of the same processes. A rank whose call fails notes in torch's store whom
    it waited for, so that all name the same one.
    """

    def __init__(self, distributed: Any, group: Any, seconds: float) -> None:
        import torch  # pyright: ignore

        self._torch: Any = torch
        self._distributed = distributed
        members = distributed.get_process_group_ranks(group)
        super().__init__(group.rank(), group.size(), seconds)
        self._members = members
        self._group: Any = None
        # A third of the time is for the notes.
        limit = timedelta(seconds=seconds * 2 / 3)
        alone = len(members) < distributed.get_world_size()
        try:
            self._group = distributed.new_group(members, timeout=limit, backend="gloo", use_local_synchronization=alone)
        except RuntimeError as error:
            raise RankError(f"a rank has not come to trifold.ranks for {seconds} s; call it on all ranks: {error}", -1) from error
        store = distributed.distributed_c10d._get_default_store()
        self._store = distributed.PrefixStore(f"trifold/{self._group.group_name}", store)

    def __del__(self) -> None:
        if self._group is not None:
            with suppress(Exception):  # where torch has ended its groups already
                self._distributed.destroy_process_group(self._group)

    def send(self, to: int, data: memoryview) -> None:
        size = self._torch.tensor([len(data)])
        self._work(to, lambda: self._distributed.isend(size, self._members[to], self._group))
        if len(data) > 0:
            self._work(to, lambda: self._distributed.isend(self._bytes(data), self._members[to], self._group))

    def receive(self, source: int, data: memoryview) -> None:
        size = self._torch.zeros(1, dtype=self._torch.int64)
        self._work(source, lambda: self._distributed.irecv(size, self._members[source], self._group))
        if int(size) != len(data):
            self._note(source)
            self._fail(source, f"has sent {int(size)} bytes where rank {self.rank} expects {len(data)}; {_OTHER_CALLS}")
        if len(data) > 0:
            self._work(source, lambda: self._distributed.irecv(self._bytes(data), self._members[source], self._group))

    def _bytes(self, data: memoryview) -> Any:
        return self._torch.frombuffer(data, dtype=self._torch.uint8)

    def _work(self, peer: int, start: Callable[[], Any]) -> None:
        self._expect_sound()
        try:
            start().wait()
        except RuntimeError:
            self._note(peer)
            last = self._last_of(peer, self._noted)
            self._leave(last)
            self._fail_late(last)

    def _note(self, peer: int) -> None:
        with suppress(RuntimeError):  # where the store has ended
            self._store.set(str(self.rank), str(peer))

    def _noted(self, rank: int) -> int | None:
        """Whom a rank has waited for, which it may say a little later than this one."""
        key = str(rank)
        with suppress(RuntimeError):
            if self._comes(key, time.monotonic() + self.seconds / 6):
                return int(self._store.get(key))
        return None

    def _leave(self, failed: int) -> None:
        """The store ends with the process of rank 0, as a rule. So that one waits until the others have read the notes."""
        with suppress(RuntimeError):
            self._store.set(f"left {self.rank}", "")
            until = time.monotonic() + self.seconds / 6
            for other in range(1, self.ranks if self.rank == 0 else 0):
                if other != failed:
                    self._comes(f"left {other}", until)

    def _comes(self, key: str, until: float) -> bool:
        while not self._store.check([key]):
            if time.monotonic() > until:
                return False
            time.sleep(1e-3)
        return True
