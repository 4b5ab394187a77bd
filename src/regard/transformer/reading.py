"""Reading: a sentence, its translation, and every attention weight of the run that made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.display import NotebookDisplay, render
from regard.engine.norm_weighted import carried_norms, check_weighted
from regard.errors import ArgumentError
from regard.heads.links import CAUTION, Link, WordLinks
from regard.progress import late_bar
from regard.text.words import TokenizedText, to_words
from regard.transformer.changeable import Changeable
from regard.transformer.config import START
from regard.transformer.exact import ExactRun, Vectors
from regard.transformer.intervention import Intervention
from regard.transformer.layers import Attention
from regard.transformer.model import AttentionCall, Decoded, Encoded, Transformer
from regard.transformer.roles import PARTS, check_number, check_part
from regard.transformer.translation import Translation
from regard.typing import Array

if TYPE_CHECKING:
    from regard.engine.observation import Observation
    from regard.experiments.because import ScoreDecomposition
    from regard.experiments.effects import Effects
    from regard.experiments.experiment import Experiment
    from regard.textbook.steps import Steps
    from regard.transformer.alignment import Alignment
    from regard.transformer.combine import Mixed
    from regard.transformer.highlight import Highlight
    from regard.view.figure.picture import Picture


def to_dict(reading: Reading, by: str = "words", weighted: str | None = None) -> dict[str, Any]:
    """A reading as JSON values; weights are (layer, head, query, key), first layer first."""
    shown = reading.highlight()
    return {
        "sentence": reading.sentence,
        "translation": reading.translation,
        "score": reading.translated.score,
        "finished": reading.translated.finished,
        "words": list(reading.words),
        "tokens": list(reading.tokens),
        "translation_words": list(reading.target.words),
        "translation_tokens": list(reading.target.tokens),
        "by": by,
        "weighted": weighted,
        "weights": {
            part: reading.weights(part, by=by, weighted=weighted).tolist() for part in PARTS
        },
        "alignment": [pair._asdict() for pair in reading.alignment.pairs],
        "highlight": shown.to_dict(),
        "notes": list(reading.notes),
        "counting": "layers and heads count from 0",
        "caution": CAUTION,
    }


@dataclass(frozen=True)
class Reading(Changeable, NotebookDisplay):
    """A sentence, its translation and every attention weight. Layers and heads count from 0.

    ``part`` is 'encoder' (English looks at English), 'decoder' (French looks at the French before
    it) or 'cross' (French looks at English); rows are queries, columns are keys. The French words
    are the decoder's inputs: (start), then each word at the step after it was predicted. With an
    ``intervention`` its attentions were changed during the run, and ``weights`` are those after it.
    """

    translated: Translation
    source: TokenizedText
    target: TokenizedText
    notes: tuple[str, ...]
    model: Transformer = field(repr=False)
    encoded: Encoded = field(repr=False)
    decoded: Decoded = field(repr=False)
    positions: bool = True
    beams: int = 4
    intervention: Intervention | None = field(default=None, repr=False)

    @property
    def sentence(self) -> str:
        """The sentence as it was given."""
        return self.translated.sentence

    @property
    def translation(self) -> str:
        """The sentence in the other language."""
        return self.translated.text

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of the sentence, (end) last."""
        return self.source.tokens

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the sentence, (end) last."""
        return self.source.words

    @property
    def translation_tokens(self) -> tuple[str, ...]:
        """The tokens of the translation."""
        return self.target.tokens[1:]

    @property
    def translation_words(self) -> tuple[str, ...]:
        """The words of the translation."""
        return self.target.words[1:]

    def _experiment(self) -> Experiment:
        from regard.experiments.experiment import Experiment

        return Experiment(self, self)

    def texts(self, part: str = "encoder") -> tuple[TokenizedText, TokenizedText]:
        """The query text and the key text of one attention: its rows and its columns."""
        check_part(part)
        queries = self.source if part == "encoder" else self.target
        return queries, self.target if part == "decoder" else self.source

    def weights(
        self,
        part: str = "encoder",
        *,
        layer: int | None = None,
        head: int | None = None,
        by: str = "words",
        weighted: str | None = None,
    ) -> Array:
        """Attention weights (l, h, q, k); one layer is (h, q, k), one head of it (q, k).

        Between words, weights are added over the pieces of a key and averaged over those of a
        query; by='tokens' gives them as they are. With weighted='norm' they are p_ij |v_j W_O| as
        shares of the row: what was carried, not the attention itself.
        """
        self.texts(part)[0].names(by)  # says what is wrong with part or by
        tables = self._norm_weights if check_weighted(weighted) else self._weights
        weights_lhqk = tables[part, by]
        if layer is not None:
            weights_lhqk = weights_lhqk[self._layer(layer)]
        if head is not None:
            weights_lhqk = weights_lhqk[..., self._head(head), :, :]
        return weights_lhqk

    def steps(self, layer: int, head: int | None = None, part: str = "encoder") -> Steps:
        """Every step of one head with the model's own numbers, from x (the normed vectors) on.

        Without ``head`` it is the whole attention of the layer, w_output included. All of it is
        float64, x too: the same digits on every machine, where those of ``weights`` are float32.
        """
        if part == "cross":
            raise ArgumentError(
                "steps needs self-attention, 'encoder' or 'decoder', but part is 'cross', whose "
                "rows are French and whose columns are English: use weights or observe."
            )
        from regard.textbook.steps import self_attention

        vectors, matrices = self.vectors(part, layer), self.matrices(part, layer)
        parts = [matrices.part(name) for name in ("w_query", "w_key", "w_value")]
        heads: dict[str, Any] = {"heads": matrices.heads, "w_output": matrices.w_output}
        if head is not None:
            width = self.model.config.head_width
            start = self._head(head) * width
            parts, heads = [x[:, start : start + width] for x in parts], {}
        words, causal = self.texts(part)[0].tokens, part == "decoder"
        steps = self_attention(vectors.x_qe, *parts, words=words, causal=causal, **heads)
        return replace(steps, x_error=vectors.error)

    def vectors(self, part: str, layer: int) -> Vectors:
        """The vectors that one attention is given, in float64."""
        check_part(part)
        vectors: tuple[Vectors, ...] = getattr(self._exact, part)
        return vectors[self._layer(layer)]

    def observe(
        self, layer: int, head: int | None = None, part: str = "encoder", **options: Any
    ) -> Observation:
        """The exact facts about a layer's weights, or about those of one head, between tokens.

        The options are those of ``regard.observe``, weighted='norm' included.
        """
        from regard.engine.observe import observe

        call = self.attention_call(part, layer)
        heads = slice(None) if head is None else slice(self._head(head), self._head(head) + 1)
        arrays = (call.query_bhqd[0, heads], call.key_bhkd[0, heads], call.value_bhkd[0, heads])
        if check_weighted(options.get("weighted")):
            w_output = np.asarray(self.matrices(part, layer).w_output)
            rows = len(w_output) // self.model.config.heads
            options["w_output"] = w_output.reshape(-1, rows, w_output.shape[1])[heads].reshape(
                -1, w_output.shape[1]
            )
        if head is not None:
            arrays = (arrays[0][0], arrays[1][0], arrays[2][0])
        return observe(*arrays, causal=call.causal, **options)

    def links(self, word: str | int, part: str = "encoder") -> WordLinks:
        """The link of a word in every head, the largest excess over the usual first."""
        from regard.transformer.highlight import word_links

        return word_links(self, word, part)

    def find(self, word: str | int, other: str | int, part: str = "encoder") -> tuple[Link, ...]:
        """The link from one word to another in every head, the strongest first."""
        from regard.transformer.highlight import find_links

        return find_links(self, word, other, part)

    def highlight(
        self, word: str | int | None = None, layer: int | None = None, head: int | None = None
    ) -> Highlight:
        """The link most worth showing: of a pronoun to its noun, or else the most unusual."""
        from regard.transformer.highlight import highlight

        if layer is not None:
            self._layer(layer)
        if head is not None:
            self._head(head)
        return highlight(self, word, layer, head)

    def effects(self, of: str | int, against: str | None = None) -> Effects:
        """Effects of every head on one French word against another: real runs, and a formula.

        Parameters
        ----------
        of : str or int
            A word of the translation, or its number from 0.
        against : str, optional
            The word it is compared with; the likeliest other one where none is given.
        """
        from regard.experiments.effects import effects

        with late_bar("running without each head") as notice:
            return effects(self, of, against, notice)

    def because(
        self,
        word: str | int,
        other: str | int,
        layer: int,
        head: int,
        part: str = "encoder",
        *,
        against: str | int | None = None,
    ) -> ScoreDecomposition:
        """Why a head scores one word on another so: an exact sum over what was written into both.

        The terms are pairs of components (embedding, position, every earlier head and feed-forward
        layer), the largest first; ``because`` of the result opens one of them further. With
        ``against`` it is why the score on ``other`` is larger than that on a third word.
        """
        from regard.experiments.because import because

        return because(self, word, other, layer, head, part, against)

    def average(
        self,
        part: str = "encoder",
        layer: int | None = None,
        *,
        heads: Sequence[tuple[int, int]] | None = None,
    ) -> Mixed:
        """The mean over the heads of a layer, of all layers, or over ``heads``, (layer, head) each.

        One choice among others.
        """
        from regard.transformer.combine import average, average_of_heads

        if heads is not None:
            return average_of_heads(self, part, layer, heads)
        return average(self, part, layer)

    def rollout(self, part: str = "encoder") -> Mixed:
        """Attention followed down through all layers: one choice among others."""
        from regard.transformer.combine import rollout

        return rollout(self, part)

    def value_weighted(self, layer: int, head: int, part: str = "encoder") -> Mixed:
        """Weights times the size of what they carry: one choice among others."""
        from regard.transformer.combine import value_weighted

        return value_weighted(self, part, layer, head)

    @cached_property
    def alignment(self) -> Alignment:
        """Links between the words of the translation and those of the sentence."""
        from regard.transformer.alignment import align

        return align(self)

    def attention_call(self, part: str, layer: int) -> AttentionCall:
        """Query, key, value, vectors and weights of one attention of the run, in float32."""
        check_part(part)
        return self._calls(part)[self._layer(layer)]

    def picture(self, layer: int | None = None, head: int | None = None, **options: Any) -> Picture:
        """One head to look at and to save; the highlight's where none is named.

        ``part`` as in weights; ``word`` stands out; ``kind`` is 'lines', 'heatmap' or 'card';
        ``by``; ``weighted``.
        """
        picture: Picture = render("picture", self, layer, head, options)
        return picture

    def to_dict(self, by: str = "words", weighted: str | None = None) -> dict[str, Any]:
        """The reading as JSON values."""
        return to_dict(self, by, weighted)

    @cached_property
    def _weights(self) -> dict[tuple[str, str], Array]:
        """weights_lhqk by part and by tokens or words."""
        weights: dict[tuple[str, str], Array] = {}
        for part in PARTS:
            weights_lhqk = np.stack([call.weights()[0] for call in self._calls(part)])
            weights[part, "tokens"] = weights_lhqk.astype(np.float64)
            weights[part, "words"] = to_words(weights[part, "tokens"], *self.texts(part))
        for weights_lhqk in weights.values():
            weights_lhqk.setflags(write=False)  # every caller gets the same ones
        return weights

    @cached_property
    def _norm_weights(self) -> dict[tuple[str, str], Array]:
        """The same, each weight times the length of what it carries, as shares of the row."""
        weights: dict[tuple[str, str], Array] = {}
        for part in PARTS:
            carried = []
            for layer, weights_hqk in enumerate(self._weights[part, "tokens"]):
                value_hkd = self.attention_call(part, layer).value_bhkd[0]
                w_output = np.asarray(self.matrices(part, layer).w_output)
                norm_hk = carried_norms(value_hkd, w_output, len(value_hkd))
                carried.append(weights_hqk * norm_hk[:, None])
            carried_lhqk = np.stack(carried)
            total_lhq1 = carried_lhqk.sum(axis=-1, keepdims=True)
            shares_lhqk = carried_lhqk / np.maximum(total_lhq1, np.finfo(np.float64).tiny)
            weights[part, "tokens"] = shares_lhqk
            weights[part, "words"] = to_words(shares_lhqk, *self.texts(part))
        for shares_lhqk in weights.values():
            shares_lhqk.setflags(write=False)
        return weights

    @cached_property
    def _exact(self) -> ExactRun:
        source, given = self.translated.source, (START, *self.translated.tokens)
        return ExactRun(self.model, source, given, self.positions, self.intervention)

    def _calls(self, part: str) -> tuple[AttentionCall, ...]:
        if part == "encoder":
            return self.encoded.calls
        return self.decoded.calls if part == "decoder" else self.decoded.cross_calls

    def matrices(self, part: str, layer: int) -> Attention:
        """w_query, w_key, w_value and w_output of one attention."""
        layers = self.model.encoders if part == "encoder" else self.model.decoders
        name = "cross_attention" if part == "cross" else "self_attention"
        attention: Attention = getattr(layers[self._layer(layer)], name)
        return attention

    def _layer(self, layer: int) -> int:
        return check_number("layer", layer, self.model.config.layers)

    def _head(self, head: int) -> int:
        return check_number("head", head, self.model.config.heads)
