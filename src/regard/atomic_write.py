"""Files that are written completely or not at all.

The content goes to a draft in the target's folder, is flushed to disk, and then renamed.
A full disk, an error or a kill in between leaves the old file as it was.

>>> import pathlib, tempfile
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> write_text(folder / "note.txt", "complete")
>>> [path.name for path in folder.iterdir()]
['note.txt']
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from regard.errors import FileError

DRAFT_SUFFIX = ".draft"
# A draft's name stays within the file system's limit even where the target's is at it.
MAX_DRAFT_NAME_CHARACTERS = 40
STALE_DRAFT_SECONDS = 3600.0  # since the last write; nothing is removed that may still be written


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file of bytes, completely or not at all."""
    with replacing(path) as draft:
        draft.write_bytes(data)


def write_text(path: str | Path, text: str) -> None:
    """Write a file of text in UTF-8, completely or not at all; line ends stay as they are.

    Half of a character, which UTF-8 has no bytes for, is written as its escape.
    """
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A draft to write to; it replaces ``path`` when the block ends without an error.

    Parameters
    ----------
    path : str or Path
        The file to make or to replace. A link is followed. A device or a pipe, such as /dev/null,
        cannot be replaced and is written to directly.

    Yields
    ------
    Path
        An empty hidden file in the target's folder, with another suffix.

    Raises
    ------
    FileError
        Where the file cannot be written; the old one is then as it was, and no draft is left.
    """
    target = _target(path)
    special = _is_special(target)
    draft = target if special else _new_draft(path, target)
    mode = stat.S_IMODE(draft.stat().st_mode)
    try:
        yield draft
        if not special:
            # Some libraries put a file of their own, with other permissions, in the draft's place.
            draft.chmod(mode)
            _rename(draft, target)
    except BaseException as error:
        if not special:
            draft.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(draft)):
            raise _cannot(path, _reason(error)) from error
        if type(error).__name__ == "SafetensorError":  # such as a full disk
            raise _cannot(path, f"{str(error).rstrip('.')}. Choose another path") from error
        raise


def check_writable(path: str | Path) -> None:
    """Raise a FileError where ``path`` cannot be written, before the work that fills it is done.

    Examples
    --------
    >>> check_writable("absent/report.html")
    Traceback (most recent call last):
    regard.errors.FileError: absent/report.html cannot be written: its folder does not exist. \
Make the folder, or choose another path.
    """
    target = _target(path)
    if not _is_special(target):
        _new_draft(path, target).unlink()


def _target(path: str | Path) -> Path:
    """The file behind ``path``; raises where it clearly cannot be written."""
    target = Path(os.path.realpath(path))
    try:
        _refuse(path, target)
    except OSError as error:  # such as a name that is too long
        raise _cannot(path, _reason(error)) from error
    return target


def _refuse(path: str | Path, target: Path) -> None:
    if target.is_dir():
        raise _cannot(path, "it is a folder. Add the name of a file")
    if not target.parent.is_dir():
        problem = "is not a folder" if target.parent.exists() else "does not exist"
        raise _cannot(path, f"its folder {problem}. Make the folder, or choose another path")
    if target.exists() and not os.access(target, os.W_OK):
        raise _cannot(path, "the file is read-only. Choose another path")


def _new_draft(path: str | Path, target: Path) -> Path:
    """An empty draft; made by ``os.open``, so that the user's umask decides its permissions."""
    stem = f".{target.name[:MAX_DRAFT_NAME_CHARACTERS]}"
    _remove_stale_drafts(target.parent, stem)
    draft = target.with_name(f"{stem}.{os.getpid()}.{secrets.token_hex(4)}{DRAFT_SUFFIX}")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        raise _cannot(path, _reason(error)) from error
    return draft


def _remove_stale_drafts(folder: Path, stem: str) -> None:
    """Remove what a process that was killed while it wrote the same file left behind."""
    draft_name = re.compile(rf"{re.escape(stem)}\.\d+\.[0-9a-f]{{8}}{re.escape(DRAFT_SUFFIX)}")
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if draft_name.fullmatch(entry.name):
                with suppress(OSError):
                    if time.time() - entry.stat().st_mtime > STALE_DRAFT_SECONDS:
                        os.unlink(entry.path)


def _is_special(target: Path) -> bool:
    return target.exists() and not target.is_file()


def _rename(draft: Path, target: Path) -> None:
    # Without fsync a power cut after the rename could leave an empty file under the good name.
    with draft.open("rb+") as file:
        os.fsync(file.fileno())
    if target.exists():
        shutil.copymode(target, draft)
    draft.replace(target)
    _flush_folder(target.parent)


def _flush_folder(folder: Path) -> None:
    # The rename itself; Windows opens no folders, and some file systems refuse it.
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _reason(error: OSError) -> str:
    return f"{(error.strerror or str(error)).rstrip('.')}. Choose another path"


def _cannot(path: str | Path, why: str) -> FileError:
    return FileError(f"{path} cannot be written: {why}.")
