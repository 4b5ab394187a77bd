"""Tokenizers: text normalised and split into the pieces of a vocabulary."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

SPACE = "\u2581"  # SentencePiece writes the space before a word like this
MARKS = frozenset('.,?!;:"()') | {"..."}
SPECIALS = ("(pad)", "(unknown)", "(start)", "(end)")
_PLAIN_CHARACTERS = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u00ab": '"', "\u00bb": '"'}
    | dict.fromkeys("\u00a0\u202f\u2009\t\r\n", " ")
)


def normalise(text: str) -> str:
    """Turn typographic quotes, apostrophes and spaces into the plain ones, composed (NFC).

    >>> normalise("l\u2019ami\u00a0?")
    "l'ami ?"
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).translate(_PLAIN_CHARACTERS)
    return " ".join(text.split())


class Tokenizer(Protocol):
    """Text to token ids, and back."""

    def encode(self, text: str) -> list[int]:
        """The id of each piece of the text."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these pieces."""

    def piece(self, token: int) -> str:
        """One piece as it is written in the vocabulary."""


@dataclass(frozen=True)
class WordTokenizer:
    """A vocabulary of whole words, for untrained models on a learner's own sentence.

    >>> tokens = WordTokenizer.from_text("I am good")
    >>> tokens.encode("am I bad"), tokens.decode([4, 6])
    ([5, 4, 1], 'I good')
    """

    words: tuple[str, ...]

    @classmethod
    def from_text(cls, text: str) -> WordTokenizer:
        """Vocabulary of the distinct words of a text, in order."""
        return cls((*SPECIALS, *dict.fromkeys(text.split())))

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def encode(self, text: str) -> list[int]:
        return [self._ids.get(word, 1) for word in text.split()]

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.words[i] for i in ids)

    def piece(self, token: int) -> str:
        return SPACE + self.words[token]


def special_name(token: int) -> str | None:
    """The written form of a special token, None for any other.

    >>> special_name(3), special_name(4)
    ('(end)', None)
    """
    return SPECIALS[token] if token < len(SPECIALS) else None


def unknown_characters(pieces: Iterable[str], text: str) -> str:
    """The characters of a text that are spelled out in bytes: the vocabulary lacks them."""
    spelled = "".join(pieces)
    if "<0x" not in spelled:
        return ""
    return "".join(dict.fromkeys(x for x in text if not x.isascii() and x not in spelled))
