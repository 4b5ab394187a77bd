"""Types of the page's answers for TypeScript, inferred from what Python answers.

Run ``PYTHONPATH=. python tools/answer_types.py``: it asks for one of everything and writes
tools/answers.d.ts, beside which src/regard/view/web/types.d.ts names only what the page makes
itself. With ``--check`` it compares instead, as a nightly test does.
"""

import json
import struct
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tests.helpers.planted_model import planted_model, planted_tokenizer

import regard
from regard.checker.check import check
from regard.monitoring.events import Event
from regard.monitoring.folder import About, FolderWriter, Layer
from regard.monitoring.health import MEASURES
from regard.view.page.answers import Answer, Sources, Stop
from regard.view.page.live import LiveModel
from regard.view.page.routes import all_answers
from regard.view.page.routes.learn import PAGES
from regard.watcher.files.model_folder import Loaded

WRITTEN = Path(__file__).with_name("answers.d.ts")
SENTENCES = (
    "A dog ate the food because it was hungry",
    "The cat saw the mouse. It was slow.",
    "I am good",
)
TEXT = "the lighthouse number is seven nine four . what a river sang . the lighthouse number is"
HEAD = {"part": "encoder", "layer": 3, "head": 6}
# What these samples cannot tell: what may be missing, types that the page narrows, empty lists.
TOLD = {
    ("PageReading", "changes"): "Change[]",
    ("PageReading", "first"): "unknown",
    ("PageReading", "highlight"): "HeadHighlight | null",
    ("Part", "roles"): "string[][] | null",
    ("Part", "described_roles"): "string[][] | null",
    ("Run", "differing"): "number[]",
    ("RunSide", "text"): "number | null",
    ("RunSide", "generated"): "number | null",
    ("RunAbout", "images"): "PageImage[]",
    ("RunAbout", "notes"): "string[]",
    ("RunText", "names"): "Record<number, string>",
    ("RunHead", "measures"): "Record<string, number[]> | null",
    ("RunHead", "link"): "TellingLink | null",
    ("RunRanking", "first"): "(RunChoice & { query: number | null }) | null",
    ("ModelAbout", "most"): "number | null",
    ("ModelAnswer", "former"): "[string, boolean][]",
    ("ModelAnswer", "moved"): "number[][]",
    ("TrainingAlert", "last"): "number | null",
    ("TrainingAbout", "rows"): "number | null",
    ("TrainingAbout", "last"): "number | null",
    ("TrainingAbout", "losses"): "{ steps: number[]; values: (number | null)[] }",
    ("Facts", "weights"): "number[][] | number[]",
    ("Facts", "values"): "number[][]",
    ("Facts", "count"): "number",
    ("SurveyMeasure", "mean"): "number | undefined",
    ("SurveyMeasure", "deviation"): "number | undefined",
    ("SurveyMeasure", "baseline"): "number | undefined",
    ("SurveyHead", "role"): "{ measure: string | null; mean: number; baseline: number }",
    ("SurveyHead", "entropy_by_position"): "(number | null)[]",
    ("SurveyHead", "received_by_position"): "(number | null)[]",
    ("SurveyReport", "bands"): "[number, number][]",
    ("SurveyReport", "positions"): "[number, number][]",
    ("SurveyReport", "model"): "{ about: string; window: number }",
    **{("CheckReport", name): "string[]" for name in ("mistakes", "others", "tried", "notes")},
    ("CheckFinding", "wrong"): "number | string | null",
    ("CheckFinding", "right"): "number | string | null",
}
DATA_KEYS = {"measures", "advice", "quantiles", "ranked", "names", "examples"}  # keys are data
ALL_THERE = {"Facts"}  # a scene has those that its text and pictures name
OPEN = {"Facts"}


class Types:
    """Named samples, and what each name looks like."""

    def __init__(self) -> None:
        self.samples: dict[str, list[dict[str, Any]]] = {}
        self.names: dict[int, str] = {}

    def name(self, name: str, *samples: Any) -> None:
        """These objects are called so wherever they stand."""
        for sample in samples:
            if isinstance(sample, dict):
                self.samples.setdefault(name, []).append(sample)
                self.names[id(sample)] = name

    def written(self) -> str:
        """All interfaces, in the order in which they were named."""
        return "\n".join(self._interface(name, made) for name, made in self.samples.items())

    def _interface(self, name: str, samples: list[dict[str, Any]]) -> str:
        lines = [f"interface {name} {{"]
        if name in OPEN:
            lines.append("  [name: string]: unknown;")
        for key in dict.fromkeys(key for sample in samples for key in sample):
            values = [sample[key] for sample in samples if key in sample]
            maybe = "?" if len(values) < len(samples) and name not in ALL_THERE else ""
            kind = TOLD.get((name, key)) or self._union(values, key)
            lines.append(f"  {key}{maybe}: {kind};")
        return "\n".join([*lines, "}", ""])

    def _union(self, values: list[Any], key: str = "") -> str:
        lists = [value for value in values if isinstance(value, list)]
        plain = [
            value for value in values if isinstance(value, dict) and id(value) not in self.names
        ]
        kinds = {_scalar(value) for value in values if not isinstance(value, (list, dict))}
        kinds |= {self.names[id(value)] for value in values if id(value) in self.names}
        if lists:
            kinds.add(self._list([item for one in lists for item in one]))
        if plain:
            kinds.add(self._object(plain, key))
        return " | ".join(sorted(kinds, key=lambda kind: (kind == "null", kind))) or "unknown"

    def _list(self, items: list[Any]) -> str:
        inner = self._union(items) if items else "unknown"
        return f"({inner})[]" if " | " in inner else f"{inner}[]"

    def _object(self, values: list[dict[str, Any]], key: str) -> str:
        keys = dict.fromkeys(name for value in values for name in value)
        if key in DATA_KEYS or not keys or not all(map(str.isidentifier, keys)):
            inner = self._union([item for value in values for item in value.values()])
            return f"Record<string, {inner}>"
        fields = []
        for name in keys:
            given = [value[name] for value in values if name in value]
            maybe = "?" if len(given) < len(values) else ""
            fields.append(f"{name}{maybe}: {self._union(given, name)}")
        return f"{{ {'; '.join(fields)} }}"


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "string"


def answered(folder: Path) -> Types:
    """One of everything that the page can ask for."""
    types = Types()
    run, training = _run(folder / "run.regard"), _training(folder / "training")
    loaded = Loaded(planted_model(), planted_tokenizer(), True, False)
    model = LiveModel(loaded, "planted", TEXT)
    table = all_answers(Sources(files=[run], trainings=[training], model=model))

    def ask(path: str, **fields: Any) -> Any:
        answer = table[path](fields, Stop())
        return json.loads(answer.content) if answer.media_type == "application/json" else answer

    _of_sentences(types, ask)
    _of_runs(types, ask)
    about = ask("/api/monitor/about", training=0)
    types.name("TrainingAlert", *about["alerts"])
    types.name("TrainingAbout", about)
    types.name("Facts", *(ask("/api/learn", page=page) for page in PAGES))
    _of_reports(types, folder)
    return types


def _of_sentences(types: Types, ask: Any) -> None:
    readings = [ask("/api/read", sentence=sentence) for sentence in SENTENCES]
    readings += [ask("/api/read", sentence=SENTENCES[0], quick=True)]
    change = {"change": "ablate", **HEAD}
    experiment = ask("/api/experiment", sentence=SENTENCES[0], changes=[change])
    readings.append(experiment.pop("reading"))
    for reading in readings:
        types.name("Alignment", reading["alignment"])
        types.name("HeadHighlight", reading["highlight"])
        types.name("Part", *reading["parts"])
        for part in reading["parts"]:
            types.name("Side", part["query"], part["key"])
    types.name("PageReading", *readings)
    types.name("Run", experiment["before"], experiment["after"])
    types.name("Outcome", experiment)
    types.name("BecauseTerms", ask("/api/because", sentence=SENTENCES[0], query=6, key=1, **HEAD))
    types.name("Example", *_examples(ask))


def _examples(ask: Any) -> Iterator[Any]:
    for name in ("robots", "good", "cat"):
        content = ask("/api/steps", example=name).content
        (size,) = struct.unpack("<I", content[:4])
        yield json.loads(content[4 : 4 + size])["example"]


def _of_runs(types: Types, ask: Any) -> None:
    about, ranking = ask("/api/map/about", file=0), ask("/api/map/heads", file=0)
    for part in about["parts"]:
        types.name("RunLayer", *part["layers"])
        types.name("RunSide", part["query"], part["key"])
    types.name("RunPart", *about["parts"])
    types.name("RunAbout", about)
    types.name("TellingLink", *(head["link"] for head in ranking["heads"]))
    types.name("RunHead", *ranking["heads"])
    types.name("RunRanking", ranking)
    types.name("RunText", ask("/api/map/text", file=0, text=0))
    spans = {"rows": [0, 4], "columns": [0, 4], "cells": [4, 4], "thorough": True}
    place = {"part": "decoder", "layer": 0, "head": 0}
    region: Answer = ask("/api/map/region", file=0, **place, **spans)
    types.name("RegionHeader", json.loads(region.headers["X-Regard-Shown"]))
    types.name("ModelAbout", ask("/api/model/about"))
    changed = [{"change": "ablate", "part": "decoder", "layer": 1, "head": 0}]
    answers = [ask("/api/model/read", text=TEXT, generate=2, changes=x) for x in ([], changed)]
    types.name("ModelAnswer", *answers)


def _of_reports(types: Types, folder: Path) -> None:
    text = folder / "corpus.txt"
    text.write_text("\n".join([*SENTENCES, "The dog saw the cat and the cat ran."] * 2))
    report = regard.survey(text, out=folder / "out", workers=1).report
    report = json.loads(json.dumps(report))
    types.name("SurveyMeasure", *(x for head in report["heads"] for x in head["measures"].values()))
    types.name("SurveyHead", *report["heads"])
    types.name("SurveyReport", report)

    def wrong(q: Any, k: Any, v: Any) -> Any:
        return np.exp(q @ k.T) @ v

    checked = json.loads(json.dumps(check(wrong).to_dict()))
    types.name("CheckFinding", *checked["findings"])
    types.name("CheckReport", checked)


def _run(path: Path) -> Path:
    with regard.watch(planted_model(), tokenizer=planted_tokenizer()) as seen:
        planted_model()(**planted_tokenizer()(TEXT, return_tensors="pt"))
    seen.with_text(TEXT).save(path)
    return path


def _training(folder: Path) -> Path:
    writer = FolderWriter(folder)
    writer.begin(About((Layer("decoder", 0, 2, "layers.0"),), every=10))
    writer.step(0, 4.0, np.zeros(1))
    writer.observed(0, np.zeros((len(MEASURES), 2), np.float32))
    line = "step 0, layer 0, head 0: largest score passed 100"
    writer.event("alert", 0, **Event("threshold", 0, line, [0]).fields())
    writer.close()
    return folder


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        types = answered(Path(folder))
    text = f"// Generated by tools/answer_types.py from Python's answers.\n\n{types.written()}"
    if "--check" not in sys.argv:
        WRITTEN.write_text(text, encoding="utf-8")
    elif text != WRITTEN.read_text(encoding="utf-8"):
        sys.exit(f"{WRITTEN} is not what Python answers: run python tools/answer_types.py")


if __name__ == "__main__":
    main()
