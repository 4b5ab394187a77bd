"""Records and tokens of one text over all forwards of a model, and an estimate of their memory."""

from __future__ import annotations

import contextlib
import os
import warnings
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.engine.call import blocks
from regard.errors import ArgumentError, BackendError
from regard.watcher.capture.deferred import OrderCheck
from regard.watcher.capture.records import LayerRecord

if TYPE_CHECKING:
    from regard.watcher.capture.deferred import DeviceQueue, PendingSteps
    from regard.watcher.capture.model_call import ModelCall
    from regard.watcher.capture.segments import Segment
    from regard.watcher.media.inputs import MediaCall
    from regard.watcher.options import Options


MEMORY_WARNING_BYTES = 2**30


class MemoryUse(NamedTuple):
    """Bytes of facts, of query and key where they are kept, and of facts still on a device."""

    facts: int = 0
    query_key: int = 0
    device: int = 0

    @classmethod
    def from_call(
        cls, call: ModelCall, segment: Segment, options: Options, keep: bool
    ) -> MemoryUse:
        """The estimate of one layer from the shapes of a call: facts per query and key, the map."""
        sentences, heads = len(segment.sentences), call.query.shape[1]
        queries, keys = segment.queries, segment.keys
        best = sentences * heads * queries * 12  # bytes of one best weight and its key
        if best * options.top > _machine_memory():
            raise ArgumentError(
                f"top must be at most {_machine_memory() // best:,} for the best keys of "
                f"{queries:,} queries and {heads:,} heads to fit into memory, got {options.top:,}."
            )
        rows = queries * (8 + 4 + 12 * options.top)  # log-sum-exp, entropy, best weights and keys
        columns = keys * 8 + (queries + keys) * 8  # received, distances
        most = options.map_blocks(max(queries, keys))
        cells = prod(len(blocks(x, most)) - 1 for x in (queries, keys)) if most else 0
        width = call.query.shape[3]
        query_key = (queries * heads + keys * call.key.shape[1]) * width * 4 if keep else 0
        return cls(sentences * heads * (rows + columns + 4 * cells), sentences * query_key)

    def grown(self, other: MemoryUse, layers: int) -> MemoryUse:
        """The larger of two estimates of one layer, in each term.

        Warns once, at the first layer with which that of all layers exceeds MEMORY_WARNING_BYTES.
        """
        facts, query_key = max(self.facts, other.facts), max(self.query_key, other.query_key)
        memory = MemoryUse(facts, query_key)
        total = memory.total(layers)
        if self.total(layers) <= MEMORY_WARNING_BYTES < total:
            warnings.warn(
                f"watch will hold about {total / 1e9:.1f} GB: {layers} layers, each "
                f"{facts / 1e6:,.0f} MB of facts and {query_key / 1e6:,.0f} MB of query and key. "
                "Reduce map=, layers= or keep=.",
                UserWarning,
                stacklevel=2,
            )
        return memory

    def total(self, layers: int) -> int:
        return layers * (self.facts + self.query_key)


def _machine_memory() -> int:
    """Bytes of memory of this machine, or more than any has where it does not say."""
    with contextlib.suppress(AttributeError, ValueError, OSError):
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return 2**46


def warn_if_many(runs: list[ForwardRun], layers: int) -> None:
    """Warn once, at the text with which all texts together exceed MEMORY_WARNING_BYTES."""
    total = sum(sum(run.bytes) for run in runs)
    before = total - sum(runs[-1].bytes) if runs else 0
    if before <= MEMORY_WARNING_BYTES < total:
        warnings.warn(
            f"watch holds {total / 1e9:.1f} GB: {len(runs)} texts of {layers} layers, and every "
            "further text adds to it. Watch fewer texts in a block, or fewer layers.",
            UserWarning,
            stacklevel=2,
        )


UNKNOWN_TOKEN = -1  # of a position that was cached before the recording began


class LayerKey(NamedTuple):
    """A part ('encoder', 'decoder', 'cross' or a name of the model's own) and a layer from 0."""

    part: str
    layer: int

    def __str__(self) -> str:
        return f"{self.part} layer {self.layer}"


@dataclass
class ForwardRun:
    """One text: records by layer and sentence, tokens and unpadded queries by part, its media.

    It is ``closed`` when a beam search has ended: the cache holds other beams than it returned.
    """

    records: dict[LayerKey, list[LayerRecord]] = field(default_factory=dict)
    tokens: dict[str, list[NDArray[np.int64] | None]] = field(default_factory=dict)
    prompts: dict[str, list[int]] = field(default_factory=dict)  # tokens given, not generated
    rows: dict[str, list[slice]] = field(default_factory=dict)
    heads: dict[LayerKey, int] = field(default_factory=dict)
    last_keys: dict[LayerKey, tuple[int, Any]] = field(default_factory=dict)
    pending_steps: dict[LayerKey, PendingSteps] = field(default_factory=dict)
    ended: bool = False  # another text follows
    _counted: MemoryUse | None = None
    closed: bool = False
    media: list[MediaCall] = field(default_factory=list)  # inner modules before outer ones

    @property
    def bytes(self) -> MemoryUse:
        if self._counted is not None:
            return self._counted
        records = [record for each in self.records.values() for record in each]
        counted = MemoryUse(
            sum(record.nbytes for record in records),
            sum(record.query_key_bytes for record in records),
            sum(record.device_bytes for record in records),
        )
        if self.ended and not any(record.pending for record in records):
            self._counted = counted
        return counted

    def take_tokens(self, part: str, segment: Segment, ids_bq: Any, sentences: int) -> None:
        """Record the tokens of a segment's queries; later layers of the same call add none."""
        recorded = self.tokens.setdefault(part, [None] * sentences)
        if ids_bq is None:
            return
        for sentence in segment.sentences:
            before = recorded[sentence]
            length = 0 if before is None else len(before)
            if segment.row_start < length:
                continue
            gap = np.full(segment.row_start - length, UNKNOWN_TOKEN, np.int64)
            new = ids_bq[sentence, segment.rows].astype(np.int64)
            parts = [gap, new] if before is None else [before, gap, new]
            recorded[sentence] = ids = np.concatenate(parts)
            # What is generated comes one token a forward; a prompt may come in several pieces.
            if before is None or len(new) > 1:
                self.prompts.setdefault(part, [0] * sentences)[sentence] = len(ids)

    def check_order(
        self, layer_key: LayerKey, segment: Segment, key: Any, queue: DeviceQueue
    ) -> None:
        """Check that the cached keys are those of the call before; beam search reorders them."""
        first, columns = segment.sentences[0], segment.columns
        end = segment.column_start + columns.stop - columns.start
        queries = segment.rows.stop - segment.rows.start
        before = self.last_keys.get(layer_key)
        old = columns.stop - queries - 1
        if before is not None and before[0] == end - queries - 1 and old >= 0:
            queue.add_check(OrderCheck((key[:, :, old] == before[1]).all()))
        if first == 0:
            self.last_keys[layer_key] = (end - 1, key[:, :, columns.stop - 1].clone())

    def check_follows(
        self, layer_key: LayerKey, record: LayerRecord, segment: Segment, pending: int = 0
    ) -> None:
        """Raise where a call's queries do not follow those recorded and those pending."""
        expected = record.first_row + record.queries + pending
        if record.queries and segment.row_start != expected:
            raise BackendError(
                f"{layer_key}: token {segment.row_start} came where token {expected} was due, as "
                "of a batch padded on the right, whose sentences go on after their padding: pad it "
                "on the left, or watch sentence by sentence."
            )
