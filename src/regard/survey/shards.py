"""Finished batches on disk, each written whole or not at all."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import FileError
from regard.survey.measured import Measured
from regard.survey.tables import as_bytes, documents_table, heads_table, read_columns

HEADS, DOCUMENTS, SUMS = "heads", "documents", "sums"  # heads last: it says that all is there
SUFFIX = {HEADS: "parquet", DOCUMENTS: "parquet", SUMS: "npz"}


@dataclass(frozen=True)
class Shard:
    """One batch, ready to be written: its number, its documents, and the bytes of its files."""

    number: int
    documents: int
    failed: int
    files: dict[str, bytes]


def packed(found: Measured) -> Shard:
    """What a worker sends home."""
    sums = io.BytesIO()
    np.savez_compressed(sums, allow_pickle=False, **found.sums)
    return Shard(
        found.number,
        len(found.documents) + len(found.failed),
        len(found.failed),
        {
            SUMS: sums.getvalue(),
            DOCUMENTS: as_bytes(documents_table(found)),
            HEADS: as_bytes(heads_table(found)),
        },
    )


class Shards:
    """The shards of one survey, in folders that any Parquet reader takes as a table each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, kind: str, number: int) -> Path:
        """Where a batch's file of one kind is."""
        return self.folder / kind / f"part-{number:07d}.{SUFFIX[kind]}"

    def finished(self) -> set[int]:
        """The batches that are there, whole."""
        names = (self.folder / HEADS).glob(f"part-*.{SUFFIX[HEADS]}")
        return {int(path.stem.removeprefix("part-")) for path in names}

    def write(self, shard: Shard) -> None:
        """Write a batch; until its last file has its name it does not count."""
        for kind in (SUMS, DOCUMENTS, HEADS):
            write_whole(self.path(kind, shard.number), shard.files[kind])

    def columns(self, kind: str, number: int, names: list[str]) -> dict[str, Any]:
        """Some columns of one batch."""
        return read_columns(self.path(kind, number), names)

    def sums(self, number: int) -> dict[str, Any]:
        """What a batch added up."""
        path = self.path(SUMS, number)
        try:
            with np.load(path, allow_pickle=False) as held:
                return {name: held[name] for name in held.files}
        except (OSError, ValueError) as error:
            raise FileError(
                f"{str(path)!r} needs to be what a survey wrote, but it cannot be read ({error}): "
                "delete the part of this number under heads/ and run the survey again."
            ) from None

    def every_file(self) -> Iterator[Path]:
        """Whatever the shards consist of."""
        for kind, suffix in SUFFIX.items():
            yield from (self.folder / kind).glob(f"part-*.{suffix}")
        yield from self.drafts()

    def drafts(self) -> Iterator[Path]:
        """What a run left behind that was killed while it wrote."""
        for kind in SUFFIX:
            yield from (self.folder / kind).glob(".part-*.draft")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is never there in part."""
    with whole_file(path) as draft:
        draft.write_bytes(content)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write a file; it gets its name once it is written and on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")  # readers skip dotted names
    yield draft
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    draft.replace(path)
