"""How many cores a sentence is worth."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.self_attention.tiles.threads import blas, threads

_ENOUGH = 2  # the products of one decoding step are too small to keep more cores busy


@contextmanager
def few_cores() -> Iterator[None]:
    """Let BLAS use two cores if two are idle, else one.

    Its threads wait for each other after every product: when one of them finds its core taken by
    another program, a sentence takes ten times as long with two threads as with one.
    """
    idle = threads() - _others_running()
    with blas().limit(limits=max(1, min(_ENOUGH, idle))):
        yield


def _others_running() -> int:
    """How many other threads want a core right now; 0 where the system does not tell."""
    try:
        running = Path("/proc/loadavg").read_text(encoding="ascii").split()[3]
        return max(0, int(running.split("/")[0]) - 1)
    except (OSError, ValueError, IndexError):
        return 0 if not hasattr(os, "getloadavg") else int(os.getloadavg()[0])
