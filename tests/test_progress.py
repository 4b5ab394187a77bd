"""The bar that appears past two seconds, on a terminal alone."""

import io
import sys

import pytest

from regard import progress
from regard.progress import late_bar


def drawn(monkeypatch, seconds: float, *, terminal: bool = True) -> str:
    """What is written to an error stream after so many seconds of a clock set by hand."""
    clock, stream = [0.0], io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    with late_bar("running") as notice:
        clock[0] = seconds
        notice(1, 2)
    return stream.getvalue()


@pytest.mark.parametrize(("seconds", "terminal"), [(1.9, True), (9.0, False)])
def test_nothing_is_drawn_before_two_seconds_or_into_a_pipe(monkeypatch, seconds, terminal):
    assert drawn(monkeypatch, seconds, terminal=terminal) == ""


def test_a_bar_is_drawn_after_them_and_wiped(monkeypatch):
    text = drawn(monkeypatch, 2.0)
    assert text == "\rrunning [###############...............] 1 of 2\r\x1b[K"
