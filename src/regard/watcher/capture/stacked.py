"""Second passes of several layers on a device, launched as one to spare the host's time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.call import Requested
from regard.engine.observation import ArrayFacts, Observation
from regard.engine.profile import Profile
from regard.textbook.options import with_defaults
from regard.watcher.capture.deferred import DeferredChecks, DeviceQueue, queue_facts
from regard.watcher.capture.model_call import ModelCall
from regard.watcher.capture.observe_call import release_query_and_key, sentence_facts
from regard.watcher.capture.record import LayerRecord, Pending, SentenceFacts
from regard.watcher.capture.segments import Segment
from regard.watcher.capture.share_check import ShareCheck
from regard.watcher.layer import picked
from regard.watcher.watch import Options

if TYPE_CHECKING:
    import torch

    from regard.engine.gpu.dispatch import StartedObservation

LAYER_BYTES = 2**28  # of query and key: with more they are not copied
BUSY_BYTES = 2**26  # with more the device is busy for longer than the host: no other layer waits
HELD_BYTES = 2**28  # of query and key of all layers that wait

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
        """Query, key and log-sum-exp, until they are released."""
        return self.query, self.key, self.logsumexp


@dataclass(eq=False)
class LayerStack:
    """Layers of the same shapes, mask and tokens; one observation (layers, h, ...) of them all.

    ``launch`` starts it on copies of query and key; it is finished when a fact is first read.
    """

    call: ModelCall
    tokens_k: Tokens
    options: Options
    launch: Callable[[], None] | None
    layers: list[StackedLayer] = field(default_factory=list)
    started: StartedObservation | None = None
    seen: Observation | None = None

    def finish(self) -> Observation:
        """The observation with every fact, without query and key."""
        if self.launch is not None:
            self.launch()
        if self.seen is None:
            assert self.started is not None  # it was launched
            seen, self.started = self.started.finish(), None
            self.seen, _, _ = release_query_and_key(seen, self.tokens_k, stacked=1)
        return self.seen

    def facts(self, index: int) -> SentenceFacts:
        """Facts and measures of one of the layers."""
        own = layer_of(self.finish(), index)
        return sentence_facts(own, self.layers[index].segment, self.options, False, self.tokens_k)


@dataclass(eq=False)
class StackCheck:
    """Deferred check of a stack: of numbers that are not finite, then of the sums of weights.

    ``device_bytes`` are those of the stack until a fact is read.
    """

    stack: LayerStack
    share: ShareCheck
    device_bytes: int
    passed: bool = False

    @property
    def ok(self) -> torch.Tensor:
        """True where the weights of every row sum to 1."""
        return self.share.ok

    def raise_error(self) -> None:
        """Raise what is wrong with query and key, or with the log-sum-exp."""
        facts: Any = self.stack.finish().facts
        if self.share.has_nan:
            facts.check()
        self.share.raise_error()


class StackedCalls:
    """Layers of a device whose facts follow from their log-sum-exp, observed together.

    They wait until the forward ends, until they hold HELD_BYTES, or until a fact is read.
    """

    def __init__(self, options: Options, queue: DeviceQueue, checks: DeferredChecks) -> None:
        self.options, self.queue, self.checks = options, queue, checks
        self._stacks: dict[tuple[Any, ...], LayerStack] = {}
        self._bytes = 0

    def serves(self, call: ModelCall, segment: Segment, record: LayerRecord) -> bool:
        """Whether a call can wait: a first one, without a mask of values."""
        first = record.queries == 0 and not self.options.spans
        known = call.logsumexp is not None and "mask" not in segment.arguments
        return first and known and _bytes(call.query) + _bytes(call.key) <= LAYER_BYTES

    def add(
        self,
        call: ModelCall,
        segment: Segment,
        records: list[LayerRecord],
        tokens: Sequence[Tokens],
    ) -> None:
        """Queue the sentences of a segment; their records expect them from now on."""
        for part in segment.one_by_one(call.query):
            (sentence,) = part.sentences
            ids = tokens[sentence]
            keys = slice(part.column_start, part.column_start + part.keys)
            tokens_k = None if ids is None or len(ids) < keys.stop else ids[keys]
            self._append(call, part, records[sentence], tokens_k)
        if self._bytes > HELD_BYTES or _bytes(call.query) + _bytes(call.key) > BUSY_BYTES:
            self.launch()

    def _append(
        self, call: ModelCall, segment: Segment, record: LayerRecord, tokens_k: Tokens
    ) -> None:
        assert call.logsumexp is not None  # as serves() says
        rows, columns = segment.indices
        query, key = call.query.detach()[rows], call.key.detach()[columns]
        tensors = query, key, call.logsumexp[rows]
        name = _name_of(call, segment, tensors, tokens_k)
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
            check = self._start(stack)
            for number, (record, pending) in enumerate(queued):
                assert record is not None  # both are there until now
                assert pending is not None
                pending.device_bytes = check.device_bytes // len(queued)
                pending.checks = () if number else (check,)
                queue_facts(self.queue, self.checks, record, pending)

    def _start(self, stack: LayerStack) -> StackCheck:
        import torch

        from regard.engine.gpu.dispatch import StartedObservation

        call, layers = stack.call, stack.layers
        each = zip(*(layer.tensors for layer in layers), strict=True)
        # Copied, one layer too: a cache may be overwritten before the rest is computed.
        query, key, logsumexp = (torch.stack(x) for x in each)
        requested = Requested(False, True, self.options.top, self.options.map, True, True)
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
        share = ShareCheck(type(call.module).__name__, started.shares())
        return StackCheck(stack, share, started.device_bytes)


def layer_of(seen: Observation, index: int) -> Observation:
    """One layer of a stack, its facts copied from the device together with those of the others."""
    if not seen._on_device or not hasattr(seen.parts[0], "picked"):
        one: Observation = picked(seen, index)
        return one
    facts = ArrayFacts({name: array[index] for name, array in seen.facts.items()})
    profile = seen.profile
    own = Profile(profile.first[index], profile.back, profile.weight[index])
    return replace(seen, facts=facts, _profile=own, parts=(seen.parts[0].picked(index),))


def _name_of(
    call: ModelCall, segment: Segment, tensors: tuple[Any, ...], tokens_k: Tokens
) -> tuple[Any, ...]:
    """What layers of one stack have in common."""
    shapes = tuple((tuple(x.shape), x.dtype, x.device) for x in tensors)
    arguments = tuple(sorted(segment.arguments.items()))
    tokens = None if tokens_k is None else tokens_k.tobytes()
    return shapes, arguments, call.scale, call.softcap, tokens


def _bytes(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())
