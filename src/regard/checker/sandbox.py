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
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from types import FunctionType, SimpleNamespace
from typing import IO, Any

import numpy as np

from regard.checker.adapters import LIBRARY_NAMES, native, on_device
from regard.checker.calls import Call, CallResult, LocalFunction, one_line
from regard.checker.check import (
    check_prepared,
    function_name,
    give_verdict,
    is_worth_asking,
    library_used,
    own_words,
    read_options,
    structure_of,
)
from regard.checker.conventions import AXES, DTYPES
from regard.checker.example import Example, read_call
from regard.checker.mistakes import BY_NAME
from regard.checker.prepare import (
    Features,
    PreparedFunction,
    library_order,
    prepare,
    prepare_traced,
    read_signature,
)
from regard.checker.reading import Form, Reading
from regard.checker.report import UNKNOWN, Report
from regard.checker.signatures import ARRAYS, ROLE_NAMES, Roles
from regard.checker.structure import Difference, Fault, Structure
from regard.checker.suite import Suite, suite_dtypes, suite_of_prepared
from regard.checker.supervisor import fork_worker
from regard.checker.verdict import NAMED, without_guesses
from regard.errors import ArgumentError
from regard.typing import Array

MAX_SECONDS = 24 * 3600.0
MAX_MEMORY_GB = 100_000.0
MAX_STDERR_BYTES = 2**16  # read from the end of what the worker wrote
MAX_TEXT_BYTES = 2**22  # of the JSON of a message
MAX_MESSAGE_BYTES = 2**28  # of all its arrays together, as float64
MAX_TEXT_LETTERS = 1000
MAX_SAID = 40  # facts, differences or faults
MAX_HEAD_WIDTH, MAX_HEADS, MAX_WIDTH = 2**12, 2**10, 2**16
SOURCES = tuple(f"source {i}" for i in range(4))
MAIN_ROLES = frozenset([role for roles in ARRAYS.values() for role in roles] + list(SOURCES))
PYTHONS_OWN = sys.stdlib_module_names - {"antigravity", "this", "test"}
POLL_SECONDS = 0.2
MAX_SECONDS_TO_END = 10.0
# Arrays are small: more threads would take longer to wake than to compute.
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
FRAME = struct.Struct(">QQ")  # the bytes of the JSON, and of the arrays that follow it
READING_FIELDS = ("forms", "sources", "heads", "returns", "output", "inside", "first_alone")
IMPORTING = ": put what trains or runs at its end under  if __name__ == '__main__':"
NOT_AN_ANSWER = "its process returned something that is not an answer"
# What a function may say of itself; the parent takes nothing else from the worker.
HINTS = frozenset(("causal", "mask shows", "no empty rows", "mentions heads", "returns scores"))


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
    "like": "auto",
    "call": "",
    "arrays": {},
}


class SandboxError(Exception):
    """The worker ended, took too long, or returned something that is not an answer."""


class NotCallableError(SandboxError):
    """The worker found no way to call the function; it still answers questions."""


def check_apart(target: str, options: dict[str, Any], limits: Limits, **place: Any) -> Report:
    """``check`` on 'file.py:function' or 'module:function', whose code runs in another process.

    ``place``: ``module`` and ``path``, the name and the search path to import the file with.
    """
    chosen: dict[str, Any] = {**DEFAULT_OPTIONS, **options}
    try:
        claimed = read_options(chosen["features"], chosen["dtype"], chosen["seed"], chosen["like"])
        read_signature(chosen["signature"])
        asked = {name: chosen[name] for name in ("signature", "dtype", "device", "call", "arrays")}
        with Worker(target, limits, **asked, **place) as worker:
            report, example = _asked(worker, target, claimed, chosen), worker.has_example
        if example and not report.right:
            with Worker(target, limits, **asked, **place, alone=True) as worker:
                report = without_guesses(report, _asked(worker, target, claimed, chosen))
    except (SandboxError, ArgumentError) as error:
        return Report(target, UNKNOWN, tried=(str(error),))
    except Exception as error:  # answers that lead to anything else: a verdict on the worker
        return Report(target, UNKNOWN, tried=(f"{NOT_AN_ANSWER} ({one_line(error)})",))
    return replace(report, function=target)


def _asked(worker: Worker, target: str, claimed: Features, chosen: dict[str, Any]) -> Report:
    """The report of both witnesses on the function of a worker."""
    report, roles = _probed(worker, target, claimed, chosen)
    structure = worker.structure(library_used(report)) if is_worth_asking(report) else None
    return give_verdict(report, structure, worker.own, roles, chosen["like"])


def _probed(
    worker: Worker, target: str, claimed: Features, chosen: dict[str, Any]
) -> tuple[Report, dict[str, str]]:
    """The report of the probes, and the names by role of the function's arguments."""
    try:
        prepared, name = worker.prepared()
    except NotCallableError as error:
        return Report(target, UNKNOWN, tried=(str(error),)), {}
    report = check_prepared(
        prepared,
        name,
        claimed,
        seed=chosen["seed"],
        strict=chosen["strict"],
        fresh_seed=1 + secrets.randbits(62),
    )
    return report, prepared.roles.names


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
        call: str = "",
        arrays: dict[str, tuple[int, ...]] | None = None,
        module: str = "",
        path: tuple[str, ...] = (),
        alone: bool = False,
    ) -> None:
        self.limits, self.end = limits, monotonic() + limits.seconds
        order = {"target": target, "signature": signature, "dtype": dtype, "device": device,
                 "call": call, "arrays": arrays or {}, "module": module, "path": path,
                 "alone": alone, "seconds": limits.seconds,
                 "memory": limits.memory}  # fmt: skip
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed in __exit__)
        self._process = subprocess.Popen(  # noqa: S603 (the user asked for their file to be run)
            [sys.executable, "-P", "-m", "regard.checker.sandbox", json.dumps(order)],
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
        self.is_packed = self.has_example = False
        self.own: tuple[bool, frozenset[str]] = (False, frozenset())

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._questions.put(None)
        _end_all(self._process)
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
        with _only_answers():
            if "layer" in said:
                self.own = bool(said["layer"]), frozenset(NAMED).intersection(said["named"])
                self.has_example = bool(said["example"])
            error = said.get("error")
        if isinstance(error, str):
            kind = NotCallableError if "layer" in said else SandboxError
            raise kind(error[:MAX_TEXT_LETTERS])
        with _only_answers():
            self.is_packed = bool(said["packed"])
            return _read_prepared(said, self), str(said["name"])[:MAX_TEXT_LETTERS]

    def structure(self, library: str) -> Structure | None:
        """The structure that the worker found; what it says are names that are known, and text."""
        said = self._ask({"ask": "structure", "library": library})
        with _only_answers():
            if said["structure"] is None:
                return None
            facts, differences, faults, undecided, agrees = said["structure"]
            return Structure(
                tuple(_text(x) for x in facts[:MAX_SAID]),
                tuple(Difference(str(k)[:20], _text(x)) for k, x in differences[:MAX_SAID]),
                tuple(
                    Fault(name, _text(x))
                    for name, x in faults[:MAX_SAID]
                    if _known((name,), BY_NAME)
                ),
                tuple(_text(x) for x in undecided[:MAX_SAID]),
                None if agrees is None else bool(agrees),
            )

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
                tuple(_known(said["changed"] or (), MAIN_ROLES | frozenset(ROLE_NAMES))),
                str(said["error"])[:MAX_TEXT_LETTERS],
                bool(said["has_complex"]),
                str(said["refused"])[:MAX_TEXT_LETTERS],
            )

    def _ask(self, question: dict[str, Any] | None, late: str = "") -> Any:
        """One answer; the first two come without a question. ``late``: advice on a slow one."""
        if monotonic() > self.end:  # it always answers, and asks for more and more time
            raise SandboxError(f"it {self._too_long}")
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
                raise SandboxError(f"{what} {self._too_long}{late}")

    @property
    def _too_long(self) -> str:
        return f"took longer than {self.limits.seconds:g} s (--seconds N for more)"

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
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
        raise SandboxError(NOT_AN_ANSWER) from None


def _read_prepared(said: dict[str, Any], worker: Worker) -> PreparedFunction:
    """The description of a function, every part of it one that ``prepare`` can give."""
    roles = said["roles"]
    names = {role: str(name) for role, name in roles["names"].items() if role in ROLE_NAMES}
    sources = {role: str(name) for role, name in roles["sources"].items() if role in SOURCES}
    arrays = (*ARRAYS[roles["form"]], *sources)
    reading = _read_reading(said["reading"], worker)
    fits = (roles["form"] == "x") == (reading is not None)
    if not fits or (reading and tuple(sources) != SOURCES[: len(reading.forms)]):
        raise ValueError("sources that do not fit the reading")
    head_width = int(said["head_width"])
    if not 0 <= head_width <= MAX_HEAD_WIDTH:
        raise ValueError("no width of a head")
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
        reading,
        HINTS.intersection(said["claims"]),
        tuple(str(note)[:MAX_TEXT_LETTERS] for note in said["notes"]),
        head_width,
    )


def _known(words: Any, known: Any) -> tuple[str, ...]:
    if not all(word in known for word in words):
        raise ValueError("unknown word")
    return tuple(words)


def _text(text: Any) -> str:
    return str(text)[:MAX_TEXT_LETTERS]


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
    fits = 0 < heads <= MAX_HEADS and all(0 <= i < len(forms) for i in (q, k, v))
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
    fits = fits and min(sizes, default=0) >= 1 and math.prod(sizes) <= MAX_WIDTH
    if not fits or len(letters) + len(sizes) != len(said):
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
    if text_bytes > MAX_TEXT_BYTES or content_bytes > MAX_MESSAGE_BYTES:
        raise ValueError("a message that is too long")
    text, content = _read_exactly(file, text_bytes), _read_exactly(file, content_bytes)
    value = json.loads(text)
    if _decoded_bytes(value) > MAX_MESSAGE_BYTES:
        raise ValueError("a message that is too long")
    return _decode(value, memoryview(content))


def _decoded_bytes(value: Any) -> int:
    """The bytes of all arrays of a message as float64; one may be named more than once."""
    if isinstance(value, list):
        return sum(map(_decoded_bytes, value))
    if not isinstance(value, dict):
        return 0
    if "array" in value:
        return 8 * int(math.prod(value["array"][1]))
    return sum(map(_decoded_bytes, value.values()))


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
    if np.dtype(dtype).kind not in "biuf" or any(size < 0 for size in shape) or start < 0:
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


def _add_to_path(folder: Path, imported: Iterable[str] = ()) -> None:
    """Search a folder for imports, but for modules of Python that the user does not ask for.

    A ``queue.py`` beside a homework must not replace the module that a library imports.
    """
    for path in folder.iterdir() if folder.is_dir() else ():
        name = path.stem
        if name in PYTHONS_OWN and name not in imported and name not in sys.modules:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _imported_names(path: Path) -> set[str]:
    """The modules that a file itself imports."""
    try:
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
    except (SyntaxError, ValueError, OSError):
        return set()
    names = [x.name for node in nodes if isinstance(node, ast.Import) for x in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


def _module(origin: str, name: str) -> Any:
    if name:
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(name)
    if not origin.endswith(".py"):
        _add_to_path(Path.cwd())
        try:
            return importlib.import_module(origin)
        except ModuleNotFoundError as error:
            raise ArgumentError(f"{origin} cannot be imported: {error}.") from None
    path = Path(origin)
    if not path.exists():
        raise ArgumentError(f"no such file: {origin}.")
    _add_to_path(path.resolve().parent, _imported_names(path))
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


def _end_all(child: subprocess.Popen[bytes]) -> None:
    """Have the supervisor end whatever was started, also after a result; then its group."""
    child.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):  # it was stopped
        child.wait(MAX_SECONDS_TO_END)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    child.wait()


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

    On POSIX systems this happens in a second process, below a supervisor. Both start without the
    current folder in their search path (-P): whatever lies there is no part of Python or of regard.
    """
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what the function prints is no answer
    on_cpu = order["device"] == "cpu"  # drivers of devices reserve far more than they use
    each = order["memory"] if on_cpu else MAX_MEMORY_GB
    fork_worker(questions.fileno(), order["seconds"], order["memory"], each)
    try:
        with on_device(order["device"]):
            _serve(order, questions, answers)
    except ArgumentError as error:  # there is no such device
        write_message(answers, {"error": str(error)})


def _serve(order: dict[str, Any], questions: IO[bytes], answers: IO[bytes]) -> None:
    """Load the function of an order, describe it and answer questions, until there are no more."""
    function, example, why = _load(order)
    write_message(answers, {"loaded": not why})
    served, said = (None, {"error": why}) if why else _describe(order, function, example)
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


@dataclass
class ServedFunction:
    """The function of a worker: what each question makes of it."""

    original: Any
    example: Example | None
    function: LocalFunction
    reading: Reading | None = None

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        kind = question.pop("ask")
        if kind == "traced":
            return self._trace(question["dtype"])
        if kind == "structure":
            return {"structure": self._structure(question["library"])}
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

    def _structure(self, library: str) -> tuple[Any, ...] | None:
        found = structure_of(self.original, self.example, library)
        if found is None:
            return None
        return (
            found.facts,
            tuple((x.kind, x.text) for x in found.differences),
            tuple((x.name, x.detail) for x in found.faults),
            found.open,
            found.agrees,
        )

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


def _load(order: dict[str, Any]) -> tuple[Any, Example | None, str]:
    """The function of an order and its example call, or None and the error."""
    for folder in reversed(order["path"]):
        if folder not in sys.path:
            _add_to_path(Path(folder))
    try:
        function, example = _load_call(order) if order["call"] else (None, None)
        if function is None:
            function = load(order["target"], order["module"])
            function, example = _own_example(function)
        return function, None if order["alone"] else example, ""
    except ArgumentError as error:
        return None, None, str(error)
    except (Exception, SystemExit) as error:
        return None, None, f"{order['target']} cannot be loaded: {type(error).__name__}: {error}"


def _load_call(order: dict[str, Any]) -> tuple[Any, Example]:
    """What the call of an order calls, and its arguments."""
    origin, _, name = order["target"].rpartition(":")
    names = vars(_module(origin or name, order["module"]))
    library = library_order(FunctionType((lambda: 0).__code__, names))[0]
    for index, (array, shape) in enumerate(order["arrays"].items()):
        numbers = np.random.default_rng(index).standard_normal(tuple(map(int, shape)))
        names[array] = native(numbers, library, "float32" if library == "torch" else "float64")
    return read_call(order["call"], names)


def _own_example(function: Any) -> tuple[Any, Example | None]:
    """The function, and the call that ``example()`` of its file gives: arguments, then keywords."""
    module = sys.modules.get(str(getattr(function, "__module__", "")))
    example = getattr(module, "example", None)
    if not isinstance(example, FunctionType) or example is function:
        return function, None
    given = example()
    given = given if isinstance(given, tuple) else (given,)
    keywords = given[-1] if isinstance(given[-1], dict) else {}
    given = given[: len(given) - bool(keywords)]
    if isinstance(function, type) and given and isinstance(given[0], function):
        function, given = given[0], given[1:]
    return function, Example(given, keywords)


def _describe(
    order: dict[str, Any], function: Any, example: Example | None
) -> tuple[ServedFunction, dict[str, Any]]:
    """The function, prepared as far as it can be, and its description or the error."""
    layer, named = own_words(function)
    own = {"layer": layer, "named": named, "example": example is not None}
    try:
        prepared = prepare(function, order["signature"], order["dtype"], example)
    except ArgumentError as error:
        why = str(error)
    except (Exception, SystemExit) as error:
        why = f"{order['target']} cannot be called: {type(error).__name__}: {error}"
    else:
        served = ServedFunction(
            function, example, LocalFunction(prepared.function), prepared.reading
        )
        return served, own | _description(prepared, served)
    return ServedFunction(function, example, LocalFunction(function)), own | {"error": why}


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


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
