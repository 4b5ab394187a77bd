"""Gender of the French pronoun in a translated contrast sentence, against its two nouns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from judge.frames import NOUNS, ContrastSentence, forms

Forms = Callable[[str], Mapping[str, str]]

SUBJECTS = {
    "it": {"il": "m", "elle": "f"},
    "they": {"ils": "m", "elles": "f"},
}
_OBJECTS = {"le": "m", "la": "f", "l": None}
_BEFORE_OBJECT = frozenset(
    ["je", "tu", "il", "elle", "on", "nous", "vous", "ils", "elles", "ne", "n", "qui", "me", "te"]
)
_INFINITIVE = re.compile(r"\w{2,}(er|ir|re|oir)")


def gender(translation: str, item: ContrastSentence, forms: Forms = forms) -> str:
    """The verdict on the French pronoun.

    'right' or 'wrong', 'alike, right' or 'alike, wrong' where both nouns have one gender, 'other'
    where the French pronoun shows no gender (ce, l'), 'noun unknown' where a noun is not
    translated as expected, 'not shown' for he and she, whose gender says nothing of the noun.
    ``forms`` gives the French nouns of an English one with their genders.
    """
    if item.pronoun not in SUBJECTS:
        return "not shown"
    words = re.findall(r"\w+", translation.lower())
    genders = [_noun_gender(words, forms(noun)) for noun in (item.right, item.wrong)]
    if None in genders:
        return "noun unknown"
    pronoun = _pronoun_gender(words, item)
    if pronoun is None:
        return "other"
    verdict = "right" if pronoun == genders[0] else "wrong"
    return f"alike, {verdict}" if genders[0] == genders[1] else verdict


def may_differ(item: ContrastSentence, forms: Forms = forms) -> bool:
    """Whether the two nouns of a sentence can have different genders in French."""
    return len({*forms(item.right).values(), *forms(item.wrong).values()}) > 1


def gender_shares(verdicts: Sequence[str]) -> dict[str, Any]:
    """Shares of right among nouns of different gender, and among all with a gendered pronoun.

    A share of nothing is None.
    """
    counts = Counter(verdicts)
    different = counts["right"] + counts["wrong"]
    alike = counts["alike, right"] + counts["alike, wrong"]
    right = counts["right"] + counts["alike, right"]
    return {
        "right": _share(right, different + alike),
        "right_where_genders_differ": _share(counts["right"], different),
        "sentences_where_genders_differ": different,
        "counts": dict(sorted(counts.items())),
    }


def _share(part: int, total: int) -> float | None:
    return round(part / total, 4) if total else None


def _noun_gender(words: Sequence[str], genders: Mapping[str, str]) -> str | None:
    """The gender of the first of these French nouns whose words all occur."""
    for french, gender in genders.items():
        if set(re.findall(r"\w+", french)) <= set(words):
            return gender
    return None


def _pronoun_gender(words: Sequence[str], item: ContrastSentence) -> str | None:
    """The gender of the last pronoun that can translate the one in question, None without one."""
    if item.of_object:
        pronouns = [_OBJECTS[x] for i, x in enumerate(words) if _is_object_pronoun(words, i)]
    else:
        genders = SUBJECTS[item.pronoun]
        pronouns = [genders[x] for x in words if x in genders]
    return pronouns[-1] if pronouns else None


def _is_object_pronoun(words: Sequence[str], at: int) -> bool:
    """Whether le, la or l' is a pronoun: after a subject, or before an infinitive."""
    if words[at] not in _OBJECTS or at + 1 == len(words):
        return False
    if at and words[at - 1] in _BEFORE_OBJECT:
        return True
    following = words[at + 1]
    return following not in _FRENCH_NOUNS and bool(_INFINITIVE.fullmatch(following))


_FRENCH_NOUNS = frozenset(french for noun in NOUNS for french in forms(noun))
