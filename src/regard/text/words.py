"""Names for tokens and words, from a Hugging Face tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.text.tokens import Side

GOES_ON = "##"  # WordPiece marks what goes on; the others mark where a word begins
BEGINS = ("Ġ", "▁", "Ċ", "ĉ")


def side_of_ids(tokenizer: Any, ids: Sequence[int] | None, length: int) -> Side:
    """Tokens and words of some ids; positions in place of names where there is no tokenizer.

    A token that goes on inside a word is written with a plus: 'hung', '+ry'.
    """
    if tokenizer is None or ids is None:
        names = tuple(str(i) for i in range(length))
        return Side(names, names, names, tuple(range(length)))
    pieces = [_piece(tokenizer, int(number)) for number in ids]
    special = set(getattr(tokenizer, "all_special_ids", ()))
    begins = word_starts(pieces, [int(number) in special for number in ids])
    of_token, groups = [], []
    for place, begin in enumerate(begins):
        if begin:
            groups.append([place])
        else:
            groups[-1].append(place)
        of_token.append(len(groups) - 1)
    tokens = [
        _named(tokenizer, pieces[i], first=i == group[0], special=int(ids[i]) in special)
        for group in groups for i in group
    ]  # fmt: skip
    words = [
        _named(tokenizer, *[pieces[i] for i in group], special=int(ids[group[0]]) in special)
        for group in groups
    ]
    return Side(tuple(pieces), tuple(tokens), tuple(words), tuple(of_token))


def word_starts(pieces: Sequence[str], special: Sequence[bool]) -> list[bool]:
    """Whether each piece begins a word; marks and special tokens stand alone.

    >>> word_starts(["hung", "##ry", "."], [False] * 3)
    [True, False, True]
    >>> word_starts(["Ġhung", "ry", "."], [False] * 3)
    [True, False, True]
    """
    marked = any(piece.startswith(BEGINS) for piece in pieces)
    starts, closed = [], True
    for piece, alone in zip(pieces, special, strict=True):
        bare = piece.lstrip("".join(BEGINS))
        mark = bool(bare) and not any(x.isalnum() for x in _text(bare))
        begins = piece.startswith(BEGINS) if marked else not piece.startswith(GOES_ON)
        starts.append(closed or alone or begins or mark)
        closed = alone or mark
    return starts


def _text(piece: str) -> str:
    """A piece of bytes has letters that stand for bytes; those of text are text."""
    return piece.removeprefix(GOES_ON)


def _piece(tokenizer: Any, number: int) -> str:
    if number < 0:
        return "?"
    return str(tokenizer.convert_ids_to_tokens(number))


def _named(tokenizer: Any, *pieces: str, first: bool = True, special: bool = False) -> str:
    if special:
        return pieces[0]
    text = tokenizer.convert_tokens_to_string(list(pieces)).strip() or pieces[0]
    if len(pieces) == 1:
        text = text.removeprefix(GOES_ON) or pieces[0]
    return str(text) if first else f"+{text}"
