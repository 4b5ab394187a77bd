"""The .regard file of a watched run, and regard.load for both kinds of file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.atomic_write import check_writable
from regard.engine.call import Problem, ProblemLike, prepare
from regard.engine.files import (
    PROFILE_ARRAYS as PROFILE,
)
from regard.engine.files import (
    BuildProblem,
    check_header,
    cost_from_header,
    file_errors,
    mapped_arrays,
    part_arguments,
    part_arrays,
    part_problem,
    unread,
    write_file,
)
from regard.engine.files import load as load_observation
from regard.engine.profile import Profile
from regard.errors import FileError
from regard.heads.measures import HeadMeasures, Measure
from regard.text.words import TokenizedText
from regard.typing import Array
from regard.watcher.capture.forward_run import LayerKey
from regard.watcher.files.packed_arrays import StoredArrays, packed
from regard.watcher.files.stored_layer import (
    StoredFacts,
    StoredProblem,
    StoredProfile,
    derived_map,
    is_derived,
)
from regard.watcher.files.stored_text import stored_text, text_arrays
from regard.watcher.layer import LayerObservation
from regard.watcher.media.image_grids import ImageGrid
from regard.watcher.media.media_file import StoredMedia, media_header
from regard.watcher.seen import Seen

if TYPE_CHECKING:
    from regard.engine.observation import Observation
    from regard.watcher.seen import Seen


FORMAT = "regard seen"


VERSION = 2  # 1: arrays as they are, tokens in the header


MAPPED = 2**24  # numbers of a query above which it stays in the file


EDGES = ("row_edges", "column_edges", "span_weights")


def save(seen: Seen, path: Path, query_and_key: bool) -> None:
    """Write every layer of every sentence, with query and key where they were recorded."""
    check_writable(path)
    header: dict[str, Any] = {"format": FORMAT, "version": VERSION, "sentences": seen.sentences,
                              "layers": [], "parts": {}, "spans": []}  # fmt: skip
    header["paths"] = {path: list(key) for path, key in seen.paths.items()}
    arrays: dict[str, Array] = {}
    texts: dict[str, TokenizedText] = {}
    for sentence in range(seen.sentences):
        for layer_key in seen.sentence(sentence).names:
            layer = seen.sentence(sentence)[layer_key]
            prefix = f"{layer_key.part}.{layer_key.layer}.{sentence}."
            own = _layer_arrays(layer)
            header["layers"].append(_layer_header(layer_key, sentence, layer, texts))
            header["spans"] = list(layer.span_names)
            for part in layer.parts if query_and_key else ():
                problem = part.on_host()
                header["parts"][prefix] = part_arguments(problem, path)
                own |= part_arrays(0, problem)
                edges = layer.row_edges, layer.column_edges
                if "map" in own and is_derived(own["map"], problem, edges):
                    header["layers"][-1]["map"] = list(own.pop("map").shape)
            arrays |= {prefix + name: array for name, array in own.items()}
    for name, text in texts.items():
        arrays |= text_arrays(text, f"text.{name}.")
    header["prompts"] = {
        part: [seen.sentence(x).prompt_tokens(part) for x in range(seen.sentences)]
        for part in seen.parts
    }
    header["media"] = media_header(seen, arrays)
    stored, header["packing"] = packed(arrays)
    write_file(path, header, stored)


def load_seen(path: Path, verify: bool | None = None) -> Seen:
    """A file of ``save``, opened: its arrays are read, and checked, when they are asked for."""
    header, arrays = mapped_arrays(path)
    check_header(header, path, FORMAT, VERSION)
    with file_errors(path):
        layers = StoredLayers(header, arrays, prepare, path, verify is not False)
    if verify:
        layers.arrays.verify_all()
    return Seen(layers)


class StoredLayers(StoredMedia):
    """The layers of a file, as a LayerSource; ``build`` makes the problem that tiles need.

    With ``prepare`` what is asked for is read into memory, with ``unread`` it stays in the file.
    """

    def __init__(
        self,
        header: dict[str, Any],
        arrays: dict[str, Array],
        build: BuildProblem = prepare,
        path: Path = Path("the file"),
        verify: bool = False,
    ) -> None:
        self.header, self._build = header, build
        self.arrays = StoredArrays(header, arrays, path, verify)
        super().__init__(header.get("media", {}), self.arrays)
        self._texts: dict[str, TokenizedText | None] = {}
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

    def prompt_tokens(self, part: str, sentence: int) -> int | None:
        """How many tokens of a part were given; None in a file of an older version."""
        given = self.header.get("prompts", {}).get(part, [])
        return given[sentence] if sentence < len(given) else None

    def has(self, layer_key: LayerKey, sentence: int) -> bool:
        """Whether the file has this layer of this sentence."""
        return (layer_key, sentence) in self._entries

    @property
    def sentences(self) -> int:
        """How many sentences went in together."""
        return int(self.header["sentences"])

    def image_grids(
        self, layer_key: LayerKey, sentence: int, size: tuple[int, int] | None = None
    ) -> tuple[ImageGrid, ...]:
        """The grids of the images that a layer attends to."""
        keys = self._entries[layer_key, sentence]["keys"]
        return self.grids(layer_key, sentence, size, keys)

    def memory(self) -> str:
        """The memory of the file's arrays, in words."""
        return f"{self.arrays.nbytes / 1e6:,.1f} MB, from a file"

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
        names = {x.removeprefix(prefix): x for x in self.arrays if x.startswith(prefix)}
        own = {x: np.asarray(self.arrays[names[x]]) for x in names if _is_small(x)}
        return LayerObservation(
            self._facts(prefix, entry, names),
            self._profile(names),
            self._parts(prefix, names),
            entry["keys"],
            cost_from_header(entry["cost"]),
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

    def _facts(self, prefix: str, entry: dict[str, Any], names: dict[str, str]) -> StoredFacts:
        """Facts that are read, and a map that follows from query and key."""
        facts = {x: name for x, name in names.items() if "." not in x and x not in EDGES}
        derived = {}
        if "map" in entry:
            shape = tuple(int(size) for size in entry["map"])
            derived["map"] = shape, partial(self._derived_map, prefix, names, shape)
        return StoredFacts(self.arrays, facts, self._build is prepare, derived)

    def _derived_map(self, prefix: str, names: dict[str, str], shape: tuple[int, ...]) -> Array:
        return derived_map(self._problem(prefix, names, prepare), shape)

    def _profile(self, names: dict[str, str]) -> StoredProfile | None:
        if "profile.first" not in names:
            return None

        def read() -> Profile:
            return Profile(*(np.asarray(self.arrays[names[f"profile.{x}"]]) for x in PROFILE))

        return StoredProfile(read)

    def _parts(self, prefix: str, names: dict[str, str]) -> tuple[ProblemLike, ...]:
        if prefix not in self.header["parts"]:
            return ()
        if any(f"part.0.{x}" not in names for x in ("query", "key")):
            raise FileError("the file promises query and key, but does not hold them.")
        return (StoredProblem(partial(self._problem, prefix, names, self._build)),)

    def _problem(self, prefix: str, names: dict[str, str], build: BuildProblem) -> Problem:
        parts = {x: name for x, name in names.items() if x.startswith("part.")}
        if build is prepare and math.prod(self.arrays.shape_of(parts["part.0.query"])) > MAPPED:
            build = unread  # a tile of a long text reads no more than its rows and columns
        if build is prepare:
            own = {x: np.asarray(self.arrays[name]) for x, name in parts.items()}
        else:
            own = {x: self.arrays.mapped(name) for x, name in parts.items()}
        return part_problem(self.header["parts"][prefix], own, 0, build)

    def _text(self, name: str) -> TokenizedText | None:
        if name not in self._texts:
            self._texts[name] = self._read_text(name)
        return self._texts[name]

    def _read_text(self, name: str) -> TokenizedText | None:
        if self.header["version"] > 1:
            return stored_text(self.arrays, f"text.{name}.") if name else None
        text = self.header["sides"].get(name)
        if text is None:
            raise FileError(f"the file promises the tokens {name!r}, but does not hold them.")
        tokens, words = tuple(text["tokens"]), tuple(text["words"])
        return TokenizedText(tokens, tokens, words, tuple(text["word_of_token"]))


def _is_small(name: str) -> bool:
    """Whether an array is read with its layer: edges of blocks, sums of spans and measures."""
    return name in EDGES or name.startswith("measures.")


def _layer_header(
    layer_key: LayerKey, sentence: int, layer: LayerObservation, texts: dict[str, TokenizedText]
) -> dict[str, Any]:
    names = [_text_name(text, texts) for text in (layer.query_text, layer.key_text)]
    return {**layer_key._asdict(), "sentence": sentence, "keys": layer.keys,
            "cost": vars(layer.cost), "notes": list(layer.notes),
            "rows": names[0], "columns": names[1]}  # fmt: skip


def _text_name(text: TokenizedText | None, texts: dict[str, TokenizedText]) -> str:
    """The name of an equal text, or of a new one; empty where there is none."""
    if text is None:
        return ""
    for name, other in texts.items():
        if other is text or other == text:
            return name
    texts[str(len(texts))] = text
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


def load(path: str | Path, *, verify: bool | None = None) -> Observation | Seen:
    """Read a .regard file: an Observation, or a Seen where a model was watched.

    Tiles and rows work if query and key were kept and saved. A watched model's file is opened, and
    each array read when it is asked for, and compared with the checksum that was saved with it;
    with ``verify`` all of them at once, without (False) none. An observation is read at once.
    """
    if Path(path).is_dir():
        raise FileError(
            f"{path} is a folder, and load needs a .regard file: name one of the files in it."
        )
    if kind_of(Path(path)) == FORMAT:
        return load_seen(Path(path), verify)
    return load_observation(path, verify=verify is not False)


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
