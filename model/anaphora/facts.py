"""Links of pronouns by common knowledge: what is typical of a noun, said of a pronoun.

`tables/facts.txt` has clauses about everyday nouns (*it had a flat tyre*). Each follows a sentence
with that noun and another, of real text (*Tom left his bicycle behind the church*) or of a short
pattern, and again with a clause about the other noun. `tables/people.txt` has the same for persons:
reasons for what one did to another, and what is typical of a trade. These sentences have no
translation: they teach the head alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from anaphora.clauses import finished
from anaphora.nouns import TABLES
from anaphora.preferences import is_reserved
from anaphora.scenes import Split
from anaphora.scenes import scene as event_scene
from grammar import english
from regard.text.words import split_words
from train.data import NO_TARGET, MarkedPair, WordLink
from word_tables import read_pairs, read_table, read_words

if TYPE_CHECKING:
    from train.made import TextRequest  # imports torch, which the judge does without

_FACTS, _PEOPLE = TABLES / "facts.txt", TABLES / "people.txt"
_LONGEST = 16  # words of a real sentence
_OF_SCENE = 4  # pairs made of a real sentence
_OF_PATTERNS = 80_000  # pairs made of patterns, of events, and of persons
_PLURALS = 0.3  # share of the patterns with two plurals
_DETERMINERS = read_words(TABLES / "function_words.txt", "determiners")
_AFTER_PHRASE = frozenset((*read_words(TABLES / "function_words.txt", "auxiliaries"), *".,"))
_AFTER_PHRASE |= read_words(TABLES / "function_words.txt", "after an object")
_CONNECTORS = (".", ".", ".", " because", " because", ", and", ", but", ", so", " although",
               " when", " since", " until", ", even though", ", and later", ", but then",
               ";")  # fmt: skip
_FORMS = {"it": "them", "its": "their", "was": "were", "wasn't": "weren't", "itself": "themselves"}


@dataclass(frozen=True, slots=True)
class Scene:
    """The words of a sentence without its full stop, and where its two nouns stand."""

    words: tuple[str, ...]
    at: tuple[int, int]
    nouns: tuple[str, str]
    plural: bool


def pairs(request: TextRequest) -> list[MarkedPair]:
    """The sentences that a recipe asks for with `made = "anaphora.facts:pairs"`."""
    return fact_pairs(request.sources(), request.seed, _OF_PATTERNS)


def fact_pairs(sentences: Iterable[str], seed: int, patterns: int) -> list[MarkedPair]:
    """Different sentences with a link, in pairs that differ in their last clause.

    Parameters
    ----------
    sentences : iterable of str
        Real sentences; those with two nouns of the table are used.
    seed : int
        The same seed gives the same sentences.
    patterns : int
        How many pairs are made of patterns, of the generator's events, and of persons.

    Examples
    --------
    >>> made = fact_pairs(["Tom put the kettle on the table."], seed=1, patterns=0)
    >>> {x.source.split(" table")[0] for x in made}, {x.target for x in made}
    ({'Tom put the kettle on the'}, {'-'})
    """
    rng = random.Random(seed)
    scenes = [x for text in dict.fromkeys(sentences) if (x := _real_scene(text))]
    made = [_contrast(rng, x) for x in scenes for _ in range(_OF_SCENE)]
    made += [_contrast(rng, x) for _ in range(patterns) for x in (_pattern(rng), _event(rng))]
    made += [_people(rng) for _ in range(patterns)]
    return list({x.source: x for both in made for x in both}.values())


@cache
def _facts() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Class and clauses of every noun; clauses with a word kept out of training are left out."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for noun, kind, text in read_table(_FACTS)["facts"]:
        clauses = tuple(x for x in without_reserved(text) if _pronoun(x.split()) is not None)
        if clauses and not is_reserved([noun]):
            found[noun] = kind, clauses
    return found


@cache
def _forms() -> dict[str, tuple[str, bool]]:
    """Every noun of the table by its forms, with whether that is the plural."""
    nouns = _facts()
    return {english.plural(x): (x, True) for x in nouns} | {x: (x, False) for x in nouns}


def without_reserved(text: str) -> list[str]:
    """The parts of a cell between semicolons that have no word kept out of training."""
    parts = [x.strip() for x in text.split(";")]
    return [x for x in parts if x and not is_reserved(x.split())]


def _pronoun(words: Sequence[str]) -> int | None:
    """Where the pronoun of a clause stands: *it*, or *its* where there is no *it*."""
    return next((words.index(x) for x in ("it", "its") if x in words), None)


def _real_scene(sentence: str) -> Scene | None:
    """A sentence with two nouns of the table, both singular or both plural, if it is one."""
    words = split_words(sentence)
    lower = [word.lower() for word in words]
    if not 5 <= len(words) <= _LONGEST or words[-1] != ".":
        return None
    at = [i for i, word in enumerate(lower) if word in _forms()]
    if len(at) != 2 or any(x in '.?!,;:"' for x in lower[:-1]) or is_reserved(lower):
        return None
    (first, plural), (second, also) = (_forms()[lower[i]] for i in at)
    if first == second or plural != also or not all(_ends_phrase(lower, i) for i in at):
        return None
    if {"it", "its"} & set(lower) or (plural and {"they", "their", "them"} & set(lower)):
        return None
    return Scene(tuple(words[:-1]), (at[0], at[1]), (first, second), plural)


def _ends_phrase(lower: Sequence[str], at: int) -> bool:
    """Whether a noun has a determiner of its own before it, and none of its phrase after it."""
    near = lower[at - 1] in _DETERMINERS if at else False
    further = at > 1 and lower[at - 2] in _DETERMINERS and lower[at - 1] not in _forms()
    return (near or further) and lower[at + 1] in _AFTER_PHRASE


def _event(rng: random.Random) -> Scene:
    """An event of the generator with two nouns of the table, both singular or both plural."""
    while True:
        drawn = event_scene(rng, Split(frames=True, words=True))
        if drawn is None or drawn.first.plural != drawn.second.plural:
            continue
        nouns = drawn.first.noun.english, drawn.second.noun.english
        if all(x in _facts() for x in nouns) and "it" not in drawn.english:
            at = drawn.index(drawn.first), drawn.index(drawn.second)
            return Scene(tuple(drawn.english), at, nouns, drawn.first.plural)


def _pattern(rng: random.Random) -> Scene:
    """A pattern with two random nouns, of different classes four times in five."""
    nouns = _facts()
    first, second = rng.sample(_names(), 2)
    while nouns[first][0] == nouns[second][0] and rng.random() < 0.8:
        first, second = rng.sample(_names(), 2)
    plural = rng.random() < _PLURALS
    words: list[str] = []
    at: list[int] = []
    pattern = rng.choice(_patterns())
    if plural and pattern[0] in ("{a}", "There"):
        pattern = tuple(_FORMS.get(x, x) for x in pattern)
    for word in pattern:
        if word in ("{a}", "{b}"):
            words += _phrase(rng, first if word == "{a}" else second, plural)
            at.append(len(words) - 1)
        else:
            words.append(word)
    return Scene(tuple(words), (at[0], at[1]), (first, second), plural)


@cache
def _names() -> tuple[str, ...]:
    return tuple(_facts())


@cache
def _patterns() -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(row[0].split()) for row in read_table(_FACTS)["patterns"])


def _phrase(rng: random.Random, noun: str, plural: bool) -> list[str]:
    """A noun with its determiner."""
    if plural:
        return [
            rng.choice(("the", "the", "the", "some", "our", "his", "two")),
            english.plural(noun),
        ]
    determiner = rng.choice(("the", "the", "the", "the", "a", "a", "my", "her", "our", "this"))
    return [english.article(noun) if determiner == "a" else determiner, noun]


def _contrast(rng: random.Random, scene: Scene) -> list[MarkedPair]:
    """The scene twice: with a clause about its first noun, and with one about its second."""
    nouns = _facts()
    kinds = [nouns[x] for x in scene.nouns]
    clauses = [_telling(rng, kinds[i], kinds[1 - i]) for i in (0, 1)]
    if None in clauses:
        return []
    connector = rng.choice(_CONNECTORS)
    made = []
    for at, clause in zip(scene.at, clauses, strict=True):
        words = (clause or "").split()
        query = _pronoun(words) or 0
        if scene.plural:
            words = [
                "they" if i == query == 0 and x == "it" else _FORMS.get(x, x)
                for i, x in enumerate(words)
            ]
        made += joined(scene.words, connector, words, query, at)
    return made if len(made) == 2 else []


Kind = tuple[str, tuple[str, ...]]


def _telling(rng: random.Random, own: Kind, other: Kind) -> str | None:
    """A clause about one noun that shares no telling word with what is said of the other."""
    said = _content(other[1])
    for clause in rng.sample(own[1], len(own[1])):
        if said.isdisjoint(_content((clause,))):
            return clause
    return None


@cache
def _content(clauses: tuple[str, ...]) -> frozenset[str]:
    """Words of five letters or more."""
    return frozenset(x for clause in clauses for x in clause.split() if len(x) > 4)


def joined(
    scene: Sequence[str], connector: str, clause: list[str], query: int, at: int
) -> list[MarkedPair]:
    """A scene and a clause as one sentence with a link, if its words can be told apart again.

    The pronoun is word `query` of the clause, the noun it stands for word `at` of the scene.
    """
    mark, _, more = connector.partition(" ")
    start = [*scene, *([mark] if mark else []), *more.split()]
    clause = [clause[0].capitalize(), *clause[1:]] if mark == "." else clause
    words = [start[0][0].upper() + start[0][1:], *start[1:], *clause, "."]
    text = finished(words)
    if split_words(text) != words:
        return []
    return [MarkedPair(text, NO_TARGET, (WordLink(len(start) + query, at, at),))]


@dataclass(frozen=True, slots=True)
class Deed:
    """What one person did to another, with reasons that lie in the one and in the other."""

    words: tuple[str, ...]
    reasons: tuple[tuple[str, ...], tuple[str, ...]]


@cache
def _deeds() -> tuple[Deed, ...]:
    rows = read_table(_PEOPLE)["deeds"]
    deeds = (
        Deed(tuple(x[0].split()), (tuple(without_reserved(x[1])), tuple(without_reserved(x[2]))))
        for x in rows
    )
    return tuple(x for x in deeds if all(x.reasons) and not is_reserved(x.words))


@cache
def _trades() -> dict[str, tuple[str, ...]]:
    rows = read_pairs(_PEOPLE, "trades")
    return {
        x: said
        for x, text in rows
        if (said := tuple(without_reserved(text))) and not is_reserved([x])
    }


@cache
def _persons(kind: str) -> tuple[str, ...]:
    return tuple(row[0] for row in read_table(_PEOPLE)[kind])


def _people(rng: random.Random) -> list[MarkedPair]:
    """A sentence about two persons or groups twice, with a reason in either."""
    pronoun = rng.choice(("he", "she", "they"))
    if rng.random() < 0.3:
        first, second = rng.sample(tuple(_trades()), 2)
        deed = rng.choice(_deeds()).words
        reasons = _trades()[first], _trades()[second]
    else:
        drawn = rng.choice(_deeds())
        deed, reasons = drawn.words, drawn.reasons
        first, second = _two_persons(rng, pronoun)
    words: list[str] = []
    at = {}
    for word in deed:
        if word in ("{a}", "{b}"):
            words += _person(rng, first if word == "{a}" else second, pronoun == "they")
            at[word] = len(words) - 1
        else:
            words.append(word)
    connector = rng.choice((" because", " because", " because", " since", ".", ", and", ", but"))
    made: list[MarkedPair] = []
    for name, texts in zip(("{a}", "{b}"), reasons, strict=True):
        clause = [pronoun, *(_agreed(x, pronoun) for x in rng.choice(texts).split())]
        made += joined(words, connector, clause, 0, at[name])
    return made if len(made) == 2 else []


def _two_persons(rng: random.Random, pronoun: str) -> list[str]:
    if pronoun == "they":
        return rng.sample((*_persons("men"), *_persons("women"), *_trades()), 2)
    kind = "men" if pronoun == "he" else "women"
    named = rng.random() < 0.4
    names = f"names of {kind}"
    first, second = rng.sample(_persons(names if named else kind), 2)
    if rng.random() < 0.25:
        second = rng.choice(tuple(_trades()))
    return [first, second]


def _person(rng: random.Random, noun: str, plural: bool) -> list[str]:
    if noun[0].isupper():
        return [noun]
    if plural:
        return ["the", english.plural(noun)]
    return [rng.choice(("the", "the", "the", "my", english.article(noun))), noun]


_PRONOUN_FORMS = {
    "he": {"X": "he", "X's": "his"},
    "she": {"X": "she", "X's": "her"},
    "they": {"X": "they", "X's": "their", "was": "were", "wasn't": "weren't"},
}


def _agreed(word: str, pronoun: str) -> str:
    return _PRONOUN_FORMS[pronoun].get(word, word)
