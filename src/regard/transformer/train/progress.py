"""Progress bars of a training: one for each round, with loss, speed and the latest BLEU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from regard.transformer.train.job import TrainingJob
from regard.transformer.train.recipe import Round
from regard.transformer.train.run import train_model
from regard.transformer.train.training_state import Point


def watched_training(job: TrainingJob) -> dict[str, Any]:
    """`train_model`, its progress drawn in the terminal."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[numbers]}"),
        TimeElapsedColumn(),
    ) as bars:
        return train_model(replace(job, watch=Bars(bars)))


class Bars:
    """Moves the bar of a round at each point of its curve."""

    def __init__(self, bars: Progress) -> None:
        self.bars = bars
        self.tasks: dict[str, TaskID] = {}
        self.latest: dict[str, Point] = {}

    def __call__(self, part: Round, point: Point) -> None:
        """Show a point, with the latest of the numbers that it lacks."""
        if part.name not in self.tasks:
            self.tasks[part.name] = self.bars.add_task(part.name, total=1.0, numbers="")
        latest = self.latest[part.name] = {**self.latest.get(part.name, {}), **point}
        self.bars.update(
            self.tasks[part.name], completed=latest.get("done", 0.0), numbers=describe(latest)
        )


def describe(point: Point) -> str:
    """One line of figures.

    >>> describe({"step": 20, "loss": 3.14159, "tokens_per_second": 51234.5, "bleu": 44.8})
    'step 20  loss 3.142  51,234 tokens/s  BLEU 44.8'
    """
    shown = [f"step {point['step']:.0f}"]
    if "loss" in point:
        shown += [f"loss {point['loss']:.3f}", f"{point['tokens_per_second']:,.0f} tokens/s"]
    if "bleu" in point:
        shown.append(f"BLEU {point['bleu']:.1f}")
    return "  ".join(shown)
