"""What must be set before anything runs: Triton's interpreter, idle threads, Ctrl-C that is heard.

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

# Threads without work sleep. By default they spin, and where several processes share two cores the
# idle threads of one take the time of the busy ones of another: three times the processor time and
# more. Read when PyTorch and NumPy are first imported, which is after this.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

# A shell that starts a job in the background lets it ignore Ctrl-C, and so would every process the
# tests start in order to interrupt it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to compile every kernel, if a test is going to ask for it."""
    if any("engine/gpu/test_kernels.py" in item.nodeid for item in session.items):
        cache = tempfile.TemporaryDirectory()
        settings = {"TRITON_CACHE_DIR": cache.name, "TRITON_INTERPRET": "0"}
        worker = subprocess.Popen(
            [sys.executable, COMPILE],
            env=os.environ | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        session.config.add_cleanup(cache.cleanup)
        session.config.add_cleanup(worker.wait)
        session.config.add_cleanup(worker.kill)  # the last to be added is the first to run
        session.config.compiling = worker  # type: ignore[attr-defined]
