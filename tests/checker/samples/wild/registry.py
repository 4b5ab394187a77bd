"""Registry of the table: each implementation with its expected verdict and first name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

RIGHT = "right"
UNLESS_EMPTY = "right, unless a row may see nothing"
WRONG = "wrong"


@dataclass(frozen=True)
class Entry:
    """One implementation: what is checked, its verdict, and the names that may come first."""

    target: Any
    verdict: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return str(getattr(self.target, "__name__", type(self.target).__name__))


TABLE: list[Entry] = []


def right(target: Any) -> Any:
    """Register an implementation that is right everywhere."""
    TABLE.append(Entry(target, RIGHT))
    return target


def unless_empty(target: Any) -> Any:
    """Register an implementation that is right where every row may see something."""
    TABLE.append(Entry(target, UNLESS_EMPTY))
    return target


def wrong(*names: str) -> Callable[[Any], Any]:
    """Register a wrong implementation; no name means that its mistake has none."""

    def register(target: Any) -> Any:
        TABLE.append(Entry(target, WRONG, names))
        return target

    return register
