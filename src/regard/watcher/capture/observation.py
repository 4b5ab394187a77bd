"""Observation of attention calls: at once, with a map computed later, or layers together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.call import Problem, Requested, prepare
from regard.engine.observation import ArrayFacts, Observation
from regard.engine.observe import observe, observe_from_logsumexp, observe_problem
from regard.engine.pairs import sums_by_span
from regard.engine.profile import Profile
from regard.engine.tensors import as_wide_array, cast_like, dtype_name, engine_input, in_host_memory
from regard.errors import BackendError, NotFiniteError
from regard.heads.measures import head_measures
from regard.textbook.options import with_defaults
from regard.typing import Array
from regard.watcher.capture.deferred import DeferredCheck, DeviceQueue, ShareCheck
from regard.watcher.capture.model_call import ModelCall, rounding
from regard.watcher.capture.records import (
    OWN_MEMORY_BYTES,
    LayerRecord,
    Pending,
    SentenceFacts,
    in_own_memory,
)
from regard.watcher.capture.segments import Segment
from regard.watcher.layer import picked
from regard.watcher.options import Options

if TYPE_CHECKING:
    import torch

    from regard.engine.gpu.dispatch import StartedObservation
    from regard.engine.observation import Observation
    from regard.watcher.capture.model_call import ModelCall
    from regard.watcher.capture.segments import Segment
    from regard.watcher.options import Options


class OutputBuffer:
    """The output (b, q, h, d) of a call, filled segment by segment; zeros elsewhere."""

    def __init__(self, call: ModelCall) -> None:
        self.call = call
        sentences, heads, queries, _ = call.query.shape
        self.shape = (sentences, queries, heads, call.value.shape[3])
        self.complete = True  # without, there is nothing to compare
        self._tensor: torch.Tensor | None = None

    @property
    def tensor(self) -> torch.Tensor:
        if self._tensor is None:
            self._tensor = self.call.value.detach().new_zeros(self.shape)
        return self._tensor

    def put(self, segment: Segment, mixed: Any) -> None:
        (some, _, rows), _ = segment.indices
        part = cast_like(mixed, self.call.value).transpose(-3, -2)
        if self._tensor is None and part.numel() == self._size:  # all of the call, in one copy
            self._tensor = part.reshape(self.shape).contiguous()
        else:
            self.tensor[some, rows] = part

    @property
    def _size(self) -> int:
        sentences, queries, heads, width = self.shape
        return int(sentences * queries * heads * width)


# Of rounding(): 2.5e-5 of the largest in float32, 1e-2 in bfloat16. One more of 2,000 equal keys
# moves a log-sum-exp by 5e-4.
LOGSUMEXP_TOLERANCE = 0.25
LOWEST_COMPARED = -1e29
MAX_WEIGHTS_AT_ONCE = 2**24  # where every weight is returned


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
        at_once = max(1, min(at_once, MAX_WEIGHTS_AT_ONCE // max(1, heads * segment.keys)))
    for start in range(0, segment.queries, at_once):
        stop = min(start + at_once, segment.queries)
        yield from segment.some(start, stop).one_by_one(call.query)


def observe_part(
    call: ModelCall, segment: Segment, options: Options, first: bool, with_output: bool, keep: bool
) -> Observation:
    """Observation of a part; of a later call with every weight, where a map is asked for."""
    rows, columns = segment.indices
    query, key = engine_input(call.query)[rows], engine_input(call.key)[columns]
    value = engine_input(call.value)[columns] if with_output else key[..., :0]
    every = max(query.shape[-2], key.shape[-2])
    most = options.map_blocks(every) if first or not options.map else every
    late = first and not with_output and waits_for_map(call, segment, options, keep)
    if call.logsumexp is not None and not with_output:
        logsumexp = call.logsumexp[rows]
        return observe_from_logsumexp(
            query,
            key,
            logsumexp,
            top=options.top,
            map=most,
            scale=call.scale,
            softcap=call.softcap,
            **segment.arguments,
        )
    arguments: dict[str, Any] = segment.arguments | {"scale": call.scale, "softcap": call.softcap}
    if not in_host_memory(call.query):
        return observe(query, key, value, top=options.top, map=most, **arguments)
    # It is read before the model goes on, so it may share the model's memory.
    requested = Requested(with_output, True, options.top, 0 if late else most, True, True)
    copy = late and shares_memory(call)
    problem = prepare(query, key, value, copy=copy and not _is_large(query, key), **arguments)
    return observe_problem(problem, requested)


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
        checks: tuple[DeferredCheck, ...] = ()
        weights = given_weights(call, part)
        if weights is None:
            try:
                seen = observe_part(call, part, options, first, output is not None, keep)
            except NotFiniteError:
                weights = weights_with_nan(call, part)
        if weights is not None:
            seen = observe_weights(weights, part, options, first, records)
            if output is not None:
                output.complete = False
        elif output is not None:
            output.put(part, seen.output)
        elif call.logsumexp is not None and seen._on_device:
            logsumexp = call.logsumexp[part.indices[0]]
            checks = (ShareCheck.from_observation(type(call.module).__name__, seen, logsumexp),)
        else:
            check_logsumexp(call, part, seen)
        for sentence, pending in pending_facts(seen, part, options, keep, tokens):
            pending.checks += checks
            records[sentence].expect(pending)
            yield records[sentence], pending


def given_weights(call: ModelCall, segment: Segment) -> Array | None:
    """The weights of a part that came with the call, (b, h, q, k) or of one sentence."""
    if call.weights is None:
        return None
    weights: Array = as_wide_array(call.weights[segment.indices[0]][..., segment.columns])
    return weights


def weights_with_nan(call: ModelCall, segment: Segment) -> Array:
    """The weights of a part whose query or key holds nan or infinity: nan in some rows."""
    rows, columns = segment.indices
    query, key = (np.asarray(as_wide_array(x)) for x in (call.query[rows], call.key[columns]))
    finite_q, finite_k = (np.nan_to_num(x, nan=0, posinf=0, neginf=0) for x in (query, key))
    scaling: dict[str, Any] = {"scale": call.scale, "softcap": call.softcap}
    problem = prepare(finite_q, finite_k, key[..., :0], **segment.arguments, **scaling)
    every = slice(0, problem.heads), slice(0, query.shape[-2]), slice(0, key.shape[-2])
    visible, bias = problem.visibility.visible(*every), problem.visibility.bias(*every)
    shared = np.repeat(key, call.group, axis=-3)
    scale = query.shape[-1] ** -0.5 if call.scale is None else call.scale
    with np.errstate(invalid="ignore", over="ignore"):
        scores = (query @ shared.swapaxes(-1, -2) * scale).astype(np.float64)
        if call.softcap is not None:
            scores = call.softcap * np.tanh(scores / call.softcap)
        scores = scores.reshape(problem.heads, *scores.shape[-2:])
        scores = scores if bias is None else scores + bias
        seen = np.broadcast_to(True if visible is None else visible, scores.shape)
        scores = np.where(seen, scores, -np.inf)
        exp = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = exp / exp.sum(axis=-1, keepdims=True)
        weights[~seen.any(axis=-1)] = 0  # it sees nothing: no nan of the program
    return np.asarray(weights.reshape(*query.shape[:-1], key.shape[-2]))


def observe_weights(
    weights: Array,
    segment: Segment,
    options: Options,
    first: bool = True,
    records: list[LayerRecord] | None = None,
) -> Observation:
    """Observation of weights that are at hand, whatever gave them; rows of nan see nothing.

    They are the scores log w of a query and key of zeros whose log-sum-exp is 0: every fact follows
    from the weights as they are, also where they sum to less than 1. What is special about them is
    noted in the records of their sentences, if there are any.
    """
    nan: Array = np.asarray(np.isnan(weights).any(axis=-1))
    weights = np.where(nan[..., None], 0, weights)
    sums = weights.sum(axis=-1, dtype=np.float64)
    if records is not None:
        _note_weights(records, segment, nan, sums)
    with np.errstate(divide="ignore"):
        scores = np.log(weights)
    query, key = (np.zeros((*weights.shape[:-2], n, 1), scores.dtype) for n in weights.shape[-2:])
    every = max(weights.shape[-2:])
    return observe_from_logsumexp(
        query,
        key,
        np.where(sums > 0, 0.0, -np.inf),
        mask=scores,
        offset=segment.arguments.get("offset"),
        scale=1.0,
        top=options.top,
        map=options.map_blocks(every) if first else options.map and every,
    )


def _note_weights(records: list[LayerRecord], segment: Segment, nan: Array, sums: Array) -> None:
    for number, sentence in enumerate(segment.sentences):
        nan_hq, sums_hq = (nan, sums) if segment.alone else (nan[number], sums[number])
        records[sentence].nan_rows += int(nan_hq.sum())
        records[sentence].note_sinks(float(sums_hq.min(where=sums_hq > 0, initial=1.0)))


def check_logsumexp(call: ModelCall, segment: Segment, seen: Observation) -> None:
    """Raise where the log-sum-exp of a segment is not that of the model's own kernel.

    Every call is compared, so that a mask, a scale or a cache that is not understood is found.
    """
    if call.own_logsumexp is None:
        return
    rows, _ = segment.indices
    own, ours = as_wide_array(call.own_logsumexp[rows]), seen.logsumexp
    # Next to the lowest number of a dtype, as of a padded query, there are no digits to compare.
    compared = np.isfinite(ours) & np.isfinite(own) & (own > LOWEST_COMPARED)
    own, ours = own[compared], ours[compared]
    difference = np.abs(ours - own)
    allowed = LOGSUMEXP_TOLERANCE * rounding(call) * (1 + np.abs(own).max(initial=0))
    if difference.max(initial=0) > allowed:
        raise BackendError(
            f"{type(call.module).__name__}: the log-sum-exp of the model's own attention is "
            f"{difference.max():.3g} away from that of the weights regard would show "
            f"({allowed:.1g} would be rounding), so watch shows nothing. The model does something "
            "regard does not know: leave this layer out with layers=..."
        )


def pending_facts(
    seen: Observation,
    segment: Segment,
    options: Options,
    keep: bool,
    tokens: Sequence[NDArray[np.int64] | None],
) -> Iterator[tuple[int, Pending]]:
    """Pending facts of each sentence of a segment.

    On a device they stay there until they are read, unless query and key are recorded.
    """
    keys = slice(segment.column_start, segment.column_start + seen.keys)
    seen = without_output(seen)
    late = None
    if options.map and "map" not in seen.facts:
        problem: Any = seen.parts[0]
        large = _is_large(problem.query_hqd, problem.key_gkd)
        late = LateMap(in_own_memory(seen) if large else seen)
    for index, sentence in enumerate(segment.sentences):
        ids = tokens[sentence]
        tokens_k = None if ids is None or len(ids) < keys.stop else ids[keys]
        if late is not None:
            yield sentence, _pending_map(late, index, segment, options, tokens_k)
            continue
        own: Observation = seen if len(seen.head_shape) == 1 else picked(seen, index)
        device_bytes: int = 0
        checks: tuple[DeferredCheck, ...] = ()
        if not (keep or options.spans):
            own, device_bytes, checks = release_query_and_key(own, tokens_k)
        make = partial(sentence_facts, own, segment, options, keep, tokens_k)
        starts = segment.row_start, segment.column_start
        yield sentence, Pending(own.queries, own.keys, *starts, make, device_bytes, checks)


def _pending_map(
    late: LateMap,
    index: int,
    segment: Segment,
    options: Options,
    tokens_k: NDArray[np.int64] | None,
) -> Pending:
    """Pending facts of a sentence whose map is computed when one of them is read."""

    def make() -> SentenceFacts:
        seen = late.observation()
        own: Observation = seen if len(seen.head_shape) == 1 else picked(seen, index)
        return sentence_facts(own, segment, options, False, tokens_k)

    share = len(segment.sentences)
    return Pending(
        late.seen.queries,
        late.seen.keys,
        segment.row_start,
        segment.column_start,
        make,
        facts_bytes=late.facts_bytes // share,
        query_key_bytes=late.query_key_bytes // share,
    )


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
    seen: Observation,
    segment: Segment,
    options: Options,
    keep: bool,
    tokens_k: NDArray[np.int64] | None,
) -> SentenceFacts:
    """Facts and measures of one sentence, with its query and key where they are recorded."""
    measures = head_measures(seen, tokens_k)
    sums = span_sums(seen, segment, options) if options.spans else None
    problem = None
    if keep:
        part = seen.parts[0].on_host()
        problem = replace(
            part,
            query_hqd=part.query_hqd.copy(),
            key_gkd=part.key_gkd.copy(),
            value_gkv=part.value_gkv[..., :0].copy(),
        )
    starts, first_hq = (segment.row_start, segment.column_start), None
    if isinstance(seen.parts[0], Problem):  # not where a device has released query and key
        first_hq = np.asarray(seen.tile(slice(None), slice(0, 1))[..., 0], np.float32)
        first_hq = first_hq * np.float32(segment.column_start == 0)
    return SentenceFacts(replace(seen, parts=()), *starts, measures, sums, problem, first_hq)


def span_sums(seen: Observation, segment: Segment, options: Options) -> Array:
    """Weights added over the queries and keys of each pair of spans, (h, r, c)."""
    part, edges = seen.parts[0], options.edges
    row_edges = np.clip(edges - segment.row_start, 0, seen.queries)
    column_edges = np.clip(edges - segment.column_start, 0, seen.keys)
    sums_hrc = sums_by_span(part, seen.logsumexp.reshape(part.heads, -1), row_edges, column_edges)
    inside = np.array(
        [
            [start <= low and high <= stop for low, high in pairwise(edges)]
            for start, stop in options.spans.values()
        ],
        float,
    )
    joined: Array = inside @ sums_hrc @ inside.T
    return joined


SHARED_DTYPES = ("float32", "float64")  # NumPy's views of such tensors are the model's own memory


def waits_for_map(call: ModelCall, segment: Segment, options: Options, keep: bool) -> bool:
    """Whether the map of a first call is every weight, and query and key give it later."""
    short = 0 < max(segment.queries, segment.keys) <= options.map
    plain = "mask" not in segment.arguments and not (keep or options.spans)
    return short and plain and in_host_memory(call.query)


def _is_large(query: Any, key: Any) -> bool:
    return int(query.nbytes + key.nbytes) >= OWN_MEMORY_BYTES


@dataclass(eq=False)
class LateMap:
    """An observation without its map, and what computes it: its own copies of query and key."""

    seen: Observation
    complete: bool = False

    def observation(self) -> Observation:
        """The observation with its map, computed once for all sentences of it."""
        if not self.complete:
            problem: Any = self.seen.parts[0]
            size = max(self.seen.queries, self.seen.keys)
            more = observe_problem(problem, Requested(False, map=size))
            facts = ArrayFacts({**self.seen.facts, "map": more.facts["map"]})
            spent = replace(self.seen.cost, flops=self.seen.cost.flops + more.cost.flops)
            self.seen, self.complete = replace(self.seen, facts=facts, cost=spent), True
        return self.seen

    @property
    def facts_bytes(self) -> int:
        return sum(fact.nbytes for fact in self.seen.facts.values())

    @property
    def query_key_bytes(self) -> int:
        problem: Any = self.seen.parts[0]
        return int(problem.query_hqd.nbytes + problem.key_gkd.nbytes)


def shares_memory(call: ModelCall) -> bool:
    """Whether arrays of a call's tensors are the model's own memory, which may be overwritten."""
    return dtype_name(call.query) in SHARED_DTYPES


MAX_COPIED_BYTES = 2**28  # of query and key: with more they are not copied
MAX_STACKED_BYTES = (
    2**26
)  # with more the device is busy for longer than the host: no other layer waits
MAX_WAITING_BYTES = 2**28  # of query and key of all layers that wait
Tokens = NDArray[np.int64] | None


@dataclass(eq=False)
class StackedLayer:
    """Query (h, q, d), key and log-sum-exp (h, q) of one layer and sentence, and its record."""

    query: torch.Tensor | None
    key: torch.Tensor | None
    logsumexp: torch.Tensor | None
    segment: Segment
    record: LayerRecord | None
    pending: Pending | None

    @property
    def tensors(self) -> tuple[Any, Any, Any]:
        return self.query, self.key, self.logsumexp


@dataclass(eq=False)
class LayerStack:
    """Layers of the same shapes, mask and tokens; one observation (layers, h, ...) of them all.

    ``launch`` starts it on copies of query and key; it is finished when a fact is first read.
    It is also the deferred check of its numbers: that they are finite, and that the weights of
    each row sum to 1.
    """

    call: ModelCall
    tokens_k: Tokens
    options: Options
    launch: Callable[[], None] | None
    layers: list[StackedLayer] = field(default_factory=list)
    started: StartedObservation | None = None
    seen: Observation | None = None
    share: ShareCheck | None = None
    passed: bool = False

    def finish(self) -> Observation:
        if self.launch is not None:
            self.launch()
        if self.seen is None:
            assert self.started is not None  # it was launched
            seen, self.started = self.started.finish(), None
            self.seen, _, _ = release_query_and_key(seen, self.tokens_k, stacked=1)
        return self.seen

    def facts(self, index: int) -> SentenceFacts:
        own = stack_entry(self.finish(), index)
        return sentence_facts(own, self.layers[index].segment, self.options, False, self.tokens_k)

    @property
    def ok(self) -> torch.Tensor:
        assert self.share is not None  # checks are queued after the launch
        return self.share.ok

    def raise_error(self) -> None:
        """Raise what is wrong with query and key, or with the log-sum-exp."""
        assert self.share is not None  # as above
        facts: Any = self.finish().facts
        if self.share.has_nan:
            facts.check()
        self.share.raise_error()


class StackedCalls:
    """Layers of a device whose facts follow from their log-sum-exp, observed together.

    They wait until the forward ends, until they hold MAX_WAITING_BYTES, or until a fact is read.
    """

    def __init__(self, options: Options, queue: DeviceQueue) -> None:
        self.options, self.queue = options, queue
        self._stacks: dict[tuple[Any, ...], LayerStack] = {}
        self._bytes = 0

    def serves(self, call: ModelCall, segment: Segment, record: LayerRecord) -> bool:
        first = record.queries == 0 and not self.options.has_spans
        known = call.logsumexp is not None and "mask" not in segment.arguments
        return first and known and _bytes(call.query) + _bytes(call.key) <= MAX_COPIED_BYTES

    def add(
        self,
        call: ModelCall,
        segment: Segment,
        records: list[LayerRecord],
        tokens: Sequence[Tokens],
    ) -> None:
        for part in segment.one_by_one(call.query):
            (sentence,) = part.sentences
            ids = tokens[sentence]
            keys = slice(part.column_start, part.column_start + part.keys)
            tokens_k = None if ids is None or len(ids) < keys.stop else ids[keys]
            self._append(call, part, records[sentence], tokens_k)
        if (
            self._bytes > MAX_WAITING_BYTES
            or _bytes(call.query) + _bytes(call.key) > MAX_STACKED_BYTES
        ):
            self.launch()

    def _append(
        self, call: ModelCall, segment: Segment, record: LayerRecord, tokens_k: Tokens
    ) -> None:
        assert call.logsumexp is not None  # as serves() says
        rows, columns = segment.indices
        query, key = call.query.detach()[rows], call.key.detach()[columns]
        tensors = query, key, call.logsumexp[rows]
        name = _stack_name(call, segment, tensors, tokens_k)
        if name not in self._stacks:
            self._stacks[name] = LayerStack(call, tokens_k, self.options, self.launch)
        stack = self._stacks[name]
        make = partial(stack.facts, len(stack.layers))
        starts = segment.row_start, segment.column_start
        pending = Pending(segment.queries, segment.keys, *starts, make)
        record.expect(pending)
        stack.layers.append(StackedLayer(*tensors, segment, record, pending))
        self._bytes += sum(map(_bytes, tensors))

    def launch(self) -> None:
        """Start the second pass of every layer that waits; the host does not wait for it."""
        stacks, self._stacks, self._bytes = list(self._stacks.values()), {}, 0
        for stack in stacks:
            queued = [(layer.record, layer.pending) for layer in stack.layers]
            device_bytes = self._start(stack)
            for number, (record, pending) in enumerate(queued):
                assert record is not None  # both are there until now
                assert pending is not None
                pending.device_bytes = device_bytes // len(queued)
                pending.checks = () if number else (stack,)
                self.queue.add(record, pending)

    def _start(self, stack: LayerStack) -> int:
        """Launch a stack; returns the bytes that it takes on the device."""
        import torch

        from regard.engine.gpu.dispatch import StartedObservation

        call, layers = stack.call, stack.layers
        each = zip(*(layer.tensors for layer in layers), strict=True)
        # Copied, one layer too: a cache may be overwritten before the rest is computed.
        query, key, logsumexp = (torch.stack(x) for x in each)
        most = self.options.map_blocks(max(query.shape[-2], key.shape[-2]))
        requested = Requested(False, True, self.options.top, most, True, True)
        options = with_defaults(
            scale=call.scale, softcap=call.softcap, **layers[0].segment.arguments
        )
        stack.launch = None
        started = stack.started = StartedObservation.start(
            query, key, logsumexp, requested, options
        )
        for layer in layers:
            layer.query = layer.key = layer.logsumexp = None
            layer.record = layer.pending = None  # they hold the stack: facts are freed with them
        stack.share = ShareCheck(type(call.module).__name__, started.shares())
        return started.device_bytes


def stack_entry(seen: Observation, index: int) -> Observation:
    """One layer of a stack, its facts copied from the device together with those of the others."""
    if not seen._on_device or not hasattr(seen.parts[0], "picked"):
        one: Observation = picked(seen, index)
        return one
    facts = ArrayFacts({name: array[index] for name, array in seen.facts.items()})
    profile = seen.profile
    own = Profile(profile.first[index], profile.back, profile.weight[index])
    return replace(seen, facts=facts, _profile=own, parts=(seen.parts[0].picked(index),))


def _stack_name(
    call: ModelCall, segment: Segment, tensors: tuple[Any, ...], tokens_k: Tokens
) -> tuple[Any, ...]:
    """What layers of one stack have in common."""
    shapes = tuple((tuple(x.shape), x.dtype, x.device) for x in tensors)
    arguments = tuple(sorted(segment.arguments.items()))
    tokens = None if tokens_k is None else tokens_k.tobytes()
    return shapes, arguments, call.scale, call.softcap, tokens


def _bytes(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())
