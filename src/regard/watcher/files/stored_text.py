"""Tokens and words of a text as arrays of a file: every different string is stored once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import FileError
from regard.text.words import TokenizedText
from regard.typing import Array


def text_arrays(text: TokenizedText, prefix: str) -> dict[str, Array]:
    """The arrays of a text: a table of strings, and numbers of its rows.

    >>> text = TokenizedText(("a", "b", "a"), ("a", "b", "a"), ("ab", "a"), (0, 0, 1))
    >>> stored_text(text_arrays(text, "0."), "0.") == text
    True
    """
    rows: dict[str, int] = {}
    tokens, words = (_numbers(names, rows) for names in (text.tokens, text.words))
    encoded = [name.encode("utf-8", "surrogatepass") for name in rows]
    arrays: dict[str, Array] = {
        "table": np.frombuffer(b"".join(encoded), np.uint8),
        "ends": np.cumsum([len(name) for name in encoded], dtype=np.int64),
        "tokens": tokens,
        "words": words,
        "word_of_token": np.array(text.word_of_token, np.int64),
    }
    return {prefix + name: array for name, array in arrays.items()}


def _numbers(names: Sequence[str], rows: dict[str, int]) -> NDArray[np.int64]:
    return np.array([rows.setdefault(name, len(rows)) for name in names], np.int64)


def stored_text(arrays: Mapping[str, Any], prefix: str) -> TokenizedText:
    """The text of ``text_arrays``; what was a token's piece is its name."""
    names = ("table", "ends", "tokens", "words", "word_of_token")
    if any(prefix + name not in arrays for name in names):
        raise FileError(f"the file promises the tokens {prefix!r}, but does not hold them.")
    table, ends, tokens, words, of_token = (np.asarray(arrays[prefix + name]) for name in names)
    content, start, strings = table.tobytes(), 0, []
    for end in ends.tolist():
        strings.append(content[start:end].decode("utf-8", "surrogatepass"))
        start = end
    named, spoken = (tuple(strings[i] for i in x.tolist()) for x in (tokens, words))
    return TokenizedText(named, named, spoken, tuple(of_token.tolist()))
