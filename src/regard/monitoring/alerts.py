"""Alerts of a training, each with its reason: rules over the measures of every head."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from regard.errors import ArgumentError, RegardError
from regard.monitoring.folder import Layer
from regard.typing import Array

GROWTH_OBSERVATIONS = 5  # in a row in which a score grows
GROWTH_FLOOR = 50.0  # half the limit of QK-clip: what has not come halfway is no danger yet
RECOVERED = 0.8  # share of the limit below which a score counts as recovered


@dataclass(frozen=True)
class Thresholds:
    """Limits beyond which a head is reported; None switches a rule off.

    score : the largest score. 100 is the limit at which Kimi K2 clips query and key (QK-Clip,
        arXiv 2507.20534); runs that diverged in arXiv 2302.05442 (ViT-22B) were beyond 50,000.
    growth : how many times the largest score grew over 5 observations, each above the one before;
        scores above 50, half the limit of QK-Clip, only. Our own choice: twice.
    entropy : the share of its maximum below which a head's mean entropy has collapsed while it was
        at least four times as much before. arXiv 2303.06296 (sigma-Reparam) shows that collapse of
        entropy to near 0 precedes divergence; 0.05 is our own choice.
    silent : the norm of a head's output as a share of the median of its layer. Our own choice: a
        thousandth.
    """

    score: float | None = 100.0
    growth: float | None = 2.0
    entropy: float | None = 0.05
    silent: float | None = 1e-3

    def __post_init__(self) -> None:
        for name, limit in asdict(self).items():
            number = isinstance(limit, int | float) and 0 < limit < np.inf
            if limit is not None and not number:
                raise ArgumentError(f"{name} must be a number above 0, or None, got {limit!r}.")


@dataclass(frozen=True)
class Alert:
    """A head that needs attention: what was found, where, since when."""

    rule: str
    step: int
    part: str
    layer: int
    head: int
    value: float
    reason: str
    healthy_step: int | None = None  # the last observation in which nothing was wrong with it

    def __str__(self) -> str:
        since = "" if self.healthy_step is None else f" Last healthy at step {self.healthy_step}."
        where = f"{self.part} layer {self.layer}, head {self.head}"
        return f"step {self.step}, {where}: {self.reason}{since}"


class AlertError(RegardError, RuntimeError):
    """An alert of a monitored training, where it was made with on_alert='raise'."""

    def __init__(self, alerts: list[Alert]) -> None:
        super().__init__("\n".join(map(str, alerts)))
        self.alerts = alerts


@dataclass
class AlertRules:
    """Rules applied to one observation after another; a head is reported once while it lasts."""

    layers: tuple[Layer, ...]
    thresholds: Thresholds
    _active: set[tuple[str, int]] = field(default_factory=set)
    _scores: deque[Array] = field(default_factory=lambda: deque(maxlen=GROWTH_OBSERVATIONS))
    _highest_share: Array | None = None
    _healthy: dict[int, int] = field(default_factory=dict)
    _nan_reported: bool = False

    def __post_init__(self) -> None:
        heads = [(layer, head) for layer in self.layers for head in range(layer.heads)]
        self._heads = heads
        starts = np.cumsum([0, *(layer.heads for layer in self.layers)])
        self._of_layer = [slice(a, b) for a, b in pairwise(starts)]

    def bounded(self, step: int, bound_h: Array, largest_h: Array) -> list[Alert]:
        """Alerts of a step of which only bounds are known, and exact scores above the threshold."""
        found = [*self._not_finite(step, bound_h)]
        if self.thresholds.score is not None:
            exact = np.where(bound_h > self.thresholds.score, largest_h, -np.inf)
            found += self._above(step, exact, bound_h)
        return found

    def observed(self, step: int, measures: dict[str, Array]) -> list[Alert]:
        """Alerts of an observation of every head."""
        scores_h, share_h = measures["score"], measures["entropy_share"]
        found: list[Alert] = []
        if self.thresholds.score is not None:
            found += self._above(step, scores_h, scores_h)
        found += self._growing(step, scores_h)
        found += self._collapsed(step, share_h, measures["entropy"])
        found += self._silent(step, measures["output_norm"])
        before = self._highest_share
        self._highest_share = share_h if before is None else np.fmax(before, share_h)
        named = {(alert.part, alert.layer, alert.head) for alert in found}
        for index, (layer, head) in enumerate(self._heads):
            if (layer.part, layer.layer, head) not in named and np.isfinite(
                measures["bound"][index]
            ):
                self._healthy[index] = step
        return found

    def _alert(self, rule: str, step: int, index: int, value: float, reason: str) -> Alert:
        layer, head = self._heads[index]
        where = layer.part, layer.layer, head
        return Alert(rule, step, *where, float(value), reason, self._healthy.get(index))

    def _new(self, rule: str, failing_h: Array, recovered_h: Array | None = None) -> list[int]:
        """Heads that fail a rule and did not before; those that recovered may be reported again."""
        failing = set(np.flatnonzero(failing_h).tolist())
        new = [index for index in sorted(failing) if (rule, index) not in self._active]
        recovered_h = ~failing_h if recovered_h is None else recovered_h
        self._active -= {x for x in self._active if x[0] == rule and recovered_h[x[1]]}
        self._active |= {(rule, index) for index in new}
        return new

    def _not_finite(self, step: int, bound_h: Array) -> Iterator[Alert]:
        """The first head, in the order of layers, whose log-sum-exp is nan or infinite."""
        bad = np.flatnonzero(np.isnan(bound_h) | (bound_h == np.inf))
        if not len(bad) or self._nan_reported:
            return
        self._nan_reported = True
        index, number = int(bad[0]), float(bound_h[bad[0]])
        more = f", and in {len(bad) - 1} more heads" if len(bad) > 1 else ""
        kind = "nan" if np.isnan(number) else "infinity"
        yield self._alert("not finite", step, index, number, f"{kind} appeared here first{more}.")

    def _above(self, step: int, scores_h: Array, at_most_h: Array) -> Iterator[Alert]:
        """Scores above the limit; a head has recovered when ``at_most_h`` is well below it."""
        limit = self.thresholds.score or np.inf
        for index in self._new("score", scores_h > limit, at_most_h < RECOVERED * limit):
            reason = f"its largest score is {scores_h[index]:.4g}, above {limit:g}."
            yield self._alert("score", step, index, scores_h[index], reason)

    def _growing(self, step: int, scores_h: Array) -> Iterator[Alert]:
        self._scores.append(scores_h)
        times = self.thresholds.growth
        if times is None or len(self._scores) < GROWTH_OBSERVATIONS:
            return
        scores_nh = np.stack(self._scores)
        steady_h = (np.diff(scores_nh, axis=0) > 0).all(axis=0)
        first_h = np.maximum(scores_nh[0], GROWTH_FLOOR / times)
        for index in self._new("growth", steady_h & (scores_h >= times * first_h)):
            reason = (
                f"its largest score grew steadily, from {scores_nh[0, index]:.4g} to "
                f"{scores_h[index]:.4g} over {GROWTH_OBSERVATIONS} observations."
            )
            yield self._alert("growth", step, index, scores_h[index], reason)

    def _collapsed(self, step: int, share_h: Array, entropy_h: Array) -> Iterator[Alert]:
        limit, before_h = self.thresholds.entropy, self._highest_share
        if limit is None or before_h is None:
            return
        collapsed_h = (share_h < limit) & (before_h >= 4 * limit)
        for index in self._new("entropy", collapsed_h, share_h > 2 * limit):
            reason = (
                f"its entropy collapsed to {entropy_h[index]:.3g} nats, {share_h[index]:.1%} of "
                f"its maximum, from {before_h[index]:.0%}."
            )
            yield self._alert("entropy", step, index, share_h[index], reason)

    def _silent(self, step: int, norm_h: Array) -> Iterator[Alert]:
        limit = self.thresholds.silent
        if limit is None:
            return
        failing_h = np.zeros(len(norm_h), bool)
        for own in self._of_layer:
            norms = norm_h[own]
            if np.isfinite(norms).any():
                failing_h[own] = norms <= limit * np.nanmedian(norms)
        for index in self._new("silent", failing_h):
            reason = f"it writes nothing: the norm of its output is {norm_h[index]:.3g}."
            yield self._alert("silent", step, index, norm_h[index], reason)


def alert_fields(alert: Alert) -> dict[str, Any]:
    """An alert as a line of the folder's events."""
    fields = asdict(alert) | {"text": str(alert)}
    del fields["step"]
    if not np.isfinite(fields["value"]):
        fields["value"] = str(fields["value"])  # JSON has no nan
    return fields
