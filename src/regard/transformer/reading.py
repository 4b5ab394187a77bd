"""Reading: a sentence, its translation, and every attention weight of the run that made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.arguments import named_arguments, suggest_keywords
from regard.blas import one_blas_thread
from regard.display import NotebookDisplay, render
from regard.engine.call import carried_norms, check_weighted
from regard.errors import ArgumentError, check_callable
from regard.experiments.changes import ChangeableText, Progress
from regard.experiments.selection import PARTS, check_number, check_part
from regard.heads.links import CAUTION, Link, WordLinks
from regard.progress import late_bar
from regard.text.words import TokenizedText, to_words, tokenized_text
from regard.transformer.alignment import Alignment, align
from regard.transformer.combine import Mixed, average, average_of_heads, rollout, value_weighted
from regard.transformer.config import START
from regard.transformer.highlight import Highlight, find_links, highlight, word_links
from regard.transformer.intervention import Intervention, in_turn
from regard.transformer.layers import Attention
from regard.transformer.model import AttentionCall, Decoded, Encoded, Transformer
from regard.transformer.notes import left_out, notes
from regard.transformer.search import OnStep, Search, encode_sources, search_encoded
from regard.transformer.translation import Translation, run_batches, translate_one
from regard.typing import Array

if TYPE_CHECKING:
    from regard.engine.observation import Observation
    from regard.experiments.because import ScoreDecomposition
    from regard.experiments.effects import Effects
    from regard.experiments.experiment import Experiment
    from regard.textbook.steps import Steps
    from regard.transformer.residual import ResidualRun, Vectors
    from regard.view.figure.picture import Picture


@named_arguments
@dataclass(frozen=True)
class Reading(ChangeableText, NotebookDisplay):
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

    def texts(self, part: str = "encoder") -> tuple[TokenizedText, TokenizedText]:
        """The query text and the key text of one attention: its rows and its columns."""
        check_part(part)
        return self._texts(part)

    def weights(
        self,
        layer: int | None = None,
        head: int | None = None,
        *,
        part: str = "encoder",
        by: str = "words",
        weighted: str | None = None,
    ) -> Array:
        """Attention weights (l, h, q, k); one layer is (h, q, k), one head of it (q, k).

        Between words, weights are added over the pieces of a key and averaged over those of a
        query; by='tokens' gives them as they are. With weighted='norm' they are p_ij |v_j W_O| as
        shares of the row: what was carried, not the attention itself.
        """
        check_part(part)
        self.source.names(by)  # raises where by is neither 'words' nor 'tokens'
        tables = self._norm_weights if check_weighted(weighted) else self._weights
        weights_lhqk = tables[part, by]
        if layer is not None:
            weights_lhqk = weights_lhqk[self._layer(layer)]
        if head is not None:
            weights_lhqk = weights_lhqk[..., self._head(head), :, :]
        return weights_lhqk

    def steps(self, layer: int, head: int | None = None, *, part: str = "encoder") -> Steps:
        """One head as textbook steps, every number in float64; a whole layer without a head."""
        check_part(part)
        if part == "cross":
            raise ArgumentError(
                "steps needs self-attention, part='encoder' or 'decoder', got 'cross', whose rows "
                "are French and whose columns are English: use weights or observe."
            )
        from regard.textbook.steps import self_attention

        layer = self._layer(layer)
        vectors, matrices = self._exact.vectors(part, layer), self._matrices(part, layer)
        parts = [matrices.part(name) for name in ("w_query", "w_key", "w_value")]
        heads: dict[str, Any] = {"heads": matrices.heads, "w_output": matrices.w_output}
        if head is not None:
            width = self.model.config.head_width
            start = self._head(head) * width
            parts, heads = [x[:, start : start + width] for x in parts], {}
        words, causal = self._texts(part)[0].tokens, part == "decoder"
        steps = self_attention(vectors.x_qe, *parts, words=words, causal=causal, **heads)
        return replace(steps, x_error=vectors.error)

    def vectors(self, part: str, layer: int) -> Vectors:
        """The vectors that one attention is given, in float64."""
        check_part(part)
        return self._exact.vectors(part, self._layer(layer))

    def observe(
        self,
        layer: int,
        head: int | None = None,
        *,
        part: str = "encoder",
        top: int = 16,
        map: int = 256,
        entropy: bool = True,
        received: bool = True,
        profile: bool = True,
        weighted: str | None = None,
    ) -> Observation:
        """The exact facts about a layer's weights, or about those of one head, between tokens.

        The options are those of ``regard.observe``.
        """
        from regard.engine.observe import observe

        call = self.attention_call(part, layer)
        heads = slice(None) if head is None else slice(self._head(head), self._head(head) + 1)
        arrays = (call.query_bhqd[0, heads], call.key_bhkd[0, heads], call.value_bhkd[0, heads])
        w_output = None
        if check_weighted(weighted):
            matrix = np.asarray(self._matrices(part, layer).w_output)
            rows = len(matrix) // self.model.config.heads
            by_head = matrix.reshape(-1, rows, matrix.shape[1])[heads]
            w_output = by_head.reshape(-1, matrix.shape[1])
        if head is not None:
            arrays = (arrays[0][0], arrays[1][0], arrays[2][0])
        return observe(
            *arrays, causal=call.causal, top=top, map=map, entropy=entropy, received=received,
            profile=profile, weighted=weighted, w_output=w_output,
        )  # fmt: skip

    def links(self, word: str | int, *, part: str = "encoder") -> WordLinks:
        """The link of a word in every head, the largest excess over the usual first."""
        return word_links(self, word, part)

    def find(self, word: str | int, other: str | int, *, part: str = "encoder") -> tuple[Link, ...]:
        """The link from one word to another in every head, the strongest first."""
        return find_links(self, word, other, part)

    def highlight(
        self, word: str | int | None = None, layer: int | None = None, head: int | None = None
    ) -> Highlight:
        """The link most worth showing: of a pronoun to its noun, or else the most unusual."""
        layer = None if layer is None else self._layer(layer)
        head = None if head is None else self._head(head)
        return highlight(self, word, layer, head)

    def effects(
        self, of: str | int, against: str | None = None, *, progress: Progress | None = None
    ) -> Effects:
        """Effects of every head on one French word against another: real runs, and a formula.

        Parameters
        ----------
        of : str or int
            A word of the translation, or its number from 0.
        against : str, optional
            The word it is compared with; by default the likeliest other one.
        progress : callable, optional
            Called with the number of heads done and of all; by default a bar is shown after a
            while.
        """
        from regard.transformer import experiment as experiments  # not needed to read a sentence

        check_callable("progress", progress)
        if progress is not None:
            return experiments.effects(self, of, against, progress)
        with late_bar("running without each head") as bar:
            return experiments.effects(self, of, against, bar)

    def because(
        self,
        word: str | int,
        other: str | int,
        layer: int,
        head: int,
        *,
        part: str = "encoder",
        against: str | int | None = None,
    ) -> ScoreDecomposition:
        """Why a head scores one word on another so: an exact sum over what was written into both.

        The terms are pairs of components (embedding, position, every earlier head and feed-forward
        layer), the largest first; ``because`` of the result opens one of them further. With
        ``against`` it is why the score on ``other`` is larger than that on a third word.
        """
        from regard.transformer import experiment as experiments

        check_part(part)
        at = self._layer(layer), self._head(head)
        return experiments.because(self, word, other, *at, part=part, against=against)

    def average(
        self,
        layer: int | None = None,
        *,
        part: str = "encoder",
        heads: Sequence[tuple[int, int]] | None = None,
    ) -> Mixed:
        """The mean over the heads of a layer, of all layers, or over ``heads``, (layer, head) each.

        One choice among others.
        """
        if heads is not None:
            return average_of_heads(self, part, layer, heads)
        return average(self, part, layer)

    def rollout(self, part: str = "encoder") -> Mixed:
        """Attention followed down through all layers: one choice among others."""
        return rollout(self, part)

    def value_weighted(self, layer: int, head: int, *, part: str = "encoder") -> Mixed:
        """Weights times the size of what they carry: one choice among others."""
        return value_weighted(self, part, layer, head)

    @cached_property
    def alignment(self) -> Alignment:
        """Which words of the sentence each word of the translation rests on."""
        return align(self)

    def attention_call(self, part: str, layer: int) -> AttentionCall:
        """Query, key, value, vectors and weights of one attention of the run, in float32."""
        check_part(part)
        return self._calls(part)[self._layer(layer)]

    def matrices(self, part: str, layer: int) -> Attention:
        """w_query, w_key, w_value and w_output of one attention."""
        check_part(part)
        return self._matrices(part, self._layer(layer))

    def picture(
        self,
        layer: int | None = None,
        head: int | None = None,
        *,
        part: str = "encoder",
        kind: str | None = None,
        word: str | int | None = None,
        by: str = "words",
        weighted: str | None = None,
    ) -> Picture:
        """One head to look at and to save; by default the highlight's.

        Parameters
        ----------
        layer, head : int, optional
            Numbers from 0.
        part : str
            'encoder', 'decoder' or 'cross'.
        kind : str, optional
            'lines', 'heatmap' or 'card'; lines by default while they can be distinguished.
        word : str or int, optional
            The word that stands out.
        by : str
            'words' or 'tokens'.
        weighted : str, optional
            'norm' for what was carried instead of the attention.
        """
        options = {"part": part, "kind": kind, "word": word, "by": by, "weighted": weighted}
        picture: Picture = render("picture", self, layer, head, options)
        return picture

    def to_dict(self, by: str = "words", weighted: str | None = None) -> dict[str, Any]:
        """The reading as JSON values; weights are (layer, head, query, key)."""
        weights = {x: self.weights(part=x, by=by, weighted=weighted).tolist() for x in PARTS}
        return {
            "sentence": self.sentence,
            "translation": self.translation,
            "score": self.translated.score,
            "finished": self.translated.finished,
            "words": list(self.words),
            "tokens": list(self.tokens),
            "translation_words": list(self.target.words),
            "translation_tokens": list(self.target.tokens),
            "by": by,
            "weighted": weighted,
            "weights": weights,
            "alignment": [pair._asdict() for pair in self.alignment.pairs],
            "highlight": self.highlight().to_dict(),
            "notes": list(self.notes),
            "counting": "layers and heads count from 0",
            "caution": CAUTION,
        }

    @property
    def experiment(self) -> Experiment:
        """An experiment on this reading, in which nothing is changed yet."""
        from regard.experiments.experiment import Experiment
        from regard.transformer.experiment import READING_ADAPTER

        return Experiment(READING_ADAPTER, self, self)

    def reread(self, *sentences: str) -> tuple[Reading, ...]:
        """Other sentences, read by the same model in the same way."""
        return tuple(read_all(sentences, model=self.model, beams=self.beams))

    @one_blas_thread()
    def rerun(
        self, intervention: Intervention, *, encoder_only: bool = False, notes: tuple[str, ...] = ()
    ) -> Reading:
        """The sentence translated again, its attentions changed in every step.

        Where only encoders are changed, the search itself runs without the intervention, so that
        it is the same as in ``read`` to the bit.
        """
        if not self.positions:
            raise ArgumentError(
                "an experiment needs a reading with positions, but this one was made without: read "
                "the sentence with regard.read."
            )
        earlier = self.intervention
        if earlier is not None:
            encoder_only = False
        changes = in_turn([x for x in (earlier, intervention) if x is not None])
        model, source = self.model, self.translated.source
        encoded = encode_sources(model, [source], intervention=changes)
        in_search = None if encoder_only else changes
        again = partial(search_encoded, model, encoded, Search(self.beams), None, in_search)
        translated = Translation.with_numbers(model, self.sentence, source, again()[0], again)
        after = _reading(model, translated, encoded, beams=self.beams, intervention=changes)
        return replace(after, notes=(*after.notes, *notes))

    @cached_property
    def _weights(self) -> dict[tuple[str, str], Array]:
        """weights_lhqk by part and by tokens or words."""
        weights: dict[tuple[str, str], Array] = {}
        for part in PARTS:
            weights_lhqk = np.stack([call.weights()[0] for call in self._calls(part)])
            weights[part, "tokens"] = weights_lhqk.astype(np.float64)
            weights[part, "words"] = to_words(weights[part, "tokens"], *self._texts(part))
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
                value_hkd = self._calls(part)[layer].value_bhkd[0]
                w_output = np.asarray(self._matrices(part, layer).w_output)
                norm_hk = carried_norms(value_hkd, w_output, len(value_hkd))
                carried.append(weights_hqk * norm_hk[:, None])
            carried_lhqk = np.stack(carried)
            total_lhq1 = carried_lhqk.sum(axis=-1, keepdims=True)
            shares_lhqk = carried_lhqk / np.maximum(total_lhq1, np.finfo(np.float64).tiny)
            weights[part, "tokens"] = shares_lhqk
            weights[part, "words"] = to_words(shares_lhqk, *self._texts(part))
        for shares_lhqk in weights.values():
            shares_lhqk.setflags(write=False)
        return weights

    @cached_property
    def _exact(self) -> ResidualRun:
        """The run in float64, for its input vectors."""
        from regard.transformer.residual import ResidualRun  # not needed to read a sentence

        return ResidualRun.from_reading(self)

    def _texts(self, part: str) -> tuple[TokenizedText, TokenizedText]:
        queries = self.source if part == "encoder" else self.target
        return queries, self.target if part == "decoder" else self.source

    def _calls(self, part: str) -> tuple[AttentionCall, ...]:
        if part == "encoder":
            return self.encoded.calls
        return self.decoded.calls if part == "decoder" else self.decoded.cross_calls

    def _matrices(self, part: str, layer: int) -> Attention:
        layers = self.model.encoders if part == "encoder" else self.model.decoders
        name = "cross_attention" if part == "cross" else "self_attention"
        attention: Attention = getattr(layers[layer], name)
        return attention

    def _layer(self, layer: int) -> int:
        return check_number("layer", layer, self.model.config.layers)

    def _head(self, head: int) -> int:
        return check_number("head", head, self.model.config.heads)


@suggest_keywords
def read(
    sentence: str,
    *,
    model: Transformer | str | Path | None = None,
    beams: int = 4,
    progress: OnStep | None = None,
) -> Reading:
    """Translate a sentence and keep every attention weight.

    Parameters
    ----------
    sentence : str
        A sentence in the source language of the model.
    model : Transformer, str or Path, optional
        A model or the folder of one; the shipped model by default.
    beams : int
        Beams of the search; 1 is greedy search.
    progress : callable, optional
        Called without arguments before every step of the model; it may raise to cancel.
    """
    model = _model(model)
    translated, encoded = translate_one(model, sentence, Search(beams), progress=progress)
    with one_blas_thread():
        return _reading(model, translated, encoded, beams=beams)


def read_all(
    sentences: Sequence[str],
    *,
    model: Transformer | str | Path | None = None,
    beams: int = 4,
    progress: OnStep | None = None,
) -> list[Reading]:
    """Read many sentences, in batches of similar length."""
    model = _model(model)
    finish = partial(_reading, model, beams=beams)
    return run_batches(model, sentences, Search(beams), finish, progress)


def read_translated(
    model: Transformer, translated: Translation, *, positions: bool = True
) -> Reading:
    """The reading of a sentence whose translation is given.

    With ``positions=False`` the vectors carry no positions.
    """
    with one_blas_thread():
        encoded = model.encode(np.array([translated.source]), positions=positions)
        return _reading(model, translated, encoded, positions=positions)


@lru_cache(maxsize=1)
def shipped_model() -> Transformer:
    """The shipped model, loaded once."""
    from regard.transformer.checkpoint import load_model

    return load_model()


def _model(model: Transformer | str | Path | None) -> Transformer:
    if isinstance(model, Transformer):
        return model
    if model is None:
        return shipped_model()
    if not isinstance(model, str | Path):
        raise ArgumentError(
            f"model must be a Transformer or the folder of one, got {type(model).__name__}."
        )
    from regard.transformer.checkpoint import load_model

    return load_model(model)


def _reading(
    model: Transformer,
    translated: Translation,
    encoded: Encoded,
    *,
    positions: bool = True,
    beams: int = 4,
    intervention: Intervention | None = None,
) -> Reading:
    """One pass of the decoders over the translation, on the encoder's run that it came from."""
    given = (START, *translated.tokens)
    source = tokenized_text(model.tokenizer, translated.source)
    reading = Reading(
        translated=translated,
        source=source,
        target=tokenized_text(model.tokenizer, given, elisions=True),
        notes=notes(model, translated, source),
        model=model,
        encoded=encoded,
        decoded=model.decode(
            encoded, np.array([given]), positions=positions, intervention=intervention
        ),
        positions=positions,
        beams=beams,
        intervention=intervention,
    )
    also = tuple(left_out(reading))
    return replace(reading, notes=(*reading.notes, *also)) if also else reading
