"""Tokens grouped into words, for the tokenizers of regard and of Hugging Face."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError, check_choice
from regard.text.segments import CONTINUATION, WORD_END, is_unspaced, token_segments
from regard.text.tokens import MARKS, SPACE, Tokenizer, special_name

UNITS = ("words", "tokens")
WORD_STARTS = ("Ġ", "▁", "Ċ", "ĉ")
LINE_BREAKS = ("Ċ", "ĉ", "č", "\n", "\r", "\t")  # byte-level tokenizers write Ċ
_BLANKS = str.maketrans("", "", "ĠĊĉč▁")
UNDECODED = "\ufffd"  # bytes that are a part of a character
MAX_CHARACTER_PIECES = 4
_MARK = r"\.\.\.|[.,?!;:\"()]"
_WORDS = re.compile(rf"{_MARK}|[^\s.,?!;:\"()]+")
_ELIDED_WORDS = re.compile(rf"{_MARK}|[^\s.,?!;:\"()']*'|[^\s.,?!;:\"()']+")


def split_words(text: str, *, elisions: bool = False) -> list[str]:
    """Words of a normalised sentence as `tokenized_text` groups them, without a tokenizer.

    >>> split_words("It's new, too..."), split_words("L'ami d'Anne.", elisions=True)
    (["It's", 'new', ',', 'too', '...'], ["L'", 'ami', "d'", 'Anne', '.'])
    """
    return (_ELIDED_WORDS if elisions else _WORDS).findall(text)


@dataclass(frozen=True)
class TokenizedText:
    """A text as tokens and as words, and the word that each token belongs to.

    A token that continues inside a word is written with a plus: 'hung', '+ry'. ``segments`` are
    what each token writes of the text, empty where that is not known.
    """

    pieces: tuple[str, ...]
    tokens: tuple[str, ...]
    words: tuple[str, ...]
    word_of_token: tuple[int, ...]
    segments: tuple[str, ...] = ()

    def names(self, by: str) -> tuple[str, ...]:
        """The words or the tokens, as ``by`` says."""
        return self.words if check_choice("by", by, UNITS) == "words" else self.tokens

    @property
    def membership_wt(self) -> NDArray[np.float64]:
        """1 where token t belongs to word w, else 0."""
        words = np.arange(len(self.words))[:, None]
        membership_wt: NDArray[np.float64] = np.equal(words, self.word_of_token).astype(np.float64)
        return membership_wt

    def lines(self) -> dict[str, tuple[int, int]]:
        """The tokens (start, stop) of each line with a word in it, as 'line 1', 'line 2', ...

        A tokenizer that keeps no line breaks, as WordPiece, makes one line of any text.
        """
        breaks = [any(x in piece for x in ("Ċ", "\n", "<0x0A>")) for piece in self.pieces]
        ends = [*np.flatnonzero(breaks).tolist(), len(self.pieces)]
        starts = [0, *(end + 1 for end in ends[:-1])]
        spans = [span for span in zip(starts, ends, strict=True) if span[0] < span[1]]
        return {f"line {number}": span for number, span in enumerate(spans, 1)}

    def span(self, text: str, after: int | None = None) -> tuple[int, int]:
        """The tokens (start, stop) of a piece of the text that stands in it once.

        Blanks and line breaks do not count, and a word that the piece begins or ends in is taken
        whole. With ``after`` it is the first one from that token on.

        >>> words = ("Document", "A", ":", "old", "hills", ".")
        >>> TokenizedText(words, words, words, tuple(range(6))).span("A: old hills")
        (1, 5)
        """
        wanted = "".join(text.split())
        parts = ["" if _is_blank_name(word) else "".join(word.split()) for word in self.words]
        whole, ends = "".join(parts), np.cumsum([len(part) for part in parts])
        words = self.word_of_token[: 0 if after is None else after]
        skipped = int(ends[words[-1]]) if words else 0
        times = whole.count(wanted, skipped) if wanted else 0
        if times != 1 and not (times and after is not None):
            raise ArgumentError(
                f"a span must be (start, stop) in tokens or a text that was read once, got "
                f"{text!r:.80}, which was read {times} times."
            )
        at = whole.index(wanted, skipped)
        first = int(np.searchsorted(ends, at, side="right"))
        last = int(np.searchsorted(ends, at + len(wanted) - 1, side="right"))
        inside = np.flatnonzero([first <= word <= last for word in self.word_of_token])
        return int(inside[0]), int(inside[-1]) + 1


def _is_blank_name(word: str) -> bool:
    return not re.sub(r"\\[nrt]|[Ġ▁]", "", word)


def tokenized_text(
    tokenizer: Tokenizer, ids: Sequence[int], *, elisions: bool = False
) -> TokenizedText:
    """Tokens of a sentence, named and grouped into words.

    With ``elisions`` a word also ends after an apostrophe, as in l' | homme.
    """
    pieces = [tokenizer.piece(i) for i in ids]
    groups = word_groups(pieces, ids, elisions)
    words = [_word_text(tokenizer, [ids[i] for i in group]) for group in groups]
    names = [
        _token_name(special_name(ids[i]) or pieces[i], first=i == group[0])
        for group in groups
        for i in group
    ]
    of_token = [word for word, group in enumerate(groups) for _ in group]
    return TokenizedText(tuple(pieces), tuple(names), tuple(words), tuple(of_token))


def word_groups(
    pieces: Sequence[str], ids: Sequence[int], elisions: bool = False
) -> list[list[int]]:
    """The positions of the pieces of each word; marks and (start), (end) stand alone.

    >>> word_groups(["\u2581hung", "ry", "."], [10, 11, 12])
    [[0, 1], [2]]
    """
    groups: list[list[int]] = []
    closed = True
    for position, (piece, token) in enumerate(zip(pieces, ids, strict=True)):
        alone = piece.lstrip(SPACE) in MARKS or special_name(token) is not None
        if closed or alone or piece.startswith(SPACE):
            groups.append([])
        groups[-1].append(position)
        closed = alone or (elisions and piece.endswith("'"))
    return groups


def to_words(weights_qk: NDArray[Any], queries: TokenizedText, keys: TokenizedText) -> NDArray[Any]:
    """Weights between words: added over the pieces of a key, averaged over those of a query.

    So a row still sums to 1. Leading axes are kept.
    """
    queries_wt, keys_wt = queries.membership_wt, keys.membership_wt
    mean_wt = queries_wt / queries_wt.sum(axis=1, keepdims=True)
    by_words: NDArray[Any] = mean_wt @ weights_qk @ keys_wt.T
    return by_words


def tokenized_ids(
    tokenizer: Any, ids: Sequence[int] | None, length: int, text: str | None = None
) -> TokenizedText:
    """Tokens and words of token ids; their positions as names where there is no tokenizer.

    ``tokenizer`` is one of Hugging Face, or None; ``text`` what it tokenized, where that is known.
    """
    if tokenizer is None or ids is None:
        names = tuple(str(i) for i in range(length))
        return TokenizedText(names, names, names, tuple(range(length)))
    pieces = [
        str(tokenizer.convert_ids_to_tokens(int(token))) if token >= 0 else "?" for token in ids
    ]
    special_ids = set(getattr(tokenizer, "all_special_ids", ()))
    special = [int(token) in special_ids for token in ids]
    texts = _texts(tokenizer, pieces, special)
    of_token, groups = [], []
    for position, starts in enumerate(word_starts(pieces, special, texts)):
        if starts:
            groups.append([position])
        else:
            groups[-1].append(position)
        of_token.append(len(groups) - 1)
    tokens = [
        pieces[i] if special[i] else _token_text(texts[i], pieces[i], first=i == group[0])
        for group in groups
        for i in group
    ]
    words = [_decoded(tokenizer, [pieces[i] for i in group], special[group[0]]) for group in groups]
    segments = token_segments(tokenizer, ids, pieces, special, text)
    return TokenizedText(tuple(pieces), tuple(tokens), tuple(words), tuple(of_token), segments)


def word_starts(
    pieces: Sequence[str], special: Sequence[bool], texts: Sequence[str] | None = None
) -> list[bool]:
    """Whether each piece begins a word; marks, line breaks and special tokens stand alone.

    ``texts`` is what each piece reads as, where that is not the piece itself. Characters of a
    script that writes no spaces are words of their own.

    >>> word_starts(["hung", "##ry", "."], [False] * 3)
    [True, False, True]
    >>> word_starts(["Ġhung", "ry", ".", "Ċ", "You"], [False] * 5)
    [True, False, True, True, True]
    >>> word_starts(["hung", "ry</w>", ".</w>"], [False] * 3)
    [True, False, True]
    """
    ended = any(piece.endswith(WORD_END) for piece in pieces)
    marked = any(piece.startswith(WORD_STARTS) for piece in pieces)
    starts, closed = [], True
    for piece, alone, text in zip(pieces, special, texts or pieces, strict=True):
        bare = text.translate(_BLANKS).removeprefix(CONTINUATION).removesuffix(WORD_END).strip()
        breaks = piece == "<0x0A>" or (
            not bare and any(x in piece or x in text for x in LINE_BREAKS)
        )
        mark = bool(bare) and not any(x.isalnum() or x == UNDECODED for x in bare)
        begins = piece.startswith(WORD_STARTS) if marked else not piece.startswith(CONTINUATION)
        begins = (begins and not ended) or (
            bool(bare) and bare[0] != UNDECODED and is_unspaced(bare[0])
        )
        starts.append(closed or alone or begins or mark or breaks)
        closed = alone or mark or breaks or piece.endswith(WORD_END)
    return starts


def _texts(tokenizer: Any, pieces: Sequence[str], special: Sequence[bool]) -> list[str]:
    """What each piece reads as; of a character in several pieces the first has it, the others ''.

    Byte-level tokenizers split characters of some scripts into bytes, which read as no text.
    """
    read: Any = tokenizer.convert_tokens_to_string
    texts = [
        x if alone else str(read([x])).removesuffix(WORD_END)
        for x, alone in zip(pieces, special, strict=True)
    ]
    position = 0
    while position < len(texts):
        stop = position + 1
        if UNDECODED in texts[position]:
            for end in range(position + 2, min(position + MAX_CHARACTER_PIECES, len(texts)) + 1):
                whole = str(read(list(pieces[position:end])))
                if UNDECODED not in whole:
                    texts[position:end] = [whole] + [""] * (end - position - 1)
                    stop = end
                    break
        position = stop
    return texts


def _token_text(text: str, piece: str, first: bool) -> str:
    """The name of a token: its text, line breaks written as in Python; '+' inside a word."""
    shown = text.strip() or ("…" if not text else _blank_name(text, piece))
    shown = shown.removeprefix(CONTINUATION) or piece
    return shown if first else f"+{shown}"


def _blank_name(text: str, piece: str) -> str:
    return repr(text)[1:-1] if any(x in text for x in "\n\r\t") else piece


def _word_text(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    special = special_name(ids[0])
    if special is not None:
        return special
    text = tokenizer.decode(ids).strip()
    return text or "".join(tokenizer.piece(i) for i in ids)


def _token_name(piece: str, first: bool) -> str:
    text = piece.removeprefix(SPACE) or SPACE
    return text if first or piece.startswith(SPACE) else f"+{text}"


def _decoded(tokenizer: Any, pieces: Sequence[str], special: bool) -> str:
    if special:
        return pieces[0]
    text = str(tokenizer.convert_tokens_to_string(list(pieces))).removesuffix(WORD_END)
    shown = text.strip() or _blank_name(text, pieces[0])
    return shown.removeprefix(CONTINUATION) or pieces[0] if len(pieces) == 1 else shown
