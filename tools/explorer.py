"""The explorer as a user starts it, for scripts that open it in a browser."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

REGARD = [sys.executable, "-m", "regard"]


@contextmanager
def explorer(*arguments: str) -> Iterator[str]:
    """Address of `regard open` with these arguments; it ends by Ctrl-C."""
    command = [*REGARD, "open", "--no-browser", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        line = run.stdout.readline() if run.stdout else ""
        match = re.search(r"http://\S+", line)
        if match is None:
            raise SystemExit(f"regard open needs to print its address, but printed {line!r}.")
        yield match[0]
        run.send_signal(signal.SIGINT)
