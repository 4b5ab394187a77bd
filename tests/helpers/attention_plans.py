"""Every plan of the engine, brought about by its constants."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from regard.engine.native import attend
from regard.engine.native.library import levels, using_level
from regard.engine.tiles import plan

SMALL_TILES = {"TILE_ROWS": 16, "TILE_COLUMNS": 16}
ROW_FACTS_ONLY = {"received": False, "map": 0, "profile": False}


@dataclass(frozen=True)
class Engine:
    """A plan, the constants that bring it about, and what may be asked of it."""

    plan: str
    constants: dict[str, int]
    asked: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    native: str | None = "off"  # the level of the native kernels; None: as shipped

    def __str__(self) -> str:
        return self.name or self.plan

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Inside this block every call takes this plan."""
        with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
            for name, number in self.constants.items():
                patch.setattr(plan if self.native == "off" else attend, name, number)
            if self.native is not None:
                stack.enter_context(using_level(self.native))
            yield


SMALL_BLOCKS = {"BLOCK_ROWS": 8, "BLOCK_KEYS": 16}  # each level makes them its smallest
AS_SHIPPED = Engine("panel", {}, name="as shipped", native=None)
NATIVE = tuple(
    Engine("panel", SMALL_BLOCKS, name=f"native {level}", native=level) for level in levels()
)
PANEL = Engine("panel", SMALL_TILES)
TWO_PASSES = Engine("two passes", {**SMALL_TILES, "PANEL_BYTES": 0})
ONE_PASS = Engine("one pass", SMALL_TILES, ROW_FACTS_ONLY)
COLUMN_ENGINES = (AS_SHIPPED, PANEL, TWO_PASSES, *NATIVE)
ENGINES = (*COLUMN_ENGINES, ONE_PASS)
