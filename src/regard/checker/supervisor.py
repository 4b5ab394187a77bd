"""Supervisor: the process between the judge and the worker, which runs nothing of the user's.

It adds up the memory of everything that the worker started, and ends all of it when the worker
ends, when the sum is above the limit, or when the judge is gone. Whatever leaves the process group
comes back to it as a child (Linux: ``PR_SET_CHILD_SUBREAPER``), so that nothing is out of reach.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import select
import signal
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
SWEEP_MILLISECONDS = 200
MAX_PROCESSES = 256  # of one check, all together
MAX_ROUNDS = 100  # of ending what starts new processes meanwhile
PROC = Path("/proc")


def fork_worker(questions: int, seconds: float, gigabytes: float, memory_each: float) -> None:
    """Fork; return in the worker, whose limits are set, and never in the supervisor.

    ``gigabytes`` are those of all processes together, ``memory_each`` the address space of one.
    """
    if not hasattr(os, "fork"):
        return
    supervisor = os.getpid()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGTERM, lambda *_: _end_all())  # before there is a worker to leave behind
    worker = os.fork()
    if worker:
        _supervise(worker, questions, gigabytes)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:  # it died before the call
        os._exit(1)
    limit_size("RLIMIT_CPU", math.ceil(seconds * (os.cpu_count() or 1)) + 1)
    limit_size("RLIMIT_AS", int(memory_each * 2**30))


def limit_size(name: str, most: int) -> None:
    """Limit a resource of this process and its children, where the system can."""
    if importlib.util.find_spec("resource") is None:
        return
    import resource

    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(getattr(resource, name), (most, most))


def _supervise(worker: int, questions: int, gigabytes: float) -> NoReturn:
    """Wait for the worker and end as it ended, with everything that it left behind."""
    threading.Thread(target=_watch, args=(questions, gigabytes), daemon=True).start()
    ended, status = 0, 0
    while ended != worker:  # the others are orphans that came back
        try:
            ended, status = os.waitpid(-1, 0)
        except ChildProcessError:  # the other thread is ending everything
            os._exit(1)
    code = os.waitstatus_to_exitcode(status)
    _end_descendants()
    if code < 0:
        limit_size("RLIMIT_CORE", 0)
        with contextlib.suppress(OSError):  # SIGKILL has no handler to reset
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _watch(questions: int, gigabytes: float) -> None:
    """End everything once the judge's end of a pipe is closed, or the memory is used up."""
    hangups = select.poll()
    hangups.register(questions, 0)  # the worker reads what comes; here only the end is waited for
    while not hangups.poll(SWEEP_MILLISECONDS):
        found = descendants(os.getpid())
        if len(found) > MAX_PROCESSES:
            _end_all(f"it started more than {MAX_PROCESSES} processes")
        if _memory(found, gigabytes * 2**30) > gigabytes * 2**30:
            limit = f"{gigabytes:g} GB (--memory N for more)"
            _end_all(f"MemoryError: its processes used more than {limit} together")
    _end_all()


def _end_all(why: str = "") -> None:
    """End everything that the worker started, and this process and its group."""
    if why:
        with contextlib.suppress(OSError):
            os.write(2, f"\n{why}\n".encode())
    _end_descendants()
    os._exit(1)


def _end_descendants() -> None:
    """Kill every descendant, until a look finds none that is alive."""
    for _ in range(MAX_ROUNDS):
        found = descendants(os.getpid())
        if not found:
            return
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for _ in found:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)


def descendants(pid: int) -> list[int]:
    """The living descendants of a process; none where there is no /proc."""
    children: dict[int, list[int]] = {}
    for folder in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            if state not in "ZX":
                children.setdefault(int(parent), []).append(int(folder.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        own = children.get(waiting.pop(), [])
        found += own
        waiting += own
    return found


def _memory(pids: list[int], most: float) -> float:
    """The bytes that processes hold together: what several share counts once, if it matters."""
    held = sum(_kilobytes(pid, "status", "VmRSS:") for pid in pids) * 1024
    if held <= most:
        return held
    return sum(_kilobytes(pid, "smaps_rollup", "Pss:") for pid in pids) * 1024 or held


def _kilobytes(pid: int, name: str, field: str) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (PROC / str(pid) / name).read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1])
    return 0


def _prctl(option: int, value: int) -> None:
    """Ask the kernel for something that concerns this process, where it can (Linux)."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    library: Any = ctypes.CDLL(None)
    with contextlib.suppress(OSError, AttributeError):
        library.prctl(option, value)
