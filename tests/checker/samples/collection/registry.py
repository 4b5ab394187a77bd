"""Registry of the collection: each implementation with its truth and the names of its mistake."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Implementation:
    """One attention as somebody wrote it; ``names`` are those that its mistake may be given."""

    target: Any
    right: bool
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return str(getattr(self.target, "__name__", type(self.target).__name__))


class Half:
    """One half of the collection: the one that is tuned on, or the one that is kept back."""

    def __init__(self) -> None:
        self.entries: list[Implementation] = []

    def right(self, target: Any) -> Any:
        """Register an implementation that is right."""
        self.entries.append(Implementation(target, True))
        return target

    def wrong(self, *names: str) -> Callable[[Any], Any]:
        """Register a wrong implementation; without names any wrong verdict will do."""

        def register(target: Any) -> Any:
            self.entries.append(Implementation(target, False, names))
            return target

        return register


TUNED, KEPT_BACK = Half(), Half()
