"""Links of pronouns by selectional preference: what is said of a noun in real sentences.

Of 'The kettle was whistling' and a scene of the generator with a kettle and a goat comes 'The goat
sniffed the kettle, and it was whistling'. The other noun of the scene is of a class of which the
same is said rarely or never. Such sentences have no translation: they teach the head alone.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from anaphora.clauses import finished
from anaphora.events import GENERAL, Event
from anaphora.mentions import mention
from anaphora.nouns import (
    NOUNS,
    TABLES,
    TEST_ACTIONS,
    TEST_ADJECTIVES,
    TEST_NOUNS,
    TEST_PHRASES,
    TEST_VERBS,
    Noun,
)
from anaphora.scenes import event_subject, random_noun, rendered
from grammar import english
from judge.frames import OBJECT_VERBS, RESERVED_VERBS
from regard.text.words import split_words
from train.data import NO_TARGET, MarkedPair, WordLink
from word_tables import read_pairs, read_words

if TYPE_CHECKING:
    from train.made import TextRequest  # imports torch, which the judge does without

_SCENES = 4  # sentences made of a statement, each with a different second noun
_LONGEST = 14  # words of a real sentence
_ATTEMPTS = 12  # scenes drawn until one has a noun of which the same is not said
_LEAST_COUNT = 2  # of a key; below that nothing is known of it
_LEAST_LIFT, _OTHER_LIFT = 1.2, 0.25

_FUNCTION_WORDS = TABLES / "function_words.txt"
_DETERMINERS = read_words(_FUNCTION_WORDS, "determiners")
_AUXILIARIES = read_words(_FUNCTION_WORDS, "auxiliaries")
# After a noun that goes on; before a clause; after an object.
_IN_PHRASE = read_words(_FUNCTION_WORDS, "in a noun phrase")
_BEFORE_CLAUSE = read_words(_FUNCTION_WORDS, "before a clause")
_AFTER_OBJECT = read_words(_FUNCTION_WORDS, "after an object")
_PRONOUNS = read_words(_FUNCTION_WORDS, "pronouns")
_FIRST_WORDS = read_words(_FUNCTION_WORDS, "first words")
_NO_VERB = read_words(_FUNCTION_WORDS, "no verbs")
_CONNECTORS = (".", ".", ".", ", and", ", but", " because", " although", " when", ", so")
_GROUPS = dict(read_pairs(TABLES / "noun_classes.txt", "preference groups"))


@dataclass(frozen=True, slots=True)
class Statement:
    """A real clause about a noun: its words with the pronoun in the noun's place."""

    noun: Noun
    plural: bool
    words: tuple[str, ...]
    pronoun: int
    key: str


def pairs(request: TextRequest) -> list[MarkedPair]:
    """The sentences that a recipe asks for with `made = "anaphora.preferences:pairs"`."""
    return preference_pairs(request.sources(), request.seed)


def preference_pairs(sentences: Iterable[str], seed: int) -> list[MarkedPair]:
    """Different sentences with a link, of the clauses that tell their noun from others.

    Parameters
    ----------
    sentences : iterable of str
        Real sentences; one that comes again counts once.
    seed : int
        The same seed gives the same sentences.

    Examples
    --------
    >>> text = [f"The {x} was barking at me." for x in ("puppy", "dog", "wolf", "hound")]
    >>> made = preference_pairs([*text, "The key was in the box.", "I see the key."], seed=1)
    >>> {x.target for x in made}, {x.source.split()[-4] for x in made}
    ({'-'}, {'was'})
    """
    statements = [x for sentence in dict.fromkeys(sentences) for x in _statements(sentence)]
    preferences = _Preferences(statements)
    rng = random.Random(seed)
    pairs = (_pair(rng, x, preferences) for x in statements for _ in range(_SCENES))
    return list({x.source: x for x in pairs if x}.values())


def _statements(sentence: str) -> list[Statement]:
    """What a sentence says of the nouns of the generator; none where a word is reserved."""
    words = split_words(sentence)
    if not 4 <= len(words) <= _LONGEST or words[-1] not in (".", "!"):
        return []
    lower = [word.lower() for word in words[:-1]]
    if not _PRONOUNS.isdisjoint(lower) or is_reserved(lower) or any(x in ".?!,;:" for x in lower):
        return []
    return list(_clauses(words[:-1], lower))


def _clauses(words: Sequence[str], lower: Sequence[str]) -> Iterator[Statement]:
    """Statements of the nouns in a sentence, each with a pronoun in place of its noun phrase."""
    for start in (i for i, word in enumerate(lower) if word in _DETERMINERS):
        for end in (start + 1, start + 2):
            noun = _nouns().get(lower[end]) if end < len(lower) else None
            if noun is None:
                continue
            statement = _clause(words, lower, (start, end), noun)
            if statement:
                yield statement
            break


def _clause(
    words: Sequence[str], lower: Sequence[str], span: tuple[int, int], noun: tuple[Noun, bool]
) -> Statement | None:
    """The clause with the noun phrase at `span` replaced: as its subject, or after its verb."""
    start, end = span
    after = lower[end + 1] if end + 1 < len(lower) else "."
    if (noun[0].person and not noun[1]) or after in _IN_PHRASE or after in _nouns():
        return None
    before = words[start - 1] if start else "."
    subject = start == 0 or before in _BEFORE_CLAUSE
    named = start > 1 and before[0].isupper() and before != "I"  # Tom gave Mary the book.
    if named or subject != (after not in _AFTER_OBJECT):
        return None
    key = _subject_key(lower[end + 1 :]) if subject else _object_key(lower[:start])
    if not key:
        return None
    pronoun = ("they" if noun[1] else "it") if subject else "them" if noun[1] else "it"
    first = _uncapitalised(words[0], lower[0]) if start else pronoun
    replaced = (*words[:start], pronoun, *words[end + 1 :])
    return Statement(*noun, (first, *replaced[1:]), start, key)


def _subject_key(after: Sequence[str]) -> str:
    """'was not barking at me': barking."""
    word = next((x for x in after if x not in _AUXILIARIES), "")
    return f"s {word}" if word else ""


def _object_key(before: Sequence[str]) -> str:
    """'I have mended': mended; a preposition belongs to the word before it."""
    if before[-1] in _AUXILIARIES or before[-1] in _NO_VERB:
        return ""
    wide = before[-1] in _AFTER_OBJECT and len(before) > 1
    return f"o {' '.join(before[-2:])}" if wide else f"o {before[-1]}"


def _uncapitalised(word: str, lower: str) -> str:
    return lower if lower in _FIRST_WORDS else word


class _Preferences:
    """How much more often a key is said of a group of nouns than of any noun."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        self.keys = Counter(x.key for x in statements)
        self.groups = Counter(_group(x.noun) for x in statements)
        self.both = Counter((x.key, _group(x.noun)) for x in statements)

    def lift(self, key: str, noun: Noun) -> float:
        group = _group(noun)
        expected = self.keys[key] * self.groups[group] / self.groups.total()
        return self.both[key, group] / expected if expected else 0.0

    def tell(self, statement: Statement, other: Noun) -> bool:
        """Whether a statement is of its noun and not of the other."""
        return (
            self.keys[statement.key] >= _LEAST_COUNT
            and self.lift(statement.key, statement.noun) >= _LEAST_LIFT
            and self.lift(statement.key, other) <= _OTHER_LIFT
        )


def _pair(rng: random.Random, statement: Statement, preferences: _Preferences) -> MarkedPair | None:
    """The statement after a scene with its noun and another."""
    events = _noun_events(statement.noun.english)
    for _ in range(_ATTEMPTS if events else 0):
        event, is_first = rng.choice(events)
        names = event.second if is_first else event.first
        other = random_noun(rng, names, training=True, unlike=statement.noun)
        if other is None or _group(other) == _group(statement.noun):
            continue
        if (other.person and not statement.plural) or not preferences.tell(statement, other):
            continue
        return _joined(rng, statement, event, (other, is_first))
    return None


def _joined(
    rng: random.Random, statement: Statement, event: Event, other: tuple[Noun, bool]
) -> MarkedPair | None:
    noun, is_first = other
    own = mention(rng, statement.noun, statement.plural)
    second = mention(rng, noun, statement.plural)
    a, b = (own, second) if is_first else (second, own)
    subject = event_subject(rng, event, a)
    drawn = rendered(rng, event, subject, a, b)
    if drawn is None:
        return None
    mark, _, connector = rng.choice(_CONNECTORS).partition(" ")
    start = [*drawn.english, *([mark] if mark else []), *connector.split()]
    clause = list(statement.words)
    if mark == ".":
        clause[0] = clause[0][0].upper() + clause[0][1:]
    words = [start[0][0].upper() + start[0][1:], *start[1:], *clause, "."]
    text = finished(words)
    query = len(start) + statement.pronoun
    index = drawn.index(own)
    if split_words(text) != words:
        return None
    return MarkedPair(text, NO_TARGET, (WordLink(query, index, index),))


@cache
def _nouns() -> dict[str, tuple[Noun, bool]]:
    """Every noun of the generator by its forms, with whether that is the plural."""
    forms = {x.english_plural: (x, True) for x in NOUNS.values() if x.in_training}
    return forms | {x.english: (x, False) for x in NOUNS.values() if x.in_training}


@cache
def _group(noun: Noun) -> str:
    return next(
        (group for group, kinds in _GROUPS.items() if noun.kind in kinds.split()), noun.kind
    )


@cache
def _noun_events(noun: str) -> tuple[tuple[Event, bool], ...]:
    """Events of training with a noun as {a} (True) or as {b}."""
    training = [x for x in GENERAL if x.in_training]
    return (*((x, True) for x in training if noun in x.first),
            *((x, False) for x in training if noun in x.second))  # fmt: skip


def is_reserved(lower: Sequence[str]) -> bool:
    """Whether a sentence has a verb of the judge, or a word that is kept out of training."""
    single, several = _reserved_words()
    present = set(lower)
    if not single.isdisjoint(present):
        return True
    return any(phrase <= present for word in present for phrase in several.get(word, ()))


@cache
def _reserved_words() -> tuple[frozenset[str], dict[str, list[frozenset[str]]]]:
    single = {form for forms in RESERVED_VERBS.values() for form in forms}
    single |= {form for verb in OBJECT_VERBS for form in _forms(verb)}
    single |= set(TEST_NOUNS) | {english.plural(x) for x in TEST_NOUNS}
    several: dict[str, list[frozenset[str]]] = defaultdict(list)
    for text in (*TEST_ADJECTIVES, *TEST_PHRASES, *TEST_ACTIONS, *TEST_VERBS):
        words = [x for x in text.split() if x not in _AUXILIARIES and x != "be"]
        verbal = text in TEST_ACTIONS or text in TEST_VERBS or len(words) == 1
        forms = set(_forms(words[0])) if verbal else {words[0]}
        if len(words) == 1:
            single |= forms
        else:
            for form in forms:
                several[form].append(frozenset((form, *words[1:])))
    return frozenset(single), dict(several)


def _forms(verb: str) -> Iterator[str]:
    base = verb.removesuffix("ing") if verb.endswith("ing") and len(verb) > 5 else verb
    yield verb
    yield from (base, english.past(base), english.participle(base), english.progressive(base))
    yield english.present(base, False)
