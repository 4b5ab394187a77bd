"""Write the pieces of a SentencePiece model as the lines that regard reads.

    cd model && python -m train.pieces tokens.model ../src/regard/transformer/shipped/tokens.txt

SentencePiece's own file is a protocol buffer, which would have to be parsed at every start.
"""

from __future__ import annotations

import base64
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from regard.atomic_write import write_bytes
from regard.errors import FileError
from regard.text.subwords import KINDS, NORMAL, NORMALISATION, UnigramModel
from regard.transformer.checkpoint import TOKENS

UNIGRAM = 1  # TrainerSpec.ModelType
MODEL = "tokens.model"  # SentencePiece's own file, which training needs
SHIPPED = Path(__file__).parents[1] / MODEL  # the shipped model's, not in its folder


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field of a protocol buffer message.

    >>> list(fields(b"\\x08\\x96\\x01\\x12\\x02hi"))
    [(1, 150), (2, b'hi')]
    """
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        kind = tag & 7
        if kind == 0:
            value, position = _varint(data, position)
            yield tag >> 3, value
            continue
        if kind == 2:
            size, position = _varint(data, position)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind}")
        if position + size > len(data):
            raise ValueError("cut short")
        yield tag >> 3, data[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def piece_lines(data: bytes) -> str:
    """The lines of a serialised SentencePiece model; ValueError where it is of another kind."""
    lines: list[str] = []
    charsmap = b""
    for number, value in fields(data):
        if not isinstance(value, bytes):
            continue
        if number == 1:
            lines.append(_line(dict(fields(value))))
        elif number == 2 and dict(fields(value)).get(3, UNIGRAM) != UNIGRAM:
            raise ValueError("not a unigram model")
        elif number == 3:
            charsmap = _charsmap(dict(fields(value)))
    lines.append(NORMALISATION + base64.b64encode(charsmap).decode("ascii"))
    text = "\n".join(lines) + "\n"
    UnigramModel.from_text(text)
    return text


def _line(piece: dict[int, int | bytes]) -> str:
    text, score, kind = piece.get(1, b""), piece.get(2, bytes(4)), piece.get(3, NORMAL)
    if not isinstance(text, bytes) or not isinstance(score, bytes):
        raise ValueError("not a piece")
    # The float32 in full: read as a float64 it is the same number.
    line = f"{text.decode('utf-8')}\t{struct.unpack('<f', score)[0]!r}"
    names = [name for name, number in KINDS.items() if number == kind]
    return "\t".join([line, *names])


def _charsmap(spec: dict[int, int | bytes]) -> bytes:
    """The table of a NormalizerSpec; only SentencePiece's usual treatment of spaces is known."""
    charsmap = spec.get(2, b"")
    if not all(spec.get(number, 1) for number in (3, 4, 5)) or not isinstance(charsmap, bytes):
        raise ValueError("spaces are treated in an unusual way")
    return charsmap


def write_pieces(model: Path, out: Path) -> None:
    """Write the pieces of a SentencePiece model into a file."""
    try:
        lines = piece_lines(model.read_bytes())
    except (ValueError, IndexError, struct.error):
        raise FileError(
            f"{model} must be a SentencePiece unigram model with byte fallback, and it cannot be "
            "read as one: copy or export the model again."
        ) from None
    write_bytes(out, lines.encode("utf-8"))


def sentencepiece_model(folder: Path) -> Path:
    """SentencePiece's file of a trained model, in its folder or that of the shipped model."""
    if (folder / MODEL).is_file():
        return folder / MODEL
    lines = folder / TOKENS
    if lines.is_file() and lines.read_text(encoding="utf-8") == piece_lines(SHIPPED.read_bytes()):
        return SHIPPED
    raise FileError(f"{folder} must have the {MODEL} that its {TOKENS} was made from, to train on.")


if __name__ == "__main__":
    write_pieces(*map(Path, sys.argv[1:3]))
