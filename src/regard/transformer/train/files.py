"""Text files, plain, gz or xz: sentence pairs separated by a tab, or one sentence a line."""

from __future__ import annotations

import gzip
import hashlib
import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from regard.errors import FileError
from regard.transformer.text import plain

Pair = tuple[str, str]

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}


def open_text(path: Path, mode: str = "rt") -> IO[str]:
    """Open a file as UTF-8 text, through gzip or xz when its name ends so."""
    if "r" in mode and not path.is_file():
        raise FileError(f"training needs the file {path}, but it is not there: check its name.")
    opener = _OPENERS.get(path.suffix, open)
    file: IO[str] = opener(path, mode, encoding="utf-8")
    return file


def read_pairs(path: Path) -> list[Pair]:
    """Read `source<TAB>target` lines; columns after the second are ignored."""
    with open_text(path) as file:
        return [_pair(path, number, line) for number, line in enumerate(file, 1) if line.strip()]


def read_sentences(path: Path) -> list[str]:
    """Read one sentence a line, empty lines left out."""
    with open_text(path) as file:
        return [sentence for line in file if (sentence := plain(line))]


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    """Write what `read_pairs` reads; the file appears when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"fresh-{path.name}")
    with open_text(fresh, "wt") as file:
        file.writelines(f"{source}\t{target}\n" for source, target in pairs)
    fresh.replace(path)


def fingerprint(path: Path) -> dict[str, str]:
    """Name and SHA-256 of a file, to say later which text made a model."""
    return {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def both_sides(pairs: Iterable[Pair]) -> Iterator[str]:
    """Sources and targets, one after the other."""
    for source, target in pairs:
        yield source
        yield target


def _pair(path: Path, number: int, line: str) -> Pair:
    columns = line.rstrip("\n").split("\t")
    if len(columns) < 2 or not columns[0].strip() or not columns[1].strip():
        raise FileError(
            f"{path.name} needs source<TAB>target on every line, but line {number} is "
            f"{line.strip()[:60]!r}: add the missing side or remove the line."
        )
    return plain(columns[0]), plain(columns[1])
