"""Steps: inputs of a head's computation, the layer around it, and the documents' examples."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from regard.transformer.reading import Reading
from regard.transformer.residual import ResidualRun
from regard.view.page.answers import Answer, AnswerTable, Fields, Sources, Stop, json_answer
from regard.view.page.readings import integer_field, text_field, without_position
from regard.view.page.steps import (
    example_data,
    example_summaries,
    layer_data,
    next_words_data,
    reading_data,
)

MAX_RUNS = 3  # in float64, cached: both sides of one sentence, and one without positions
MAX_RUN_TOKENS = 300  # of all of them together; a token takes about half a megabyte
Key = tuple[str, bool, bool]


class ExactRuns:
    """Recent runs in float64, which every layer is read from, and their next words as sent."""

    def __init__(self) -> None:
        self._runs: OrderedDict[Key, ResidualRun] = OrderedDict()
        self._next: dict[Key, bytes] = {}
        self._lock = Lock()

    def get(self, reading: Reading, *, quick: bool) -> ResidualRun:
        """The run of a reading, of its English side alone where it is ``quick``."""
        return self._run(reading, quick)[1]

    def next_words(self, reading: Reading) -> bytes:
        key, run = self._run(reading, quick=False)
        content = self._next.get(key)
        if content is None:
            content = next_words_data(run).to_bytes()
            with self._lock:
                if key in self._runs:
                    self._next[key] = content
        return content

    def _is_full(self) -> bool:
        tokens = [len(x.reading.tokens) + len(x.given) for x in self._runs.values()]
        return len(tokens) > MAX_RUNS or sum(tokens) > MAX_RUN_TOKENS

    def _run(self, reading: Reading, quick: bool) -> tuple[Key, ResidualRun]:
        key = (reading.sentence, quick, reading.positions)
        with self._lock:
            run = self._runs.setdefault(key, ResidualRun.from_reading(reading))
            self._runs.move_to_end(key)
            while len(self._runs) > 1 and self._is_full():
                oldest, _ = self._runs.popitem(last=False)
                self._next.pop(oldest, None)
        return key, run


def answers(sources: Sources) -> AnswerTable:
    """steps, path, next, examples."""
    runs = ExactRuns()

    def requested_reading(fields: Fields, stop: Stop, part: str) -> Reading:
        sentence = text_field(fields, "sentence")
        reading = sources.readings.read(sentence, stop.check, quick=part == "encoder")
        return without_position(reading) if fields.get("position") is False else reading

    def steps(fields: Fields, stop: Stop) -> Answer:
        if "example" in fields:
            return Answer(example_data(text_field(fields, "example")).to_bytes())
        part = text_field(fields, "part")
        reading = requested_reading(fields, stop, part)
        numbers = [_optional_integer(fields, name) for name in ("layer", "head")]
        return Answer(reading_data(reading, part, *numbers).to_bytes())

    def path(fields: Fields, stop: Stop) -> Answer:
        part, layer = text_field(fields, "part"), _optional_integer(fields, "layer") or 0
        run = runs.get(requested_reading(fields, stop, part), quick=part == "encoder")
        return Answer(layer_data(run, part, layer).to_bytes())

    def next_words(fields: Fields, stop: Stop) -> Answer:
        return Answer(runs.next_words(requested_reading(fields, stop, "decoder")))

    def examples(fields: Fields, stop: Stop) -> Answer:
        return json_answer(example_summaries())

    return {
        "/api/steps": steps,
        "/api/path": path,
        "/api/next": next_words,
        "/api/examples": examples,
    }


def _optional_integer(fields: Fields, name: str) -> int | None:
    return None if fields.get(name) is None else integer_field(fields, name)
