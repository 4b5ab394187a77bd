"""Arguments and output that the commands share: checks before any work, text and JSON after it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import ArgumentError, FileError

if TYPE_CHECKING:
    pass


def text_argument(name: str, text: str) -> str:
    """Text from the command line as the user typed it, in any locale.

    In the C locale Python hands over each byte that is not ASCII as a lone surrogate; the bytes are
    UTF-8 all the same.

    >>> text_argument("sentence", "mang\\udcc3\\udca9")
    'mangé'
    """
    try:
        return os.fsencode(text).decode("utf-8") if _has_surrogates(text) else text
    except UnicodeError:
        raise ArgumentError(f"{name} needs to be text in UTF-8, but it is {text!r}.") from None


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def check_output_file(option: str, path: Path, suffixes: Sequence[str]) -> None:
    """Raise where a file to write has another suffix than these, or cannot be written."""
    if path.suffix.lower() not in suffixes:
        listed = " or ".join(suffixes)
        raise ArgumentError(
            f"{option} needs a name that ends in {listed}, but it is {str(path)!r}."
        )
    from regard.atomic_write import check_writable

    check_writable(path)


def check_output_folder(option: str, folder: Path) -> None:
    """Raise where a folder to write into is a file, or cannot be made."""
    from regard.atomic_write import check_writable

    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise FileError(f"{option} needs a folder, but {str(existing)!r} is a file.")
    try:
        check_writable(existing / f"regard.{os.getpid()}")  # a name that nothing else has
    except FileError as error:
        reason = str(error).partition(" cannot be written: ")[2]
        raise FileError(f"{option} cannot be written: {folder}: {reason}") from None


def check_bounds(option: str, number: int, least: int, most: int | None = None) -> int:
    """A number within its bounds, or the sentence that says them.

    >>> check_bounds("--heads", 0, 1)
    Traceback (most recent call last):
    regard.errors.ArgumentError: --heads needs a whole number from 1 up, but it is 0.
    """
    if number < least or (most is not None and number > most):
        bounds = f"from {least} up" if most is None else f"from {least} to {most:,}"
        raise ArgumentError(f"{option} needs a whole number {bounds}, but it is {number}.")
    return number


@dataclass(frozen=True)
class HeadNumber:
    """A head as it is written on the command line: part, layer and head, where given."""

    part: str = "encoder"
    layer: int | None = None
    head: int | None = None

    @classmethod
    def parse(cls, option: str, text: str) -> HeadNumber:
        """'3.6', 'cross.3.6', or the number of a head alone.

        >>> HeadNumber.parse("--head", "cross.3.6")
        HeadNumber(part='cross', layer=3, head=6)
        """
        *front, last = text.strip().split(".")
        part = front.pop(0) if front and not front[0].isdecimal() else "encoder"
        numbers = [*front, last]
        if not all(x.isdecimal() for x in numbers) or len(numbers) > 2:
            raise ArgumentError(
                f"{option} needs a layer and a head, as in 3.6 or cross.3.6, but it is {text!r}."
            )
        layer = int(numbers[0]) if len(numbers) == 2 else None
        return cls(part, layer, int(numbers[-1]))

    def with_layer(self, layer: int | None) -> HeadNumber:
        """The head of --layer; both must not say something different."""
        if layer is None:
            return self
        if self.layer not in (None, layer):
            raise ArgumentError(
                f"--layer {layer} and --head {self.layer}.{self.head} need to name the same layer."
            )
        return HeadNumber(self.part, layer, self.head)


def show(thing: Any) -> None:
    """Print anything the terminal view can draw, in colour where the terminal has it."""
    from regard.view.terminal.render import as_text
    from regard.view.terminal.style import has_colour, terminal_width

    sys.stdout.write(as_text(thing, width=terminal_width(), colour=has_colour()))
    sys.stdout.write("\n")


def show_json(thing: Any) -> None:
    """Print plain lists and numbers, unrounded, as strict JSON.

    ASCII alone where the output is not UTF-8: a letter that it lacks would be lost there.
    """
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(thing, ensure_ascii=not is_utf8, allow_nan=False))
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
    """Say on the error stream what a command did beside its output, such as saving a file."""
    from regard.view.terminal.style import printable

    print(printable(text), file=sys.stderr)
