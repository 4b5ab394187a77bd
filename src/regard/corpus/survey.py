"""regard.survey: every head of a model measured over a corpus, as rows and a report in a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from regard.arguments import suggest_keywords
from regard.atomic_write import replacing, write_text
from regard.corpus.batches import BatchJob, DocumentBatch, Sampling
from regard.corpus.engines import in_processes, in_this_process
from regard.corpus.manifest import FAILED, PAGE, REPORT, Manifest, begin, locked
from regard.corpus.models import ModelSpec
from regard.corpus.readers import CorpusFile, count_documents, documents, find_sources, need
from regard.corpus.report import make_report
from regard.corpus.shards import DOCUMENTS, Shard, Shards, write_failed
from regard.corpus.totals import Totals, total
from regard.display import TextDisplay, render
from regard.engine.profile import bands_within
from regard.errors import ArgumentError

ENGINES = ("local", "ray")
BatchStream = Callable[[], Iterable[DocumentBatch]]
Engine = Callable[[BatchJob, BatchStream], Iterator[Shard]]
Corpus = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class Progress:
    """Numbers of documents: done, expected in all, done by an earlier run, failed."""

    done: int
    expected: int
    earlier: int
    failed: int


ProgressCallback = Callable[[Progress], None]


def _ignore_progress(now: Progress) -> None:
    pass


@dataclass(frozen=True, repr=False)
class Survey(TextDisplay):
    """A finished survey: its folder, and the content of its report.json."""

    folder: Path
    report: dict[str, Any]


@suggest_keywords
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
    progress: ProgressCallback = _ignore_progress,
) -> Survey:
    """Describe every head of a model over a whole corpus.

    The same call resumes where an earlier one stopped.

    Parameters
    ----------
    corpus : path or sequence of paths
        A file with one document a line, a folder of files, .jsonl or .parquet, a pattern, or
        several of these; .gz is read too.
    out : path
        Folder for rows and report: a new one, an empty one, or one of an earlier survey.
    model : path, optional
        A folder that model/train wrote, or a Hugging Face model; the shipped model by default.
    field : str
        The text in .jsonl and .parquet.
    engine : {"local", "ray"}
        Processes on this machine, or Ray Data; ``address`` names a cluster.
    workers : int, optional
        Number of processes; one per core by default.
    window : int, optional
        Longer documents are cut into windows of this many tokens; by default what the model can
        take.
    limit, sample, seed
        At most this many documents; a fraction of them, drawn with the seed.
    batch : int
        Documents that are measured and written together.
    gpus : float
        GPUs of each worker, for a Hugging Face model.
    restart : bool
        Delete what an earlier survey wrote to ``out``.
    progress : callable
        Called with a Progress after every batch.

    Returns
    -------
    Survey
    """
    need("pyarrow")
    if engine not in ENGINES:
        raise ArgumentError(f"engine must be 'local' or 'ray', got {engine!r}.")
    folder = None if model is None else os.fspath(model)
    spec = ModelSpec(folder, window, device="cuda" if gpus else "cpu")
    sampling = Sampling(limit, sample, seed, batch)
    entries = [corpus] if isinstance(corpus, str | os.PathLike) else list(corpus)
    job = SurveyJob(find_sources(entries, field), spec, sampling, Path(out))
    return job.run(_engine(engine, _workers(workers), address, gpus), restart, progress)


def _engine(name: str, workers: int, address: str | None, gpus: float) -> Engine:
    """A function of a job and a stream of batches that gives shards."""
    if name == "ray":
        need("ray")
        from regard.corpus.ray_engine import on_ray

        return lambda job, batches: on_ray(job, batches, workers, address, gpus)
    if workers == 1:
        return lambda job, batches: in_this_process(job, batches())
    return lambda job, batches: in_processes(job, batches(), workers)


@dataclass(frozen=True)
class SurveyJob:
    """One survey: the files of its corpus, its model, its subsample and its output folder."""

    sources: list[CorpusFile]
    model: ModelSpec
    sampling: Sampling
    folder: Path

    def batches(self, finished: frozenset[int]) -> Iterator[DocumentBatch]:
        every = self.sampling.batches(documents(self.sources))
        return (batch for batch in every if batch.number not in finished)

    def run(
        self, engine: Engine, restart: bool, progress: ProgressCallback = _ignore_progress
    ) -> Survey:
        """Run the unfinished batches, then report on all of them."""
        with locked(self.folder):
            observer = replace(self.model, device="cpu").observer()  # GPUs may be elsewhere
            manifest = Manifest.from_survey(self.sources, self.model, self.sampling)
            self._run_batches(engine, begin(self.folder, manifest, restart), progress)
            shards, bands = Shards(self.folder), bands_within(observer.window)
            totals = Totals(len(observer.heads), bands.stop - bands.start, observer.window)
            parts = sorted(shards.finished())
            report = make_report(manifest, observer, total(shards, parts, totals), shards)
            return self._write_report(report, parts)

    def _run_batches(self, engine: Engine, finished: set[int], progress: ProgressCallback) -> None:
        shards = Shards(self.folder)
        expected = self.sampling.expected(count_documents(self.sources))
        earlier = min(expected, len(finished) * self.sampling.batch)
        done, failed = earlier, 0
        progress(Progress(done, expected, earlier, failed))
        for shard in engine(BatchJob(self.model), partial(self.batches, frozenset(finished))):
            shards.write(shard)
            done, failed = done + shard.documents, failed + shard.failed
            progress(Progress(done, max(done, expected), earlier, failed))

    def _write_report(self, report: dict[str, Any], parts: list[int]) -> Survey:
        with replacing(self.folder / FAILED) as draft:
            write_failed(draft, _failed(Shards(self.folder), parts))
        text = json.dumps(report, ensure_ascii=False, allow_nan=False, indent=1)
        write_text(self.folder / REPORT, text)
        survey = Survey(self.folder, report)
        write_text(self.folder / PAGE, render("page", survey))
        return survey


def _failed(shards: Shards, parts: Iterable[int]) -> Iterator[dict[str, list[Any]]]:
    names = ["document", "source", "entry", "failed"]
    for part in parts:
        columns = shards.columns(DOCUMENTS, part, names)
        rows = [i for i, reason in enumerate(columns["failed"]) if reason is not None]
        if rows:
            columns["reason"] = columns.pop("failed")
            yield {name: [column[i] for i in rows] for name, column in columns.items()}


def _workers(workers: int | None) -> int:
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if workers < 1:
        raise ArgumentError(f"workers must be at least 1, got {workers}.")
    return workers
