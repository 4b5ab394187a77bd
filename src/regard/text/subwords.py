"""SentencePiece unigram models, read without the sentencepiece package.

Encoding is a Viterbi search for the pieces with the largest sum of scores; a character that no
piece covers is spelled in bytes. Ids equal SentencePiece's (``tests/text/test_subwords.py``).

The file has one line for each piece, with its score, and its kind if it is no ordinary one. The
last line is the table of normalisations. ``python -m train.pieces`` in ``model/`` writes it from
SentencePiece's own format.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from regard.errors import FileError
from regard.text.tokens import SPACE

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6  # SentencePiece.Type
KINDS = {
    "unknown": UNKNOWN,
    "control": CONTROL,
    "symbol": USER_DEFINED,
    "unused": UNUSED,
    "byte": BYTE,
}
NORMALISATION = "normalisation\t"
UNKNOWN_PENALTY = 10.0  # below the lowest score of all pieces
USER_DEFINED_SCORE = -0.1  # above that of any normal piece
UNKNOWN_SURFACE = " \u2047 "
REPLACEMENT = "\ufffd"
_FLOAT32 = struct.Struct("<f")


def _float32(number: float) -> float:
    """The nearest float32: SentencePiece keeps the best score of each position in one."""
    rounded: float = _FLOAT32.unpack(_FLOAT32.pack(number))[0]
    return rounded


class Normalizer:
    """Replacement of the longest known byte sequences, from a precompiled double-array trie."""

    def __init__(self, charsmap: bytes) -> None:
        size = struct.unpack_from("<I", charsmap)[0] if charsmap else 0
        self._units = struct.unpack_from(f"<{size // 4}I", charsmap, 4) if size else ()
        self._replacements = charsmap[4 + size :]

    def longest_match(self, data: bytes, start: int) -> tuple[str, int] | None:
        """Replacement of the longest known sequence at a position, and its length in bytes."""
        units = self._units
        if not units:
            return None
        node, match = _offset(units[0]), None
        for position in range(start, len(data)):
            node ^= data[position]
            unit = units[node]
            if unit & 0x800000FF != data[position]:
                break
            node ^= _offset(unit)
            if unit >> 8 & 1:
                match = units[node] & 0x7FFFFFFF, position + 1 - start
        if match is None:
            return None
        begin, length = match
        end = self._replacements.index(0, begin)
        return self._replacements[begin:end].decode("utf-8"), length


def _offset(unit: int) -> int:
    return unit >> 10 << ((unit & 0x200) >> 6)


@dataclass(frozen=True)
class UnigramModel:
    """Pieces of a vocabulary with their scores, and the normalisation before them."""

    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    kinds: bytes
    charsmap: bytes = b""

    @classmethod
    def from_file(cls, path: Path) -> UnigramModel:
        if not path.is_file():
            raise FileError(
                f"no pieces at {path}: copy the {path.name} that was made with the parameters into "
                "their folder, or write it from a tokens.model of SentencePiece "
                "(python -m train.pieces, in model/)."
            )
        try:
            return cls.from_text(path.read_text(encoding="utf-8"))
        except ValueError:
            raise FileError(
                f"{path} must list the pieces of a unigram model with byte fallback, and it cannot "
                "be read as such a list: copy or export the model again."
            ) from None

    @classmethod
    def from_text(cls, text: str) -> UnigramModel:
        """Read the lines of a file; ValueError where they are cut or list no such model."""
        *lines, last, end = text.split("\n")
        if end or not last.startswith(NORMALISATION):
            raise ValueError("cut short")
        pieces, scores, kinds = [], [], bytearray()
        for line in lines:
            piece, score, *kind = line.split("\t")
            pieces.append(piece)
            scores.append(float(score))
            kinds.append(KINDS.get(kind[0], 0) if kind else NORMAL)
        if len(set(pieces)) != len(pieces) or kinds.count(BYTE) != 256 or UNKNOWN not in kinds:
            raise ValueError("not a model with byte fallback")
        charsmap = base64.b64decode(last.removeprefix(NORMALISATION), validate=True)
        return cls(tuple(pieces), tuple(scores), bytes(kinds), charsmap)

    @property
    def vocabulary(self) -> int:
        return len(self.pieces)

    def piece(self, token: int) -> str:
        return self.pieces[token]

    def normalise(self, text: str) -> str:
        """NFKC with SentencePiece's additions, single spaces, each written as U+2581."""
        if not (text.isascii() and text.isprintable()):
            text = "".join(self._normalised(text))
        return "".join(SPACE + word for word in text.split(" ") if word).rstrip(SPACE)

    def encode(self, text: str) -> list[int]:
        """Ids of the pieces with the largest total score."""
        text = self.normalise(text)
        ids: list[int] = []
        for start, stop, token in self._best_path(text):
            if token == self._unknown:
                ids.extend(self._byte_ids[byte] for byte in text[start:stop].encode("utf-8"))
            else:
                ids.append(token)
        return ids

    def score(self, text: str) -> float:
        """The sum of the scores of a text's pieces: larger for what is commoner."""
        return sum(self.scores[token] for token in self.encode(text))

    def decode(self, ids: Sequence[int]) -> str:
        """Text of the pieces; bytes that form no character become U+FFFD."""
        text, pending = "", bytearray()
        for token in ids:
            kind = self.kinds[token]
            if kind == BYTE:
                pending.append(int(self.pieces[token][3:5], 16))
                continue
            text += _characters(pending)
            pending.clear()
            if kind == UNKNOWN:
                text += UNKNOWN_SURFACE
            elif kind != CONTROL:
                piece = self.pieces[token]
                text += (piece if text else piece.removeprefix(SPACE)).replace(SPACE, " ")
        return text + _characters(pending)

    @cached_property
    def _unknown(self) -> int:
        return self.kinds.index(UNKNOWN)

    @cached_property
    def _byte_ids(self) -> dict[int, int]:
        return {
            int(self.pieces[i][3:5], 16): i for i, kind in enumerate(self.kinds) if kind == BYTE
        }

    @cached_property
    def _normalizer(self) -> Normalizer:
        return Normalizer(self.charsmap)

    @cached_property
    def _user_defined(self) -> tuple[str, ...]:
        """Pieces that are never normalised or split, the longest first."""
        chosen = (
            p for p, kind in zip(self.pieces, self.kinds, strict=True) if kind == USER_DEFINED
        )
        return tuple(sorted(chosen, key=len, reverse=True))

    @cached_property
    def _normal_scores(self) -> list[float]:
        return [s for s, kind in zip(self.scores, self.kinds, strict=True) if kind == NORMAL]

    @cached_property
    def _lexicon(self) -> dict[str, tuple[int, float]]:
        """Id and score of every piece that text can be cut into."""
        lexicon = {}
        for token, (piece, score, kind) in enumerate(
            zip(self.pieces, self.scores, self.kinds, strict=True)
        ):
            if kind == NORMAL:
                lexicon[piece] = token, score
            elif kind == USER_DEFINED:
                lexicon[piece] = token, USER_DEFINED_SCORE
        return lexicon

    @cached_property
    def _longest(self) -> dict[str, int]:
        """Length of the longest piece that begins with a character."""
        longest: dict[str, int] = {}
        for piece in self._lexicon:
            if len(piece) > longest.get(piece[0], 0):
                longest[piece[0]] = len(piece)
        return longest

    def _normalised(self, text: str) -> Iterator[str]:
        """Text with known sequences replaced, user-defined pieces left as they are."""
        data = text.encode("utf-8", "replace")
        position = 0
        symbols = [symbol.encode("utf-8") for symbol in self._user_defined]
        while position < len(data):
            symbol = next((s for s in symbols if data.startswith(s, position)), None)
            if symbol is not None:
                yield symbol.decode("utf-8")
                position += len(symbol)
                continue
            match = self._normalizer.longest_match(data, position)
            if match is None:
                size = _character_size(data[position])
                match = data[position : position + size].decode("utf-8"), size
            yield match[0]
            position += match[1]

    def _best_path(self, text: str) -> list[tuple[int, int, int]]:
        """Start, stop and id of the best pieces; a character without a piece is unknown."""
        lexicon, longest = self._lexicon, self._longest
        unknown = self._unknown, min(self._normal_scores) - UNKNOWN_PENALTY
        size = len(text)
        # Best score of the text up to each position, and where its last piece starts and its id.
        scores, starts, ids = [-math.inf] * (size + 1), [0] * (size + 1), [0] * (size + 1)
        scores[0] = 0.0
        for start in range(size):
            here = scores[start]
            for stop in range(start + 1, min(start + longest.get(text[start], 1), size) + 1):
                entry = lexicon.get(text[start:stop])
                if entry is None:
                    if stop > start + 1:
                        continue
                    entry = unknown
                score = _float32(entry[1] + here)
                if score > scores[stop]:
                    scores[stop], starts[stop], ids[stop] = score, start, entry[0]
        path, stop = [], len(text)
        while stop > 0:
            path.append((starts[stop], stop, ids[stop]))
            stop = starts[stop]
        return path[::-1]


def _characters(data: bytes | bytearray) -> str:
    """Bytes as characters; each byte that begins none becomes U+FFFD."""
    text, position = "", 0
    while position < len(data):
        size = _character_size(data[position])
        try:
            text += bytes(data[position : position + size]).decode("utf-8")
        except UnicodeDecodeError:
            text, size = text + REPLACEMENT, 1
        position += size
    return text


def _character_size(first: int) -> int:
    """Length in bytes of the UTF-8 character that begins with this byte."""
    return 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
