"""What was seen as tables, arrays and plain values, and beside another run."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from regard.errors import ArgumentError, BackendError, NotAskedError
from regard.heads.names import MEASURES
from regard.typing import Array
from regard.watcher.layer import LayerObservation

if TYPE_CHECKING:
    from regard.watcher.capture.forward_run import LayerKey
    from regard.watcher.measures.head_clusters import HeadClusters
    from regard.watcher.measures.run_comparison import RunComparison
    from regard.watcher.measures.sinks import SinkReport
    from regard.watcher.seen import Seen

AXES = {
    "entropy": ("layer", "head", "query"),
    "logsumexp": ("layer", "head", "query"),
    "received": ("layer", "head", "key"),
    "top_weights": ("layer", "head", "query", "rank"),
    "top_keys": ("layer", "head", "query", "rank"),
    "map": ("layer", "head", "query_block", "key_block"),
}


class SeenTables:
    """Mix-in of Seen: exports, and comparison with another run."""

    def compare(self, other: Seen) -> RunComparison:
        """Every head in this run and in another, those that differ most first.

        Two prompts in one model, or one text in two checkpoints of the same layers and heads.
        Tokens are aligned, and a head's distance is the Jensen-Shannon divergence of its rows in
        bits; beside it the same for two different heads of its layer.
        """
        from regard.watcher.measures.run_comparison import compare_runs

        return compare_runs(cast("Seen", self), other)

    def sinks(self, near: int = 32) -> SinkReport:
        """Tokens that heads rest on whatever the text, and each head's near and distant attention.

        Shares on the first token, on special tokens, on punctuation, on near tokens (closer than
        ``near``, a power of two) and on distant ones, each beside the share of even attention.
        """
        from regard.watcher.measures.sinks import find_sinks

        seen = cast("Seen", self)
        return find_sinks([(key, seen[key]) for key in seen.names], near)

    def clusters(self, within: float = 0.1, part: str | None = None) -> HeadClusters:
        """Heads grouped by their rows of weights, the first token left out.

        Parameters
        ----------
        within : the mean distance up to which clusters are joined, from 0 (the same rows) to 1.
        part : the part of the model, where it has several.
        """
        from regard.watcher.measures.head_clusters import cluster_heads

        seen = cast("Seen", self)
        chosen = _part_of(seen, part, "clusters")
        return cluster_heads([(x, seen[x]) for x in seen.names if x.part == chosen], within)

    def to_dict(self) -> dict[str, Any]:
        """Tokens, layers, and the report of every head, as JSON values."""
        seen = cast("Seen", self)
        texts = {part: seen.texts(part) for part in seen.parts}
        return {
            "parts": {
                part: {"query_tokens": list(queries.tokens), "key_tokens": list(keys.tokens),
                       "words": list(keys.words)}
                for part, (queries, keys) in texts.items()
            },
            "layers": [
                {**key._asdict(), "heads": seen[key]._leading[-1], "notes": list(seen[key].notes)}
                for key in seen.names
            ],
            "paths": {path: list(key) for path, key in seen.paths.items()},
            **seen.report().to_dict(),
            "counting": "layers and heads count from 0",
        }  # fmt: skip

    def to_pandas(self, table: str = "heads") -> Any:
        """A DataFrame of pandas; BackendError where it is not installed.

        Parameters
        ----------
        table : 'heads' has a line for each head with its measures, baselines and name; 'queries'
            one for each head and query (token, entropy, best key, its weight); 'keys' one for each
            head and key (token, attention received); 'weights' one for each of the best keys of
            each query of each head.
        """
        if table not in TABLES:
            raise ArgumentError(
                f"table needs to be one of {', '.join(TABLES)}, but it is {table!r}."
            )
        if importlib.util.find_spec("pandas") is None:
            raise BackendError(
                "to_pandas needs pandas, not installed here: pip install pandas, or take "
                "seen.report().to_csv('heads.csv') or seen.arrays()."
            )
        pandas: Any = importlib.import_module("pandas")
        return pandas.DataFrame(TABLES[table](cast("Seen", self)))

    def arrays(self, part: str | None = None) -> Any:
        """Arrays of all layers of a part by name: an xarray Dataset, or without xarray a dict.

        entropy and logsumexp (layer, head, query), received (layer, head, key), top_weights and
        top_keys (layer, head, query, rank), map (layer, head, query_block, key_block), and each
        measure of the report with its baseline (layer, head), as in ``induction`` and
        ``induction_baseline``. The names of the axes are coordinates of the Dataset and entries of
        the dict: layer and head are numbers from 0, query_token and key_token are the tokens.
        """
        seen = cast("Seen", self)
        chosen = _part_of(seen, part, "arrays")
        keys = [key for key in seen.names if key.part == chosen]
        layers = [seen[key] for key in keys]
        values = _stacked(keys, layers)
        queries, columns = seen.texts(chosen)
        coordinates = {
            "layer": np.array([key.layer for key in keys]),
            "head": np.arange(layers[0]._leading[-1]),
            "query_token": np.array(queries.tokens),
            "key_token": np.array(columns.tokens),
        }
        if importlib.util.find_spec("xarray") is None:
            return values | coordinates
        return _dataset(values, coordinates)


def _part_of(seen: Seen, part: str | None, method: str) -> str:
    if part is None and len(seen.parts) > 1:
        raise ArgumentError(
            f"this model has {', '.join(seen.parts)}, so say which: "
            f"seen.{method}(part={seen.parts[0]!r})."
        )
    seen.texts(part)  # raises where there is no such part
    return part or seen.parts[0]


def _stacked(keys: list[LayerKey], layers: list[LayerObservation]) -> dict[str, Array]:
    """Facts and measures of layers of one size as single arrays."""
    shapes = {(layer._leading, layer.queries, layer.keys) for layer in layers}
    if len(shapes) > 1:
        raise ArgumentError(
            f"arrays needs layers of one size, but those of {keys[0].part} differ in heads or "
            "tokens: take them one by one, as in seen[0].entropy."
        )
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


def _dataset(values: Mapping[str, Array], coordinates: Mapping[str, Array]) -> Any:
    xarray: Any = importlib.import_module("xarray")
    axes = {"query_token": ("query",), "key_token": ("key",)}
    return xarray.Dataset(
        {name: (AXES.get(name, ("layer", "head")), array) for name, array in values.items()},
        {name: (axes.get(name, (name,)), array) for name, array in coordinates.items()},
    )


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


def _by_layer(seen: Seen, make: Callable[[LayerObservation], Columns]) -> Columns:
    """The columns of all layers below each other, after part, layer and head."""
    joined: dict[str, list[Array]] = {}
    for key in seen.names:
        layer = seen[key]
        columns = make(layer)
        real_x = columns.pop("_real", None)
        heads = layer._leading[-1]
        size = len(next(iter(columns.values()))) if real_x is None else len(real_x)
        head_x = np.repeat(np.arange(heads), size // heads)
        head_x = head_x if real_x is None else head_x[real_x]
        names = {"part": np.full(len(head_x), key.part), "layer": np.full(len(head_x), key.layer)}
        for name, column in (names | {"head": head_x} | columns).items():
            joined.setdefault(name, []).append(column)
    return {name: np.concatenate(columns) for name, columns in joined.items()}


def _every(layer: LayerObservation, values_x: Array) -> Array:
    """The same for every head."""
    return np.tile(values_x, layer._leading[-1])


def _tokens(layer: LayerObservation, axis: int) -> Array:
    text = (layer.query_text, layer.key_text)[axis]
    if text is None:
        raise NotAskedError("tokens were not recorded.")
    return np.array(text.tokens)
