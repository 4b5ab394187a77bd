"""The .regard file of a watched run, and regard.load for both kinds of file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.arguments import suggest_keywords
from regard.atomic_write import check_writable
from regard.engine.call import Problem, ProblemLike, Requested, blocks, prepare
from regard.engine.files import PROFILE_ARRAYS as PROFILE
from regard.engine.files import (
    BuildProblem,
    check_facts,
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
from regard.engine.observation import FactsLike
from regard.engine.observe import observe_problem
from regard.engine.profile import Profile
from regard.errors import ArgumentError, FileError, NotAskedError
from regard.heads.measures import HeadMeasures, Measure
from regard.text.words import TokenizedText
from regard.typing import Array
from regard.watcher.capture.runs import LayerKey, MemoryUse
from regard.watcher.files.packed_arrays import StoredArrays, packed
from regard.watcher.layer import LayerObservation
from regard.watcher.media.image_grids import GRID_HINT, ImageGrid, Size, last_keys
from regard.watcher.media.picture_bytes import FramedPicture, PictureBytes
from regard.watcher.media.sound import SECONDS_HINT
from regard.watcher.mixers.mixer_table import StoredMixers
from regard.watcher.other_layers import OtherLayers
from regard.watcher.seen import Seen
from regard.watcher.verdict import FORMAT as VERDICT_FORMAT
from regard.watcher.verdict import Verdict

if TYPE_CHECKING:
    from regard.engine.observation import Observation


FORMAT = "regard seen"
VERDICT = "verdict."  # begins the names of its arrays
VERSION = 2  # 1: arrays as they are, tokens in the header
MAX_QUERY_SIZE_IN_MEMORY = 2**24  # numbers of a query above which it stays in the file
EDGES = ("row_edges", "column_edges", "span_weights")


def save(seen: Seen, path: Path, query_and_key: bool) -> None:
    """Write every layer of every sentence, with query and key where they were recorded."""
    check_writable(path)
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "sentences": seen.sentences,
        "layers": [],
        "parts": {},
        "spans": [],
    }
    header["without_softmax"] = [x.to_dict() for x in seen.without_softmax]
    header["paths"] = {path: list(key) for path, key in seen.paths.items()}
    arrays: dict[str, Array] = {}
    if seen.watched_mixers:
        each = [seen.sentence(x).mixers for x in range(seen.sentences)]
        header["mixers"] = [list(mixers.facts) for mixers in each]
        for sentence, mixers in enumerate(each):
            drawn = {f"mixer.{x}.{sentence}": mixers.drawn(x) for x in range(len(mixers))}
            arrays |= {name: array for name, array in drawn.items() if array is not None}
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
    if seen.verdict is not None:
        header["verdict"] = seen.verdict.to_file(VERDICT, arrays)
    stored, header["packing"] = packed(arrays)
    write_file(path, header, stored)


def content_of(seen: Seen) -> bytes:
    """What ``save`` writes."""
    with TemporaryDirectory() as folder:
        save(seen, Path(folder) / "run.regard", query_and_key=True)
        return (Path(folder) / "run.regard").read_bytes()


def layers_from(content: bytes) -> StoredLayers:
    """The layers of ``content_of``, in memory."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.regard"
        path.write_bytes(content)
        header, arrays = mapped_arrays(path)
        return StoredLayers(header, {x: np.asarray(array) for x, array in arrays.items()})


def load_seen(path: Path, verify: bool | None = None) -> Seen:
    """A file of ``save``, opened: its arrays are read, and checked, when they are asked for."""
    header, arrays = mapped_arrays(path)
    check_header(header, path, FORMAT, VERSION)
    with file_errors(path):
        layers = StoredLayers(header, arrays, prepare, path, verify is not False)
    if verify:
        layers.arrays.verify_all()
    return Seen(layers)


class StoredLayers:
    """The layers of a file, as a LayerSource; ``build`` makes the problem that tiles need.

    With ``prepare`` what is asked for is read into memory, with ``unread`` it stays in the file.
    """

    processor: Any = None
    tokenizer: Any = None

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
        self._media: dict[str, Any] = header.get("media", {})  # an older version has none
        self._sound: dict[str, Any] = self._media.get("sound", {})
        self._texts: dict[str, TokenizedText | None] = {}
        self._made: dict[tuple[LayerKey, int], LayerObservation] = {}
        self._entries = {
            (LayerKey(x["part"], x["layer"]), x["sentence"]): x for x in header["layers"]
        }
        with file_errors(path):  # of an older version there are none of these
            self.others = tuple(OtherLayers.from_dict(x) for x in header.get("without_softmax", ()))
            self.paths: Mapping[str, LayerKey] = {
                name: LayerKey(*key) for name, key in header.get("paths", {}).items()
            }
            held = header.get("verdict")
            self.verdict = None if held is None else Verdict.from_file(held, VERDICT, self.arrays)

    def mixers(self, sentence: int) -> StoredMixers:
        each = self.header.get("mixers")
        if each is None:
            raise NotAskedError("mixers were not watched: regard.watch(model, mixers=True).")

        def drawn(number: int) -> Any:
            name = f"mixer.{number}.{sentence}"
            return next((self.arrays[x] for x in (name,) if x in self.arrays), None)

        return StoredMixers(each[sentence], drawn)

    @property
    def layer_keys(self) -> tuple[LayerKey, ...]:
        return tuple(dict.fromkeys(layer_key for layer_key, _ in self._entries))

    def prompt_tokens(self, part: str, sentence: int) -> int | None:
        """How many tokens of a part were given; None in a file of an older version."""
        given = self.header.get("prompts", {}).get(part, [])
        return given[sentence] if sentence < len(given) else None

    def has(self, layer_key: LayerKey, sentence: int) -> bool:
        return (layer_key, sentence) in self._entries

    @property
    def sentences(self) -> int:
        return int(self.header["sentences"])

    def recorded_bytes(self) -> MemoryUse:
        """Bytes of the file's arrays; those of query and key are not told apart."""
        return MemoryUse(self.arrays.nbytes, 0, 0)

    @property
    def texts(self) -> None:
        """None: a file holds one text of those that its block saw."""

    def seconds_of_position(self, positions: int) -> float:
        if str(positions) not in self._sound:
            raise NotAskedError(f"the file does not say how long a position is: {SECONDS_HINT}.")
        return float(self._sound[str(positions)]["seconds"])

    def real_positions(self, positions: int, sentence: int) -> int:
        real = self._sound.get(str(positions), {}).get("real", ())
        return int(real[sentence]) if sentence < len(real) else positions

    @cached_property
    def pictures(self) -> tuple[FramedPicture, ...]:
        return tuple(
            self._picture(number, entry)
            for number, entry in enumerate(self._media.get("pictures", ()))
        )

    def image_grids(
        self, layer_key: LayerKey, sentence: int, size: Size | None = None
    ) -> tuple[ImageGrid, ...]:
        if size is not None:
            return (last_keys(size, self._entries[layer_key, sentence]["keys"], sentence),)
        prefix, layers = f"{layer_key.part}.{layer_key.layer}.", self._media.get("layers", {})
        numbers = layers.get(f"{prefix}{sentence}", layers.get(f"{prefix}0", ()))
        if not numbers:
            raise NotAskedError(
                f"{layer_key} of the file saw no image whose grid is known: {GRID_HINT}."
            )
        return tuple(self._grid(int(number)) for number in numbers)

    def _grid(self, number: int) -> ImageGrid:
        entry = self._media["grids"][number]
        rows, columns = (int(x) for x in entry["size"])
        return ImageGrid.from_cells(
            (rows, columns),
            np.asarray(self.arrays[f"{GRID}{number}"]),
            entry["others"],
            first=int(entry["first"]),
            image=int(entry["image"]),
        )

    def _picture(self, number: int, entry: dict[str, Any]) -> FramedPicture:
        data = np.asarray(self.arrays[f"{PICTURE}{number}"]).tobytes()
        left, top, right, bottom = (float(x) for x in entry["area"])
        picture = PictureBytes(data, int(entry["width"]), int(entry["height"]))
        return FramedPicture(picture, (left, top, right, bottom))

    def layer(self, layer_key: LayerKey, sentence: int) -> LayerObservation:
        key = (layer_key, sentence)
        if key not in self._made:
            with file_errors(self.arrays.path):
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
        stored = StoredFacts(self.arrays, facts, self._build is prepare, derived)
        shapes = {x: np.broadcast_to(np.float32(0), stored.fact_shape(x)) for x in stored}
        check_facts(shapes, entry["keys"], ())
        return stored

    def _derived_map(self, prefix: str, names: dict[str, str], shape: tuple[int, ...]) -> Array:
        with file_errors(self.arrays.path):
            return derived_map(self._problem(prefix, names, prepare), shape)

    def _profile(self, names: dict[str, str]) -> StoredPart | None:
        if "profile.first" not in names:
            return None
        return StoredPart(partial(self._read_profile, names), self.arrays.path)

    def _read_profile(self, names: dict[str, str]) -> Profile:
        return Profile(*(np.asarray(self.arrays[names[f"profile.{x}"]]) for x in PROFILE))

    def _parts(self, prefix: str, names: dict[str, str]) -> tuple[ProblemLike, ...]:
        if prefix not in self.header["parts"]:
            return ()
        if any(f"part.0.{x}" not in names for x in ("query", "key")):
            raise FileError("the file promises query and key, but does not hold them.")
        make = partial(self._problem, prefix, names, self._build)
        return (StoredPart(make, self.arrays.path),)

    def _problem(self, prefix: str, names: dict[str, str], build: BuildProblem) -> Problem:
        parts = {x: name for x, name in names.items() if x.startswith("part.")}
        if (
            build is prepare
            and math.prod(self.arrays.shape_of(parts["part.0.query"])) > MAX_QUERY_SIZE_IN_MEMORY
        ):
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
    return {
        **layer_key._asdict(),
        "sentence": sentence,
        "keys": layer.keys,
        "cost": vars(layer.cost),
        "notes": list(layer.notes),
        "rows": names[0],
        "columns": names[1],
    }


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


@suggest_keywords
def load(path: str | Path, *, verify: bool | None = None) -> Observation | Seen | Verdict:
    """Read a .regard file: an Observation, a Seen of a watched model, or a Verdict of a judged one.

    Tiles and rows work if query and key were kept and saved. A watched model's file is opened, and
    each array read when it is asked for, and compared with the checksum that was saved with it;
    with ``verify`` all of them at once, without (False) none. An observation is read at once.
    """
    if Path(path).is_dir():
        raise FileError(
            f"{path} is a folder, and load needs a .regard file: name one of the files in it."
        )
    if stored_format(Path(path)) == FORMAT:
        return load_seen(Path(path), verify)
    if stored_format(Path(path)) == VERDICT_FORMAT:
        return Verdict.load(Path(path), verify)
    return load_observation(path, verify=verify is not False)


def stored_format(path: Path) -> str:
    """The format that a file's header names; empty where it has none."""
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header: Any = json.loads(file.read(min(size, 2**30)))
            kind = json.loads(header["__metadata__"]["regard"])["format"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""  # the reader of observations says what is wrong
    return str(kind)


MAX_DERIVED_PAIRS = 2**24  # of a query and a key, up to which a map is computed from them
RTOL, ATOL = 1e-4, 1e-9  # a device sums in another order


class StoredFacts(FactsLike):
    """Facts by name; ``in_memory`` they are arrays once they are read, else they stay in the file.

    ``derived`` are facts that the file does not hold: their shapes, and functions that make them.
    """

    def __init__(
        self,
        arrays: StoredArrays,
        names: Mapping[str, str],
        in_memory: bool,
        derived: Mapping[str, tuple[tuple[int, ...], Callable[[], Array]]],
    ) -> None:
        self._arrays, self._names, self._in_memory = arrays, dict(names), in_memory
        self._derived = dict(derived)
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._read:
            if name in self._derived:
                self._read[name] = self._derived[name][1]()
            else:
                stored = self._arrays[self._names[name]]
                self._read[name] = np.asarray(stored) if self._in_memory else stored
        array: Array = self._read[name]
        return array

    def fact_shape(self, name: str) -> tuple[int, ...]:
        if name in self._derived:
            return self._derived[name][0]
        return self._arrays.shape_of(self._names[name])

    def without(self, name: str) -> StoredFacts:
        names = {other: x for other, x in self._names.items() if other != name}
        derived = {other: x for other, x in self._derived.items() if other != name}
        return StoredFacts(self._arrays, names, self._in_memory, derived)

    def __contains__(self, name: object) -> bool:
        return name in self._names or name in self._derived

    def __iter__(self) -> Iterator[str]:
        return iter([*self._names, *self._derived])

    def __len__(self) -> int:
        return len(self._names) + len(self._derived)


class StoredPart:
    """A profile or a problem of a file that ``make`` reads when anything of it is first used."""

    device_bytes = 0

    def __init__(self, make: Callable[[], Any], path: Path) -> None:
        self._make, self._path = make, path

    @cached_property
    def _part(self) -> Any:
        with file_errors(self._path):
            return self._make()

    def resolve(self) -> Profile:
        profile: Profile = self._part
        return profile

    def on_host(self) -> Problem:
        problem: Problem = self._part
        return problem

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._part, name)


def derived_map(problem: Problem, shape: tuple[int, ...]) -> Array:
    """The map (..., r, c) of a problem in memory, with the numbers of blocks of ``shape``."""
    requested = Requested(False, True, 0, max(shape[-2:]), True, True)
    return np.asarray(observe_problem(problem, requested).facts["map"]).reshape(shape)


def is_derived(map_hrc: Array, problem: Problem, edges: tuple[Any, Any]) -> bool:
    """Whether a map is that of ``derived_map``, so that a file with query and key can do without.

    ``edges`` are those of its blocks; a map that grew has blocks of several sizes.
    """
    visibility, shape = problem.visibility, map_hrc.shape
    sizes = visibility.queries, visibility.keys
    if sizes[0] * sizes[1] > MAX_DERIVED_PAIRS or 0 in shape or callable(visibility.mask):
        return False
    for axis, size in enumerate(sizes):
        regular = blocks(size, max(shape[-2:]))
        given = edges[axis]
        if len(regular) - 1 != shape[axis - 2]:
            return False
        if given is not None and not np.array_equal(regular, given - given[0]):
            return False
    return np.allclose(derived_map(problem, shape), map_hrc, rtol=RTOL, atol=ATOL)


def text_arrays(text: TokenizedText, prefix: str) -> dict[str, Array]:
    """The arrays of a text: a table of strings, and numbers of its rows.

    >>> names = ("a", "b", "a")
    >>> text = TokenizedText(names, names, ("ab", "a"), (0, 0, 1), ("a", "b", " a"))
    >>> stored_text(text_arrays(text, "0."), "0.") == text
    True
    """
    rows: dict[str, int] = {}
    tokens, words = (_numbers(names, rows) for names in (text.tokens, text.words))
    segments = _numbers(text.segments, rows)
    encoded = [name.encode("utf-8", "surrogatepass") for name in rows]
    arrays: dict[str, Array] = {
        "table": np.frombuffer(b"".join(encoded), np.uint8),
        "ends": np.cumsum([len(name) for name in encoded], dtype=np.int64),
        "tokens": tokens,
        "words": words,
        "word_of_token": np.array(text.word_of_token, np.int64),
    }
    if len(segments):
        arrays["segments"] = segments
    return {prefix + name: array for name, array in arrays.items()}


def _numbers(names: Sequence[str], rows: dict[str, int]) -> NDArray[np.int64]:
    return np.array([rows.setdefault(name, len(rows)) for name in names], np.int64)


def stored_text(arrays: Mapping[str, Any], prefix: str) -> TokenizedText:
    """The text of ``text_arrays``; what was a token's piece is its name."""
    names = ("table", "ends", "tokens", "words", "word_of_token")
    if any(prefix + name not in arrays for name in names):
        raise FileError(f"the file promises the tokens {prefix!r}, but does not hold them.")
    table, ends, tokens, words, of_token = (np.asarray(arrays[prefix + name]) for name in names)
    content, start, strings = table.tobytes(), 0, []
    for end in ends.tolist():
        strings.append(content[start:end].decode("utf-8", "surrogatepass"))
        start = end
    has_segments = f"{prefix}segments" in arrays
    segments = np.asarray(arrays[f"{prefix}segments"] if has_segments else (), np.int64)
    named, spoken, written = (
        tuple(strings[i] for i in x.tolist()) for x in (tokens, words, segments)
    )
    return TokenizedText(named, named, spoken, tuple(of_token.tolist()), written)


GRID, PICTURE = "image_grid.", "picture."


def media_header(seen: Seen, arrays: dict[str, Array]) -> dict[str, Any]:
    """Grids by layer and sentence, and pictures, for the header; their arrays are added."""
    grids: list[ImageGrid] = []
    layers: dict[str, list[int]] = {}
    for key in seen.names:
        for sentence in [x for x in range(seen.sentences) if seen._source.has(key, x)]:
            own = _known_grids(seen, key, sentence)
            if own:
                layers[f"{key.part}.{key.layer}.{sentence}"] = [_number(x, grids) for x in own]
            if not own or len({x.first for x in own}) > 1:  # patches have no sentences
                break
    for number, grid in enumerate(grids):
        arrays[f"{GRID}{number}"] = grid.cells
    entries = [
        {"size": list(x.size), "others": list(x.others), "first": x.first, "image": x.image}
        for x in grids
    ]
    pictures = _pictures(seen, grids, arrays)
    return {"layers": layers, "grids": entries, "pictures": pictures, "sound": _sound(seen)}


def _sound(seen: Seen) -> dict[str, Any]:
    """Seconds of a position, and positions without padding, by their number of keys."""
    sound: dict[str, Any] = {}
    for key in seen.names:
        if key.part.split()[0] not in ("encoder", "cross") or not seen._source.has(key, 0):
            continue
        positions = seen._source.layer(key, 0).keys
        if str(positions) in sound:
            continue
        try:
            seconds = seen._source.seconds_of_position(positions)
        except (NotAskedError, ArgumentError):  # no sound, or none whose times are known
            continue
        real = [seen._source.real_positions(positions, x) for x in range(seen.sentences)]
        sound[str(positions)] = {"seconds": seconds, "real": real}
    return sound


def _known_grids(seen: Seen, key: LayerKey, sentence: int) -> tuple[ImageGrid, ...]:
    try:
        return seen._source.image_grids(key, sentence)
    except (NotAskedError, ArgumentError):  # no image, or a grid that only its user knows
        return ()


def _number(grid: ImageGrid, grids: list[ImageGrid]) -> int:
    """The number of an equal grid, or of a new one: the layers of a part share theirs."""
    for number, other in enumerate(grids):
        if replace(grid, cells=other.cells) == other and np.array_equal(grid.cells, other.cells):
            return number
    grids.append(grid)
    return len(grids) - 1


def _pictures(seen: Seen, grids: list[ImageGrid], arrays: dict[str, Array]) -> list[dict[str, Any]]:
    entries = []
    for number, framed in enumerate(seen._pictures or seen._source.pictures):
        grid = next((x for x in grids if x.image == number), None)
        if grid is None:
            raise ArgumentError(
                f"picture {number} needs an image that the model was given, and none of that "
                f"number was seen; where the grid is not known: {GRID_HINT} in seen.image."
            )
        area, _ = framed.area_on(grid, seen._source.processor)
        small = framed.picture.small()
        arrays[f"{PICTURE}{number}"] = np.frombuffer(small.data, np.uint8)
        entries.append({"width": small.width, "height": small.height, "area": list(area)})
    return entries
