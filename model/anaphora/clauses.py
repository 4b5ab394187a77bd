"""Clauses in which a pronoun stands for a noun of the sentence: as subject, as object, passive."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from anaphora.mentions import (
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
from anaphora.nouns import TABLES, Noun
from anaphora.predicates import PART_STATES, OwnedPart, Predicate
from grammar import english, french
from word_tables import read_pairs, read_table


@dataclass(frozen=True, slots=True)
class Clause:
    """English words, the index of the pronoun among them, and the French text."""

    english: list[str]
    pronoun: int
    french: str


@dataclass(frozen=True, slots=True)
class Connector:
    """Words between the event and the pronoun's clause; a new sentence begins after a full stop."""

    english: str
    french: str
    subjunctive: bool = False


def _connectors(section: str) -> tuple[Connector, ...]:
    return tuple(Connector(*texts) for texts in read_pairs(_CONNECTORS, section))


_CONNECTORS = TABLES / "connectors.txt"
CAUSAL = _connectors("causal")
ANY = CAUSAL + _connectors("any")
TEMPORAL = _connectors("temporal")
OF_PAST = ANY + _connectors("of past")
BUT = _connectors("but")
RESULTS = _connectors("results")
IMPERSONAL = _connectors("impersonal")
NOW = Connector(", and now", ", et maintenant")
UNTIL = Connector("until", "jusqu'à ce que", subjunctive=True)
ALTHOUGH = Connector("although", "bien que", subjunctive=True)
CONCESSIVE = (ALTHOUGH, Connector("even though", "même si"))
DEGREES = {"": ""} | dict(read_pairs(_CONNECTORS, "degrees"))
_HUMAN_PARTS = read_table(TABLES / "parts.txt")["relatives"]
_HUMAN_STATES = read_pairs(TABLES / "parts.txt", "states of relatives")


def state(text: str, gender: str, number: str) -> str:
    """A French predicate agreed: the words with *, or a single word that has no !.

    >>> state("plein* d'eau", "f", "s"), state("!en fer", "f", "p"), state("vieux", "f", "p")
    ("pleine d'eau", 'en fer', 'vieilles')
    """
    if "*" not in text:
        alone = not text.startswith("!") and " " not in text
        return french.agreed(text, gender, number) if alone else text.removeprefix("!")
    words = text.removeprefix("!").split()
    agreed = [
        french.agreed(word[:-1], gender, number) if word.endswith("*") else word for word in words
    ]
    return " ".join(agreed)


def french_be(
    item: Mention, text: str, tense: str, degree: str = "", negative: bool = False
) -> str:
    """être (or avoir, in an idiom such as avoir faim) and an adjective, agreed with a noun."""
    gender, person = item.features
    verb, words = "être", text
    if text.startswith("avoir "):
        verb, words = "avoir", "!" + text.removeprefix("avoir ")
    verb = french.finite(verb, tense, person, "pas" if negative else "")
    # si goes before an adjective; before 'en colère' and 'faim' it is tellement.
    adverb = "tellement" if degree == "so" and words.startswith("!") else DEGREES[degree]
    return " ".join(x for x in (verb, adverb, state(words, gender, person[1])) if x)


def adjective_clause(
    item: Mention, texts: tuple[str, str], tense: str, degree: str = "", options: str = ""
) -> Clause:
    """'it was (very) hungry'; options: negative, subjunctive, contracted."""
    adjective, french_text = texts
    negative = "negative" in options
    words = [item.pronouns[0], english.finite("be", tense, item.plural)]
    if negative:
        words.append("not")
    if "contracted" in options and words[1] in ("is", "are"):
        words[:2] = [words[0] + ("'s" if words[1] == "is" else "'re")]
    after = degree == "enough"
    words += [*adjective.split(), degree] if after else [*degree.split(), *adjective.split()]
    french_tense = "subjunctive" if "subjunctive" in options else _FRENCH_TENSES[tense]
    text = french_be(item, french_text, french_tense, degree, negative)
    return Clause(words, 0, f"{item.french_pronoun} {text}")


_FRENCH_TENSES = {"past": "imperfect", "present": "present"}


_ENGLISH_OF_MANY = {"its": "their", "itself": "themselves"}
_MANY = {"son": "leur", "sa": "leur", "ses": "leurs"}
_MARKED = re.compile(r"(?:([>~]+) )?(.*)")
_OF_MANY = re.compile(r"\b(?:son|sa|ses)\b")


def phrase_clause(item: Mention, texts: tuple[str, str], tense: str) -> Clause:
    """'it needed rest', 'it exploded'; `predicates` says what the French marks mean."""
    verb, *rest = texts[0].split()
    words = [item.pronouns[0], english.finite(verb, tense, item.plural), *rest]
    mark, text = _MARKED.findall(texts[1])[0]
    negation = ""
    if text.startswith("ne pas "):
        text, negation = text.removeprefix("ne pas "), "pas"
    if item.plural:
        words = [_ENGLISH_OF_MANY.get(x, x) for x in words]
        text = _OF_MANY.sub(lambda match: _MANY[match[0]], text)
    reflexive = "se " if text.startswith("se ") else ""
    french_verb, _, french_rest = text.removeprefix(reflexive).partition(" ")
    french_verb = reflexive + french_verb
    gender, person = item.features
    if mark == ">>":
        group = french.compound(french_verb, item.features, _FRENCH_TENSES[tense], negation)
    elif mark in (">", ">~") and tense == "past":
        group = french.compound(french_verb, item.features, "present", negation)
    else:
        group = french.finite(french_verb, _FRENCH_TENSES[tense], person, negation)
    tail = state(french_rest, gender, person[1]) if "*" in french_rest else french_rest
    return Clause(words, 0, f"{item.french_pronoun} {group} {tail}".rstrip())


def perfect_clause(item: Mention, texts: tuple[str, str], tense: str) -> Clause:
    """'he had repaired the roof', 'he has repaired the roof'."""
    verb, *rest = texts[0].split()
    words = [item.pronouns[0], english.finite("have", tense, item.plural)]
    words += [english.participle(verb), *rest]
    french_verb, _, french_rest = texts[1].partition(" ")
    group = french.compound(french_verb, item.features, _FRENCH_TENSES[tense])
    return Clause(words, 0, f"{item.french_pronoun} {group} {french_rest}".rstrip())


def part_clause(item: Mention, part: OwnedPart | None, tense: str, number: int) -> Clause:
    """'its tail was dirty', or 'his mother was ill' where there is no part."""
    if part is None:
        noun, french_noun, gender = _HUMAN_PARTS[number % len(_HUMAN_PARTS)]
        adjective, text = _HUMAN_STATES[number % len(_HUMAN_STATES)]
    else:
        noun, french_noun, gender = part.english, part.french, part.gender
        adjective, text = PART_STATES[number]
    words = [item.pronouns[2], *noun.split(), english.finite("be", tense, False)]
    feminine = gender == "f" and not french.starts_with_vowel(french_noun)
    verb = french.finite("être", _FRENCH_TENSES[tense], "3s")
    own = "leur" if item.plural else "sa" if feminine else "son"
    return Clause(
        [*words, *adjective.split()], 0, f"{own} {french_noun} {verb} {state(text, gender, 's')}"
    )


def finished(english_words: Sequence[str]) -> str:
    """Words and marks as a sentence.

    >>> finished(["It", "rains", ",", "Tom", "."])
    'It rains, Tom.'
    """
    return " ".join(english_words).replace(" ,", ",").replace(" .", ".").replace(" ?", "?")


def finished_french(text: str) -> str:
    """A French text, elided, contracted and capitalised.

    >>> finished_french("le homme est là . il a faim .")
    "L'homme est là. Il a faim."
    """
    text = french.joined(text).replace(" ,", ",").replace(" .", ".")
    sentences = [x[:1].upper() + x[1:] for x in text.split(". ")]
    return ". ".join(sentences)


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
_OBJECT_CONNECTORS: dict[str, list[Connector]] = {}
for _kind, *_texts in read_table(_CONNECTORS)["objects"]:
    _OBJECT_CONNECTORS.setdefault(_kind, []).append(Connector(*_texts))
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
    return Deed(rng.choice(subjects), mode, rng.choice(_OBJECT_CONNECTORS[kind]))


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
    return mode, rng.choice(_OBJECT_CONNECTORS[kind])


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
