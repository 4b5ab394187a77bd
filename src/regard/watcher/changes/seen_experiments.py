"""Experiments of a watched model as methods of what was seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from regard.errors import ArgumentError, BackendError, NotAskedError

if TYPE_CHECKING:
    from regard.engine.observation import Observation
    from regard.watcher.capture.recorder import Recorder
    from regard.watcher.changes.model_because import ModelScore
    from regard.watcher.changes.model_changes import Words
    from regard.watcher.changes.model_effects import ModelEffects
    from regard.watcher.changes.model_outcome import ModelOutcome
    from regard.watcher.changes.text_rerun import TextRerun
    from regard.watcher.changes.text_sources import TextSources


class SeenExperiments:
    """Mix-in of Seen: runs of the model with something changed."""

    _source: Any

    @property
    def recorder(self) -> Any:
        """The recorder of the block; a file has none."""
        recorder = getattr(self._source, "recorder", None)
        if recorder is None:
            raise ArgumentError("an experiment needs the model: a file has only what was seen.")
        return recorder

    @property
    def outcome(self) -> ModelOutcome:
        """Before and after of the changes of the block: logits, next tokens, text.

        The run without them is made when this is first read, after the block, and kept.
        """
        from regard.watcher.changes.model_outcome import outcome_of

        recorder = self.recorder
        capture = getattr(recorder, "capture", None)
        if capture is None:
            raise NotAskedError(
                "an outcome needs a change, and the end of its block: with "
                "regard.watch(model).ablate(4, 7) as seen: model(...), and after it seen.outcome."
            )
        if recorder.outcome is None:
            changes = tuple(str(change) for change in recorder.intervention.changes)
            recorder.outcome = outcome_of(changes, capture, self._source.tokenizer)
        outcome: ModelOutcome = recorder.outcome
        return outcome

    def effects(
        self,
        of: str | int | None = None,
        against: str | int | None = None,
        *,
        position: int | None = None,
        to: str = "zero",
        over: Sequence[str] | None = None,
        batch: int = 16,
        notice: Callable[[int, int], None] | None = None,
    ) -> ModelEffects:
        """What each head does for one next token against another: a real run without it.

        Parameters
        ----------
        of, against : tokens, or the words that they begin; the likeliest two if not given.
        position : the token whose next one is meant, from 0; the last if not given.
        to, over : 'zero', or 'mean': a head writes its mean over these texts, our own if None.
        batch : how many heads of a layer are taken away at once, each in a row of its own.
        notice : called with the number of heads done and of all.
        """
        from regard.watcher.changes.head_outputs import mean_outputs_of
        from regard.watcher.changes.model_effects import model_effects
        from regard.watcher.watch import watch
        from regard.watcher.watching import check_ablation

        rerun, means = self._rerun(), None
        if check_ablation(to) == "mean":
            means = mean_outputs_of(watch(rerun.model, tokenizer=rerun.tokenizer), over)[0]
        options: Any = {"batch": batch, "means": means, "notice": notice}
        return model_effects(rerun, of, against, position, **options)

    def because(self, word: Words, other: Words, layer: int, head: int) -> ModelScore:
        """Why a head's score of one word on another is what it is: a sum over components.

        Embedding, position, every earlier head and feed-forward layer on both sides, for models
        built as Llama, GPT-2 or BERT are. The terms sum to the model's own score, which is checked.
        """
        from regard.watcher.changes.model_because import model_because

        return model_because(self._rerun(), word, other, layer, head)

    def sources(
        self,
        spans: Mapping[str, tuple[int, int]],
        of: Sequence[tuple[int, int]] | tuple[int, int] | None = None,
    ) -> TextSources:
        """How much each part of the context counted for each sentence generated after it.

        Norm-weighted attention over all layers and heads, beside the effect of really hiding each
        part, and how well the first predicted the second.

        Parameters
        ----------
        spans : {name: (start, stop)} in tokens: system text, documents, question.
        of : sentences as (start, stop) in tokens; if not given all that comes after the spans,
            split at full stops.
        """
        from regard.watcher.changes.text_sources import text_sources

        return text_sources(self._rerun(), spans, of)

    def norm_weighted(
        self, layer: int, *, part: str | None = None, top: int = 16, map: int = 512
    ) -> Observation:
        """All heads of a layer with p_ij |v_j W_O| as a share of its row: not the attention.

        Every fact of an observation (entropy, received, top, map, tile), from a second run.
        """
        from regard.watcher.capture.forward_run import LayerKey
        from regard.watcher.changes.text_sources import norm_weighted

        rerun = self._rerun()
        return norm_weighted(rerun, LayerKey(part or next(iter(rerun.heads)).part, layer), top, map)

    def _rerun(self) -> TextRerun:
        from regard.watcher.changes.text_rerun import TextRerun

        return TextRerun.of(self, self._model_recorder())  # type: ignore[arg-type]

    def _model_recorder(self) -> Recorder:
        from regard.watcher.capture.recorder import Recorder

        if not isinstance(self.recorder, Recorder):
            from regard.watcher.watching import NOT_CHANGEABLE

            raise BackendError(f"this model {NOT_CHANGEABLE}")
        return self.recorder
