"""The attention interface of transformers as a source of events for the recorder.

While a recorder is active, what the interface hands out is wrapped: an attention function is called
as it is, and its arguments are observed beside it; a mask function too, and its arguments describe
the mask. The model keeps its configuration, its masks and its kernels, and sees nothing of it.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from regard.errors import BackendError
from regard.watcher.capture.deferred import PendingSteps
from regard.watcher.capture.masks import MaskSpec, followed_masks, latest_masks
from regard.watcher.capture.model_call import ModelCall, prove
from regard.watcher.capture.modules import Forwards, in_backward, is_traced
from regard.watcher.capture.numbering import CallRelation, LayerCall, LayerNumbering
from regard.watcher.capture.observation import OutputBuffer
from regard.watcher.capture.recorder import RecordedSource
from regard.watcher.capture.runs import ForwardRun, LayerKey
from regard.watcher.capture.segments import Segment, call_segments
from regard.watcher.experiments.intervention_call import attend_changed
from regard.watcher.options import Options
from regard.watcher.seam.running import is_cross

if TYPE_CHECKING:
    import torch


LAYER_COUNT_NAMES = ("num_hidden_layers", "decoder_layers", "num_layers")


class InterfaceSource(RecordedSource):
    """Attention calls of one model through the attention interface, on one thread.

    ``holder`` is the module that was given to ``watch``, ``model`` the model of transformers in it.
    Changes of heads act here, since here they are told apart before they are mixed:
    ``intervention`` has them, ``capture`` and ``outcome`` what came of them.
    """

    drops_padding = True
    unrecorded: tuple[str, ...] = ()  # a model with attention besides is watched by its operators

    def __init__(self, model: Any, holder: Any, options: Options) -> None:
        super().__init__(model, holder, options)
        self.forwards = Forwards(model, holder)
        self.numbering = LayerNumbering(model, self.forwards, options.watches)
        self.layers = _count_layers(model)
        self._end_numbering, self.forwards.ended = self.forwards.ended, self._end
        self._proven: set[LayerKey] = set()

    @contextmanager
    def attached(self) -> Iterator[None]:
        with ExitStack() as cleanup:
            cleanup.callback(self._detach)
            for remove_hook in self.forwards.attach():
                cleanup.callback(remove_hook)
            cleanup.enter_context(followed_masks())
            install(self)
            cleanup.callback(remove, self)
            yield

    @property
    def ran(self) -> bool:
        return self.forwards.count > 0

    @property
    def ran_elsewhere(self) -> bool:
        return self.forwards.elsewhere

    @property
    def stacks_layers(self) -> bool:
        """Whether facts of a layer may wait for those of the next: until the forward ends."""
        return self.forwards.running

    @property
    def layer_keys(self) -> list[LayerKey]:
        return self.numbering.layers

    @property
    def paths(self) -> dict[str, LayerKey]:
        return self.numbering.paths

    @property
    def watched_layers(self) -> int:
        return self.layers if self.options.layers is None else len(self.options.layers)

    def locate(self, call: ModelCall) -> LayerCall | None:
        """The layer of a call; None where it is not recorded."""
        if not self.numbering.counts_calls_of(call.module):
            return None
        layer_call = self.numbering.locate(call)
        # The same query and key with other values: the weights are recorded already.
        if layer_call.relation is CallRelation.SAME or not self.options.watches(
            layer_call.layer.layer
        ):
            return None
        with self.lenient():
            self.numbering.check(layer_call, call.module)
            return layer_call
        return None

    def take(self, call: ModelCall, layer_call: LayerCall) -> tuple[torch.Tensor, Any]:
        """Observe a call, and return the output (b, q, h, d) and weights for the model."""
        own: tuple[torch.Tensor, Any] | None = None
        with self.lenient():
            if self.error is None:
                layer_key, segments = layer_call.layer, call_segments(call)
                if layer_call.relation is CallRelation.NEXT:
                    segments = self._packed(layer_key, segments)
                run = self._run(layer_key, segments, call)
                if layer_key in self._proven and self._can_defer(run, layer_key, call, segments):
                    self._defer(run, layer_key, call, segments)
                    return call.own()
                output, weights, call = call.own_with_logsumexp()
                own = output, weights
                self._observe(run, layer_key, call, segments, output)
        return call.own() if own is None else own

    def _observe(
        self, run: ForwardRun, layer_key: LayerKey, call: ModelCall, segments: list[Segment],
        own: torch.Tensor,
    ) -> None:  # fmt: skip
        self.recorder.flush(run, layer_key)
        # Every row's log-sum-exp of the own kernel is compared: no output is needed for a proof.
        compared = call.has_logsumexp or call.weights is not None
        output = None if layer_key in self._proven or compared else OutputBuffer(call)
        for segment in segments:
            self._record(run, layer_key, call, segment, output)
        if output is not None and output.complete:
            self._prove(call, output, segments, layer_key, own)
        self._proven.add(layer_key)
        self.recorder.report_progress(layer_key)

    def as_cross(self, call: ModelCall, layer_call: LayerCall) -> ModelCall:
        """The call; of cross attention with the real queries of the decoder's sentences."""
        if layer_call.layer.part.split()[0] != "cross":
            return call
        runs = self.recorder.runs
        rows = runs[-1].rows.get("decoder") if runs else None
        known = rows is not None and len(rows) == call.query.shape[0]
        return replace(call, cross=True, rows=rows if known else None)

    def ids_for(self, call: ModelCall) -> Any:
        """The tokens (b, q) of the queries of a call; None where they are not known."""
        ids = self.forwards.ids(call.module)
        shape = (call.query.shape[0], call.query.shape[2])
        return ids if ids is not None and ids.shape == shape else None

    def _detach(self) -> None:
        """Remove hooks and callbacks, so that facts are freed when nobody holds them any more."""
        self.numbering.detach()
        self.forwards.forget_callbacks()

    def _end(self, inside: set[int]) -> None:
        """Launch what waits when the outermost forward ends: a cache may be overwritten next."""
        with self.lenient():
            self._end_numbering(inside)
        if not self.forwards.running:
            self.recorder.stacked.launch()

    def _prove(
        self,
        call: ModelCall,
        output: OutputBuffer,
        segments: list[Segment],
        layer_key: LayerKey,
        own: torch.Tensor,
    ) -> None:
        try:
            prove(call, output.tensor, real_rows(segments, output.shape[0]), str(layer_key), own)
        except BackendError:
            self.recorder.device_queue.raise_first_error()  # nan has an error of its own
            raise

    def _can_defer(
        self, run: ForwardRun, layer_key: LayerKey, call: ModelCall, segments: list[Segment]
    ) -> bool:
        """Whether a call can be observed later: a decode step after a first call."""
        records = run.records.get(layer_key)
        if self.recorder.generation.draft_start is not None:
            return False
        if records is None or any(records[x.sentences[0]].queries == 0 for x in segments):
            return False
        return run.pending_steps.get(layer_key, PendingSteps()).fits(call, segments)

    def _defer(
        self, run: ForwardRun, layer_key: LayerKey, call: ModelCall, segments: list[Segment]
    ) -> None:
        pending = run.pending_steps.get(layer_key, PendingSteps())
        for segment in segments:
            self._record_tokens(run, layer_key, call, segment, len(pending.queries))
        self.recorder.defer(run, layer_key, call, segments)
        self.recorder.report_progress(layer_key)

    def _record(
        self,
        run: ForwardRun,
        layer_key: LayerKey,
        call: ModelCall,
        segment: Segment,
        output: OutputBuffer | None,
    ) -> None:
        records = self.recorder.records(run, layer_key, call, segment)
        self._record_tokens(run, layer_key, call, segment)
        row = records[segment.sentences[0]].queries if call.cross else segment.row_start
        self.recorder.record(run, layer_key, call, segment, row, output)

    def _record_tokens(
        self,
        run: ForwardRun,
        layer_key: LayerKey,
        call: ModelCall,
        segment: Segment,
        pending: int = 0,
    ) -> None:
        """Record the tokens of a segment, and check that they follow those before."""
        if call.cross:
            return
        ids, record = self.ids_for(call), run.records[layer_key][segment.sentences[0]]
        if segment.row_start < record.first_row + record.queries:
            self.recorder.generation.cut(run, segment.row_start)
        run.take_tokens(layer_key.part, segment, ids, call.query.shape[0])
        if layer_key == min(x for x in run.records if x.part == layer_key.part):
            run.check_order(layer_key, segment, call.key, self.recorder.device_queue)
        run.check_follows(layer_key, record, segment, pending)

    def _packed(self, layer_key: LayerKey, segments: list[Segment]) -> list[Segment]:
        """Segments of a packed sequence, moved after the tokens that their layer has recorded."""
        moved = []
        for segment in segments:
            record = self.recorder.runs[-1].records[layer_key][segment.sentences[0]]
            rows, columns = record.first_row + record.queries, record.keys
            moved.append(replace(segment, row_start=rows, column_start=columns))
        return moved

    def _run(self, layer_key: LayerKey, segments: list[Segment], call: ModelCall) -> ForwardRun:
        """The text of this call: a new one where a layer begins again."""
        runs = self.recorder.runs
        begins = any(segment.row_start == 0 for segment in segments) and not call.cross
        begun = bool(runs) and layer_key in runs[-1].records
        if not runs or (begun and (begins or self._is_elsewhere(layer_key, segments, call))):
            self.recorder.begin_text()
        run = runs[-1]
        if not call.cross:
            run.rows[layer_key.part] = real_rows(segments, call.query.shape[0])
        return run

    def _is_elsewhere(self, layer_key: LayerKey, segments: list[Segment], call: ModelCall) -> bool:
        """Whether a cache goes on at another token than the last text: a prefix used again."""
        run = self.recorder.runs[-1]
        if run.closed:
            return True
        # After padding on the right a sentence does not go on where it ended.
        gaps = call.spec is not None and call.spec.real_bk is not None
        if call.cross or self.recorder.generation.draft_start is not None:
            return False
        pending = len(run.pending_steps.get(layer_key, PendingSteps()).queries)
        for segment in segments:
            record = run.records[layer_key][segment.sentences[0]]
            due = record.first_row + record.queries + pending
            if segment.row_start < due or (segment.row_start > due and not gaps):
                return record.queries > 0
        return False


def real_rows(segments: list[Segment], sentences: int) -> list[slice]:
    """The real queries of each sentence; none where a sentence is all padding."""
    rows = [slice(0, 0)] * sentences
    for segment in segments:
        for sentence in segment.sentences:
            rows[sentence] = segment.rows
    return rows


def _count_layers(model: Any) -> int:
    config = getattr(model, "config", None)
    counts = [getattr(config, name, None) for name in LAYER_COUNT_NAMES]
    return max([number for number in counts if isinstance(number, int)] or [1])


_lock = threading.RLock()
_sources: list[InterfaceSource] = []
_replaced = ExitStack()


def install(source: InterfaceSource) -> None:
    """Let a source observe; the first one wraps what the interface of transformers hands out."""
    with _lock:
        if not _sources:
            _wrap_interface()
        _sources.append(source)


def remove(source: InterfaceSource) -> None:
    """Let a source observe no more; the last one leaves the interface as it was."""
    with _lock:
        _sources.remove(source)
        if not _sources:
            _replaced.close()


def _wrap_interface() -> None:
    """Wrap the functions that transformers gives out by name, and the eager one of a model."""
    from transformers import AttentionInterface

    find, choose = AttentionInterface.__getitem__, AttentionInterface.get_interface

    def get_interface(interface: Any, name: str, default: Callable[..., Any]) -> Any:
        return _watched_attention(choose(interface, name, default), name)

    AttentionInterface.__getitem__ = lambda own, name: _watched_attention(find(own, name), name)
    AttentionInterface.get_interface = get_interface
    _replaced.callback(delattr, AttentionInterface, "__getitem__")  # it is that of its base class
    _replaced.callback(setattr, AttentionInterface, "get_interface", choose)


def _watched_attention(function: Callable[..., Any], name: str | None) -> Callable[..., Any]:
    """An attention function that is called as it is, and observed where its model is watched."""
    if hasattr(function, "__watched__"):
        return function

    @functools.wraps(function)
    def attend(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any = None, **options: Any
    ) -> Any:
        call = ModelCall(
            module, query, key, value, attention_mask, options, name or "eager", function
        )
        return observe_call(call)

    attend.__watched__ = True  # type: ignore[attr-defined]
    return attend


def observe_call(call: ModelCall) -> tuple[torch.Tensor, Any]:
    """The output (b, q, h, d) of the model's own attention and its weights, observed beside it."""
    if in_backward() or is_traced():
        return call.own()
    call = _described(call)
    if any(source.intervention is not None for source in _sources):
        return attend_changed(call, _sources), None
    located = [(source, source.locate(call)) for source in _sources]
    takers = [(source, layer_call) for source, layer_call in located if layer_call is not None]
    if not takers:
        return call.own()
    outputs = [
        source.take(source.as_cross(call, layer_call), layer_call) for source, layer_call in takers
    ]
    output, weights = outputs[-1]
    if weights is None and call.options.get("output_attentions"):
        _warn_of_no_weights(call.implementation)
    return output, weights


def _warn_of_no_weights(implementation: str) -> None:
    """Warn that a model gives out no weights; Python shows one line of code a warning once."""
    warnings.warn(
        f"output_attentions=True gives out no weights with {implementation!r}, inside watch as "
        "outside: read them from watch, as in seen[0].map, or load the model with "
        "attn_implementation='eager'.",
        UserWarning,
        stacklevel=4,
    )


def _described(call: ModelCall) -> ModelCall:
    """The call with the description of its mask, if that is known."""
    sentences, queries, keys = call.query.shape[0], call.query.shape[2], call.key.shape[2]
    if call.mask is not None:
        spec = latest_masks.described(call.mask)
        if spec is not None and call.mask.shape[-1] == 1 < keys and bool(call.mask.max() >= 0):
            spec = _of_one_query(call, spec)
        elif spec is None and getattr(call.mask, "ndim", 0) == 4:
            spec = latest_masks.of_sizes(call.mask.shape[0], *call.mask.shape[2:])
            spec = spec and replace(spec, changed=True)
        return replace(call, spec=spec)
    masks = latest_masks.left_to_kernel(sentences, queries)
    of_size = [mask for mask in masks if mask.shape[3] == keys]
    # A decoder that attends to more keys than it made a mask for is refused, by its sizes.
    cached = call.causal and queries < keys and not is_cross(call.module, "")
    for made in (of_size or (masks if cached else []))[-1:]:
        mask = made if of_size else _of_one_query(call, made)
        if call.implementation in ("sdpa", "eager"):
            mask = mask.as_kernel_computes(call.causal and call.implementation == "sdpa")
        return replace(call, spec=mask)
    return call


def _of_one_query(call: ModelCall, mask: MaskSpec) -> MaskSpec:
    """The description of a mask that hides no key of a cache, of which its model did not know.

    So does the mask of one query and one key, which is spread over all keys, and no mask at all.
    """
    queries, keys = call.query.shape[2], call.key.shape[2]
    if queries != 1 or call.implementation not in ("sdpa", "eager"):
        return mask
    sizes = {"kv_length": keys, "q_offset": keys - 1, "kv_offset": 0, "attention_mask": None}
    return replace(mask, arguments=mask.arguments | sizes)
