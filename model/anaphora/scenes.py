"""Scenes: an event with its nouns as mentioned, in English and French."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from anaphora.events import GENERAL, PEOPLE, RELATIONS, Event
from anaphora.mentions import (
    MODES,
    NAMES,
    OF_ANIMATES,
    OF_FAILURES,
    OF_SPEAKERS,
    OF_STATES,
    OF_THINGS,
    SPEAKER,
    SPEAKERS,
    Mention,
    Mode,
    Speaker,
    Subject,
    definite,
    english_group,
    french_group,
    key,
    mention,
    name,
)
from anaphora.nouns import NOUNS, TABLES, Noun, members
from grammar import english, french
from word_tables import read_pairs, read_table, read_words


@dataclass(frozen=True, slots=True)
class Split:
    """Which frames and words a sentence may use: those of training, or those kept out of it."""

    frames: bool
    words: bool


@dataclass(frozen=True, slots=True)
class Scene:
    """A rendered event: English words, the index of each noun among them, French text, tense."""

    event: Event
    first: Mention
    second: Mention
    others: tuple[Mention, ...]
    english: list[str]
    french: str
    heads: dict[str, int]
    tense: str

    @property
    def mentions(self) -> tuple[Mention, ...]:
        """All nouns of the scene."""
        return self.first, self.second, *self.others

    def index(self, item: Mention) -> int:
        """The index of a noun's head among the English words."""
        return self.heads[item.head]


_HAPPENING = {"past": 60, "had": 10, "has": 10, "present": 8, "progressive": 12}
_WEIGHTS = {
    "not": OF_FAILURES,
    "unable": {"could not": 40, "cannot": 25, "present not": 15, "state not": 20},
    "can": {"past": 40, "could": 30, "can": 20, "present": 10},
    "until": {"past": 100},
    "cannot": {"could not": 60, "cannot": 40},
    "state": OF_STATES,
    "yes": _HAPPENING,
    "past": {"past": 75, "had": 12, "has": 13},
    "vain": {"past": 65, "had": 10, "has": 10, "progressive": 15},
    "rest": {"state": 65, "present": 35},
    "result": {"past": 70, "had": 12, "has": 18},
    "more": {"state": 60, "present": 40},
}
_OPENERS = {
    tense: tuple(row[:2] for row in read_table(TABLES / "events.txt")["openers"] if row[2] == tense)
    for tense in ("past", "present", "any")
}
_ADJUNCTS = read_pairs(TABLES / "events.txt", "adjuncts")
_CONTRACTIONS = {("did", "not"): "didn't", ("was", "not"): "wasn't", ("were", "not"): "weren't",
                 ("could", "not"): "couldn't", ("does", "not"): "doesn't", ("is", "not"): "isn't",
                 ("do", "not"): "don't", ("are", "not"): "aren't"}  # fmt: skip
_SITES = members("building land waters")
_PREPOSITIONS = {"near", "behind", "front", "beside", "next", "along", "to", "over"}


@cache
def events(training: bool) -> tuple[tuple[Event, ...], ...]:
    """The general, relational and people's events of a split; no verb is in both splits."""
    tables = (GENERAL, RELATIONS, PEOPLE)
    return tuple(tuple(x for x in table if x.in_training == training) for table in tables)


@cache
def _pool(names: frozenset[str], training: bool) -> dict[str, tuple[Noun, ...]]:
    nouns = [NOUNS[x] for x in sorted(names) if NOUNS[x].in_training == training]
    return {
        gender: group for gender in "mf" if (group := tuple(x for x in nouns if x.gender == gender))
    }


def random_noun(
    rng: random.Random, names: frozenset[str], training: bool, unlike: Noun | None = None
) -> Noun | None:
    """A random noun, masculine as often as feminine, None where it would be ``unlike`` again."""
    pool = _pool(names, training)
    if not pool:
        return None
    genders = tuple(pool)
    gender = genders[0] if len(genders) == 1 else rng.choice(genders)
    noun = rng.choice(pool[gender])
    return None if unlike is not None and noun.english == unlike.english else noun


def scene(rng: random.Random, split: Split) -> Scene | None:
    """A random scene of a split, None where the random choices do not go together."""
    table = rng.choices(events(split.frames), (52, 34, 14))[0]
    event = rng.choice(table)
    first = random_noun(rng, event.first, split.words)
    second = random_noun(rng, _second_names(rng, event, first), split.words, unlike=first)
    if first is None or second is None:
        return None
    draw = rng.random()
    plurals = (draw > 0.68 and draw < 0.95, draw > 0.73)
    if first.person != second.person and draw > 0.3:  # they may be either, he and it may not
        plurals = (True, True)
    free, formal = event.own is None, rng.random() < 0.5
    a = mention(rng, first, plurals[0], modifiers=free, formal=formal)
    b = mention(rng, second, plurals[1], modifiers=free, formal=formal)
    return rendered(rng, event, event_subject(rng, event, a, split.words, formal), a, b)


def _second_names(rng: random.Random, event: Event, first: Noun | None) -> frozenset[str]:
    """The nouns of {b}; with a person mostly those of the same sex, so that he may be either."""
    if first is None or not first.person or rng.random() < 0.3:
        return event.second
    return event.second & members(first.kind) or event.second


def event_subject(
    rng: random.Random, event: Event, a: Mention, training: bool = True, formal: bool = True
) -> Subject:
    """The subject of an event: its {a}, or a person."""
    return _person(rng, training, formal) if event.person_subject else a


def _person(rng: random.Random, training: bool, formal: bool) -> Subject:
    draw = rng.random()
    if draw < 0.2:
        return SPEAKER if draw < 0.12 else SPEAKERS
    if draw < 0.55:
        return name(rng.choice(tuple(NAMES)))
    noun = random_noun(rng, members("people"), training)
    return mention(rng, noun, rng.random() < 0.15, formal=formal) if noun else SPEAKER


def _mode(rng: random.Random, event: Event, subject: Subject) -> Mode:
    weights = _WEIGHTS.get(event.option)
    if isinstance(subject, Speaker):
        usual = OF_SPEAKERS if weights is None else weights
        weights = {x: n for x, n in usual.items() if x in OF_SPEAKERS or x in _OF_SPEAKERS}
    elif weights is None:
        animate = key(subject) in _ANIMATE
        weights = OF_ANIMATES if animate else OF_THINGS
    if event.option in FAILURES and (isinstance(subject, Speaker) or key(subject) in _ANIMATE):
        weights = {**weights, **_ATTEMPTS}
    name_of_mode = rng.choices(tuple(weights), tuple(weights.values()))[0]
    if event.english[0] in _NO_PROGRESSIVE:
        name_of_mode = {"progressive": "past", "is": "present"}.get(name_of_mode, name_of_mode)
    return MODES[name_of_mode]


FAILURES = frozenset(("not", "unable", "cannot"))
IN_VAIN = frozenset(("vain", "rest"))  # 'ran after ..., but it was too fast'
_ATTEMPTS = {"tried": 20, "wanted": 20}  # 'tried to ..., but it was too big'
_OF_SPEAKERS = ("cannot", "could", "can", "state", "state not")
_ANIMATE = members("animate")
_NO_PROGRESSIVE = read_words(TABLES / "verbs.txt", "without progressive")


def rendered(
    rng: random.Random, event: Event, subject: Subject, a: Mention, b: Mention
) -> Scene | None:
    """An event with its nouns in a random tense and mode; None where a noun stands twice."""
    mode = _mode(rng, event, subject)
    if mode.negative:
        b = definite(b)
        a = definite(a) if event.person_subject else a
    others = [subject] if isinstance(subject, Mention) and subject is not a else []
    adjunct = None
    alone = event.own is None and not _PREPOSITIONS & set(event.english)
    if alone and event.option != "state" and rng.random() < 0.15:
        site = random_noun(rng, _SITES, True)
        adjunct = Mention(site) if site else None
        others += [adjunct] if adjunct else []
    heads = [x.head for x in (a, b, *others)]
    if len(set(heads)) < len(heads):
        return None
    if event.passive and mode is MODES["past"] and rng.random() < 0.35:
        words, text = passive_clause(event, a, b)
    else:
        words, text = active_clause(event, subject, {"a": a, "b": b}, mode)
    words, text = _surrounded(rng, words, text, adjunct, mode.tense)
    words = contracted(rng, words)
    positions = {head: words.index(head) for head in heads}
    return Scene(event, a, b, tuple(others), words, text, positions, mode.tense)


def active_clause(
    event: Event, subject: Subject, nouns: dict[str, Mention], mode: Mode
) -> tuple[list[str], str]:
    """The event in English words and in French, not yet elided."""
    verb, *rest = event.english
    words = [*subject.english, *english_group(mode, verb, subject.plural)]
    past = mode.tense == "past"
    for word in rest:
        if word in ("{a}", "{b}"):
            words += nouns[word[1]].english
        elif word == "{a.be}":
            words.append(english.finite("be", mode.tense, nouns["a"].plural))
        else:
            words.append(word)
    gender, person = subject.features
    french_words = [subject.french, french_group(mode, event.french[0], subject.features)]
    for word in event.french[1:]:
        if word in ("{a}", "{b}"):
            french_words.append(nouns[word[1]].french)
        elif word == "{a.etre}":
            tense = "imperfect" if past else "present"
            french_words.append(french.finite("être", tense, nouns["a"].features[1]))
        elif word.endswith("*"):
            french_words.append(french.agreed(word[:-1], gender, person[1]))
        else:
            french_words.append(word)
    return words, " ".join(french_words)


def passive_clause(event: Event, a: Mention, b: Mention) -> tuple[list[str], str]:
    """The event told of {b}: 'the table was pushed by the dog'."""
    be = "were" if b.plural else "was"
    words = [*b.english, be, english.participle(event.english[0]), "by", *a.english]
    gender, person = b.features
    past = french.agreed(french.participle(event.french[0]), gender, person[1])
    auxiliary = french.conjugated("avoir", "present", person)
    return words, f"{b.french} {auxiliary} été {past} par {a.french}"


def _surrounded(
    rng: random.Random, words: list[str], text: str, adjunct: Mention | None, tense: str
) -> tuple[list[str], str]:
    if adjunct is not None:
        before, french_before = rng.choice(_ADJUNCTS)
        words = [*words, *before.split(), *adjunct.english]
        text = f"{text} {french_before} {adjunct.french}"
    if rng.random() < 0.12:
        opener, french_opener = rng.choice(_OPENERS[tense] + _OPENERS["any"])
        if not (words[0] in ("I", "we", "Tom") and opener.endswith("that")):
            words = [*opener.split(), *words]
            text = f"{french_opener} {text}"
    return words, text


def contracted(rng: random.Random, words: Iterable[str]) -> list[str]:
    """English words, half the time with the negation contracted: did not, didn't."""
    words = list(words)
    if rng.random() < 0.5:
        return words
    for i in range(len(words) - 1):
        pair = words[i], words[i + 1]
        if pair in _CONTRACTIONS:
            return [*words[:i], _CONTRACTIONS[pair], *words[i + 2 :]]
    return [{"cannot": "can't"}.get(word, word) for word in words]
