"""Sandbox: the code under test runs in a process of its own, with limits, and never judges itself.

The worker loads the file, says how its function may be called, and answers calls: arrays go out,
arrays come back. This process never imports the file. It draws the inputs, computes what is right,
compares, and writes the report, so that nothing that the code under test does to its own process
can make a wrong result right. What comes back is read as numbers and text alone, never unpickled.

The worker and whatever it starts end with the check, however that ends: a result, a limit, Ctrl-C,
or a signal that leaves the parent no time. Nothing is left on disk.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import json
import math
import os
import queue
import secrets
import select
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import IO, Any, NoReturn

import numpy as np

from regard.checker.adapters import LIBRARY_NAMES, on_device
from regard.checker.calls import Call, CallResult, LocalFunction, one_line
from regard.checker.check import check_prepared, function_name, read_options
from regard.checker.conventions import AXES, DTYPES
from regard.checker.prepare import PreparedFunction, prepare, prepare_traced
from regard.checker.reading import Form, Reading
from regard.checker.report import UNKNOWN, Report
from regard.checker.signatures import ARRAYS, ROLE_NAMES, Roles
from regard.checker.suite import Suite, suite_dtypes, suite_of_prepared
from regard.errors import ArgumentError
from regard.typing import Array

MAX_SECONDS = 24 * 3600.0
MAX_MEMORY_GB = 100_000.0
MAX_STDERR_BYTES = 2**16  # read from the end of what the worker wrote
MAX_MESSAGE_BYTES = 2**28
MAX_TEXT_LETTERS = 1000
SOURCES = tuple(f"source {i}" for i in range(4))
MAIN_ROLES = frozenset([role for roles in ARRAYS.values() for role in roles] + list(SOURCES))
POLL_SECONDS = 0.2
# Arrays are small: more threads would take longer to wake than to compute.
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
FRAME = struct.Struct(">QQ")  # the bytes of the JSON, and of the arrays that follow it
READING_FIELDS = ("forms", "sources", "heads", "returns", "output", "inside", "first_alone")
IMPORTING = ": put what trains or runs at its end under  if __name__ == '__main__':"
NOT_AN_ANSWER = "its process returned something that is not an answer"
# What a function may say of itself; the parent takes nothing else from the worker.
HINTS = frozenset(("causal", "mask shows", "no empty rows", "mentions heads", "unused layer",
                   "returns scores"))  # fmt: skip


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


DEFAULT_OPTIONS = {
    "signature": "auto",
    "features": "auto",
    "dtype": "auto",
    "device": "cpu",
    "strict": False,
    "seed": 0,
}


class SandboxError(Exception):
    """The worker ended, took too long, or returned something that is not an answer."""


def check_apart(target: str, options: dict[str, Any], limits: Limits, **place: Any) -> Report:
    """``check`` on 'file.py:function' or 'module:function', whose code runs in another process.

    ``place``: ``module`` and ``path``, the name and the search path to import the file with.
    """
    chosen: dict[str, Any] = {**DEFAULT_OPTIONS, **options}
    try:
        claimed = read_options(chosen["features"], chosen["dtype"], chosen["seed"])
        asked = {name: chosen[name] for name in ("signature", "dtype", "device")}
        with Worker(target, limits, **asked, **place) as worker:
            prepared, name = worker.prepared()
            report = check_prepared(
                prepared,
                name,
                claimed,
                seed=chosen["seed"],
                strict=chosen["strict"],
                fresh_seed=1 + secrets.randbits(62),
            )
    except (SandboxError, ArgumentError) as error:
        return Report(target, UNKNOWN, tried=(str(error),))
    return replace(report, function=target)


def run_suite_apart(target: str, limits: Limits, dtype: str = "auto", device: str = "cpu") -> Suite:
    """The conformance table of 'file.py:function', whose code runs in another process."""
    dtypes = suite_dtypes(dtype)
    try:
        with Worker(target, limits, device=device) as worker:
            return suite_of_prepared(worker.prepared()[0], target, dtypes)
    except (SandboxError, ArgumentError) as error:
        raise ArgumentError(f"{target} could not be checked: {error}") from None


class Worker:
    """The process that runs the code under test, and the function in it.

    One thread does all reading and writing: whatever the worker does with its ends of the pipes,
    this process waits no longer than the limit.
    """

    def __init__(
        self,
        target: str,
        limits: Limits,
        *,
        signature: str = "auto",
        dtype: str = "auto",
        device: str = "cpu",
        module: str = "",
        path: tuple[str, ...] = (),
    ) -> None:
        self.limits, self.end = limits, monotonic() + limits.seconds
        order = {"target": target, "signature": signature, "dtype": dtype, "device": device,
                 "module": module, "path": path, "seconds": limits.seconds,
                 "memory": limits.memory}  # fmt: skip
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed in __exit__)
        self._process = subprocess.Popen(  # noqa: S603 (the user asked for their file to be run)
            [sys.executable, "-m", "regard.checker.sandbox", json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
            env=ONE_THREAD | os.environ,
        )
        self._questions: queue.Queue[Any] = queue.Queue()
        self._answers: queue.Queue[Any] = queue.Queue()
        self._thread = threading.Thread(target=self._exchange, daemon=True)
        self._thread.start()
        self.is_packed = False

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._questions.put(None)
        _end_group(self._process)
        self._process.wait()
        self._errors.close()
        self._thread.join(timeout=1)
        if not self._thread.is_alive():  # else something that left the group holds the pipe
            for pipe in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]

    def prepared(self) -> tuple[PreparedFunction, str]:
        """What the worker says of its function: how it may be called, and its name."""
        self._ask(None, IMPORTING)
        said = self._ask(None)
        if isinstance(said, dict) and isinstance(said.get("error"), str):
            raise SandboxError(said["error"][:MAX_TEXT_LETTERS])
        with _only_answers():
            self.is_packed = bool(said["packed"])
            return _read_prepared(said, self), str(said["name"])[:MAX_TEXT_LETTERS]

    def traced(self, dtype: str) -> PreparedFunction | None:
        said = self._ask({"ask": "traced", "dtype": dtype})
        with _only_answers():
            return None if said["error"] else _read_prepared(said, self)

    def call(self, call: Call) -> CallResult:
        return self._result("call", vars(call))

    def gradients(self, call: Call, index: int, incoming: Array) -> CallResult:
        return self._result("gradients", {"call": vars(call), "index": index, "start": incoming})

    def sequences(
        self, sequences: Any, options: dict[str, Any], library: str, dtype: str
    ) -> CallResult:
        return self._result(
            "sequences",
            {"sequences": sequences, "options": options, "library": library, "dtype": dtype},
        )

    def features(
        self, heads: int, sources: tuple[int, ...], first_alone: bool, arrays: tuple[Array, ...]
    ) -> tuple[Array, ...]:
        """Query, key and value that a module makes of these arrays, by its trace; maybe a bias.

        What the worker says here is confirmed by ``check``: with the words in other sentences.
        """
        result = self._result("features", {"arrays": arrays})
        if result.error:
            raise ArgumentError(result.error)
        query, key, value = _three(result.arrays[:3])
        b, h, d = query.shape[0], query.shape[1], query.shape[-1]
        g = key.shape[1]
        queries, keys, values = (arrays[source].shape[1] for source in sources)
        queries = 1 if first_alone else queries
        shapes: list[tuple[int, ...]] = [(b, h, queries, d), (b, g, keys, d)]
        shapes.append((b, g, values, value.shape[-1]))
        shapes += [(h, queries, keys)] * (len(result.arrays) - 3)
        fits = [x.shape for x in result.arrays] == shapes and keys == values
        if not fits or b != arrays[0].shape[0] or h != heads or not g or h % g or not d:
            raise SandboxError(NOT_AN_ANSWER)
        if not all(np.isfinite(x).all() for x in result.arrays):
            raise ArgumentError("its query, key or value is not finite")
        return result.arrays

    def _result(self, name: str, fields: dict[str, Any]) -> CallResult:
        said = self._ask({"ask": name} | fields)
        with _only_answers():
            arrays = tuple(np.asarray(x, np.float64) for x in said["arrays"])
            if not arrays and not said["error"] and not said["refused"]:
                raise ValueError("no arrays")
            return CallResult(
                arrays,
                tuple(_known(said["changed"] or (), MAIN_ROLES)),
                str(said["error"])[:MAX_TEXT_LETTERS],
                bool(said["has_complex"]),
                str(said["refused"])[:MAX_TEXT_LETTERS],
            )

    def _ask(self, question: dict[str, Any] | None, late: str = "") -> Any:
        """One answer; the first two come without a question. ``late``: advice on a slow one."""
        self._questions.put(question or {})
        while True:
            ended = self._process.poll() is not None
            with contextlib.suppress(queue.Empty):
                answer = self._answers.get(timeout=POLL_SECONDS)
                if isinstance(answer, ValueError):
                    raise SandboxError(NOT_AN_ANSWER)
                if not isinstance(answer, Exception):
                    return answer
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(max(POLL_SECONDS, self.end - monotonic()))
                    ended = True
            if ended:
                raise SandboxError(_reason(self._process.returncode, self._errors))
            if monotonic() > self.end:
                what = "importing its file" if late else "it"
                limit = f"{self.limits.seconds:g} s (--seconds N for more)"
                raise SandboxError(f"{what} took longer than {limit}{late}")

    def _exchange(self) -> None:
        """Send each question and read its answer; a failure is put in the place of an answer."""
        while (question := self._questions.get()) is not None:
            try:
                if question:
                    write_message(self._process.stdin, question)
                self._answers.put(read_message(self._process.stdout))
            except (OSError, EOFError) as error:
                self._answers.put(error)
            except Exception as error:  # anything else that the bytes lead to
                self._answers.put(ValueError(str(error)))


@contextlib.contextmanager
def _only_answers() -> Iterator[None]:
    """A context in which fields of the wrong kind are a SandboxError."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise SandboxError(NOT_AN_ANSWER) from None


def _read_prepared(said: dict[str, Any], worker: Worker) -> PreparedFunction:
    """The description of a function, every part of it one that ``prepare`` can give."""
    roles = said["roles"]
    names = {role: str(name) for role, name in roles["names"].items() if role in ROLE_NAMES}
    sources = {role: str(name) for role, name in roles["sources"].items() if role in SOURCES}
    arrays = (*ARRAYS[roles["form"]], *sources)
    return PreparedFunction(
        worker,
        Roles(
            roles["form"],
            names,
            _known(roles["required"], names),
            _known(roles["leading"], {*names, *arrays}),
            bool(roles["added"]),
            sources,
        ),
        _known(said["layouts"], ("", *AXES)),
        _known(said["libraries"], LIBRARY_NAMES),
        _known(said["dtypes"], DTYPES),
        _read_reading(said["reading"], worker),
        HINTS.intersection(said["claims"]),
        tuple(str(note)[:MAX_TEXT_LETTERS] for note in said["notes"]),
        int(said["head_width"]),
    )


def _known(words: Any, known: Any) -> tuple[str, ...]:
    if not all(word in known for word in words):
        raise ValueError("unknown word")
    return tuple(words)


def _three(arrays: tuple[Array, ...]) -> tuple[Array, ...]:
    if len(arrays) != 3 or any(array.ndim != 4 for array in arrays):
        raise SandboxError(NOT_AN_ANSWER)
    return arrays


def _read_reading(said: Any, worker: Worker) -> Reading | None:
    """The reading of a module; a ValueError where its parts do not fit together."""
    if said is None:
        return None
    forms, returns = tuple(map(_read_form, said["forms"])), _read_form(said["returns"])
    q, k, v = map(int, said["sources"])
    heads = int(said["heads"])
    output = None if said["output"] is None else np.asarray(said["output"], np.float64)
    fits = heads > 0 and all(0 <= i < len(forms) for i in (q, k, v))
    if not fits or (output is not None and (output.ndim != 2 or (len(output) - 1) % heads)):
        raise ValueError("a reading that does not fit")
    inside, alone = bool(said["inside"]), bool(said["first_alone"])
    features = partial(worker.features, heads, (q, k, v), alone)
    return Reading(forms, (q, k, v), heads, returns, output, inside, alone, features)


def _read_form(said: Any) -> Form:
    """The axes of an array; a ValueError for anything else."""
    letters = [x for x in said if isinstance(x, str)]
    sizes = [x for x in said if isinstance(x, int)]
    fits = len(set(letters)) == len(letters) and set(letters) <= {"b", "t"}
    if not fits or len(letters) + len(sizes) != len(said) or min(sizes, default=0) < 1:
        raise ValueError("no form")
    return tuple(said)


# Messages: JSON, followed by the bytes of its arrays.


def write_message(file: Any, message: Any) -> None:
    """Write one message of numbers, text, arrays, tuples, dicts and namespaces."""
    buffers: list[bytes] = []
    text = json.dumps(_encode(message, buffers)).encode()
    content = b"".join(buffers)
    file.write(FRAME.pack(len(text), len(content)) + text + content)
    file.flush()


def read_message(file: Any) -> Any:
    """Read one message; anything else is a ValueError, and its end an EOFError."""
    text_bytes, content_bytes = FRAME.unpack(_read_exactly(file, FRAME.size))
    if max(text_bytes, content_bytes) > MAX_MESSAGE_BYTES:
        raise ValueError("a message that is too long")
    text, content = _read_exactly(file, text_bytes), _read_exactly(file, content_bytes)
    return _decode(json.loads(text), memoryview(content))


def _read_exactly(file: Any, size: int) -> bytes:
    content: bytes = file.read(size)
    if len(content) < size:
        raise EOFError
    return content


def _encode(value: Any, buffers: list[bytes]) -> Any:
    if isinstance(value, np.ndarray):
        buffers.append(np.ascontiguousarray(value).tobytes())
        return {"array": [value.dtype.str, list(value.shape), sum(map(len, buffers[:-1]))]}
    if isinstance(value, dict):
        return {"dict": {str(name): _encode(x, buffers) for name, x in value.items()}}
    if isinstance(value, SimpleNamespace):
        return {"namespace": _encode(vars(value), buffers)}
    if isinstance(value, list | tuple | frozenset):
        return [_encode(x, buffers) for x in value]
    return value.item() if isinstance(value, np.generic) else value


def _decode(value: Any, content: memoryview) -> Any:
    if isinstance(value, list):
        return tuple(_decode(x, content) for x in value)
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "dict":
        return {name: _decode(x, content) for name, x in inner.items()}
    if kind == "namespace":
        return SimpleNamespace(**_decode(inner, content))
    dtype, shape, start = inner
    if np.dtype(dtype).kind not in "biuf" or any(size < 0 for size in shape):
        raise ValueError("no array of numbers")
    array = np.frombuffer(content, dtype, math.prod(shape), start)
    return array.reshape(shape).copy()


def load(target: str, module: str = "") -> Callable[..., Any]:
    """The function that 'file.py:function' or 'module:function' names; its code is run.

    'file.py:functions[2]' is an entry of a list; ``module`` is the name that the file is imported
    under where it can be.
    """
    origin, _, name = target.rpartition(":")
    if not origin or not name:
        raise ArgumentError(_missing_function(target))
    value: Any = _module(origin, module)
    name, _, index = name.removesuffix("]").partition("[")
    for part in name.split("."):
        if not hasattr(value, part):
            names = [n for n in vars(value) if callable(getattr(value, n)) and n[0] != "_"]
            raise ArgumentError(
                f"{origin} has no {part!r}; it has {', '.join(names) or 'nothing'}."
            )
        value = getattr(value, part)
    if index:
        value = value[int(index)]
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


def _module(origin: str, name: str) -> Any:
    if name:
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(name)
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
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        if "relative import" not in str(error):
            raise
        return _module_of_package(path.resolve())
    return module


def _module_of_package(path: Path) -> Any:
    """A file that imports from its own package, imported as a part of that."""
    folder, name = path.parent.parent, f"{path.parent.name}.{path.stem}"
    while (folder / "__init__.py").is_file():
        folder, name = folder.parent, f"{folder.name}.{name}"
    sys.path.insert(0, str(folder))
    return importlib.import_module(name)


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and whatever it started, also after a result."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()


def _reason(status: int, errors: IO[bytes]) -> str:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - MAX_STDERR_BYTES))
    text = errors.read().decode("utf-8", errors="replace")
    last = text.strip().splitlines()[-1:] or ["it printed nothing"]
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    return f"the process {how}: {last[0][:200]}"


# From here on: in the worker.


def main(order: dict[str, Any]) -> None:
    """Load the function of an order and answer calls of it, until there are no more.

    On POSIX systems this happens in a second process. The first executes nothing of the user's,
    so that no loop and no crash can keep it from ending the group.
    """
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what the function prints is no answer
    supervisor = os.getpid()
    worker = os.fork() if hasattr(os, "fork") else 0
    if worker:
        answers.close()
        _supervise(worker, questions.fileno())
    if hasattr(os, "fork"):
        _die_with(supervisor)
    on_cpu = order["device"] == "cpu"  # drivers of devices reserve far more than they use
    _limit(order["seconds"], order["memory"] if on_cpu else MAX_MEMORY_GB)
    try:
        with on_device(order["device"]):
            _serve(order, questions, answers)
    except ArgumentError as error:  # there is no such device
        write_message(answers, {"error": str(error)})


def _serve(order: dict[str, Any], questions: IO[bytes], answers: IO[bytes]) -> None:
    """Load the function of an order, describe it and answer questions, until there are no more."""
    function, why = _load(order)
    write_message(answers, {"loaded": not why})
    served, said = (None, {"error": why}) if why else _describe(order, function)
    write_message(answers, said)
    while served is not None:
        try:
            question = read_message(questions)
        except EOFError:
            return
        answer = served.answer(question)
        try:
            write_message(answers, answer)
        except BrokenPipeError:
            return


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


@dataclass
class ServedFunction:
    """The function of a worker: what each question makes of it."""

    original: Any
    function: LocalFunction
    reading: Reading | None

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        kind = question.pop("ask")
        if kind == "traced":
            return self._trace(question["dtype"])
        result = self._result(kind, question)
        size = sum(array.nbytes for array in result.arrays)
        if size > MAX_MESSAGE_BYTES:
            return vars(CallResult(error=f"it returned {size / 2**20:.0f} MB of arrays"))
        return vars(result)

    def _trace(self, dtype: str) -> dict[str, Any]:
        """The function as its trace shows it, from here on."""
        try:
            prepared = prepare_traced(self.original, dtype)
        except Exception as error:  # whatever the function leads to
            return {"error": one_line(error)}
        self.function, self.reading = LocalFunction(prepared.function), prepared.reading
        return _description(prepared, self) | {"error": ""}

    def _result(self, kind: str, fields: dict[str, Any]) -> CallResult:
        if kind == "call":
            return self.function.call(Call(**fields))
        if kind == "gradients":
            call = Call(**fields["call"])
            return self.function.gradients(call, fields["index"], fields["start"])
        if kind == "sequences":
            return self.function.sequences(**fields)
        if self.reading is None:
            raise ValueError("there is no reading")
        try:
            return CallResult(self.reading.features(fields["arrays"]))
        except Exception as error:
            return CallResult(error=one_line(error))


def _load(order: dict[str, Any]) -> tuple[Any, str]:
    """The function of an order, or None and the error."""
    sys.path[:0] = [folder for folder in order["path"] if folder not in sys.path]
    try:
        return load(order["target"], order["module"]), ""
    except ArgumentError as error:
        return None, str(error)
    except (Exception, SystemExit) as error:
        return None, f"{order['target']} cannot be loaded: {type(error).__name__}: {error}"


def _describe(order: dict[str, Any], function: Any) -> tuple[ServedFunction | None, dict[str, Any]]:
    """The function, prepared, and its description; or None and the error."""
    try:
        prepared = prepare(function, order["signature"], order["dtype"])
    except ArgumentError as error:
        return None, {"error": str(error)}
    except (Exception, SystemExit) as error:
        why = f"{order['target']} cannot be called: {type(error).__name__}: {error}"
        return None, {"error": why}
    served = ServedFunction(function, LocalFunction(prepared.function), prepared.reading)
    return served, _description(prepared, served)


def _description(prepared: PreparedFunction, served: ServedFunction) -> dict[str, Any]:
    """What the judge is told of a function."""
    said = {name: value for name, value in vars(prepared).items() if name != "function"}
    reading = prepared.reading
    return said | {
        "name": function_name(served.original),
        "packed": served.function.is_packed,
        "roles": asdict(prepared.roles),
        "reading": reading and {name: getattr(reading, name) for name in READING_FIELDS},
    }


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
    hangups = select.poll()
    hangups.register(parent, 0)  # the worker reads what comes; here only the end is waited for
    hangups.poll()
    os.killpg(os.getpgrp(), signal.SIGKILL)


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
