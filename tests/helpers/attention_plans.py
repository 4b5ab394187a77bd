"""Every plan of the engine, brought about by its constants."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from regard.engine.tiles import plan

SMALL_TILES = {"ROWS": 16, "COLUMNS": 16}
ROW_FACTS_ONLY = {"received": False, "map": 0, "profile": False}


@dataclass(frozen=True)
class Engine:
    """A plan, the constants that bring it about, and what may be asked of it."""

    plan: str
    constants: dict[str, int]
    asked: dict[str, Any] = field(default_factory=dict)
    name: str = ""

    def __str__(self) -> str:
        return self.name or self.plan

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Inside this block every call takes this plan."""
        with pytest.MonkeyPatch.context() as patch:
            for name, number in self.constants.items():
                patch.setattr(plan, name, number)
            yield


AS_SHIPPED = Engine("panel", {}, name="as shipped")
PANEL = Engine("panel", SMALL_TILES)
TWO_PASSES = Engine("two passes", {**SMALL_TILES, "PANEL_BYTES": 0})
ONE_PASS = Engine("one pass", SMALL_TILES, ROW_FACTS_ONLY)
COLUMN_ENGINES = (AS_SHIPPED, PANEL, TWO_PASSES)
ENGINES = (*COLUMN_ENGINES, ONE_PASS)
