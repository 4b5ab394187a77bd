"""Nouns of the anaphora text: English, French, gender, class; which are out of training."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from regard.transformer.train import english_grammar, french_grammar
from regard.transformer.train.anaphora.nouns_food import FOOD
from regard.transformer.train.anaphora.nouns_living import LIVING
from regard.transformer.train.anaphora.nouns_objects import OBJECTS
from regard.transformer.train.anaphora.nouns_places import PLACES
from regard.transformer.train.anaphora.split import TEST_NOUNS

_TABLE = LIVING | FOOD | OBJECTS | PLACES

GROUPS = {
    "animal": "beast small bird bug fish", "quadruped": "beast small",
    "food": "fruit vegetable dish", "produce": "fruit vegetable", "wood": "seat furniture",
    "ride": "vehicle boat aircraft", "device": "machine ride",
    "place": "road land room building waters", "site": "building room",
    "reading": "text picture work document idea", "people": "man woman",
    "appliance": "fridge oven dishwasher photocopier generator freezer robot",
    "handy": "tool blade", "cloth": "clothing textile", "animate": "animal people",
    "object": "container seat furniture handy clothing instrument text machine toy jewel picture"
              " document decor care",
    "portable": "container handy clothing instrument text toy jewel picture fruit dish vegetable"
                " document decor care -bathtub -tent -law -chapter -aquarium -tank"
                " -sentence -paragraph -translation",
    "seafood": "salmon trout tuna cod sardine lobster crab shrimp oyster mussel squid",
    "thing": "object stone textile food", "topic": "work idea occasion",
    "predator": "wolf fox lion bear tiger lioness jaguar panther hyena weasel badger",
    "prey": "rabbit hare mouse squirrel deer doe gazelle zebra lamb hen duck goose hamster frog",
    "herd": "cow sheep horse mule pony mare ewe ox bull llama calf camel",
    "glassware": "vase bottle mirror window plate cup glass teapot bowl jar mug saucer",
    "creature": "animate -bug",
}  # fmt: skip


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

    A short table gives its last entry. Words are split by a list instead (`split`).
    """
    return position % 7 == min(5, size - 1)


def _noun(row: str, kind: str) -> Noun:
    english, french, gender, *rest = row.split()
    french = french.replace("_", " ")
    return Noun(
        english,
        english_grammar.plural(english),
        french,
        french_grammar.plural(french),
        gender,
        kind,
        not rest,
        english not in TEST_NOUNS,
    )


def _read() -> dict[str, Noun]:
    nouns = {}
    for kind, table in _TABLE.items():
        for row in table.split(","):
            noun = _noun(row, kind)
            nouns[noun.english] = noun
    return nouns


NOUNS = _read()
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
