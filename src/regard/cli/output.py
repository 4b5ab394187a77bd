"""How commands print: tables for people, JSON for programs."""

import json
import os
import shutil
import sys
from typing import Any


def show(thing: Any) -> None:
    """Print anything the terminal view can draw, in colour where the terminal has it."""
    from regard.view.terminal.style import as_text

    width = shutil.get_terminal_size((80, 24)).columns
    sys.stdout.write(as_text(thing, width=width, colour=has_colour()))
    sys.stdout.write("\n")


def has_colour() -> bool:
    """A terminal that has not declined colour."""
    declined = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not declined


def show_json(thing: Any) -> None:
    """Print plain lists and numbers, unrounded, as strict JSON."""
    sys.stdout.write(json.dumps(thing, ensure_ascii=False, allow_nan=False))
    sys.stdout.write("\n")
