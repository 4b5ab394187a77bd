"""Deferred work of a device.

Numeric checks read once at exit, a bounded queue of results, pending decode steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from regard.engine.tensors import in_host_memory
from regard.watcher.model_call import ModelCall
from regard.watcher.record import LayerRecord, Pending
from regard.watcher.segments import Segment

if TYPE_CHECKING:
    import torch


class DeferredCheck(Protocol):
    """Something that may be wrong: ``ok`` is a tensor of one bool."""

    passed: bool

    @property
    def ok(self) -> torch.Tensor:
        """Whether nothing is wrong."""

    def raise_error(self) -> None:
        """Raise what is wrong."""


@dataclass
class DeferredChecks:
    """All that were not answered yet; one that fails stays, and raises again."""

    pending: list[DeferredCheck] = field(default_factory=list)

    def add(self, check: DeferredCheck) -> None:
        """On the host it is answered at once."""
        self.pending.append(check)
        if in_host_memory(check.ok):
            self.raise_first_error()

    def raise_first_error(self) -> None:
        """Wait for the device, once, and raise what is wrong with the first."""
        self.pending = [check for check in self.pending if not check.passed]
        for check, passed in zip(self.pending, _results(self.pending), strict=True):
            if not passed:
                check.raise_error()
            check.passed = True
        self.pending = []


def _results(checks: list[DeferredCheck]) -> list[bool]:
    import torch

    if not checks:
        return []
    device = checks[0].ok.device
    results: list[bool] = torch.stack([check.ok.to(device) for check in checks]).tolist()
    return results


QUEUE_BYTES = 2**30  # bytes: a device has its model to hold


@dataclass
class DeviceQueue:
    """Tracks with facts on a device, the oldest first; ``held`` is at least their bytes."""

    records: list[LayerRecord] = field(default_factory=list)
    device_bytes: int = 0

    def add(self, record: LayerRecord, pending: Pending) -> None:
        """Put a piece that its track expects aside, if it can wait on its device."""
        if not pending.device_bytes:
            record.resolve()
            return
        self.records.append(record)
        self.device_bytes += pending.device_bytes
        if self.device_bytes > QUEUE_BYTES:
            self._shrink()

    def _shrink(self) -> None:
        """Read the oldest until half is free: each time the host waits for the device."""
        self.records = [record for record in dict.fromkeys(self.records) if record.pending]
        self.device_bytes = sum(record.device_bytes for record in self.records)
        most = QUEUE_BYTES // 2 if self.device_bytes > QUEUE_BYTES else QUEUE_BYTES
        while self.device_bytes > most:
            record = self.records.pop(0)
            self.device_bytes -= record.device_bytes
            record.resolve()


STEPS_AT_ONCE = 32


PLAIN = (None, (None, 0), (None, None))


@dataclass
class PendingSteps:
    """Calls of one layer that nobody has observed yet."""

    queries: list[Any] = field(default_factory=list)
    first: list[Segment] = field(default_factory=list)
    last: list[Segment] = field(default_factory=list)
    call: ModelCall | None = None

    def fits(self, call: ModelCall, segments: list[Segment]) -> bool:
        """Whether a call can wait, after those that do."""
        if call.bias is not None or call.query.shape[2] != 1:
            return False
        before, now = ([x.sentences for x in some] for some in (self.first, segments))
        same = not before or now == before
        return bool(segments) and same and all(_is_plain(segment, call) for segment in segments)

    def add(self, call: ModelCall, segments: list[Segment]) -> None:
        """One more token; of the keys only the newest tensor is held."""
        self.queries.append(call.query.detach())
        self.first = self.first or segments
        self.last, self.call = segments, call

    def joined(self) -> tuple[ModelCall, list[Segment]]:
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


def _is_plain(segment: Segment, call: ModelCall) -> bool:
    """No mask, no window, and no keys that are still to be filled in."""
    arguments = segment.arguments
    all_keys = segment.columns.stop == call.key.shape[2] and segment.column_start == 0
    return all_keys and "mask" not in arguments and arguments.get("window") in PLAIN
