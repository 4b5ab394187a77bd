"""Nouns of the generated sentences, their classes, and the words that are kept out of training."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from grammar import english, french
from word_tables import Row, TableError, read_pairs, read_table, read_words

TABLES = Path(__file__).parent / "tables"
_SPLIT = TABLES / "split.txt"
TEST_NOUNS = read_words(_SPLIT, "nouns")
TEST_ADJECTIVES = read_words(_SPLIT, "adjectives")
TEST_PHRASES = read_words(_SPLIT, "phrases")
TEST_ACTIONS = read_words(_SPLIT, "actions")
TEST_PARTS = read_words(_SPLIT, "parts")
TEST_VERBS = read_words(_SPLIT, "verbs")
GROUPS = dict(read_pairs(TABLES / "noun_classes.txt", "groups"))


@dataclass(frozen=True, slots=True)
class Noun:
    """An English noun with its one French translation."""

    english: str
    english_plural: str
    french: str
    french_plural: str
    gender: str
    kind: str
    countable: bool
    in_training: bool

    @property
    def person(self) -> bool:
        """Whether *he* or *she* stands for it."""
        return self.kind in ("man", "woman")


def out_of_training(position: int, size: int) -> bool:
    """Whether the frame at a position of a table is out of training: one in seven, the sixth first.

    A short table gives its last entry. Words are split by a list instead (split.txt).
    """
    return position % 7 == min(5, size - 1)


def _noun(row: Row) -> Noun:
    english_noun, french_noun, gender, kind, number = row
    if gender not in ("m", "f"):
        raise TableError(f"{row.place}: gender must be m or f, got {gender!r}.")
    if number not in ("", "no plural"):
        raise TableError(f"{row.place}: the last cell must be 'no plural', got {number!r}.")
    return Noun(
        english_noun,
        english.plural(english_noun),
        french_noun,
        french.plural(french_noun),
        gender,
        kind,
        not number,
        english_noun not in TEST_NOUNS,
    )


def _nouns() -> dict[str, Noun]:
    table = read_table(TABLES / "nouns.txt")
    nouns: dict[str, Noun] = {}
    for row in (*table["nouns"], *table["people"]):
        if row[0] in nouns:
            raise TableError(f"{row.place}: {row[0]!r} must stand only once.")
        nouns[row[0]] = _noun(row)
    return nouns


NOUNS = _nouns()
_BY_KIND: dict[str, list[str]] = defaultdict(list)
for _item in NOUNS.values():
    _BY_KIND[_item.kind].append(_item.english)


def members(names: str) -> frozenset[str]:
    """The English nouns of classes, groups of classes and single nouns; '-' leaves some out.

    >>> sorted(members("room -attic key")) == sorted(members("room key") - {"attic"})
    True
    >>> sorted(members("key knife bread -knife"))
    ['bread', 'key']
    """
    chosen: set[str] = set()
    for name in names.split():
        nouns = _members(name.removeprefix("-"))
        chosen = chosen - nouns if name.startswith("-") else chosen | nouns
    return frozenset(chosen)


def _members(name: str) -> set[str]:
    if name in GROUPS:
        return set(members(GROUPS[name]))
    if name in _BY_KIND:
        return set(_BY_KIND[name])
    return {NOUNS[name].english}
