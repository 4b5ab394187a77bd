"""Words in CAPITALS in the letters in which a model has learned them."""

from __future__ import annotations

import re

from regard.text.subwords import UnigramModel
from regard.text.tokens import SPACE

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_FIRST_LETTER = re.compile(r"(^|[.!?]\s+)([^\w]*)([^\W\d_])")
_ABBREVIATIONS = frozenset(["US", "IT", "WHO"])  # written like a word, in a sentence that is not


def plain_capitals(text: str, tokens: UnigramModel) -> str:
    """A text without words in capitals, but for those that are usually written so.

    Where everything is in capitals, each word is given the letters that the vocabulary knows best:
    I LIVE IN PARIS, USA is I live in Paris, USA. Among other words only those are lowered whose
    small form is one piece: The TV is BROKEN is The TV is broken.
    """
    words = _WORD.findall(text)
    if not any(len(word) > 1 and word.isupper() for word in words):
        return text
    shouted = len(words) > 1 and text.upper() == text

    def written(found: re.Match[str]) -> str:
        word = found[0]
        small = word.lower()
        if not word.isupper() or (not shouted and (len(word) == 1 or word in _ABBREVIATIONS)):
            return word
        if SPACE + small in tokens.pieces:
            return small
        return max((small, word.capitalize(), word), key=tokens.score) if shouted else word

    lowered = _WORD.sub(written, text)
    return _FIRST_LETTER.sub(
        lambda x: x[1] + x[2] + (x[3].upper() if text[x.start(3)].isupper() else x[3]), lowered
    )
