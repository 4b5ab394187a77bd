"""Runs for the page: a watched text or an observation, its texts, parts, layers and heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from regard.engine.files import file_errors
from regard.engine.observation import Observation
from regard.errors import ArgumentError, NotAskedError, count
from regard.heads.names import MEASURES, telling_word
from regard.text.words import TokenizedText
from regard.typing import Array
from regard.view.page.maps import (
    THUMBNAIL_CELLS,
    HeadIndex,
    bounded_integer,
    map_edges,
    open_stored,
    shrink,
)
from regard.view.page.run_images import page_images, parts_by_images
from regard.watcher.capture.runs import LayerKey
from regard.watcher.layer import LayerObservation
from regard.watcher.measures.head_report import HeadRow, report
from regard.watcher.measures.telling_link import TellingLink, telling_link
from regard.watcher.mixers.mixer_table import MixerFacts
from regard.watcher.seen import Seen

TITLES = {
    "encoder": "the input looks at itself",
    "decoder": "the text looks at what came before it",
    "cross": "the output looks at the input",
}
MAX_HEADS = 4096


@dataclass(frozen=True)
class Line:
    """The weights of a row or a column; ``known`` says which of them the run holds.

    'all' is every weight; 'largest' those beyond 0, the others have ``rest`` together; 'blocks' are
    the cells of a map, each spread evenly over its tokens.
    """

    weights: Array
    known: str = "all"
    rest: float = 0.0


@dataclass(frozen=True)
class Layer:
    """One observation of a run, with the number of its layer in the model."""

    number: int
    seen: Observation

    @cached_property
    def heads(self) -> tuple[HeadIndex, ...]:
        """The index of each head in the leading axes."""
        return tuple(np.ndindex(*self.seen.head_shape)) if self.seen.head_shape else (None,)

    @property
    def is_exact(self) -> bool:
        """Whether every single weight can be given."""
        return bool(self.seen.parts) or self.seen.map_is_weights

    def about(self) -> dict[str, Any]:
        names = [", ".join(str(i) for i in index) if index else "0" for index in self.heads]
        return {
            "number": self.number,
            "heads": names,
            "queries": self.seen.queries,
            "keys": self.seen.keys,
            "exact": self.is_exact,
            "least": [1, 1] if self.is_exact else list(self._blocks),
            "missing": self._missing(),
        }

    @property
    def _blocks(self) -> tuple[int, int]:
        """The sizes of the map's cells in queries and keys; the whole where there is no map."""
        if "map" not in self.seen.facts:
            return self.seen.queries, self.seen.keys
        rows, columns = (int(np.diff(edges).max()) for edges in map_edges(self.seen))
        return rows, columns

    def _missing(self) -> str:
        """A sentence on what is exact and what is not; empty where every weight is known."""
        if self.is_exact:
            return ""
        best = "top_keys" in self.seen.facts and self.seen.facts.fact_shape("top_keys")[-1]
        cells = "x".join(f"{size:,}" for size in self._blocks).replace("x", " x ")
        known = [
            f"the {best} largest weights of each token" if best else "",
            f"the cells of the map, means over {cells} tokens" if "map" in self.seen.facts else "",
        ]
        exact = " and ".join(filter(None, known)) or "no single weight"
        return (
            f"Exact are {exact}; single weights beyond them are not known, because query and key "
            "of this layer were not kept."
        )

    def strip(self, fact: str, index: HeadIndex, bounds: Array) -> Array | None:
        """Means of a fact along an axis, one for each cell; None where it was not observed."""
        if fact not in self.seen.facts:
            return None
        values: Array = self.seen.facts[fact]
        values = values if index is None else values[index]
        line = np.asarray(values[bounds[0] : bounds[-1]], np.float64)
        return np.asarray(np.add.reduceat(line, bounds[:-1] - bounds[0]) / np.diff(bounds))

    def row(self, index: HeadIndex, query: int) -> Line:
        """What one query gives to every key."""
        if self.is_exact:
            return Line(self._tile(index, slice(query, query + 1), slice(None)))
        weights_k = np.zeros(self.seen.keys)
        if "top_keys" in self.seen.facts:
            where: Any = (query,) if index is None else (*index, query)
            keys_n, weights_n = (self.seen.facts[x][where] for x in ("top_keys", "top_weights"))
            weights_k[keys_n[keys_n >= 0]] = weights_n[keys_n >= 0]
            return Line(weights_k, "largest", max(0.0, 1.0 - float(weights_k.sum())))
        if "map" not in self.seen.facts:
            raise NotAskedError(
                "this run holds neither best keys, nor a map, nor query and key: watch with top=16."
            )
        row_edges, column_edges = map_edges(self.seen)
        cell = int(np.searchsorted(row_edges, query, side="right")) - 1
        map_rc = self.seen.map if index is None else self.seen.map[index]
        sizes_c = np.diff(column_edges)
        return Line(np.repeat(np.asarray(map_rc[cell]) / sizes_c, sizes_c), "blocks")

    def column(self, index: HeadIndex, key: int) -> Line:
        """What one key gets from every query."""
        if not self.is_exact:
            raise NotAskedError(
                "what looks at a token needs query and key of this layer, which were not kept."
            )
        return Line(self._tile(index, slice(None), slice(key, key + 1)))

    def _tile(self, index: HeadIndex, rows: slice, columns: slice) -> Array:
        if self.seen.parts or isinstance(self.seen, LayerObservation):
            tile = self.seen.tile(rows, columns, index if self.seen.head_shape else 0)
        else:
            tile = (self.seen.map if index is None else self.seen.map[index])[rows, columns]
        return np.asarray(tile).reshape(-1)


@dataclass(frozen=True)
class Part:
    """The layers of one attention of a model, and the numbers of the texts of its two sides.

    Query i is token i + ``offset`` of its text. ``generated`` are the first tokens of both sides
    that the model wrote.
    """

    name: str
    layers: tuple[Layer, ...]
    query: int | None = None
    key: int | None = None
    offset: int = 0
    generated: tuple[int | None, int | None] = (None, None)

    def about(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "about": TITLES.get(self.name, ""),
            "layers": [layer.about() for layer in self.layers],
            "query": {"text": self.query, "offset": self.offset, "generated": self.generated[0]},
            "key": {"text": self.key, "offset": 0, "generated": self.generated[1]},
        }

    def layer(self, number: Any) -> Layer:
        found = [layer for layer in self.layers if layer.number == number and number is not True]
        if not found:
            known = ", ".join(str(layer.number) for layer in self.layers)
            raise ArgumentError(f"layer must be one of {known}, got {number!r:.60}.")
        return found[0]

    @property
    def observed(self) -> list[tuple[LayerKey, LayerObservation]]:
        """Watched layers with measures; empty where any has none."""
        pairs = [(LayerKey(self.name, x.number), x.seen) for x in self.layers]
        kept = [(key, x) for key, x in pairs if isinstance(x, LayerObservation) and x.measures]
        return kept if len(kept) == len(pairs) else []


@dataclass(frozen=True)
class Run:
    """One text of a file or of a model that is loaded, or an observation without any."""

    name: str
    parts: tuple[Part, ...]
    texts: tuple[TokenizedText, ...] = ()
    sentences: int = 1
    images: Sequence[dict[str, Any]] = ()
    notes: Sequence[str] = ()
    path: Path | None = field(default=None, compare=False)
    judged: Mapping[tuple[str, int, int], str] = field(default_factory=dict)
    mixers: MixerFacts | None = None  # layers without a softmax, where they were watched

    def about(self) -> dict[str, Any]:
        """What the page shows first (web/types.d.ts: RunAbout)."""
        return {
            "name": self.name,
            "sentences": self.sentences,
            "texts": [len(text.tokens) for text in self.texts],
            "parts": [part.about() for part in self.parts],
            "images": list(self.images),
            "notes": list(self.notes),
            "mixers": [] if self.mixers is None else list(self.mixers.facts),
        }

    def part(self, name: Any) -> Part:
        found = [part for part in self.parts if part.name == name]
        if not found:
            known = ", ".join(part.name for part in self.parts)
            raise ArgumentError(f"part must be one of {known}, got {name!r:.60}.")
        return found[0]

    def text(self, number: Any) -> dict[str, Any]:
        """What each token writes of a text, and the names of tokens that write nothing."""
        text = self.texts[bounded_integer("text", number, 0, len(self.texts) - 1)]
        segments = text.segments or _segments(text.tokens)
        names = {at: text.tokens[at] for at, segment in enumerate(segments) if not segment}
        return {"segments": list(segments), "names": names}

    def heads(self) -> dict[str, Any]:
        """Every head with its measures, a word for it and its most telling link; and the first.

        The first is the one with the largest share of anything it does beyond chance.
        """
        if sum(len(layer.heads) for part in self.parts for layer in part.layers) > MAX_HEADS:
            return {"heads": [], "first": None}
        heads = []
        for part in self.parts:
            rows = report(part.observed).rows if part.observed else ()
            measured = {(row.layer, row.head): row for row in rows}
            for layer in part.layers:
                for head in range(len(layer.heads)):
                    link = self.link(part, layer, head)
                    heads.append(
                        _head(part.name, layer.number, head, measured.get((layer.number, head)))
                        | {"link": link and link._asdict()}
                        | {"judged": self.judged.get((part.name, layer.number, head), "")}
                    )
        heads.sort(key=_telling, reverse=True)
        first = {name: heads[0][name] for name in ("part", "layer", "head")}
        return {"heads": heads, "first": first | {"query": (heads[0]["link"] or {}).get("query")}}

    def link(self, part: Part, layer: Layer, head: int) -> TellingLink | None:
        """The most telling link of a head."""
        queries, keys = (None if at is None else self.texts[at] for at in (part.query, part.key))
        if part.offset and queries is not None:
            queries = None  # its tokens are those of the keys, from the offset on
        return telling_link(layer.seen, layer.heads[head], queries, keys, part.offset)

    def thumbnails(self, part: Part) -> Array | None:
        """thumbnails_lhqk from the maps; None where a layer has none, or they differ in size."""
        if any("map" not in layer.seen.facts for layer in part.layers):
            return None
        maps = [np.asarray(x.seen.map) for x in part.layers]
        small = [shrink(x.reshape(-1, *x.shape[-2:]), THUMBNAIL_CELLS) for x in maps]
        alike = all(x.shape == small[0].shape for x in small)
        return np.stack(small) if alike else None


def _head(part: str, layer: int, head: int, row: HeadRow | None) -> dict[str, Any]:
    place = {"part": part, "layer": layer, "head": head}
    if row is None:
        return place | {"word": "", "label": "", "measures": None, "telling": 0.0}
    measures = {name: [row.measured[name], row.baseline[name]] for name in MEASURES}
    return place | {
        "word": telling_word(row.label),
        "label": row.label,
        "measures": measures,
        "telling": row.telling,
    }


def _telling(head: dict[str, Any]) -> tuple[float, float]:
    return head["telling"], head["link"]["excess"] if head["link"] else 0.0


def _segments(tokens: Sequence[str]) -> list[str]:
    """Tokens as running text, where a file holds no more; '+ry' continues a word.

    >>> _segments(["hung", "+ry", "dog", ","])
    ['hung', 'ry', ' dog', ',']
    """
    return [
        token[1:] if token.startswith("+") and len(token) > 1
        else token if not at or token in CLOSING
        else f" {token}"
        for at, token in enumerate(tokens)
    ]  # fmt: skip


CLOSING = frozenset(".,!?;:)]}%'’”…")


def observed_run(seen: Observation, name: str = "observation") -> Run:
    """The run of one observation, with its tokens where it has any."""
    sides = [getattr(seen, x, None) for x in ("query_text", "key_text")]
    texts: list[TokenizedText] = []
    query, key = (_text_number(side, texts) for side in sides)
    part = Part(getattr(seen, "name", "") or "attention", (Layer(0, seen),), query, key)
    return Run(name, (part,), tuple(texts), notes=seen.notes)


def watched_run(seen: Seen, name: str = "model", path: Path | None = None) -> Run:
    """The run of one sentence of a watched model."""
    if not seen.names:
        raise NotAskedError(f"nothing was seen yet: {seen.advice}")
    one = seen if seen.sentences == 1 or seen._sentence is not None else seen.sentence(0)
    texts: list[TokenizedText] = []
    parts = [_watched_part(one, part, texts) for part in parts_by_images(one)]
    notes = [*_authorship(parts, texts), *map(str, seen.without_softmax)]
    if seen.verdict is not None:
        notes.append(f"Judged: {str(seen.verdict).splitlines()[0]}.")
    images = page_images(one)
    judged = _judged(seen)
    mixers = one.mixers if one.watched_mixers else None
    return Run(
        name, tuple(parts), tuple(texts), seen.sentences, images, notes, path, judged, mixers
    )


def _judged(seen: Seen) -> dict[tuple[str, int, int], str]:
    """What the judge says of each head, by part, layer and head."""
    said = {}
    for head in () if seen.verdict is None else seen.verdict.to_dicts():
        path, _, number = head["path"].partition("#")
        key = seen.paths.get(f"{path}#{int(number) + 1}" if number else path)
        if key is not None:
            fault = f": {head['fault']}" if head["fault"] else f", {head['units']:.2f} units"
            said[*key, head["head"]] = f"{head['verdict']}{fault}"
    return said


def _watched_part(seen: Seen, name: str, texts: list[TokenizedText]) -> Part:
    layers = tuple(Layer(key.layer, seen[key]) for key in seen.names if key.part == name)
    first = layers[0].seen
    assert isinstance(first, LayerObservation)
    rows, columns = first.query_text, first.key_text
    offset = 0
    if rows is not None and columns is not None and len(rows.tokens) < len(columns.tokens):
        later = len(columns.tokens) - len(rows.tokens)
        if name.split()[0] != "cross" and columns.tokens[later:] == rows.tokens:
            rows, offset = columns, later  # queries on keys of a cache: the end of one text
    numbers = [_text_number(side, texts) for side in (rows, columns)]
    return Part(name, layers, numbers[0], numbers[1], offset, _generated(seen, name, first))


def _text_number(text: TokenizedText | None, texts: list[TokenizedText]) -> int | None:
    if text is None:
        return None
    for number, other in enumerate(texts):
        if other is text or other.tokens == text.tokens:
            return number
    texts.append(text)
    return len(texts) - 1


def _generated(seen: Seen, name: str, layer: LayerObservation) -> tuple[int | None, int | None]:
    """The first token of either side that the model wrote; None without any."""
    keys = "encoder" if name.split()[0] == "cross" else name
    given = seen.prompt_tokens(keys) if keys in seen.parts else None
    columns = given if given is not None and 0 < given < layer.keys else None
    if keys == name:
        return columns, columns
    written = seen.prompt_tokens(name)
    return (written if written is not None and 0 < written < layer.queries else None), columns


def _authorship(parts: Sequence[Part], texts: Sequence[TokenizedText]) -> list[str]:
    """A sentence on what was given and what was generated, where anything was."""
    for part in parts:
        given = part.generated[0]
        if given is not None and part.query is not None:
            written = len(texts[part.query].tokens) - given
            return [
                f"The model generated {count(written, 'token')}, in italics; it was given "
                f"{count(given, 'token')} before them."
            ]
    return []


def open_run(path: Path, sentence: Any = 0) -> Run:
    """The run of a .regard file; its arrays are read, and checked, as they are drawn."""
    seen = open_stored(path)
    if not isinstance(seen, Seen):
        return observed_run(seen, path.name)
    number = bounded_integer("sentence", sentence, 0, max(0, seen.sentences - 1))
    with file_errors(path):
        return watched_run(seen.sentence(number), path.name, path)
