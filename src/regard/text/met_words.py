"""The words that a model met in its training text: those it did not, it has to guess."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

MET_WORDS = "words.txt"
TIMES = 5  # a word that was met fewer times has hardly been met
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_WITH_DIGITS = re.compile(r"[^\s\w]*[\d.,:/-]+(st|nd|rd|th|s|k|h|am|pm|km|kg|cm|mm|g|m|ml|l)?\W*")
_LETTERS_OF_CHATS = "bcknruxy"  # as in: c u l8r; the others are rather of p.m., e.g. and formulas
_ENDINGS = ("'s", "'re", "'ve", "'ll", "'d", "'m", "n't", "'")


@dataclass(frozen=True)
class MetWords:
    """Words in lower case, each on a line of its own; a search needs no parsing of the list.

    >>> met = MetWords("\\nbelieve\\ncan\\ndog\\n")
    >>> "Dog" in met, "beleive" in met, met.hardly_met(["I", "cant", "believe", "u", "3rd"])
    (True, False, ('cant', 'u'))
    """

    text: str = ""

    @classmethod
    def from_folder(cls, folder: Path) -> MetWords:
        """The list in a model's folder; an empty one where there is none."""
        path = folder / MET_WORDS
        return cls(path.read_text(encoding="utf-8") if path.is_file() else "")

    def __contains__(self, word: str) -> bool:
        return f"\n{word.lower()}\n" in self.text

    def hardly_met(self, words: Iterable[str]) -> tuple[str, ...]:
        """Those of the words that are not among these; none where the list is empty."""
        if not self.text:
            return ()
        return tuple(dict.fromkeys(word for word in words if not self._is_met(word)))

    def _is_met(self, word: str) -> bool:
        if _WITH_DIGITS.fullmatch(word.lower()):
            return True
        if any(x.isdigit() for x in word) and "-" not in word:
            return not any(x.isalpha() for x in word)  # as in 2nite, which is no number
        return all(
            part in self or any(x in self for x in _stems(part))
            for part in WORD.findall(word)
            if len(part) > 1 or part in _LETTERS_OF_CHATS
        )


NO_WORDS = MetWords()


def _stems(word: str) -> Iterator[str]:
    """A word without the endings that can follow any word."""
    for ending in _ENDINGS:
        if word.lower().endswith(ending):
            yield word[: -len(ending)]
