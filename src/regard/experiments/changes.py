"""Changes of attention: knock-out of keys, redirection, patching and ablation of heads.

A change names words and heads as its user does. While the model runs, ``act`` is given every
attention that its heads belong to, as a ``ChangeableAttention``: the NumPy arrays of the shipped
model or the tensors of a watched one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from regard.display import percent
from regard.errors import ArgumentError, check_choice, count
from regard.experiments.selection import HeadSelection, Numbers, Positions, Word, word_tokens
from regard.text.words import TokenizedText
from regard.typing import Array

if TYPE_CHECKING:
    from regard.experiments.experiment import Experiment, ModelAdapter

Result = TypeVar("Result")

# Texts that the mean output of a head is taken over where the user gives none. Written for this
# purpose; none of them is a line of the training text.
SENTENCES = (
    "My neighbour sold her old piano to a student from Lisbon.",
    "The train was late, so we walked along the canal instead.",
    "Nobody on the committee had read the last page of the report.",
    "After the storm the lighthouse stood alone on its rock.",
    "He keeps three clocks in the kitchen and none of them agree.",
    "Could you tell me which of these two keys opens the cellar?",
    "The orchestra tuned while the last guests were finding their seats.",
    "In winter the lake freezes and children skate to school.",
    "She wrote the letter twice and posted neither version.",
    "A green van has been parked outside the bakery since Monday.",
    "We counted eleven herons on the way to the mill.",
    "Their youngest son repairs violins in a shed behind the house.",
    "If the bridge is closed, take the ferry at noon.",
    "The recipe asks for saffron, but turmeric will do.",
    "I had forgotten how quiet the library is in August.",
    "Two lawyers argued about a fence for nine years.",
    "The cat brought us a glove that belonged to the postman.",
    "Put the lantern where everybody can see it.",
    "Before the exam they shared a single bar of chocolate.",
    "The engineer explained why the second valve had failed.",
    "Rain fell on the market and the sellers covered their cloth.",
    "You should never trust a map drawn by a thirsty man.",
    "The queen's gardener grew pears against the southern wall.",
    "What did the doctor say about your shoulder?",
)


class ChangeableAttention(Protocol):
    """One attention of a run, for one text: what a change can read of it and do to it.

    Positions count the tokens of the text. The methods ignore positions that are not among the
    queries or keys of this call, as in a step of generation.
    """

    @property
    def part(self) -> str:
        """Part of the model, such as 'encoder'."""

    @property
    def layer(self) -> int:
        """Layer, from 0."""

    @property
    def row(self) -> int:
        """Row of the batch."""

    @property
    def query_text(self) -> TokenizedText:
        """Text of the queries."""

    @property
    def key_text(self) -> TokenizedText:
        """Text of the keys."""

    def index(self, heads: HeadSelection) -> Positions:
        """Numbers of the selected heads in this layer."""

    def hide(self, heads: Positions, keys: Positions) -> None:
        """Mask keys before the softmax."""

    def redirect(
        self,
        heads: Positions,
        query: tuple[str, Positions],
        key: tuple[str, Positions],
        weight: float,
    ) -> None:
        """Give ``weight`` to the key tokens in the rows of the query tokens; scale the rest."""

    def write(self, heads: Positions, queries: Positions | None, output: Any) -> None:
        """Overwrite head outputs with (h, q, d), or a number, at some queries or at all."""

    def matching_positions(
        self, other: HeadOutputs, word: Word | None
    ) -> tuple[Positions, Positions]:
        """Positions to patch here, and those of the other text that they take outputs from."""


class HeadOutputs(Protocol):
    """Outputs of the heads of another run, for ``Patch``."""

    @property
    def described(self) -> str:
        """The other text, as a description of the change names it."""

    def query_text(self, part: str) -> TokenizedText:
        """Text of the queries of a part."""

    def outputs(self, part: str, layer: int) -> Any:
        """output_hqd of one attention."""


class Change(Protocol):
    """A change of some attentions of a run.

    Changes with a lower ``order`` act first, whatever the order in which they were added: keys are
    hidden before rows are redirected, and outputs are overwritten last.
    """

    order: ClassVar[int]

    @property
    def heads(self) -> HeadSelection:
        """The heads that it acts on."""

    def act(self, attention: ChangeableAttention) -> None:
        """Change one attention that ``heads`` covers."""

    def describe(self, adapter: ModelAdapter, run: Any) -> str:
        """The change in words."""

    def to_dict(self) -> dict[str, Any]:
        """The change as JSON values."""


@dataclass(frozen=True)
class KnockOut:
    """Words that heads may not look at: their keys are masked before the softmax."""

    words: tuple[Word, ...]
    heads: HeadSelection = field(default_factory=HeadSelection)
    order: ClassVar[int] = 0

    def act(self, attention: ChangeableAttention) -> None:
        attention.hide(attention.index(self.heads), self.tokens(attention.key_text))

    def tokens(self, text: TokenizedText) -> Positions:
        return np.concatenate([word_tokens(text, word)[1] for word in self.words])

    def describe(self, adapter: ModelAdapter, run: Any) -> str:
        """As in: no head (encoder and cross) may look at dog."""
        part = self.heads.parts[0] if self.heads.parts else None
        words = " or ".join(
            adapter.word_name(run, part, word, is_query=False) for word in self.words
        )
        if not adapter.hides_own_rows:
            return f"in {self.heads}, no other token may look at {words}"
        if self.heads.heads is not None:
            return f"{self.heads} may not look at {words}"
        return f"{str(self.heads).replace('every head', 'no head')} may look at {words}"

    def to_dict(self) -> dict[str, Any]:
        return {"change": "knock_out", "words": list(self.words), **self.heads.to_dict()}


@dataclass(frozen=True)
class Redirect:
    """The row of one word put on another word, the other weights scaled to what is left."""

    word: Word
    to: Word
    heads: HeadSelection = field(default_factory=HeadSelection)
    weight: float = 1.0
    order: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not isinstance(self.weight, float | int) or not 0 <= self.weight <= 1:
            raise ArgumentError(f"weight must be a number from 0 to 1, got {self.weight!r}.")

    def act(self, attention: ChangeableAttention) -> None:
        query = word_tokens(attention.query_text, self.word)
        key = word_tokens(attention.key_text, self.to)
        attention.redirect(attention.index(self.heads), query, key, float(self.weight))

    def describe(self, adapter: ModelAdapter, run: Any) -> str:
        """As in: in encoder layer 3, head 6, it looks at food: 100 % (before: 3 %)."""
        part = self.heads.parts[0] if self.heads.parts else None
        word = adapter.word_name(run, part, self.word, is_query=True)
        to = adapter.word_name(run, part, self.to, is_query=False)
        text = f"in {self.heads}, {word} looks at {to}: {percent(self.weight)}"
        if part is None or self.heads.single is None:
            return text
        before = adapter.weight(run, part, *self.heads.single, self.word, self.to)
        return text if before is None else f"{text} (before: {percent(before)})"

    def to_dict(self) -> dict[str, Any]:
        return {
            "change": "redirect",
            "word": self.word,
            "to": self.to,
            **self.heads.to_dict(),
            "weight": self.weight,
        }


@dataclass(frozen=True)
class Patch:
    """Heads that write what they wrote in another run, at every position or at one word's."""

    other: HeadOutputs = field(repr=False, compare=False)
    heads: HeadSelection = field(default_factory=HeadSelection)
    word: Word | None = None
    order: ClassVar[int] = 2

    def act(self, attention: ChangeableAttention) -> None:
        rows, sources = attention.matching_positions(self.other, self.word)
        if not len(rows):
            return
        index = attention.index(self.heads)
        output_hqd = self.other.outputs(attention.part, attention.layer)
        attention.write(index, rows, output_hqd[np.ix_(index, sources)])

    def describe(self, adapter: ModelAdapter, run: Any) -> str:
        """As in: encoder layer 3, head 6 writes what it wrote in "A cat ...", at it."""
        text = f"{self.heads} writes what it wrote in {self.other.described}"
        if self.word is None:
            return text
        part = self.heads.parts[0] if self.heads.parts else None
        return f"{text}, at {adapter.word_name(run, part, self.word, is_query=True)}"

    def to_dict(self) -> dict[str, Any]:
        word = {} if self.word is None else {"word": self.word}
        other = self.other.described.strip('"')
        return {"change": "patch", "other": other, **self.heads.to_dict(), **word}


@dataclass(frozen=True)
class Ablate:
    """Heads that write zero, or their mean over other texts.

    ``means`` holds mean_hd by (part, layer), ``texts`` the number of texts they were taken over.
    """

    heads: HeadSelection = field(default_factory=HeadSelection)
    means: Mapping[tuple[str, int], Any] | None = field(default=None, repr=False, compare=False)
    texts: int = 0
    over: tuple[str, ...] = ()
    order: ClassVar[int] = 3

    def act(self, attention: ChangeableAttention) -> None:
        index = attention.index(self.heads)
        if self.means is None:
            attention.write(index, None, 0)
        else:
            mean_hd = self.means[attention.part, attention.layer]
            attention.write(index, None, mean_hd[index][:, None])

    def describe(self, adapter: ModelAdapter, run: Any) -> str:
        """As in: encoder layer 3, head 6 writes nothing (zero)."""
        if self.means is None:
            return f"{self.heads} writes nothing (zero)"
        return f"{self.heads} writes its mean over {count(self.texts, 'other text')}"

    def to_dict(self) -> dict[str, Any]:
        over = {"over": list(self.over)} if self.over else {}
        to = "zero" if self.means is None else "mean"
        return {"change": "ablate", **self.heads.to_dict(), "to": to, **over}


@dataclass(frozen=True)
class Replace:
    """A word of the text replaced by another, or the whole text by another one.

    It changes what the model reads, not how it attends, so it is applied before the other changes
    and they look their words up in the new text.
    """

    by: str
    word: str | None = None

    def __str__(self) -> str:
        if self.word is None:
            return "the sentence is another one"
        return f"{self.word} replaced by {self.by or 'nothing'}"


def check_ablation(to: str) -> str:
    """Raise an ArgumentError unless this is 'zero' or 'mean'."""
    return check_choice("to", to, ("zero", "mean"))


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
            f"weight {weight:g} leaves a rest, but that row has no weight on any other word: use "
            "weight=1."
        )
    # A word that had no weight at all gets it in equal parts for each of its pieces.
    even = (on / on.sum()).astype(weights.dtype)
    inside = np.where(total > 0, inside / np.where(total > 0, total, 1), even)
    outside = outside / np.where(rest > 0, rest, 1)
    return np.where(total == share, weights, inside * share + outside * (1 - share))


REGENERATE = (
    "regenerate=True needs a watched text that the model wrote: call model.generate inside the "
    "block, and change what was seen, as in seen.knock_out('dog', regenerate=True)."
)


class Changeable(Generic[Result]):
    """Methods that add a change: to a finished run, to an experiment, or to a block of ``watch``.

    Changes add up. A word is given as it is written, as 'the#2' where it occurs twice, by its
    number from 0, as a phrase that stands there once, or as (start, stop) in tokens. ``layer`` and
    ``head`` are numbers from 0, lists of them, or None for all. ``regenerate`` is for a watched
    text that a model wrote: it writes again with the change, the likeliest token each time.
    """

    def knock_out(
        self,
        *words: Word,
        layer: Numbers = None,
        head: Numbers = None,
        part: str | None = None,
        regenerate: bool = False,
    ) -> Result:
        """Hide words as keys: no head may look at them, or only those not selected.

        In a watched model the tokens of a word may still look at themselves, because the first
        token of a causal model sees nothing else.

        Parameters
        ----------
        *words : words of the text that keys come from.
        layer, head : numbers from 0, one or several; all where not given.
        part : 'encoder', 'decoder' or 'cross'. In a model with an encoder and a decoder the default
            is the encoder and cross-attention.
        """
        if not words:
            raise ArgumentError("knock_out needs at least one word, got none.")
        run = self._changeable(regenerate)
        return run._add(KnockOut(words, run._select(part, layer, head, hides_keys=True)))

    def redirect(
        self,
        word: Word,
        to: Word,
        layer: Numbers = None,
        head: Numbers = None,
        *,
        part: str | None = None,
        weight: float = 1.0,
        regenerate: bool = False,
    ) -> Result:
        """Put the row of one word on another word, in one head or in several.

        Parameters
        ----------
        word, to : the word that looks and the one to be looked at.
        layer, head : numbers from 0, one or several; all where not given.
        part : 'encoder', 'decoder' or 'cross'. In the decoder of the shipped model a word means the
            position that it has in the translation before the change.
        weight : that on ``to``, from 0 to 1; the other weights of the row are scaled to the rest.
        """
        run = self._changeable(regenerate)
        return run._add(Redirect(word, to, run._select(part, layer, head), weight))

    def ablate(
        self,
        layer: Numbers = None,
        head: Numbers = None,
        *,
        part: str | None = None,
        to: str = "zero",
        over: Sequence[str] | None = None,
        regenerate: bool = False,
    ) -> Result:
        """Overwrite what heads write: with zero, or with their mean over other texts.

        Parameters
        ----------
        layer, head : numbers from 0, one or several; all where not given.
        part : 'encoder', 'decoder' or 'cross'.
        to : 'zero', or 'mean': the mean output of the head over all tokens of ``over``.
        over : texts to take the mean over; a few dozen sentences of everyday English by default.
        """
        run = self._changeable(regenerate)
        heads = run._select(part, layer, head)
        if check_ablation(to) == "zero":
            return run._add(Ablate(heads))
        texts = () if over is None else _checked_texts(over)
        means = run._mean_outputs(texts or SENTENCES)
        return run._add(Ablate(heads, means, len(texts or SENTENCES), texts))

    def patch(
        self,
        other: Any,
        layer: Numbers = None,
        head: Numbers = None,
        *,
        part: str | None = None,
        word: Word | None = None,
        regenerate: bool = False,
    ) -> Result:
        """Let heads write what they wrote in another run.

        Parameters
        ----------
        other : the other run, a Reading or a Seen; for the shipped model also a sentence. Texts
            with the same number of tokens are patched position by position; in a watched model
            others are patched where their tokens align. What ``generate`` adds is not patched.
        layer, head : numbers from 0, one or several; all where not given.
        part : 'encoder', 'decoder' or 'cross'.
        word : a word of both texts: only its position is patched.
        """
        run = self._changeable(regenerate)
        heads = run._select(part, layer, head)
        return run._add(Patch(run._head_outputs(other), heads, word))

    def _changeable(self, regenerate: bool) -> Changeable[Result]:
        """What changes are added to; a finished run gives an experiment on it."""
        if regenerate:
            raise ArgumentError(REGENERATE)
        return self

    def _add(self, change: Change) -> Result:
        raise NotImplementedError

    def _select(
        self, part: str | None, layer: Numbers, head: Numbers, *, hides_keys: bool = False
    ) -> HeadSelection:
        raise NotImplementedError

    def _mean_outputs(self, texts: Sequence[str]) -> Mapping[tuple[str, int], Any]:
        raise NotImplementedError

    def _head_outputs(self, other: Any) -> HeadOutputs:
        raise NotImplementedError


class ChangeableText(Changeable["Experiment"]):
    """A finished run whose text can be replaced too."""

    def replace(self, word: str | int, by: str) -> Experiment:
        """Read the text with one word replaced by another, or by several."""
        if word is None:
            raise ArgumentError("replace needs a word, got None: try replace_sentence.")
        if not isinstance(by, str):
            raise ArgumentError(f"by must be text, got {by!r}.")
        return self.experiment._replaced(word, by)

    def replace_sentence(self, sentence: str) -> Experiment:
        """Read another sentence in place of this one."""
        return self.experiment._replaced(None, sentence)

    @property
    def experiment(self) -> Experiment:
        """An experiment on this run, in which nothing is changed yet."""
        raise NotImplementedError

    def _changeable(self, regenerate: bool) -> Changeable[Experiment]:
        if regenerate:
            raise ArgumentError(REGENERATE)
        return self.experiment


def _checked_texts(over: Any) -> tuple[str, ...]:
    texts = () if isinstance(over, str) or not isinstance(over, Iterable) else tuple(over)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise ArgumentError(f"over must be a list of at least one text, got {over!r}.")
    return texts


def acting(changes: Sequence[Change], part: str, layer: int) -> list[Change]:
    """The changes that act on one attention, in the order in which they act."""
    covering = [x for x in changes if x.heads.covers(part, layer)]
    return sorted(covering, key=lambda change: change.order)


Progress = Callable[[int, int], None]  # heads done, heads in all
