"""Selections that a change acts on: heads of a part, and the tokens of a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError, check_choice
from regard.heads.links import same_words, single_word
from regard.text.words import TokenizedText

Numbers = int | Sequence[int] | None
Word = str | int | tuple[int, int]  # a word, its number, or (start, stop) in tokens
Positions = NDArray[np.int64]

PARTS = ("encoder", "decoder", "cross")


def check_part(part: str) -> None:
    """Raise an ArgumentError unless this is one of PARTS."""
    check_choice("part", part, PARTS)


def check_number(name: str, number: Any, total: int) -> int:
    """The number of a layer or head, from 0 and below ``total``, as an int.

    >>> check_number("layer", np.int64(3), 6)
    3
    """
    if not isinstance(number, int | np.integer) or not 0 <= number < total:
        raise ArgumentError(
            f"{name} must be a number from 0 to {total - 1} ({name}s count from 0), got {number!r}."
        )
    return int(number)


@dataclass(frozen=True)
class HeadSelection:
    """Heads of layers of parts; None stands for all of them."""

    parts: tuple[str, ...] | None = None
    layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None

    @classmethod
    def from_numbers(
        cls,
        parts: Sequence[str] | None,
        layer: Numbers,
        head: Numbers,
        sizes: tuple[int, int] | None = None,
    ) -> HeadSelection:
        """Build a checked selection.

        Parameters
        ----------
        parts : parts of the model.
        layer, head : numbers from 0.
        sizes : number of layers and of heads. Without them the upper limits are checked when the
            model runs.
        """
        limits = (None, None) if sizes is None else sizes
        return cls(
            None if parts is None else tuple(parts),
            _numbers("layer", layer, limits[0]),
            _numbers("head", head, limits[1]),
        )

    def covers(self, part: str, layer: int) -> bool:
        """Whether any of the heads belongs to this attention."""
        return (self.parts is None or part in self.parts) and (
            self.layers is None or layer in self.layers
        )

    def index(self, heads: int, where: str = "") -> Positions:
        """Numbers of the selected heads of a layer that has ``heads`` of them."""
        if self.heads is None:
            return np.arange(heads)
        if max(self.heads) >= heads:
            raise ArgumentError(
                f"head must be 0 to {heads - 1}{f' in {where}' if where else ''} (heads count from "
                f"0), got {max(self.heads)}."
            )
        return np.array(self.heads, np.int64)

    @property
    def single(self) -> tuple[int, int] | None:
        """Layer and head, where exactly one head is selected."""
        if self.layers is None or self.heads is None or len(self.layers + self.heads) != 2:
            return None
        return self.layers[0], self.heads[0]

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        if self.parts is not None:
            values["part" if len(self.parts) == 1 else "parts"] = _json(self.parts)
        for name, numbers in (("layer", self.layers), ("head", self.heads)):
            if numbers is not None:
                values[name] = _json(numbers)
        return values

    def __str__(self) -> str:
        parts = "" if self.parts is None else " and ".join(self.parts)
        if parts and self.layers is None and self.heads is None:
            return f"every head ({parts})"
        layers = "every layer" if self.layers is None else _listed("layer", self.layers)
        heads = "every head" if self.heads is None else _listed("head", self.heads)
        return f"{parts} {layers}, {heads}".lstrip()


EVERY_HEAD = HeadSelection()


def word_tokens(text: TokenizedText, word: Word) -> tuple[str, Positions]:
    """Name of a word and positions of its tokens; (start, stop) is a span of tokens.

    A text with a blank inside that is no word of its own is a phrase, which must stand there once.
    """
    if isinstance(word, str) and len(word.split()) > 1 and not same_words(text.words, word):
        return word, np.arange(*text.span(word))
    if not isinstance(word, tuple):
        number = single_word(text.words, word)
        return text.words[number], np.flatnonzero(np.equal(text.word_of_token, number))
    integers = [isinstance(x, int | np.integer) for x in word]
    if integers != [True, True] or not 0 <= word[0] < word[1] <= len(text.tokens):
        raise ArgumentError(
            f"a span must be (start, stop) in tokens, 0 <= start < stop <= {len(text.tokens)}, "
            f"got {word!r}."
        )
    return word_name(word), np.arange(*word)


def word_name(word: Word) -> str:
    """Name of a word whose text is not at hand: as the user wrote it."""
    if isinstance(word, tuple):
        return f"tokens {word[0]} to {word[1] - 1}" if word[1] - word[0] > 1 else f"token {word[0]}"
    return word if isinstance(word, str) else f"word {word}"


def _numbers(name: str, number: Numbers, total: int | None) -> tuple[int, ...] | None:
    if number is None:
        return None
    given = number if isinstance(number, Sequence) and not isinstance(number, str) else (number,)
    if not given:
        raise ArgumentError(f"{name} must have at least one number, got an empty list.")
    if total is not None:
        return tuple(sorted({check_number(name, x, total) for x in given}))
    if not all(isinstance(x, int | np.integer) and x >= 0 for x in given):
        raise ArgumentError(
            f"{name} must be a number from 0 up or a list of such numbers, got {number!r}."
        )
    return tuple(sorted({int(x) for x in given}))


def _listed(name: str, numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"{name} {numbers[0]}"
    return f"{name}s {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _json(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else list(values)
