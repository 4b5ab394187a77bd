"""What a survey is of, written before it starts, so that the same command can go on with it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from regard.corpus.batching import Choice
from regard.corpus.models import ModelPlace
from regard.corpus.shards import DOCUMENTS, HEADS, SUMS, Shards, write_whole
from regard.corpus.sources import Source, fingerprint
from regard.errors import ArgumentError, FileError

MANIFEST, REPORT, PAGE, FAILED = "manifest.json", "report.json", "report.html", "failed.parquet"
LOCK = ".lock"
FORMAT = "regard survey 1"
_SAID = {
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
    def of(cls, sources: list[Source], place: ModelPlace, choice: Choice) -> Manifest:
        """Read all files once."""
        arguments = {**asdict(choice), "window": place.window}
        return cls(fingerprint(sources), model_fingerprint(place.files()), arguments)


def model_fingerprint(folder: Path) -> str:
    """A digest of all that a model's folder holds, names included."""
    whole = hashlib.blake2b(digest_size=16)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, partial(hashlib.blake2b, digest_size=16))
        whole.update(f"{path.relative_to(folder)}\n{digest.hexdigest()}\n".encode())
    return whole.hexdigest()


def begin(folder: Path, manifest: Manifest, restart: bool) -> set[int]:
    """Make ready to write; the batches that an earlier run of the same survey has finished."""
    path, shards = folder / MANIFEST, Shards(folder)
    if restart and path.is_file():
        _clear(folder)
    if not path.is_file():
        write_whole(path, json.dumps(asdict(manifest), indent=1).encode())
        return set()
    _check_same(folder, manifest, load_manifest(path))
    for draft in shards.drafts():
        draft.unlink(missing_ok=True)
    return shards.finished()


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a folder as long as a survey writes there; the system lets go of it at any end."""
    if folder.exists() and not folder.is_dir():
        raise ArgumentError(f"out needs a folder, but {str(folder)!r} is a file.")
    _check_free(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if importlib.util.find_spec("fcntl") is None:
        yield
        return
    import fcntl

    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ArgumentError(
                f"another survey is writing to {str(folder)!r}: wait for it, or give another --out."
            ) from None
        yield


def load_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest as it stands."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError(f"{str(path)!r} cannot be read as a survey's manifest: {error}.") from None
    return held if isinstance(held, dict) else {}


def _check_same(folder: Path, manifest: Manifest, held: dict[str, Any]) -> None:
    now = asdict(manifest)
    changed = [said for name, said in _SAID.items() if held.get(name) != now[name]]
    if changed:
        raise ArgumentError(
            f"{str(folder)!r} holds a survey of something else: {' and '.join(changed)}. Give "
            "another --out, or --restart to throw away what is there."
        )


def _check_free(folder: Path) -> None:
    if not folder.exists() or (folder / MANIFEST).is_file():
        return
    own = {HEADS, DOCUMENTS, SUMS, LOCK}
    others = [path.name for path in folder.iterdir() if path.name not in own]
    if others:
        raise ArgumentError(
            f"out needs a new or empty folder, or one of an earlier survey, but {str(folder)!r} "
            f"holds {sorted(others)[0]!r} and no {MANIFEST}: give another --out."
        )


def _clear(folder: Path) -> None:
    """Take away what a survey wrote, and nothing else; the manifest goes last."""
    for path in Shards(folder).every_file():
        path.unlink()
    for name in (REPORT, PAGE, FAILED, MANIFEST):
        (folder / name).unlink(missing_ok=True)
