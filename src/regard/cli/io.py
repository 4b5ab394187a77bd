"""Arguments and output that the commands share: checks before any work, text and JSON after it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import ArgumentError, FileError

if TYPE_CHECKING:
    from rich.progress import Progress

# This module is imported by the shortest run of all, regard "A sentence": what takes time to
# import (json, rich, the terminal view) is imported where it is used.


def text_argument(name: str, text: str) -> str:
    """Text from the command line as the user typed it, in any locale.

    In the C locale Python passes each byte that is not ASCII as a lone surrogate, although the
    bytes are UTF-8.

    >>> text_argument("sentence", "mang\\udcc3\\udca9")
    'mangé'
    """
    try:
        return os.fsencode(text).decode("utf-8") if _has_surrogates(text) else text
    except UnicodeError:
        raise ArgumentError(f"{name} must be text in UTF-8, got {text!r}.") from None


MAX_INPUT_BYTES = 2**20  # of a sentence from the standard input


def sentence_argument(text: str) -> str:
    """A sentence from the command line, or from the standard input where it is a hyphen."""
    if text != "-":
        return text_argument("sentence", text)
    if sys.stdin is None:
        raise ArgumentError("the sentence must come from the standard input, which is closed.")
    content = getattr(sys.stdin, "buffer", sys.stdin).read(MAX_INPUT_BYTES + 1)
    if len(content) > MAX_INPUT_BYTES:
        raise ArgumentError(
            f"the standard input must be a sentence, got more than {MAX_INPUT_BYTES:,} bytes."
        )
    try:
        return (content if isinstance(content, str) else content.decode("utf-8-sig")).strip()
    except UnicodeDecodeError:
        raise ArgumentError("the standard input must be text in UTF-8.") from None


def text_or_file(text: str) -> str:
    """The text itself, or that of the file whose name follows @."""
    if not text.startswith("@"):
        return text_argument("the text", text)
    path = Path(text[1:])
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise FileError(f"No such file: {path}") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise FileError(f"{path} must be text in UTF-8.") from None


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def check_output_file(option: str, path: Path, suffixes: Sequence[str]) -> None:
    """Raise where a file to write has none of these suffixes, or cannot be written."""
    if path.suffix.lower() not in suffixes:
        *others, last = suffixes
        listed = f"{', '.join(others)} or {last}" if others else last
        raise ArgumentError(f"{option} must end in {listed}, got {str(path)!r}.")
    from regard.atomic_write import check_writable

    check_writable(path)


def check_output_folder(option: str, folder: Path) -> None:
    """Raise where a folder to write into is a file, or cannot be made."""
    from regard.atomic_write import check_writable

    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise FileError(f"{option} must be a folder, but {str(existing)!r} is a file.")
    try:
        check_writable(existing / f"regard.{os.getpid()}")  # a name that nothing else has
    except FileError as error:
        reason = str(error).partition(" cannot be written: ")[2]
        raise FileError(f"{option} cannot be written: {folder}: {reason}") from None


def check_bounds(option: str, number: int, least: int, most: int | None = None) -> int:
    """Return a number that is within its bounds; raise an ArgumentError otherwise.

    >>> check_bounds("--heads", 0, 1)
    Traceback (most recent call last):
    regard.errors.ArgumentError: --heads must be at least 1, got 0.
    """
    if number < least or (most is not None and number > most):
        bounds = f"at least {least}" if most is None else f"{least} to {most:,}"
        raise ArgumentError(f"{option} must be {bounds}, got {number}.")
    return number


@dataclass(frozen=True)
class HeadNumber:
    """A head as it is written on the command line: part, layer and head, where given."""

    layer: int | None = None
    head: int | None = None
    part: str | None = None

    @classmethod
    def parse(cls, option: str, text: str) -> HeadNumber:
        """Read '3.6', 'cross.3.6', or the number of a head alone.

        >>> HeadNumber.parse("--head", "cross.3.6")
        HeadNumber(layer=3, head=6, part='cross')
        """
        *front, last = text_argument(option, text).strip().split(".")
        part = front.pop(0) if front and not front[0].isdecimal() else None
        numbers = [*front, last]
        if not all(x.isdecimal() for x in numbers) or len(numbers) > 2:
            raise _head_error(option, text)
        layer = int(numbers[0]) if len(numbers) == 2 else None
        return cls(layer, int(numbers[-1]), part)

    @classmethod
    def parse_with_layer(cls, option: str, text: str) -> tuple[int, int, str | None]:
        """Layer, head and part of '3.6' or 'cross.3.6'; a head alone is an error."""
        at = cls.parse(option, text)
        if at.layer is None or at.head is None:
            raise _head_error(option, text)
        return at.layer, at.head, at.part

    def with_layer(self, layer: int | None) -> HeadNumber:
        """The same head in the layer of --layer, which must not contradict it."""
        if layer is None:
            return self
        if self.layer not in (None, layer):
            raise ArgumentError(
                f"--layer {layer} and --head {self.layer}.{self.head} must name the same layer."
            )
        return HeadNumber(layer, self.head, self.part)


def _head_error(option: str, text: str) -> ArgumentError:
    return ArgumentError(
        f"{option} must be a layer and a head, such as 3.6 or cross.3.6, got {text!r}."
    )


def show(result: Any) -> None:
    """Print anything the terminal view can draw, in colour where the terminal has it."""
    from regard.view.terminal.render import as_text
    from regard.view.terminal.style import has_colour, terminal_width

    sys.stdout.write(as_text(result, width=terminal_width(), colour=has_colour()))
    sys.stdout.write("\n")


def show_json(values: Any) -> None:
    """Print plain lists and numbers, unrounded, as strict JSON.

    ASCII alone where the output is not UTF-8: a letter that it lacks would be lost there.
    """
    import json

    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(values, ensure_ascii=not is_utf8, allow_nan=False))
    sys.stdout.write("\n")


def write_standard_output(text: str) -> None:
    """Print a document in UTF-8 whatever the locale is, as the document itself declares."""
    if hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8"))
    else:  # a stand-in, as tests and notebooks have
        sys.stdout.write(text)


def show_text(text: str) -> None:
    """Print lines of text, their control characters escaped."""
    from regard.view.terminal.style import printable

    print("\n".join(map(printable, text.split("\n"))))


def notice(text: str) -> None:
    """Report on the error stream, apart from the output, for example that a file was saved."""
    from regard.view.terminal.style import printable

    print(printable(text), file=sys.stderr)


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Progress bars on the error stream, so that a pipe gets the result alone."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    parts = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*parts, console=console, transient=True, disable=not sys.stderr.isatty()) as bars:
        yield bars
