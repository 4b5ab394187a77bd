"""The recorder of one model's attention calls."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from regard.errors import BackendError
from regard.watcher.capture.deferred import (
    STEPS_AT_ONCE,
    DeferredChecks,
    DeviceQueue,
    PendingSteps,
    queue_facts,
)
from regard.watcher.capture.forward_run import (
    ForwardRun,
    LayerKey,
    MemoryEstimate,
    begin_text,
    expected_memory,
)
from regard.watcher.capture.forwards import Forwards
from regard.watcher.capture.generation import FollowedGeneration
from regard.watcher.capture.masks import MaskSpec
from regard.watcher.capture.model_call import ModelCall, prove
from regard.watcher.capture.numbering import CallRelation, LayerCall, LayerNumbering
from regard.watcher.capture.observe_call import OutputBuffer, take_facts
from regard.watcher.capture.segments import Segment, segments_of
from regard.watcher.capture.stacked import StackedCalls
from regard.watcher.media.media_inputs import MediaInputs
from regard.watcher.watch import Options

if TYPE_CHECKING:
    import torch

    from regard.watcher.changes.intervention_call import ModelIntervention
    from regard.watcher.changes.model_outcome import ModelOutcome
    from regard.watcher.changes.rerun import RunCapture


class Recorder:
    """Records of the attention calls on one thread, text by text; see ``watch``."""

    drops_padding = True

    def __init__(
        self, model: Any, options: Options, notice: Callable[[LayerKey], None] | None, holder: Any
    ) -> None:
        self.options, self.notice = options, notice
        self.configs: list[Any] = []  # those that the registry has patched
        self.intervention: ModelIntervention | None = None
        self.capture: RunCapture | None = None
        self.outcome: ModelOutcome | None = None
        self.probe: Callable[[ModelCall, LayerKey, list[Segment]], None] | None = None
        self.forwards = Forwards(model, holder)
        self.numbering = LayerNumbering(model, self.forwards, options.watches)
        self.runs: list[ForwardRun] = []
        self.media = MediaInputs(model, self.runs)
        self.memory = MemoryEstimate()
        self.device_queue, self.checks = DeviceQueue(), DeferredChecks()
        self.stacked = StackedCalls(options, self.device_queue, self.checks)
        self.layers = _count_layers(model)
        self.generation = FollowedGeneration(weakref.ref(self), holder)
        self._end_numbering, self.forwards.ended = self.forwards.ended, self._end
        self._proven: set[LayerKey] = set()

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
        self.numbering.check(layer_call, call.module)
        return layer_call

    @property
    def checkpoints(self) -> bool:
        """Whether layers are computed again for gradients, by gradient checkpointing."""
        import torch

        modules = self.numbering.model.modules()
        return torch.is_grad_enabled() and any(
            module.training and getattr(module, "gradient_checkpointing", False)
            for module in modules
        )

    @property
    def layer_keys(self) -> list[LayerKey]:
        """Every attention that was called, watched or not."""
        return self.numbering.layers

    @property
    def paths(self) -> dict[str, LayerKey]:
        """Layers by the path of their module; a module's second call is 'path#2'."""
        return self.numbering.paths

    def take(self, call: ModelCall, layer_call: LayerCall) -> tuple[torch.Tensor, Any]:
        """Observe a call, and return the output (b, q, h, d) and weights for the model."""
        layer_key, segments = layer_call.layer, segments_of(call)
        if layer_call.relation is CallRelation.NEXT:
            segments = self._packed(layer_key, segments)
        if self.probe is not None:
            self.probe(call, layer_key, segments)
        run = self._run(layer_key, segments, call)
        proven, result = layer_key in self._proven, None
        if proven and self._can_defer(run, layer_key, call, segments):
            self._defer(run, layer_key, call, segments)
            return call.own()
        if call.prefers_own:
            *result, call = call.own_with_logsumexp()
        self.flush(run, layer_key)
        # Every row's log-sum-exp of the own kernel is compared: no output is needed for a proof.
        compared = result is not None and (proven or call.has_logsumexp)
        output = None if compared else OutputBuffer(call)
        for segment in segments:
            self._record_segment(run, layer_key, call, segment, output)
            if output is not None and result is None:
                output.put_padding(segment)
        if output is not None and not proven:
            self._prove(call, output, segments, layer_key, None if result is None else result[0])
        self._proven.add(layer_key)
        if self.notice is not None:
            self.notice(layer_key)
        if result is not None:
            return result[0], result[1]
        assert output is not None  # it is made where there is no result
        return output.tensor, None

    def detach(self) -> None:
        """Remove hooks and callbacks, so that facts are freed when nobody holds them any more."""
        self.numbering.detach()
        self.forwards.forget_callbacks()

    def _end(self, inside: set[int]) -> None:
        """Launch what waits when the outermost forward ends: a cache may be overwritten next."""
        self._end_numbering(inside)
        if not self.forwards.running:
            self.stacked.launch()

    def synchronize(self) -> None:
        """Observe all pending steps, and raise the error of the first deferred check that fails."""
        self.flush()
        self.checks.raise_first_error()

    def flush(self, run: ForwardRun | None = None, layer_key: LayerKey | None = None) -> None:
        """Observe the pending steps of one layer, of one run, or of all."""
        if run is None:
            self.stacked.launch()
        for each_run in self.runs if run is None else [run]:
            for each in list(each_run.pending_steps) if layer_key is None else [layer_key]:
                if each in each_run.pending_steps:
                    call, segments = each_run.pending_steps.pop(each).joined()
                    for segment in segments:
                        self._observe(each_run, each, call, segment, None)

    def _prove(
        self,
        call: ModelCall,
        output: OutputBuffer,
        segments: list[Segment],
        layer_key: LayerKey,
        own: torch.Tensor | None,
    ) -> None:
        try:
            prove(call, output.tensor, real_rows(segments, output.shape[0]), str(layer_key), own)
        except BackendError:
            self.checks.raise_first_error()  # nan has an error of its own
            raise

    def _can_defer(
        self, run: ForwardRun, layer_key: LayerKey, call: ModelCall, segments: list[Segment]
    ) -> bool:
        """Whether a call can be observed later: a decode step after a first call."""
        records = run.records.get(layer_key)
        if self.generation.draft_start is not None:
            return False
        if records is None or any(records[x.sentences[0]].queries == 0 for x in segments):
            return False
        return run.pending_steps.get(layer_key, PendingSteps()).fits(call, segments)

    def _defer(
        self, run: ForwardRun, layer_key: LayerKey, call: ModelCall, segments: list[Segment]
    ) -> None:
        steps = run.pending_steps.setdefault(layer_key, PendingSteps())
        for segment in segments:
            self._record_tokens(run, layer_key, call, segment, len(steps.queries))
        steps.add(call, segments)
        if len(steps.queries) == STEPS_AT_ONCE:
            self.flush(run, layer_key)
        if self.notice is not None:
            self.notice(layer_key)

    def _record_segment(
        self,
        run: ForwardRun,
        layer_key: LayerKey,
        call: ModelCall,
        segment: Segment,
        output: OutputBuffer | None,
    ) -> None:
        records = self.generation.records(run, layer_key, call.query.shape[0])
        if records[segment.sentences[0]].queries == 0:
            keep = self.options.keeps(layer_key.layer)
            estimate = MemoryEstimate.of(call, segment, self.options, keep)
            self.memory = expected_memory(self.memory, estimate, self.watched_layers)
        self._record_tokens(run, layer_key, call, segment)
        row = records[segment.sentences[0]].queries if call.cross else segment.row_start
        for part in self.generation.steps(layer_key, segment, row):
            self._observe(run, layer_key, call, part, output)

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
            self.generation.cut(run, segment.row_start)
        run.take_tokens(layer_key.part, segment, ids, call.query.shape[0])
        if layer_key == min(x for x in run.records if x.part == layer_key.part):
            run.check_order(layer_key, segment, call.key, self.checks)
        run.check_follows(layer_key, record, segment, pending)

    def _observe(
        self,
        run: ForwardRun,
        layer_key: LayerKey,
        call: ModelCall,
        segment: Segment,
        output: OutputBuffer | None,
    ) -> None:
        records, keep = run.records[layer_key], self.options.keeps(layer_key.layer)
        before = records[segment.sentences[0]].queries
        if call.cross:  # its queries have no positions: they follow those before
            arguments = segment.arguments | {"offset": before}
            segment = replace(segment, row_start=before, arguments=arguments)
        tokens = [None] * len(records) if call.cross else run.tokens[layer_key.part]
        record = records[segment.sentences[0]]
        waits = output is None and not keep and self.forwards.running
        if waits and self.stacked.serves(call, segment, record):
            self.stacked.add(call, segment, records, tokens)
            return
        for record, pending in take_facts(
            call, segment, records, self.options, keep, tokens, output
        ):
            queue_facts(self.device_queue, self.checks, record, pending)

    def _packed(self, layer_key: LayerKey, segments: list[Segment]) -> list[Segment]:
        """Segments of a packed sequence, moved after the tokens that their layer has recorded."""
        moved = []
        for segment in segments:
            record = self.runs[-1].records[layer_key][segment.sentences[0]]
            rows, columns = record.first_row + record.queries, record.keys
            moved.append(replace(segment, row_start=rows, column_start=columns))
        return moved

    def _run(self, layer_key: LayerKey, segments: list[Segment], call: ModelCall) -> ForwardRun:
        """The text of this call: a new one where a layer begins again."""
        begins = any(segment.row_start == 0 for segment in segments) and not call.cross
        begun = bool(self.runs) and layer_key in self.runs[-1].records
        if not self.runs or (begun and (begins or self._is_elsewhere(layer_key, segments, call))):
            self.flush()
            begin_text(self.runs, self.watched_layers)
        run = self.runs[-1]
        if not call.cross:
            run.rows[layer_key.part] = real_rows(segments, call.query.shape[0])
        return run

    def _is_elsewhere(self, layer_key: LayerKey, segments: list[Segment], call: ModelCall) -> bool:
        """Whether a cache goes on at another token than the last text: a prefix used again."""
        run = self.runs[-1]
        if run.closed:
            return True
        # After padding on the right a sentence does not go on where it ended.
        gaps = isinstance(call.mask, MaskSpec) and call.mask.real_bk is not None
        if call.cross or self.generation.draft_start is not None:
            return False
        pending = len(run.pending_steps.get(layer_key, PendingSteps()).queries)
        for segment in segments:
            record = run.records[layer_key][segment.sentences[0]]
            due = record.first_row + record.queries + pending
            if segment.row_start < due or (segment.row_start > due and not gaps):
                return record.queries > 0
        return False

    def query_rows(self, sentences: int) -> list[slice] | None:
        """The real queries of the decoder's sentences, for its cross attention."""
        rows = self.runs[-1].rows.get("decoder") if self.runs else None
        return rows if rows is not None and len(rows) == sentences else None

    def ids_for(self, call: ModelCall) -> Any:
        """The tokens (b, q) of the queries of a call; None where they are not known."""
        ids = self.forwards.ids(call.module)
        shape = (call.query.shape[0], call.query.shape[2])
        return ids if ids is not None and ids.shape == shape else None

    @property
    def watched_layers(self) -> int:
        """The number of recorded layers of a part."""
        return self.layers if self.options.layers is None else len(self.options.layers)


def real_rows(segments: list[Segment], sentences: int) -> list[slice]:
    """The real queries of each sentence; none where a sentence is all padding."""
    rows = [slice(0, 0)] * sentences
    for segment in segments:
        for sentence in segment.sentences:
            rows[sentence] = segment.rows
    return rows


def _count_layers(model: Any) -> int:
    config = getattr(model, "config", None)
    counts = [
        getattr(config, x, None) for x in ("num_hidden_layers", "decoder_layers", "num_layers")
    ]
    return max([number for number in counts if isinstance(number, int)] or [1])
