"""What people type, in the letters in which a model has learned it: CAPITALS, emoji, pounds."""

from __future__ import annotations

import re
import unicodedata

from regard.text.subwords import UnigramModel
from regard.text.tokens import SPACE

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_FIRST_LETTER = re.compile(r"(^|[.!?]\s+)([^\w]*)([^\W\d_])")
_ABBREVIATIONS = frozenset(["US", "UK", "EU", "IT", "WHO"])  # in small letters, other words
_CURRENCIES = {"\u00a3": "pounds", "\u00a5": "yen"}
_PRICE = re.compile(r"([\u00a3\u00a5]) ?(\d+(?:[.,]\d+)*(?: (?:thousand|million|billion)\b)?)")
_FIRST_EMOJI = "\u2300"
_OF_EMOJI = "\ufe0e\ufe0f\u20e3\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


def plain_text(text: str, tokens: UnigramModel) -> str:
    """A text as `plain_signs` and `plain_capitals` leave it."""
    return plain_capitals(text if text.isascii() else plain_signs(text, tokens), tokens)


def plain_signs(text: str, tokens: UnigramModel) -> str:
    """A text without emoji and with currencies in words, where the vocabulary lacks them.

    They would be read as single bytes. A text of nothing else stays as it is.
    """
    signs = {x for x in text if _is_emoji(x) or x in _CURRENCIES}
    unknown = signs.difference(*tokens.pieces) if signs else signs
    words = _PRICE.sub(
        lambda x: f"{x[2]} {_CURRENCIES[x[1]]}" if x[1] in unknown else x[0],
        "".join(" " if x in unknown and _is_emoji(x) else x for x in text),
    )
    return " ".join(words.split()) if any(x.isalnum() for x in words) else text


def plain_capitals(text: str, tokens: UnigramModel) -> str:
    """A text without words in capitals, but for those that are usually written so.

    Where most words have capitals, each is given the letters that the vocabulary knows best: I LIVE
    IN PARIS, USA is I live in Paris, USA. Among other words only those are lowered whose small form
    is one piece: The TV is BROKEN is The TV is broken.
    """
    words = _WORD.findall(text)
    odd = sum(map(_has_odd_capitals, words))
    if not odd:
        return text
    shouted = len(words) > 1 and 3 * odd > 2 * sum(len(word) > 1 for word in words)

    def written(found: re.Match[str]) -> str:
        word = found[0]
        small = word.lower()
        if not shouted and not _has_odd_capitals(word):
            return word
        if word in _ABBREVIATIONS and (not shouted or text[: found.start()].endswith("THE ")):
            return word
        if SPACE + small in tokens.pieces:
            return small
        return max((small, word.capitalize(), word), key=tokens.score) if shouted else word

    lowered = _WORD.sub(written, text)
    return _FIRST_LETTER.sub(
        lambda x: x[1] + x[2] + (x[3].upper() if text[x.start(3)].isupper() else x[3]), lowered
    )


def _has_odd_capitals(word: str) -> bool:
    """Whether there are capitals after the first letter."""
    return word[1:] != word[1:].lower()


def _is_emoji(character: str) -> bool:
    is_sign = character >= _FIRST_EMOJI and unicodedata.category(character) == "So"
    return is_sign or character in _OF_EMOJI
