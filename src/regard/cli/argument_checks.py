"""Checks of arguments that several commands share, made before any work is done."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from regard.errors import ArgumentError, FileError


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
