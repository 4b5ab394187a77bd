"""Sub-word tokens.

Text normalised and split by SentencePiece, and tokens grouped back into words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError, FileError

_PLAIN = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u00ab": '"', "\u00bb": '"'}
    | dict.fromkeys("\u00a0\u202f\u2009\t\r\n", " ")
)


def plain(text: str) -> str:
    """Turn typographic quotes, apostrophes and spaces into the plain ones, composed (NFC).

    >>> plain("l\u2019ami\u00a0?")
    "l'ami ?"
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).translate(_PLAIN)
    return " ".join(text.split())


SPACE = "\u2581"  # SentencePiece writes the space before a word like this


MARKS = frozenset('.,?!;:"()') | {"..."}


SPECIALS = ("(pad)", "(unknown)", "(start)", "(end)")


class Tokens(Protocol):
    """Whatever cuts text into numbered pieces and puts it together again."""

    def encode(self, text: str) -> list[int]:
        """The number of each piece of the text."""

    def decode(self, numbers: Sequence[int]) -> str:
        """The text of these pieces."""

    def piece(self, number: int) -> str:
        """One piece as it is written in the vocabulary."""


class SentencePieces:
    """Sub-words of a SentencePiece model."""

    def __init__(self, path: Path) -> None:
        import sentencepiece

        if not path.is_file():
            raise FileError(
                f"the tokens need a SentencePiece model at {path}, but there is none: copy the "
                "tokens.model that was made with the parameters beside them."
            )
        self._model: Any = sentencepiece.SentencePieceProcessor()
        self._model.Load(str(path))

    def encode(self, text: str) -> list[int]:
        """The number of each piece of the text."""
        numbers: list[int] = self._model.EncodeAsIds(text)
        return numbers

    def decode(self, numbers: Sequence[int]) -> str:
        """The text of these pieces."""
        text: str = self._model.DecodeIds([int(number) for number in numbers])
        return text

    def piece(self, number: int) -> str:
        """One piece as it is written in the vocabulary."""
        piece: str = self._model.IdToPiece(int(number))
        return piece


@dataclass(frozen=True)
class WholeWords:
    """Every word of a text is one token; for untrained models on a learner's own sentence.

    >>> tokens = WholeWords.of("I am good")
    >>> tokens.encode("am I bad"), tokens.decode([4, 6])
    ([5, 4, 1], 'I good')
    """

    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> WholeWords:
        """The different words of a text, in their order."""
        return cls((*SPECIALS, *dict.fromkeys(text.split())))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def encode(self, text: str) -> list[int]:
        """The number of each word; 1 for a word that is not in the vocabulary."""
        return [self._numbers.get(word, 1) for word in text.split()]

    def decode(self, numbers: Sequence[int]) -> str:
        """The words side by side."""
        return " ".join(self.words[number] for number in numbers)

    def piece(self, number: int) -> str:
        """The word with the mark of a word's start."""
        return SPACE + self.words[number]


@dataclass(frozen=True)
class Side:
    """One side of a translation: its tokens, its words, and which word each token belongs to.

    A token that goes on inside a word is written with a plus: 'hung', '+ry'.
    """

    pieces: tuple[str, ...]
    tokens: tuple[str, ...]
    words: tuple[str, ...]
    word_of_token: tuple[int, ...]

    def names(self, by: str) -> tuple[str, ...]:
        """The words or the tokens, as ``by`` says."""
        if by not in ("words", "tokens"):
            raise ArgumentError(f"by needs to be 'words' or 'tokens', but it is {by!r}.")
        return self.words if by == "words" else self.tokens

    @property
    def membership_wt(self) -> NDArray[np.float64]:
        """1 where token t belongs to word w, else 0."""
        words = np.arange(len(self.words))[:, None]
        membership_wt: NDArray[np.float64] = np.equal(words, self.word_of_token).astype(np.float64)
        return membership_wt


def side_of(tokens: Tokens, numbers: Sequence[int], *, elisions: bool = False) -> Side:
    """Name the tokens of a sentence and group them into words.

    With ``elisions`` a word also ends after an apostrophe, as in l' | homme.
    """
    pieces = [tokens.piece(number) for number in numbers]
    groups = word_groups(pieces, numbers, elisions)
    words = [_text(tokens, [numbers[i] for i in group]) for group in groups]
    names = [_token_name(piece, first=i == group[0]) for group in groups for i in group
             for piece in [_special(numbers[i]) or pieces[i]]]  # fmt: skip
    of_token = [word for word, group in enumerate(groups) for _ in group]
    return Side(tuple(pieces), tuple(names), tuple(words), tuple(of_token))


def word_groups(
    pieces: Sequence[str], numbers: Sequence[int], elisions: bool = False
) -> list[list[int]]:
    """The positions of the pieces of each word; marks and (start), (end) stand alone.

    >>> word_groups(["\u2581hung", "ry", "."], [10, 11, 12])
    [[0, 1], [2]]
    """
    groups: list[list[int]] = []
    closed = True
    for place, (piece, number) in enumerate(zip(pieces, numbers, strict=True)):
        alone = piece.lstrip(SPACE) in MARKS or _special(number) is not None
        if closed or alone or piece.startswith(SPACE):
            groups.append([])
        groups[-1].append(place)
        closed = alone or (elisions and piece.endswith("'"))
    return groups


def to_words(weights_qk: NDArray[Any], queries: Side, keys: Side) -> NDArray[Any]:
    """Weights between words: added over the pieces of a key, averaged over those of a query.

    So a row still sums to 1. Leading axes stay.
    """
    queries_wt, keys_wt = queries.membership_wt, keys.membership_wt
    mean_wt = queries_wt / queries_wt.sum(axis=1, keepdims=True)
    by_words: NDArray[Any] = mean_wt @ weights_qk @ keys_wt.T
    return by_words


def unknown_characters(pieces: Iterable[str], text: str) -> str:
    """The characters of a text that are spelled out in bytes, because training never met them."""
    spelled = "".join(pieces)
    if "<0x" not in spelled:
        return ""
    return "".join(dict.fromkeys(x for x in text if not x.isascii() and x not in spelled))


def _special(number: int) -> str | None:
    return SPECIALS[number] if number < len(SPECIALS) else None


def _text(tokens: Tokens, numbers: Sequence[int]) -> str:
    special = _special(numbers[0])
    if special is not None:
        return special
    text = tokens.decode(numbers).strip()
    return text or "".join(tokens.piece(number) for number in numbers)


def _token_name(piece: str, first: bool) -> str:
    text = piece.removeprefix(SPACE) or SPACE
    return text if first or piece.startswith(SPACE) else f"+{text}"
