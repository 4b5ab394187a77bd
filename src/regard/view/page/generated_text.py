"""Generated tokens of a watched run, told apart from the prompt on both sides of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from regard.errors import count
from regard.watcher.seen import Seen


def mark_generated(part: dict[str, Any], seen: Seen) -> None:
    """Set ``generated`` of both sides of a part: its first token and word; None without any."""
    name, query, key = part["name"], part["query"], part["key"]
    # Queries after a cache that was filled before the run do not begin where the text does.
    is_text = name == "cross" or len(query["tokens"]) == len(key["tokens"])
    query["generated"] = first_generated(query, seen.prompt_tokens(name)) if is_text else None
    keys = "encoder" if name == "cross" else name
    given = seen.prompt_tokens(keys) if keys in seen.parts else None
    key["generated"] = first_generated(key, given)


def first_generated(side: Mapping[str, Any], given: int | None) -> dict[str, int] | None:
    """The first token and the first word that the model generated; None where there is none.

    A word that the prompt began is the prompt's.

    >>> first_generated({"word_of_token": [0, 1, 1, 2]}, 2)
    {'token': 2, 'word': 2}
    """
    words = side["word_of_token"]
    if given is None or not 0 < given < len(words):
        return None
    began = words[given - 1] == words[given]
    return {"token": given, "word": words[given] + began}


def authorship(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence on what was given and what was generated, where anything was."""
    for part in parts:
        side = part["query"]
        if side["generated"]:
            given = side["generated"]["token"]
            return [
                f"The model generated {count(len(side['tokens']) - given, 'token')}, in italics; "
                f"it was given {count(given, 'token')} before them."
            ]
    return []
