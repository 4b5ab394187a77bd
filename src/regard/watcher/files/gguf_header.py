"""The header of a .gguf file: what it says about its tokenizer."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, BinaryIO

from regard.errors import FileError

NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q",
           11: "<q", 12: "<d"}  # fmt: skip
STRING, ARRAY = 8, 9
# Of a file that does not say it, llama.cpp reads these with a beginning-of-text token.
WITH_BEGINNING = frozenset({"llama", "llama-bpe"})


def asks_for_beginning(path: Path) -> bool:
    """Whether a text begins with the beginning-of-text token, as the header of a file says."""
    header = read_header(path)
    kinds = {header.get(f"tokenizer.ggml.{name}") for name in ("model", "pre")}
    default = bool(kinds & WITH_BEGINNING)
    return bool(header.get("tokenizer.ggml.add_bos_token", default))


def read_header(path: Path) -> dict[str, Any]:
    """The fields of a header that are one number or one string; arrays are skipped."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise FileError(f"{path} needs to be a .gguf file, but it does not begin as one.")
            _read(file, "<I")
            _read(file, "<Q")
            fields = (_field(file) for _ in range(_read(file, "<Q")))
            return {name: value for name, value in fields if value is not None}
    except (EOFError, struct.error, UnicodeDecodeError, OverflowError):
        raise FileError(f"{path} needs a header of a .gguf file, but it is cut short.") from None


def with_beginning(tokenizer: Any) -> Any:
    """A tokenizer that puts the beginning-of-text token before every text, once."""
    begins = tokenizer("a")["input_ids"][:1] == [tokenizer.bos_token_id]
    if not begins and tokenizer.bos_token_id is not None:
        tokenizer.add_bos_token = True
        tokenizer.update_post_processor()
    return tokenizer


def _field(file: BinaryIO) -> tuple[str, Any]:
    name, kind = _string(file), _read(file, "<I")
    return name, _value(file, kind)


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == STRING:
        return _string(file)
    if kind != ARRAY:
        return _read(file, NUMBERS.get(kind, "?<"))
    inner, length = _read(file, "<I"), _read(file, "<Q")
    if inner in NUMBERS:
        file.seek(struct.calcsize(NUMBERS[inner]) * length, 1)
    else:
        for _ in range(length):
            _value(file, inner)
    return None


def _string(file: BinaryIO) -> str:
    return _bytes(file, _read(file, "<Q")).decode("utf-8")


def _read(file: BinaryIO, form: str) -> Any:
    return struct.unpack(form, _bytes(file, struct.calcsize(form)))[0]


def _bytes(file: BinaryIO, number: int) -> bytes:
    content = file.read(number)
    if len(content) < number:
        raise EOFError
    return content
