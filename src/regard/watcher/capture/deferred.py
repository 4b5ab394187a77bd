"""Deferred work: numeric checks, facts in device memory, and decode steps to observe together."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Protocol

from regard.engine.tensors import in_host_memory
from regard.errors import BackendError, NotFiniteError
from regard.watcher.capture.model_call import ModelCall
from regard.watcher.capture.records import LayerRecord, Pending
from regard.watcher.capture.segments import Segment

if TYPE_CHECKING:
    import torch

    from regard.engine.observation import Observation


class DeferredCheck(Protocol):
    """A numeric check of device tensors; ``ok`` is a tensor of one bool."""

    passed: bool

    @property
    def ok(self) -> torch.Tensor:
        """True where the check passes."""

    def raise_error(self) -> None:
        """Raise the error of a check that fails."""


def _results(checks: list[DeferredCheck]) -> list[bool]:
    import torch

    if not checks:
        return []
    device = checks[0].ok.device
    results: list[bool] = torch.stack([check.ok.to(device) for check in checks]).tolist()
    return results


MAX_QUEUED_BYTES = 2**30  # a device needs its memory for the model
DEVICE_MEMORY_DIVISOR = 32  # of the device's memory, a thirty-second where that is more


@dataclass
class DeviceQueue:
    """Records with facts in device memory, the oldest first, and checks that were not read yet.

    At most ``most_bytes`` of facts stay there. A check that fails stays, and raises again.
    """

    records: list[LayerRecord] = field(default_factory=list)
    device_bytes: int = 0
    checks: list[DeferredCheck] = field(default_factory=list)

    @property
    def most_bytes(self) -> int:
        """QUEUE_BYTES, or a share of the device's memory."""
        return max(MAX_QUEUED_BYTES, _device_memory() // DEVICE_MEMORY_DIVISOR)

    def add(self, record: LayerRecord, pending: Pending) -> None:
        """Queue a record for its pending facts, or resolve it where they are in host memory.

        Facts that wait there for their map are completed when they are read.
        """
        if not pending.device_bytes:
            if not pending.query_key_bytes:
                record.resolve()
        else:
            self.records.append(record)
            self.device_bytes += pending.device_bytes
            if self.device_bytes > self.most_bytes:
                self._shrink()
        self.checks.extend(pending.checks)

    def add_check(self, check: DeferredCheck) -> None:
        """Queue a check; one in host memory is read at once."""
        self.checks.append(check)
        if in_host_memory(check.ok):
            self.raise_first_error()

    def raise_first_error(self) -> None:
        """Synchronise with the device once, and raise the error of the first check that fails."""
        self.checks = [check for check in self.checks if not check.passed]
        for check, passed in zip(self.checks, _results(self.checks), strict=True):
            check.passed = True
            if not passed:
                self._fail(check)
        self.checks = []

    @staticmethod
    def _fail(check: DeferredCheck) -> None:
        """Raise the error of a check; nan is the program's own, and is said by a warning."""
        try:
            check.raise_error()
        except NotFiniteError as error:
            warnings.warn(f"watch cannot show every layer: {error}", UserWarning, stacklevel=2)
        except BackendError:
            check.passed = False
            raise

    def _shrink(self) -> None:
        """Resolve the oldest until half is free, since every resolving synchronises."""
        self.records = [record for record in dict.fromkeys(self.records) if record.pending]
        self.device_bytes = sum(record.device_bytes for record in self.records)
        most = self.most_bytes // (2 if self.device_bytes > self.most_bytes else 1)
        while self.device_bytes > most:
            record = self.records.pop(0)
            self.device_bytes -= record.device_bytes
            record.resolve()


@cache
def _device_memory() -> int:
    """Bytes of the current device's memory; 0 without CUDA."""
    import torch

    if not torch.cuda.is_available():
        return 0
    return int(torch.cuda.get_device_properties().total_memory)


STEPS_AT_ONCE = 32  # decode steps of a layer that are observed together
PLAIN_WINDOWS = (None, (None, 0), (None, None))


@dataclass
class PendingSteps:
    """Decode steps of one layer that are still to be observed, as one call."""

    queries: list[Any] = field(default_factory=list)
    first: list[Segment] = field(default_factory=list)
    last: list[Segment] = field(default_factory=list)
    call: ModelCall | None = None

    def fits(self, call: ModelCall, segments: list[Segment]) -> bool:
        if call.bias is not None or call.has_sinks or call.query.shape[2] != 1:
            return False
        before, now = ([x.sentences for x in some] for some in (self.first, segments))
        same = not before or now == before
        return bool(segments) and same and all(_is_plain(segment, call) for segment in segments)

    def add(self, call: ModelCall, segments: list[Segment]) -> None:
        """Append the query of one step; the keys of the last step contain those before."""
        self.queries.append(call.query.detach())
        self.first = self.first or segments
        self.last, self.call = segments, call

    def joined(self) -> tuple[ModelCall, list[Segment]]:
        """One call with the queries of all steps, and its segments."""
        import torch

        assert self.call is not None  # called only where there are steps
        call = replace(self.call, query=torch.cat(self.queries, dim=2), mask=None)
        rows = slice(0, len(self.queries))
        pairs = zip(self.first, self.last, strict=True)
        return call, [
            replace(first, rows=rows, columns=last.columns, row_start=first.row_start)
            for first, last in pairs
        ]


def _is_plain(segment: Segment, call: ModelCall) -> bool:
    """Whether a segment has no mask, no window and no unfilled keys of a static cache."""
    arguments = segment.arguments
    all_keys = segment.columns.stop == call.key.shape[2] and segment.column_start == 0
    return all_keys and "mask" not in arguments and arguments.get("window") in PLAIN_WINDOWS


MAX_SUM_ERROR = 0.01  # of the mean sum of a row's weights: 16-bit kernels round their scores


@dataclass
class ShareCheck:
    """Whether weights from a log-sum-exp sum to 1, in the mean over the queries of each head.

    A mask, a scale or a cache that is not understood gives more or less.
    """

    name: str
    shares: Any
    passed: bool = False

    @classmethod
    def from_observation(cls, name: str, seen: Observation, logsumexp: Any) -> ShareCheck:
        """The check of an observation on a device, which is not read yet."""
        live = (logsumexp > float("-inf")).sum(dim=-1).clamp(min=1)
        shares = seen.facts.tensor("received").sum(dim=-1) / live
        return cls(name, shares)

    @cached_property
    def ok(self) -> Any:
        """Whether every head's sums are 1, a device tensor."""
        return ((self.shares - 1).abs() <= MAX_SUM_ERROR).all()

    @property
    def has_nan(self) -> bool:
        return bool(self.shares.isnan().any())

    def raise_error(self) -> None:
        """Raise the error of weights that do not sum to 1; that of nan is raised elsewhere."""
        if self.has_nan:
            return
        shares = self.shares.flatten().tolist()
        worst = max(shares, key=lambda share: abs(share - 1))
        raise BackendError(
            f"{self.name}: with the log-sum-exp of the model's own attention the weights regard "
            f"would show sum to {worst:.3g} a row, not to 1, so watch shows nothing. The model "
            "does something regard does not know: leave this layer out with layers=..."
        )


@dataclass
class OrderCheck:
    """A deferred check that the cached keys are those of the call before."""

    ok: Any
    passed: bool = False

    def raise_error(self) -> None:
        raise BackendError(
            "the keys of the tokens before are not where they were in the call before: the model "
            "puts its cache into another order by means of its own. Watch one forward of all the "
            "tokens, without a cache."
        )
