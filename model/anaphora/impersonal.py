"""Clauses and sentences in which *it* stands for no noun: judgements, weather, times, distances."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from anaphora.clauses import Clause
from anaphora.nouns import TABLES, out_of_training
from word_tables import Row, read_pairs, read_table

Clauses = tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence around two noun phrases or around an event."""

    english: tuple[str, ...]
    french: str
    first: str
    second: str
    in_training: bool


def _templates(section: str) -> tuple[Template, ...]:
    rows = _TABLE[section]
    templates = []
    for i, (english, french, *nouns) in enumerate(rows):
        first, second = nouns if nouns else ("", "")
        training = not out_of_training(i, len(rows))
        templates.append(Template(tuple(english.split()), french, first, second, training))
    return tuple(templates)


_TABLE = read_table(TABLES / "impersonal.txt")
AROUND_EVENTS = _templates("around events")
AROUND_NOUNS = _templates("around nouns")
OPENINGS = read_pairs(TABLES / "impersonal.txt", "openings")


def impersonal_clause(rng: random.Random, tense: str) -> Clause:
    """'it was raining', 'it is Sunday', 'it is easy to go out'."""
    kinds = (judgement, _fixed_clause, weather, clock_or_date, duration_or_distance)
    words, french = rng.choices(kinds, (40, 15, 20, 20, 5))[0](rng, tense)
    if words[:2] == ["it", "is"] and rng.random() < 0.4:
        words[:2] = ["it's"]
    return Clause(words, 0, french)


def _fixed_clause(rng: random.Random, tense: str) -> tuple[list[str], str]:
    row = rng.choice(_TABLE["clauses"])
    english, french = row[_half(tense)]
    return english.split(), french


def _half(tense: str) -> slice:
    return slice(0, 2) if tense == "past" else slice(2, 4)


def _by_tense(rows: Clauses) -> Mapping[str, Clauses]:
    """The rows of each tense; the tense is their first cell."""
    return {tense: tuple(row for row in rows if row[0] == tense) for tense in ("past", "present")}


_WEATHER = read_table(TABLES / "weather.txt")
_QUALITIES, _STATES, _PRESENCES = (
    _WEATHER[section] for section in ("qualities", "states", "presences")
)
_WEATHER_FORMS = _by_tense(_WEATHER["forms"])
_VERB_FORMS = _by_tense(_WEATHER["verb forms"])


def weather(rng: random.Random, tense: str) -> tuple[list[str], str]:
    """English words and French text of 'it was still cold outside', 'it might rain'.

    >>> weather(random.Random(3), "past")[0][0]
    'it'
    """
    return _verb(rng, tense) if rng.random() < 0.35 else _state(rng, tense)


def _verb(rng: random.Random, tense: str) -> tuple[list[str], str]:
    ing, inf, imp, pres, fr = rng.choice(_WEATHER["verbs"])
    _, english, french = rng.choice(_VERB_FORMS[tense])
    words = f"it {english.format(ing=ing, inf=inf)}".split()
    return words, french.format(imp=imp, pres=pres, fr=fr)


def _state(rng: random.Random, tense: str) -> tuple[list[str], str]:
    _, verb, fait, avoir, duration = rng.choice(_WEATHER_FORMS[tense])
    tables = (_QUALITIES, _PRESENCES) if duration else (_QUALITIES, _STATES, _PRESENCES)
    english, french = rng.choice(rng.choice(tables))
    start = avoir if (english, french) in _PRESENCES else fait
    if (english, french) in _QUALITIES and "getting" not in verb and rng.random() < 0.35:
        degree, french_degree = rng.choice(_WEATHER["degrees"])
        english, french = f"{degree} {english}", f"{french_degree} {french}"
    site = rng.choice(_WEATHER["sites"]) if rng.random() < 0.4 else ("", "")
    return f"it {verb} {english} {site[0]}".split(), f"{start} {french} {site[1]}".strip()


_TIMES = read_table(TABLES / "times.txt")
_TIME_FORMS = _by_tense(_TIMES["forms"])
_FORMS_OF_EARLY = _by_tense(_TIMES["forms of early and late"])


def clock_or_date(rng: random.Random, tense: str) -> tuple[list[str], str]:
    """English words and French text of 'it was almost half past six', 'it must be Sunday'.

    >>> clock_or_date(random.Random(3), "past")[0][0]
    'it'
    """
    _, verb, il, ce = rng.choice(_TIME_FORMS[tense])
    if rng.random() < 0.15:
        _, verb, il = rng.choice(_FORMS_OF_EARLY[tense])
        english, french = rng.choice(_TIMES["early and late"])
        return f"it {verb} {english}".split(), f"{il} {french}"
    if rng.random() < 0.5:
        english, french = _clock(rng)
        return f"it {verb} {english}".split(), f"{il} {french}"
    english, french = _date(rng)
    return f"it {verb} {english}".split(), f"{ce} {french}"


def _clock(rng: random.Random) -> tuple[str, str]:
    if rng.random() < 0.1:
        english, french = rng.choice(_TIMES["hours"])
        return english, french
    number, french_number = rng.choice(_TIMES["numbers"])
    english, french = rng.choice(_TIMES["clock"])
    hour = f"{french_number} heure" + ("" if number == "one" else "s")
    return english.format(n=number), french.format(h=hour)


def _date(rng: random.Random) -> tuple[str, str]:
    kind = rng.random()
    if kind < 0.25:
        (day, jour), (part, moment) = (
            rng.choice(_TIMES["days"]),
            rng.choice(_TIMES["parts of the day"]),
        )
        return (day, jour) if rng.random() < 0.5 else (f"{day} {part}", f"{jour} {moment}")
    if kind < 0.5:
        month, mois = rng.choice(_TIMES["months"])
        if rng.random() < 0.4:
            return month, f"le mois de {mois}"
        ordinal, numeral = rng.choice(_TIMES["ordinals"])
        return f"the {ordinal} of {month}", f"le {numeral} {mois}"
    english, french = rng.choice(_TIMES["occasions"])
    return english, french


def duration_or_distance(rng: random.Random, tense: str) -> tuple[list[str], str]:
    """English words and French text of 'it is two kilometres to the station', 'it has been a week'.

    >>> duration_or_distance(random.Random(3), "past")[0][0]
    'it'
    """
    amount, nombre = rng.choice(_TIMES["amounts"])
    past = tense == "past"
    if rng.random() < 0.5:
        (unit, unite), (goal, but) = rng.choice(_TIMES["lengths"]), rng.choice(_TIMES["goals"])
        degree, degre = rng.choice((("", ""), ("only", "seulement"), ("about", "environ")))
        english = f"it {'was' if past else 'is'} {degree} {amount} {unit} {goal}"
        french = f"il y {'avait' if past else 'a'} {degre} {nombre} {unite} {but}"
        return english.split(), " ".join(french.split())
    unit, unite = rng.choice(_TIMES["periods"])
    since, depuis = rng.choice(_TIMES["since"])[_half(tense)]
    english = f"it {'had' if past else 'has'} been {amount} {unit} since {since}"
    return english.split(), f"cela {'faisait' if past else 'fait'} {nombre} {unite} que {depuis}"


_JUDGEMENTS = read_table(TABLES / "judgements.txt")
_DEGREES = tuple(("" if row[0] == "-" else row[0], row[1]) for row in _JUDGEMENTS["degrees"])
# Those without a reflexive pronoun or an adjective that agrees with the subject.
_ACTS_OF_ANYBODY = tuple(
    x for x in _JUDGEMENTS["acts"] if not x[1].startswith(("se ", "s'")) and "seul" not in x[1]
)


def judgement(rng: random.Random, tense: str) -> tuple[list[str], str]:
    """English words and French text of 'it is easy to go out' or 'it is true that Tom is wrong'.

    >>> judgement(random.Random(3), "past")[0][0]
    'it'
    """
    kinds = (_with_infinitive, _after_noun, _by_somebody, _after_measure, _with_fact,
             _with_subjunctive, _cleft)  # fmt: skip
    return rng.choices(kinds, (26, 14, 10, 20, 16, 9, 5))[0](rng, tense)


def _with_infinitive(rng: random.Random, tense: str) -> tuple[list[str], str]:
    english, french, absolute = rng.choice(_JUDGEMENTS["adjectives"])
    degree, french_degree = _DEGREES[0] if absolute else rng.choice(_DEGREES)
    act, french_act = rng.choice(_JUDGEMENTS["acts"])
    was, etait = ("was", "était") if tense == "past" else ("is", "est")
    before, after = ("n'", "pas ") if degree == "not" else ("", f"{french_degree} ".lstrip())
    words = ["it", was, *degree.split(), *english.split(), "to", *act.split()]
    return words, f"il {before}{etait} {after}{french} de {french_act}"


def _after_noun(rng: random.Random, tense: str) -> tuple[list[str], str]:
    english, french = rng.choice(_JUDGEMENTS["nouns"])
    act, french_act = rng.choice(_ACTS_OF_ANYBODY)
    was, etait = ("was", "c'était") if tense == "past" else ("is", "c'est")
    return f"it {was} {english} to {act}".split(), f"{etait} {french} de {french_act}"


def _by_somebody(rng: random.Random, tense: str) -> tuple[list[str], str]:
    """'it was easy for us to go out', 'it was kind of you to say nothing'."""
    name, french_name, possessive = rng.choice(_JUDGEMENTS["agents"])
    act, french_act = rng.choice(_ACTS_OF_ANYBODY)
    was, etait = ("was", "était") if tense == "past" else ("is", "est")
    if rng.random() < 0.5:
        english, french, _ = rng.choice(_JUDGEMENTS["adjectives"])
        words = f"it {was} {english} for {name} to {act}".split()
        return words, f"il {etait} {french} pour {french_name} de {french_act}"
    english, french = rng.choice(_JUDGEMENTS["conduct"])
    part = f"la part de {french_name}" if possessive == "la" else f"{possessive} part"
    words = f"it {was} {english} of {name} to {act}".split()
    return words, f"c'{etait} {french} de {part} de {french_act}"


def _after_measure(rng: random.Random, tense: str) -> tuple[list[str], str]:
    english, french = rng.choice(_JUDGEMENTS["measures"])[_half(tense)]
    act, french_act = rng.choice(_JUDGEMENTS["acts"])
    return f"{english} {act}".split(), f"{french} {french_act}"


def _with_fact(rng: random.Random, tense: str) -> tuple[list[str], str]:
    opening, french_opening = rng.choice(_JUDGEMENTS["openings"])[_half(tense)]
    fact, french_fact = rng.choice(_JUDGEMENTS["facts"])[_half(tense)]
    that = "" if opening.endswith("as if") else "that"
    return f"{opening} {that} {fact}".split(), f"{french_opening} que {french_fact}"


def _with_subjunctive(rng: random.Random, tense: str) -> tuple[list[str], str]:
    opening, french_opening = rng.choice(_JUDGEMENTS["openings of subjunctives"])[_half(tense)]
    past, present, french = rng.choice(_JUDGEMENTS["facts in subjunctive"])
    fact = past if tense == "past" else present
    return f"{opening} that {fact}".split(), f"{french_opening} que {french}"


def _cleft(rng: random.Random, tense: str) -> tuple[list[str], str]:
    name, french_name = rng.choice(_JUDGEMENTS["people"])
    deed, french_deed = rng.choice(_JUDGEMENTS["deeds"])[_half(tense)]
    was, etait = ("was", "c'était") if tense == "past" else ("is", "c'est")
    return f"it {was} {name} who {deed}".split(), f"{etait} {french_name} qui {french_deed}"
