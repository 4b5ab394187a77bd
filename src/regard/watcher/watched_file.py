"""The .regard file of a watched run, and regard.load for both kinds of file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.atomic_write import check_writable
from regard.engine.files import (
    PROFILE,
    BuildProblem,
    cost_of,
    file_errors,
    part_arguments,
    part_arrays,
    part_problem,
    read_file,
    write_file,
)
from regard.engine.files import load as load_observation
from regard.engine.interfaces import ArrayFacts
from regard.engine.profile import Profile
from regard.engine.tiles.arguments import prepare
from regard.engine.tiles.problem import Problem
from regard.errors import FileError
from regard.heads.measures import HeadMeasures, Measure
from regard.text.words import TokenizedText
from regard.typing import Array
from regard.watcher.forward_run import LayerKey
from regard.watcher.image_grids import ImageGrid
from regard.watcher.layer import LayerObservation
from regard.watcher.media_file import StoredMedia, media_header
from regard.watcher.seen import Seen
from regard.watcher.seen_media import FramedPicture

if TYPE_CHECKING:
    from regard.engine.observation import Observation
    from regard.watcher.seen import Seen


FORMAT = "regard seen"


VERSION = 1


EDGES = ("row_edges", "column_edges", "span_weights")


def save(seen: Seen, path: Path, query_and_key: bool) -> None:
    """Write every layer of every sentence, with query and key where they were recorded."""
    check_writable(path)
    header: dict[str, Any] = {"format": FORMAT, "version": VERSION, "sentences": seen.sentences,
                              "layers": [], "sides": {}, "parts": {}, "spans": []}  # fmt: skip
    header["paths"] = {path: list(key) for path, key in seen.paths.items()}
    arrays: dict[str, Array] = {}
    for sentence in range(seen.sentences):
        for layer_key in seen.sentence(sentence).names:
            layer = seen.sentence(sentence)[layer_key]
            prefix = f"{layer_key.part}.{layer_key.layer}.{sentence}."
            arrays |= {prefix + name: array for name, array in _layer_arrays(layer).items()}
            header["layers"].append(_layer_header(layer_key, sentence, layer, header["sides"]))
            header["spans"] = list(layer.span_names)
            for part in layer.parts if query_and_key else ():
                problem = part.on_host()
                header["parts"][prefix] = part_arguments(problem, path)
                arrays |= {prefix + x: array for x, array in part_arrays(0, problem).items()}
    header["media"] = media_header(seen, arrays)
    write_file(path, header, arrays)


def load_seen(path: Path, verify: bool = True) -> Seen:
    """Read a file of ``save``."""
    header, arrays = read_file(path, FORMAT, VERSION, verify)
    with file_errors(path):
        return Seen(StoredLayers(header, arrays))


class StoredLayers:
    """The layers of a file, as a LayerSource; ``build`` makes the problem that tiles need."""

    def __init__(
        self, header: dict[str, Any], arrays: dict[str, Array], build: BuildProblem = prepare
    ) -> None:
        self.header, self.arrays, self._build = header, arrays, build
        none: dict[str, Any] = {"layers": {}, "grids": [], "pictures": []}  # of an older file
        self._media = StoredMedia(header.get("media", none), arrays)
        self.processor = None
        self._made: dict[tuple[LayerKey, int], LayerObservation] = {}
        self._entries = {
            (LayerKey(x["part"], x["layer"]), x["sentence"]): x for x in header["layers"]
        }

    @property
    def layer_keys(self) -> tuple[LayerKey, ...]:
        """Every layer, in the order of the file."""
        return tuple(dict.fromkeys(layer_key for layer_key, _ in self._entries))

    @property
    def paths(self) -> Mapping[str, LayerKey]:
        """Layers by the paths of their modules; none in a file of an older version."""
        return {path: LayerKey(*key) for path, key in self.header.get("paths", {}).items()}

    def has(self, layer_key: LayerKey, sentence: int) -> bool:
        """Whether the file has this layer of this sentence."""
        return (layer_key, sentence) in self._entries

    @property
    def sentences(self) -> int:
        """How many sentences went in together."""
        return int(self.header["sentences"])

    @property
    def pictures(self) -> tuple[FramedPicture, ...]:
        """The pictures that the model was given, as far as they were saved."""
        return self._media.pictures

    def image_grids(
        self, layer_key: LayerKey, sentence: int, size: tuple[int, int] | None = None
    ) -> tuple[ImageGrid, ...]:
        """The grids of the images that a layer attends to."""
        keys = self._entries[layer_key, sentence]["keys"]
        return self._media.grids(layer_key, sentence, size, keys)

    def memory(self) -> str:
        """The memory of the file's arrays, in words."""
        return f"{sum(x.nbytes for x in self.arrays.values()) / 1e6:,.1f} MB, from a file"

    def layer(self, layer_key: LayerKey, sentence: int) -> LayerObservation:
        """The observation of a layer, made once."""
        key = (layer_key, sentence)
        if key not in self._made:
            with file_errors("the file"):
                self._made[key] = self._layer(layer_key, sentence)
        return self._made[key]

    def _layer(self, layer_key: LayerKey, sentence: int) -> LayerObservation:
        prefix = f"{layer_key.part}.{layer_key.layer}.{sentence}."
        entry = self._entries[layer_key, sentence]
        own = {x.removeprefix(prefix): a for x, a in self.arrays.items() if x.startswith(prefix)}
        profile: Profile | None = None
        parts: tuple[Problem, ...] = ()
        if "profile.first" in own:
            profile = Profile(*(own[f"profile.{name}"] for name in PROFILE))
        if prefix in self.header["parts"]:
            parts = (part_problem(self.header["parts"][prefix], own, 0, self._build),)
        facts = ArrayFacts({x: a for x, a in own.items() if "." not in x and x not in EDGES})
        return LayerObservation(
            facts,
            profile,
            parts,
            entry["keys"],
            cost_of(entry["cost"]),
            tuple(str(note) for note in entry.get("notes", ())),
            name=str(layer_key),
            query_text=self._text(entry["rows"]),
            key_text=self._text(entry["columns"]),
            measures=_measures(own),
            span_names=tuple(self.header["spans"]),
            row_edges=own.get("row_edges"),
            column_edges=own.get("column_edges"),
            span_weights=own.get("span_weights"),
        )

    def _text(self, name: str) -> TokenizedText:
        text = self.header["sides"].get(name)
        if text is None:
            raise FileError(f"the file promises the tokens {name!r}, but does not hold them.")
        tokens, words = tuple(text["tokens"]), tuple(text["words"])
        return TokenizedText(tokens, tokens, words, tuple(text["word_of_token"]))


def _layer_header(
    layer_key: LayerKey, sentence: int, layer: LayerObservation, texts: dict[str, Any]
) -> dict[str, Any]:
    names = [_text_name(text, texts) for text in (layer.query_text, layer.key_text)]
    return {**layer_key._asdict(), "sentence": sentence, "keys": layer.keys,
            "cost": vars(layer.cost), "notes": list(layer.notes),
            "rows": names[0], "columns": names[1]}  # fmt: skip


def _text_name(text: TokenizedText | None, texts: dict[str, Any]) -> str:
    """The name of an equal text in the header, or of a new one."""
    entry = {} if text is None else {"tokens": list(text.tokens), "words": list(text.words),
                                     "word_of_token": list(text.word_of_token)}  # fmt: skip
    for name, other in texts.items():
        if other == entry:
            return name
    texts[str(len(texts))] = entry
    return str(len(texts) - 1)


def _layer_arrays(layer: LayerObservation) -> dict[str, Array]:
    arrays = dict(layer.facts)
    arrays |= {x: getattr(layer, x) for x in EDGES if getattr(layer, x) is not None}
    if layer._profile is not None:
        arrays |= {f"profile.{name}": getattr(layer.profile, name) for name in PROFILE}
    if layer.measures is not None:
        for part in fields(HeadMeasures):
            measure = getattr(layer.measures, part.name)
            sums = np.broadcast_arrays(measure.sum_h, measure.uniform_h, measure.queries_h)
            arrays[f"measures.{part.name}"] = np.stack(sums).astype(np.float64)
    return arrays


def _measures(own: dict[str, Array]) -> HeadMeasures | None:
    names = [part.name for part in fields(HeadMeasures)]
    if f"measures.{names[0]}" not in own:
        return None
    return HeadMeasures(*(Measure(*own[f"measures.{name}"]) for name in names))


def load(path: str | Path, *, verify: bool = True) -> Observation | Seen:
    """Read a .regard file: an Observation, or a Seen where a model was watched.

    Tiles and rows work if query and key were kept and saved. ``verify`` compares every array with
    the checksum that was saved with it.
    """
    if Path(path).is_dir():
        raise FileError(
            f"{path} is a folder, and load needs a .regard file: name one of the files in it."
        )
    if kind_of(Path(path)) == FORMAT:
        return load_seen(Path(path), verify)
    return load_observation(path, verify=verify)


def kind_of(path: Path) -> str:
    """The format that a file's header names; empty where it has none."""
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header: Any = json.loads(file.read(min(size, 2**30)))
            kind = json.loads(header["__metadata__"]["regard"])["format"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""  # the reader of observations says what is wrong
    return str(kind)
