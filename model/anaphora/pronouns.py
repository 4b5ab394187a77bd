"""Links of pronouns in real text, where both languages together leave one reading.

*He* and *she* link to the only man or woman before them. *It* and *they* link to the only noun
before them whose French gender is that of the French pronoun, and to END where nothing before them
can be meant: *it* begins the sentence, or is the impersonal *il* of weather, time and judgement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from anaphora.mentions import NAMES
from anaphora.nouns import NOUNS, TABLES, Noun
from regard.text.words import split_words
from train.data import AT_END, MarkedPair, Pair, WordLink
from word_tables import read_pairs

if TYPE_CHECKING:
    from train.made import TextRequest  # imports torch, which the judge does without

_SEXES = {"he": "m", "him": "m", "his": "m", "she": "f", "her": "f"}
_SUBJECTS = {("it", "m"): "il", ("it", "f"): "elle", ("they", "m"): "ils", ("they", "f"): "elles"}
_FRENCH_SUBJECTS = frozenset(_SUBJECTS.values())
_SHORT = {"it's": "it", "it'll": "it", "he's": "he", "she's": "she", "they're": "they"}
_THIRD_PERSONS = frozenset(("it", "they", *_SEXES, "them", "its", "their"))
_JUDGED = r"(?:\w+ ){0,2}?(?:de|d'|que|qu')\b|(?:tard|tôt|temps|midi|minuit|\w+ heures?)\b"
_IMPERSONAL = re.compile(
    r"\bil (?:ne |n'|va |a |commence à |se mit à |s'est mis à )?"
    r"(?:pleu\w+|plu|neig\w+|gèle|fait|faisait|fera|faire|faut|fallait|faudra|fallu|semble|semblait"
    rf"|paraît|paraissait|vaut mieux|s'agit|(?:est|était|sera|serait|fut) (?:{_JUDGED}))",
    re.IGNORECASE,
)


def pairs(request: TextRequest) -> list[MarkedPair]:
    """The pairs that a recipe asks for with `made = "anaphora.pronouns:pairs"`."""
    return linked_pairs(request.pairs())


def linked_pairs(pairs: Iterable[Pair]) -> list[MarkedPair]:
    """The pairs in which at least one pronoun has a link.

    Examples
    --------
    >>> pairs = [("It is cold in the kitchen.", "Il fait froid dans la cuisine."),
    ...          ("Mary told Tom that she was ill.", "Mary dit à Tom qu'elle était malade.")]
    >>> [str(link) for pair in linked_pairs(pairs) for link in pair.links]
    ['0:end', '4:0-0']
    """
    marked = (MarkedPair(*pair, tuple(_links(*pair))) for pair in pairs)
    return [pair for pair in marked if pair.links]


def _links(source: str, target: str) -> Iterator[WordLink]:
    words = [_SHORT.get(word.lower(), word.lower()) for word in split_words(source)]
    if _THIRD_PERSONS.isdisjoint(words):
        return
    french = [word.lower() for word in split_words(target, elisions=True)]
    for query, word in enumerate(words):
        if word in _SEXES:
            yield from _to_person(words, query)
        elif word in ("it", "they"):
            yield from _to_thing(words, query, french, target)


def _to_person(words: Sequence[str], query: int) -> Iterator[WordLink]:
    """To the only person of the pronoun's sex before it, if no such pronoun comes earlier."""
    sex = _SEXES[words[query]]
    before = words[:query]
    persons = [i for i, word in enumerate(before) if _person_sex(word) == sex]
    if len(persons) == 1 and not any(_SEXES.get(x) == sex for x in before[: persons[0]]):
        yield WordLink(query, persons[0], persons[0])


def _to_thing(
    words: Sequence[str], query: int, french: Sequence[str], target: str
) -> Iterator[WordLink]:
    """To END, or to the only noun before whose gender the only French pronoun has."""
    if words[query] == "it" and query == 0 and "," not in words:
        yield WordLink(query, AT_END, AT_END)
    shown = [word for word in french if word in _FRENCH_SUBJECTS]
    if query == 0 or len(set(shown)) != 1 or sum(x in _THIRD_PERSONS for x in words) != 1:
        return
    if words[query] == "it" and shown == ["il"] and _IMPERSONAL.search(target):
        yield WordLink(query, AT_END, AT_END)
        return
    nouns = _nouns_before(words[:query], french, plural=words[query] == "they")
    agreeing = [i for i, noun in nouns if _SUBJECTS[words[query], noun.gender] == shown[0]]
    if len(agreeing) == 1:
        yield WordLink(query, agreeing[0], agreeing[0])


def _nouns_before(
    before: Sequence[str], french: Sequence[str], *, plural: bool
) -> list[tuple[int, Noun]]:
    """Nouns of the lexicon in that number whose French noun stands in the translation."""
    nouns = ((i, _nouns(plural).get(word)) for i, word in enumerate(before))
    text = f" {' '.join(french)} "
    return [(i, x) for i, x in nouns if x and f" {_french_form(x, plural=plural)} " in text]


def _french_form(noun: Noun, *, plural: bool) -> str:
    return noun.french_plural if plural else noun.french


@cache
def _nouns(plural: bool) -> dict[str, Noun]:
    return {x.english_plural if plural else x.english: x for x in NOUNS.values()}


@cache
def _person_sex(word: str) -> str | None:
    """The sex of a man, a woman or a given name, also before a genitive's 's."""
    word = word.removesuffix("'s")
    names = {name.lower(): sex for name, sex in NAMES.items()}
    names |= {name.lower(): sex for name, sex in read_pairs(TABLES / "names.txt", "other names")}
    noun = NOUNS.get(word)
    return names.get(word) or (noun.gender if noun and noun.person else None)
