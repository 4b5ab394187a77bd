"""The text of a round: every corpus read, altered, encoded, tagged and put together."""

from __future__ import annotations

import math
import random
import re

import sentencepiece

from regard.errors import ArgumentError
from regard.transformer.train.alter import alter
from regard.transformer.train.corpus import Pairs, encode_pairs, tagged, together, within
from regard.transformer.train.files import Pair, read_pairs
from regard.transformer.train.recipe import Corpus, Habits, Round


def gather(part: Round, tokens: sentencepiece.SentencePieceProcessor, habits: Habits) -> Pairs:
    """All pairs of one epoch of a round, none longer than `habits.longest` tokens."""
    if not part.corpora:
        raise ArgumentError(f"round {part.name!r} needs text, but has none: name its files.")
    parts = [
        encoded
        for number, corpus in enumerate(part.corpora)
        for encoded in _copies(corpus, number, tokens, habits)
    ]
    return within(together(parts), habits.longest)


def _copies(
    corpus: Corpus, number: int, tokens: sentencepiece.SentencePieceProcessor, habits: Habits
) -> list[Pairs]:
    pairs, copies = matching(read_pairs(corpus.path), corpus), []
    for copy in range(math.ceil(corpus.copies)):
        seed = (habits.seed * 100 + number) * 100 + copy
        some = _some(pairs, corpus.copies - copy, seed)
        copies += _encoded(alter(some, habits.alterations, seed), corpus, tokens)
    return copies


def matching(pairs: list[Pair], corpus: Corpus) -> list[Pair]:
    """The pairs whose two sides hold the corpus's patterns, all of them where it has none.

    >>> from pathlib import Path
    >>> some = Corpus(Path("p.tsv"), source=r"\\bit\\b", target=r"\\belle\\b")
    >>> matching([("I saw it.", "Je le vis."), ("Is it new?", "Est-elle neuve ?")], some)
    [('Is it new?', 'Est-elle neuve ?')]
    """
    source, target = re.compile(corpus.source), re.compile(corpus.target)
    return [pair for pair in pairs if source.search(pair[0]) and target.search(pair[1])]


def _some(pairs: list[Pair], share: float, seed: int) -> list[Pair]:
    """A random share of the pairs; all of them from 1 on."""
    count = round(len(pairs) * share)
    return pairs if share >= 1 else random.Random(seed).sample(pairs, max(1, count))


def _encoded(
    pairs: list[Pair], corpus: Corpus, tokens: sentencepiece.SentencePieceProcessor
) -> list[Pairs]:
    encoded = encode_pairs(tokens, pairs)
    forward = encoded
    if corpus.tag:
        forward = Pairs(tagged(encoded.source, tokens.piece_to_id(corpus.tag)), encoded.target)
    if not corpus.both_ways:
        return [forward]
    back = tagged(encoded.target, tokens.piece_to_id("<reverse>"))
    return [forward, Pairs(back, encoded.source)]
