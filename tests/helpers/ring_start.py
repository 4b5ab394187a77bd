"""Ranks as real processes, forked from one interpreter that has imported what all of them need.

python -m tests.helpers.ring_start JOBS: a rank that imports PyTorch by itself takes longer over
that than over most of its work.
"""

import contextlib
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]
PATIENCE = 600  # seconds for the whole table, on a machine busy with other things


@dataclass(frozen=True)
class Job:
    """A program of this folder on so many ranks, which write to a folder of their own.

    ``codes`` holds the exit codes that are not 0, by rank. Where ``last`` is a rank, the others are
    killed once that one has ended.
    """

    program: str
    ranks: int
    folder: str
    words: list[str] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)
    last: int | None = None

    def expected(self, rank: int) -> int:
        return self.codes.get(str(rank), 0)


def start(*jobs: Job) -> subprocess.Popen:
    """All jobs, one after the other, each rank on one thread; in a process group of their own."""
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    words = json.dumps([asdict(job) for job in jobs])
    command = [sys.executable, "-m", "tests.helpers.ring_start", words]
    return subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def stop(process: subprocess.Popen) -> None:
    """Kill the ranks with the process that forked them, if they are still there."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def finish(process: subprocess.Popen) -> None:
    """Wait for all jobs; a rank that ends as it should not shows what it printed."""
    _, errors = process.communicate(timeout=2 * PATIENCE)
    assert process.returncode == 0, errors


# From here on: in the process that forks the ranks.


def run(job: Job) -> None:
    """Fork all ranks of a job and wait until they have ended, as they should."""
    port, pids = free_port(), []
    for rank in range(job.ranks):
        pid = os.fork()
        if not pid:
            become(job, rank, port)
        pids.append(pid)
    codes = ended(job, pids)
    for rank in range(job.ranks):
        if codes[rank] != job.expected(rank):
            said = (Path(job.folder) / f"{rank}.out").read_text()
            raise SystemExit(f"rank {rank} of {job.ranks} ended with {codes[rank]}: {said}")


def ended(job: Job, pids: list[int]) -> dict[int, int]:
    """Exit codes by rank; what still runs when it is over is killed."""
    codes: dict[int, int] = {}
    awaited = set(range(job.ranks)) if job.last is None else {job.last}
    end = time.monotonic() + PATIENCE
    while awaited - codes.keys() and time.monotonic() < end:
        codes |= collected(pids, codes, os.WNOHANG)
        if any(code != job.expected(rank) for rank, code in codes.items()):
            break
        time.sleep(0.05)
    for rank in set(range(job.ranks)) - codes.keys():
        os.kill(pids[rank], signal.SIGKILL)
    return codes | collected(pids, codes, 0)


def collected(pids: list[int], codes: dict[int, int], options: int) -> dict[int, int]:
    """Exit codes of ranks that have ended since, or with no options of all the others."""
    pairs = [(r, os.waitpid(pid, options)) for r, pid in enumerate(pids) if r not in codes]
    return {rank: os.waitstatus_to_exitcode(status) for rank, (pid, status) in pairs if pid}


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def become(job: Job, rank: int, port: int) -> NoReturn:
    """Run the program as this rank; what it prints goes to a file."""
    code = 1
    try:
        with (Path(job.folder) / f"{rank}.out").open("w") as out:
            for stream in (1, 2):
                os.dup2(out.fileno(), stream)
        program(job).main(rank, job.ranks, port, Path(job.folder), job.words)
        code = 0
    except BaseException:  # whatever it is: a forked process never returns from here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def program(job: Job) -> Any:
    return importlib.import_module(f"tests.helpers.{job.program}")


def main(jobs: list[Job]) -> None:
    """Import every program, then run one job after the other."""
    for job in jobs:
        program(job)
    for job in jobs:
        run(job)


if __name__ == "__main__":
    main([Job(**job) for job in json.loads(sys.argv[1])])
