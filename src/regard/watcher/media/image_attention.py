"""Attention to an image: the weights of one row, or of a mean of rows, on the grid of its patches.

``seen.image(...)`` makes it; the weights are those of the observation, moved to their cells.
Norm-weighted attention needs a second run with the same images. In a diffusion model the patches
look at the words (``word_pixels``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.atomic_write import write_bytes
from regard.display import TextDisplay, percent, render
from regard.errors import ArgumentError, BackendError, NotAskedError, count
from regard.experiments.selection import Numbers, word_tokens
from regard.typing import Array
from regard.watcher.capture.runs import ForwardRun, LayerKey
from regard.watcher.experiments.intervention_call import Probe, SentenceCall
from regard.watcher.experiments.output_projection import ProjectedValues, projection_probe
from regard.watcher.experiments.rerun import SAME_RUN_TOLERANCE, float_dtype
from regard.watcher.layer import LayerObservation
from regard.watcher.media.image_grids import ImageGrid, Size
from regard.watcher.media.inputs import ENCODED, IMAGES, MediaCall
from regard.watcher.media.picture_bytes import FULL_AREA, Area, FramedPicture, PictureBytes
from regard.watcher.media.word_pixels import diffusion_call, finest, word_pictures

if TYPE_CHECKING:
    from regard.watcher.live_layers import LayerSource
    from regard.watcher.seen import Seen


ENDINGS = (".png", ".svg", ".json")
WHEN = ("read", "written")
Query = int | tuple[int, int]
Norms = Callable[[LayerKey, int], Array]  # |v_j W_O| (h, k) of a layer and a sentence


@dataclass(frozen=True, repr=False)
class ImageAttention(TextDisplay):
    """Weights (rows, columns) on the patches of an image; ``print`` it, ``save`` it, or show it.

    They sum to what the row gives to the image; ``others`` is what it gives to all other tokens.
    """

    weights: Array
    others: dict[str, float]
    title: str
    picture: PictureBytes | None = field(default=None, repr=False)
    area: Area = (0.0, 0.0, 1.0, 1.0)
    what: str = "weights"
    notes: tuple[str, ...] = ()
    word: str = ""  # that the patches look at, where they are not looked at themselves

    @classmethod
    def mean(cls, images: Sequence[ImageAttention]) -> ImageAttention:
        """The mean of several runs."""
        if not images:
            raise ArgumentError("runs must be 'all' or numbers of runs, got none.")
        first = images[0]
        weights = np.mean([one.weights for one in images], axis=0)
        others = {x: float(np.mean([one.others[x] for one in images])) for x in first.others}
        title = f"{first.title}, mean of {count(len(images), 'run')}"
        return replace(first, weights=weights, others=others, title=title)

    @property
    def total(self) -> float:
        """The weight on all patches of the image together."""
        return float(self.weights.sum())

    @property
    def summary(self) -> str:
        """How much of a row is on the image, or of the image on a word."""
        rows, columns = self.weights.shape
        patches = f"{rows} x {columns} patches"
        if self.word:
            mean = percent(float(self.weights.mean()), 1)
            return f"{patches} give '{self.word}' {mean} of their {self.what} on average."
        others = "".join(f", {percent(x, 1)} on {name}" for name, x in self.others.items())
        return f"{percent(self.total, 1)} of the row's {self.what} on {patches}{others}."

    def strongest(self, number: int = 8) -> list[tuple[int, int, float]]:
        """Rows, columns (from 0) and weights of the patches with the largest weights."""
        order = np.argsort(-self.weights, axis=None, kind="stable")[:number]
        rows, columns = np.unravel_index(order, self.weights.shape)
        return [
            (int(row), int(column), float(self.weights[row, column]))
            for row, column in zip(rows, columns, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Weights as a list of rows, and all that is said about them, ready for JSON."""
        return {
            "title": self.title,
            "what": self.what,
            "weights": self.weights.tolist(),
            "total": self.total,
            "others": dict(self.others),
            "area": list(self.area),
            "notes": list(self.notes),
            "word": self.word,
        }

    def svg(self) -> str:
        """The picture with its weights above it, as SVG."""
        return str(render("svg", self))

    def save(self, path: str | Path) -> Path:
        """Write the picture with its weights above it (.png, .svg), or the numbers (.json)."""
        write_bytes(Path(path), render("image", self, check_image_ending(Path(path).suffix)))
        return Path(path)

    def _repr_svg_(self) -> str:
        return self.svg()


def check_image_ending(ending: str) -> str:
    """One of the endings that an image can be saved under."""
    if ending.lower() not in ENDINGS:
        raise ArgumentError(
            f"an image's name must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}, got "
            f"{ending!r}."
        )
    return ending.lower()


@dataclass(frozen=True)
class RowChoice:
    """The rows that look: a word, a query or a span of them, or a patch; else the usual ones.

    Usual are the class token, the mean of all patches where there is none, and in a text the last
    token, from which the next one is predicted.
    """

    word: str | int | None = None
    query: Query | None = None
    patch: tuple[int, int] | None = None
    when: str = "read"

    def __post_init__(self) -> None:
        if sum(x is not None for x in (self.word, self.query, self.patch)) > 1:
            raise ArgumentError("at most one of word, query and patch may be given, got several.")
        if self.when not in WHEN:
            raise ArgumentError(f"when must be 'read' or 'written', got {self.when!r}.")

    def rows(self, layer: LayerObservation, grid: ImageGrid) -> tuple[str, list[WindowRows]]:
        """What looks, in words, and its rows in each window of the layer."""
        if self.patch is not None:
            if not _is_square(layer):
                raise ArgumentError(
                    "patch needs a layer whose queries are patches, and they are text."
                )
            window, row = grid.patch_query(self.patch)
            return f"patch {self.patch[0]}, {self.patch[1]}", [(window, np.array([row]))]
        if self.word is not None:
            if _is_square(layer) and not {"text", "other tokens"}.intersection(grid.others):
                raise ArgumentError(
                    "word needs a layer that reads text and image, and the queries of "
                    f"{layer.name} are patches: say patch=(row, column), or which part."
                )
            return self._rows_of_word(layer)
        if self.query is not None:
            first, stop = self.query if isinstance(self.query, tuple) else _one(self.query, layer)
            if not 0 <= first < stop <= layer.queries:
                raise ArgumentError(
                    f"query must be a number or (start, stop) inside {layer.queries} queries, got "
                    f"{self.query!r}."
                )
            name = f"query {first}" if stop == first + 1 else f"queries {first} to {stop - 1}"
            return name, [(0, np.arange(first, stop))]
        return _usual_rows(layer, grid)

    def _rows_of_word(self, layer: LayerObservation) -> tuple[str, list[WindowRows]]:
        assert self.word is not None  # the caller looked
        name, positions = word_tokens(layer.texts_for("word")[0], self.word)
        if self.when == "written":
            positions = positions - 1
            if positions[0] < 0:
                raise ArgumentError(f"{name!r} is the first word: it was read, not written.")
        return f"{name!r} when {self.when}", [(0, positions)]


WindowRows = tuple[int, NDArray[Any]]


def _one(query: int, layer: LayerObservation) -> tuple[int, int]:
    at = query + layer.queries if query < 0 else query
    return at, at + 1


def _is_square(layer: LayerObservation) -> bool:
    return layer.queries == layer.keys


def _usual_rows(layer: LayerObservation, grid: ImageGrid) -> tuple[str, list[WindowRows]]:
    if layer.queries == 1:
        return "its only query", [(0, np.array([0]))]
    if "text" in grid.others or not _is_square(layer):
        return "the last token", [(0, np.array([layer.queries - 1]))]
    if "class token" in grid.others:
        code = -1 - grid.others.index("class token")
        return "the class token", [(0, np.flatnonzero(grid.cells[0] == code)[:1])]
    windows = [(at, np.flatnonzero(cells >= 0)) for at, cells in enumerate(grid.cells)]
    return "the mean of all patches", [(at, rows) for at, rows in windows if len(rows)]


@dataclass(frozen=True)
class GridSums:
    """Means over rows of the weights on each cell, for every head, and on other tokens by name."""

    grid: ImageGrid
    looks: str
    weights_hx: Array
    others_hn: Array

    @classmethod
    def from_layer(
        cls,
        source: LayerSource,
        layer_key: LayerKey,
        grid: ImageGrid,
        choice: RowChoice,
        norms: Norms | None,
    ) -> GridSums:
        """Weights of the chosen rows of one layer, added up cell by cell."""
        looks, windows = choice.rows(source.layer(layer_key, grid.first), grid)
        sums_hx: Array | None = None
        for window, rows in windows:
            layer = source.layer(layer_key, grid.first + window)
            weights_hqk = _rows(layer, rows)
            if norms is not None:
                weights_hqk = weights_hqk * norms(layer_key, grid.first + window)[:, None]
                weights_hqk = weights_hqk / weights_hqk.sum(axis=-1, keepdims=True)
            sums_hx = _added(sums_hx, weights_hqk.sum(axis=1), grid, window)
        assert sums_hx is not None  # there is at least one row
        mean_hx = sums_hx / sum(len(rows) for _, rows in windows)
        cells = grid.rows * grid.columns
        return cls(grid, looks, mean_hx[:, :cells], mean_hx[:, cells:])

    def attention(self, head: Numbers) -> tuple[Array, Array]:
        """Weights (rows, columns) and those on others, of one head or the mean of several."""
        weights = mean_of_heads(self.weights_hx, head).reshape(self.grid.size)
        return weights, mean_of_heads(self.others_hn, head)


def mean_of_heads(values_hx: Array, head: Numbers) -> Array:
    """The values of one head, or their mean over some or all of them."""
    heads = len(values_hx)
    chosen = range(heads) if head is None else [head] if isinstance(head, int) else list(head)
    if not chosen or not all(0 <= x < heads for x in chosen):
        raise ArgumentError(f"head must be a number from 0 to {heads - 1}, got {head!r}.")
    return np.asarray(values_hx[list(chosen)].mean(axis=0))


def _rows(layer: LayerObservation, rows: NDArray[Any]) -> Array:
    """Weights (h, q, k) of some rows, in float64."""
    low, high = int(rows[0]), int(rows[-1]) + 1
    weights_hqk = np.asarray(layer.tile(slice(low, high), slice(None)), np.float64)
    return weights_hqk[:, rows - low]


def _added(sums_hx: Array | None, weights_hk: Array, grid: ImageGrid, window: int) -> Array:
    """Sums over cells, then over the names of other tokens."""
    cells = grid.rows * grid.columns
    if sums_hx is None:
        sums_hx = np.zeros((len(weights_hk), cells + len(grid.others)))
    own = grid.cells[window]
    np.add.at(sums_hx.T, np.where(own >= 0, own, cells - 1 - own), weights_hk.T)
    return sums_hx


def mean_of_layers(
    sums: Sequence[tuple[LayerKey, GridSums]], head: Numbers
) -> tuple[Array, dict[str, float]]:
    """Weights on the grid and on other tokens, averaged over layers of the same grid."""
    sizes = {each.grid.size for _, each in sums}
    if len(sizes) > 1:
        listed = ", ".join(f"{rows} x {columns}" for rows, columns in sorted(sizes))
        raise ArgumentError(f"the layers have grids of {listed} patches: say which layer.")
    pairs = [each.attention(head) for _, each in sums]
    grid = sums[0][1].grid
    counted = {-1 - int(code) for code in np.unique(grid.cells) if code < 0}
    others_n = np.mean([others for _, others in pairs], axis=0)
    return np.mean([weights for weights, _ in pairs], axis=0), {
        name: float(others_n[at]) for at, name in enumerate(grid.others) if at in counted
    }


WEIGHTED = {None: "weights", "norm": "norm-weighted weights"}


@dataclass(frozen=True)
class ImageRequest:
    """The arguments of ``Seen.image``."""

    picture: Any = field(repr=False)
    layer: Numbers
    head: Numbers
    choice: RowChoice
    weighted: str | None
    image: int
    part: str | None
    grid: Size | None
    area: Area | None
    prompt: tuple[int, int] | None

    def __post_init__(self) -> None:
        if self.weighted not in WEIGHTED:
            raise ArgumentError(f"weighted must be 'norm' or None, got {self.weighted!r}.")

    def keys(self, seen: Seen, part: str) -> list[LayerKey]:
        """The layers of a part that were chosen."""
        chosen = (self.layer,) if isinstance(self.layer, int) else self.layer
        of_part = [key for key in seen.names if key.part == part]
        keys = [key for key in of_part if chosen is None or key.layer in chosen]
        if not keys:
            numbers = ", ".join(str(key.layer) for key in of_part)
            raise ArgumentError(
                f"part and layer must be watched ones: {part!r} has layers {numbers or 'none'}."
            )
        return keys

    def where(self, keys: Sequence[LayerKey]) -> str:
        """Layers and heads in words."""
        layers = str(keys[0])
        if self.layer is None:
            layers = f"{keys[0].part}, mean of {count(len(keys), 'layer')}"
        elif not isinstance(self.layer, int):
            layers = f"{keys[0].part} layers {', '.join(str(key.layer) for key in keys)}"
        heads = "mean of all heads" if self.head is None else f"head {self.head}"
        if isinstance(self.head, Sequence):
            heads = f"mean of heads {', '.join(map(str, self.head))}"
        return f"({layers}, {heads})"


def with_picture(seen: Seen, *pictures: Any, area: Area | None = None) -> Seen:
    """The same, with the pictures that the model was given, in their order.

    ``seen.image`` then lays weights over them, and a saved file or page shows them. A picture
    is a path, the bytes of a file, an image of Pillow or an array (rows, columns, 3) of uint8.
    """
    framed = tuple(FramedPicture(PictureBytes.from_any(one), area) for one in pictures)
    return replace(seen, _pictures=framed)


def image(
    seen: Seen,
    picture: Any = None,
    *,
    layer: Numbers = None,
    head: Numbers = None,
    word: str | int | None = None,
    query: Query | None = None,
    patch: tuple[int, int] | None = None,
    when: str = "read",
    weighted: str | None = None,
    image: int = 0,
    part: str | None = None,
    grid: Size | None = None,
    area: Area | None = None,
    prompt: tuple[int, int] | None = None,
    runs: str | Sequence[int] | None = None,
) -> ImageAttention:
    """Where a row looks in an image: its weights on the grid of patches, over the picture.

    In a diffusion model, whose queries are patches, it is where the image looks at a word.

    Parameters
    ----------
    picture : the picture, as ``with_picture`` takes it; not needed for the numbers.
    layer, head : one or several, counted from 0; the mean of all if not given.
    word, query, patch : what looks: a word of the text, a query or (start, stop) of them, or
        the patch in a (row, column). If none is given the class token, without one the mean of
        all patches, and in a text its last token.
    when : 'read' is a word's own row; 'written' the row before it, which predicted it.
    weighted : 'norm' for p |v W_O| as a share of its row, from a second run.
    image : which of several images, from 0.
    part : 'encoder', 'decoder', ...; if not given the text's where it has image tokens.
    grid : (rows, columns), where the model does not say them.
    area : (left, top, right, bottom), the part of the picture that the model was given, in
        fractions; by the processor if not given.
    prompt : (start, stop) of the keys that are the prompt, in a diffusion model that reads
        prompt and image together, where the model does not say them.
    runs : 'all', or numbers of runs, as of a diffusion model's steps, to take the mean of.
    """
    if isinstance(runs, str) and runs != "all":
        raise ArgumentError(f"runs must be 'all' or numbers of runs, got {runs!r}.")
    choice = RowChoice(word, query, patch, when)
    request = ImageRequest(picture, layer, head, choice, weighted, image, part, grid, area, prompt)
    if runs is None:
        return _of_run(seen, request)
    chosen = range(seen.runs) if isinstance(runs, str) else runs
    return ImageAttention.mean([_of_run(seen.run(x), request) for x in chosen])


def _of_run(seen: Seen, request: ImageRequest) -> ImageAttention:
    """Weights of a row on the patches of an image, or of the patches on a word of the prompt."""
    seen._check_seen()
    choice = request.choice
    if choice.word is not None and _makes_image(seen, request):
        return _on_word(seen, request, choice.word)
    keys = request.keys(seen, request.part or _image_part(seen, request.grid))
    layers = [(key, seen.image_grid(key, request.image, request.grid)) for key in keys]
    norms = image_norms(seen, keys) if request.weighted == "norm" else None
    sums = [
        (key, GridSums.from_layer(seen._source, key, one, choice, norms)) for key, one in layers
    ]
    weights, others = mean_of_layers(sums, request.head)
    title = f"Weights on image {request.image} of {sums[0][1].looks} {request.where(keys)}"
    framed = _framed(seen, request, layers[0][1])
    return ImageAttention(
        weights, others, title, *framed[:2], WEIGHTED[request.weighted], framed[2]
    )


def _makes_image(seen: Seen, request: ImageRequest) -> bool:
    """Whether queries are patches that look at words: a diffusion model, as far as is known."""
    run = getattr(seen._source, "_run", None)
    if request.prompt is not None or (run is not None and diffusion_call(run) is not None):
        return True
    part = request.part or ("cross" if "cross" in seen.parts else None)
    if request.grid is None or part is None:
        return False
    layer = seen._source.layer(request.keys(seen, part)[0], seen._chosen)
    return layer.keys < request.grid[0] * request.grid[1] <= layer.queries


def _on_word(seen: Seen, request: ImageRequest, word: str | int) -> ImageAttention:
    """What the patches of an image that is being made give to a word of its prompt."""
    if request.weighted is not None:
        raise ArgumentError("weighted must be None where patches look at a word, got 'norm'.")
    part = request.part or ("cross" if "cross" in seen.parts else seen.parts[0])
    keys = request.keys(seen, part)
    run = getattr(seen._source, "_run", None)
    call = None if run is None else diffusion_call(run)
    chosen = word, request.grid, request.prompt
    name, pictures = word_pictures(seen._source, keys, seen._chosen, call, chosen)
    weights = finest([mean_of_heads(picture, request.head) for picture in pictures])
    title = f"Weights of the image on '{name}' {request.where(keys)}"
    grid = ImageGrid.from_cells((weights.shape[0], weights.shape[1]), [])
    whole = replace(request, area=request.area or FULL_AREA)  # it makes the picture itself
    picture, area, notes = _framed(seen, whole, grid)
    return ImageAttention(weights, {}, title, picture, area, "weights", notes, name)


def _framed(
    seen: Seen, request: ImageRequest, grid: ImageGrid
) -> tuple[PictureBytes | None, Area, tuple[str, ...]]:
    pictures = seen._pictures or seen._source.pictures
    if request.picture is not None:
        framed = FramedPicture(PictureBytes.from_any(request.picture), request.area)
    elif 0 <= grid.image < len(pictures):
        framed = pictures[grid.image]
    else:
        return None, FULL_AREA, ()
    return framed.picture, *framed.area_on(grid, seen._source.processor)


def _image_part(seen: Seen, size: Size | None) -> str:
    """The part that looks at images: the text's before that of the patches themselves."""
    first: Exception | None = None
    keys = {part: next(key for key in seen.names if key.part == part) for part in seen.parts}
    sentence = seen._sentence or 0
    rows = {part: seen._source.layer(key, sentence).queries for part, key in keys.items()}
    texts = [part for part in seen.parts if part.split()[0] in ("decoder", "text")]

    def order(part: str) -> int:
        if part.split()[0] != "cross":
            return 0 if part in texts else 1
        # Of the text where it has its rows; else it pools patches, after the layers of those.
        return 0 if rows[part] in [rows[x] for x in texts] else 2

    for part in sorted(seen.parts, key=order):
        try:
            seen.image_grid(keys[part], 0, size)
        except NotAskedError as error:
            first = first or error
        else:
            return part
    raise first or NotAskedError("no image was seen.")


# Arguments of one step of a text; a run of all of it has none of them.
STEP_ARGUMENTS = (
    "past_key_values", "position_ids", "cache_position", "logits_to_keep", "inputs_embeds",
    "output_attentions", "output_hidden_states", "return_dict", "use_cache", ENCODED,
)  # fmt: skip


def image_norms(seen: Seen, layers: list[LayerKey]) -> Norms:
    """|v_j W_O| of every key of some layers, from a second run that is compared with the first."""
    model = seen._model_recorder().model
    run = seen._source._run  # type: ignore[attr-defined]
    norms: dict[tuple[LayerKey, int], Array] = {}

    def take(call: SentenceCall, values: ProjectedValues) -> None:
        if values.gate_qhd is not None:
            raise BackendError(
                f"{call.key}: a gate multiplies the heads' output for each query, which is not "
                "weighed on images: leave out weighted='norm'."
            )
        own_hk = values.norms()[:, 0, call.columns]
        before_hk = norms.get((call.key, call.row), own_hk[:, :0])  # of an image packed before it
        norms[call.key, call.row] = np.concatenate([before_hk, own_hk], axis=-1)

    with projection_probe(take) as probe:
        again = _second_run(model, run, {key.layer for key in layers}, probe)
    for key in layers:
        _check_same(seen, again, key)
    return lambda layer, sentence: norms[layer, sentence]


def _second_run(model: Any, run: ForwardRun, layers: set[int], probe: Probe) -> Seen:
    import torch

    from regard.watcher.watch import watch

    if not run.media:
        raise NotAskedError("a second run needs the images of the first, and none were given.")
    call = max(run.media, key=lambda x: sum(1 for _ in x.module.modules()))
    arguments = _arguments(call, run)
    block = watch(model, layers=sorted(layers), top=0, map=0).changed(probe)
    with torch.no_grad(), block as again:
        call.module(**arguments)
    return again


def _arguments(call: MediaCall, run: ForwardRun) -> dict[str, Any]:
    """The arguments of the first run; of a text that was generated, all its tokens at once."""
    import torch

    arguments = {name: x for name, x in call.arguments.items() if name not in STEP_ARGUMENTS}
    if call.has(ENCODED):  # generate ran the encoder by itself
        encoder = next((x for x in run.media if x.has(*IMAGES)), None)
        arguments |= {} if encoder is None else encoder.arguments
    given = arguments.get("input_ids")
    texts = [ids for some in run.tokens.values() for ids in some if ids is not None]
    if given is None or not texts or max(map(len, texts)) <= given.shape[1]:
        return arguments
    if len(given) > 1:
        raise BackendError(
            "a second run of several texts that were generated together is not possible: watch "
            "them one by one."
        )
    ids = torch.from_numpy(max(texts, key=len))[None].to(given.device)
    for name, value in arguments.items():
        if getattr(value, "shape", None) == given.shape:  # a mask, or types of tokens
            more = value.new_full((1, ids.shape[1] - given.shape[1]), int(name == "attention_mask"))
            arguments[name] = torch.cat([value, more], dim=1)
    return arguments | {"input_ids": ids}


def _check_same(seen: Seen, again: Seen, key: LayerKey) -> None:
    """Raise where the second run attends otherwise than the first."""
    for sentence in range(len(seen._source._run.records[key])):  # type: ignore[attr-defined]
        one, other = (
            np.asarray(x._source.layer(key, sentence).logsumexp, np.float64) for x in (seen, again)
        )
        dtype = float_dtype(seen._model_recorder().model)
        allowed = SAME_RUN_TOLERANCE[dtype] * max(1.0, float(np.abs(one).max()))
        if one.shape != other.shape or not np.abs(one - other).max() <= allowed:
            raise BackendError(
                f"run again with the same images, {key} attends otherwise: the model's parameters "
                "have changed, or it was given more than one forward shows."
            )
