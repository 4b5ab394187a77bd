"""Clauses of the anaphora text in which the pronoun is the object of a verb, or its passive."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from regard.transformer.train import french_grammar as french
from regard.transformer.train.anaphora.clauses import Clause, Connector
from regard.transformer.train.anaphora.mentions import (
    MODES,
    NAMES,
    SPEAKER,
    SPEAKERS,
    Mention,
    Mode,
    Speaker,
    Subject,
    english_group,
    name,
)
from regard.transformer.train.anaphora.nouns import Noun
from regard.transformer.train.anaphora.predicates import Predicate

SOMEONE = Speaker("someone", "quelqu'un", ("m", "3s"))
ANYONE = Speaker("anyone", "quelqu'un", ("m", "3s"))
EVERYONE = Speaker("everyone", "tout le monde", ("m", "3s"))
NOBODY = Speaker("nobody", "personne", ("m", "3s"))
# A subjunctive follows although, before and until; its past is a form of its own.
OBJECT_MODES = MODES | {
    "decided": Mode("decided to V", "décider:compound de V"),
    "agreed": Mode("agreed to V", "accepter:compound de V"),
    "managed": Mode("managed to V", "réussir:compound à V"),
    "offered": Mode("offered to V", "proposer:compound de V"),
    "promised": Mode("promised to V", "promettre:compound de V"),
    "began": Mode("began to V", "commencer:compound à V"),
    "hoped": Mode("hoped to V", "espérer:imperfect V"),
    "needed": Mode("needed to V", "devoir:imperfect V"),
    "was going": Mode("was going to V", "aller:imperfect V"),
    "was about": Mode("was about to V", "être:imperfect sur le point de V"),
    "did not want": Mode("did not want to V", "ne vouloir:imperfect pas V"),
    "did not dare": Mode("did not dare to V", "ne oser:imperfect pas V"),
    "had tried": Mode("had tried to V", "essayer:pluperfect de V"),
    "had promised": Mode("had promised to V", "promettre:pluperfect de V"),
    "has to": Mode("S:have to V", "devoir:present V", "present"),
    "is about": Mode("is about to V", "être:present sur le point de V", "present"),
    "could, subjunctive": Mode("could V", "pouvoir:subjunctive V"),
    "past, subjunctive": Mode("D", "perfect-subjunctive"),
    "had, subjunctive": Mode("had P", "perfect-subjunctive"),
    "had promised, subjunctive": Mode("had promised to V", "promettre:perfect-subjunctive de V"),
    "had tried, subjunctive": Mode("had tried to V", "essayer:perfect-subjunctive de V"),
}
# connector: modes after a past event; after a present one
_PAST = {
    "because": "had, had, wanted, needed, hoped, was going, had promised, had tried, was about",
    "so": "past, past, had to, decided, agreed, offered, began, tried, managed, promised",
    "but": "past not, could not, did not want, refused, managed, did not dare, never, had just",
    "and": "wanted, past, had to, tried, decided, was going",
    "then": "past, past, decided, had to, managed, began",
    "now": "wants, going, has to, is about",
    "although": "had, had promised, had tried",
    "before": "could",
    "until": "past",
    "when": "past",
}
_PRESENT = {
    "because": "has, wants, has just, has to, is about",
    "so": "going, has to, wants",
    "but": "cannot, going, has just",
}
_PASSIVE_MODES = {
    "was": Mode("was P", "être:compound P"),
    "had been": Mode("had been P", "être:pluperfect P"),
    "had to be": Mode("had to be P", "devoir:compound être P"),
    "needed to be": Mode("needed to be P", "devoir:imperfect être P"),
    "could not be": Mode("could not be P", "ne pouvoir:imperfect pas être P"),
    "was going to be": Mode("was going to be P", "aller:imperfect être P"),
    "was not": Mode("was not P", "ne être:compound pas P"),
    "has just been": Mode("has just been P", "venir:present de être P", "present"),
    "has to be": Mode("S:have to be P", "devoir:present être P", "present"),
    "cannot be": Mode("cannot be P", "ne pouvoir:present pas être P", "present"),
    "is going to be": Mode("is going to be P", "aller:present être P", "present"),
    "was, subjunctive": Mode("was P", "être:subjunctive P"),
    "had been, subjunctive": Mode("had been P", "être:perfect-subjunctive P"),
}
_PASSIVE_PAST = {
    "because": "had been, had to be, needed to be, could not be, was going to be",
    "so": "was, had to be, could not be",
    "but": "could not be, was not, had to be",
    "then": "was, was, had to be",
    "now": "has to be, is going to be",
    "although": "had been",
    "before": "was",
    "until": "was",
}
_PASSIVE_PRESENT = {
    "because": "has just been, has to be, cannot be, is going to be",
    "so": "has to be, is going to be",
    "but": "cannot be, has just been",
}
_CONNECTORS = {
    kind: tuple(
        Connector(english, french)
        for english, _, french in (item.partition(" = ") for item in items.split("; "))
    )
    for kind, items in {
        "because": "because = parce que; because = parce que; since = puisque; because = car",
        "so": ", so = , donc; . = .; so = alors; , so in the end = , alors finalement; "
        ". That is why = . C'est pourquoi; , and so = , et donc",
        "but": "but = mais; , but = , mais; , but unfortunately = , mais malheureusement",
        "and": "and = et; . = .",
        "then": "and then = et puis; . Then = . Puis; , and later = , et plus tard; "
        ". The next day , = . Le lendemain ,; . A few days later , = . Quelques jours plus tard ,",
        "now": ", and now = , et maintenant; . = .; , so now = , alors maintenant",
        "although": "although = bien que",
        "before": "before = avant que",
        "until": "until = jusqu'à ce que",
        "when": "when = quand; as soon as = dès que",
    }.items()
}
_SUBJUNCTIVE = frozenset(("although", "before", "until"))
_OF_NOBODY = frozenset(("had", "past", "wanted", "tried", "has", "wants"))
_COMPOUND = {"compound": "present", "pluperfect": "imperfect", "perfect-subjunctive": "subjunctive"}
_FIRST_PERSON = {"were": "was", "are": "am"}


@dataclass(frozen=True, slots=True)
class Deed:
    """Subject, mode and connector of a clause whose object is the pronoun."""

    subject: Subject
    mode: str
    connector: Connector


def deed(
    rng: random.Random,
    tense: str,
    speakers_only: bool,
    people: Sequence[Noun],
    without: frozenset[str] = frozenset(),
) -> Deed:
    """A random subject and mode for a verb with a pronoun as its object.

    ``without`` are the kinds of connectors that do not go with the event.
    """
    kind, mode = _drawn(rng, _PAST if tense == "past" else _PRESENT, without)
    subjects: list[Subject] = [SPEAKER, SPEAKERS]
    if not OBJECT_MODES[mode].negative:
        subjects.append(SOMEONE)
    if kind == "before":
        subjects += [ANYONE, ANYONE]
    elif mode in _OF_NOBODY and kind not in _SUBJUNCTIVE and kind not in ("then", "when"):
        subjects += [NOBODY, EVERYONE]
    if not speakers_only:
        subjects += [name(rng.choice(tuple(NAMES))), name(rng.choice(tuple(NAMES)))]
        subjects += [Mention(rng.choice(people)), Mention(rng.choice(people))]
    return Deed(rng.choice(subjects), mode, rng.choice(_CONNECTORS[kind]))


def _drawn(rng: random.Random, table: dict[str, str], without: frozenset[str]) -> tuple[str, str]:
    """A kind of connector and a mode that goes with it."""
    kind = rng.choice([x for x in table if x not in without])
    mode = rng.choice(table[kind].split(", "))
    return kind, f"{mode}, subjunctive" if kind in _SUBJUNCTIVE else mode


def action_clause(item: Mention, action: Predicate, done: Deed) -> Clause:
    """'Tom had repaired it': the French object stands before its verb, a participle agrees."""
    verb, *particle = action.english.split()
    subject, mode = done.subject, OBJECT_MODES[done.mode]
    words = [*subject.english, *english_group(mode, verb, subject.plural or subject is SPEAKER)]
    if subject is SPEAKER:
        words = [_FIRST_PERSON.get(x, x) for x in words]
    pronoun = len(words)
    words += [item.pronouns[1], *particle]
    group = _with_object(mode.french, action.french, subject.features, item)
    negation = "ne " if subject is NOBODY else ""
    return Clause(words, pronoun, f"{subject.french} {negation}{group}")


def passive(
    rng: random.Random, tense: str, without: frozenset[str] = frozenset()
) -> tuple[str, Connector]:
    """A random mode of a passive whose subject is the pronoun, and the connector before it."""
    table = _PASSIVE_PAST if tense == "past" else _PASSIVE_PRESENT
    kind, mode = _drawn(rng, table, without)
    return mode, rng.choice(_CONNECTORS[kind])


def passive_pronoun_clause(item: Mention, action: Predicate, mode_name: str) -> Clause:
    """'it had been repaired': the French participle agrees with the pronoun."""
    verb, *particle = action.english.split()
    mode = _PASSIVE_MODES[mode_name]
    words = [item.pronouns[0], *english_group(mode, verb, item.plural), *particle]
    gender, person = item.features
    head, rest, negation = _parsed(mode.french)
    agreed = french.agreed(french.participle(action.french), gender, person[1])
    group = _finite(head, item.features, negation)
    tail = [agreed if x == "P" else x for x in rest]
    return Clause(words, 0, " ".join([item.french_pronoun, group, *tail]))


def _parsed(mode: str) -> tuple[str, list[str], str]:
    """The finite verb of a French mode, the words after it, and its negation."""
    words = mode.split()
    negation = ""
    if words[0] == "ne":
        negation = "jamais" if "jamais" in words else "pas"
        words = [x for x in words if x not in ("ne", negation)]
    return words[0], words[1:], negation


def _finite(head: str, features: french.Features, negation: str) -> str:
    other, _, form = head.rpartition(":")
    if form in _COMPOUND:
        return french.compound(other, features, _COMPOUND[form], negation)
    return french.finite(other, form, features[1], negation)


def _with_object(mode: str, verb: str, features: french.Features, item: Mention) -> str:
    head, rest, negation = _parsed(mode)
    if ":" in head:
        between = [x for x in rest if x != "V"]
        group = _finite(head, features, negation)
        return " ".join([group, *between, item.french_object, verb])
    gender, person = item.features
    agreed = french.agreed(french.participle(verb), gender, person[1])
    auxiliary = french.conjugated("avoir", _COMPOUND[head], features[1])
    group = f"{item.french_object} {auxiliary}"
    return f"ne {group} {negation} {agreed}" if negation else f"{group} {agreed}"
