"""Changes of the attention of a watched model: keys hidden, rows redirected, heads ablated.

Hidden keys and redirected rows are a bias on the scores of some heads; an ablated head writes zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.display import percent
from regard.errors import ArgumentError
from regard.experiments.selection import Numbers, word_tokens
from regard.text.words import TokenizedText
from regard.watcher.capture.runs import LayerKey

if TYPE_CHECKING:
    import torch

    from regard.watcher.capture.model_call import ModelCall

Words = str | int | tuple[int, int]  # a word, its number, or (start, stop) in tokens
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class SentenceCall:
    """One sentence of an attention call: positions of its queries and keys in their texts.

    ``scores`` gives the masked scores (h, q, k) of some heads and some queries of the call.
    """

    call: ModelCall = field(repr=False)
    sentence: int
    layer: LayerKey
    rows: slice
    columns: slice
    row_start: int
    column_start: int
    query_text: TokenizedText
    key_text: TokenizedText
    scores: Callable[[Positions, Positions], torch.Tensor] = field(repr=False)

    def queries_at(self, positions: Positions) -> Positions:
        """Numbers of the queries of the call that have some of these positions."""
        at: Positions = positions - self.row_start + self.rows.start
        inside: Positions = at[(at >= self.rows.start) & (at < self.rows.stop)]
        return inside

    def keys_at(self, positions: Positions) -> Positions:
        """Numbers of the keys of the call that have some of these positions."""
        at: Positions = positions - self.column_start + self.columns.start
        inside: Positions = at[(at >= self.columns.start) & (at < self.columns.stop)]
        return inside


@dataclass(frozen=True)
class WatchedHeads:
    """Some heads of some layers of some parts of a watched model; None stands for all."""

    parts: tuple[str, ...] | None
    layers: tuple[int, ...] | None
    heads: tuple[int, ...] | None

    @classmethod
    def of(cls, parts: Sequence[str] | None, layer: Numbers, head: Numbers) -> WatchedHeads:
        """A selection by numbers from 0; the model says at its run whether it has them."""
        return cls(None if parts is None else tuple(parts), _numbers("layer", layer),
                   _numbers("head", head))  # fmt: skip

    def covers(self, layer: LayerKey) -> bool:
        """Whether some of the heads belong to this layer."""
        return (self.parts is None or layer.part in self.parts) and (
            self.layers is None or layer.layer in self.layers
        )

    def index(self, layer: LayerKey, heads: int) -> Positions:
        """The heads of a layer that has so many."""
        if self.heads is None:
            return np.arange(heads)
        if max(self.heads) >= heads:
            raise ArgumentError(
                f"head needs a number from 0 to {heads - 1} in {layer} (heads count from 0), but "
                f"it is {max(self.heads)}."
            )
        return np.array(self.heads)

    def __str__(self) -> str:
        parts = "" if self.parts is None else f"{' and '.join(self.parts)} "
        layers = "every layer" if self.layers is None else _listed("layer", self.layers)
        heads = "every head" if self.heads is None else _listed("head", self.heads)
        return f"{parts}{layers}, {heads}"


class ModelChange(Protocol):
    """A change of some attentions while a model runs."""

    @property
    def heads(self) -> WatchedHeads:
        """The heads that it acts on."""

    def add_bias(self, bias_hqk: torch.Tensor, call: SentenceCall) -> None:
        """Add to the scores of one sentence, in float32."""

    def change_output(self, output_bqhd: torch.Tensor, layer: LayerKey) -> torch.Tensor:
        """The output of a layer with some heads changed, or the same object."""

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class HeadAblation:
    """Heads whose output is zero at every position."""

    heads: WatchedHeads

    def add_bias(self, bias_hqk: torch.Tensor, call: SentenceCall) -> None:
        """The weights stay."""

    def change_output(self, output_bqhd: torch.Tensor, layer: LayerKey) -> torch.Tensor:
        """Zero for the heads, in a copy."""
        index = self.heads.index(layer, output_bqhd.shape[2]).tolist()
        output_bqhd = output_bqhd.clone()
        output_bqhd[:, :, index] = 0
        return output_bqhd

    def __str__(self) -> str:
        return f"{self.heads} writes nothing (zero)"


@dataclass(frozen=True)
class HiddenWords:
    """Words that no other token may look at, in some heads.

    The queries of the words themselves stay as they are: the first token of a causal model sees
    nothing else.
    """

    heads: WatchedHeads
    words: tuple[Words, ...]

    def add_bias(self, bias_hqk: torch.Tensor, call: SentenceCall) -> None:
        """-inf for the keys, but not from the words themselves."""
        hidden = np.concatenate([tokens_of(call.key_text, word)[1] for word in self.words])
        columns = call.keys_at(hidden)
        cross = call.layer.part.split()[0] == "cross"
        own = np.zeros(0, np.int64) if cross else call.queries_at(hidden)
        rows = np.setdiff1d(np.arange(call.rows.start, call.rows.stop), own)
        if cross and len(columns) == call.columns.stop - call.columns.start:
            raise ArgumentError(
                f"{call.layer} needs a key that is left to look at, but knock_out hides all "
                f"{len(columns)}: hide fewer words."
            )
        index = self.heads.index(call.layer, bias_hqk.shape[0])
        if len(rows) and len(columns):
            bias_hqk[np.ix_(index, rows, columns)] = -np.inf

    def change_output(self, output_bqhd: torch.Tensor, layer: LayerKey) -> torch.Tensor:
        """The output follows from the scores."""
        return output_bqhd

    def __str__(self) -> str:
        words = " or ".join(_word_name(word) for word in self.words)
        return f"in {self.heads}, no other token may look at {words}"


@dataclass(frozen=True)
class RedirectedRow:
    """The row of one word put on another, the other weights scaled to what is left."""

    heads: WatchedHeads
    word: Words
    to: Words
    weight: float = 1.0

    def add_bias(self, bias_hqk: torch.Tensor, call: SentenceCall) -> None:
        """The constants for the keys of the word and for the others that give the weights."""
        name, rows_at = tokens_of(call.query_text, self.word)
        target, columns_at = tokens_of(call.key_text, self.to)
        rows, columns = call.queries_at(rows_at), call.keys_at(columns_at)
        if not len(rows):
            return
        index = self.heads.index(call.layer, bias_hqk.shape[0])
        scores_hqk = call.scores(index, rows)
        inside = np.zeros(scores_hqk.shape[-1], bool)
        inside[columns] = True
        if not len(columns) or (scores_hqk[..., inside] == -np.inf).any():
            raise ArgumentError(
                f"{name} needs a word that it can see in {call.layer}, but {target} is hidden "
                "from it, as words that come later are: redirect it to another."
            )
        on, rest = (scores_hqk[..., x].logsumexp(-1) for x in (inside, ~inside))
        if self.weight < 1 and (rest == -np.inf).any():
            raise ArgumentError(
                f"weight {self.weight:g} needs other words to take the rest, but {name} sees no "
                "other in a head: say weight=1."
            )
        bias_hqk[np.ix_(index, rows, np.flatnonzero(inside))] = (_log(self.weight) - on)[..., None]
        others = np.flatnonzero(~inside)
        rest = rest.nan_to_num(neginf=0)
        bias_hqk[np.ix_(index, rows, others)] = (_log(1 - self.weight) - rest)[..., None]

    def change_output(self, output_bqhd: torch.Tensor, layer: LayerKey) -> torch.Tensor:
        """The output follows from the scores."""
        return output_bqhd

    def __str__(self) -> str:
        names = (_word_name(self.word), _word_name(self.to))
        return f"in {self.heads}, {names[0]} looks at {names[1]}: {percent(self.weight)}"


@dataclass(frozen=True)
class AblationByRow:
    """In row n of the batch head n of one layer writes zero; rows beyond the heads are unchanged.

    ``first`` is the head of row 0, ``rows`` the number of rows with a head ablated. With ``means``
    (h, d) it writes those.
    """

    heads: WatchedHeads
    first: int = 0
    rows: int | None = None
    means: torch.Tensor | None = field(default=None, repr=False)

    def add_bias(self, bias_hqk: torch.Tensor, call: SentenceCall) -> None:
        """The weights stay."""

    def change_output(self, output_bqhd: torch.Tensor, layer: LayerKey) -> torch.Tensor:
        """Zero or the mean for one head of each row, in a copy."""
        output_bqhd = output_bqhd.clone()
        rows = len(output_bqhd) if self.rows is None else self.rows
        for row in range(min(rows, output_bqhd.shape[2] - self.first)):
            head = self.first + row
            output_bqhd[row, :, head] = (
                0 if self.means is None else self.means[head].to(output_bqhd)
            )
        return output_bqhd

    def __str__(self) -> str:
        return f"{self.heads}: one head a row of the batch writes nothing"


@dataclass(frozen=True)
class AttentionProbe:
    """No change: a function that is called with every attention, sentence by sentence."""

    look: Callable[[SentenceCall], None] | None = field(default=None, repr=False)
    heads: WatchedHeads = WatchedHeads(None, None, None)

    def add_bias(self, bias_hqk: torch.Tensor, call: SentenceCall) -> None:
        """The weights stay."""
        if self.look is not None:
            self.look(call)

    def change_output(self, output_bqhd: torch.Tensor, layer: LayerKey) -> torch.Tensor:
        """The output stays."""
        return output_bqhd

    def __str__(self) -> str:
        return "nothing"


def tokens_of(text: TokenizedText, word: Words) -> tuple[str, Positions]:
    """A word as it is shown, and the positions of its tokens; (start, stop) is a span of them."""
    if not isinstance(word, tuple):
        return word_tokens(text, word)
    integers = [isinstance(x, int | np.integer) for x in word]
    if integers != [True, True] or not 0 <= word[0] < word[1] <= len(text.tokens):
        raise ArgumentError(
            f"a span needs (start, stop) in tokens, 0 <= start < stop <= {len(text.tokens)}, but "
            f"it is {word!r}."
        )
    return _word_name(word), np.arange(*word)


def check_weight(weight: Any) -> float:
    """A weight from 0 to 1."""
    if not isinstance(weight, float | int) or not 0 <= weight <= 1:
        raise ArgumentError(f"weight needs a number from 0 to 1, but it is {weight!r}.")
    return float(weight)


def _word_name(word: Words) -> str:
    if isinstance(word, tuple):
        return f"tokens {word[0]} to {word[1] - 1}" if word[1] - word[0] > 1 else f"token {word[0]}"
    return word if isinstance(word, str) else f"word {word}"


def _log(weight: float) -> float:
    return log(weight) if weight > 0 else -np.inf


def _numbers(name: str, number: Numbers) -> tuple[int, ...] | None:
    if number is None:
        return None
    given = number if isinstance(number, Sequence) and not isinstance(number, str) else (number,)
    if not given or not all(isinstance(x, int | np.integer) and x >= 0 for x in given):
        raise ArgumentError(
            f"{name} needs a number from 0 up, or several in a list, but it is {number!r}."
        )
    return tuple(sorted({int(x) for x in given}))


def _listed(name: str, numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"{name} {numbers[0]}"
    return f"{name}s {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
