"""The command in this process, and code in interpreters that have imported nothing of regard."""

import io
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout

import pytest

from regard.cli import main

# One interpreter imports NumPy and is forked for every piece of code: each starts without regard.
FORKING = """
import os, sys, traceback
import numpy
for number, code in enumerate(sys.argv[1:]):
    sys.stdout.flush()
    child = os.fork()
    if not child:
        status = 1
        try:
            exec(code, {"__name__": "__main__"})
            status = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"this code failed: {code}")
"""


def command_here(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`regard` with these arguments into a pipe of 80 columns, without the start of a process."""
    out, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(errors):
        patch.setenv("COLUMNS", "80")
        with pytest.raises(SystemExit) as leaving:
            main(list(arguments))
    printed = [text_of(stream) for stream in (out, errors)]
    return subprocess.CompletedProcess(arguments, int(leaving.value.code or 0), *printed)


def text_of(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def run_each(codes: Sequence[str]) -> list[str]:
    """Lines that these pieces of code print, each in an interpreter without regard."""
    done = subprocess.run(
        [sys.executable, "-c", FORKING, *codes], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
