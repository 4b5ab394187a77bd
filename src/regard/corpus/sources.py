"""Files of a corpus: paths, folders and patterns resolved, each with its format."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from regard.errors import ArgumentError, FileError

LINES, JSONL, PARQUET, TEXT = "lines", "jsonl", "parquet", "text"


@dataclass(frozen=True)
class CorpusFile:
    """One file of a corpus and its format; ``field`` names the text in JSONL and Parquet."""

    path: str
    kind: str
    field: str = "text"


def find_sources(corpus: Sequence[str | os.PathLike[str]], field: str = "text") -> list[CorpusFile]:
    """The files of a corpus, in the order given; globs and folders are sorted by name.

    A file holds one document a line (.jsonl and .parquet: one an entry), a folder one document a
    file.
    """
    sources = [source for entry in corpus for source in _sources(os.fspath(entry), field)]
    if not sources:
        raise ArgumentError(
            "a survey needs a corpus, but none was given: name a text file with one document a "
            "line, a folder of text files, a .jsonl or a .parquet file."
        )
    return sources


def fingerprint(sources: Iterable[CorpusFile]) -> str:
    """A digest of what the files hold and of how they are read, whatever they are called."""
    digests = hashlib.blake2b(digest_size=16)
    for source in sources:
        with named_errors(source), open(source.path, "rb") as file:
            digest = hashlib.file_digest(file, partial(hashlib.blake2b, digest_size=16))
        field = source.field if source.kind in (JSONL, PARQUET) else ""
        digests.update(f"{source.kind}\n{field}\n{digest.hexdigest()}\n".encode())
    return digests.hexdigest()


@contextmanager
def named_errors(source: CorpusFile) -> Iterator[None]:
    """An OSError of the block as a FileError that names the file."""
    try:
        yield
    except OSError as error:
        raise FileError(
            f"the corpus needs files that can be read, but {source.path!r} cannot be: "
            f"{error.strerror or error}."
        ) from None


def _sources(entry: str, field: str) -> Iterator[CorpusFile]:
    paths = [entry] if os.path.exists(entry) else sorted(glob.glob(entry, recursive=True))
    if not paths:
        raise FileError(
            f"the corpus needs files that exist, but there is no {entry!r}: check the path, and "
            "quote a pattern so that regard expands it."
        )
    for path in paths:
        if os.path.isdir(path):
            yield from _folder(Path(path), field)
        else:
            yield CorpusFile(path, _kind(path) or LINES, field)


def _folder(folder: Path, field: str) -> Iterator[CorpusFile]:
    """Every file is a document, but for .jsonl and .parquet; hidden ones are left out."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    visible = [x for x in files if not any(y.startswith(".") for y in x.relative_to(folder).parts)]
    if not visible:
        raise FileError(
            f"the corpus needs a folder with files in it, but {str(folder)!r} has none."
        )
    for path in visible:
        yield CorpusFile(str(path), _kind(path.name) or TEXT, field)


def _kind(path: str) -> str:
    name = path.lower().removesuffix(".gz")
    if name.endswith((".jsonl", ".ndjson")):
        return JSONL
    return PARQUET if name.endswith((".parquet", ".pq")) else ""
