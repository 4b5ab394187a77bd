"""HeadReport of every head of a watched model: measures, uniform baselines, and a name."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.atomic_write import write_text
from regard.display import TextDisplay
from regard.errors import ArgumentError, NotAskedError
from regard.heads.measures import BANDS, HeadMeasures
from regard.heads.names import MEASURES, Resting, head_name
from regard.watcher.capture.forward_run import LayerKey
from regard.watcher.layer import LayerObservation


@dataclass(frozen=True)
class HeadRow:
    """One head: measure by name, its uniform baseline over the visible keys, its queries.

    ``entropy`` is in nats, the others are shares of attention; ``distance`` has (nearest,
    farthest, share), far back first, negative distances ahead. ``rests_on`` is the token that gets
    most of the head's attention, with that share.
    """

    part: str
    layer: int
    head: int
    measured: dict[str, float]
    baseline: dict[str, float]
    queries: dict[str, int]
    distance: tuple[tuple[int, int, float], ...]
    rests_on: Resting
    label: str

    def value(self, by: str) -> Any:
        """A measure, or one of layer, head, label."""
        return self.measured[by] if by in MEASURES else getattr(self, by)

    def flat(self) -> dict[str, Any]:
        """One line of a table."""
        line: dict[str, Any] = {"part": self.part, "layer": self.layer, "head": self.head}
        for name in MEASURES:
            line |= {name: self.measured[name], f"{name}_baseline": self.baseline[name]}
            line[f"{name}_queries"] = self.queries[name]
        rests = self.rests_on
        line |= {"rests_on": rests.token, "rests_on_position": rests.position}
        return line | {"rests_on_share": rests.share, "label": self.label}


@dataclass(frozen=True, repr=False)
class HeadReport(TextDisplay):
    """All heads of all watched layers; ``print`` it for a table, ``sorted`` it by a measure.

    ``weighted`` is 'norm' where the measures are of norm-weighted weights, not of the attention.
    """

    rows: tuple[HeadRow, ...]
    weighted: str | None = None

    def sorted(self, by: str = "entropy", descending: bool | None = None) -> HeadReport:
        """In the order of a measure, the largest first; 'layer', 'head' and 'label' go upwards."""
        if by not in (*MEASURES, "layer", "head", "label"):
            raise ArgumentError(
                f"by needs to be one of {', '.join(MEASURES)}, layer, head or label, "
                f"but it is {by!r}."
            )
        down = by in MEASURES if descending is None else descending
        rows = sorted(self.rows, key=lambda row: row.value(by), reverse=down)
        return HeadReport(tuple(rows), self.weighted)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, for JSON."""
        heads = []
        for row in self.rows:
            bands = [{"nearest": a, "farthest": b, "share": share} for a, b, share in row.distance]
            heads.append(row.flat() | {"distance": bands})
        return {"measures": list(MEASURES), "weighted": self.weighted, "heads": heads}

    def to_csv(self, path: str | Path | None = None) -> str:
        """Comma-separated, one head a line; written to a file where a path is given."""
        lines = io.StringIO()
        table = csv.DictWriter(lines, list(self.rows[0].flat()) if self.rows else [])
        table.writeheader()
        table.writerows(row.flat() for row in self.rows)
        if path is not None:
            write_text(path, lines.getvalue())
        return lines.getvalue()


def report(layers: Sequence[tuple[LayerKey, LayerObservation]]) -> HeadReport:
    """Measures of every head, from what was added up while the model ran."""
    rows: list[HeadRow] = []
    for key, seen in layers:
        if seen.measures is None:
            raise NotAskedError("the report needs measures, and this file does not hold them.")
        rows += [_row(key, seen, seen.measures, head) for head in range(seen._leading[-1])]
    return HeadReport(tuple(rows))


def _row(key: LayerKey, seen: LayerObservation, measures: HeadMeasures, head: int) -> HeadRow:
    each = {name: getattr(measures, name) for name in MEASURES}
    measured = {name: float(x.mean_h[head]) for name, x in each.items()}
    baseline = {name: float(x.baseline_h[head]) for name, x in each.items()}
    queries = {name: int(x.queries_h[head]) for name, x in each.items()}
    shares = measures.distance.mean_h[head]
    distance = tuple(
        (near, far, float(share)) for (near, far), share in zip(BANDS, shares, strict=True) if share
    )
    rests = _resting(seen, head)
    label = head_name(measured, baseline, queries, rests, cross=key.part.startswith("cross"))
    return HeadRow(*key, head, measured, baseline, queries, distance, rests, label)


def _resting(seen: LayerObservation, head: int) -> Resting:
    received_k = np.asarray(seen.received[head], np.float64)
    position = int(received_k.argmax())
    share = float(received_k[position] / max(received_k.sum(), np.finfo(float).tiny))
    tokens = seen.key_text.tokens if seen.key_text is not None else ()
    token = tokens[position] if position < len(tokens) else str(position)
    return Resting(token, position, share)
