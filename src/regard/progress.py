"""Progress bar on the error stream that appears only after two seconds."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

BAR_DELAY_SECONDS = 2.0
BAR_COLUMNS = 30


@contextlib.contextmanager
def late_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """A function of (done, total) that draws a bar once two seconds have passed.

    Nothing is drawn where the error stream is no terminal. The bar is wiped at the end.
    """
    start, drawn = time.monotonic(), [False]

    def progress(done: int, total: int) -> None:
        if sys.stderr.isatty() and time.monotonic() - start >= BAR_DELAY_SECONDS:
            drawn[0] = True
            sys.stderr.write("\r" + bar_text(name, done, total))
            sys.stderr.flush()

    try:
        yield progress
    finally:
        if drawn[0]:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def bar_text(name: str, done: int, total: int) -> str:
    """The bar as text.

    >>> bar_text("reading", 36, 144)
    'reading [#######.......................] 36 of 144'
    """
    filled = BAR_COLUMNS * done // max(1, total)
    return f"{name} [{'#' * filled}{'.' * (BAR_COLUMNS - filled)}] {done} of {total}"
