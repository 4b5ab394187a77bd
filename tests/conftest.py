"""What must be set before anything runs: Triton's interpreter, and Ctrl-C that is heard.

And what takes long and can run beside the other tests: compiling kernels.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

COMPILE = Path(__file__).parent / "helpers" / "compile_worker.py"

# Triton reads it when it is first imported, which the doctests of src do before any test.
os.environ.setdefault("TRITON_INTERPRET", "1")

# A shell that starts a job in the background lets it ignore Ctrl-C, and so would every process the
# tests start in order to interrupt it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to compile every kernel, if a test is going to ask for it."""
    if any("test_compiled" in item.nodeid for item in session.items):
        place = tempfile.TemporaryDirectory()
        there = {"TRITON_CACHE_DIR": place.name, "TRITON_INTERPRET": "0"}
        worker = subprocess.Popen(
            [sys.executable, COMPILE],
            env=os.environ | there,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        session.config.add_cleanup(place.cleanup)
        session.config.add_cleanup(worker.wait)
        session.config.add_cleanup(worker.kill)  # the last to be added is the first to run
        session.config.compiling = worker  # type: ignore[attr-defined]
