"""Alignment error rate: the links of a reading against a hand-made alignment.

The format is that of the public Hansard alignments (Och and Ney 2000): sentences.txt has
`English ||| French` in tokens, gold.txt `3-4` for a sure link and `3p4` for a possible one,
English first, counted from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from regard.errors import FileError
from regard.text.tokens import SPACE, normalise
from regard.transformer.model import Transformer
from regard.transformer.reading import Reading, read_translated
from regard.transformer.translation import Translation, readable, source_tokens

TokenLink = tuple[int, int]
_LINK = re.compile(r"(\d+)([-p])(\d+)")


class AlignedSentence(NamedTuple):
    """A sentence and its translation in tokens, with the links between them, source first."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: frozenset[TokenLink]
    possible: frozenset[TokenLink]


@dataclass(frozen=True)
class AlignmentError:
    """Figures of predicted links A against sure links S and possible ones P, which include S."""

    links: int
    sure: int
    right_sure: int
    right: int

    @property
    def error_rate(self) -> float:
        """AER: 1 - (|A and S| + |A and P|) / (|A| + |S|)."""
        return 1 - (self.right_sure + self.right) / max(1, self.links + self.sure)

    @property
    def precision(self) -> float:
        """The share of the predicted links that are possible."""
        return self.right / max(1, self.links)

    @property
    def recall(self) -> float:
        """The share of the sure links that were predicted."""
        return self.right_sure / max(1, self.sure)


def alignment_error(
    predicted: Iterable[Iterable[TokenLink]], sentences: Iterable[AlignedSentence]
) -> AlignmentError:
    """The figures of predicted links, sentence by sentence, added up over all sentences.

    >>> gold = AlignedSentence(("a", "b"), ("x", "y"), frozenset({(0, 0)}), frozenset({(0, 0)}))
    >>> alignment_error([[(0, 0), (1, 1)]], [gold]).error_rate
    0.33333333333333337
    """
    counts = np.zeros(4, dtype=int)
    for links, sentence in zip(predicted, sentences, strict=True):
        of = set(links)
        right = of & sentence.possible
        counts += len(of), len(sentence.sure), len(of & sentence.sure), len(right)
    return AlignmentError(*counts.tolist())


def read_aligned(folder: Path) -> list[AlignedSentence]:
    """The hand-aligned sentences of a folder."""
    texts, links = (_lines(folder / name) for name in ("sentences.txt", "gold.txt"))
    if len(texts) != len(links):
        raise FileError(
            f"{folder} needs one line of gold.txt for each line of sentences.txt, but they have "
            f"{len(links)} and {len(texts)}: copy both again."
        )
    return [_aligned(*item) for item in zip(texts, links, strict=True)]


def given_reading(model: Transformer, sentence: AlignedSentence) -> Reading:
    """The reading of a sentence whose translation is given; tokens stand between spaces."""
    source, target = (readable(" ".join(tokens)) for tokens in sentence[:2])
    pieces = tuple(model.tokenizer.encode(target))
    translation = Translation(
        source, target, tuple(source_tokens(model, source)), pieces, score=0.0, finished=True
    )
    return read_translated(model, translation)


def reading_links(reading: Reading, sentence: AlignedSentence) -> set[TokenLink]:
    """A reading's alignment as links between the tokens of a hand-aligned sentence."""
    source = word_tokens(reading.words[:-1], sentence.source)
    target = word_tokens(reading.translation_words, sentence.target)
    alignment = reading.alignment
    return {
        (i, j)
        for row in range(len(alignment.words))
        for key in alignment.source_columns(row)
        for i in source[key]
        for j in target[row]
    }


def word_tokens(words: Sequence[str], tokens: Sequence[str]) -> list[list[int]]:
    """The tokens that share a letter with each word, where both spell the same text.

    >>> word_tokens(["Mr", ".", "peut-être"], ["Mr.", "peut", "-", "être"])
    [[0], [0], [1, 2, 3]]
    """
    of_word, of_token = (
        np.repeat(np.arange(len(texts)), [_letters(x) for x in texts]) for texts in (words, tokens)
    )
    if len(of_word) != len(of_token):
        raise FileError(
            f"a tokenised sentence needs the letters of its words, but {' '.join(tokens)!r} was "
            f"read as {' '.join(words)!r}: normalise its characters."
        )
    pairs = sorted(set(zip(of_word.tolist(), of_token.tolist(), strict=True)))
    return [[token for word, token in pairs if word == number] for number in range(len(words))]


def _letters(text: str) -> int:
    """Characters that are no space; a space that is a piece of its own is none either."""
    return len(normalise(text.replace(SPACE, " ")).replace(" ", ""))


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        raise FileError(f"hand-made alignments need the file {path}, but it is not there.")
    return path.read_text(encoding="utf-8").splitlines()


def _aligned(text: str, links: str) -> AlignedSentence:
    source, separator, target = text.partition(" ||| ")
    matches = [_LINK.fullmatch(link) for link in links.split()]
    if not separator or None in matches:
        raise FileError(
            "a hand-made alignment needs 'English ||| French' and links such as 3-4 and 3p4, but "
            f"it has {text[:60]!r} and {links[:60]!r}: correct the line."
        )
    of = {kind: {(int(m[1]) - 1, int(m[3]) - 1) for m in matches if m and m[2] == kind}
          for kind in "-p"}  # fmt: skip
    sure = frozenset(of["-"])
    return AlignedSentence(tuple(source.split()), tuple(target.split()), sure, sure | of["p"])
