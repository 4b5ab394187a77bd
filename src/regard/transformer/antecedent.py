"""Evidence on a pronoun's antecedent: measures of the head, and the French pronoun's gender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from regard.display import percent
from regard.text.english import is_content
from regard.transformer.roles import HeadRoles

if TYPE_CHECKING:
    from regard.heads.links import Link
    from regard.transformer.reading import Reading

END_WORD = "(end)"
_GENDERS = {"m": "masculine", "f": "feminine"}
_PRONOUNS = {"il": "m", "ils": "m", "elle": "f", "elles": "f", "le": "m", "la": "f"}
_DETERMINERS = {
    "le": "m", "un": "m", "ce": "m", "cet": "m", "du": "m", "au": "m",
    "la": "f", "une": "f", "cette": "f", "ma": "f", "ta": "f", "sa": "f",
}  # fmt: skip
_BEFORE_VOWEL = ("mon", "ton", "son")  # of a masculine noun, and of a feminine one with a vowel


def how_sure(roles: HeadRoles, link: Link, words: Sequence[str]) -> str:
    """One phrase on the head of a pronoun's link: how it came about, how often it is right."""
    pronouns = roles.measured.get("pronouns", {})
    several = len(roles.pronoun_heads) > 1
    if not pronouns.get("taught"):
        head = f"the surest of the {len(roles.pronoun_heads)} heads" if several else "the head"
        right = roles.encoder[link.layer, link.head].pronouns
        return (
            f"{head} through which a pronoun looks at nouns; none was taught to, and in measured "
            f"contrast pairs it leans to the right noun in {percent(right)} (chance: 50 %)"
        )
    kind = _kind(link.query_word, words[link.query + 1 :])
    parts = [
        "the head taught, on generated sentences, to put a pronoun on its antecedent",
        _measured_right(roles.measured.get("judge", {}), kind),
    ]
    if link.key_word == END_WORD:
        parts.append("it rests on (end) where it takes a pronoun to stand for nothing")
    return "; ".join(parts)


def _kind(word: str, following: Sequence[str]) -> str:
    """The kind of a pronoun as the judge names it: an object stands at the end of its clause."""
    pronoun = word.lower().split("'")[0]
    ends = not following or following[0] == END_WORD or not following[0][0].isalnum()
    return f"{pronoun}, object" if ends and pronoun == "it" else pronoun


def _measured_right(judge: Mapping[str, Any], kind: str) -> str:
    """The shares of right among contrast sentences of a kind, and among those by hand."""
    shares = []
    framed = judge.get("contrast_pairs", {}).get("kinds", {}).get(kind)
    if framed:
        shares.append(
            f"in {percent(framed['right'])} of {framed['sentences']:,} held-out sentences with "
            f"{kind} (chance: 50 %)"
        )
    by_hand = judge.get("by_hand", {}).get("kinds", {}).get(kind)
    if by_hand:
        right = round(by_hand["right"] * by_hand["sentences"])
        harder = "harder ones" if framed else "sentences"
        shares.append(f"in {right} of {by_hand['sentences']} {harder} written by hand")
    return f"measured right {' and '.join(shares)}" if shares else f"not measured with {kind}"


def disagreement(reading: Reading, link: Link) -> str:
    """A sentence where the French pronoun's gender is not that of the noun a head points to.

    Empty where they agree, or where one of the genders cannot be told.
    """
    if not is_content(link.key_word) or not reading.translation_words:
        return ""
    words = [word.lower() for word in reading.translation_words]
    pronoun = _came_from(reading, link.query, [i for i, x in enumerate(words) if x in _PRONOUNS])
    noun = _came_from(reading, link.key, [i for i, x in enumerate(words) if x.isalpha()])
    if pronoun is None or noun is None or noun == pronoun:
        return ""
    theirs, ours = _noun_gender(words, noun), _PRONOUNS[words[pronoun]]
    if theirs in (None, ours):
        return ""
    return (
        f"the translation disagrees with this head: {words[pronoun]} is {_GENDERS[ours]}, "
        f"{words[noun]} is {_GENDERS[str(theirs)]}"
    )


def _came_from(reading: Reading, source: int, rows: Sequence[int]) -> int | None:
    """The last of these French words that came from one English word, if any."""
    alignment = reading.alignment
    chosen = [row for row in rows if alignment.source_columns(row)[:1] == [source]]
    return chosen[-1] if chosen else None


def _noun_gender(words: Sequence[str], noun_at: int) -> str | None:
    """The gender of a French noun: by its determiner, else where the noun is a known one."""
    for before in reversed(words[max(0, noun_at - 2) : noun_at]):
        if before in _DETERMINERS:
            return _DETERMINERS[before]
        if before in _BEFORE_VOWEL and words[noun_at][0] not in "aeiouyhéèêâîôœ":
            return "m"
    # The frames of the judge are imported where an article does not tell, as in l'herbe.
    from regard.transformer.contrast_frames import NOUNS, forms

    known = [forms(noun).get(words[noun_at]) for noun in NOUNS]
    genders = {gender for gender in known if gender}
    return genders.pop() if len(genders) == 1 else None
