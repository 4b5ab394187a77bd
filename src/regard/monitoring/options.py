"""Options of regard.monitor, checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import ArgumentError
from regard.monitoring.events import RULES, Event
from regard.watcher.options import Options

ON_ALERT = ("print", "log", "raise")


def check_numbers(every: Any, rows: Any, seed: Any, step: Any, judge: Any) -> None:
    """Raise where a number of the options is none that can be."""
    least = {
        "every": (every, 1),
        "rows": (rows, 1),
        "judge": (judge, 1),
        "seed": (seed, 0),
        "step": (step, 0),
    }
    for name, (number, first) in least.items():
        whole = isinstance(number, int) and not isinstance(number, bool) and number >= first
        if not whole and (number is not None or name in ("every", "seed")):
            raise ArgumentError(f"{name} must be a whole number from {first} up, got {number!r}.")


def check_arguments(model: Any, on_alert: Any, on_error: Any) -> None:
    """Raise where model, on_alert or on_error is of another kind."""
    import torch

    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(f"model must be a torch.nn.Module, got {type(model).__name__}.")
    if not callable(on_alert) and on_alert not in ON_ALERT:
        raise ArgumentError(
            f"on_alert must be 'print', 'log', 'raise' or a function, got {on_alert!r}."
        )
    if on_error not in ("log", "raise"):
        raise ArgumentError(f"on_error must be 'log' or 'raise', got {on_error!r}.")


def check_alerts(alerts: Any, threshold: Any) -> None:
    """Raise where a rule has no such name, or the threshold is no number."""
    listed = isinstance(alerts, list | tuple | set | frozenset)
    for name in alerts if listed else [alerts]:
        if not listed or name not in RULES:
            raise ArgumentError(f"alerts must be some of {', '.join(RULES)}, got {name!r}.")
    number = isinstance(threshold, int | float) and 0 < threshold < np.inf
    if threshold is not None and not number:
        raise ArgumentError(f"threshold must be a number above 0, or None, got {threshold!r}.")


@dataclass(frozen=True)
class MonitorOptions:
    """Arguments of ``regard.monitor``, checked."""

    every: int
    watched: Options
    rows: int | None
    seed: int
    probe: Any
    threshold: float | None
    alerts: tuple[str, ...]
    on_alert: str | Callable[[Event], Any]
    on_error: str
    exact_scores: bool = False
    judge: int | None = None  # rows of an observed step's attentions that are redone
