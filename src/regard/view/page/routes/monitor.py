"""Training: what a monitored training is about, and a measure of every head over its steps."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from regard.errors import ArgumentError
from regard.monitoring.folder import History, finite_or_none
from regard.monitoring.health import ADVICE, MEASURES
from regard.typing import Array
from regard.view.page.answers import (
    Answer,
    AnswerTable,
    Fields,
    Sources,
    Stop,
    json_answer,
    numbers,
)

MAX_OBSERVATIONS = 500  # columns of the picture
MAX_LOSSES = 2000


def answers(sources: Sources) -> AnswerTable:
    """about and measure of the folders that the command line named; they may still grow."""

    def history(fields: Fields) -> History:
        named = {"training": 0, **fields}
        return History.load(sources.trainings[sources.index(named, "training")])

    def about(fields: Fields, stop: Stop) -> Answer:
        return json_answer(training_about(history(fields)))

    def measure(fields: Fields, stop: Stop) -> Answer:
        found, name = history(fields), fields.get("measure")
        if not isinstance(name, str):
            raise ArgumentError(f"measure must be a name, got {name!r}.")
        at = evenly(len(found.steps), MAX_OBSERVATIONS)
        shown = {"X-Regard-Shown": json.dumps(found.steps[at].tolist())}
        return numbers(found[name][at], shown)

    return {"/api/monitor/about": about, "/api/monitor/measure": measure}


def evenly(length: int, most: int) -> Array:
    """Places of at most ``most`` entries, evenly spread, the first and the last among them.

    >>> evenly(10, 4).tolist(), evenly(3, 4).tolist()
    ([0, 3, 6, 9], [0, 1, 2])
    """
    return np.linspace(0, max(0, length - 1), min(length, most)).round().astype(int)


def training_about(history: History) -> dict[str, Any]:
    """Layers, measures, losses and alerts of a training."""
    about, at = history.about, evenly(len(history.all_steps), MAX_LOSSES)
    layers = [{"part": x.part, "layer": x.layer, "heads": x.heads} for x in about.layers]
    return {
        "name": history.folder,
        "layers": layers,
        "measures": {name: MEASURES.get(name, name) for name in about.measures},
        "advice": {name: ADVICE.get(name, "") for name in about.measures},
        "every": about.every,
        "rows": about.rows,
        "probe": about.probe,
        "threshold": about.threshold,
        "observations": len(history.steps),
        "shown": min(len(history.steps), MAX_OBSERVATIONS),
        "last": int(history.all_steps[-1]) if len(history.all_steps) else None,
        "losses": {
            "steps": history.all_steps[at].tolist(),
            "values": finite_or_none(history.losses[at]),
        },
        "alerts": [_event(alert) for alert in history.alerts],
        "damaged": history.damaged,
        "missing": history.missing,
    }


def _event(event: dict[str, Any]) -> dict[str, Any]:
    """One line of the page: its steps, and its heads as rows of the picture."""
    names = ("severity", "first", "last", "heads", "line")
    return {"kind": event["rule"], **{name: event[name] for name in names}}
