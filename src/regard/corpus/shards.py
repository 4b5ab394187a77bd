"""Finished batches on disk as Parquet shards, each written completely or not at all."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.atomic_write import write_bytes
from regard.corpus.batches import RECORDED_CHARACTERS, BatchMeasures
from regard.corpus.readers import open_parquet
from regard.corpus.windows import MEASURE_NAMES
from regard.errors import FileError
from regard.typing import Array


def heads_table(batch: BatchMeasures) -> Any:
    """One row for each document and head."""
    import pyarrow as pa

    documents, heads = batch.means_mnh.shape[1:]
    numbers = np.array([document.number for document in batch.documents], np.int64)
    columns = {
        "document": np.repeat(numbers, heads),
        "part": pa.DictionaryArray.from_arrays(*_parts(batch, documents)),
        "layer": np.tile(np.array([x.layer for x in batch.heads], np.int16), documents),
        "head": np.tile(np.array([x.head for x in batch.heads], np.int16), documents),
    }
    for name, means_nh in zip(MEASURE_NAMES, batch.means_mnh, strict=True):
        columns[name] = pa.array(means_nh.reshape(-1), from_pandas=True)  # nan becomes null
    columns["distance"] = _lists(batch.distance_nhb)
    pieces = pa.array(batch.pieces, pa.string())
    tokens = batch.most_token_nhx.reshape(-1).astype(np.int32)
    texts = pieces.take(pa.array(tokens, mask=tokens < 0))
    columns["most_received"] = _list_array(texts, batch.most_token_nhx.shape[-1])
    columns["most_received_position"] = _lists(batch.most_position_nhx)
    columns["most_received_share"] = _lists(batch.most_share_nhx)
    return pa.table(columns)


def documents_table(batch: BatchMeasures) -> Any:
    """One row for each document; ``failed`` says why one could not be read."""
    import pyarrow as pa

    tokens = dict(zip((x.number for x in batch.documents), batch.tokens_n.tolist(), strict=True))
    windows = dict(zip(tokens, batch.windows_n.tolist(), strict=True))
    every = sorted((*batch.documents, *batch.failed), key=lambda x: x.number)
    return pa.table(
        {
            "document": pa.array([x.number for x in every], pa.int64()),
            "source": pa.array([_writable(x.source) for x in every]).dictionary_encode(),
            "entry": pa.array([x.entry for x in every], pa.int64()),
            "tokens": pa.array([tokens.get(x.number) for x in every], pa.int32()),
            "windows": pa.array([windows.get(x.number) for x in every], pa.int32()),
            "text": pa.array([x.text[:RECORDED_CHARACTERS] for x in every], pa.string()),
            "failed": pa.array([x.fault or None for x in every], pa.string()),
        }
    )


def write_failed(path: Path, parts: Iterable[dict[str, Any]]) -> None:
    """failed.parquet, part by part: number, file, entry and reason of every document left out."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        [
            ("document", pa.int64()),
            ("source", pa.string()),
            ("entry", pa.int64()),
            ("reason", pa.string()),
        ]
    )
    with pq.ParquetWriter(path, schema) as file:
        for columns in parts:
            file.write_table(pa.table(columns, schema))


def as_bytes(table: Any) -> bytes:
    """A table as a Parquet file."""
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd", write_page_checksum=True)
    return file.getvalue()


def read_columns(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Some columns of a Parquet file, numbers as arrays (nan for null), the rest as lists."""
    table = open_parquet(path).read(columns=list(names))
    return {name: _column(table.column(name)) for name in names}


def _column(column: Any) -> Any:
    import pyarrow as pa

    array = column.combine_chunks()
    if pa.types.is_fixed_size_list(array.type):
        flat = array.flatten().to_numpy(zero_copy_only=False)
        return flat.reshape(-1, array.type.list_size)
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return array.to_numpy(zero_copy_only=False)
    return array.to_pylist()


def _parts(batch: BatchMeasures, documents: int) -> tuple[Array, list[str]]:
    names = list(dict.fromkeys(head.part for head in batch.heads))
    index = np.array([names.index(head.part) for head in batch.heads], np.int32)
    return np.tile(index, documents), names


def _lists(values_nhx: Array) -> Any:
    import pyarrow as pa

    return _list_array(pa.array(values_nhx.reshape(-1)), values_nhx.shape[-1])


def _list_array(flat: Any, size: int) -> Any:
    import pyarrow as pa

    return pa.FixedSizeListArray.from_arrays(flat, size)


def _writable(text: str) -> str:
    """Text in UTF-8; file names may hold bytes that are not."""
    return text.encode("utf-8", "replace").decode()


# Written in this order reversed: the file of heads is the last, and marks its batch as finished.
HEADS, DOCUMENTS, SUMS = "heads", "documents", "sums"
CHECKSUM = "crc32."  # of the files of both tables, among the sums; an older survey has none
PART_NAME = re.compile(r"part-(\d{7,})")
SUFFIX = {HEADS: "parquet", DOCUMENTS: "parquet", SUMS: "npz"}


@dataclass(frozen=True)
class Shard:
    """The files of one batch, not yet written: bytes by kind, and how many documents they have."""

    number: int
    documents: int
    failed: int
    files: dict[str, bytes]


def pack(batch: BatchMeasures) -> Shard:
    """The files of a batch in memory, as a worker sends them to the process that writes."""
    tables = {DOCUMENTS: as_bytes(documents_table(batch)), HEADS: as_bytes(heads_table(batch))}
    checksums = {f"{CHECKSUM}{kind}": zlib.crc32(table) for kind, table in tables.items()}
    sums = io.BytesIO()
    np.savez_compressed(sums, allow_pickle=False, **batch.sums, **checksums)
    every = len(batch.documents) + len(batch.failed)
    return Shard(batch.number, every, len(batch.failed), {SUMS: sums.getvalue(), **tables})


@contextmanager
def part_errors(path: Path) -> Iterator[None]:
    """Whatever a damaged, lost or foreign file of a survey causes, as a FileError that names it."""
    try:
        yield
    except Exception as error:  # zipfile alone raises seven kinds
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise FileError(
            f"{str(path)!r} cannot be read as a file of a survey ({reason.rstrip('.')}): delete "
            "the part of this number under heads/ and run the survey again."
        ) from None


class Shards:
    """The shards of one survey, in folders that any Parquet reader takes as a table each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, kind: str, number: int) -> Path:
        return self.folder / kind / f"part-{number:07d}.{SUFFIX[kind]}"

    def finished(self) -> set[int]:
        names = (self.folder / HEADS).glob(f"part-*.{SUFFIX[HEADS]}")
        found = (PART_NAME.fullmatch(path.stem) for path in names)
        return {int(name[1]) for name in found if name}

    def write(self, shard: Shard) -> None:
        """Write a batch; until its last file has its name it does not count."""
        for kind in (SUMS, DOCUMENTS, HEADS):
            path = self.path(kind, shard.number)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, shard.files[kind])

    def columns(self, kind: str, number: int, names: list[str]) -> dict[str, Any]:
        path = self.path(kind, number)
        with part_errors(path):
            return read_columns(path, names)

    def sums(self, number: int) -> dict[str, Any]:
        """The sums of a batch over its documents, once its other files fit their checksums."""
        path = self.path(SUMS, number)
        with part_errors(path):
            content = io.BytesIO(path.read_bytes())  # NumPy would leave a damaged file open
            sums = dict(np.load(content, allow_pickle=False))
        for kind in (DOCUMENTS, HEADS):
            path = self.path(kind, number)
            with part_errors(path):
                checksum = sums.pop(f"{CHECKSUM}{kind}", None)
                if checksum is not None and zlib.crc32(path.read_bytes()) != checksum:
                    raise ValueError("its bytes are not those that were written")
        return sums

    def every_file(self) -> Iterator[Path]:
        for kind, suffix in SUFFIX.items():
            yield from (self.folder / kind).glob(f"part-*.{suffix}")
        yield from self.drafts()

    def drafts(self) -> Iterator[Path]:
        """Unfinished files of a run that was killed while it wrote."""
        for kind in SUFFIX:
            yield from (self.folder / kind).glob(".part-*.draft")
