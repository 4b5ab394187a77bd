"""The recorder of attention, text by text, fed by one of two sources of events.

``InterfaceSource`` is called by models that attend through the attention interface of transformers,
``OperatorSource`` sees the operators that any program runs. A source says which layer, text and
tokens an attention belongs to; the recorder observes it and holds its facts.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import BackendError, RegardError
from regard.watcher.capture.deferred import STEPS_AT_ONCE, DeviceQueue, PendingSteps
from regard.watcher.capture.generation import FollowedGeneration
from regard.watcher.capture.model_call import ModelCall
from regard.watcher.capture.observation import OutputBuffer, StackedCalls, take_facts
from regard.watcher.capture.records import LayerRecord
from regard.watcher.capture.runs import ForwardRun, LayerKey, MemoryUse, warn_if_many
from regard.watcher.capture.segments import Segment
from regard.watcher.media.inputs import MediaInputs
from regard.watcher.options import Options

if TYPE_CHECKING:
    from regard.experiments.experiment import Experiment
    from regard.watcher.capture.interface import InterfaceSource
    from regard.watcher.capture.operators import OperatorSource
    from regard.watcher.experiments.intervention_call import ModelIntervention
    from regard.watcher.experiments.rerun import RunCapture
    from regard.watcher.mixers.inputs import MixerInputs

Progress = Callable[[LayerKey], None]


# What code that records may raise where a program attends as no other did before.
RECORDING_ERRORS = (RegardError, ValueError, TypeError, LookupError, AttributeError,
                    ArithmeticError, AssertionError, RuntimeError)  # fmt: skip


def _recording_error(error: Exception) -> RegardError:
    if isinstance(error, RegardError):
        return error
    unmet = BackendError(
        f"this attention could not be recorded ({type(error).__name__}: {error}); the program ran "
        "to its end as without regard. Please report the model."
    )
    unmet.__cause__ = error
    return unmet


class RecordedSource:
    """What both sources have: the recorder that they feed, and what is changed in their block."""

    def __init__(self, model: Any, holder: Any, options: Options) -> None:
        self.model, self.holder, self.options = model, holder, options
        self.reference: weakref.ref[Recorder] | None = None
        self.intervention: ModelIntervention | None = None
        self.capture: RunCapture | None = None
        self.outcome: Experiment | None = None
        self.block: Any = None  # the ``Watching`` of the block, to run the model again
        self.error: RegardError | None = None  # the first, raised at the end of the block

    @contextmanager
    def lenient(self) -> Iterator[None]:
        """Keep an error of recording for the end of the block: the program goes on without it.

        Where heads are changed it is raised at once, since the program would go on unchanged.
        """
        try:
            yield
        except RECORDING_ERRORS as error:
            if self.intervention is not None:
                raise
            self.error = self.error or _recording_error(error)

    @property
    def recorder(self) -> Recorder:
        recorder = None if self.reference is None else self.reference()
        assert recorder is not None
        return recorder


class Recorder:
    """Records of the attention on one thread; see ``watch``."""

    def __init__(
        self, source: InterfaceSource | OperatorSource, options: Options, progress: Progress | None
    ) -> None:
        self.source, self.options, self.progress = source, options, progress
        self.runs: list[ForwardRun] = []
        self.media = MediaInputs(source.model, self.runs)
        self.mixers: MixerInputs | None = None
        self.memory = MemoryUse()
        self._kept: dict[LayerKey, bool] = {}
        self.device_queue = DeviceQueue()
        self.stacked = StackedCalls(options, self.device_queue)
        self.generation = FollowedGeneration(weakref.ref(self), source.holder)
        # Weak, since this holds the source: a cycle would delay the freeing of all facts.
        source.reference = weakref.ref(self)

    def begin_text(self) -> ForwardRun:
        """Append a text to those of the block; warn where they hold much memory together."""
        self.flush()
        if self.runs:
            warn_if_many(self.runs, self.source.watched_layers)
            self.runs[-1].ended = True
        self.runs.append(ForwardRun())
        self._kept = {}
        return self.runs[-1]

    def records(
        self, run: ForwardRun, layer_key: LayerKey, call: ModelCall, segment: Segment
    ) -> list[LayerRecord]:
        """The records of a layer; at its first call warn where their memory will be large."""
        sentences = call.query.shape[0]
        records = self.generation.records(run, layer_key, sentences)
        if len(records) < sentences:  # more windows than before, for a larger image
            records += [LayerRecord(self.options.map) for _ in range(sentences - len(records))]
        if records[segment.sentences[0]].queries == 0:
            estimate = MemoryUse.from_call(
                call, segment, self.options, self.keeps(layer_key, call, segment)
            )
            self.memory = self.memory.grown(estimate, self.source.watched_layers)
        return records

    def keeps(self, layer_key: LayerKey, call: ModelCall, segment: Segment) -> bool:
        """Whether query and key of a layer are kept; with a limit its first call decides."""
        most = self.options.keep_bytes
        if most is None or layer_key in self._kept:
            return self._kept.get(layer_key, self.options.keeps(layer_key.layer))
        size = MemoryUse.from_call(call, segment, self.options, True).query_key
        self._kept[layer_key] = size * self.source.watched_layers <= most
        return self._kept[layer_key]

    def record(
        self,
        run: ForwardRun,
        layer_key: LayerKey,
        call: ModelCall,
        segment: Segment,
        row: int,
        output: OutputBuffer | None = None,
        *,
        tokens: Sequence[NDArray[np.int64] | None] | None = None,
    ) -> None:
        """Observe a segment whose first query has position ``row``, a draft row by row."""
        for part in self.generation.steps(layer_key, segment, row):
            self.observe(run, layer_key, call, part, output, tokens)

    def observe(
        self,
        run: ForwardRun,
        layer_key: LayerKey,
        call: ModelCall,
        segment: Segment,
        output: OutputBuffer | None = None,
        tokens: Sequence[NDArray[np.int64] | None] | None = None,
    ) -> None:
        """Append the facts of a segment to the records of its sentences.

        ``tokens`` are those of the run if not given.
        """
        records, keep = run.records[layer_key], self.keeps(layer_key, call, segment)
        if call.cross:  # its queries have no positions: they follow those before
            before = records[segment.sentences[0]].queries
            arguments = segment.arguments | {"offset": before}
            segment = replace(segment, row_start=before, arguments=arguments)
        if tokens is None:
            tokens = [None] * len(records) if call.cross else run.tokens[layer_key.part]
        record = records[segment.sentences[0]]
        waits = output is None and not keep and self.source.stacks_layers
        if waits and self.stacked.serves(call, segment, record):
            self.stacked.add(call, segment, records, tokens)
            return
        for part, options in self._with_spans(call, segment, records, tokens):
            for record, pending in take_facts(call, part, records, options, keep, tokens, output):
                self.device_queue.add(record, pending)

    def _with_spans(
        self,
        call: ModelCall,
        segment: Segment,
        records: list[LayerRecord],
        tokens: Sequence[NDArray[np.int64] | None],
    ) -> Iterator[tuple[Segment, Options]]:
        """The segment; sentence by sentence where each text has spans of its own."""
        named = self.options.text_spans
        if named is None:
            yield segment, self.options
            return
        for part in segment.separate():
            record, ids = records[part.sentences[0]], tokens[part.sentences[0]]
            if record.spans is None:
                record.spans = {} if ids is None else named.within(ids)
            yield part, replace(self.options, spans=record.spans, text_spans=None)

    def defer(
        self, run: ForwardRun, layer_key: LayerKey, call: ModelCall, segments: list[Segment]
    ) -> None:
        steps = run.pending_steps.setdefault(layer_key, PendingSteps())
        steps.add(call, segments)
        if len(steps.queries) == STEPS_AT_ONCE:
            self.flush(run, layer_key)

    def report_progress(self, layer_key: LayerKey) -> None:
        if self.progress is not None:
            self.progress(layer_key)

    def flush(self, run: ForwardRun | None = None, layer_key: LayerKey | None = None) -> None:
        """Observe the pending steps of one layer, of one run, or of all."""
        if run is None:
            self.stacked.launch()
        for each_run in self.runs if run is None else [run]:
            for each in list(each_run.pending_steps) if layer_key is None else [layer_key]:
                if each in each_run.pending_steps:
                    call, segments = each_run.pending_steps.pop(each).joined()
                    for segment in segments:
                        self.observe(each_run, each, call, segment)

    def synchronize(self) -> None:
        """Observe all pending steps, and raise the error of the first deferred check that fails."""
        self.flush()
        self.device_queue.raise_first_error()
