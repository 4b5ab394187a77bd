"""Links: the weight one head gives from one word to another, in numbers and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from regard.display import TextDisplay, percent
from regard.errors import ArgumentError

MAX_WORDS_LISTED, MAX_NEAR_WORDS = 40, 5
CAUTION = (
    "Attention is evidence, not explanation: it shows where a head looks, not why the model "
    "answers as it does."
)


@dataclass(frozen=True, repr=False)
class Link(TextDisplay):
    """One head's weight from a query word to a key word; layers and heads count from 0.

    ``query`` and ``key`` are positions among the words. ``usual`` is the weight to expect there
    for any words: only the excess over it is informative. ``role`` names what the head usually
    does, where that was measured.
    """

    part: str
    layer: int
    head: int
    query: int
    key: int
    query_word: str
    key_word: str
    weight: float
    usual: float
    role: str = ""

    @property
    def excess(self) -> float:
        return self.weight - self.usual

    @property
    def phrase(self) -> str:
        """The link in words, as in: it looks at dog: 88 %."""
        nearly_all = 0.99 <= self.weight < 0.9995  # no 100 % where a head is not sure
        shown = percent(self.weight, decimals=int(nearly_all))
        return f"{self.query_word} looks at {self.key_word}: {shown}"

    def __str__(self) -> str:
        return (
            f"{self.phrase} in {self.part} layer {self.layer}, head {self.head} "
            f"(usual: {percent(self.usual)})"
        )


@dataclass(frozen=True, repr=False)
class WordLinks(TextDisplay):
    """The links of one query word, one for each head, the largest excess first."""

    query_word: str
    part: str
    links: tuple[Link, ...]
    note: str = ""

    def __str__(self) -> str:
        title = f"{self.query_word} ({self.part}), the largest excess over the usual first"
        lines = [title, *map(str, self.links[:10])]
        return "\n".join([*lines, self.note] if self.note else lines)


def single_word(words: Sequence[str], word: str | int) -> int:
    """Position of a word that must be unambiguous.

    >>> single_word(("A", "dog", "saw", "the", "cat"), "cat")
    4
    """
    position = word_position(words, word)
    same = same_words(words, word) if isinstance(word, str) else []
    if isinstance(word, str) and "#" not in word.strip("#") and len(same) > 1:
        if len(same) > MAX_NEAR_WORDS:
            raise ArgumentError(
                f"the word must occur once, got {word!r}, which occurs {len(same)} times, first as "
                f"word {same[0]} (from 0): write the number of a word, or {word}#1 to "
                f"{word}#{len(same)}."
            )
        numbers = " or ".join(f"{word}#{n}" for n in range(1, len(same) + 1))
        raise ArgumentError(
            f"the word must occur once, got {word!r}, which occurs {len(same)} times, as words "
            f"{', '.join(map(str, same[:-1]))} and {same[-1]} (from 0): write {numbers}."
        )
    return position


def same_words(words: Sequence[str], name: str) -> list[int]:
    """Positions of a word as it is written; where it is written otherwise, in any case.

    >>> same_words(("City", "of", "the", "city", "THE"), "City"), same_words(("A", "a"), " a ")
    ([0], [1])
    >>> same_words(("The", "THE"), "the")
    [0, 1]
    """
    name = name.strip()
    exact = [i for i, x in enumerate(words) if x == name]
    return (
        exact
        if len(exact) == 1
        else [i for i, x in enumerate(words) if x.casefold() == name.casefold()]
    )


def word_position(words: Sequence[str], word: str | int) -> int:
    """Position of a word; 'the#2' is the second 'the', a number is a position from 0.

    >>> word_position(("The", "dog", "saw", "the", "cat"), "the#2")
    3
    """
    if isinstance(word, int | np.integer):
        if not -len(words) <= word < len(words):
            raise ArgumentError(
                f"the word must be a number from 0 to {len(words) - 1}, got {word}."
            )
        return int(word) % len(words)
    if not isinstance(word, str):
        raise ArgumentError(f"the word must be text or a number from 0, got {word!r}.")
    name, _, number = word.rpartition("#") if "#" in word.strip("#") else (word, "", "1")
    matches = same_words(words, name)
    if number and "#" in word.strip("#"):  # numbered in any case
        matches = [i for i, x in enumerate(words) if x.casefold() == name.strip().casefold()]
    if not number.isdecimal() or not 1 <= int(number) <= len(matches):
        raise ArgumentError(
            f"the word must be one of the words read, got {word!r}; {_words_like(words, name)}."
        )
    return matches[int(number) - 1]


def _words_like(words: Sequence[str], name: str) -> str:
    """The words, of a long text those most like a name.

    >>> _words_like(("a", "dog"), "cat"), _words_like(("lighthouse", *"abc" * 20), "lihgthouse")
    ('they are: a dog', "the nearest are: 'lighthouse' (word 0)")
    """
    if len(words) <= MAX_WORDS_LISTED:
        return f"they are: {' '.join(words)}"
    first = {word.casefold(): number for number, word in reversed(list(enumerate(words)))}
    near = get_close_matches(name.strip().casefold(), first, MAX_NEAR_WORDS)
    shown = ", ".join(f"{words[first[x]]!r} (word {first[x]})" for x in near)
    return f"the nearest are: {shown}" if near else f"none of its {len(words):,} words is like it"
