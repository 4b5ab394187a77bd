"""Changes of attention: knock-out of keys, ablation, redirection and patching of heads.

A change names words and heads as its user does. ``on`` looks them up in a reading and gives the
intervention that acts in the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.display import percent
from regard.errors import ArgumentError, count
from regard.experiments.mean_outputs import SENTENCES, mean_outputs
from regard.experiments.selection import HeadSelection, Numbers, word_tokens
from regard.heads.links import single_word
from regard.transformer.intervention import AttentionResult, Intervention
from regard.transformer.reading import Reading
from regard.typing import Array


class Change(Protocol):
    """A change of some attentions of a run; lower ``order`` acts first, whatever came first."""

    order: ClassVar[int]

    def on(self, reading: Reading) -> Intervention:
        """The intervention on this sentence; says what is wrong with words or heads."""

    def describe(self, reading: Reading) -> str:
        """The change in words."""

    def heads(self, reading: Reading) -> HeadSelection:
        """The heads that it acts on."""

    def to_dict(self) -> dict[str, Any]:
        """The change as JSON values."""


@dataclass(frozen=True)
class KnockOut:
    """Words that heads may not look at: their keys are masked before the softmax."""

    words: tuple[str | int, ...]
    parts: tuple[str, ...] = ("encoder", "cross")
    layer: Numbers = None
    head: Numbers = None
    order: ClassVar[int] = 0

    def heads(self, reading: Reading) -> HeadSelection:
        """The heads that it acts on."""
        return HeadSelection.of(reading.model.config, self.parts, self.layer, self.head)

    def hidden(self, reading: Reading) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """The words as they are written, and the positions of all their tokens."""
        if not self.words:
            raise ArgumentError("knock_out needs at least one word, but none is given.")
        for part in self.parts[1:]:
            if reading.texts(part)[1] is not reading.texts(self.parts[0])[1]:
                raise ArgumentError("knock_out needs words of one text: say one part at a time.")
        words = [word_tokens(reading.texts(self.parts[0])[1], word) for word in self.words]
        return tuple(word for word, _ in words), np.concatenate([tokens for _, tokens in words])

    def on(self, reading: Reading) -> Intervention:
        """Mask the keys in the heads that it acts on."""
        heads, (_, tokens) = self.heads(reading), self.hidden(reading)

        def change(result: AttentionResult) -> AttentionResult:
            keys = result.key_bhkd.shape[2]
            visible_tokens = tokens[tokens < keys]
            if not heads.covers(result) or not len(visible_tokens):
                return result
            hidden_hqk = np.zeros((result.key_bhkd.shape[1], 1, keys), bool)
            for head in heads.index(len(hidden_hqk)):
                hidden_hqk[head, 0, visible_tokens] = True
            return result.without_keys(hidden_hqk)

        return change

    def describe(self, reading: Reading) -> str:
        """As in: no head (encoder and cross) may look at dog."""
        heads, words = self.heads(reading), " or ".join(self.hidden(reading)[0])
        if heads.heads is not None:
            return f"{heads} may not look at {words}"
        return f"{str(heads).replace('every head', 'no head')} may look at {words}"

    def to_dict(self) -> dict[str, Any]:
        """The change as JSON values."""
        return {"change": "knock_out", **_plain(asdict(self))}


@dataclass(frozen=True)
class Redirect:
    """The row of one word put on another word, the other weights scaled to what is left."""

    word: str | int
    to: str | int
    layer: Numbers = None
    head: Numbers = None
    part: str = "encoder"
    weight: float = 1.0
    order: ClassVar[int] = 1

    def heads(self, reading: Reading) -> HeadSelection:
        """The heads that it acts on."""
        return HeadSelection.of(reading.model.config, (self.part,), self.layer, self.head)

    def on(self, reading: Reading) -> Intervention:
        """Write the row in the heads that it acts on, at every position of the word."""
        heads = self.heads(reading)
        queries, keys = reading.texts(self.part)
        name, rows = word_tokens(queries, self.word)
        target, columns = word_tokens(keys, self.to)
        if not isinstance(self.weight, float | int) or not 0 <= self.weight <= 1:
            raise ArgumentError(f"weight needs a number from 0 to 1, but it is {self.weight!r}.")
        if self.part == "decoder" and columns.max() > rows.min():
            raise ArgumentError(
                f"{name} needs a word before it to look at, but {target} comes later: the decoder "
                "cannot see what it has not written yet."
            )

        def change(result: AttentionResult) -> AttentionResult:
            at = np.flatnonzero(np.isin(result.positions_q, rows))
            if not heads.covers(result) or not len(at):
                return result
            weights_bhqk = result.weights_bhqk.copy()
            chosen = np.ix_(np.arange(len(weights_bhqk)), heads.index(weights_bhqk.shape[1]), at)
            weights_bhqk[chosen] = redirected(weights_bhqk[chosen], columns, self.weight)
            return result.with_weights(weights_bhqk)

        return change

    def describe(self, reading: Reading) -> str:
        """As in: in encoder layer 3, head 6, it looks at food (100 %; before: 3 %)."""
        heads = self.heads(reading)
        queries, keys = reading.texts(self.part)
        (name, _), (target, _) = word_tokens(queries, self.word), word_tokens(keys, self.to)
        text = f"in {heads}, {name} looks at {target}: {percent(self.weight)}"
        if heads.layers is None or heads.heads is None or len(heads.layers + heads.heads) > 2:
            return text
        weights_qk = reading.weights(self.part, layer=heads.layers[0], head=heads.heads[0])
        query, key = single_word(queries.words, self.word), single_word(keys.words, self.to)
        return f"{text} (before: {percent(weights_qk[query, key])})"

    def to_dict(self) -> dict[str, Any]:
        """The change as JSON values."""
        return {"change": "redirect", **_plain(asdict(self))}


@dataclass(frozen=True)
class Patch:
    """Head outputs taken from another reading, at every position or at one word's."""

    other: Reading
    layer: Numbers = None
    head: Numbers = None
    part: str = "encoder"
    word: str | int | None = None
    order: ClassVar[int] = 2

    def heads(self, reading: Reading) -> HeadSelection:
        """The heads that it acts on."""
        return HeadSelection.of(reading.model.config, (self.part,), self.layer, self.head)

    def on(self, reading: Reading) -> Intervention:
        """Write the other reading's head outputs, position by position."""
        heads, (rows, from_rows) = self.heads(reading), self._positions(reading)
        layers = range(reading.model.config.layers)
        outputs = [_head_outputs(self.other, self.part, layer) for layer in layers]

        def change(result: AttentionResult) -> AttentionResult:
            at = np.flatnonzero(np.isin(result.positions_q, rows))
            if not heads.covers(result) or not len(at):
                return result
            index = heads.index(result.output_bhqd.shape[1])
            taken = from_rows[np.searchsorted(rows, result.positions_q[at])]
            output_bhqd = result.output_bhqd.copy()
            chosen = np.ix_(np.arange(len(output_bhqd)), index, at)
            output_bhqd[chosen] = outputs[result.layer][np.ix_(index, taken)]
            return result.with_output(output_bhqd)

        return change

    def describe(self, reading: Reading) -> str:
        """As in: encoder layer 3, head 6 writes what it wrote in "A cat ...", at it."""
        at = "" if self.word is None else f", at {self._word(reading)}"
        return f'{self.heads(reading)} writes what it wrote in "{self.other.sentence}"{at}'

    def to_dict(self) -> dict[str, Any]:
        """The change as JSON values."""
        fields = {name: getattr(self, name) for name in ("layer", "head", "part", "word")}
        return {"change": "patch", "other": self.other.sentence, **_plain(fields)}

    def _word(self, reading: Reading) -> str:
        return word_tokens(reading.texts(self.part)[0], self.word or 0)[0]

    def _positions(self, reading: Reading) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The positions patched, and those of the other sentence that they come from."""
        text, other = reading.texts(self.part)[0], self.other.texts(self.part)[0]
        if self.word is not None:
            rows, taken = word_tokens(text, self.word)[1], word_tokens(other, self.word)[1]
        else:
            rows, taken = np.arange(len(text.tokens)), np.arange(len(other.tokens))
            if self.part != "encoder":  # the translations differ: as far as both go
                rows = taken = rows[: min(len(rows), len(taken))]
        if len(rows) != len(taken):
            raise ArgumentError(
                f"patch needs as many tokens in both, but there are {len(rows)} and {len(taken)}: "
                "say word=, or take a sentence that differs in one short word."
            )
        return rows, taken


@dataclass(frozen=True)
class Ablate:
    """Head outputs set to zero, or to their mean over other sentences."""

    layer: Numbers = None
    head: Numbers = None
    part: str = "encoder"
    to: str = "zero"
    over: tuple[str, ...] = ()
    order: ClassVar[int] = 3

    def heads(self, reading: Reading) -> HeadSelection:
        """The heads that it acts on."""
        return HeadSelection.of(reading.model.config, (self.part,), self.layer, self.head)

    def on(self, reading: Reading) -> Intervention:
        """Overwrite the outputs of the heads at every position."""
        heads = self.heads(reading)
        if self.to not in ("zero", "mean"):
            raise ArgumentError(f"to needs to be 'zero' or 'mean', but it is {self.to!r}.")
        mean = self._mean(reading) if self.to == "mean" else _zero

        def change(result: AttentionResult) -> AttentionResult:
            if not heads.covers(result):
                return result
            index = heads.index(result.output_bhqd.shape[1])
            output_bhqd = result.output_bhqd.copy()
            output_bhqd[:, index] = mean(result, index)
            return result.with_output(output_bhqd)

        return change

    def _mean(self, reading: Reading) -> Callable[[AttentionResult, NDArray[np.int64]], Array]:
        outputs_lhd = mean_outputs(reading.model, self.over or SENTENCES)[self.part]

        def mean(result: AttentionResult, index: NDArray[np.int64]) -> Array:
            mean_h1d: Array = outputs_lhd[result.layer, index, None]
            return mean_h1d.astype(result.output_bhqd.dtype)

        return mean

    def describe(self, reading: Reading) -> str:
        """As in: encoder layer 3, head 6 writes nothing (zero)."""
        heads = self.heads(reading)
        if self.to == "zero":
            return f"{heads} writes nothing (zero)"
        number = count(len(self.over or SENTENCES), "other sentence")
        return f"{heads} writes its mean over {number}, whatever the words"

    def to_dict(self) -> dict[str, Any]:
        """The change as JSON values."""
        return {"change": "ablate", **_plain(asdict(self))}


def redirected(weights: Array, columns: Sequence[int] | NDArray[np.int64], weight: float) -> Array:
    """Rows of weights (..., k) with ``weight`` on some columns, the rest scaled.

    The columns keep their shares of it. A row that has that weight on them already stays.

    >>> redirected(np.array([0.5, 0.25, 0.25]), [0], 0.8).round(2)
    array([0.8, 0.1, 0.1])
    """
    on = np.zeros(weights.shape[-1], bool)
    on[columns] = True
    share = weights.dtype.type(weight)
    inside, outside = np.where(on, weights, 0), np.where(on, 0, weights)
    total, rest = (x.sum(axis=-1, keepdims=True) for x in (inside, outside))
    if share < 1 and not rest.all():
        raise ArgumentError(
            f"weight {weight:g} needs other words to take the rest, but that row has no weight on "
            "any other word: say weight=1."
        )
    # A word that had no weight at all gets it in equal parts for each of its pieces.
    even = (on / on.sum()).astype(weights.dtype)
    inside = np.where(total > 0, inside / np.where(total > 0, total, 1), even)
    outside = outside / np.where(rest > 0, rest, 1)
    return np.where(total == share, weights, inside * share + outside * (1 - share))


def _head_outputs(reading: Reading, part: str, layer: int) -> Array:
    """output_hqd of one attention of a reading, as its run had it."""
    call = reading.attention_call(part, layer)
    output_hqd: Array = np.matmul(call.weights()[0], call.value_bhkd[0])
    return output_hqd


def _zero(result: AttentionResult, index: NDArray[np.int64]) -> Array:
    return np.zeros((), result.output_bhqd.dtype)


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields that are given, as JSON has them."""
    lists = {name: list(x) if isinstance(x, tuple) else x for name, x in fields.items()}
    return {name: x for name, x in lists.items() if x not in (None, [])}
