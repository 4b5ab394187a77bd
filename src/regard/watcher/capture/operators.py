"""Attention among the operators of any program as a source of events for the recorder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.tensors import in_host_memory
from regard.errors import BackendError
from regard.watcher.capture.events import (
    AttentionEvent,
    attention_events,
    without_fast_path,
)
from regard.watcher.capture.handwritten import HandwrittenAttention
from regard.watcher.capture.masks import MaskSpec, followed_masks, latest_masks
from regard.watcher.capture.model_call import ModelCall
from regard.watcher.capture.modules import RunningModules
from regard.watcher.capture.numbering import is_cross
from regard.watcher.capture.recorder import AttentionSource
from regard.watcher.capture.records import LayerRecord
from regard.watcher.capture.runs import ForwardRun, LayerKey
from regard.watcher.capture.segments import Segment, added_mask, call_segments, hides_whole_rows
from regard.watcher.experiments.program_call import ProgramCall, change_program
from regard.watcher.options import Options

if TYPE_CHECKING:
    import torch


HEAD_COUNT_NAMES = (
    "num_heads",
    "num_attention_heads",
    "n_heads",
    "n_head",
    "nhead",
    "heads",
    "nheads",
)
PARTS = {
    "encoder": "encoder", "decoder": "decoder", "vision": "vision", "visual": "vision",
    "language": "decoder", "text": "text", "down": "down", "mid": "mid", "up": "up",
}  # fmt: skip
CROSS_NAMES = frozenset({"multihead_attn", "attn2"})  # of nn.TransformerDecoder and of diffusers
OUTSIDE = "program"  # the path of attention outside of all modules


class OperatorSource(AttentionSource):
    """Attentions among the operators that a program runs on one thread.

    Layers are counted within a part, in the order in which they are first called. A forward of the
    outermost module is a text, unless its keys are those of a cache that was seen growing.
    """

    drops_padding = False
    stacks_layers = False

    def __init__(self, model: Any, options: Options) -> None:
        super().__init__(model, model, options)
        self.modules = RunningModules(model)
        self.handwritten = HandwrittenAttention()
        self.handwritten.place = lambda: self.modules.path if self.modules.inside else ""
        self._layers: dict[tuple[str, int], LayerKey] = {}  # by path and number of the attention
        self._numbers: Counter[str] = Counter()
        self.handwritten.refuse = self._refuse
        self._taken: dict[int, tuple[str, int]] = {}  # places of softmaxes that are none of scores
        self._refused: set[tuple[str, int]] = set()
        self._heads = HeadList()
        self._forward = -1
        self._decided = False

    @contextmanager
    def attached(self) -> Iterator[None]:
        changes = getattr(self.block, "changes", ())
        with ExitStack() as stack:
            stack.enter_context(without_fast_path() if changes else nullcontext())
            stack.enter_context(followed_masks())
            stack.enter_context(self.modules.attached())
            found = attention_events(self.take, self.modules.embedded, self.handwritten)
            stack.enter_context(found)
            yield

    @property
    def ran(self) -> bool:
        return self.modules.forwards > 0

    @property
    def unrecorded(self) -> tuple[str, ...]:
        """Paths of modules in which a softmax ran that no product with a value followed."""
        return tuple(dict.fromkeys(path for path in self.handwritten.unrecorded.values() if path))

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

    def take(self, event: AttentionEvent) -> Any:
        """Record an attention; what the program gets instead where it is changed, else None."""
        if not self.modules.inside:
            return None
        call = as_call(event, self.modules)
        if 0 in (*call.query.shape[:3], call.key.shape[2]):
            return None
        site = self._site(event)
        heads = self._heads.add(call, self.modules)
        if heads is not None:
            if heads.number == 1:  # the first looked like a layer
                self._remove((heads.first_path, 0))
            if self.intervention is not None:
                raise BackendError(
                    f"{heads.path}: each head is a module of its own, which has returned when its "
                    "layer is known: such heads cannot be changed."
                )
            if not heads.complete:
                return None
            call, site = heads.joined(), (heads.path, 0)
        layer_key = self._locate(site, event)
        watched = self.options.watches(layer_key.layer)
        if site in self._refused or not (watched or self.intervention):
            return None
        if event.product is not None:
            self._taken[event.product.serial] = site
        # Where transformers made the mask, positions and padding are known from it.
        self.drops_padding = call.spec is not None and layer_key.part != "cross"
        segments = call_segments(call) if self.drops_padding else []
        run = self._run(layer_key, call, segments)
        changed = None
        if self.intervention is not None:
            before = segments or [self._segment(run, layer_key, call, event)]
            numbers_bh = _numbers(event, self.modules)
            program = ProgramCall.from_event(call, event, numbers_bh)
            ids = self.modules.ids((call.query.shape[0], call.query.shape[2]))
            call, changed = change_program(program, self.intervention, layer_key, before, ids)
            segments = call_segments(call) if self.drops_padding else []
        for segment in segments or [self._segment(run, layer_key, call, event)]:
            for record in self.recorder.records(run, layer_key, call, segment):
                record.mixed |= event.product is not None and event.product.mixed
            tokens = self._tokens(run, layer_key, segment, call)
            self.recorder.record(run, layer_key, call, segment, segment.row_start, tokens=tokens)
        self.recorder.report_progress(layer_key)
        return changed

    def _refuse(self, serial: int) -> None:
        """Drop what looked like attention, and was the product of keys and values."""
        if serial in self._taken:
            self._refused.add(self._taken[serial])
            self._remove(self._taken.pop(serial))

    def _remove(self, site: tuple[str, int]) -> None:
        layer_key = self._layers.pop(site, None)
        for run in self.recorder.runs:
            if layer_key is not None:
                run.records.pop(layer_key, None)

    def _site(self, event: AttentionEvent) -> tuple[str, int]:
        """The path of the innermost module, and how often it attended before in this forward."""
        if self._forward != self.modules.forwards:
            self._forward, self._decided = self.modules.forwards, False
            outside = self._numbers[OUTSIDE]  # calls outside of all modules go on counting
            self._numbers = Counter({OUTSIDE: outside})
        path = self.modules.path or _name(self.modules)
        path = f"{path}.{event.inside}" if event.inside else path
        self._numbers[path] += 1
        return path, self._numbers[path] - 1

    def _locate(self, site: tuple[str, int], event: AttentionEvent) -> LayerKey:
        if site not in self._layers:
            call = as_call(event, self.modules)
            two = self.modules.was_given_two(call.query.shape[2], call.key.shape[2])
            part = part_name(site[0], call, event, from_two_texts=two)
            if part == "encoder" and self._continues(call):
                part = "decoder"
            layer = sum(key.part == part for key in self._layers.values())
            self._layers[site] = LayerKey(part, layer)
        return self._layers[site]

    def _continues(self, call: ModelCall) -> bool:
        return self.modules.has_cache(call.query.shape[2], call.key.shape[2])

    def _run(self, layer_key: LayerKey, call: ModelCall, segments: list[Segment]) -> ForwardRun:
        """The text of an attention, decided once a forward, where a layer comes again."""
        recorder = self.recorder
        run = recorder.runs[-1] if recorder.runs else recorder.begin_text()
        records = run.records.get(layer_key)
        if records is None or self._decided:
            return run
        self._decided = True
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
        self, run: ForwardRun, layer_key: LayerKey, call: ModelCall, event: AttentionEvent
    ) -> Segment:
        """All sentences of a call, whose queries follow those that were recorded."""
        before = run.records.get(layer_key, [LayerRecord(self.options.map)])[0]
        row_start = before.first_row + before.queries
        if not before.queries and not event.causal and layer_key.part != "cross":
            # A cache that was filled before the block: its queries are the last tokens.
            row_start = call.key.shape[2] - call.query.shape[2] if self._continues(call) else 0
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


def as_call(event: AttentionEvent, modules: RunningModules) -> ModelCall:
    """An event as a call (b, h, q, d); of weights with a query and key of no width."""
    module = modules.module
    if event.weights is None:
        assert event.query is not None
        assert event.key is not None
        options = {"scaling": event.scale, "is_causal": event.causal, "softcap": event.softcap}
        spec = described(event.query, event.key, event)
        key, mask = event.key, event.mask
        if spec is None:
            key, mask = used_keys(event.query.shape[2], event.key, event.mask)
        # Next to the lowest number a log-sum-exp has no digits left for the number of keys.
        logsumexp = None if hides_whole_rows(mask) else _on_device(event.logsumexp)
        tensors = event.query, key, key[..., :0], mask
        return ModelCall(module, *tensors, options, "operator", spec=spec, logsumexp=logsumexp)
    weights = by_sentence(event.weights, module, modules.sentences(event.weights.shape[-2]))
    weights = weights.float().cpu()
    query, key = (weights.new_zeros((*weights.shape[:2], n, 0)) for n in weights.shape[2:])
    spec = described(query, key, event)
    return ModelCall(module, query, key, key, None, {}, "operator", spec=spec, weights=weights)


def described(query: torch.Tensor, key: torch.Tensor, event: AttentionEvent) -> MaskSpec | None:
    """The mask that transformers made for a call, where it made one of these sizes."""
    spec = latest_masks.of_sizes(query.shape[0], query.shape[2], key.shape[2])
    if spec is None or event.mask is not None or event.weights is not None:
        return None if spec is None else replace(spec, changed=True)
    return spec.as_kernel_computes(event.causal)


def _numbers(event: AttentionEvent, modules: RunningModules) -> torch.Tensor | None:
    """The number, among the weights of an event, of those of each sentence and head, (b, h)."""
    import torch

    if event.weights is None:
        return None
    leading = event.weights.shape[:-2]
    numbers = torch.arange(prod(leading)).reshape(*leading, 1, 1)
    given = modules.sentences(event.weights.shape[-2])
    return by_sentence(numbers, modules.module, given)[..., 0, 0]


def used_keys(
    queries: int, key: torch.Tensor, mask: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Keys and mask without the end of a static cache, which no query may look at yet."""
    if mask is None or queries >= key.shape[2] or mask.shape[-1] != key.shape[2]:
        return key, mask
    seen = mask if mask.dtype == _bool() else mask > -1e4
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


def by_sentence(weights: torch.Tensor, module: Any, sentences: int | None = None) -> torch.Tensor:
    """Weights (..., q, k) as (b, h, q, k); sentences and heads may be one axis or several.

    ``sentences`` is their number where it is known.
    """
    leading, heads = tuple(weights.shape[:-2]), head_count(module)
    if len(leading) == 2:
        if sentences is None and leading[0] == heads:
            sentences = leading[1]
        return weights.transpose(0, 1) if leading[0] != sentences == leading[1] else weights
    if len(leading) < 2:
        number = prod(leading)
        if sentences and not heads and number % sentences == 0:
            heads = number // sentences
        of_each = heads if heads and number % heads == 0 else number
        leading = (number // of_each, of_each)
    elif heads and prod(leading[1:]) == heads:
        leading = (leading[0], heads)
    else:
        leading = (prod(leading[:-1]), leading[-1])
    return weights.reshape(*leading, *weights.shape[-2:])


def head_count(module: Any) -> int | None:
    """The number of heads that a module names."""
    numbers = (getattr(module, name, None) for name in HEAD_COUNT_NAMES)
    return next((x for x in numbers if isinstance(x, int) and x > 0), None)


def part_name(
    path: str, call: ModelCall, event: AttentionEvent, *, from_two_texts: bool = False
) -> str:
    """The part of a model that a path names; else 'decoder' where no query sees a later key."""
    words = path.lower().split(".")
    two = from_two_texts and not call.merged
    if is_cross(call.module, path) or CROSS_NAMES.intersection(words) or two:
        return "cross"
    if "text_decoder" in words:
        return "decoder"
    for word in words:
        part = next((PARTS[x] for x in PARTS if word == x or word.startswith(f"{x}_")), None)
        if part is not None:
            return part
    if call.spec is not None and call.spec.band is not None:
        return "decoder" if call.spec.band[1] == 0 else "encoder"
    return "decoder" if event.causal or is_ordered(call) else "encoder"


def is_ordered(call: ModelCall) -> bool:
    """Whether every later key is hidden from each query, and the queries are the last keys."""
    shown = call.mask if call.weights is None else call.weights > 0
    queries, keys = call.query.shape[2], call.key.shape[2]
    if shown is None or queries < 2 or tuple(shown.shape[-2:]) != (queries, keys):
        return False
    hidden = ~shown if shown.dtype == _bool() else shown < -1e4
    later = hidden.new_ones((queries, keys)).triu(keys - queries + 1)
    return bool(later.any()) and bool((hidden | ~later).all())


def _bool() -> Any:
    import torch

    return torch.bool


def event_segment(call: ModelCall, event: AttentionEvent, row_start: int) -> Segment:
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


def _name(modules: RunningModules) -> str:
    module = modules.module
    return OUTSIDE if module is None else type(module).__name__
