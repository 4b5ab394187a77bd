"""Run commands in lanes: lanes run in parallel, the commands of a lane in sequence.

Output is printed lane by lane: that of the first lane as it arrives, that of any other as soon as
the lanes before it have finished. Every command runs, even after a failure; the exit status is 1 if
any failed. Ctrl-C stops all of them.

    python tools/lanes.py --lane "pytest tests/a" "pytest tests/b" --lane "ruff check ."
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

PATIENCE = 10.0  # seconds


class Lane:
    """Shell commands that run in sequence in a thread, and their output."""

    def __init__(self, commands: list[str]) -> None:
        self.commands = commands
        self.results: list[tuple[str, int, float]] = []  # command, status, seconds
        self._output: SimpleQueue[bytes | None] = SimpleQueue()
        self._running: subprocess.Popen[bytes] | None = None
        self._ended = False
        self._lock = Lock()
        self._thread = Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start the first command."""
        self._thread.start()

    def output(self) -> Iterator[bytes]:
        """Output of the commands as it arrives, until the last one has finished."""
        while (chunk := self._output.get()) is not None:
            yield chunk

    def interrupt(self) -> None:
        """Send Ctrl-C to the running command and its children, and start no other."""
        with self._lock:
            self._ended = True
        self._signal(signal.SIGINT)

    def end(self, seconds: float) -> None:
        """Wait up to ``seconds`` for it to finish, then kill it."""
        if self._thread.is_alive():
            self._thread.join(timeout=seconds)
        self._signal(signal.SIGKILL)

    def _run(self) -> None:
        for command in self.commands:
            started = time.monotonic()
            process = self._start(command)
            if process is None:
                break
            assert process.stdout is not None
            for chunk in iter(lambda stdout=process.stdout: stdout.read1(2**16), b""):
                self._output.put(chunk)
            self.results.append((command, process.wait(), time.monotonic() - started))
        self._output.put(None)

    def _start(self, command: str) -> "subprocess.Popen[bytes] | None":
        """Start a command in its own process group; None once the lane was stopped."""
        with self._lock:
            if self._ended:
                return None
            self._running = subprocess.Popen(
                ["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            return self._running

    def _signal(self, number: int) -> None:
        if self._running is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._running.pid, number)


def run(commands_of_lanes: list[list[str]], patience: float = PATIENCE) -> int:
    """Run all lanes, print their output and the time of each command; return 0, 1 or 130."""
    lanes = [Lane(commands) for commands in commands_of_lanes]
    try:
        for lane in lanes:
            lane.start()
        for lane in lanes:
            for chunk in lane.output():
                sys.stdout.buffer.write(chunk)
                sys.stdout.buffer.flush()
    except KeyboardInterrupt:
        for lane in lanes:
            lane.interrupt()
        end = time.monotonic() + patience
        for lane in lanes:
            lane.end(max(0.0, end - time.monotonic()))
        return 130
    results = [result for lane in lanes for result in lane.results]
    for command, status, seconds in results:
        verdict = "ok" if status == 0 else f"FAILED ({status})"
        shown = command if len(command) < 80 else f"{command[:77]}..."
        print(f"{seconds:6.0f} s  {verdict:<12} {shown}")
    return int(any(status for _, status, _ in results))


def main(arguments: list[str] | None = None) -> int:
    """Run the lanes given on the command line."""
    parser = argparse.ArgumentParser(description="Run commands in parallel lanes.")
    parser.add_argument("--lane", nargs="+", action="append", required=True, metavar="COMMAND")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, metavar="SECONDS",
        help="seconds that commands may take to stop after Ctrl-C before they are killed",
    )  # fmt: skip
    given: Any = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # handle it like Ctrl-C
    return run(given.lane, given.patience)


if __name__ == "__main__":
    sys.exit(main())
