"""Tables of a watched model: a report of every head, and columns for pandas and xarray."""

from __future__ import annotations

import csv
import importlib.util
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.arguments import named_arguments
from regard.atomic_write import write_text
from regard.display import TextDisplay
from regard.errors import ArgumentError, BackendError, NotAskedError
from regard.heads.measures import BANDS, HeadMeasures
from regard.heads.names import MEASURES, Resting, head_name
from regard.typing import Array
from regard.watcher.capture.runs import LayerKey
from regard.watcher.layer import LayerObservation

if TYPE_CHECKING:
    from regard.watcher.seen import Seen


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

    @property
    def telling(self) -> float:
        """The largest share beyond chance of one thing that the head does.

        Resting on the first token and looking at oneself are left out: heads that do nothing do
        that too.
        """
        named = [x for x in MEASURES if x not in ("entropy", "first", "itself")]
        return max(self.measured[name] - self.baseline[name] for name in named)

    def value(self, by: str) -> Any:
        return self.measured[by] if by in MEASURES else getattr(self, by)

    def flat(self) -> dict[str, Any]:
        line: dict[str, Any] = {"part": self.part, "layer": self.layer, "head": self.head}
        for name in MEASURES:
            line |= {name: self.measured[name], f"{name}_baseline": self.baseline[name]}
            line[f"{name}_queries"] = self.queries[name]
        rests = self.rests_on
        line |= {"rests_on": rests.token, "rests_on_position": rests.position}
        return line | {"rests_on_share": rests.share, "label": self.label}


@named_arguments
@dataclass(frozen=True, repr=False)
class HeadReport(TextDisplay):
    """All heads of all watched layers; ``print`` it for a table, ``sorted`` it by a measure.

    ``weighted`` is 'norm' where the measures are of norm-weighted weights, not of the attention.
    ``by`` is what the rows are sorted by; as they come from a model they are in its order.
    """

    rows: tuple[HeadRow, ...]
    weighted: str | None = None
    by: str | None = None

    def sorted(self, by: str = "entropy", descending: bool | None = None) -> HeadReport:
        """In the order of a measure, the largest first; 'layer', 'head' and 'label' go upwards.

        'telling' begins with the heads whose largest measure is farthest beyond chance.
        """
        if by not in (*MEASURES, "telling", "layer", "head", "label"):
            raise ArgumentError(
                f"by must be one of {', '.join(MEASURES)}, telling, layer, head or label, got "
                f"{by!r}."
            )
        down = by in (*MEASURES, "telling") if descending is None else descending
        rows = sorted(self.rows, key=lambda row: row.value(by), reverse=down)
        return HeadReport(tuple(rows), self.weighted, by)

    def to_dict(self) -> dict[str, Any]:
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
        rows += [_row(key, seen, seen.measures, head) for head in range(seen.head_shape[-1])]
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


AXES = {
    "entropy": ("layer", "head", "query"),
    "logsumexp": ("layer", "head", "query"),
    "received": ("layer", "head", "key"),
    "top_weights": ("layer", "head", "query", "rank"),
    "top_keys": ("layer", "head", "query", "rank"),
    "map": ("layer", "head", "query_block", "key_block"),
}


def arrays(seen: Seen, part: str | None = None) -> Any:
    """Arrays of all layers of a part by name: an xarray Dataset, or without xarray a dict.

    entropy and logsumexp (layer, head, query), received (layer, head, key), top_weights and
    top_keys (layer, head, query, rank), map (layer, head, query_block, key_block), and each
    measure of the report with its baseline (layer, head), as in ``induction`` and
    ``induction_baseline``. The names of the axes are coordinates of the Dataset and entries of
    the dict: layer and head are numbers from 0, query_token and key_token are the tokens.
    """
    chosen = seen._one_part(part, "arrays")
    keys, layers = zip(*seen._part_layers(chosen), strict=True)
    shapes = {(layer.head_shape, layer.queries, layer.keys) for layer in layers}
    if len(shapes) > 1:
        raise ArgumentError(
            f"arrays needs layers of one size, and those of {chosen} differ in heads or "
            "tokens: take them one by one, as in seen[0].entropy."
        )
    values = _stacked(layers)
    queries, columns = seen.texts(chosen)
    coordinates = {
        "layer": np.array([key.layer for key in keys]),
        "head": np.arange(layers[0].head_shape[-1]),
        "query_token": np.array(queries.tokens),
        "key_token": np.array(columns.tokens),
    }
    if importlib.util.find_spec("xarray") is None:
        return values | coordinates
    xarray: Any = importlib.import_module("xarray")
    axes = {"query_token": ("query",), "key_token": ("key",)}
    return xarray.Dataset(
        {name: (AXES.get(name, ("layer", "head")), array) for name, array in values.items()},
        {name: (axes.get(name, (name,)), array) for name, array in coordinates.items()},
    )


def _stacked(layers: Sequence[LayerObservation]) -> dict[str, Array]:
    """Facts and measures of layers of one size as single arrays."""
    values = {
        name: np.stack([np.asarray(layer.facts[name]) for layer in layers])
        for name in AXES
        if all(name in layer.facts for layer in layers)
    }
    for name in MEASURES:
        each = [getattr(x.measures, name) for x in layers if x.measures is not None]
        if len(each) == len(layers):
            values[name if name != "entropy" else "entropy_mean"] = _by_head(each, "mean_h")
            values[f"{name}_baseline"] = _by_head(each, "baseline_h")
    return values


def _by_head(measures: list[Any], name: str) -> Array:
    return np.stack([np.asarray(getattr(measure, name), np.float64) for measure in measures])


Columns = dict[str, Any]


def _head_columns(seen: Seen) -> list[dict[str, Any]]:
    sinks = seen.sinks().heads
    rows = seen.report().rows
    return [row.flat() | more.flat() for row, more in zip(rows, sinks, strict=True)]


def _query_columns(seen: Seen) -> Columns:
    def make(layer: LayerObservation) -> Columns:
        best, tokens, keys = layer.top(1), _tokens(layer, 0), _tokens(layer, 1)
        best_hq = best.keys[..., 0]
        return {
            "query": _every(layer, np.arange(layer.queries)),
            "query_token": _every(layer, tokens),
            "entropy": np.ravel(layer.entropy),
            "best_key": best_hq.ravel(),
            "best_key_token": np.where(best_hq < 0, "", keys[best_hq]).ravel(),
            "best_weight": best.weights[..., 0].ravel(),
        }

    return _by_layer(seen, make)


def _key_columns(seen: Seen) -> Columns:
    def make(layer: LayerObservation) -> Columns:
        return {
            "key": _every(layer, np.arange(layer.keys)),
            "key_token": _every(layer, _tokens(layer, 1)),
            "received": np.ravel(layer.received),
        }

    return _by_layer(seen, make)


def _weight_columns(seen: Seen) -> Columns:
    def make(layer: LayerObservation) -> Columns:
        best = layer.top()
        count = best.keys.shape[-1]
        keys_x = best.keys.ravel()
        columns = {
            "query": _every(layer, np.repeat(np.arange(layer.queries), count)),
            "query_token": _every(layer, np.repeat(_tokens(layer, 0), count)),
            "rank": _every(layer, np.tile(np.arange(count), layer.queries)),
            "key": keys_x,
            "key_token": _tokens(layer, 1)[keys_x],
            "weight": best.weights.ravel(),
        }
        real_x = keys_x >= 0  # a query with fewer keys has -1
        return {name: column[real_x] for name, column in columns.items()} | {"_real": real_x}

    return _by_layer(seen, make)


TABLES: dict[str, Callable[[Any], Any]] = {
    "heads": _head_columns,
    "queries": _query_columns,
    "keys": _key_columns,
    "weights": _weight_columns,
}


def to_pandas(seen: Seen, table: str = "heads") -> Any:
    """A DataFrame of pandas; BackendError where it is not installed.

    Parameters
    ----------
    table : 'heads' has a line for each head with its measures, baselines and name; 'queries'
        one for each head and query (token, entropy, best key, its weight); 'keys' one for each
        head and key (token, attention received); 'weights' one for each of the best keys of
        each query of each head.
    """
    if table not in TABLES:
        raise ArgumentError(f"table must be one of {', '.join(TABLES)}, got {table!r}.")
    if importlib.util.find_spec("pandas") is None:
        raise BackendError(
            "to_pandas needs pandas, not installed here: pip install pandas, or take "
            "seen.report().to_csv('heads.csv') or seen.arrays()."
        )
    pandas: Any = importlib.import_module("pandas")
    return pandas.DataFrame(TABLES[table](seen))


def _by_layer(seen: Seen, make: Callable[[LayerObservation], Columns]) -> Columns:
    """The columns of all layers below each other, after part, layer and head."""
    joined: dict[str, list[Array]] = {}
    for key in seen.names:
        layer = seen[key]
        columns = make(layer)
        real_x = columns.pop("_real", None)
        heads = layer.head_shape[-1]
        size = len(next(iter(columns.values()))) if real_x is None else len(real_x)
        head_x = np.repeat(np.arange(heads), size // heads)
        head_x = head_x if real_x is None else head_x[real_x]
        names = {"part": np.full(len(head_x), key.part), "layer": np.full(len(head_x), key.layer)}
        for name, column in (names | {"head": head_x} | columns).items():
            joined.setdefault(name, []).append(column)
    return {name: np.concatenate(columns) for name, columns in joined.items()}


def _every(layer: LayerObservation, values_x: Array) -> Array:
    """The same for every head."""
    return np.tile(values_x, layer.head_shape[-1])


def _tokens(layer: LayerObservation, axis: int) -> Array:
    text = (layer.query_text, layer.key_text)[axis]
    if text is None:
        raise NotAskedError("tokens were not recorded.")
    return np.array(text.tokens)
