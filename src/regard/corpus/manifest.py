"""The output folder of a survey: its lock, and the manifest by which the same survey goes on.

The manifest is written before the first batch: fingerprints of corpus and model, and every
argument that numbers depend on.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from regard.atomic_write import write_bytes
from regard.corpus.batches import Sampling
from regard.corpus.models import ModelSpec
from regard.corpus.readers import CorpusFile, fingerprint
from regard.corpus.shards import DOCUMENTS, HEADS, SUMS, Shards
from regard.errors import ArgumentError, FileError

MANIFEST, REPORT, PAGE, FAILED = "manifest.json", "report.json", "report.html", "failed.parquet"
LOCK = ".lock"
FORMAT = "regard survey 2"  # 2: heads are compared without the first token
_CHANGES = {
    "corpus": "the corpus has changed",
    "model": "the model has changed",
    "arguments": "limit, sample, seed, batch or window has changed",
    "format": "another version of regard wrote it",
}


@dataclass(frozen=True)
class Manifest:
    """Fingerprints of corpus and model, and every argument that numbers depend on."""

    corpus: str
    model: str
    arguments: dict[str, Any]
    format: str = FORMAT

    @classmethod
    def from_survey(
        cls, sources: list[CorpusFile], model: ModelSpec, sampling: Sampling
    ) -> Manifest:
        """Read all files once."""
        arguments = {**asdict(sampling), "window": model.window}
        return cls(fingerprint(sources), model_fingerprint(model.files()), arguments)


def model_fingerprint(folder: Path) -> str:
    """A digest of all files of a model's folder, names included, or of its one file."""
    digests = hashlib.blake2b(digest_size=16)
    paths = [folder] if folder.is_file() else folder.rglob("*")
    for path in sorted(path for path in paths if path.is_file()):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, partial(hashlib.blake2b, digest_size=16))
        digests.update(f"{path.relative_to(folder)}\n{digest.hexdigest()}\n".encode())
    return digests.hexdigest()


def begin(folder: Path, manifest: Manifest, restart: bool) -> set[int]:
    """Write the manifest, or check the one of an earlier run; the batches that run finished."""
    path, shards = folder / MANIFEST, Shards(folder)
    if restart and path.is_file():
        _clear(folder)
    if not path.is_file():
        write_bytes(path, json.dumps(asdict(manifest), indent=1).encode())
        return set()
    _check_same(folder, manifest, load_manifest(path))
    for draft in shards.drafts():
        draft.unlink(missing_ok=True)
    return shards.finished()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make the output folder and lock it for one survey; the system drops the lock at any end.

    A folder made for a survey that never began is removed.
    """
    made = _make_folder(folder)
    try:
        with _lock(folder):
            yield
    except BaseException:
        if made:
            _remove_unused(folder)
        raise


def load_manifest(path: Path) -> dict[str, Any]:
    """The content of a manifest, as it is."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError(f"{str(path)!r} cannot be read as a survey's manifest: {error}.") from None
    return content if isinstance(content, dict) else {}


def _make_folder(folder: Path) -> bool:
    """Whether it is new; an error where it cannot be one of a survey."""
    with _path_errors(folder):
        if folder.exists():
            if not folder.is_dir():
                raise ArgumentError(f"out must be a folder, but {str(folder)!r} is a file.")
            _check_free(folder)
            return False
        folder.mkdir(parents=True)
    return True


@contextmanager
def _path_errors(folder: Path) -> Iterator[None]:
    """An error of the system about the folder as one sentence."""
    try:
        yield
    except OSError as error:
        raise ArgumentError(
            f"out cannot be written: {str(folder)!r}: "
            f"{error.strerror or error}. Give another --out."
        ) from None


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    with _path_errors(folder):
        file = (folder / LOCK).open("w")
    with file:
        if importlib.util.find_spec("fcntl") is not None:
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ArgumentError(
                    f"another survey is writing to {str(folder)!r}: wait for it, or give another "
                    "--out."
                ) from None
        yield


def _remove_unused(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if [path.name for path in folder.iterdir()] == [LOCK]:
            (folder / LOCK).unlink()
        folder.rmdir()


def _check_same(folder: Path, manifest: Manifest, earlier: dict[str, Any]) -> None:
    now = asdict(manifest)
    changes = [change for name, change in _CHANGES.items() if earlier.get(name) != now[name]]
    if changes:
        raise ArgumentError(
            f"{str(folder)!r} holds a survey of something else: {' and '.join(changes)}. Give "
            "another --out, or --restart to throw away what is there."
        )


def _check_free(folder: Path) -> None:
    if (folder / MANIFEST).is_file():
        return
    survey_files = {HEADS, DOCUMENTS, SUMS, LOCK}
    others = [path.name for path in folder.iterdir() if path.name not in survey_files]
    if others:
        raise ArgumentError(
            f"out must be a new or empty folder, or one of an earlier survey, but {str(folder)!r} "
            f"holds {sorted(others)[0]!r} and no {MANIFEST}: give another --out."
        )


def _clear(folder: Path) -> None:
    """Remove the files of a survey, and nothing else; the manifest last."""
    for path in Shards(folder).every_file():
        path.unlink()
    for name in (REPORT, PAGE, FAILED, MANIFEST):
        (folder / name).unlink(missing_ok=True)
