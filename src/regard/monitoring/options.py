"""Options of regard.monitor, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import ArgumentError
from regard.monitoring.events import RULES, Event
from regard.watcher.options import Options

LEAST = {"every": 1, "rows": 1, "judge": 1, "seed": 0, "step": 0}
ON_ALERT = ("print", "log", "raise")


@dataclass(frozen=True)
class MonitorOptions:
    """Arguments of ``regard.monitor``; raises an ArgumentError where one cannot be."""

    every: int
    watched: Options
    rows: int | None
    seed: int
    probe: Any
    threshold: float | None
    exact_scores: bool
    judge: int | None
    alerts: Sequence[str]
    on_alert: str | Callable[[Event], Any]
    on_error: str
    step: int | None

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            number = getattr(self, name)
            whole = isinstance(number, int) and not isinstance(number, bool) and number >= least
            if not whole and (number is not None or name in ("every", "seed")):
                raise ArgumentError(
                    f"{name} must be a whole number from {least} up, got {number!r}."
                )
        if not callable(self.on_alert) and self.on_alert not in ON_ALERT:
            raise ArgumentError(
                f"on_alert must be 'print', 'log', 'raise' or a function, got {self.on_alert!r}."
            )
        if self.on_error not in ("log", "raise"):
            raise ArgumentError(f"on_error must be 'log' or 'raise', got {self.on_error!r}.")
        listed = isinstance(self.alerts, list | tuple | set | frozenset)
        unknown = [x for x in self.alerts if x not in RULES] if listed else [self.alerts]
        if unknown:
            raise ArgumentError(f"alerts must be some of {', '.join(RULES)}, got {unknown[0]!r}.")
        limit = self.threshold
        if limit is not None and not (isinstance(limit, int | float) and 0 < limit < np.inf):
            raise ArgumentError(f"threshold must be a number above 0, or None, got {limit!r}.")
