"""Failure monitor of a ring: which ranks arrived, which wait, and which failed.

Its messages go through the store of the process group, so it still works when a connection of the
ring does not. Every wait has a timeout.
"""

from __future__ import annotations

import pickle
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from regard.errors import RankError

Result = TypeVar("Result")
POLL_SECONDS = 0.5  # between two checks whether another rank has failed
STORE_SECONDS = 10.0  # timeout of the store's answers, and of the acknowledgement of a failure


@dataclass
class FailureMonitor:
    """Failure monitor of one rank in one call; ``prefix`` names the call, equal on every rank."""

    store: Any
    rank: int  # in the group
    names: list[int]  # the global rank of each rank of the group
    timeout: float
    prefix: str
    step: int = 0  # of the ring
    written: set[str] = field(default_factory=set)  # keys of this rank in the store

    @property
    def ranks(self) -> int:
        return len(self.names)

    def rank_names(self, *ranks: int) -> str:
        """'rank 2' or 'ranks 0, 1', by their global ranks."""
        names = ", ".join(str(self.names[rank]) for rank in ranks)
        return f"rank{'s' * (len(ranks) > 1)} {names}"

    def all_gather(self, what: str, message: bytes) -> list[bytes]:
        """The messages of all ranks: ``dist.all_gather_object`` with a monitored wait.

        The wait ends with an error that names a rank which failed or did not arrive. Rank 0
        collects the messages, so that the number of requests to the store grows with the number of
        ranks and not with its square.
        """
        self._write(f"{what}/{self.rank}", message)
        every = [f"{what}/{rank}" for rank in range(self.ranks)]
        if self.rank == 0:
            self._await(every, every)
            collected = self._read(*every)
            self._write(f"{what}/all", zlib.compress(pickle.dumps(collected)))
            return collected
        self._await([f"{what}/all"], every)
        packed = zlib.decompress(self._read(f"{what}/all")[0])
        gathered: list[bytes] = pickle.loads(packed)  # noqa: S301 (from our own ranks)
        return gathered

    def _await(self, names: list[str], every: list[str]) -> None:
        """Wait until these keys are written; at the timeout raise the error of the absent ranks."""
        end, pause = time.monotonic() + self.timeout, 0.001
        while True:
            # In this order: a rank may fail by what it read, and then all ranks must read it too.
            failing = self._is_written("failed")
            if self._is_written(*names):
                return
            if failing:
                raise self._acknowledged(*self._read("failed"))
            if time.monotonic() > end:
                raise RankError(self._absent_message(every))
            time.sleep(pause)
            pause = min(2 * pause, POLL_SECONDS / 10)

    def _absent_message(self, every: list[str]) -> str:
        missing = [rank for rank, name in enumerate(every) if not self._is_written(name)] or [0]
        absent, caller = self.rank_names(*missing), self.rank_names(self.rank)
        return (
            f"{absent} did not call regard.distributed.observe within {self.timeout:g} s of "
            f"{caller}. Every rank of the group must; look at what it does instead, or give a "
            "longer timeout."
        )

    def delete_keys(self) -> None:
        """Delete this rank's keys, once every rank has arrived at a later call."""
        keys = [f"{self.prefix}/{name}" for name in self.written]
        within_store_timeout(lambda: [self.store.delete_key(key) for key in keys])

    def note_waiting(self, peer: int) -> None:
        self._write(f"waits/{self.rank}", str(peer).encode())

    def note_running(self) -> None:
        self._write(f"waits/{self.rank}", str(self.rank).encode())

    def raise_if_failed(self) -> None:
        """Raise the failure that another rank reported, if one did."""
        if self._is_written("failed"):
            raise self._acknowledged(*self._read("failed"))

    def report_failure(self, culprit: int, reason: str) -> RankError:
        """Publish why the call cannot go on; the error of the first report is every rank's."""
        message = f"{culprit} {reason}"
        try:
            key = f"{self.prefix}/failed"
            first = within_store_timeout(lambda: self.store.compare_set(key, "", message))
            return self._acknowledged(bytes(first))
        except RankError as store_error:
            return store_error

    def connection_lost(self, peer: int) -> RankError:
        """The error of a broken connection: what the peer reported before, else that it is gone."""
        name, caller = self.rank_names(peer), self.rank_names(self.rank)
        return self.report_failure(
            peer,
            f"{name} is gone: its connection to {caller} broke at step {self.step} of the ring. "
            "See its own output for the reason, then start all ranks again.",
        )

    def timed_out(self, peer: int) -> RankError:
        """The error of a timeout, which names the last rank of the chain of waiting ranks."""
        behind, visited = peer, {self.rank}
        while behind not in visited and self._is_written(f"waits/{behind}"):
            visited.add(behind)
            behind = int(self._read(f"waits/{behind}")[0])
        name, caller = self.rank_names(behind), self.rank_names(self.rank)
        return self.report_failure(
            behind,
            f"{name} is late: {caller} waited for {self.timeout:g} s at step {self.step} of the "
            f"ring, and {name} is what it waited for in the end. Look at what it does, or give a "
            "longer timeout; then start all ranks again.",
        )

    def _acknowledged(self, message: bytes) -> RankError:
        """The error to raise; rank 0, which may host the store, waits until all acknowledged it."""
        culprit, reason = message.decode().split(" ", 1)
        self._write(f"acknowledged/{self.rank}", b"yes")
        others = [f"acknowledged/{rank}" for rank in range(self.ranks) if rank != int(culprit)]
        end = time.monotonic() + STORE_SECONDS
        while self.rank == 0 and not self._is_written(*others) and time.monotonic() < end:
            time.sleep(POLL_SECONDS / 10)
        return RankError(reason)

    def _write(self, name: str, message: bytes) -> None:
        self.written.add(name)
        within_store_timeout(lambda: self.store.set(f"{self.prefix}/{name}", message))

    def _is_written(self, *names: str) -> bool:
        keys = [f"{self.prefix}/{name}" for name in names]
        return within_store_timeout(lambda: bool(self.store.check(keys)))

    def _read(self, *names: str) -> list[bytes]:
        keys = [f"{self.prefix}/{name}" for name in names]
        return within_store_timeout(lambda: [bytes(self.store.get(key)) for key in keys])


def within_store_timeout(request: Callable[[], Result]) -> Result:
    """The result of a request to the store, or an error if it breaks or does not answer in time.

    The request runs on a thread of its own, because the store itself may wait for ever when the
    process that hosts it is stopped.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(request())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(STORE_SECONDS)
    if results:
        return results[0]
    why = f"it failed ({errors[0]})" if errors else f"it did not answer within {STORE_SECONDS:g} s"
    raise RankError(
        f"rank 0 is gone or stopped, or torchrun is: one of them keeps the store of the process "
        f"group, and {why}. Start all ranks again."
    )
