"""Sources of a generated text: attention to each part of the context, and the effect of hiding it.

Attention is norm-weighted, p_ij |v_j W_O| as a share of its row, averaged over layers, heads and
the tokens of a sentence. Layers without a softmax count by their shares of |w v|, where the block
had ``mixers=True``. The effect is the log-probability that the sentence loses in a real run
in which no other token may look at that part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.display import TextDisplay
from regard.engine.call import NORM_WEIGHTED_NOTE, norm_biased
from regard.engine.observation import Observation
from regard.engine.observe import observe
from regard.errors import ArgumentError, BackendError, NotAskedError
from regard.experiments.changes import KnockOut
from regard.experiments.selection import word_tokens
from regard.heads.measures import head_measures
from regard.watcher.capture.runs import LayerKey
from regard.watcher.capture.segments import call_segments
from regard.watcher.experiments.experiment import decoded_text
from regard.watcher.experiments.intervention_call import SentenceCall
from regard.watcher.experiments.outcome import NEXT, need_choices
from regard.watcher.experiments.output_projection import ProjectedValues, projection_probe
from regard.watcher.experiments.rerun import TextRerun
from regard.watcher.layer import LayerObservation
from regard.watcher.measures.head_report import HeadReport, report
from regard.watcher.options import Spans, check_spans, resolved_spans

if TYPE_CHECKING:
    from regard.watcher.mixers.seen_mixers import Mixer

Span = tuple[int, int]
SENTENCE_ENDS = (".", "!", "?", "\n")
OWN_SPANS = ("answer so far", "this sentence", "the rest")
MIN_PAIRS = 3  # two have a correlation of 1 or -1, whatever they are


@dataclass(frozen=True, repr=False)
class TextSources(TextDisplay):
    """How much each span of the context counted for each sentence of the text after it.

    ``attention_sn`` is the norm-weighted share of sentence s on span n, averaged over all heads;
    ``effect_sn`` the log-probability (in nats) that the sentence loses when the span is hidden.
    ``span_texts`` are the beginnings of the spans. ``notes`` say why a table is all NaN.
    """

    spans: tuple[str, ...]
    sentences: tuple[str, ...]
    sentence_spans: tuple[Span, ...]
    attention_sn: NDArray[np.float64] = field(repr=False)
    effect_sn: NDArray[np.float64] = field(repr=False)
    span_texts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def correlation(self) -> float:
        """Pearson's correlation of attention and effect over sentences and spans, or NaN."""
        one, other = self._pairs
        return float("nan") if self.no_correlation else float(np.corrcoef(one, other)[0, 1])

    @property
    def no_correlation(self) -> str:
        """Why there is no correlation; empty where there is one."""
        one, other = self._pairs
        if len(one) < MIN_PAIRS:
            return f"it needs {MIN_PAIRS} pairs of attention and effect, and there are {len(one)}"
        constant = "attention" if one.std() == 0 else "effect" if other.std() == 0 else ""
        return f"the {constant} is the same everywhere" if constant else ""

    @property
    def _pairs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        known = ~np.isnan(self.effect_sn) & ~np.isnan(self.attention_sn)
        return self.attention_sn[known], self.effect_sn[known]

    def to_dict(self) -> dict[str, Any]:
        attention, effects = (
            [[None if np.isnan(x) else float(x) for x in row] for row in table]
            for table in (self.attention_sn, self.effect_sn)
        )
        correlation = self.correlation
        return {
            "spans": list(self.spans),
            "sentences": list(self.sentences),
            "sentence_spans": [list(span) for span in self.sentence_spans],
            "span_texts": list(self.span_texts),
            "attention": attention,
            "effect": effects,
            "correlation": None if np.isnan(correlation) else correlation,
            "notes": list(self.notes),
            "unit": "attention: norm-weighted share; effect: nats of log-probability lost",
        }


def text_sources(rerun: TextRerun, spans: Spans, of: Sequence[Span] | Span | None) -> TextSources:
    """The table for spans in tokens; ``of`` are sentences in tokens, those generated if None.

    The answer before a sentence, the sentence itself and what is in no span, the text of a template
    for example, come after the spans: shares add up to 1.
    """
    names, chosen = _checked_spans(rerun, spans)
    sentences = _sentences(rerun, of, max(stop for _, stop in chosen))
    begin = sentences[0][0]
    attention_sn = np.full((len(sentences), len(names) + 2), np.nan)
    mixers, notes = _mixers(rerun)
    try:
        attention_sn = _attention(rerun, mixers, chosen, sentences)
    except BackendError as error:  # the effects need no output projection
        notes = (f"No attention is shown. {error}", *notes)
    logp_s = _log_probabilities(rerun, sentences)
    rest_s1 = np.maximum(1 - attention_sn.sum(axis=1, keepdims=True), 0)
    attention_sn = np.concatenate([attention_sn, rest_s1], axis=1)
    effect_sn = np.full((len(sentences), len(names) + 3), np.nan)
    for number, span in enumerate(chosen):
        hidden = KnockOut((span,))
        effect_sn[:, number] = logp_s - _log_probabilities(rerun, sentences, hidden)
    for number, (start, _) in enumerate(sentences):
        if start > begin:
            hidden = KnockOut(((begin, start),))
            covered_s = _log_probabilities(rerun, sentences, hidden)
            effect_sn[number, -3] = logp_s[number] - covered_s[number]
    texts, beginnings = (tuple(_text(rerun, span) for span in some) for some in (sentences, chosen))
    return TextSources(
        (*names, *OWN_SPANS), texts, tuple(sentences), attention_sn, effect_sn, beginnings,
        notes,
    )  # fmt: skip


def _checked_spans(rerun: TextRerun, spans: Spans) -> tuple[tuple[str, ...], list[Span]]:
    if need_choices(rerun.outcome, rerun.model).kind != NEXT:
        raise NotAskedError(
            f"sources needs a model that writes text, and {type(rerun.model).__name__} does not: "
            "ask looks_at, knock_out or effects."
        )
    text = rerun.seen.texts()[1]
    if "decoder_input_ids" in rerun.ids or not check_spans(spans):
        raise ArgumentError(
            "sources needs spans as {name: text} or {name: (start, stop)} in tokens, the messages "
            "of a chat or 'lines', and a model that generates after its context, as decoders do."
        )
    given = rerun.seen.prompt_tokens() or len(text.tokens)
    chosen = {}
    for name, span in resolved_spans(spans, text).items():
        tokens = word_tokens(text, span)[1]
        chosen[name] = int(tokens[0]), int(tokens[-1]) + 1
    if spans == "lines":  # of the context, not of the answer
        before = {name: span for name, span in chosen.items() if span[0] < given}
        chosen = {name: (start, min(stop, given)) for name, (start, stop) in before.items()}
    return tuple(chosen), list(chosen.values())


def _sentences(rerun: TextRerun, of: Sequence[Span] | Span | None, after: int) -> list[Span]:
    """Sentences in tokens; those after the context end with a full stop or a new line."""
    total = len(rerun.text_ids)
    if of is None:
        start = max(after, rerun.seen.prompt_tokens() or 0)
        start = after if start >= total else start  # a text that was read, not generated
        texts = [_text(rerun, (i, i + 1)) for i in range(start, total)]
        ends = [start + i + 1 for i, text in enumerate(texts) if text.endswith(SENTENCE_ENDS)]
        edges = [start, *(x for x in ends if x < total), total]
        given: list[Any] = [x for x in pairwise(edges) if x[1] > x[0] and _text(rerun, x).strip()]
    else:
        given = [of] if len(of) and isinstance(of[0], int) else list(of)
    if not all(isinstance(span, Sequence) and len(span) == 2 for span in given):
        raise ArgumentError(f"of must be (start, stop) in tokens or several, got {of!r:.200}.")
    given.sort()
    for start, stop in given:
        if not after <= start < stop <= total or start < 1:
            raise ArgumentError(
                f"a sentence must be (start, stop) in tokens after the spans, {after} <= start < "
                f"stop <= {total}, got {(start, stop)!r}."
            )
    if not given:
        raise ArgumentError(
            f"sources needs tokens after the spans, but the text ends with them, at {after}: call "
            "model.generate inside the block."
        )
    return given


def _text(rerun: TextRerun, span: Span) -> str:
    if rerun.tokenizer is None:
        return f"tokens {span[0]} to {span[1] - 1}"
    return decoded_text(rerun.tokenizer, rerun.text_ids[slice(*span)])


def _log_probabilities(
    rerun: TextRerun, sentences: Sequence[Span], *changes: KnockOut
) -> NDArray[np.float64]:
    """The log-probability of each sentence, given all before it."""
    logits_tv = rerun.run_logits(*changes)[0].double()
    logp_tv = logits_tv.log_softmax(-1).cpu().numpy()
    ids = rerun.text_ids
    return np.array([
        sum(float(logp_tv[t - 1, ids[t]]) for t in range(start, stop)) for start, stop in sentences
    ])  # fmt: skip


def _mixers(rerun: TextRerun) -> tuple[list[Mixer], tuple[str, ...]]:
    """The layers without a softmax that are counted, and what has to be said of them."""
    seen, counted, notes = rerun.seen, list[Any](), list[str]()
    for mixer in seen.mixers if seen.watched_mixers else ():
        problem = mixer.problem or ("" if mixer.columns == "tokens" else f"it has {mixer.columns}")
        if problem:
            notes.append(f"{mixer.path} is not counted: {problem}.")
        else:
            counted.append(mixer)
    if not seen.watched_mixers:
        notes += [
            f"{x} They are not counted: watch with mixers=True." for x in seen.without_softmax
        ]
    if seen.without_softmax:
        notes.append("An effect hides a part from attention; the other layers still read it.")
    return counted, tuple(notes)


def _attention(
    rerun: TextRerun, mixers: Sequence[Mixer], spans: Sequence[Span], sentences: Sequence[Span]
) -> NDArray[np.float64]:
    """Norm-weighted attention by spans, on the answer so far and on the sentence itself.

    A token is predicted from the position before it, whose row is the one that counts.
    """
    sums_sn = np.zeros((len(sentences), len(spans) + 2))
    written_s1 = np.zeros((len(sentences), 1))  # rows of heads; one that writes nothing has none

    def add(s: int, carried_hqk: NDArray[np.float64]) -> None:
        start, stop = sentences[s]
        total_hq1 = carried_hqk.sum(-1, keepdims=True)
        share_k = (carried_hqk / np.where(total_hq1 > 0, total_hq1, 1)).sum((0, 1))
        written_s1[s] += np.count_nonzero(total_hq1)
        for n, (low, high) in enumerate((*spans, (sentences[0][0], start), (start, stop))):
            sums_sn[s, n] += share_k[low:high].sum()

    def take(call: SentenceCall, values: ProjectedValues) -> None:
        every_head = np.arange(call.call.query.shape[1])
        for s, (start, stop) in enumerate(sentences):
            rows = np.arange(start - 1, stop - 1)
            weights_hqk = call.scores(every_head, rows).softmax(-1).double().cpu().numpy()
            add(s, weights_hqk * values.norms(rows))

    with projection_probe(take) as probe:
        rerun.run(probe)
    for mixer in mixers:
        for s, (start, stop) in enumerate(sentences):
            add(s, mixer.shares(range(start - 1, stop - 1)))
    return np.asarray(sums_sn / np.maximum(written_s1, 1))


def projected_values(rerun: TextRerun) -> dict[LayerKey, ProjectedValues]:
    """Values and output projection of every layer, from a second run."""
    found: dict[LayerKey, ProjectedValues] = {}
    with projection_probe(lambda call, values: found.update({call.key: values})) as probe:
        rerun.run(probe)
    return found


def norm_weighted(rerun: TextRerun, layer: LayerKey, top: int, map: int) -> Observation:
    """All heads of a layer with norm-weighted weights, as an observation of a second run."""
    made = norm_weighted_layers(rerun, top, map, layer)
    if not made:
        names = ", ".join(str(key) for key in rerun.heads)
        raise ArgumentError(f"{layer} did not run; the layers that did are: {names}.")
    return made[layer]


def norm_weighted_layers(
    rerun: TextRerun, top: int, map: int, layer: LayerKey | None = None
) -> dict[LayerKey, Observation]:
    """Norm-weighted observations of all layers, or of one, from one more run."""
    made: dict[LayerKey, Observation] = {}

    def take(call: SentenceCall, values: ProjectedValues) -> None:
        if layer in (None, call.key):
            made[call.key] = _norm_observation(call, values, top, map)

    with projection_probe(take) as probe:
        rerun.run(probe)
    return made


def _norm_observation(
    call: SentenceCall, values: ProjectedValues, top: int, map: int
) -> Observation:
    inner = call.call
    arguments = dict(call_segments(inner)[0].arguments)
    if getattr(arguments.get("mask"), "ndim", 0) == 4:
        arguments["mask"] = arguments["mask"][0]
    query, key, value = (
        x[0].detach().float().cpu().numpy() for x in (inner.query, inner.key, inner.value)
    )
    arguments |= {"scale": inner.scale, "softcap": inner.softcap}
    biased: Any = norm_biased(arguments, values.norms())  # type: ignore[arg-type]
    seen = observe(query, key, value, **biased, top=top, map=map)
    return replace(seen, notes=(*seen.notes, NORM_WEIGHTED_NOTE))


def norm_report(rerun: TextRerun) -> HeadReport:
    """The head report of norm-weighted weights instead of the attention weights."""
    texts = {part: rerun.seen.texts(part) for part in rerun.seen.parts}
    layers = []
    for key, seen in norm_weighted_layers(rerun, 1, 0).items():
        cross = key.part.startswith("cross")
        ids = rerun.ids["input_ids"] if key.part == "encoder" else rerun.text_ids
        queries, keys = texts.get(key.part, (None, None))
        layer = LayerObservation(
            seen.facts, seen._profile, seen.parts, seen.keys, seen.cost, seen.notes,
            name=str(key), query_text=queries, key_text=keys,
            measures=head_measures(seen, None if cross else ids),
        )  # fmt: skip
        layers.append((key, layer))
    return replace(report(sorted(layers, key=lambda pair: pair[0])), weighted="norm")
