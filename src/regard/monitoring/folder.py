"""The folder of a training: what was observed, appended step by step.

::

    monitor.json     layers, heads, measures and options; written once
    observed.bin     a record for each observed step: step, then every measure of every head
    steps.bin        a record for each step: step, loss, then the largest log-sum-exp of each layer
    events.jsonl     events, settings of attention, trainings that went on or ended, a line each

Records have one size and a checksum each, so that a torn last one is seen and dropped and a
damaged one left out. Files are only appended to: a training that goes on from a checkpoint writes
its steps again, and a step's last record counts.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import numpy as np

from regard.arguments import fits, named_arguments
from regard.atomic_write import write_text
from regard.errors import ArgumentError, FileError
from regard.monitoring.health import MEASURES
from regard.typing import Array

ABOUT, OBSERVED, STEPS, EVENTS = "monitor.json", "observed.bin", "steps.bin", "events.jsonl"
FORMAT = 2
MAX_HEADS = 2**20  # of a layer
ALERT_FIELDS = {"number": int, "rule": str, "severity": str, "first": int, "line": str}


@dataclass(frozen=True)
class Layer:
    """One attention of the model: its part and number from 0, heads, and the path of its module."""

    part: str
    layer: int
    heads: int
    path: str

    def __str__(self) -> str:
        return f"{self.part} layer {self.layer}"


@dataclass(frozen=True)
class About:
    """What a folder's numbers are about."""

    layers: tuple[Layer, ...]
    every: int
    rows: int | None = None
    seed: int = 0
    threshold: float = 100.0
    probe: bool = False
    measures: tuple[str, ...] = tuple(MEASURES)
    format: int = FORMAT

    @property
    def heads(self) -> int:
        return sum(layer.heads for layer in self.layers)

    @property
    def starts(self) -> list[int]:
        """The first head of each layer among those of all, and their number."""
        return [0, *np.cumsum([layer.heads for layer in self.layers]).tolist()]

    def heads_of(self, index: int) -> slice:
        """The heads of a layer among those of all, by its place in ``layers``."""
        if not 0 <= index < len(self.layers):
            raise ArgumentError(f"index must be 0-{len(self.layers) - 1}, got {index!r}.")
        return slice(*self.starts[index : index + 2])

    @cached_property
    def records(self) -> dict[str, np.dtype[Any]]:
        """The type of the records of each data file."""
        observed = [("measures", "<f4", (len(self.measures), self.heads))]
        step = [("loss", "<f8"), ("bound", "<f4", (len(self.layers),))]
        return {
            name: np.dtype([("step", "<i8"), *numbers, ("checksum", "<u8")])
            for name, numbers in ((OBSERVED, observed), (STEPS, step))
        }

    @classmethod
    def read(cls, folder: str | Path) -> About:
        path = Path(folder) / ABOUT
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            form, checksum = found["format"], found.pop("crc32", None)
            if form == FORMAT and checksum != _crc32(found):
                raise ValueError
            layers = tuple(_checked(Layer(**layer)) for layer in found.pop("layers"))
            about = _checked(cls(layers, **found | {"measures": tuple(found["measures"])}))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise FileError(
                f"{folder} must be the folder of a monitored training, but its {ABOUT} cannot be "
                f"read ({type(error).__name__}). Make one: regard.monitor(model, to='runs/first')."
            ) from None
        if form != FORMAT:
            raise FileError(f"{path} has format {form!r}; this regard reads format {FORMAT}.")
        return about


def _crc32(found: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(found).encode())


Read = TypeVar("Read", Layer, About)


def _checked(entry: Read) -> Read:
    """A Layer or an About whose fields came from a file; raises where one is of another kind."""
    kinds = get_type_hints(type(entry))
    if not all(fits(getattr(entry, x.name), kinds[x.name]) for x in fields(entry)):
        raise ValueError
    if isinstance(entry, Layer):
        sound = 0 < entry.heads <= MAX_HEADS and entry.layer >= 0
    else:
        several = len(entry.layers) > 0 and len(entry.measures) > 0
        sound = several and entry.every > 0 and np.isfinite(entry.threshold)
    if not sound:
        raise ValueError
    return entry


class FolderWriter:
    """Appends to the folder of a training, a new one or one that goes on."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", error)
            raise FileError(f"{folder} must be a folder to write to: {reason}.") from None
        self.about = About.read(folder) if (self.folder / ABOUT).exists() else None
        self._files: dict[str, int] = {}
        self.alerts_before = 0
        self.settings: list[Any] = []  # of each layer, as the training before wrote them

    @property
    def last_step(self) -> int | None:
        """The last step of a training that goes on; None of a new one."""
        if self.about is None:
            return None
        steps = _records(self.folder, self.about, STEPS)[0]["step"]
        return int(steps[-1]) if len(steps) else None

    def begin(self, about: About) -> None:
        """Write what the numbers are about; of a training that goes on it must be the same."""
        if self.about is not None and self.about.layers != about.layers:
            pairs = zip_longest(self.about.layers, about.layers)
            ours, other = next(pair for pair in pairs if pair[0] != pair[1])
            raise ArgumentError(
                f"to must be a new folder for another model, got {str(self.folder)!r}: it has "
                f"{_described(ours)}, the model {_described(other)}."
            )
        if self.about != about:
            found = asdict(about)
            text = json.dumps(found | {"crc32": _crc32(found)}, indent=1)
            write_text(self.folder / ABOUT, text + "\n")
        for name in (OBSERVED, STEPS, EVENTS):
            path = self.folder / name
            if path.exists():
                kept = path.read_bytes().rfind(b"\n") + 1 if name == EVENTS else path.stat().st_size
                size = 1 if name == EVENTS else about.records[name].itemsize
                os.truncate(path, kept // size * size)
        self.about = about
        for event in _read_events(self.folder / EVENTS):
            if event["kind"] == "alert":
                self.alerts_before = max(self.alerts_before, event["number"] + 1)
            elif event["kind"] == "settings" and isinstance(event.get("layers"), list):
                self.settings = event["layers"]

    def observed(self, step: int, table: Array) -> None:
        """Append the measures (measure, head) of an observed step."""
        self._append_record(OBSERVED, step, table)

    def step(self, step: int, loss: float, bounds: Array) -> None:
        """Append a step's loss, nan where it is not known, and the bound of each layer."""
        self._append_record(STEPS, step, loss, bounds)

    def event(self, kind: str, step: int, **fields: Any) -> None:
        line = json.dumps({"kind": kind, "step": step, **fields}, ensure_ascii=False)
        self._append(EVENTS, line.encode("utf-8") + b"\n")

    def _append_record(self, name: str, *numbers: Any) -> None:
        assert self.about is not None
        record = np.array([(*numbers, 0)], self.about.records[name])
        record["checksum"] = _checksums(record)
        self._append(name, record.tobytes())

    def _append(self, name: str, data: bytes) -> None:
        """One write to a file opened for appending: a kill in between leaves a torn record only."""
        if name not in self._files:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            self._files[name] = os.open(self.folder / name, flags, 0o644)
        if os.write(self._files[name], data) < len(data):  # what follows would be read askew
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder / name))

    def written(self, kind: str) -> None:
        """Note how many records the files have, so that a file that is cut later is told."""
        assert self.about is not None
        paths = [(self.folder / name, kind.itemsize) for name, kind in self.about.records.items()]
        counts = [x.stat().st_size // size if x.exists() else 0 for x, size in paths]
        last = self.last_step
        self.event(kind, -1 if last is None else last, records=counts)

    def close(self) -> None:
        if self._files:
            self.written("closed")
        while self._files:
            os.close(self._files.popitem()[1])


def _described(layer: Layer | None) -> str:
    return "no more" if layer is None else f"{layer} of {layer.heads} heads at {layer.path!r}"


def _records(folder: str | Path, about: About, name: str) -> tuple[Array, int]:
    """Sound records of a file, without a torn last one, and the number of damaged ones."""
    path, kind = Path(folder) / name, about.records[name]
    data = path.read_bytes() if path.exists() else b""
    records = np.frombuffer(data[: len(data) // kind.itemsize * kind.itemsize], kind)
    sound = records["checksum"] == _checksums(records)
    return records[sound], int((~sound).sum())


def _checksums(records: Array) -> Array:
    """A number of each record that any one changed bit changes; not 0 where all bits are."""
    words = records.view("<u4").reshape(len(records), records.itemsize // 4)[:, :-2]
    odd = 2 * np.arange(words.shape[1], dtype=np.uint64) + 1
    found: Array = words.astype(np.uint64) @ odd + np.uint64(1)
    return found


def _last_of_each(records: Array) -> Array:
    """The last record of each step, in the order of steps."""
    _, at = np.unique(records["step"][::-1], return_index=True)
    return records[len(records) - 1 - at]


@named_arguments
@dataclass(frozen=True)
class History:
    """A monitored training: measures over steps, losses, bounds and events.

    ``history["entropy"]`` is (observations, heads of all layers); ``curve("entropy", 4, 7)`` one
    head's over ``history.steps``.
    """

    about: About
    steps: Array
    table: Array  # (observations, measures, heads)
    all_steps: Array
    losses: Array
    bounds: Array  # (steps, layers)
    events: tuple[dict[str, Any], ...] = ()
    folder: str = ""
    damaged: int = 0  # records that were left out
    missing: int = 0  # records that were written once and are not there: a file was cut

    @classmethod
    def load(cls, folder: str | Path) -> History:
        """Read a folder, of a training that is over, still runs, or was killed."""
        about = About.read(folder)
        read = [_records(folder, about, name) for name in about.records]
        observed, every = (_last_of_each(records) for records, _ in read)
        events, damaged = tuple(_read_events(Path(folder) / EVENTS)), sum(bad for _, bad in read)
        counts = [len(records) + bad for records, bad in read]
        missing = _missing(observed["step"], every["step"], about.every, counts, events)
        return cls(about, observed["step"], observed["measures"], every["step"], every["loss"],
                   every["bound"], events, str(folder), damaged, missing)  # fmt: skip

    def __getitem__(self, measure: str) -> Array:
        if measure not in self.about.measures:
            listed = ", ".join(self.about.measures)
            raise ArgumentError(f"measure must be one of {listed}, got {measure!r}.")
        return self.table[:, self.about.measures.index(measure)]

    def layer(self, measure: str, index: int) -> Array:
        """A measure of the heads of one layer, by its place in ``about.layers``."""
        return self[measure][:, self.about.heads_of(index)]

    def curve(self, measure: str, layer: int, head: int, part: str | None = None) -> Array:
        """A measure of one head over the observed steps."""
        for index, found in enumerate(self.about.layers):
            if found.layer == layer and part in (None, found.part):
                if not 0 <= head < found.heads:
                    raise ArgumentError(f"head must be 0-{found.heads - 1}, got {head}.")
                return self.layer(measure, index)[:, head]
        raise ArgumentError(f"layer must be one of {', '.join(map(str, self.about.layers))}.")

    @cached_property
    def alerts(self) -> list[dict[str, Any]]:
        """Events of rules, each with the heads that it had at last."""
        found: dict[int, dict[str, Any]] = {}
        for event in self.events:
            if event["kind"] == "alert":
                heads = event.get("heads")
                listed = heads if isinstance(heads, list) else []
                known = [x for x in listed if fits(x, int) and 0 <= x < self.about.heads]
                last = event.get("last")
                last = last if fits(last, int) else None
                found[event["number"]] = event | {"heads": known, "last": last}
        return list(found.values())

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as JSON takes them: None where one is not known."""
        table = {name: finite_or_none(self[name]) for name in self.about.measures}
        return {
            "about": asdict(self.about),
            "steps": self.steps.tolist(),
            "measures": table,
            "all_steps": self.all_steps.tolist(),
            "losses": finite_or_none(self.losses),
            "bounds": finite_or_none(self.bounds),
            "events": list(self.events),
        }

    def to_pandas(self) -> Any:
        """A row for each observed step and head, a column for each measure."""
        try:
            import pandas
        except ImportError:
            raise ArgumentError(
                "to_pandas needs pandas, not installed here: pip install pandas."
            ) from None
        about = self.about
        names = [(x.part, x.layer, h) for x in about.layers for h in range(x.heads)]
        steps, heads = len(self.steps), len(names)
        columns: dict[str, Any] = {"step": np.repeat(self.steps, heads)}
        for at, name in enumerate(("part", "layer", "head")):
            columns[name] = [x[at] for x in names] * steps
        columns |= {name: self[name].reshape(-1) for name in about.measures}
        return pandas.DataFrame(columns)


def _missing(
    observed: Array, steps: Array, every: int, counts: list[int], events: Sequence[dict[str, Any]]
) -> int:
    """How many records must have been there, by the other file and by the counts noted.

    The last step may lack its observation: a training that was killed wrote the step before it.
    """
    noted = [x["records"] for x in events if fits(x.get("records"), list[int])]
    short = (
        [max(0, old - now) for old, now in zip(noted[-1], counts, strict=False)] if noted else []
    )
    begun = [x for x in events if x["kind"] == "resumed"]
    since = steps[steps > begun[-1]["step"]] if begun else steps
    due = since[:-1][since[:-1] % every == 0]
    lacking = len(np.setdiff1d(due, observed)) + len(np.setdiff1d(observed, steps))
    return int(max(sum(short), lacking))


def _read_events(path: Path) -> Iterator[dict[str, Any]]:
    """Sound lines of the events; a torn last one is left out."""
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            event = json.loads(line, parse_constant=str)
        except (ValueError, RecursionError):
            continue
        if not (isinstance(event, dict) and fits(event.get("step"), int)):
            continue
        kinds = ALERT_FIELDS if event.get("kind") == "alert" else {"kind": str}
        if all(fits(event.get(name), kind) for name, kind in kinds.items()):
            yield event


def finite_or_none(numbers: Array) -> list[Any]:
    """Numbers as lists, None where one is nan or infinite.

    >>> finite_or_none(np.array([1.0, np.nan]))
    [1.0, None]
    """
    objects = numbers.astype(object)
    objects[~np.isfinite(numbers)] = None
    listed: list[Any] = objects.tolist()
    return listed
