"""Events of a training: a fault, the heads that it touches, since when, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.errors import RegardError, count
from regard.monitoring.folder import Layer

SEVERITY = {
    "not finite": "fault", "wrong": "fault", "settings": "fault", "shift": "fault", "away": "fault",
    "threshold": "danger", "collapse": "danger", "silent": "danger", "optimizer": "information",
}  # fmt: skip
RULES = tuple(SEVERITY)


@dataclass
class Event:
    """What a rule found: one event for a fault, however many heads it touches.

    It is open until its fault is over: until then ``last`` is None, and further heads join
    ``heads``, places among the heads of all layers. ``line`` says what, where, since
    when, how fast and what to do, as of step ``first``; ``healthy`` is the last step at which the
    rule found nothing there, where it is known.
    """

    rule: str
    first: int
    line: str
    heads: list[int] = field(default_factory=list)
    value: float = float("nan")
    healthy: int | None = None
    last: int | None = None
    number: int = 0  # among the events of its folder
    at_first: int = 0  # heads that were touched at step ``first``

    def __post_init__(self) -> None:
        self.at_first = len(self.heads)

    @property
    def severity(self) -> str:
        """fault, danger or information."""
        return SEVERITY[self.rule]

    @property
    def closing(self) -> str:
        """The line at its end, where heads have joined; else empty."""
        more = len(self.heads) - self.at_first
        if not more or self.last is None:
            return ""
        heads = count(more, "more head")
        return f"step {self.first}: {self.rule}, and {heads} by step {self.last}."

    def fields(self) -> dict[str, Any]:
        """As JSON takes it, in the folder and on the page."""
        return {
            "number": self.number, "rule": self.rule, "severity": self.severity,
            "first": self.first, "last": self.last, "heads": self.heads, "line": self.line,
        }  # fmt: skip

    def __str__(self) -> str:
        return self.line


class AlertError(RegardError, RuntimeError):
    """Events of a monitored training, where it was made with on_alert='raise'."""

    def __init__(self, alerts: list[Event]) -> None:
        super().__init__("\n".join(map(str, alerts)))
        self.alerts = alerts


def where(layers: Sequence[Layer], heads: Sequence[int]) -> str:
    """Heads, by their places among those of all layers, in words.

    >>> two = [Layer("decoder", number, 2, "") for number in range(2)]
    >>> where(two, [3]), where(two, [0, 1]), where(two, [0, 1, 2, 3])
    ('layer 1, head 1', 'layer 0, both heads', 'all 4 heads')
    """
    total = sum(layer.heads for layer in layers)
    if len(heads) == total:
        return f"all {total} heads" if total > 1 else "the only head"
    several_parts = len({layer.part for layer in layers}) > 1
    found, start = [], 0
    for layer in layers:
        own = [head - start for head in heads if start <= head < start + layer.heads]
        start += layer.heads
        if own:
            name = str(layer) if several_parts else f"layer {layer.layer}"
            found.append(f"{name}, {_heads(own, layer.heads)}")
    many = f"{len(heads)} of {total} heads, in {len(found)} layers"
    return "; ".join(found) if len(found) <= 3 else many


def _heads(own: list[int], of: int) -> str:
    if len(own) == of > 1:
        return "both heads" if of == 2 else f"all {of} heads"
    return f"head{'s' * (len(own) > 1)} {', '.join(map(str, own))}"
