"""What the page can ask: plain functions in one table, which know of no server.

``regard open`` wraps them (server.py): a token, worker threads, one port. A static site calls them
in the visitor's browser. A request is a path and the fields of a JSON object.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError
from regard.view.page.maps import bounded_integer
from regard.view.page.readings import Readings

if TYPE_CHECKING:
    from regard.view.page.live import LiveModel


class ClientLeftError(Exception):
    """Raised inside a job whose client has disconnected."""


class Stop:
    """A cancellation flag that a job checks from time to time."""

    def __init__(self) -> None:
        self._event = Event()

    def set(self) -> None:
        self._event.set()

    def check(self) -> None:
        if self._event.is_set():
            raise ClientLeftError


@dataclass(frozen=True)
class Answer:
    """The content of an answer, its media type, and the headers that the page reads."""

    content: bytes
    media_type: str = "application/octet-stream"
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200


Fields = Mapping[str, Any]
# It calls ``stop.check()`` from time to time, which ends it when nobody waits for it any more.
AnswerFunction = Callable[[Fields, Stop], Answer]
AnswerTable = dict[str, AnswerFunction]


NOTHING_OPEN = {
    "file": "no .regard file is open here: run regard open FILE.regard, or, on a static site, drop "
    "the file on the page.",
    "training": "no training is open here: run regard open FOLDER; a static site reads no folders.",
}


@dataclass(frozen=True)
class Sources:
    """What answers are computed from: readings, files, folders of trainings, a loaded model.

    A request names a file by its index in ``files``, never by a path; a training likewise.
    """

    readings: Readings = field(default_factory=Readings)
    files: Sequence[Path] = ()
    trainings: Sequence[Path] = ()
    model: LiveModel | None = None

    def index(self, fields: Fields, name: str) -> int:
        """The index of the ``file`` or the ``training`` that a request names."""
        paths = self.files if name == "file" else self.trainings
        if not paths:
            raise ArgumentError(NOTHING_OPEN[name])
        return bounded_integer(name, fields.get(name), 0, len(paths) - 1)


def json_answer(value: Any, status: int = 200) -> Answer:
    """A value as JSON; NaN and infinity, which JSON does not have, are an error."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Answer(text.encode(), "application/json", status=status)


def html_answer(text: str) -> Answer:
    """A page of its own."""
    return Answer(text.encode(), "text/html")


def numbers(array: NDArray[Any], headers: Mapping[str, str] | None = None) -> Answer:
    """An array as float32, little endian, C order; its shape travels in a header."""
    shape = ",".join(str(size) for size in array.shape)
    content = np.ascontiguousarray(array, dtype="<f4").tobytes()
    return Answer(content, headers={"X-Regard-Shape": shape, **(headers or {})})


def error_answer(sentence: str, status: int) -> Answer:
    """An error for the page to show."""
    return json_answer({"error": sentence}, status)


def json_fields(body: bytes) -> Fields:
    """The fields of a request's JSON."""
    try:
        fields = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise ArgumentError("a request must be a JSON object.")
    if _has_surrogate(fields):
        raise ArgumentError(
            "a request must not contain a lone surrogate, half of a character: remove it."
        )
    return fields


def _has_surrogate(fields: Fields) -> bool:
    """Whether any text has a lone surrogate, which UTF-8 cannot encode."""
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
