"""Links of pronouns by common knowledge: what would be said next, of the one noun or of the other.

`tables/stories.txt` has sentences with two marked nouns (`The *cat* slept under the old *car*`),
each with clauses about the first and about the second that leave no doubt which of them is meant
(*it woke up and stretched*, *it leaked oil*). These sentences have no translation: they teach the
head alone. One story in twelve is kept out of training, to choose settings by.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING
from zlib import crc32

from anaphora.facts import joined, without_reserved
from anaphora.nouns import TABLES
from anaphora.preferences import is_reserved
from regard.text.words import split_words
from train.data import MarkedPair
from word_tables import read_table, read_words

if TYPE_CHECKING:
    from train.made import TextRequest  # imports torch, which the judge does without

_STORIES, _PEOPLE = TABLES / "stories.txt", TABLES / "people.txt"
_DRAWS = 16  # pairs made of a story
_KEPT_BACK = 12  # one story in as many
# The pronouns of a story are those of one group: *it* where *he* washed it.
_PRONOUNS = (frozenset(("it", "its", "itself")), frozenset(("they", "them", "their")),
             frozenset(("he", "him", "his")), frozenset(("she", "her")))  # fmt: skip
_CONNECTORS = (" because", " because", " because", ".", ".", ", and", ", but", " since")
_DETERMINERS = read_words(TABLES / "function_words.txt", "determiners")
_OPENINGS = ((), (), (), (), ("Yesterday",), ("This", "morning"), ("Last", "week"),
             ("One", "day"), ("Tom", "said", "that"), ("I", "remember", "that"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Story:
    """A sentence without its full stop, where its nouns stand, and the clauses about each."""

    words: tuple[str, ...]
    at: tuple[int, int]
    pronouns: frozenset[str]
    clauses: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def is_kept_back(self) -> bool:
        """Whether it is out of training; its words alone decide."""
        return crc32(" ".join(self.words).encode()) % _KEPT_BACK == 0


def pairs(request: TextRequest) -> list[MarkedPair]:
    """The sentences that a recipe asks for with `made = "anaphora.stories:pairs"`."""
    return story_pairs([x for x in stories() if not x.is_kept_back], request.seed, _DRAWS)


@cache
def stories() -> tuple[Story, ...]:
    """All stories, without clauses that have a word kept out of training."""
    read = (_read(*row) for row in read_table(_STORIES)["stories"])
    return tuple(
        x for x in read if all(x.clauses) and not is_reserved([y.lower() for y in x.words])
    )


def _read(text: str, of_first: str, of_second: str) -> Story:
    start, noun, middle, *_ = text.split("*")
    first = len(split_words(start))
    second = len(split_words(f"{start}{noun}{middle}"))
    words = split_words(text.replace("*", ""))
    both = without_reserved(of_first), without_reserved(of_second)
    pronouns = max(_PRONOUNS, key=lambda x: sum(_has(y, x) for cell in both for y in cell))
    clauses = tuple(tuple(x for x in cell if _has(x, pronouns)) for cell in both)
    return Story(tuple(words), (first, second), pronouns, (clauses[0], clauses[1]))


def _has(clause: str, pronouns: frozenset[str]) -> bool:
    return not pronouns.isdisjoint(clause.split())


def story_pairs(told: Sequence[Story], seed: int, draws: int) -> list[MarkedPair]:
    """Different sentences with a link, in pairs that differ in their last clause."""
    rng = random.Random(seed)
    made = [_contrast(rng, story) for story in told for _ in range(draws)]
    return list({x.source: x for both in made for x in both}.values())


def _contrast(rng: random.Random, story: Story) -> list[MarkedPair]:
    """The story twice: with a clause about its first noun, and with one about its second."""
    opening, connector = rng.choice(_OPENINGS), rng.choice(_CONNECTORS)
    words = _renamed(rng, story)
    if words[0].lower() not in _DETERMINERS:
        opening = ()
    elif opening:
        words[0] = words[0].lower()
    made = []
    for at, clauses in zip(story.at, story.clauses, strict=True):
        clause = rng.choice(clauses).split()
        query = next(i for i, x in enumerate(clause) if x in story.pronouns)
        made += joined((*opening, *words), connector, clause, query, len(opening) + at)
    return made if len(made) == 2 else []


@cache
def _names() -> dict[str, tuple[str, ...]]:
    """Every given name, with all names of its sex."""
    table = read_table(_PEOPLE)
    kinds = [tuple(row[0] for row in table[f"names of {x}"]) for x in ("men", "women")]
    return {name: kind for kind in kinds for name in kind}


def _renamed(rng: random.Random, story: Story) -> list[str]:
    """The words of a story; two persons who are told apart by name alone get other names."""
    words = list(story.words)
    kinds = [_names().get(words[i]) for i in story.at]
    if kinds[0] and kinds[0] == kinds[1]:
        for i, name in zip(story.at, rng.sample(kinds[0], 2), strict=True):
            words[i] = name
    return words
