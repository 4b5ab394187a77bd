"""Output of the commands: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from typing import Any


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
