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
from regard.monitoring.rules import Rules, Setting, StepNumbers
from regard.monitoring.step import PendingStep
from regard.monitoring.writers import Health, ToFolder, Writer
from regard.typing import Array

logger = logging.getLogger("regard.monitor")


class Output:
    """Applies the rules to steps as they arrive, and writes and tells what comes of it."""

    def __init__(self, writers: list[Writer], on_alert: str | Callable[[Event], Any]) -> None:
        self.writers, self.on_alert = writers, on_alert
        self.alerts: list[Event] = []
        self.last: Health | None = None
        self.known: Array | None = None  # each layer's largest bound, of the last step written
        self._told = 0  # events that were told at their beginning
        self._settings_written: list[Any] = []

    def begin(self, about: About, rules: Rules) -> None:
        self.about, self.rules = about, rules
        for writer in self._here:
            writer.begin(about)
            if isinstance(writer, ToFolder) and writer.folder.settings:
                rules.know(Setting.read(writer.folder.settings))

    def write(self, pending: PendingStep) -> list[Event]:
        """Write a step down, and the steps before it that it brings; returns events that began."""
        rules = self.rules
        for now in pending.steps(self.about.heads):
            rules.step(now)
            self._write_step(now)
        if pending.observed:
            sums, maxima = pending.sums(self.about.heads)
            assert now.mean_h is not None
            assert now.std_h is not None
            found = measures(sums, maxima, (now.mean_h, now.std_h))
            rules.observed(now.step, found)
        began = rules.events[self._told :]
        self._told = len(rules.events)
        if pending.observed:
            self.last = Health(now.step, self.about, found, now.loss, tuple(began))
            for writer in self._here:
                writer.observed(self.last)
        self._write_events(rules.take_changed(), began)
        if not self._settings_written:
            self.write_settings(now.step)
        self.alerts += began
        return began

    def _write_step(self, now: StepNumbers) -> None:
        starts = self.about.starts
        self.known = np.array([now.bound_h[a:b].max() for a, b in pairwise(starts)])
        for writer in self._here:
            writer.step(now.step, now.loss, self.known)

    def _write_events(self, changed: list[Event], began: list[Event]) -> None:
        for event in changed:
            for writer in self._here:
                (writer.alert if event in began else writer.changed)(event)
            if event.closing and event not in began:
                self._say(event.closing)

    def write_settings(self, step: int) -> None:
        """Note in the folder how attention is called, for a training that goes on."""
        found = [
            sorted((list(x) for x in self.rules.settings.get(place, ())), key=str)
            for place in range(len(self.about.layers))
        ]
        if found == self._settings_written or not any(found):
            return
        self._settings_written = found
        for writer in self._here:
            if isinstance(writer, ToFolder):
                writer.folder.event("settings", step, layers=found)

    def tell(self, alerts: list[Event]) -> None:
        """Print, log or raise alerts, or pass them on."""
        how = self.on_alert
        if how == "raise":
            raise AlertError(alerts)
        if rank_and_ranks()[0]:
            return
        for alert in alerts:
            if callable(how):
                how(alert)
            else:
                self._say(str(alert))

    def _say(self, line: str) -> None:
        """Print or log a line, on the rank that writes."""
        if self.on_alert == "log":
            logger.warning("%s", line)
        elif self.on_alert == "print" and rank_and_ranks()[0] == 0:
            print(f"regard: {line}", file=sys.stderr, flush=True)

    @property
    def _here(self) -> list[Writer]:
        """The writers, on the rank that writes."""
        return self.writers if rank_and_ranks()[0] == 0 else []

    def close(self, step: int) -> None:
        if hasattr(self, "rules"):
            self.write_settings(step)
        for writer in self._here:
            writer.close()
