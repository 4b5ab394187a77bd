"""Commands in lanes: lanes run beside each other, the commands of a lane one after the other.

Output is printed lane by lane, each in one piece: that of the first as it comes, that of another as
soon as those before it have ended. Every command runs, whatever failed before it; the status is 1
if any failed. Ctrl-C ends all of them.

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
    """Shell commands that run one after the other in a thread, and what they print."""

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
        """What the commands print, as it comes, until the last one has ended."""
        while (chunk := self._output.get()) is not None:
            yield chunk

    def interrupt(self) -> None:
        """Pass Ctrl-C on to the command that runs, with all it started, and start no other."""
        with self._lock:
            self._ended = True
        self._signal(signal.SIGINT)

    def end(self, seconds: float) -> None:
        """Give it so many seconds to end, then kill what is left of it."""
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
        """The next command in a process group of its own; None once the lane was ended."""
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
    """Run all lanes, print what they print, then how long each command took; 0, 1 or 130."""
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
    """Run the lanes that the arguments name."""
    parser = argparse.ArgumentParser(description="Run commands in lanes beside each other.")
    parser.add_argument("--lane", nargs="+", action="append", required=True, metavar="COMMAND")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, metavar="SECONDS",
        help="how long commands may take to end after Ctrl-C before they are killed",
    )  # fmt: skip
    given: Any = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    return run(given.lane, given.patience)


if __name__ == "__main__":
    sys.exit(main())
