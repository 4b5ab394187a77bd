"""What comes of a step on the host: rules, writers, and telling of events."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from regard.monitoring.events import AlertError, Event
from regard.monitoring.folder import About
from regard.monitoring.health import measures
from regard.monitoring.ranks import rank_and_ranks
from regard.monitoring.rules import Rules, Setting
from regard.monitoring.step import PendingStep
from regard.monitoring.writers import Health, ToFolder, Writer
from regard.typing import Array

logger = logging.getLogger("regard.monitor")


class Output:
    """Applies the rules to steps as they arrive, and writes and tells what comes of it."""

    def __init__(self, writers: list[Writer], on_alert: str | Callable[[Event], Any]) -> None:
        self._writers, self.on_alert = writers, on_alert
        self.alerts: list[Event] = []
        self.last: Health | None = None
        self.known: Array | None = None  # each layer's largest bound, of the last step written
        self._settings: list[Any] = []  # as they were written last

    def begin(self, about: About, rules: Rules) -> None:
        self.about, self.rules = about, rules
        for writer in self.writers:
            writer.begin(about)
            if isinstance(writer, ToFolder) and writer.folder.settings:
                rules.know(Setting.read(writer.folder.settings))

    @property
    def writers(self) -> list[Writer]:
        """The writers, on the rank that writes."""
        return self._writers if rank_and_ranks()[0] == 0 else []

    def write(self, pending: PendingStep) -> list[Event]:
        """Write a step down, and the steps before it that it brings; returns events that began."""
        rules, heads = self.rules, self.about.heads
        for now in pending.steps(heads):
            rules.step(now)
            self.known = np.array([now.bound_h[a:b].max() for a, b in pairwise(self.about.starts)])
            for writer in self.writers:
                writer.step(now.step, now.loss, self.known)
        if pending.observed:
            assert now.spread is not None
            found = measures(*pending.sums(heads), now.spread)
            rules.observed(now.step, found)
        began = rules.events[len(self.alerts) :]
        self.alerts += began
        if pending.observed:
            self.last = Health(now.step, self.about, found, now.loss, tuple(began))
            for writer in self.writers:
                writer.observed(self.last)
        for event in rules.take_changed():
            for writer in self.writers:
                (writer.alert if event in began else writer.changed)(event)
            if event.closing and event not in began:
                self._say(event.closing)
        if not self._settings:
            self._write_settings(now.step)
        return began

    def _write_settings(self, step: int) -> None:
        """Note in the folder how attention is called, for a training that goes on."""
        places = range(len(self.about.layers))
        known = [sorted(map(list, self.rules.settings.get(x, ())), key=str) for x in places]
        if known != self._settings and any(known):
            self._settings = known
            for writer in self.writers:
                writer.settings(step, known)

    def tell(self, alerts: list[Event]) -> None:
        """Print, log or raise alerts, or pass them on."""
        if self.on_alert == "raise":
            raise AlertError(alerts)
        if callable(self.on_alert) and rank_and_ranks()[0] == 0:
            for alert in alerts:
                self.on_alert(alert)
        for alert in alerts:
            self._say(str(alert))

    def _say(self, line: str) -> None:
        """Print or log a line, on the rank that writes."""
        if rank_and_ranks()[0]:
            return
        if self.on_alert == "log":
            logger.warning("%s", line)
        elif self.on_alert == "print":
            print(f"regard: {line}", file=sys.stderr, flush=True)

    def close(self, step: int) -> None:
        if hasattr(self, "rules"):
            self._write_settings(step)
        for writer in self.writers:
            writer.close()
