"""Effects of all heads on one French word against another: real runs, and a formula beside them.

The effect of a head is the difference of the two words' logits with it minus without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.blas import one_blas_thread
from regard.display import TextDisplay, render
from regard.engine.tiles.threads import run_in_order
from regard.errors import ArgumentError
from regard.experiments.outcome import log_probabilities
from regard.experiments.residual import Component, FrozenNorm, ResidualRun
from regard.heads.links import single_word
from regard.transformer.config import END, PAD, START
from regard.transformer.intervention import AttentionResult, Intervention, in_turn
from regard.transformer.layers import times
from regard.transformer.model import Encoded
from regard.transformer.reading import Reading
from regard.transformer.roles import PARTS, check_number, check_part
from regard.typing import Array

if TYPE_CHECKING:
    from regard.view.figure.picture import Picture

Notice = Callable[[int, int], None]


@dataclass(frozen=True)
class Choice:
    """Two tokens that may follow the same beginning of a translation, and the words they begin."""

    of: str
    against: str
    tokens: tuple[int, int]
    prefix: tuple[int, ...]
    prefix_words: tuple[str, ...]


@dataclass(frozen=True)
class HeadEffect:
    """One head's effect by a real run without it, and by formula."""

    part: str
    layer: int
    head: int
    effect: float
    direct: float


@dataclass(frozen=True, repr=False)
class Effects(TextDisplay):
    """Effects of every head on the logit of one word against another.

    effect_mlh are real runs with one head ablated, direct_mlh the formula with norms and weights
    frozen; m goes through encoder, decoder and cross. Both are in logits, positive where a head
    favours ``choice.of``. ``logit_difference`` is that of the run with all heads.
    """

    reading: Reading
    choice: Choice
    logit_difference: float
    effect_mlh: NDArray[np.float64]
    direct_mlh: NDArray[np.float64]

    @cached_property
    def heads(self) -> tuple[HeadEffect, ...]:
        """Every head, the largest effect first."""
        rows = [
            HeadEffect(
                PARTS[m], layer, head,
                float(self.effect_mlh[m, layer, head]), float(self.direct_mlh[m, layer, head]),
            )
            for m, layer, head in np.ndindex(*self.effect_mlh.shape)
        ]  # fmt: skip
        return tuple(sorted(rows, key=lambda row: -abs(row.effect)))

    @property
    def correlation(self) -> float:
        """Pearson's correlation of formula and runs over all heads; NaN where one is constant."""
        return _correlation(self.effect_mlh, self.direct_mlh)

    def correlation_of(self, part: str) -> float:
        """The same over the heads of one part."""
        m = PARTS.index(part)
        return _correlation(self.effect_mlh[m], self.direct_mlh[m])

    def picture(self, part: str | None = None, **options: Any) -> Picture:
        """The grid of effects to look at and to save: rows are layers, columns are heads."""
        picture: Picture = render("picture", self, part, options)
        return picture

    def to_dict(self) -> dict[str, Any]:
        """The effects as JSON values."""
        correlations = {part: self.correlation_of(part) for part in PARTS} | {
            "all": self.correlation
        }
        return {
            "sentence": self.reading.sentence,
            "translation": self.reading.translation,
            "of": self.choice.of,
            "against": self.choice.against,
            "prefix": list(self.choice.prefix_words),
            "logit_difference": self.logit_difference,
            "effect": dict(zip(PARTS, self.effect_mlh.tolist(), strict=True)),
            "direct": dict(zip(PARTS, self.direct_mlh.tolist(), strict=True)),
            "correlation": {x: None if np.isnan(y) else y for x, y in correlations.items()},
            "unit": "logits; positive where the head favours 'of'",
            "counting": "layers and heads count from 0",
        }

    def _repr_html_(self) -> str:
        return str(render("html", self))


def effects(
    reading: Reading,
    of: str | int,
    against: str | None = None,
    notice: Notice | None = None,
) -> Effects:
    """Run a reading again without each head in turn, and compare with the formula.

    ``notice`` is called with the number of heads done and of all.
    """
    choice = find_choice(reading, of, against)
    sizes = reading.model.config
    effect_mlh = np.zeros((len(PARTS), sizes.layers, sizes.heads))
    units = [(part, layer) for part in PARTS for layer in range(sizes.layers)]
    full = logit_difference(reading, choice)
    done = [0]

    def work(unit: tuple[str, int], scratch: object) -> Array:
        return full - without_each_head(reading, choice, *unit)

    def commit(unit: tuple[str, int], effect_h: Array) -> None:
        effect_mlh[PARTS.index(unit[0]), unit[1]] = effect_h
        done[0] += sizes.heads
        if notice is not None:
            notice(done[0], effect_mlh.size)

    run_in_order(units, work, commit)
    return Effects(reading, choice, full, effect_mlh, direct_effects(reading, choice))


def logit_difference(reading: Reading, choice: Choice) -> float:
    """The logit of one word minus that of the other, in the run with all heads."""
    return float(_difference(reading, choice, reading.encoded, reading.intervention)[0])


def without_each_head(reading: Reading, choice: Choice, part: str, layer: int) -> Array:
    """The logit difference without each head of one layer, a row of the batch for each."""
    check_part(part)
    check_number("layer", layer, reading.model.config.layers)
    model, heads = reading.model, reading.model.config.heads

    def ablate(result: AttentionResult) -> AttentionResult:
        if (result.part, result.layer) != (part, layer):
            return result
        output_bhqd = result.output_bhqd.copy()
        output_bhqd[np.arange(heads), np.arange(heads)] = 0
        return result.with_output(output_bhqd)

    changes = [x for x in (reading.intervention, ablate) if x is not None]
    intervention = in_turn(changes)
    if part == "encoder":
        source_bt = np.tile(reading.translated.source, (heads, 1))
        encoded = model.encode(source_bt, intervention=intervention)
    else:
        memory_bke = np.repeat(reading.encoded.memory_bke, heads, axis=0)
        encoded = Encoded(memory_bke, np.repeat(reading.encoded.lengths_b, heads), ())
    return _difference(reading, choice, encoded, intervention)


@one_blas_thread()
def _difference(
    reading: Reading, choice: Choice, encoded: Encoded, intervention: Intervention | None
) -> Array:
    """difference_b: the logit of one token minus that of the other, for each row of the batch."""
    model = reading.model
    given_bt = np.tile((START, *choice.prefix), (len(encoded.memory_bke), 1))
    x_be = model.decode(encoded, given_bt, intervention=intervention).x_bte[:, -1]
    difference: Array = times(x_be.astype(np.float64), _direction(reading, choice)[:, None])[:, 0]
    return difference


def _direction(reading: Reading, choice: Choice) -> Array:
    """direction_e: its product with the last normed vector is the logit difference."""
    vectors_ne = np.asarray(reading.model.embedding_ve[np.array(choice.tokens)], np.float64)
    direction_e: Array = vectors_ne[0] - vectors_ne[1]
    return direction_e


@one_blas_thread()
def direct_effects(reading: Reading, choice: Choice) -> NDArray[np.float64]:
    """direct_mlh: every head's own contribution to the logit difference, all else frozen.

    A head of the decoder or of cross-attention writes into the last vector itself. A head of the
    encoder reaches it through the values that cross-attention reads, weights frozen.
    """
    run = ResidualRun.of(reading, choice.prefix)
    last_e = run.output_norm.pull_back(_direction(reading, choice))[-1]
    sizes = reading.model.config
    direct_mlh = np.zeros((len(PARTS), sizes.layers, sizes.heads))
    target, source = run.target, run.source
    memory_te = _memory_directions(run, last_e)
    for m, layer, head in np.ndindex(*direct_mlh.shape):
        component = Component("head", PARTS[m], layer, head)
        if PARTS[m] == "encoder":
            written_te = source.written_nte[source.index(component)]
            direct_mlh[m, layer, head] = np.vdot(written_te, memory_te)
        else:
            direct_mlh[m, layer, head] = target.written_nte[target.index(component), -1] @ last_e
    return direct_mlh


def _memory_directions(run: ResidualRun, last_e: Array) -> Array:
    """Directions in the encoder's last stream whose products are its share of the difference."""
    directions_te = np.zeros(run.source.written_nte.shape[1:])
    for layer in range(run.reading.model.config.layers):
        w_value, w_output = (run.matrix("cross", layer, x) for x in ("w_value", "w_output"))
        weights_hqk = run.attention("cross", layer).weights_bhqk[0]
        width = run.reading.model.config.head_width
        for head, weights_qk in enumerate(weights_hqk):
            at = slice(head * width, (head + 1) * width)
            value_e = w_value[:, at] @ (w_output[at] @ last_e)
            directions_te += weights_qk[-1][:, None] * value_e
    norm: FrozenNorm = run.key_norm("cross", 0)
    return norm.pull_back(directions_te)


def direct_by_key(
    reading: Reading, choice: Choice, part: str, layer: int, head: int
) -> NDArray[np.float64]:
    """direct_k: p_k (v_k W_O . r), the direct effect of one head by the tokens it looks at."""
    run = ResidualRun.of(reading, choice.prefix)
    if part == "encoder":
        raise ArgumentError(
            "direct effects by key need a head of the decoder or of cross-attention, but part is "
            "'encoder', whose heads act through cross-attention."
        )
    last_e = run.output_norm.pull_back(_direction(reading, choice))[-1]
    result = run.attention(part, layer)
    carried_ke = result.value_bhkd[0, head] @ run.matrix(part, layer, "w_output", head)
    by_key: NDArray[np.float64] = result.weights_bhqk[0, head, -1] * (carried_ke @ last_e)
    return by_key


def find_choice(reading: Reading, of: str | int, against: str | None = None) -> Choice:
    """Position of a word of the translation, and the token that another word would begin with."""
    number = single_word(reading.translation_words, of)
    word = reading.translation_words[number]
    tokens = reading.translated.tokens
    start = sum(x - 1 < number for x in reading.target.word_of_token[1:])
    if against is None:
        against, other = _runner_up(reading, start, word)
        rivals: Sequence[int] = (other,)
    else:
        rivals = _tokens_in_context(reading, number, against)
    own = tokens[start:]
    same = next((i for i, (a, b) in enumerate(zip(own, rivals, strict=False)) if a != b), None)
    if same is None:
        raise ArgumentError(
            f"{word!r} and {against!r} need to begin with different tokens, but one is the "
            "beginning of the other: compare it with another word."
        )
    prefix = tokens[: start + same]
    words = reading.translation_words[:number]
    return Choice(word, against, (own[same], rivals[same]), prefix, words)


def _tokens_in_context(reading: Reading, number: int, word: str) -> list[int]:
    """The tokens of a word in place of a word of the translation, written as it would be there."""
    tokenizer, tokens = reading.model.tokenizer, reading.translated.tokens
    start = sum(x - 1 < number for x in reading.target.word_of_token[1:])
    before = list(tokens[:start])
    glued = not tokenizer.piece(tokens[start]).startswith("\u2581")
    text = tokenizer.decode(before) + ("" if glued else " ") + word
    ids = tokenizer.encode(text)
    rest = ids[start:]
    if ids[:start] != before or not rest or word.strip() == "":
        raise ArgumentError(
            f"{word!r} needs to be a word that can follow "
            f"{' '.join(reading.translation_words[:number])!r}, but it cannot be spelled there: "
            "take another word."
        )
    return rest


def _runner_up(reading: Reading, start: int, word: str) -> tuple[str, int]:
    """The likeliest other token at one position that does not begin the same word."""
    tokenizer, tokens = reading.model.tokenizer, reading.translated.tokens
    order = np.argsort(-log_probabilities(reading, tokens)[start], kind="stable").tolist()
    for token in order:
        name = "(end)" if token == END else tokenizer.decode([token]).strip()
        if token not in (PAD, tokens[start]) and name and not word.startswith(name):
            return name, token
    raise ArgumentError(f"{word!r} needs another word to be compared with: say against=.")


def _correlation(one: Array, other: Array) -> float:
    if one.std() == 0 or other.std() == 0:
        return float("nan")
    return float(np.corrcoef(one.reshape(-1), other.reshape(-1))[0, 1])
