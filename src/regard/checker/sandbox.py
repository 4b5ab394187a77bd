"""A check in a process of its own, with limits: what is checked is executed."""

import contextlib
import importlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.checker.check_report import UNKNOWN, Report
from regard.errors import ArgumentError


@dataclass(frozen=True)
class Limits:
    """How long a check may take, in seconds, and how much memory it may have, in GB."""

    seconds: float = 60.0
    memory: float = 8.0


def run_apart(task: str, target: str, options: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Do a task ('check' or 'operator') on 'file.py:function' in another process.

    The answer comes back as JSON in a file, so that the function may print what it likes. A
    process that runs too long, is killed or crashes gives {'error': why}.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        order = {"task": task, "target": target, "options": options, "memory": limits.memory,
                 "answer": str(answer)}  # fmt: skip
        command = [sys.executable, "-m", "regard.checker.sandbox", json.dumps(order)]
        with subprocess.Popen(  # noqa: S603 (the user asked for their own file to be run)
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        ) as child:  # fmt: skip
            try:
                _, said = child.communicate(timeout=limits.seconds)
            except KeyboardInterrupt:  # the child has a session of its own and did not hear it
                _end(child)
                raise
            except subprocess.TimeoutExpired:
                _end(child)
                return {"error": f"it took longer than {limits.seconds:g} s (--seconds N for more)"}
        if answer.exists():
            found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
            return found
        return {"error": _why(child.returncode, said)}


def check_apart(target: str, options: dict[str, Any], limits: Limits) -> Report:
    """``check`` on 'file.py:function' or 'module:function', apart."""
    found = run_apart("check", target, options, limits)
    if "error" in found:
        return Report(target, UNKNOWN, tried=(found["error"],))
    return Report.from_dict(found)


def load(target: str) -> Callable[..., Any]:
    """The function that 'file.py:function' or 'module:function' names; its code is run."""
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise ArgumentError(f"{target!r} needs a file and a function, such as mine.py:attention.")
    found: Any = _module(place)
    for part in name.split("."):
        if not hasattr(found, part):
            names = [n for n in vars(found) if callable(getattr(found, n)) and n[0] != "_"]
            raise ArgumentError(f"{place} has no {part!r}; it has {', '.join(names) or 'nothing'}.")
        found = getattr(found, part)
    if not callable(found) or isinstance(found, type):
        raise ArgumentError(f"{target} needs to be a function or a module, but is {found!r:.60}.")
    function: Callable[..., Any] = found
    return function


def _module(place: str) -> Any:
    if not place.endswith(".py"):
        sys.path.insert(0, str(Path.cwd()))
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            raise ArgumentError(f"{place} cannot be imported: {error}.") from None
    path = Path(place)
    if not path.exists():
        raise ArgumentError(f"there is no file {place}.")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"{place} cannot be read as Python.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _work(order: dict[str, Any]) -> dict[str, Any]:
    """In the child: limit, load, check."""
    _limit_memory(order["memory"])
    try:
        with contextlib.redirect_stdout(sys.stderr):
            function = load(order["target"])
    except ArgumentError as error:
        return {"error": str(error)}
    except (Exception, SystemExit) as error:
        return {"error": f"{order['target']} cannot be loaded: {type(error).__name__}: {error}"}
    if order["task"] == "operator":
        from regard.checker.operator_suite import run_suite

        return run_suite(function, order["target"]).as_dict()
    from regard.checker.check import check

    return {**check(function, **order["options"]).as_dict(), "function": order["target"]}


def _limit_memory(gigabytes: float) -> None:
    """Address space, where the system can limit it."""
    if importlib.util.find_spec("resource") is None:
        return
    import resource

    most = int(gigabytes * 2**30)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _end(child: "subprocess.Popen[str]") -> None:
    """The child and whatever it started."""
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()


def _why(status: int, said: str) -> str:
    last = said.strip().splitlines()[-1:] or ["it said nothing"]
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    return f"the process {how}: {last[0][:200]}"


if __name__ == "__main__":
    _order = json.loads(sys.argv[1])
    Path(_order["answer"]).write_text(json.dumps(_work(_order)), encoding="utf-8")
