"""What is said of nouns: adjectives, verb phrases, transitive verbs and parts, and what they fit.

The French of an intransitive verb is marked: ~ lasts (*aboyer*), > happens (*exploser*), >~
happens over a time (*fondre*). A form that is done at once in the past is marked > (*a fondu*), one
that was done before is marked >> (*avait fondu*); every other past is an imperfect.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace

from anaphora.nouns import (
    TABLES,
    TEST_ACTIONS,
    TEST_ADJECTIVES,
    TEST_PARTS,
    TEST_PHRASES,
    members,
)
from grammar.english import participle, progressive
from word_tables import Row, read_pairs, read_table, read_words


@dataclass(frozen=True, slots=True)
class Predicate:
    """An adjective, a verb phrase or a transitive verb, and the nouns that it fits.

    It is said of ``fits``; it might be said of ``possible``, so none of these may be the rival.
    """

    english: str
    french: str
    fits: frozenset[str]
    possible: frozenset[str]
    in_training: bool
    gradable: bool = False


# What is said of the first might be said of the others, which are therefore ruled out as rivals.
_ALIKE = dict(read_pairs(TABLES / "noun_classes.txt", "alike"))


def fitting_nouns(fits: str, possible: str) -> tuple[frozenset[str], frozenset[str]]:
    """The nouns that a predicate fits, and those that it fits or might fit."""
    alike = " ".join(_ALIKE[x] for x in f"{fits} {possible}".split() if x in _ALIKE)
    fitting = members(fits)
    return fitting, fitting | members(possible) | members(alike)


def _predicate(row: Row, test: frozenset[str]) -> Predicate:
    """A predicate; those of ``test`` are out of training."""
    english, french, fits, possible, *degree = row
    nouns = row.read(fitting_nouns, fits, possible)
    return Predicate(english, french, *nouns, english not in test, degree == ["+"])


def _predicates(name: str, test: frozenset[str]) -> tuple[Predicate, ...]:
    return tuple(_predicate(row, test) for row in read_table(TABLES / f"{name}.txt")[name])


def _with_namesakes(rows: Iterable[Predicate]) -> tuple[Predicate, ...]:
    """The rows; one with the English of another rules out the nouns of the other too.

    So a trap that somebody set has no rival clock that somebody might have set.
    """
    table = tuple(rows)
    possible: dict[str, frozenset[str]] = {}
    for row in table:
        possible[row.english] = possible.get(row.english, frozenset()) | row.possible
    return tuple(replace(row, possible=possible[row.english]) for row in table)


ADJECTIVES = _predicates("adjectives", TEST_ADJECTIVES)
# States that come and go: 'when it was tired', not 'when it was digital'.
TEMPORARY = read_words(TABLES / "adjectives.txt", "temporary")
PHRASES = _with_namesakes(
    (*_predicates("phrases", TEST_PHRASES), *_predicates("verbs", TEST_PHRASES))
)
ACTIONS = _with_namesakes(_predicates("actions", TEST_ACTIONS))


@dataclass(frozen=True, slots=True)
class OwnedPart:
    """A part with the nouns that have it, and those that might."""

    english: str
    french: str
    gender: str
    fits: frozenset[str]
    possible: frozenset[str]
    in_training: bool


def _part(row: Row) -> OwnedPart:
    english, french, gender, owners, possible, _ = row
    nouns = row.read(fitting_nouns, owners, possible)
    return OwnedPart(english, french, gender, *nouns, english not in TEST_PARTS)


_PARTS = read_table(TABLES / "parts.txt")
PARTS = tuple(_part(row) for row in _PARTS["parts"])
ABSTRACT_PARTS = frozenset(row[0] for row in _PARTS["parts"] if row[5] == "abstract")
PART_STATES = read_pairs(TABLES / "parts.txt", "states")

_FORMS = {
    "~": ("simple", "progressive", "begun", "kept up", "for a time"),
    ">": ("simple", "done", "near", "future"),
    ">~": ("simple", "done", "progressive", "begun", "future"),
}
_WEIGHTS = {"~": (36, 28, 12, 6, 18), ">": (44, 30, 12, 14), ">~": (36, 24, 20, 12, 8)}
_TIMES = read_pairs(TABLES / "verbs.txt", "times")
_BEGUN = (("begin to", ""), ("start to", ""), ("start", "ing"))


def verb_form(rng: random.Random, texts: tuple[str, str], tense: str) -> tuple[str, str]:
    """A random form of a marked verb; the texts of a phrase without a mark as they are."""
    english, text = texts
    mark, _, infinitive = text.partition(" ")
    if mark not in _FORMS:
        return texts
    form = rng.choices(_FORMS[mark], _WEIGHTS[mark])[0]
    if form == "simple" and tense == "present" and mark == ">":
        form = "done"
    return formed(form, mark, (english, infinitive), rng)


def formed(form: str, mark: str, texts: tuple[str, str], rng: random.Random) -> tuple[str, str]:
    """One form of a verb, for `phrase_clause`.

    >>> formed("progressive", "~", ("bark", "aboyer"), random.Random(1))
    ('be barking', 'aboyer')
    >>> formed("done", ">", ("fall apart", "tomber en morceaux"), random.Random(1))
    ('have fallen apart', '>> tomber en morceaux')
    """
    english, infinitive = texts
    verb, _, rest = english.partition(" ")
    ing = f"{progressive(verb)} {rest}".rstrip()
    if form == "progressive":
        return f"be {ing}", infinitive
    if form == "begun":
        start, ending = rng.choice(_BEGUN)
        return f"{start} {ing if ending else english}", f"> commencer à {infinitive}"
    if form == "kept up":
        return f"keep {ing}", f"continuer à {infinitive}"
    if form == "done":
        return f"have {participle(verb)} {rest}".rstrip(), f">> {infinitive}"
    if form == "near":
        return f"be about to {english}", f"être sur le point de {infinitive}"
    if form == "future":
        return f"be going to {english}", f"aller {infinitive}"
    if form == "for a time" and not rest:
        time, french_time = rng.choice(_TIMES)
        return f"{english} {time}", f"> {infinitive} {french_time}"
    return english, infinitive if mark == "~" else f"> {infinitive}"
