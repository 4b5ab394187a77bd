"""Observation of one attention call: the output for the model, and pending facts by sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.attention import attention
from regard.engine.call import Requested, prepare
from regard.engine.observation import Observation
from regard.engine.observe import observe, observe_from_logsumexp, observe_problem
from regard.engine.pairs import sums_by_span
from regard.engine.tensors import as_wide_array, cast_like, engine_input, in_host_memory
from regard.errors import BackendError
from regard.heads.measures import head_measures
from regard.typing import Array
from regard.watcher.capture.deferred import DeferredCheck
from regard.watcher.capture.late_map import LateMap, shares_memory, waits_for_map
from regard.watcher.capture.model_call import ModelCall, rounding
from regard.watcher.capture.record import LayerRecord, Pending, SentenceFacts
from regard.watcher.capture.segments import Segment
from regard.watcher.capture.share_check import ShareCheck
from regard.watcher.layer import picked
from regard.watcher.watch import Options

if TYPE_CHECKING:
    import torch


class OutputBuffer:
    """The output (b, q, h, d) of a call, filled segment by segment; zeros elsewhere."""

    def __init__(self, call: ModelCall) -> None:
        self.call = call
        sentences, heads, queries, _ = call.query.shape
        self.shape = (sentences, queries, heads, call.value.shape[3])
        self._tensor: torch.Tensor | None = None

    @property
    def tensor(self) -> torch.Tensor:
        """The output as far as it is filled."""
        if self._tensor is None:
            self._tensor = self.call.value.detach().new_zeros(self.shape)
        return self._tensor

    def put(self, segment: Segment, mixed: Any) -> None:
        """Write the output of a segment's queries, (..., h, q, d)."""
        (some, _, rows), _ = segment.indices
        part = cast_like(mixed, self.call.value).transpose(-3, -2)
        if self._tensor is None and part.numel() == self._size:  # all of the call, in one copy
            self._tensor = part.reshape(self.shape).contiguous()
        else:
            self.tensor[some, rows] = part

    def put_padding(self, segment: Segment) -> None:
        """Write the output of padded queries, so that the model's output is the same there."""
        call, arguments = self.call, segment.arguments
        queries = call.query.shape[2]
        for rows in (slice(0, segment.rows.start), slice(segment.rows.stop, queries)):
            if rows.stop <= rows.start or "mask" in arguments:
                continue
            (some, _, _), columns = segment.indices
            moved: dict[str, Any] = dict(arguments)
            if "offset" in moved:
                moved["offset"] += rows.start - segment.rows.start
            query = engine_input(call.query)[some, :, rows]
            key, value = engine_input(call.key)[columns], engine_input(call.value)[columns]
            mixed = attention(query, key, value, scale=call.scale, softcap=call.softcap, **moved)
            self.tensor[some, rows] = cast_like(mixed, call.value).transpose(-3, -2)

    @property
    def _size(self) -> int:
        sentences, queries, heads, width = self.shape
        return int(sentences * queries * heads * width)


# Of rounding(): 2.5e-5 of the largest in float32, 1e-2 in bfloat16. One more of 2,000 equal keys
# moves a log-sum-exp by 5e-4.
LOGSUMEXP_SHARE = 0.25


WEIGHTS_AT_ONCE = 2**24  # where every weight is returned


def query_chunks(
    call: ModelCall, segment: Segment, options: Options, first: bool
) -> Iterator[Segment]:
    """Parts of a segment to observe one after the other: all of it, or chunks of queries.

    The map of a later call has to fit the blocks of the first, so that its weights are needed, all
    of those of a chunk at once.
    """
    at_once = segment.queries
    if not first and options.map:
        heads = len(segment.sentences) * call.query.shape[1]
        at_once = max(1, min(at_once, WEIGHTS_AT_ONCE // max(1, heads * segment.keys)))
    for start in range(0, segment.queries, at_once):
        stop = min(start + at_once, segment.queries)
        yield from segment.some(start, stop).one_by_one(call.query)


def observation_of(
    call: ModelCall,
    segment: Segment,
    options: Options,
    first: bool,
    with_output: bool,
    keep: bool,
) -> Observation:
    """Observation of a part; of a later call with every weight, where a map is asked for."""
    rows, columns = segment.indices
    query, key = engine_input(call.query)[rows], engine_input(call.key)[columns]
    value = engine_input(call.value)[columns] if with_output else key[..., :0]
    every = max(query.shape[-2], key.shape[-2])
    blocks = options.map if first or not options.map else every
    late = first and not with_output and waits_for_map(call, segment, options, keep)
    if call.logsumexp is not None and not with_output:
        logsumexp = call.logsumexp[rows]
        return observe_from_logsumexp(
            query, key, logsumexp, top=options.top, map=blocks, scale=call.scale,
            softcap=call.softcap, **segment.arguments,
        )  # fmt: skip
    arguments: dict[str, Any] = segment.arguments | {"scale": call.scale, "softcap": call.softcap}
    if not in_host_memory(call.query):
        return observe(query, key, value, top=options.top, map=blocks, **arguments)
    # It is read before the model goes on, so it may share the model's memory.
    requested = Requested(with_output, True, options.top, 0 if late else blocks, True, True)
    copy = late and shares_memory(call)
    return observe_problem(prepare(query, key, value, copy=copy, **arguments), requested)


def take_facts(
    call: ModelCall,
    segment: Segment,
    records: list[LayerRecord],
    options: Options,
    keep: bool,
    tokens: Sequence[NDArray[np.int64] | None],
    output: OutputBuffer | None = None,
) -> Iterator[tuple[LayerRecord, Pending]]:
    """Observe a segment and append its pending facts to the records of its sentences."""
    first = records[segment.sentences[0]].queries == 0
    for part in query_chunks(call, segment, options, first):
        seen = observation_of(call, part, options, first, output is not None, keep)
        checks: tuple[DeferredCheck, ...] = ()
        if output is not None:
            output.put(part, seen.output)
        elif call.logsumexp is not None and seen._on_device:
            logsumexp = call.logsumexp[part.indices[0]]
            checks = (ShareCheck.of(type(call.module).__name__, seen, logsumexp),)
        else:
            check_logsumexp(call, part, seen)
        for sentence, pending in pending_facts(seen, part, options, keep, tokens):
            pending.checks += checks
            records[sentence].expect(pending)
            yield records[sentence], pending


def check_logsumexp(call: ModelCall, segment: Segment, seen: Observation) -> None:
    """Raise where the log-sum-exp of a segment is not that of the model's own kernel.

    Every call is compared, so that a mask, a scale or a cache that is not understood is found.
    """
    if call.own_logsumexp is None:
        return
    rows, _ = segment.indices
    own, ours = as_wide_array(call.own_logsumexp[rows]), seen.logsumexp
    difference = np.abs(ours - own)[np.isfinite(ours) & np.isfinite(own)]
    allowed = LOGSUMEXP_SHARE * rounding(call) * (1 + np.abs(own[np.isfinite(own)]).max(initial=0))
    if difference.max(initial=0) > allowed:
        raise BackendError(
            f"{type(call.module).__name__}: the log-sum-exp of the model's own attention is "
            f"{difference.max():.3g} away from that of the weights regard would show "
            f"({allowed:.1g} would be rounding), so watch shows nothing. The model does something "
            "regard does not know: leave this layer out with layers=..."
        )


def pending_facts(
    seen: Observation, segment: Segment, options: Options, keep: bool,
    tokens: Sequence[NDArray[np.int64] | None],
) -> Iterator[tuple[int, Pending]]:  # fmt: skip
    """Pending facts of each sentence of a segment.

    On a device they stay there until they are read, unless query and key are recorded.
    """
    keys = slice(segment.column_start, segment.column_start + seen.keys)
    seen = without_output(seen)
    late = LateMap(seen) if options.map and "map" not in seen.facts else None
    for index, sentence in enumerate(segment.sentences):
        ids = tokens[sentence]
        tokens_k = None if ids is None or len(ids) < keys.stop else ids[keys]
        if late is not None:
            yield sentence, _pending_map(late, index, segment, options, tokens_k)
            continue
        own: Observation = seen if len(seen._leading) == 1 else picked(seen, index)
        device_bytes: int = 0
        checks: tuple[DeferredCheck, ...] = ()
        if not (keep or options.spans):
            own, device_bytes, checks = release_query_and_key(own, tokens_k)
        make = partial(sentence_facts, own, segment, options, keep, tokens_k)
        starts = segment.row_start, segment.column_start
        yield sentence, Pending(own.queries, own.keys, *starts, make, device_bytes, checks)


def _pending_map(
    late: LateMap, index: int, segment: Segment, options: Options,
    tokens_k: NDArray[np.int64] | None,
) -> Pending:  # fmt: skip
    """Pending facts of a sentence whose map is computed when one of them is read."""

    def make() -> SentenceFacts:
        seen = late.observation()
        own: Observation = seen if len(seen._leading) == 1 else picked(seen, index)
        return sentence_facts(own, segment, options, False, tokens_k)

    share = len(segment.sentences)
    return Pending(
        late.seen.queries, late.seen.keys, segment.row_start, segment.column_start, make,
        facts_bytes=late.facts_bytes // share, query_key_bytes=late.query_key_bytes // share,
    )  # fmt: skip


def release_query_and_key(
    seen: Observation, tokens_k: NDArray[np.int64] | None, stacked: int = 0
) -> tuple[Observation, int, tuple[DeferredCheck, ...]]:
    """An observation without query and key, its device bytes, and a deferred numeric check."""
    if not seen._on_device:
        return seen, 0, ()
    from regard.engine.gpu.lazy import release

    released = release(seen, tokens_k, stacked)
    if released is None:
        return seen, 0, ()
    lean, check = released
    return lean, lean._device_bytes, (check,)


def without_output(seen: Observation) -> Observation:
    """The observation without its output, which the model has."""
    return replace(seen, facts=seen.facts.without("output"), _tensor=None)


def sentence_facts(
    seen: Observation, segment: Segment, options: Options, keep: bool,
    tokens_k: NDArray[np.int64] | None,
) -> SentenceFacts:  # fmt: skip
    """Facts and measures of one sentence, with its query and key where they are recorded."""
    measures = head_measures(seen, tokens_k)
    sums = span_sums(seen, segment, options) if options.spans else None
    problem = None
    if keep:
        part = seen.parts[0].on_host()
        problem = replace(
            part, query_hqd=part.query_hqd.copy(), key_gkd=part.key_gkd.copy(),
            value_gkv=part.value_gkv[..., :0].copy(),
        )  # fmt: skip
    starts = segment.row_start, segment.column_start
    return SentenceFacts(replace(seen, parts=()), *starts, measures, sums, problem)


def span_sums(seen: Observation, segment: Segment, options: Options) -> Array:
    """Weights added over the queries and keys of each pair of spans, (h, r, c)."""
    part, edges = seen.parts[0], options.edges
    row_edges = np.clip(edges - segment.row_start, 0, seen.queries)
    column_edges = np.clip(edges - segment.column_start, 0, seen.keys)
    sums_hrc = sums_by_span(part, seen.logsumexp.reshape(part.heads, -1), row_edges, column_edges)
    inside = np.array([
        [start <= low and high <= stop for low, high in pairwise(edges)]
        for start, stop in options.spans.values()
    ], float)  # fmt: skip
    joined: Array = inside @ sums_hrc @ inside.T
    return joined
