"""What only the device can say, read together: the host waits for it once, and late."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from regard.models.bridge import on_host

if TYPE_CHECKING:
    import torch


class Doubt(Protocol):
    """Something that may be wrong: ``fine`` is a tensor of one bool."""

    passed: bool

    @property
    def fine(self) -> torch.Tensor:
        """Whether nothing is wrong."""

    def speak(self) -> None:
        """Raise what is wrong."""


@dataclass
class Doubts:
    """All that were not answered yet; one that is not fine stays, and speaks again."""

    waiting: list[Doubt] = field(default_factory=list)

    def add(self, doubt: Doubt) -> None:
        """On the host it is answered at once."""
        self.waiting.append(doubt)
        if on_host(doubt.fine):
            self.settle()

    def settle(self) -> None:
        """Wait for the device, once, and raise what is wrong with the first."""
        self.waiting = [doubt for doubt in self.waiting if not doubt.passed]
        for doubt, fine in zip(self.waiting, _read(self.waiting), strict=True):
            if not fine:
                doubt.speak()
            doubt.passed = True
        self.waiting = []


def _read(doubts: list[Doubt]) -> list[bool]:
    import torch

    if not doubts:
        return []
    device = doubts[0].fine.device
    answers: list[bool] = torch.stack([doubt.fine.to(device) for doubt in doubts]).tolist()
    return answers
