"""Second runs of a watched text: what a ``Seen`` can ask of its model again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from regard.errors import BackendError, NotAskedError
from regard.experiments.because import ScoreDecomposition
from regard.experiments.changes import SENTENCES, Change, ChangeableText, Progress, check_ablation
from regard.experiments.effects import Effects
from regard.experiments.experiment import Experiment
from regard.experiments.selection import HeadSelection, Numbers, Word
from regard.progress import late_bar
from regard.watcher.capture.interface import InterfaceSource
from regard.watcher.capture.operators import OperatorSource
from regard.watcher.capture.runs import LayerKey
from regard.watcher.experiments import because as score
from regard.watcher.experiments import experiment as experiments
from regard.watcher.experiments import gradients as gradient
from regard.watcher.experiments import rotation as rotary
from regard.watcher.experiments import text_sources
from regard.watcher.experiments.rerun import TextRerun
from regard.watcher.options import Spans

if TYPE_CHECKING:
    from regard.engine.observation import Observation
    from regard.watcher.seen import Seen


def effects(
    seen: Seen,
    of: str | int | None = None,
    against: str | int | None = None,
    *,
    position: int | None = None,
    to: str = "zero",
    over: Sequence[str] | None = None,
    batch: int = 16,
    progress: Progress | None = None,
) -> Effects:
    """What each head does for one next token against another: a real run without it.

    Parameters
    ----------
    of, against : tokens, or the words that they begin; the likeliest two if not given.
    position : the token whose next one is meant, from 0; the last if not given.
    to, over : 'zero', or 'mean': a head writes its mean over these texts, our own if None.
    batch : how many heads of a layer are taken away at once, each in a row of its own.
    progress : called with the number of heads done and of all.
    """
    rerun, means = seen._rerun(), None
    if check_ablation(to) == "mean":
        means = experiments.mean_outputs(seen._model_recorder().block, over or SENTENCES)
    return experiments.effects(
        rerun, of, against, position, batch=batch, means=means, progress=progress
    )


def because(
    seen: Seen,
    word: Word,
    other: Word,
    layer: int,
    head: int,
    *,
    part: str | None = None,
    against: Word | None = None,
) -> ScoreDecomposition:
    """Why a head's score of one word on another is what it is: a sum over components.

    Embedding, position, every earlier head and feed-forward layer on both sides, for models
    built as Llama, GPT-2 or BERT are. The terms sum to the model's own score, which is checked.
    With ``against`` it is why the score on ``other`` is larger than that on a third word.
    """
    for one, is_key in ((word, False), (other, True), (against, True)):
        if one is not None:
            experiments.check_word(seen, one, part, is_key=is_key)
    return score.because(seen._rerun(), word, other, layer, head, part=part, against=against)


def rotation(
    seen: Seen, word: Word, other: Word, layer: int, head: int, *, part: str | None = None
) -> rotary.RotaryScore:
    """The score of one word on another, number by number of its rotary position embedding.

    Each pair of numbers of query and key before and after it was turned, the angles, and what
    it adds to the score; for models that turn query and key (Llama, Qwen, Mistral, Gemma).
    """
    experiments.check_word(seen, word, part, is_key=False)
    experiments.check_word(seen, other, part, is_key=True)
    return rotary.rotation(seen._rerun(), word, other, layer, head, part)


def gradients(
    seen: Seen,
    of: str | int | None = None,
    against: str | int | None = None,
    *,
    position: int | None = None,
    steps: int | None = None,
    progress: Progress | None = None,
) -> gradient.Gradients:
    """Gradient x attention of every head, and integrated gradients of every token.

    Right for small changes alone (``gradients().limits``); ``effects`` really runs again.

    Parameters
    ----------
    of, against : tokens, or the words that they begin; the likeliest two if not given.
    position : the token whose next one is meant, from 0; the last if not given.
    steps : steps from the mean embedding to the text's own; if not given 32, and 128 where
        those do not add up to the difference.
    progress : called with the number of steps done and of all; a bar if not given.
    """
    with late_bar("integrated gradients") as bar:
        return gradient.gradients(seen._rerun(), of, against, position, steps, progress or bar)


def sources(
    seen: Seen,
    spans: Spans = "lines",
    of: Sequence[tuple[int, int]] | tuple[int, int] | None = None,
) -> text_sources.TextSources:
    """How much each part of the context counted for each sentence generated after it.

    Norm-weighted attention over all layers and heads, beside the effect of really hiding each
    part, and how well the first predicted the second.

    Parameters
    ----------
    spans : {name: text} or {name: (start, stop)} in tokens (system text, documents, question),
        the messages of a chat, or 'lines'.
    of : sentences as (start, stop) in tokens; if not given what was generated, or all that
        comes after the spans, split at full stops.
    """
    return text_sources.text_sources(seen._rerun(), spans, of)


def norm_weighted(
    seen: Seen, layer: int, *, part: str | None = None, top: int = 16, map: int = 512
) -> Observation:
    """All heads of a layer with p_ij |v_j W_O| as a share of its row: not the attention.

    Every fact of an observation (entropy, received, top, map, tile), from a second run.
    """
    rerun = seen._rerun()
    return text_sources.norm_weighted(
        rerun, LayerKey(part or next(iter(rerun.heads)).part, layer), top, map
    )


def _changeable(seen: Seen, regenerate: bool) -> Seen:
    return replace(seen, _regenerate=True) if regenerate else seen


def _select(
    seen: Seen, part: str | None, layer: Numbers, head: Numbers, *, hides_keys: bool = False
) -> HeadSelection:
    model = seen._model_recorder().model
    return experiments.select_heads(model, part, layer, head, hides_keys=hides_keys)


def _mean_outputs(seen: Seen, texts: Sequence[str]) -> Mapping[tuple[str, int], Any]:
    return experiments.mean_outputs(seen._model_recorder().block, texts)


def _head_outputs(seen: Seen, other: Any) -> Any:
    return experiments.head_outputs(other)


def _add(seen: Seen, change: Change) -> Experiment:
    experiments.check_words(seen, change)  # before anything runs
    return seen.experiment._add(change)


def _rerun(seen: Seen) -> TextRerun:
    return TextRerun.from_seen(seen, seen._model_recorder())


def experiment_of(seen: Seen) -> Experiment:
    """The text of a run as an experiment; a text that was generated is written again if asked."""
    run = seen._rerun().regenerated if seen._regenerate else seen._rerun().watched_run
    return Experiment(experiments.WATCHED_ADAPTER, run, run)


def outcome_of(seen: Seen) -> Experiment:
    """The experiment that a block with changes was, made once and kept by its recorder."""
    recorder = seen._recorder.source
    capture = getattr(recorder, "capture", None)
    if capture is None:
        raise NotAskedError(
            "an outcome needs a change, and the end of its block: with "
            "regard.watch(model).ablate(4, 7) as seen: model(...), and after it seen.outcome."
        )
    if recorder.outcome is None:
        recorder.outcome = experiments.block_outcome(seen, recorder.block, capture)
    made: Experiment = recorder.outcome
    return made


def _model_recorder(seen: Seen) -> InterfaceSource | OperatorSource:
    """The source of events of a model, in which heads can be changed."""
    source: InterfaceSource | OperatorSource = seen._recorder.source
    if source.model is None:
        raise BackendError("a second run needs the model: regard.watch(model), not watch().")
    return source


class SeenExperiments(ChangeableText):
    """Methods of ``Seen`` that run its text again; each is a function above."""

    effects = effects
    because = because
    rotation = rotation
    gradients = gradients
    sources = sources
    norm_weighted = norm_weighted
    _changeable = _changeable
    _select = _select
    _mean_outputs = _mean_outputs
    _head_outputs = _head_outputs
    _add = _add
    _rerun = _rerun
    _model_recorder = _model_recorder
