"""Variants of a scene: the same event with clauses whose pronouns stand for different nouns."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from regard.transformer.train.anaphora.clauses import (
    ALTHOUGH,
    ANY,
    NOW,
    OF_PAST,
    TEMPORAL,
    UNTIL,
    Clause,
    Connector,
    adjective_clause,
    finished,
    finished_french,
    part_clause,
    phrase_clause,
)
from regard.transformer.train.anaphora.impersonal import impersonal_clause
from regard.transformer.train.anaphora.mentions import Mention, key
from regard.transformer.train.anaphora.nouns import NOUNS, Noun
from regard.transformer.train.anaphora.object_clauses import (
    action_clause,
    deed,
    passive,
    passive_pronoun_clause,
)
from regard.transformer.train.anaphora.phrases import (
    ABSTRACT_PARTS,
    ACTIONS,
    PART_STATES,
    PARTS,
    PHRASES,
    OwnedPart,
)
from regard.transformer.train.anaphora.predicates import ADJECTIVES, TEMPORARY, Predicate
from regard.transformer.train.anaphora.reasons import reasons
from regard.transformer.train.anaphora.scenes import Scene, Split
from regard.transformer.train.anaphora.verb_forms import verb_form
from regard.transformer.train.data import AT_END, MarkedPair, WordLink

Fitting = TypeVar("Fitting", Predicate, OwnedPart)
_TABLES = {"adjective": ADJECTIVES, "phrase": PHRASES, "action": ACTIONS, "passive": ACTIONS}
_KINDS = ("adjective", "phrase", "action", "passive", "part")
_KIND_WEIGHTS = (44, 23, 27, 8, 11)
_ACTIONS_OF_RELATIONS = 0.22  # share of the relations that end in something done to a noun
_DEGREES = ("", "very", "too", "so", "really", "quite", "extremely")
_DEGREE_WEIGHTS = (45, 16, 16, 8, 6, 5, 4)
_DURATIVE = frozenset(("look", "push", "play", "guard", "run", "walk", "stay", "wait", "drag",
                       "watch", "search", "ignore", "avoid", "keep", "live", "stare", "listen",
                       "circle", "hover", "rest", "wander", "hold", "buzz"))  # fmt: skip
_NEGATIONS = frozenset(("not", "cannot", "never", "refused"))
_IMPERSONAL = (Connector("because", "parce que"), Connector("when", "quand"), Connector(".", "."),
               Connector("but", "mais"), Connector("since", "puisque"), Connector("and", "et"),
               Connector("although", "même si"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Variant:
    """A sentence with its translation and link, and the noun that its pronoun stands for."""

    pair: MarkedPair
    right: Mention
    pronoun: str
    of_object: bool


@cache
def _fitting(kind: str, noun: str, training: bool) -> tuple[Predicate, ...]:
    fitting = [x for x in _TABLES[kind] if noun in x.fits and x.in_training == training]
    if kind != "adjective":
        return tuple(fitting)
    return tuple(x for x in fitting for _ in range(_copies(x)))


def _copies(adjective: Predicate) -> int:
    """How often an adjective is in the draw: a word more than a phrase, one of few nouns more."""
    nouns = len(adjective.fits)
    return (1 if " " in adjective.english else 3) * (3 if nouns <= 20 else 2 if nouns <= 80 else 1)


@cache
def _people(training: bool) -> tuple[Noun, ...]:
    return tuple(x for x in NOUNS.values() if x.person and x.in_training == training)


@cache
def _parts_of(noun: str, training: bool) -> tuple[OwnedPart, ...]:
    return tuple(x for x in PARTS if noun in x.fits and x.in_training == training)


def _only(items: Sequence[Fitting], item: Mention, scene: Scene) -> list[Fitting]:
    """What fits this noun and none that the same pronoun could stand for."""
    rivals = {key(x) for x in scene.mentions if x is not item and x.pronouns == item.pronouns}
    return [x for x in items if rivals.isdisjoint(x.possible)]


def variants(rng: random.Random, scene: Scene, split: Split) -> tuple[Variant, ...]:
    """Two sentences that differ in one clause, each for another noun; none where nothing fits."""
    first, second = _contrasted(rng, scene)
    if scene.event.own is not None:
        kind = "action" if rng.random() < 0.8 else "passive"
        if scene.event.option not in ("until", "more") and rng.random() < _ACTIONS_OF_RELATIONS:
            return _of_kind(kind, rng, scene, split, (first, second))
        return relational(rng, scene, split)
    for kind in rng.choices(_KINDS, _KIND_WEIGHTS, k=3):
        both = _of_kind(kind, rng, scene, split, (first, second))
        if both:
            return both
    return ()


def _of_kind(
    kind: str, rng: random.Random, scene: Scene, split: Split, pair: tuple[Mention, Mention]
) -> tuple[Variant, ...]:
    if kind == "part":
        return _with_parts(rng, scene, split, pair)
    if kind in ("action", "passive") and scene.event.english[0] == "be":
        return ()  # the contrast judge asks 'the bread is on the table, and Tom wants to ... it'
    choices = [_only(_fitting(kind, key(x), split.words), x, scene) for x in pair]
    if not all(choices):
        return ()
    chosen = [rng.choice(x) for x in choices]
    if kind in ("action", "passive"):
        return _with_actions(kind, rng, scene, split, list(zip(pair, chosen, strict=True)))
    connector = rng.choice(OF_PAST if scene.tense == "past" else ANY)
    if kind == "phrase":
        clauses = [
            phrase_clause(x, verb_form(rng, (y.english, y.french), scene.tense), scene.tense)
            for x, y in zip(pair, chosen, strict=True)
        ]
        return _both(scene, connector, pair, clauses)
    return _with_adjectives(rng, scene, connector, pair, chosen)


def _with_actions(
    kind: str,
    rng: random.Random,
    scene: Scene,
    split: Split,
    items: Sequence[tuple[Mention, Predicate]],
) -> tuple[Variant, ...]:
    pair = items[0][0], items[1][0]
    without = _unfit_connectors(scene)
    if kind == "passive":
        mode, connector = passive(rng, scene.tense, without)
        clauses = [passive_pronoun_clause(x, y, mode) for x, y in items]
        return _both(scene, connector, pair, clauses)
    persons = any(x.noun.person for x in pair)
    done = deed(rng, scene.tense, persons, _people(split.words), without)
    clauses = [action_clause(x, y, done) for x, y in items]
    if any(x in scene.heads for x in done.subject.english):
        return ()
    return _both(scene, done.connector, pair, clauses, of_object=True)


def _unfit_connectors(scene: Scene) -> frozenset[str]:
    """Connectors of time that do not go with an event: nothing fails before something else."""
    if any(x in _NEGATIONS or x.endswith("n't") for x in scene.english):
        return frozenset(("before", "until", "when"))
    lasting = scene.event.english[0] in _DURATIVE
    return frozenset() if lasting else frozenset(("until",))


def _contrasted(rng: random.Random, scene: Scene) -> tuple[Mention, Mention]:
    """Two of the nouns: {a} and {b}, or the person who acts and one of them."""
    first, second = scene.first, scene.second
    if scene.event.person_subject and scene.others and rng.random() < 0.3:
        person = scene.others[0]
        if person.noun.person:
            return person, rng.choice((first, second))
    return first, second


def _with_adjectives(
    rng: random.Random,
    scene: Scene,
    connector: Connector,
    pair: tuple[Mention, Mention],
    chosen: Sequence[Predicate],
) -> tuple[Variant, ...]:
    degree = ""
    if all(x.gradable for x in chosen):
        degree = rng.choices(_DEGREES, _DEGREE_WEIGHTS)[0]
        if any(x.french.startswith("avoir") for x in chosen) and degree in ("quite", "extremely"):
            degree = "very"
    tense = scene.tense
    options = "contracted " if rng.random() < 0.4 else ""
    if not degree and rng.random() < 0.1:
        options += "negative"
    elif rng.random() < 0.08:
        connector, options = ALTHOUGH, options + "subjunctive"
    elif all(x.english in TEMPORARY for x in chosen):
        connector, degree, tense = _temporal(rng, scene.event.english[0], connector, degree, tense)
        options += "subjunctive" if connector is UNTIL else ""
    clauses = [
        adjective_clause(x, (y.english, y.french), tense, degree, options)
        for x, y in zip(pair, chosen, strict=True)
    ]
    return _both(scene, connector, pair, clauses)


def _temporal(
    rng: random.Random, verb: str, connector: Connector, degree: str, tense: str
) -> tuple[Connector, str, str]:
    """Connector, degree and tense with states that come and go: until, and now, still."""
    draw = rng.random()
    if draw < 0.45:
        return rng.choice(TEMPORAL), degree, tense
    if tense == "past" and draw < 0.6 and verb in _DURATIVE:
        return UNTIL, degree, tense
    if tense == "past" and draw < 0.68:
        return NOW, degree, "present"
    if draw < 0.85:
        return connector, rng.choice(("still", "already")), tense
    return connector, degree, tense


def _with_parts(
    rng: random.Random, scene: Scene, split: Split, pair: tuple[Mention, Mention]
) -> tuple[Variant, ...]:
    if any(x.plural for x in pair):
        return ()
    parts: list[OwnedPart | None] = []
    for item in pair:
        if item.noun.person:
            parts.append(None)
            continue
        fitting = _only(_parts_of(key(item), split.words), item, scene)
        if not fitting:
            return ()
        parts.append(rng.choice(fitting))
    abstract = any(x is not None and x.english in ABSTRACT_PARTS for x in parts)
    number = rng.randrange(3 if abstract else len(PART_STATES))
    clauses = [part_clause(x, y, scene.tense, number) for x, y in zip(pair, parts, strict=True)]
    words = {word for clause in clauses for word in clause.english}
    return () if words & set(scene.heads) else _both(scene, rng.choice(ANY), pair, clauses)


def relational(rng: random.Random, scene: Scene, split: Split) -> tuple[Variant, ...]:
    """The variants of an event that names the predicates of its nouns: reasons or results."""
    drawn = reasons(rng, scene, split)
    return _both(scene, drawn[0], (scene.first, scene.second), drawn[1]) if drawn else ()


def _both(
    scene: Scene,
    connector: Connector,
    pair: tuple[Mention, Mention],
    clauses: Sequence[Clause],
    of_object: bool = False,
) -> tuple[Variant, ...]:
    return tuple(
        Variant(
            sentence(scene, connector, clause, item),
            item,
            clause.english[clause.pronoun].lower(),
            of_object,
        )
        for item, clause in zip(pair, clauses, strict=True)
    )


def sentence(
    scene: Scene, connector: Connector, clause: Clause, antecedent: Mention | None
) -> MarkedPair:
    """Event, connector and clause as a sentence, its translation, and the pronoun's link."""
    if connector.english == "when" and antecedent is not None and len(scene.english) % 3 == 0:
        words, shift = ["when", *scene.english, ",", *clause.english, "."], 1
        query = 2 + len(scene.english) + clause.pronoun
        text = f"quand {scene.french} , {clause.french} ."
    else:
        middle = connector.english.split()
        words, shift = [*scene.english, *middle, *clause.english, "."], 0
        query = len(scene.english) + len(middle) + clause.pronoun
        text = f"{scene.french} {connector.french} {clause.french} ."
    capitalised = [
        word[0].upper() + word[1:] if i == 0 or words[i - 1] == "." else word
        for i, word in enumerate(words)
    ]
    noun = AT_END if antecedent is None else shift + scene.index(antecedent)
    link = WordLink(query, noun, noun)
    return MarkedPair(finished(capitalised), finished_french(text), (link,))


def impersonal_variant(rng: random.Random, scene: Scene) -> MarkedPair:
    """The scene with a clause in which *it* stands for nothing."""
    clause = impersonal_clause(rng, scene.tense)
    return sentence(scene, rng.choice(_IMPERSONAL), clause, None)
