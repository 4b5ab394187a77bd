"""Where the blocks of a map begin and end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.self_attention.observation import Observation
from regard.self_attention.tiles.plan import blocks

Edges = NDArray[Any]


def map_edges(seen: Observation) -> tuple[Edges, Edges]:
    """Edges of rows and of columns: as what was seen says, else as ``observe`` cuts them."""
    rows, columns = (getattr(seen, name, None) for name in ("row_edges", "column_edges"))
    down, across = seen.map.shape[-2:]
    return (blocks(seen.queries, down) if rows is None else np.asarray(rows),
            blocks(seen.keys, across) if columns is None else np.asarray(columns))  # fmt: skip
