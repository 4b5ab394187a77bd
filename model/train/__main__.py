"""Training as a command: pairs of sentences in, a translating transformer out.

cd model && python -m train pairs.tsv --out mine --minutes 10
"""

from __future__ import annotations

import importlib.util
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.guard import guarded
from regard.cli.io import check_bounds, check_output_folder
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from train.recipe import Point, Round, TrainingJob


class Size(StrEnum):
    """Size of the model: tiny learns a toy language in seconds, full is the shipped one's size."""

    TINY = "tiny"
    SMALL = "small"
    FULL = "full"


Files = list[Path] | None
_SOURCE_TEXT = "Monolingual source text for self-training, one sentence per line."
_TARGET_TEXT = "Monolingual target text for back-translation, one sentence per line."
_PAIRS = typer.Argument(help="Files of source<TAB>target, plain, gz or xz; or one recipe.toml.")


def train(
    files: Annotated[list[Path], _PAIRS],
    *,
    out: Annotated[Path, typer.Option(help="Folder for the model, its data and its record.")],
    valid: Annotated[Path | None, typer.Option(help="Pairs to measure BLEU and chrF on.")] = None,
    source_text: Annotated[Files, typer.Option(help=_SOURCE_TEXT)] = None,
    target_text: Annotated[Files, typer.Option(help=_TARGET_TEXT)] = None,
    minutes: Annotated[float, typer.Option(help="Minutes to train.")] = 10.0,
    steps: Annotated[
        int, typer.Option(help="Steps to train instead of minutes; repeatable to the bit.")
    ] = 0,
    size: Annotated[Size, typer.Option(help="Size of the model.")] = Size.SMALL,
    batch: Annotated[int, typer.Option(help="Tokens in a batch.")] = 8_192,
    learning_rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 1e-3,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the random numbers; 1, or the recipe's, by default.")
    ] = None,
    device: Annotated[
        str, typer.Option(help="cpu or cuda; the fastest available by default.")
    ] = "",
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Make tokens and marked pairs, and stop there.")
    ] = False,
) -> None:
    """Train a transformer to translate; the same command again resumes."""
    _need_torch()
    check_output_folder("--out", out)
    check_bounds("--batch", batch, 1)
    check_bounds("--seed", seed or 0, 0)
    check_bounds("--steps", steps, 0)
    from dataclasses import replace

    from train.recipe import (
        SIZES,
        Hyperparameters,
        Round,
        TrainingJob,
        TrainingText,
        plain_rounds,
        read_recipe,
    )
    from train.run import best_device
    from train.run import prepare as make_prepared

    if files[0].suffix == ".toml":
        job = read_recipe(files[0], out)
    else:
        text = TrainingText(valid, tuple(source_text or ()), tuple(target_text or ()))
        only_round = Round("only", (), steps, 0.0 if steps else minutes, learning_rate)
        rounds = tuple(plain_rounds(out, files, text, only_round))
        hyperparameters = Hyperparameters(tokens_per_batch=batch)
        job = TrainingJob(out, rounds, text, SIZES[size], hyperparameters)
    if seed is not None:
        job = replace(job, hyperparameters=replace(job.hyperparameters, seed=seed))
    job = replace(job, device=device or best_device())
    if prepare:
        make_prepared(job)
    else:
        _follow(job)


def _need_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        raise ArgumentError(
            "training needs PyTorch, which is not installed: pip install 'regard[train]'."
        )


def _follow(job: TrainingJob) -> None:
    from dataclasses import replace

    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from train.run import train_model

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[numbers]}"),
        TimeElapsedColumn(),
    ) as bars:
        description = train_model(replace(job, progress=RoundBars(bars)))
    typer.echo(f"The model is in {job.folder / 'model'}.")
    for precision, measured in description["scores"].items():
        if measured:
            typer.echo(f"{precision}: BLEU {measured['bleu']}, chrF {measured['chrf']}")


class RoundBars:
    """Progress bars, one for each round, with loss, speed and the latest BLEU."""

    def __init__(self, bars: Progress) -> None:
        self.bars = bars
        self.tasks: dict[str, TaskID] = {}
        self.latest: dict[str, Point] = {}

    def __call__(self, part: Round, point: Point) -> None:
        """Show a point of the curve, with the latest of the numbers that it lacks."""
        if part.name not in self.tasks:
            self.tasks[part.name] = self.bars.add_task(part.name, total=1.0, numbers="")
        latest = self.latest[part.name] = {**self.latest.get(part.name, {}), **point}
        self.bars.update(
            self.tasks[part.name], completed=latest.get("done", 0.0), numbers=describe_point(latest)
        )


def describe_point(point: Point) -> str:
    """One line of figures.

    >>> describe_point({"step": 20, "loss": 3.14159, "tokens_per_second": 51234.5, "bleu": 44.8})
    'step 20  loss 3.142  51,234 tokens/s  BLEU 44.8'
    """
    shown = [f"step {point['step']:.0f}"]
    if "loss" in point:
        shown += [f"loss {point['loss']:.3f}", f"{point['tokens_per_second']:,.0f} tokens/s"]
    if "bleu" in point:
        shown.append(f"BLEU {point['bleu']:.1f}")
    return "  ".join(shown)


def app() -> typer.Typer:
    """The command as typer runs it."""
    made = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None, add_completion=False)
    made.command()(guarded(train))
    return made


def main(arguments: list[str] | None = None) -> None:
    """Train as the arguments say; a failure is one sentence and status 2."""
    command = guarded(app())
    raise SystemExit(
        command(args=arguments, prog_name="python -m train", standalone_mode=False) or 0
    )


if __name__ == "__main__":
    main()
