"""French forms by rule: plurals, agreement, conjugation, clitics, elision and contraction.

The tables have the exceptions.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from word_tables import read_pairs, read_table, read_words

Features = tuple[str, str]  # gender, m or f, and person: 1s, 3s, 1p or 3p

_TABLES = Path(__file__).parent / "tables"
_NOUNS, _VERBS = _TABLES / "french_nouns.txt", _TABLES / "french_verbs.txt"
# The h of these words is aspirated: le hibou, la hache, que huit.
ASPIRATED = sorted(read_words(_NOUNS, "aspirated"))
_VOWEL = re.compile(rf"(?!(?:{'|'.join(ASPIRATED)}))[aeiouhàâéèêëîïôùûœAEIOUHÀÂÉÈÊÎÔŒ]")
_ELIDED = re.compile(
    r"(?<![^\s'-])([Ll]|[DdNnSsJjMmTt]|[Qq]u|[Ll]orsqu|[Pp]uisqu|[Pp]arce qu|[Bb]ien qu|ce qu)"
    rf"[ea]_? (?={_VOWEL.pattern})"
)
_NOT_ELIDED = ("Ma ", "ma ", "Ta ", "ta ", "Sa ", "sa ", "Na ", "na ", "Da ", "da ", "Ja ", "ja ")
_CONTRACTED = {
    "de le ": "du ", "de les ": "des ", "à le ": "au ", "à les ": "aux ",
    "De le ": "Du ", "De les ": "Des ", "À le ": "Au ", "À les ": "Aux ",
}  # fmt: skip
_CONTRACTION = re.compile(r"(?<![^\s'])(?:[Dd]e|[àÀ]) les? ")
_IF = re.compile(r"(?<!\S)([Ss])i (?=ils?\b)")

_PERSONS = ("1s", "3s", "1p", "3p")
_AUXILIARY = {
    (row[0], row[1]): dict(zip(_PERSONS, row[2:], strict=True))
    for row in read_table(_VERBS)["persons"]
}
IRREGULAR_VERBS = {row[0]: row[1:] for row in read_table(_VERBS)["irregular"]}
_REFLEXIVE = {"1s": "me", "3s": "se", "1p": "nous", "3p": "se"}
WITH_ETRE = read_words(_VERBS, "with être")
_PLURALS = dict(read_pairs(_NOUNS, "plurals"))
_FEMININES = dict(read_pairs(_TABLES / "french_adjectives.txt", "feminines"))


def starts_with_vowel(word: str) -> bool:
    """Whether words before this one are elided.

    >>> starts_with_vowel("homme"), starts_with_vowel("hache"), starts_with_vowel("yacht")
    (True, False, False)
    """
    return _VOWEL.match(word) is not None


def joined(text: str) -> str:
    """A sentence whose words stand apart, with its elisions and contractions.

    A clitic object is written with an underscore: it is elided and never contracted.

    >>> joined("parce que elle a peur de le chien de le homme")
    "parce qu'elle a peur du chien de l'homme"
    >>> joined("Tom a refusé de le_ vendre et de la_ avoir")
    "Tom a refusé de le vendre et de l'avoir"
    """
    text = _ELIDED.sub(_elided, text)
    text = _CONTRACTION.sub(lambda match: _CONTRACTED[match[0]], text)
    return _IF.sub(r"\1'", text).replace("_", "")


def _elided(match: re.Match[str]) -> str:
    return match[0] if match[0] in _NOT_ELIDED else match[1] + "'"


def plural(word: str) -> str:
    """The plural of a noun or of a masculine adjective; of a compound with 'de' or 'à' its head's.

    >>> plural("cheval"), plural("gâteau"), plural("souris"), plural("pomme de terre")
    ('chevaux', 'gâteaux', 'souris', 'pommes de terre')
    """
    if word in _PLURALS:
        return _PLURALS[word]
    head, space, rest = word.partition(" ")
    if space:
        return plural(head) + space + rest
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-1] + "ux"
    return word + ("x" if word.endswith(("eau", "eu")) else "s")


@cache
def feminine(word: str) -> str:
    """The feminine of an adjective or participle, by rule.

    >>> feminine("heureux"), feminine("agressif"), feminine("cher"), feminine("fatigué")
    ('heureuse', 'agressive', 'chère', 'fatiguée')
    """
    if word in _FEMININES:
        return _FEMININES[word]
    if word.endswith("e"):
        return word
    for ending, form in (("eux", "euse"), ("if", "ive"), ("er", "ère"), ("el", "elle"),
                         ("en", "enne"), ("on", "onne"), ("et", "ette")):  # fmt: skip
        if word.endswith(ending):
            return word.removesuffix(ending) + form
    return word + "e"


def agreed(masculine: str, gender: str, number: str) -> str:
    """An adjective or participle agreed with gender (m, f) and number (s, p).

    >>> agreed("vieux", "f", "p"), agreed("bancal", "m", "p"), agreed("dû", "m", "s")
    ('vieilles', 'bancals', 'dû')
    """
    if gender == "f":
        form = feminine(masculine)
        return form + "s" if number == "p" else form
    return plural(masculine) if number == "p" else masculine


@cache
def _forms(infinitive: str) -> tuple[str, ...]:
    if infinitive in IRREGULAR_VERBS:
        return IRREGULAR_VERBS[infinitive]
    stem, ending = infinitive[:-2], infinitive[-2:]
    if ending == "er":
        present = stem[:-1] + "i" if stem.endswith(("oy", "uy", "ay")) else stem
        past = stem[:-1] + "ç" if stem.endswith("c") else stem + "e" * stem.endswith("g")
        return stem + "é", present + "e", present + "ent", past + "ait"
    if ending == "ir":
        return stem + "i", stem + "it", stem + "issent", stem + "issait"
    return stem + "u", stem, stem + "ent", stem + "ait"


def participle(infinitive: str) -> str:
    """The past participle, masculine singular."""
    return _forms(infinitive)[0]


def conjugated(infinitive: str, tense: str, person: str) -> str:
    """A finite form; tense is present, imperfect or subjunctive (être, avoir, pouvoir).

    >>> conjugated("manger", "imperfect", "1p"), conjugated("finir", "present", "3p")
    ('mangions', 'finissent')
    """
    if (infinitive, tense) in _AUXILIARY:
        return _AUXILIARY[infinitive, tense][person]
    if tense == "present":
        return _forms(infinitive)[1 if person == "3s" else 2]
    stem = _forms(infinitive)[3].removesuffix("ait")
    if person == "1p":
        stem = stem[:-1] if stem.endswith("ge") else stem.replace("ç", "c")
        return stem + "ions"
    return stem + {"1s": "ais", "3s": "ait", "3p": "aient"}[person]


def reflexive(infinitive: str) -> tuple[str, bool]:
    """The bare verb, and whether it was reflexive.

    >>> reflexive("s'arrêter"), reflexive("pousser")
    (('arrêter', True), ('pousser', False))
    """
    for prefix in ("se ", "s'"):
        if infinitive.startswith(prefix):
            return infinitive.removeprefix(prefix), True
    return infinitive, False


def dependent_infinitive(verb: str, person: str) -> str:
    """The infinitive after another verb: its reflexive pronoun agrees with the subject."""
    bare, is_reflexive = reflexive(verb)
    return f"{_REFLEXIVE[person]} {bare}" if is_reflexive else bare


def finite(verb: str, tense: str, person: str, negation: str = "") -> str:
    """A simple tense with its reflexive pronoun and negation.

    >>> finite("s'arrêter", "imperfect", "3s", "pas")
    'ne se arrêtait pas'
    """
    bare, is_reflexive = reflexive(verb)
    form = conjugated(bare, tense, person)
    if is_reflexive:
        form = f"{_REFLEXIVE[person]} {form}"
    return f"ne {form} {negation}" if negation else form


def compound(verb: str, features: Features, tense: str = "present", negation: str = "") -> str:
    """A compound past: auxiliary (present or imperfect) and agreed participle.

    >>> compound("tomber", ("f", "3p")), compound("pousser", ("f", "3s"), negation="pas")
    ('sont tombées', 'ne a pas poussé')
    """
    gender, person = features
    bare, is_reflexive = reflexive(verb)
    with_etre = is_reflexive or bare in WITH_ETRE
    auxiliary = conjugated("être" if with_etre else "avoir", tense, person)
    if is_reflexive:
        auxiliary = f"{_REFLEXIVE[person]} {auxiliary}"
    past = participle(bare)
    if with_etre:
        past = agreed(past, gender, person[1])
    return f"ne {auxiliary} {negation} {past}" if negation else f"{auxiliary} {past}"
