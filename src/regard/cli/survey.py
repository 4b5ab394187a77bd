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

if TYPE_CHECKING:
    from regard.corpus.survey import Progress


class Engine(StrEnum):
    """Executor of a survey: processes on this machine, or Ray Data."""

    LOCAL = "local"
    RAY = "ray"


_CORPUS = typer.Argument(
    help="Text files (one document a line), folders of files, .jsonl or .parquet; patterns; .gz."
)


def survey(
    corpus: Annotated[list[str], _CORPUS],
    *,
    out: Annotated[Path, typer.Option(help="Folder for the rows and the report.")],
    model: Annotated[Path | None, typer.Option(help="Folder of another model.")] = None,
    field: Annotated[str, typer.Option(help="Field of the text in .jsonl and .parquet.")] = "text",
    engine: Annotated[Engine, typer.Option(help="Local processes, or Ray Data.")] = Engine.LOCAL,
    workers: Annotated[int | None, typer.Option(help="Workers; every core by default.")] = None,
    address: Annotated[str | None, typer.Option(help="A Ray cluster: ray://host:10001.")] = None,
    window: Annotated[int | None, typer.Option(help="Tokens read at once.")] = None,
    limit: Annotated[int | None, typer.Option(help="Read at most this many documents.")] = None,
    sample: Annotated[
        float | None, typer.Option(help="Read a random share: 0.1 is a tenth.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    batch: Annotated[int, typer.Option(help="Documents read and written together.")] = 256,
    gpus: Annotated[float, typer.Option(help="GPUs of each Ray worker, such as 1.")] = 0.0,
    restart: Annotated[bool, typer.Option("--restart", help="Delete earlier results.")] = False,
) -> None:
    """Describe every head of a model over a whole corpus.

    The shipped model's encoder unless --model names another. Run the same command again to go on
    where it stopped. The page to look at is report.html in the --out folder.
    """
    from regard.cli.io import check_output_folder, show_text
    from regard.corpus.survey import survey as run

    if not out.is_file():  # the survey itself says that
        check_output_folder("--out", out)
    with _advice_when_interrupted(), _Bar() as bar:
        result = run(
            corpus, out=out, model=model, field=field, engine=engine.value, workers=workers,
            address=address, window=window, limit=limit, sample=sample, seed=seed, batch=batch,
            gpus=gpus, restart=restart, progress=bar,
        )  # fmt: skip
    show_text(str(result))


@contextmanager
def _advice_when_interrupted() -> Iterator[None]:
    """After Ctrl-C in a terminal, how to go on; a log file stays without it."""
    from regard.cli.guard import is_of_interrupt
    from regard.cli.io import notice

    try:
        yield
    except BaseException as error:
        if is_of_interrupt(error) and sys.stderr.isatty():
            notice("Stopped. What was read is saved: run the same command again to go on.")
        raise


class _Bar:
    """Documents done, documents a second and the time left, on the terminal's error stream."""

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
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"), TimeRemainingColumn(),
            console=Console(file=sys.stderr), transient=True, disable=not sys.stderr.isatty(),
        )  # fmt: skip
        self.task = self.bars.add_task("reading", total=None, rate="")
        self.began: tuple[float, int] | None = None

    def __enter__(self) -> _Bar:
        self.bars.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.bars.stop()

    def __call__(self, now: Progress) -> None:
        """Move the bar; the rate counts from the first batch, when all workers are there."""
        moment = time.monotonic()
        if self.began is None and now.done > now.earlier:
            self.began = moment, now.done
        since, before = self.began or (moment, now.done)
        rate = (now.done - before) / (moment - since) if moment > since else 0.0
        self.bars.update(
            self.task, description="surveying", completed=now.done, total=now.expected,
            rate=f"{rate:,.0f} documents/s" if rate else "",
        )  # fmt: skip
