"""regard.survey: a corpus in, a folder of rows and a report out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from regard.corpus.batch_job import Work
from regard.corpus.batching import Batch, Choice
from regard.corpus.engines import in_processes, in_this_process
from regard.corpus.manifest import FAILED, PAGE, REPORT, Manifest, alone, begin
from regard.corpus.models import ModelPlace
from regard.corpus.readers import count_documents, documents
from regard.corpus.shards import (
    DOCUMENTS,
    Shard,
    Shards,
    need,
    whole_file,
    write_failed,
    write_whole,
)
from regard.corpus.sources import Source, find_sources
from regard.corpus.survey_report import make_report
from regard.corpus.totals import Totals, total
from regard.corpus.windows import bands_within
from regard.display import TextDisplay
from regard.errors import ArgumentError

ENGINES = ("local", "ray")
Ahead = Callable[[], Iterable[Batch]]
Engine = Callable[[Work, Ahead], Iterator[Shard]]
Corpus = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class Progress:
    """How far a survey is: documents done, of about how many, and how many were done before."""

    done: int
    expected: int
    earlier: int
    failed: int


Told = Callable[[Progress], None]


def _nobody(now: Progress) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, repr=False)
class Survey(TextDisplay):
    """A finished survey: its folder, and the report that lies there as report.json."""

    folder: Path
    report: dict[str, Any]

    def __str__(self) -> str:
        from regard.view.terminal.survey_text import summary

        return summary(self)


def survey(
    corpus: Corpus,
    *,
    out: str | os.PathLike[str],
    model: str | os.PathLike[str] | None = None,
    field: str = "text",
    engine: str = "local",
    workers: int | None = None,
    address: str | None = None,
    window: int | None = None,
    limit: int | None = None,
    sample: float | None = None,
    seed: int = 0,
    batch: int = 256,
    gpus: float = 0.0,
    restart: bool = False,
    progress: Told = _nobody,
) -> Survey:
    """Describe every head of a model over a whole corpus.

    ``corpus`` is a file with one document a line, a folder of files, .jsonl or .parquet (``field``
    names the text), a pattern, or several of these; .gz is read too. ``model`` is a folder that
    ``regard train`` wrote or one of Hugging Face; the shipped model unless given. Documents longer
    than ``window`` (what the model can take, unless given) are cut. The same call goes on where an
    earlier one stopped; ``restart`` throws that away. ``progress`` is told after every batch. With
    ``gpus`` (how many each worker has) a Hugging Face model runs there.
    """
    need("pyarrow")
    if engine not in ENGINES:
        raise ArgumentError(f"engine needs to be 'local' or 'ray', but it is {engine!r}.")
    entries = [corpus] if isinstance(corpus, str | os.PathLike) else list(corpus)
    sources = find_sources(entries, field)
    device = "cuda" if gpus else "cpu"
    place = ModelPlace(None if model is None else os.fspath(model), window, device)
    job = Job(sources, place, Choice(limit, sample, seed, batch), Path(out))
    return job.run(_engine(engine, _workers(workers), address, gpus), restart, progress)


def _engine(name: str, workers: int, address: str | None, gpus: float) -> Engine:
    """Work and a way to get at the batches in, shards out."""
    if name == "ray":
        need("ray")
        from regard.corpus.ray_engine import on_ray

        return lambda work, ahead: on_ray(work, ahead, workers, address, gpus)
    if workers == 1:
        return lambda work, ahead: in_this_process(work, ahead())
    return lambda work, ahead: in_processes(work, ahead(), workers)


@dataclass(frozen=True)
class Job:
    """One survey: what is read, by which model, which documents of it, and where it goes."""

    sources: list[Source]
    place: ModelPlace
    choice: Choice
    folder: Path

    def ahead(self, done: frozenset[int]) -> Iterator[Batch]:
        """The batches that are not done yet."""
        every = self.choice.batches(documents(self.sources))
        return (batch for batch in every if batch.number not in done)

    def run(self, engine: Engine, restart: bool, progress: Told = _nobody) -> Survey:
        """Do what is left to do, then report on all of it."""
        observer = replace(self.place, device="cpu").observer()  # the GPUs may be elsewhere
        with alone(self.folder):
            manifest = Manifest.of(self.sources, self.place, self.choice)
            self._work(engine, begin(self.folder, manifest, restart), progress)
            shards, bands = Shards(self.folder), bands_within(observer.room)
            totals = Totals(len(observer.heads), bands.stop - bands.start, observer.room)
            parts = sorted(shards.finished())
            report = make_report(manifest, observer, total(shards, parts, totals), shards)
            return self._finish(report, parts)

    def _work(self, engine: Engine, finished: set[int], progress: Told) -> None:
        """Write every batch that is not there yet."""
        shards = Shards(self.folder)
        expected = self.choice.expected(count_documents(self.sources))
        earlier = min(expected, len(finished) * self.choice.batch)
        done, failed = earlier, 0
        progress(Progress(done, expected, earlier, failed))
        for shard in engine(Work(self.place), partial(self.ahead, frozenset(finished))):
            shards.write(shard)
            done, failed = done + shard.documents, failed + shard.failed
            progress(Progress(done, max(done, expected), earlier, failed))

    def _finish(self, report: dict[str, Any], parts: list[int]) -> Survey:
        from regard.view.page.survey_page import page

        with whole_file(self.folder / FAILED) as draft:
            write_failed(draft, _failed(Shards(self.folder), parts))
        text = json.dumps(report, ensure_ascii=False, allow_nan=False, indent=1)
        write_whole(self.folder / PAGE, page(report).encode())
        write_whole(self.folder / REPORT, text.encode())
        return Survey(self.folder, report)


def _failed(shards: Shards, parts: Iterable[int]) -> Iterator[dict[str, list[Any]]]:
    """The documents that were left out, part by part."""
    names = ["document", "source", "place", "failed"]
    for part in parts:
        columns = shards.columns(DOCUMENTS, part, names)
        left = [i for i, reason in enumerate(columns["failed"]) if reason is not None]
        if left:
            columns["reason"] = columns.pop("failed")
            yield {name: [column[i] for i in left] for name, column in columns.items()}


def _workers(workers: int | None) -> int:
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if workers < 1:
        raise ArgumentError(f"workers needs a whole number from 1 up, but it is {workers}.")
    return workers
