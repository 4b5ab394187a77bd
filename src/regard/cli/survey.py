"""regard survey: every head of a model, described over a whole corpus."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.guard import is_caused_by_interrupt
from regard.cli.io import check_output_folder, notice, show_text

if TYPE_CHECKING:
    from regard.corpus.survey import Progress


class Engine(StrEnum):
    """Executor of a survey: processes on this machine, or Ray Data."""

    LOCAL = "local"
    RAY = "ray"


_CORPUS = typer.Argument(
    help="Text files (one document per line), folders of files, .jsonl or .parquet; patterns; .gz."
)
_WHAT, _HOW = "Options", "Execution"


def _option(section: str, *names: str, help: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=section)


def survey(
    corpus: Annotated[list[str], _CORPUS],
    *,
    out: Annotated[Path, _option(_WHAT, help="Folder for the rows and the report.")],
    model: Annotated[Path | None, _option(_WHAT, help="Folder of another model.")] = None,
    field: Annotated[str, _option(_WHAT, help="Text field of .jsonl and .parquet.")] = "text",
    window: Annotated[int | None, _option(_WHAT, help="Tokens read at once.")] = None,
    limit: Annotated[int | None, _option(_WHAT, help="Read at most this many documents.")] = None,
    sample: Annotated[
        float | None, _option(_WHAT, help="Random fraction of documents to read, such as 0.1.")
    ] = None,
    seed: Annotated[int, _option(_WHAT, help="Random seed of the sample.")] = 0,
    engine: Annotated[Engine, _option(_HOW, help="Local processes, or Ray Data.")] = Engine.LOCAL,
    workers: Annotated[int | None, _option(_HOW, help="Workers; one per core by default.")] = None,
    batch: Annotated[int, _option(_HOW, help="Documents per batch.")] = 256,
    address: Annotated[str | None, _option(_HOW, help="Ray cluster, as ray://host:10001.")] = None,
    gpus: Annotated[float, _option(_HOW, help="GPUs per Ray worker.")] = 0.0,
    restart: Annotated[bool, _option(_HOW, "--restart", help="Delete earlier results.")] = False,
) -> None:
    """Describe every head of a model over a whole corpus.

    The model is the shipped one's encoder unless --model names another. Run the same command again
    to resume. The result to look at is report.html in the --out folder.
    """
    from regard.corpus.survey import survey as run

    if not out.is_file():  # the survey itself raises for a file
        check_output_folder("--out", out)
    with _advice_when_interrupted(), _Bar() as bar:
        result = run(
            corpus,
            out=out,
            model=model,
            field=field,
            engine=engine.value,
            workers=workers,
            address=address,
            window=window,
            limit=limit,
            sample=sample,
            seed=seed,
            batch=batch,
            gpus=gpus,
            restart=restart,
            progress=bar,
        )
    show_text(str(result))


@contextmanager
def _advice_when_interrupted() -> Iterator[None]:
    """After Ctrl-C in a terminal, print how to resume; nothing in a log file."""
    try:
        yield
    except BaseException as error:
        if is_caused_by_interrupt(error) and sys.stderr.isatty():
            notice("Stopped. Progress is saved: run the same command again to resume.")
        raise


class _Bar:
    """Progress bar on the error stream: documents done, documents per second, time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self.task = self.bars.add_task("reading", total=None, rate="")
        self.began: tuple[float, int] | None = None

    def __enter__(self) -> _Bar:
        self.bars.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.bars.stop()

    def __call__(self, now: Progress) -> None:
        """Move the bar; the rate counts from the first batch, when all workers have started."""
        moment = time.monotonic()
        if self.began is None and now.done > now.earlier:
            self.began = moment, now.done
        since, before = self.began or (moment, now.done)
        rate = (now.done - before) / (moment - since) if moment > since else 0.0
        self.bars.update(
            self.task,
            description="surveying",
            completed=now.done,
            total=now.expected,
            rate=f"{rate:,.0f} documents/s" if rate else "",
        )
