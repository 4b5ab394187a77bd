"""Events between two nouns, in English and French.

Most events say nothing of what a later pronoun stands for. Relations do: they name the predicates
of either noun themselves, and near-synonyms are added.
"""

from __future__ import annotations

from dataclasses import dataclass

from anaphora.nouns import TABLES, TEST_ADJECTIVES, TEST_VERBS, members
from anaphora.predicates import ADJECTIVES
from word_tables import Row, TableError, read_pairs, read_table, read_words

Own = tuple[tuple[str, ...], tuple[str, ...]] | None
ENOUGH = " enough"


@dataclass(frozen=True, slots=True)
class Event:
    """A clause with two nouns; the subject is {a}, or a person where ``person_subject``.

    ``english`` and ``french`` begin with the verb. ``own`` are predicates of {a} and of {b} that
    belong to this event; without them every predicate that fits one noun alone will do.
    """

    english: tuple[str, ...]
    french: tuple[str, ...]
    first: frozenset[str]
    second: frozenset[str]
    option: str
    person_subject: bool
    in_training: bool
    own: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    @property
    def passive(self) -> bool:
        """Whether {b} can be the subject of a passive."""
        transitive = self.english[1:] == ("{b}",) and self.french[1:] == ("{b}",)
        return transitive and not self.person_subject and self.option in ("", "yes", "past")


def _event(row: Row, cells: tuple[str, ...], own: Own = None) -> Event:
    english, french, first, second, option = cells
    subject, *rest = english.split()
    verb, *french_rest = _with_verb(french)
    return Event(
        tuple(rest),
        (verb, *french_rest),
        row.read(members, first),
        row.read(members, second),
        option,
        subject == "S",
        rest[0] not in TEST_VERBS,
        own,
    )


def _with_verb(french: str) -> list[str]:
    words = french.split()
    return [f"se {words[1]}", *words[2:]] if words[0] == "se" else words


def _synonyms() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    graded: dict[str, list[str]] = {}
    absolute: dict[str, list[str]] = {}
    for word, synonym, _, degree in read_table(TABLES / "synonyms.txt")["synonyms"]:
        (absolute if degree == "absolute" else graded).setdefault(word, []).append(synonym)
    return graded, absolute


_GRADED, _ABSOLUTE = _synonyms()
# Before these goes no very, too or enough.
WITHOUT_DEGREES = frozenset(x for synonyms in _ABSOLUTE.values() for x in synonyms)


def with_synonyms(words: tuple[str, ...], degrees: bool) -> tuple[str, ...]:
    """Predicates and their near-synonyms, each once; ``degrees``: only those that take *enough*.

    >>> with_synonyms(("fat", "late"), degrees=True)
    ('fat', 'plump', 'chubby', 'late')
    """
    more: dict[str, None] = {}
    for word in words:
        others = _GRADED.get(word, []) + ([] if degrees else _ABSOLUTE.get(word, []))
        more |= dict.fromkeys((word, *others))
    return tuple(more)


def _own(row: Row) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The predicates of {a} and of {b} with their near-synonyms; none is of both."""
    first, second = (tuple(side.split(", ")) for side in row[-2:])
    wide, other = (_wide(side, degrees=row[-3] == "can") for side in (first, second))
    return (
        tuple(x for x in wide if x in first or x not in other),
        tuple(x for x in other if x in second or x not in wide),
    )


def _wide(side: tuple[str, ...], degrees: bool) -> tuple[str, ...]:
    """Predicates with near-synonyms; those of 'big enough' are followed by enough too."""
    wide: dict[str, None] = {}
    for predicate in side:
        word = predicate.removesuffix(ENOUGH)
        ending = predicate.removeprefix(word)
        others = with_synonyms((word,), degrees=degrees or bool(ending))
        wide |= dict.fromkeys(other + ending for other in others)
    return tuple(wide)


def _person_relation(row: Row) -> Event:
    english, french, option, *_ = row
    return _event(row, (english, french, "people", "people", option), _own(row))


_TABLE = read_table(TABLES / "relations.txt")
GENERAL = tuple(_event(row, row) for row in read_table(TABLES / "events.txt")["events"])
RELATIONS = tuple(_event(row, row[:5], _own(row)) for row in _TABLE["relations"])
PEOPLE = tuple(_person_relation(row) for row in _TABLE["people"])


def _named() -> dict[str, str]:
    known = {x.english: x.french for x in ADJECTIVES}
    known |= {row[1]: row[2] for row in read_table(TABLES / "synonyms.txt")["synonyms"]}
    known |= dict(read_pairs(_PREDICATES, "predicates"))
    named = {x for event in (*RELATIONS, *PEOPLE) for side in event.own or () for x in side}
    return {english: _french(english, known) for english in sorted(named)}


def _french(english: str, known: dict[str, str]) -> str:
    """The French of a predicate; of 'big enough' it is that of big after assez."""
    if not english.endswith(ENOUGH):
        return _looked_up(english, known)
    text = _looked_up(english.removesuffix(ENOUGH), known)
    agrees = "*" not in text and not text.startswith("!")
    return f"assez {text}*" if agrees else f"assez {text.removeprefix('!')}"


def _looked_up(english: str, known: dict[str, str]) -> str:
    if english not in known:
        raise TableError(
            f"relations.txt names {english!r}, whose French must stand in predicates.txt, "
            "adjectives.txt or synonyms.txt."
        )
    return known[english]


def relative_in_training(english: str) -> bool:
    """Whether a predicate of the relations belongs to the training split."""
    return english not in TEST_ADJECTIVES


_PREDICATES = TABLES / "predicates.txt"
# The predicates that the relations name, with their French; > and ~ begin a verb phrase.
RELATIVE_ADJECTIVES = _named()
NO_DEGREE_BEFORE = WITHOUT_DEGREES | read_words(_PREDICATES, "without degree")
MEASURES = read_words(_PREDICATES, "measures")


def _opposites() -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for one, other in read_pairs(_PREDICATES, "opposites"):
        table[one] = (*table.get(one, ()), other)
        table[other] = (*table.get(other, ()), one)
    return table


# Of what is one side's reason the opposite goes after although.
OPPOSITES = _opposites()
