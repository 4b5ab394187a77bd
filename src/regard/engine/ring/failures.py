"""What ranks tell each other beside the ring: that they came, how far they are, and who failed.

It goes through the store of the process group, so it still works when a connection of the ring
does not. Nothing here waits without an end.
"""

import pickle
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from regard.errors import RankError

Result = TypeVar("Result")

GLANCE = 0.5  # seconds between two looks at whether another rank has failed
PATIENCE = 10.0  # seconds that the store may take to answer, and others to hear of a failure


@dataclass
class Watch:
    """One rank's view of a call: ``place`` names the call, the same on every rank."""

    store: Any
    rank: int  # in the group
    names: list[int]  # what each rank of the group is called among all
    timeout: float
    place: str
    at: int = 0  # steps of the ring so far
    told: set[str] = field(default_factory=set)  # what this rank left in the store

    @property
    def ranks(self) -> int:
        """How many there are in the group."""
        return len(self.names)

    def named(self, *ranks: int) -> str:
        """'rank 2' or 'ranks 0, 1', as the whole program counts them."""
        names = ", ".join(str(self.names[rank]) for rank in ranks)
        return f"rank{'s' * (len(ranks) > 1)} {names}"

    def meet(self, what: str, words: bytes) -> list[bytes]:
        """Leave some words, and take those of every rank once all have left theirs.

        Rank 0 collects them, so that the store is asked as often as there are ranks, not as often
        as there are pairs of them.
        """
        self._tell(f"{what}/{self.rank}", words)
        every = [f"{what}/{rank}" for rank in range(self.ranks)]
        if self.rank == 0:
            self._await(every, every)
            together = self._hear(*every)
            self._tell(f"{what}/all", zlib.compress(pickle.dumps(together)))
            return together
        self._await([f"{what}/all"], every)
        packed = zlib.decompress(self._hear(f"{what}/all")[0])
        found: list[bytes] = pickle.loads(packed)  # noqa: S301 (from our own ranks)
        return found

    def _await(self, names: list[str], every: list[str]) -> None:
        """Wait until these were told; who is missing in the end is named."""
        end, pause = time.monotonic() + self.timeout, 0.001
        while True:
            # In this order: a rank may fail by what it read there, and then all are to read it.
            failing = self._told("failed")
            if self._told(*names):
                return
            if failing:
                raise self._heard(*self._hear("failed"))
            if time.monotonic() > end:
                raise RankError(self._absent(every))
            time.sleep(pause)
            pause = min(2 * pause, GLANCE / 10)

    def _absent(self, every: list[str]) -> str:
        missing = [rank for rank, name in enumerate(every) if not self._told(name)] or [0]
        return (
            f"{self.named(*missing)} did not call regard.distributed.observe within "
            f"{self.timeout:g} s of {self.named(self.rank)}. Every rank of the group must; look at "
            "what it does instead, or give a longer timeout."
        )

    def forget(self) -> None:
        """Remove what this rank left, once all have come to a later call."""
        in_time(lambda: [self.store.delete_key(f"{self.place}/{name}") for name in self.told])

    def waiting(self, peer: int) -> None:
        """Say that this rank has been waiting for another for a while."""
        self._tell(f"waits/{self.rank}", str(peer).encode())

    def going_on(self) -> None:
        """Say that it no longer waits."""
        self._tell(f"waits/{self.rank}", str(self.rank).encode())

    def glance(self) -> None:
        """Raise what another rank found wrong, if one did."""
        if self._told("failed"):
            raise self._heard(*self._hear("failed"))

    def failed(self, culprit: int, reason: str) -> RankError:
        """Tell all ranks why the call cannot go on; who comes second hears what the first said."""
        words = f"{culprit} {reason}"
        try:
            told = in_time(lambda: self.store.compare_set(f"{self.place}/failed", "", words))
            return self._heard(bytes(told))
        except RankError as gone:
            return gone

    def lost(self, peer: int) -> RankError:
        """A connection broke: what the peer said before it went, else that it is gone."""
        return self.failed(
            peer,
            f"{self.named(peer)} is gone: its connection to {self.named(self.rank)} broke at step "
            f"{self.at} of the ring. See its own output for the reason, then start all ranks "
            "again.",
        )

    def late(self, peer: int) -> RankError:
        """Nothing came in time. Who is waited for may be waiting too: name who keeps them all."""
        behind, seen = peer, {self.rank}
        while behind not in seen and self._told(f"waits/{behind}"):
            seen.add(behind)
            behind = int(self._hear(f"waits/{behind}")[0])
        return self.failed(
            behind,
            f"{self.named(behind)} is late: {self.named(self.rank)} waited for {self.timeout:g} s "
            f"at step {self.at} of the ring, and {self.named(behind)} is what it waited for in the "
            "end. Look at what it does, or give a longer timeout; then start all ranks again.",
        )

    def _heard(self, words: bytes) -> RankError:
        """The error to raise; rank 0 waits until the others know, for it may keep the store."""
        culprit, reason = words.decode().split(" ", 1)
        self._tell(f"heard/{self.rank}", b"yes")
        others = [f"heard/{rank}" for rank in range(self.ranks) if rank != int(culprit)]
        end = time.monotonic() + PATIENCE
        while self.rank == 0 and not self._told(*others) and time.monotonic() < end:
            time.sleep(GLANCE / 10)
        return RankError(reason)

    def _tell(self, name: str, words: bytes) -> None:
        self.told.add(name)
        in_time(lambda: self.store.set(f"{self.place}/{name}", words))

    def _told(self, *names: str) -> bool:
        return in_time(lambda: bool(self.store.check([f"{self.place}/{name}" for name in names])))

    def _hear(self, *names: str) -> list[bytes]:
        return in_time(lambda: [bytes(self.store.get(f"{self.place}/{name}")) for name in names])


def in_time(ask: Callable[[], Result]) -> Result:
    """Ask the store; a store that breaks or does not answer is said to be gone.

    The asking is left to a thread of its own, because the store itself may wait for ever when the
    process that keeps it is stopped.
    """
    answers: list[Result] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(ask())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if answers:
        return answers[0]
    why = f"it failed ({errors[0]})" if errors else f"it did not answer within {PATIENCE:g} s"
    raise RankError(
        f"rank 0 is gone or stopped, or torchrun is: one of them keeps the store of the process "
        f"group, and {why}. Start all ranks again."
    )
