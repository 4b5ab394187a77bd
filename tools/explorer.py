"""Start the explorer as a user does, for scripts that open it in a browser."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

REGARD = [sys.executable, "-m", "regard"]


@contextmanager
def explorer(*arguments: str) -> Iterator[str]:
    """Run `regard open` with these arguments and yield its address; stop it by Ctrl-C."""
    command = [*REGARD, "open", "--no-browser", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        line = run.stdout.readline() if run.stdout else ""
        match = re.search(r"http://\S+", line)
        if match is None:
            raise SystemExit(f"regard open must print its address, got {line!r}")
        yield match[0]
        run.send_signal(signal.SIGINT)
