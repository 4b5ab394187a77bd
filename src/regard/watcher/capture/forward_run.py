"""Records and tokens of one text over all forwards of a model, and an estimate of their memory."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.engine.call import blocks
from regard.errors import BackendError
from regard.watcher.capture.record import LayerRecord

if TYPE_CHECKING:
    from regard.watcher.capture.deferred import DeferredChecks, PendingSteps
    from regard.watcher.capture.model_call import ModelCall
    from regard.watcher.capture.segments import Segment
    from regard.watcher.media.media_inputs import MediaCall, MediaInputs
    from regard.watcher.watch import Options


LARGE = 2**30


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes of one layer: its facts, and its query and key where they are recorded."""

    facts: int = 0
    query_key: int = 0

    @classmethod
    def of(cls, call: ModelCall, segment: Segment, options: Options, keep: bool) -> MemoryEstimate:
        """The estimate from the shapes of a call: facts per query and key, and the map."""
        sentences, heads = len(segment.sentences), call.query.shape[1]
        queries = segment.rows.stop - segment.rows.start
        keys = segment.columns.stop - segment.columns.start
        rows = queries * (8 + 4 + 12 * options.top)  # log-sum-exp, entropy, best weights and keys
        columns = keys * 8 + (queries + keys) * 8  # received, distances
        block_counts = (len(blocks(length, options.map)) - 1 for length in (queries, keys))
        cells = prod(block_counts) if options.map else 0
        width = call.query.shape[3]
        query_key = (queries * heads + keys * call.key.shape[1]) * width * 4 if keep else 0
        return cls(sentences * heads * (rows + columns + 4 * cells), sentences * query_key)

    def larger(self, other: MemoryEstimate) -> MemoryEstimate:
        """The larger of two estimates, in both terms."""
        return MemoryEstimate(max(self.facts, other.facts), max(self.query_key, other.query_key))

    def total(self, layers: int) -> int:
        """Bytes of this many layers of the same size."""
        return layers * (self.facts + self.query_key)


def expected_memory(
    before: MemoryEstimate, estimate: MemoryEstimate, layers: int
) -> MemoryEstimate:
    """The larger estimate; warns once, at the first layer with which it exceeds ``LARGE``."""
    memory = before.larger(estimate)
    total = memory.total(layers)
    if before.total(layers) <= LARGE < total:
        warnings.warn(
            f"watch will hold about {total / 1e9:.1f} GB: {layers} layers, each "
            f"{memory.facts / 1e6:,.0f} MB of facts and {memory.query_key / 1e6:,.0f} MB of query "
            "and key. A smaller map, fewer layers or a shorter keep make it less.",
            UserWarning,
            stacklevel=2,
        )
    return memory


def warn_if_many(runs: list[ForwardRun], layers: int) -> None:
    """Warn once, at the text with which all texts of a block together exceed ``LARGE``."""
    total = sum(sum(run.bytes) for run in runs)
    before = total - sum(runs[-1].bytes) if runs else 0
    if before <= LARGE < total:
        warnings.warn(
            f"watch holds {total / 1e9:.1f} GB: {len(runs)} texts of {layers} layers, and every "
            "further text adds to it. Watch fewer texts in a block, or fewer layers.",
            UserWarning,
            stacklevel=2,
        )


UNKNOWN = -1  # the token of a position that was cached before the recording began


class LayerKey(NamedTuple):
    """A part ('encoder', 'decoder', 'cross' or a name of the model's own) and a layer from 0."""

    part: str
    layer: int

    def __str__(self) -> str:
        return f"{self.part} layer {self.layer}"


@dataclass
class OrderCheck:
    """A deferred check that the cached keys are those of the call before."""

    ok: Any
    passed: bool = False

    def raise_error(self) -> None:
        """Raise the error of a reordered cache."""
        raise BackendError(
            "the keys of the tokens before are not where they were in the call before: the model "
            "puts its cache into another order by means of its own. Watch one forward of all the "
            "tokens, without a cache."
        )


class RecordedBytes(NamedTuple):
    """Bytes of a text's facts, of its query and key, and of facts that a device still has."""

    facts: int
    query_key: int
    device: int


@dataclass
class ForwardRun:
    """One text: records by layer and sentence, tokens and unpadded queries by part, its media.

    It is ``closed`` when a beam search has ended: the cache holds other beams than it returned.
    """

    records: dict[LayerKey, list[LayerRecord]] = field(default_factory=dict)
    tokens: dict[str, list[NDArray[np.int64] | None]] = field(default_factory=dict)
    prompts: dict[str, list[int]] = field(default_factory=dict)  # tokens given, not generated
    rows: dict[str, list[slice]] = field(default_factory=dict)
    last_keys: dict[LayerKey, tuple[int, Any]] = field(default_factory=dict)
    pending_steps: dict[LayerKey, PendingSteps] = field(default_factory=dict)
    ended: bool = False  # another text follows
    _counted: RecordedBytes | None = None
    closed: bool = False
    media: list[MediaCall] = field(default_factory=list)  # inner modules before outer ones

    @property
    def bytes(self) -> RecordedBytes:
        """Bytes of all records; those of a text that has ended are counted once."""
        if self._counted is not None:
            return self._counted
        records = [record for each in self.records.values() for record in each]
        counted = RecordedBytes(
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
            gap = np.full(segment.row_start - length, UNKNOWN, np.int64)
            new = ids_bq[sentence, segment.rows].astype(np.int64)
            parts = [gap, new] if before is None else [before, gap, new]
            recorded[sentence] = ids = np.concatenate(parts)
            # What is generated comes one token a forward; a prompt may come in several pieces.
            if before is None or len(new) > 1:
                self.prompts.setdefault(part, [0] * sentences)[sentence] = len(ids)

    def check_order(
        self, layer_key: LayerKey, segment: Segment, key: Any, checks: DeferredChecks
    ) -> None:
        """Check that the cached keys are those of the call before; beam search reorders them."""
        first, columns = segment.sentences[0], segment.columns
        end = segment.column_start + columns.stop - columns.start
        queries = segment.rows.stop - segment.rows.start
        before = self.last_keys.get(layer_key)
        old = columns.stop - queries - 1
        if before is not None and before[0] == end - queries - 1 and old >= 0:
            checks.add(OrderCheck((key[:, :, old] == before[1]).all()))
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


def begin_text(runs: list[ForwardRun], layers: int) -> ForwardRun:
    """Append a text to those of a block; warn where they hold much together."""
    if runs:
        warn_if_many(runs, layers)
        runs[-1].ended = True
    runs.append(ForwardRun())
    return runs[-1]


class RunRecorder(Protocol):
    """A recorder of texts, of a model's attention calls or of any program's."""

    options: Options
    runs: list[ForwardRun]
    memory: MemoryEstimate
    drops_padding: bool
    media: MediaInputs

    @property
    def watched_layers(self) -> int:
        """The number of recorded layers of a part."""

    @property
    def layer_keys(self) -> list[LayerKey]:
        """Every attention that was called, watched or not."""

    @property
    def paths(self) -> dict[str, LayerKey]:
        """Layers by the path of their module."""

    def flush(self, run: ForwardRun | None = None) -> None:
        """Observe the pending steps of one run, or of all."""

    def synchronize(self) -> None:
        """Finish pending facts, and raise the error of the first deferred check that fails."""
