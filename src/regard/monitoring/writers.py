"""Where a monitor's numbers go: a folder, TensorBoard, W&B, MLflow, or any function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.arguments import named_arguments
from regard.errors import ArgumentError
from regard.monitoring.events import Event
from regard.monitoring.folder import About, FolderWriter
from regard.typing import Array


@named_arguments
@dataclass(frozen=True)
class Health:
    """One observation: every measure of every head, in the order of the layers.

    ``health["entropy"]`` is (heads of all layers); ``health.layer("entropy", 4)`` those of one.
    """

    step: int
    about: About
    measures: dict[str, Array]
    loss: float | None = None
    alerts: tuple[Event, ...] = ()

    def __getitem__(self, measure: str) -> Array:
        if measure not in self.measures:
            listed = ", ".join(self.measures)
            raise ArgumentError(f"measure must be one of {listed}, got {measure!r}.")
        return self.measures[measure]

    def layer(self, measure: str, index: int) -> Array:
        return self[measure][self.about.heads_of(index)]

    def scalars(self) -> Iterator[tuple[str, float]]:
        """Names and numbers for a logger: each measure of each layer, its extreme or its mean."""
        for name in self.measures:
            reduce = EXTREMES.get(name, np.nanmean)
            for index, layer in enumerate(self.about.layers):
                numbers = self.layer(name, index)
                if np.isfinite(numbers).any():
                    yield f"attention/{name}/{layer.part}_{layer.layer}", float(reduce(numbers))

    def image(self, measure: str) -> Array:
        """Layers x heads as numbers from 0 to 1, nan where a layer has fewer heads."""
        rows = [self.layer(measure, index) for index in range(len(self.about.layers))]
        widest = max(map(len, rows))
        picture = np.stack([np.pad(x, (0, widest - len(x)), constant_values=np.nan) for x in rows])
        low, high = np.nanmin(picture), np.nanmax(picture)
        return (picture - low) / (high - low) if high > low else picture * 0


EXTREMES: dict[str, Callable[[Array], Any]] = {
    "score": np.nanmax, "bound": np.nanmax, "min_entropy": np.nanmin,
}  # fmt: skip


class Writer:
    """A place that takes what a training brings; one overrides what it has a place for."""

    def begin(self, about: About) -> None:
        """What the numbers are about, before the first."""

    def observed(self, health: Health) -> None:
        """The measures of an observed step."""

    def step(self, step: int, loss: float | None, bounds: Array) -> None:
        """A step's loss and the largest log-sum-exp of each layer."""

    def settings(self, step: int, layers: list[Any]) -> None:
        """How the attention of each layer is called, when that is first known and when it ends."""

    def alert(self, alert: Event) -> None:
        """An event that began."""

    def changed(self, alert: Event) -> None:
        """An event that got more heads, or is over."""

    def close(self) -> None:
        """Nothing follows."""


class ToFolder(Writer):
    """Appends to a folder, which ``regard monitor`` and ``regard open`` read."""

    def __init__(self, folder: FolderWriter) -> None:
        self.folder = folder

    def begin(self, about: About) -> None:
        last = self.folder.last_step
        self.folder.begin(about)
        if last is not None:
            self.folder.written("resumed")

    def observed(self, health: Health) -> None:
        self.folder.observed(health.step, np.stack([health[x] for x in health.about.measures]))

    def step(self, step: int, loss: float | None, bounds: Array) -> None:
        self.folder.step(step, np.nan if loss is None else loss, bounds)

    def alert(self, alert: Event) -> None:
        number = self.folder.alerts_before + alert.number
        self.folder.event("alert", alert.first, **alert.fields() | {"number": number})

    changed = alert

    def settings(self, step: int, layers: list[Any]) -> None:
        self.folder.event("settings", step, layers=layers)

    def close(self) -> None:
        self.folder.close()


class ToTensorBoard(Writer):
    """A SummaryWriter: scalars of each layer, an image of layers x heads for each measure."""

    def __init__(self, writer: Any) -> None:
        self.writer = writer

    def observed(self, health: Health) -> None:
        for name, number in health.scalars():
            self.writer.add_scalar(name, number, health.step)
        for name in health.measures:
            if np.isfinite(health[name]).any():
                picture = np.nan_to_num(health.image(name)).astype(np.float32)
                large = picture.repeat(8, axis=0).repeat(8, axis=1)[None]
                self.writer.add_image(f"attention/{name}", large, health.step, dataformats="CHW")

    def alert(self, alert: Event) -> None:
        self.writer.add_text("attention/alerts", f"{alert.severity}: {alert}", alert.first)

    def close(self) -> None:
        self.writer.flush()


WANDB_STEP = "attention/step"


class ToWandb(Writer):
    """A run of W&B, which counts every ``run.log`` as a step: these have a step of their own."""

    def __init__(self, run: Any) -> None:
        self.run = run

    def begin(self, about: About) -> None:
        self.run.define_metric(WANDB_STEP)
        self.run.define_metric("attention/*", step_metric=WANDB_STEP)

    def observed(self, health: Health) -> None:
        self.run.log({WANDB_STEP: health.step, **dict(health.scalars())})

    def alert(self, alert: Event) -> None:
        self.run.alert(title=f"attention: {alert.rule}", text=str(alert))


class ToMlflow(Writer):
    """The module mlflow: ``mlflow.log_metrics({name: number}, step=...)`` of the active run."""

    def __init__(self, mlflow: Any) -> None:
        self.mlflow = mlflow

    def observed(self, health: Health) -> None:
        self.mlflow.log_metrics(dict(health.scalars()), step=health.step)

    def alert(self, alert: Event) -> None:
        self.mlflow.set_tag(f"attention.{alert.rule}", str(alert))


def writer_to(to: Any) -> Writer:
    """The writer for a folder, a logger of one of the known kinds, or a function."""
    if isinstance(to, str | Path):
        return ToFolder(FolderWriter(to))
    if hasattr(to, "add_scalar") and hasattr(to, "add_image"):
        return ToTensorBoard(to)
    if hasattr(to, "log_metrics") and hasattr(to, "set_tag"):
        return ToMlflow(to)
    if hasattr(to, "log") and hasattr(to, "alert"):
        return ToWandb(to)
    if callable(to):
        writer = Writer()
        writer.observed = to  # type: ignore[method-assign]
        return writer
    raise ArgumentError(
        "to must be a folder, a SummaryWriter, a run of W&B, the module mlflow, or a function of "
        f"an observation, got {to!r:.200}."
    )
