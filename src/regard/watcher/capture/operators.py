"""Attention among the operators of any program as a source of events for the recorder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.tensors import in_host_memory
from regard.errors import BackendError
from regard.watcher.capture.masks import MaskSpec, followed_masks, latest_masks
from regard.watcher.capture.model_call import ModelCall
from regard.watcher.capture.recorder import RecordedSource
from regard.watcher.capture.records import LayerRecord
from regard.watcher.capture.runs import ForwardRun, LayerKey
from regard.watcher.capture.segments import Segment, added_mask, call_segments, hides_whole_rows
from regard.watcher.experiments.intervention_call import changed_call
from regard.watcher.options import Options
from regard.watcher.seam.call import AttentionCall, Place
from regard.watcher.seam.running import RunningModules
from regard.watcher.seam.source import AttentionSource, without_fast_path

if TYPE_CHECKING:
    import torch


class OperatorSource(RecordedSource):
    """Attentions that a program calls on one thread, as the reader of the seam.

    Layers are counted within a part, in the order in which they are first called. A forward of the
    outermost module is a text, unless its keys are those of a cache that was seen growing.
    """

    drops_padding = False
    stacks_layers = False

    def __init__(self, model: Any, options: Options) -> None:
        super().__init__(model, model, options)
        self.seam = AttentionSource(model, self.take, self._refuse)
        self.modules = self.seam.modules
        self._layers: dict[tuple[str, int], LayerKey] = {}  # by path and number of the attention
        self._heads = HeadList()
        self._forward = -1
        self._over_others: list[str] = []  # paths of attention over something else than tokens

    @contextmanager
    def attached(self) -> Iterator[None]:
        changes = getattr(self.block, "changes", ())
        path = without_fast_path() if changes else nullcontext()
        with path, followed_masks(), self.seam.attached():
            yield

    @property
    def ran(self) -> bool:
        return self.modules.forwards > 0

    @property
    def unrecorded(self) -> tuple[str, ...]:
        """Paths of modules in which a softmax ran that no product with a value followed.

        Also of those whose number of heads changed in one text: there is one for each token.
        """
        return (*self.seam.unrecorded, *self._over_others)

    @property
    def ran_elsewhere(self) -> bool:
        return self.modules.elsewhere

    @property
    def layer_keys(self) -> list[LayerKey]:
        return list(self._layers.values())

    @property
    def paths(self) -> dict[str, LayerKey]:
        return {
            f"{path}#{number + 1}" if number else path: layer
            for (path, number), layer in self._layers.items()
        }

    @property
    def watched_layers(self) -> int:
        return max(1, sum(self.options.watches(layer.layer) for layer in self._layers.values()))

    def take(self, seen: AttentionCall) -> Any:
        """Record an attention; what the program gets instead where it is changed, else None."""
        with self.lenient():
            return None if self.error else self._take(seen)
        return None

    def _take(self, seen: AttentionCall) -> Any:
        call, site = as_call(seen.detached), (seen.place.path, seen.place.number)
        listed = self._heads.add(call, self.modules)
        if listed is not None:
            if listed.number == 1:  # the first looked like a layer
                self._remove((listed.first_path, 0))
            if self.intervention is not None:
                raise BackendError(
                    f"{listed.path}: each head is a module of its own, which has returned when its "
                    "layer is known: such heads cannot be changed."
                )
            if not listed.complete:
                return None
            call, site = listed.joined(), (listed.path, 0)
        layer_key = self._locate(site, seen, call)
        watched = self.options.watches(layer_key.layer)
        if not (watched or self.intervention):
            return None
        # Where transformers made the mask, positions and padding are known from it.
        self.drops_padding = call.spec is not None and layer_key.part != "cross"
        segments = call_segments(call) if self.drops_padding else []
        run = self._run(layer_key, call, segments)
        heads = call.query.shape[1]
        if run.heads.setdefault(layer_key, heads) != heads:
            path, number = seen.place.path, seen.place.number
            self._over_others.append(f"{path}#{number + 1}" if number else path)
            self.seam.leave_out(seen.place)
            return None
        changed = None
        if self.intervention is not None:
            before = segments or [self._segment(run, layer_key, call, seen)]
            ids = self.modules.ids((call.query.shape[0], call.query.shape[2]))
            call, changed = changed_call(call, seen, self.intervention, layer_key, before, ids)
            segments = call_segments(call) if self.drops_padding else []
        for segment in segments or [self._segment(run, layer_key, call, seen)]:
            for record in self.recorder.records(run, layer_key, call, segment):
                record.mixed |= seen.mixed
            tokens = self._tokens(run, layer_key, segment, call)
            self.recorder.record(run, layer_key, call, segment, segment.row_start, tokens=tokens)
        self.recorder.report_progress(layer_key)
        return changed

    def _refuse(self, place: Place) -> None:
        """Drop what looked like attention, and was the product of keys and values."""
        self._remove((place.path, place.number))

    def _remove(self, site: tuple[str, int]) -> None:
        layer_key = self._layers.pop(site, None)
        for run in self.recorder.runs:
            if layer_key is not None:
                run.records.pop(layer_key, None)
                run.heads.pop(layer_key, None)

    def _locate(self, site: tuple[str, int], seen: AttentionCall, call: ModelCall) -> LayerKey:
        if site not in self._layers:
            part, band = seen.place.part, None if call.spec is None else call.spec.band
            if band is not None:
                part = self.seam.part(seen, ordered=band[1] == 0)
            taken = [key.layer for key in self._layers.values() if key.part == part]
            self._layers[site] = LayerKey(part, max(taken, default=-1) + 1)
        return self._layers[site]

    def _run(self, layer_key: LayerKey, call: ModelCall, segments: list[Segment]) -> ForwardRun:
        """The text of an attention, decided once a forward, where a layer comes again."""
        recorder = self.recorder
        run = recorder.runs[-1] if recorder.runs else recorder.begin_text()
        records = run.records.get(layer_key)
        if records is None or self._forward == self.modules.forwards:
            return run
        self._forward = self.modules.forwards
        generation, queries, keys = recorder.generation, call.query.shape[2], call.key.shape[2]
        first = segments[0].row_start if segments else keys - queries
        reached = records[0].first_row + records[0].queries if segments else records[0].keys
        if generation.draft_start is not None and 0 < first < reached:
            generation.cut(run, first)
        if segments:
            grown = all(_follows(records, segment) for segment in segments)
        else:
            grown = {record.keys + queries for record in records} == {keys}
        if run.closed or not (grown and len(records) == call.query.shape[0]):
            run = recorder.begin_text()
        return run

    def _segment(
        self, run: ForwardRun, layer_key: LayerKey, call: ModelCall, event: AttentionCall
    ) -> Segment:
        """All sentences of a call, whose queries follow those that were recorded."""
        before = run.records.get(layer_key, [LayerRecord(self.options.map)])[0]
        row_start = before.first_row + before.queries
        if not before.queries and not event.causal and layer_key.part != "cross":
            # A cache that was filled before the block: its queries are the last tokens.
            queries, keys = call.query.shape[2], call.key.shape[2]
            row_start = keys - queries if self.modules.has_cache(queries, keys) else 0
        return event_segment(call, event, row_start)

    def _tokens(
        self, run: ForwardRun, layer_key: LayerKey, segment: Segment, call: ModelCall
    ) -> list[NDArray[np.int64] | None]:
        sentences = call.query.shape[0]
        if layer_key.part == "cross":
            return [None] * sentences
        ids = self.modules.ids((sentences, call.query.shape[2]))
        run.take_tokens(layer_key.part, segment, ids, sentences)
        known = dict(enumerate(run.tokens[layer_key.part]))
        # Keys that are no tokens of the text (registers, a second stream) have no names.
        named = (known.get(sentence) for sentence in range(sentences))
        keys = segment.column_start + segment.keys
        return [x if x is not None and len(x) == keys else None for x in named]


@dataclass
class HeadList:
    """Modules of a list that attend with one head each to the same input: heads of one layer.

    ``number`` is that of the last module, ``complete`` whether it was the last of the list.
    """

    path: str = ""
    number: int = -1
    complete: bool = False
    first_path: str = ""
    _input: int = 0
    _calls: list[ModelCall] = field(default_factory=list, repr=False)

    def add(self, call: ModelCall, modules: RunningModules) -> HeadList | None:
        """This, with a call of the next head; None where the call is a layer by itself."""
        place = modules.innermost_list
        if place is None or call.query.shape[1] != 1:
            self._calls = []
            return None
        path, number, modules_in_list = place
        last = self._calls[-1] if self._calls else None
        follows = last is not None and (path, number, modules.input_id) == (
            self.path, self.number + 1, self._input,
        )  # fmt: skip
        if not follows or last is None or last.query.shape != call.query.shape:
            begins, self._calls = number == 0, [call]
            known = begins and path == self.path and self.complete
            self.path, self.number, self._input = path, number, modules.input_id
            self.complete, self.first_path = False, modules.path
            return self if known else None
        self._calls.append(call)
        self.number, self.complete = number, number == modules_in_list - 1
        return self

    def joined(self) -> ModelCall:
        """One call of all heads, (b, h, q, d)."""
        import torch

        calls, self._calls = self._calls, []
        joined = {
            name: torch.cat([getattr(call, name) for call in calls], dim=1)
            for name in ("query", "key", "value", "weights", "logsumexp")
            if getattr(calls[0], name) is not None
        }
        return replace(calls[0], **joined)


def _follows(records: list[LayerRecord], segment: Segment) -> bool:
    """Whether a segment begins where the records of its sentences end."""
    some = [records[x] for x in segment.sentences if x < len(records)]
    return all(0 < x.queries == segment.row_start - x.first_row for x in some)


def as_call(seen: AttentionCall) -> ModelCall:
    """A call as the recorder takes it; of weights with a query and key of no width."""
    module = seen.place.module
    if seen.weights is None:
        assert seen.query is not None
        assert seen.key is not None
        options = {"scaling": seen.scale, "is_causal": seen.causal, "softcap": seen.softcap}
        spec = described(seen)
        key, mask = seen.key, seen.mask
        if spec is None:
            key, mask = used_keys(seen.query.shape[2], seen.key, seen.mask)
        # Next to the lowest number a log-sum-exp has no digits left for the number of keys.
        logsumexp = None if hides_whole_rows(mask) else _on_device(seen.logsumexp)
        tensors = seen.query, key, key[..., :0], mask
        return ModelCall(module, *tensors, options, "operator", spec=spec, logsumexp=logsumexp)
    weights, spec = seen.weights.float().cpu(), described(seen)
    if spec is None and weights.shape[2] < weights.shape[3]:
        keys, _ = used_keys(weights.shape[2], weights.mT, weights > 0)
        weights = keys.mT
    query, key = (weights.new_zeros((*weights.shape[:2], n, 0)) for n in weights.shape[2:])
    return ModelCall(module, query, key, key, None, {}, "operator", spec=spec, weights=weights)


def described(seen: AttentionCall) -> MaskSpec | None:
    """The mask that transformers made for a call, where it made one of these sizes."""
    sentences, _, queries, keys = seen.shape
    spec = latest_masks.of_sizes(sentences, queries, keys)
    if spec is None or seen.mask is not None or seen.weights is not None:
        return None if spec is None else replace(spec, changed=True)
    return spec.as_kernel_computes(seen.causal)


def used_keys(
    queries: int, key: torch.Tensor, mask: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Keys and mask without the end of a static cache, which no query may look at yet."""
    if mask is None or queries >= key.shape[2] or mask.shape[-1] != key.shape[2]:
        return key, mask
    seen = mask if str(mask.dtype) == "torch.bool" else mask > -1e4
    used = int(seen.reshape(-1, key.shape[2]).any(dim=0).nonzero().max()) + 1 if seen.any() else 0
    last_query = seen[..., -1, :used]
    if used < queries or not last_query[..., -1].all():
        return key, mask  # padding of other keys than one's own
    return key[:, :, :used], mask[..., :used]


def _on_device(logsumexp: torch.Tensor | None) -> torch.Tensor | None:
    """A kernel's log-sum-exp where it saves a pass over the keys.

    It is float32, which is off by 3e-5 of every weight where scores reach 500; on the CPU the
    engine's own is float64, and costs next to nothing.
    """
    return None if logsumexp is None or in_host_memory(logsumexp) else logsumexp


def event_segment(call: ModelCall, event: AttentionCall, row_start: int) -> Segment:
    """All sentences of a call, with its mask as ``observe`` takes it."""
    (sentences, _, queries, _), keys = call.query.shape, call.key.shape[2]
    arguments: dict[str, Any] = {"offset": row_start}
    if event.causal:  # as in torch, query 0 has the position of key 0
        arguments = {"offset": 0, "causal": True}
    elif call.mask is not None:
        arguments["mask"] = added_mask(call.mask.detach())
    if call.bias is not None:  # of changes
        bias = added_mask(call.bias)
        arguments["mask"] = bias + arguments["mask"] if "mask" in arguments else bias
    everything = tuple(range(sentences))
    return Segment(everything, slice(0, queries), slice(0, keys), row_start, 0, arguments)
