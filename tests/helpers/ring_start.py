"""Ranks as real processes: started together, ended together."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 600  # seconds for the whole table, on a machine busy with other things


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def start(program: str, ranks: int, folder: Path, *words: str) -> list[subprocess.Popen]:
    """One process a rank, each on one thread; what it prints goes to a file."""
    port = str(free_port())
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    processes = []
    for rank in range(ranks):
        asked = [
            sys.executable,
            "-m",
            f"tests.helpers.{program}",
            str(rank),
            str(ranks),
            port,
            str(folder),
        ]
        with (folder / f"{rank}.out").open("w") as out:
            processes.append(
                subprocess.Popen([*asked, *words], env=environment, stdout=out, stderr=out)
            )
    return processes


def finish(
    processes: list[subprocess.Popen],
    folder: Path,
    expected: dict[int, int] | None = None,
    last: int | None = None,
) -> None:
    """Wait for all, or for the last; a rank that ends as it should not shows what it said.

    ``expected`` holds the exit codes that are not 0.
    """
    codes = dict.fromkeys(range(len(processes)), 0) | (expected or {})
    awaited = processes if last is None else [processes[last]]
    end = time.monotonic() + PATIENCE
    while any(process.poll() is None for process in awaited) and time.monotonic() < end:
        if any(x.poll() not in (None, codes[rank]) for rank, x in enumerate(processes)):
            break
        time.sleep(0.05)
    for process in processes:
        process.kill()
        process.wait()
    for rank, process in enumerate(processes):
        assert process.returncode == codes[rank], (folder / f"{rank}.out").read_text()
