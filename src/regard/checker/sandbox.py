"""Sandbox: the code under test runs in a process of its own, with limits.

The child and whatever it starts end with the check, however that ends: a result, a limit, Ctrl-C,
or a signal that leaves the parent no time. Nothing is left on disk: both channels are unlinked
temporary files.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from regard.checker.report import UNKNOWN, Report
from regard.errors import ArgumentError

MAX_SECONDS = 24 * 3600.0
MAX_MEMORY_GB = 100_000.0
MAX_STDERR_BYTES = 2**16  # read from the end of what the child wrote


@dataclass(frozen=True)
class Limits:
    """Limits of a check: time in seconds, memory in GB."""

    seconds: float = 60.0
    memory: float = 8.0

    def __post_init__(self) -> None:
        _check_limit("--seconds", self.seconds, MAX_SECONDS)
        _check_limit("--memory", self.memory, MAX_MEMORY_GB)


def _check_limit(name: str, number: float, largest: float) -> None:
    if not (math.isfinite(number) and 0 < number <= largest):
        raise ArgumentError(f"{name} must be above 0 and at most {largest:g}, got {number}.")


def run_apart(task: str, target: str, options: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Do a task ('check' or 'operator') on 'file.py:function' in another process.

    The answer comes back as JSON on the child's original stdout, which the function under test
    cannot reach. A process that runs too long, is killed or crashes gives {'error': why}.
    """
    order = {"task": task, "target": target, "options": options, "seconds": limits.seconds,
             "memory": limits.memory}  # fmt: skip
    command = [sys.executable, "-m", "regard.checker.sandbox", json.dumps(order)]
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as errors:
        with subprocess.Popen(  # noqa: S603 (the user asked for their own file to be run)
            command, stdin=subprocess.PIPE, stdout=answer, stderr=errors, start_new_session=True
        ) as child:
            try:
                status = child.wait(timeout=limits.seconds)
            except subprocess.TimeoutExpired:
                return {"error": f"it took longer than {limits.seconds:g} s (--seconds N for more)"}
            finally:
                _end_group(child)
        return _parse_answer(answer) or {"error": _reason(status, errors)}


def check_apart(target: str, options: dict[str, Any], limits: Limits) -> Report:
    """``check`` on 'file.py:function' or 'module:function', apart."""
    answer = run_apart("check", target, options, limits)
    if "error" not in answer:
        with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
            return Report.from_dict(answer)
        answer = {"error": "its process returned something that is not a report"}
    return Report(target, UNKNOWN, tried=(str(answer["error"]),))


def load(target: str) -> Callable[..., Any]:
    """The function that 'file.py:function' or 'module:function' names; its code is run."""
    origin, _, name = target.rpartition(":")
    if not origin or not name:
        raise ArgumentError(_missing_function(target))
    value: Any = _module(origin)
    for part in name.split("."):
        if not hasattr(value, part):
            names = [n for n in vars(value) if callable(getattr(value, n)) and n[0] != "_"]
            raise ArgumentError(
                f"{origin} has no {part!r}; it has {', '.join(names) or 'nothing'}."
            )
        value = getattr(value, part)
    if not callable(value) and not callable(getattr(value, "forward", None)):
        raise ArgumentError(f"{target} must be a function or a module, got {value!r:.60}.")
    function: Callable[..., Any] = value
    return function


def _missing_function(target: str) -> str:
    """Message for a target that names no function: the functions of its file, which is not run."""
    path = Path(target)
    if not target.endswith(".py"):
        return (
            f"the target must be a file and a function, such as mine.py:attention, got {target!r}."
        )
    if not path.is_file():
        return f"no such file: {target}."
    try:
        body = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError) as error:
        reason = getattr(error, "msg", error)
        return f"{target} line {getattr(error, 'lineno', 0)} is not Python: {reason}."
    kinds = ast.FunctionDef | ast.ClassDef
    names = [f"{target}:{x.name}" for x in body if isinstance(x, kinds) and x.name[0] != "_"]
    if not names:
        return f"{target} defines no function to check."
    return f"{target} names no function; did you mean {' or '.join(names[:5])}?"


def _module(origin: str) -> Any:
    if not origin.endswith(".py"):
        sys.path.insert(0, str(Path.cwd()))
        try:
            return importlib.import_module(origin)
        except ModuleNotFoundError as error:
            raise ArgumentError(f"{origin} cannot be imported: {error}.") from None
    path = Path(origin)
    if not path.exists():
        raise ArgumentError(f"no such file: {origin}.")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"{origin} cannot be read as Python.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and whatever it started, also after a result."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()


def _parse_answer(file: IO[bytes]) -> dict[str, Any] | None:
    """The last line of the answer as JSON; None where it is not an object."""
    file.seek(0)
    lines = file.read().splitlines()[-1:]
    with contextlib.suppress(ValueError, RecursionError):
        answer = json.loads(lines[0]) if lines else None
        return answer if isinstance(answer, dict) else None
    return None


def _reason(status: int, errors: IO[bytes]) -> str:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - MAX_STDERR_BYTES))
    text = errors.read().decode("utf-8", errors="replace")
    last = text.strip().splitlines()[-1:] or ["it printed nothing"]
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    return f"the process {how}: {last[0][:200]}"


# From here on: in the child.


def main(order: dict[str, Any]) -> None:
    """Do the task of an order and write its answer to the original stdout.

    On POSIX systems the task runs in a second process. The first executes nothing of the user's,
    so that no loop and no crash can keep it from ending the group.
    """
    answer, parent = os.fdopen(os.dup(1), "w", encoding="utf-8"), os.dup(0)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what the function prints is no answer
    supervisor = os.getpid()
    worker = os.fork() if hasattr(os, "fork") else 0
    if worker:
        _supervise(worker, parent)
    elif hasattr(os, "fork"):
        os.close(parent)
        _die_with(supervisor)
    else:
        threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    _limit(order["seconds"], order["memory"])
    result = _perform(order)
    answer.write("\n" + json.dumps(result) + "\n")
    answer.flush()


def _supervise(worker: int, parent: int) -> NoReturn:
    """Wait for the worker and end as it ended, or kill the group when the parent is gone."""
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    status = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    if status < 0:
        _limit_size("RLIMIT_CORE", 0)
        with contextlib.suppress(OSError):  # SIGKILL has no handler to reset
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _perform(order: dict[str, Any]) -> dict[str, Any]:
    try:
        function = load(order["target"])
    except ArgumentError as error:
        return {"error": str(error)}
    except (Exception, SystemExit) as error:
        return {"error": f"{order['target']} cannot be loaded: {type(error).__name__}: {error}"}
    try:
        return _task(function, order)
    except ArgumentError as error:
        return {"error": str(error)}


def _task(function: Callable[..., Any], order: dict[str, Any]) -> dict[str, Any]:
    if order["task"] == "operator":
        from regard.checker.suite import run_suite

        return run_suite(function, order["target"]).to_dict()
    from regard.checker.check import check

    return {**check(function, **order["options"]).to_dict(), "function": order["target"]}


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies, where it can (Linux)."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    set_parent_death_signal = 1
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the call
        os._exit(1)


def _end_with_parent(parent: int) -> None:
    """Kill this process group once the parent's end of a pipe is closed, however it died."""
    while os.read(parent, 1):
        pass
    if hasattr(os, "killpg"):
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def _limit(seconds: float, gigabytes: float) -> None:
    """Limit processor time and address space, where the system can."""
    _limit_size("RLIMIT_CPU", math.ceil(seconds * (os.cpu_count() or 1)) + 1)
    _limit_size("RLIMIT_AS", int(gigabytes * 2**30))


def _limit_size(name: str, most: int) -> None:
    if importlib.util.find_spec("resource") is None:
        return
    import resource

    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(getattr(resource, name), (most, most))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
