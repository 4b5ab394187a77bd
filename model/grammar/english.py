"""English forms by rule: plurals of nouns and forms of verbs; the tables have the exceptions."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from word_tables import read_pairs, read_table, read_words

_TABLES = Path(__file__).parent / "tables"
_PLURALS = dict(read_pairs(_TABLES / "english_nouns.txt", "plurals"))
_IRREGULAR = {row[0]: row[1:] for row in read_table(_TABLES / "english_verbs.txt")["irregular"]}
_DOUBLED = read_words(_TABLES / "english_verbs.txt", "doubled")


def plural(noun: str) -> str:
    """The plural of a noun.

    >>> plural("cherry"), plural("box"), plural("tomato"), plural("toy"), plural("wolf")
    ('cherries', 'boxes', 'tomatoes', 'toys', 'wolves')
    """
    if noun in _PLURALS:
        return _PLURALS[noun]
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    if noun.endswith(("s", "x", "z", "ch", "sh", "ato")):
        return noun + "es"
    return noun + "s"


@cache
def past(verb: str) -> str:
    """The simple past, third person singular."""
    return _IRREGULAR[verb][0] if verb in _IRREGULAR else _regular_past(verb)


@cache
def participle(verb: str) -> str:
    """The past participle."""
    return _IRREGULAR[verb][1] if verb in _IRREGULAR else _regular_past(verb)


def _regular_past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return (verb + verb[-1] if verb in _DOUBLED else verb) + "ed"


@cache
def progressive(verb: str) -> str:
    """The form in -ing.

    >>> progressive("push"), progressive("lie"), progressive("put"), progressive("move")
    ('pushing', 'lying', 'putting', 'moving')
    """
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith("ee") and verb != "be":
        return verb[:-1] + "ing"
    return (verb + verb[-1] if verb in _DOUBLED else verb) + "ing"


@cache
def present(verb: str, plural_subject: bool) -> str:
    """The simple present.

    >>> present("push", False), present("carry", False), present("be", True), present("go", False)
    ('pushes', 'carries', 'are', 'goes')
    """
    if verb == "be":
        return "are" if plural_subject else "is"
    if plural_subject:
        return verb
    if verb == "have":
        return "has"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


def finite(verb: str, tense: str, plural_subject: bool) -> str:
    """A finite form in the past or the present."""
    if tense == "present":
        return present(verb, plural_subject)
    return "were" if verb == "be" and plural_subject else past(verb)


def negated(verb: str, tense: str, plural_subject: bool) -> str:
    """A negated finite form.

    >>> negated("be", "past", True), negated("push", "present", False)
    ('were not', 'does not push')
    """
    if verb == "be":
        return finite(verb, tense, plural_subject) + " not"
    return f"{finite('do', tense, plural_subject) if tense == 'present' else 'did'} not {verb}"


def article(word: str) -> str:
    """The indefinite article before a word.

    >>> article("apple"), article("uniform"), article("hour"), article("dog")
    ('an', 'a', 'an', 'a')
    """
    if word.startswith(("uni", "use", "eu", "one")):
        return "a"
    return "an" if word[0] in "aeiou" or word.startswith(("hour", "honest")) else "a"
