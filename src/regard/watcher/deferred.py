"""Deferred work of a device.

Numeric checks read once at exit, a bounded queue of results, pending decode steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from regard.engine.tensors import in_host_memory
from regard.watcher.attention_call import Call
from regard.watcher.record import Later, Track
from regard.watcher.segments import Stretch

if TYPE_CHECKING:
    import torch


class Doubt(Protocol):
    """Something that may be wrong: ``ok`` is a tensor of one bool."""

    passed: bool

    @property
    def ok(self) -> torch.Tensor:
        """Whether nothing is wrong."""

    def raise_error(self) -> None:
        """Raise what is wrong."""


@dataclass
class Doubts:
    """All that were not answered yet; one that fails stays, and raises again."""

    waiting: list[Doubt] = field(default_factory=list)

    def add(self, doubt: Doubt) -> None:
        """On the host it is answered at once."""
        self.waiting.append(doubt)
        if in_host_memory(doubt.ok):
            self.settle()

    def settle(self) -> None:
        """Wait for the device, once, and raise what is wrong with the first."""
        self.waiting = [doubt for doubt in self.waiting if not doubt.passed]
        for doubt, fine in zip(self.waiting, _read(self.waiting), strict=True):
            if not fine:
                doubt.raise_error()
            doubt.passed = True
        self.waiting = []


def _read(doubts: list[Doubt]) -> list[bool]:
    import torch

    if not doubts:
        return []
    device = doubts[0].ok.device
    answers: list[bool] = torch.stack([doubt.ok.to(device) for doubt in doubts]).tolist()
    return answers


ROOM = 2**30  # bytes: a device has its model to hold


@dataclass
class Shelf:
    """Tracks with facts on a device, the oldest first; ``held`` is at least their bytes."""

    tracks: list[Track] = field(default_factory=list)
    held: int = 0

    def add(self, track: Track, later: Later) -> None:
        """Put a piece that its track expects aside, if it can wait on its device."""
        if not later.held:
            track.settle()
            return
        self.tracks.append(track)
        self.held += later.held
        if self.held > ROOM:
            self._make_room()

    def _make_room(self) -> None:
        """Read the oldest until half is free: each time the host waits for the device."""
        self.tracks = [track for track in dict.fromkeys(self.tracks) if track.waiting]
        self.held = sum(track.held for track in self.tracks)
        most = ROOM // 2 if self.held > ROOM else ROOM
        while self.held > most:
            track = self.tracks.pop(0)
            self.held -= track.held
            track.settle()


TOGETHER = 32


PLAIN = (None, (None, 0), (None, None))


@dataclass
class Waiting:
    """Calls of one layer that nobody has observed yet."""

    queries: list[Any] = field(default_factory=list)
    first: list[Stretch] = field(default_factory=list)
    last: list[Stretch] = field(default_factory=list)
    call: Call | None = None

    def fits(self, call: Call, cut: list[Stretch]) -> bool:
        """Whether a call can wait, after those that do."""
        if call.bias is not None or call.query.shape[2] != 1:
            return False
        same = not self.first or [x.sentences for x in cut] == [x.sentences for x in self.first]
        return bool(cut) and same and all(_is_plain(stretch, call) for stretch in cut)

    def add(self, call: Call, cut: list[Stretch]) -> None:
        """One more token; of the keys only the newest tensor is held."""
        self.queries.append(call.query.detach())
        self.first = self.first or cut
        self.last, self.call = cut, call

    def joined(self) -> tuple[Call, list[Stretch]]:
        """All that waited, as one call."""
        import torch

        assert self.call is not None  # asked only where something waits
        call = replace(self.call, query=torch.cat(self.queries, dim=2), mask=None)
        rows = slice(0, len(self.queries))
        pairs = zip(self.first, self.last, strict=True)
        return call, [
            replace(first, rows=rows, columns=last.columns, row_start=first.row_start)
            for first, last in pairs
        ]


def _is_plain(stretch: Stretch, call: Call) -> bool:
    """No mask, no window, and no keys that are still to be filled in."""
    arguments = stretch.arguments
    whole = stretch.columns.stop == call.key.shape[2] and stretch.column_start == 0
    return whole and "mask" not in arguments and arguments.get("window") in PLAIN
