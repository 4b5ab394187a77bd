"""The text of each token: joined they are the text that was read, line breaks and all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from regard.text.tokens import SPACE

CONTINUATION = "##"  # WordPiece
WORD_END = "</w>"  # CLIP marks where words end, not where they begin
CLOSING, OPENING = frozenset(".,!?;:)]}%'’”…"), frozenset("([{$‘“")
UNSPACED = (("\u3040", "\u30ff"), ("\u3400", "\u4dbf"), ("\u4e00", "\u9fff"))
Read = Callable[[list[str]], str]


def token_segments(
    tokenizer: Any,
    ids: Sequence[int],
    pieces: Sequence[str],
    special: Sequence[bool],
    text: str | None = None,
) -> tuple[str, ...]:
    """What each token writes of the text; a special token writes nothing.

    Parameters
    ----------
    tokenizer : one of Hugging Face.
    ids, pieces, special : the tokens, as the tokenizer names them, and whether each is special.
    text : what was tokenized, for the tokenizer's own offsets. Without it byte-level and
        SentencePiece tokens give their text back; WordPiece has forgotten blanks and line breaks.

    A character in several tokens is written by the first, blanks by the token after them.
    """
    known = () if text is None else segments_from_offsets(tokenizer, ids, text)
    read: Read = tokenizer.convert_tokens_to_string
    if len(known) == len(ids):
        return known
    written = ["" if alone else piece for piece, alone in zip(pieces, special, strict=True)]
    if any(piece.endswith(WORD_END) for piece in written):
        found = _spaced(_as_continuations(written, read))
    elif read(["a\u0120b"]) == "a b":
        found = _from_bytes([_bytes_of_letters(piece) for piece in written])
    elif any(SPACE in piece for piece in written):
        found = _from_bytes([_bytes_of_piece(piece) for piece in written])
        if read([f"{SPACE}a"]) == "a":  # the blank that the tokenizer put before the text
            first = next((at for at, segment in enumerate(found) if segment), 0)
            found[first] = found[first].removeprefix(" ")
    else:
        found = _spaced(written)
    return (*known, *found[len(known) :])


def _as_continuations(pieces: Sequence[str], read: Read) -> list[str]:
    """Pieces whose words' ends are marked, with their continuations marked instead."""
    inside = [False, *(bool(x) and not x.endswith(WORD_END) for x in pieces[:-1])]
    texts = [read([piece]).removesuffix(WORD_END) if piece else "" for piece in pieces]
    return [
        CONTINUATION + text if goes_on and text else text
        for text, goes_on in zip(texts, inside, strict=True)
    ]


def segments_from_offsets(tokenizer: Any, ids: Sequence[int], text: str) -> tuple[str, ...]:
    """Segments of the tokens of ``text``, with which ``ids`` begin; () where they do not."""
    for whole in (True, False):
        try:
            encoded = tokenizer(
                text, return_offsets_mapping=True, add_special_tokens=whole, verbose=False
            )
        except NotImplementedError:  # a tokenizer written in Python counts no offsets
            return ()
        own = [int(token) for token in encoded["input_ids"]]
        if own and own == [int(token) for token in ids[: len(own)]]:
            return _cut(text, [int(stop) for _, stop in encoded["offset_mapping"]])
    return ()


def _cut(text: str, stops: list[int]) -> tuple[str, ...]:
    """The text up to each stop; what is left goes to the last token that has any."""
    segments, end = [], 0
    for stop in stops:
        segments.append(text[end:stop])
        end = max(end, stop)
    last = max((at for at, segment in enumerate(segments) if segment), default=len(stops) - 1)
    segments[last] += text[end:]
    return tuple(segments)


@cache
def byte_letters() -> dict[str, int]:
    """The byte that each letter of a byte-level token stands for (GPT-2's table).

    >>> byte_letters()["\u0120"], byte_letters()["a"]
    (32, 97)
    """
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {
        chr(256 + at): byte for at, byte in enumerate(hidden)
    }


def _bytes_of_letters(piece: str) -> bytes:
    table = byte_letters()
    if all(letter in table for letter in piece):
        return bytes(table[letter] for letter in piece)
    return piece.encode("utf-8", "replace")  # a token that was added as text


def _bytes_of_piece(piece: str) -> bytes:
    if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
        return bytes.fromhex(piece[3:5])
    return piece.replace(SPACE, " ").encode("utf-8", "replace")


def _from_bytes(parts: Sequence[bytes]) -> list[str]:
    """The characters whose first byte lies in each part; bytes that are no text are \\ufffd.

    >>> _from_bytes([b"a\\xe6", b"\\x97\\xa5b"])
    ['a日', 'b']
    """
    # A surrogate stands for one byte that is no text, so that positions stay those of bytes.
    characters = b"".join(parts).decode("utf-8", "surrogateescape")
    segments, at, position, end = [], 0, 0, 0
    for part in parts:
        end += len(part)
        start = at
        while position < end:
            position += len(characters[at].encode("utf-8", "surrogateescape"))
            at += 1
        segment = characters[start:at]
        segments.append("".join("\ufffd" if "\udc80" <= x <= "\udcff" else x for x in segment))
    return segments


def _spaced(pieces: Sequence[str]) -> list[str]:
    """Words with a blank before them, except where marks and unspaced scripts have none."""
    segments: list[str] = []
    before = ""
    for piece in pieces:
        text = piece.removeprefix(CONTINUATION)
        joined = text != piece or not before or not text or text[0] in CLOSING
        joined = joined or before in OPENING or (is_unspaced(text[0]) and is_unspaced(before))
        segments.append(text if joined else f" {text}")
        before = text[-1:] or before
    return segments


def is_unspaced(character: str) -> bool:
    """Whether a character is of a script without spaces between words: Chinese, Japanese."""
    return any(low <= character <= high for low, high in UNSPACED)
