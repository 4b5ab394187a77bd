"""Sources of a generated text: attention to each part of the context, and the effect of hiding it.

Attention is norm-weighted, p_ij |v_j W_O| as a share of its row, averaged over layers, heads and
the tokens of a sentence. The effect is the log-probability that the sentence loses in a real run
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
from regard.engine.observation import Observation
from regard.engine.observe import observe
from regard.errors import ArgumentError, BackendError
from regard.experiments.changes import KnockOut
from regard.experiments.selection import word_tokens
from regard.heads.measures import head_measures
from regard.watcher.capture.runs import LayerKey
from regard.watcher.capture.segments import call_segments
from regard.watcher.experiments.experiment import decoded_text
from regard.watcher.experiments.intervention_call import Probe, SentenceCall
from regard.watcher.experiments.rerun import TextRerun
from regard.watcher.layer import LayerObservation
from regard.watcher.measures.head_report import HeadReport, report
from regard.watcher.options import Spans, check_spans, resolved_spans

if TYPE_CHECKING:
    import torch

Span = tuple[int, int]
SENTENCE_ENDS = (".", "!", "?", "\n")
PROJECTIONS = ("o_proj", "out_proj", "c_proj", "o", "proj")
OWN_WORDS, REST = "own words", "the rest"


@dataclass(frozen=True, repr=False)
class TextSources(TextDisplay):
    """How much each span of the context counted for each sentence of the text after it.

    ``attention_sn`` is the norm-weighted share of sentence s on span n, averaged over all heads;
    ``effect_sn`` the log-probability (in nats) that the sentence loses when the span is hidden.
    """

    spans: tuple[str, ...]
    sentences: tuple[str, ...]
    sentence_spans: tuple[Span, ...]
    attention_sn: NDArray[np.float64] = field(repr=False)
    effect_sn: NDArray[np.float64] = field(repr=False)

    @property
    def correlation(self) -> float:
        """Pearson's correlation of attention and effect over sentences and spans, or NaN.

        Of two pairs it would be 1 or -1, whatever they are.
        """
        known = ~np.isnan(self.effect_sn)
        one, other = self.attention_sn[known], self.effect_sn[known]
        if len(one) < 3 or one.std() == 0 or other.std() == 0:
            return float("nan")
        return float(np.corrcoef(one, other)[0, 1])

    def to_dict(self) -> dict[str, Any]:
        effects = [[None if np.isnan(x) else float(x) for x in row] for row in self.effect_sn]
        correlation = self.correlation
        return {
            "spans": list(self.spans),
            "sentences": list(self.sentences),
            "sentence_spans": [list(span) for span in self.sentence_spans],
            "attention": self.attention_sn.tolist(),
            "effect": effects,
            "correlation": None if np.isnan(correlation) else correlation,
            "unit": "attention: norm-weighted share; effect: nats of log-probability lost",
        }


def text_sources(rerun: TextRerun, spans: Spans, of: Sequence[Span] | Span | None) -> TextSources:
    """The table for spans in tokens; ``of`` are sentences in tokens, those generated if None.

    The words of the text itself before a sentence are a span of their own, and so is what is in no
    span, the text of a template for example: shares add up to 1.
    """
    names, chosen = _checked_spans(rerun, spans)
    sentences = _sentences(rerun, of, max(stop for _, stop in chosen))
    begin = sentences[0][0]
    attention_sn = _attention(rerun, [*chosen, (begin, begin)], sentences)
    logp_s = _log_probabilities(rerun, sentences)
    rest_s1 = np.maximum(1 - attention_sn.sum(axis=1, keepdims=True), 0)
    attention_sn = np.concatenate([attention_sn, rest_s1], axis=1)
    effect_sn = np.full((len(sentences), len(names) + 2), np.nan)
    for number, span in enumerate(chosen):
        hidden = KnockOut((span,))
        effect_sn[:, number] = logp_s - _log_probabilities(rerun, sentences, hidden)
    for number, (start, _) in enumerate(sentences):
        if start > begin:
            hidden = KnockOut(((begin, start),))
            covered_s = _log_probabilities(rerun, sentences, hidden)
            effect_sn[number, -2] = logp_s[number] - covered_s[number]
    texts = tuple(_text(rerun, span) for span in sentences)
    return TextSources((*names, OWN_WORDS, REST), texts, tuple(sentences), attention_sn, effect_sn)


def _checked_spans(rerun: TextRerun, spans: Spans) -> tuple[tuple[str, ...], list[Span]]:
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


def _attention(
    rerun: TextRerun, spans: Sequence[Span], sentences: Sequence[Span]
) -> NDArray[np.float64]:
    """Norm-weighted attention by spans; the last span grows to the beginning of each sentence.

    A token is predicted from the position before it, whose row is the one that counts.
    """
    shares: list[NDArray[np.float64]] = []

    def look(call: SentenceCall) -> None:
        share_sn = np.zeros((len(sentences), len(spans)))
        norms_hk = value_norms(call)
        for s, (start, stop) in enumerate(sentences):
            weights_hqk = call.scores(
                np.arange(call.call.query.shape[1]), np.arange(start - 1, stop - 1)
            ).softmax(-1)
            weighted_hqk = weights_hqk * norms_hk[:, None]
            weighted_hqk = weighted_hqk / weighted_hqk.sum(-1, keepdim=True)
            mean_k = weighted_hqk.mean((0, 1)).double().cpu().numpy()
            for n, (low, high) in enumerate(spans):
                share_sn[s, n] = mean_k[low : start if n == len(spans) - 1 else high].sum()
        shares.append(share_sn)

    rerun.run(Probe(look))
    mean_sn: NDArray[np.float64] = np.mean(shares, axis=0)
    return mean_sn


def key_norms(rerun: TextRerun) -> dict[LayerKey, NDArray[np.float64]]:
    """|v_j W_O| of every key of every layer and head, (h, k), from a second run."""
    norms: dict[LayerKey, NDArray[np.float64]] = {}

    def look(call: SentenceCall) -> None:
        norms[call.key] = np.asarray(value_norms(call), np.float64)

    rerun.run(Probe(look))
    return norms


def value_norms(call: SentenceCall) -> torch.Tensor:
    """|v_j W_O| (h, k) of one sentence, in float32."""
    inner = call.call
    group = inner.query.shape[1] // inner.value.shape[1]
    value_hkd = inner.value[call.row].detach().float().repeat_interleave(group, dim=0)
    norms_hk: torch.Tensor = (value_hkd @ output_matrix(call)).norm(dim=-1)
    return norms_hk


def output_matrix(call: SentenceCall) -> torch.Tensor:
    """W_O of an attention by heads, (h, d, e), in float32."""
    module = call.call.module
    heads, width = call.call.query.shape[1], call.call.value.shape[-1]
    projection = next((getattr(module, x) for x in PROJECTIONS if hasattr(module, x)), None)
    weight = getattr(projection, "weight", None)
    if weight is None or heads * width not in weight.shape:
        raise BackendError(
            f"{call.key}: norm-weighted attention needs the output matrix of "
            f"{type(module).__name__}, but it has none of {', '.join(PROJECTIONS)} of {heads} "
            f"times {width} rows."
        )
    # A linear layer has (e, h d), the Conv1D of GPT-2 (h d, e).
    transposed = weight if type(projection).__name__ == "Conv1D" else weight.t()
    matrix: torch.Tensor = transposed.detach().float().reshape(heads, width, -1)
    return matrix


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

    def look(call: SentenceCall) -> None:
        if layer in (None, call.key):
            made[call.key] = _norm_observation(call, top, map)

    rerun.run(Probe(look))
    return made


def _norm_observation(call: SentenceCall, top: int, map: int) -> Observation:
    inner = call.call
    arguments = dict(call_segments(inner)[0].arguments)
    if getattr(arguments.get("mask"), "ndim", 0) == 4:
        arguments["mask"] = arguments["mask"][0]
    query, key, value = (x[0].detach().float() for x in (inner.query, inner.key, inner.value))
    w_output = output_matrix(call).flatten(0, 1).cpu().numpy()
    return observe(
        *(x.cpu().numpy() for x in (query, key, value)), **arguments, scale=inner.scale,
        softcap=inner.softcap, top=top, map=map, weighted="norm", w_output=w_output,
    )  # fmt: skip


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
