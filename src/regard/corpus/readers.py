"""Documents of a corpus: files found, and read as lines, JSON lines, Parquet or complete files."""

from __future__ import annotations

import glob
import gzip
import hashlib
import importlib.util
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from regard.errors import ArgumentError, BackendError, FileError

INSTALL_HINT = "pip install 'regard[survey]'"


def need(package: str) -> None:
    """Raise a BackendError that says how to install a missing package."""
    if importlib.util.find_spec(package) is None:
        raise BackendError(f"this survey needs {package}, which is not installed: {INSTALL_HINT}.")


def open_parquet(path: str | Path) -> Any:
    """An open Parquet file, checked as it is read; a FileError where it is not one."""
    need("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except pa.ArrowInvalid as error:
        raise FileError(f"{str(path)!r} cannot be read as a Parquet file: {error}") from None


def column_bytes(path: str, column: str) -> Iterator[Any]:
    """The entries of one column: text as its bytes, which need not be UTF-8, the rest as it is."""
    import pyarrow as pa

    for batch in open_parquet(path).iter_batches(1024, columns=[column]):
        entries = batch.column(0)
        if pa.types.is_string(entries.type) or pa.types.is_large_string(entries.type):
            entries = entries.cast(pa.large_binary())
        yield from entries.to_pylist()


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
            "a survey needs a corpus: name a text file with one document a "
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
        raise FileError(f"{source.path!r} cannot be read: {error.strerror or error}.") from None


def _sources(entry: str, field: str) -> Iterator[CorpusFile]:
    paths = [entry] if os.path.exists(entry) else sorted(glob.glob(entry, recursive=True))
    if not paths:
        raise FileError(
            f"No such file: {entry!r}. Check the path, and "
            "quote a pattern so that regard expands it."
        )
    for path in paths:
        if os.path.isdir(path):
            yield from _folder(Path(path), field)
        else:
            yield CorpusFile(path, _kind(path) or LINES, field)


def _folder(folder: Path, field: str) -> Iterator[CorpusFile]:
    """Files of a folder, a document each except .jsonl and .parquet; hidden files are skipped."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    visible = [x for x in files if not any(y.startswith(".") for y in x.relative_to(folder).parts)]
    if not visible:
        raise FileError(f"no files in the folder {str(folder)!r}.")
    for path in visible:
        yield CorpusFile(str(path), _kind(path.name) or TEXT, field)


def _kind(path: str) -> str:
    name = path.lower().removesuffix(".gz")
    if name.endswith((".jsonl", ".ndjson")):
        return JSONL
    return PARQUET if name.endswith((".parquet", ".pq")) else ""


MAX_DOCUMENT_BYTES = 2**20  # a longer document is most likely not text
BLOCK_BYTES = 2**20
TOO_LARGE_FAULT = f"it is larger than {MAX_DOCUMENT_BYTES:,} bytes"
_TRUNCATION_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)
Entry = tuple[str, str]  # a text and "", or "" and the reason why it cannot be read


def count(source: CorpusFile) -> int:
    """The number of documents in a file, without decoding them."""
    if source.kind == TEXT:
        return 1
    if source.kind == PARQUET:
        return int(open_parquet(source.path).metadata.num_rows)
    return _count_lines(source)


def read(source: CorpusFile) -> Iterator[Entry]:
    """The documents of a file, one after the other."""
    return READERS[source.kind](source)


def _count_lines(source: CorpusFile) -> int:
    lines, last = 0, b"\n"
    with _opened(source) as file:
        try:
            for block in iter(partial(file.read, BLOCK_BYTES), b""):
                lines, last = lines + block.count(b"\n"), block[-1:]
        except _TRUNCATION_ERRORS:
            return lines + 1
    return lines + (last != b"\n")


def _opened(source: CorpusFile) -> IO[bytes]:
    if source.path.endswith(".gz"):
        return cast(IO[bytes], gzip.open(source.path))
    return open(source.path, "rb")


def _read_lines(source: CorpusFile) -> Iterator[Entry]:
    return map(_decoded, _raw_lines(source))


def _raw_lines(source: CorpusFile) -> Iterator[bytes | str]:
    """Each line's bytes, or the reason why it cannot be read; never more than the limit."""
    with _opened(source) as file:
        try:
            while line := file.readline(MAX_DOCUMENT_BYTES + 1):
                if len(line) > MAX_DOCUMENT_BYTES:
                    _skip_line(file, line)
                    yield TOO_LARGE_FAULT
                else:
                    yield line
        except _TRUNCATION_ERRORS as error:
            yield f"the compressed file breaks off here ({error})"


def _skip_line(file: IO[bytes], line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = file.readline(BLOCK_BYTES)


def _read_file(source: CorpusFile) -> Iterator[Entry]:
    with _opened(source) as file:
        try:
            text = file.read(MAX_DOCUMENT_BYTES + 1)
        except _TRUNCATION_ERRORS as error:
            yield "", f"the compressed file breaks off ({error})"
            return
    yield _decoded(TOO_LARGE_FAULT if len(text) > MAX_DOCUMENT_BYTES else text)


def _read_jsonl(source: CorpusFile) -> Iterator[Entry]:
    for text, fault in _read_lines(source):
        yield ("", fault) if fault else _field(text, source.field)


def _field(line: str, field: str) -> Entry:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return "", f"it is not JSON ({error})"
    if not isinstance(record, dict) or field not in record:
        return "", f"it has no field {field!r}"
    return _checked(record[field])


def _read_parquet(source: CorpusFile) -> Iterator[Entry]:
    names = open_parquet(source.path).schema_arrow.names
    if source.field not in names:
        raise FileError(
            f"{source.path!r} has no column {source.field!r}; it has {', '.join(names)}: choose "
            "one with --field."
        )
    for entry in column_bytes(source.path, source.field):
        yield _decoded(entry) if isinstance(entry, bytes) else _checked(entry)


def _decoded(line: bytes | str) -> Entry:
    """The text of a line's bytes; a str is the reason why there are none."""
    if isinstance(line, str):
        return "", line
    try:
        return _checked(line.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        return "", f"byte {line[error.start]:#04x} at position {error.start} is not UTF-8"


def _checked(text: Any) -> Entry:
    if not isinstance(text, str):
        return "", f"it must be text, got {type(text).__name__}"
    if len(text) > MAX_DOCUMENT_BYTES:
        return "", TOO_LARGE_FAULT
    text = text.strip()
    if not text:
        return "", "it is empty"
    if _has_surrogates(text):
        return "", "it has a lone surrogate, half of a character"
    return text, ""


def _has_surrogates(text: str) -> bool:
    """Whether a text has lone surrogates, which JSON can express and UTF-8 cannot."""
    return not text.isascii() and any("\ud800" <= x <= "\udfff" for x in text)


READERS: dict[str, Callable[[CorpusFile], Iterator[Entry]]] = {
    LINES: _read_lines,
    JSONL: _read_jsonl,
    PARQUET: _read_parquet,
    TEXT: _read_file,
}


class Document(NamedTuple):
    """One document: number in the corpus, file, entry of the file from 1, text or its fault."""

    number: int
    source: str
    entry: int
    text: str
    fault: str = ""


def count_documents(sources: Iterable[CorpusFile]) -> int:
    """The number of documents, without decoding them."""
    total = 0
    for source in sources:
        with named_errors(source):
            total += count(source)
    return total


def documents(sources: Iterable[CorpusFile]) -> Iterator[Document]:
    """Every document of every file, numbered from 0."""
    number = 0
    for source in sources:
        with named_errors(source):
            for entry, (text, fault) in enumerate(read(source), 1):
                yield Document(number, source.path, entry, text, fault)
                number += 1
