"""Patches of images as cells of a grid: which key of a watched layer is which patch.

Sizes come from the model: patch size and merging from its config, the size of the image from the
pixels it was given, tokens before the patches from its parameters. Nothing is guessed: where a
model does not say, the error asks for ``grid=(rows, columns)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import isqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError, NotAskedError, count
from regard.watcher.capture.runs import ForwardRun, LayerKey
from regard.watcher.media.inputs import IMAGES, MediaCall

if TYPE_CHECKING:
    from regard.watcher.live_layers import LiveLayers
    from regard.watcher.seen import Seen


Cells = NDArray[np.int32]
Size = tuple[int, int]

# Parameters that stand for tokens before the patches, in the order in which they stand there.
PREFIX_TOKENS = {"cls_token": "class token", "class_embedding": "class token",
          "class_token": "class token", "distillation_token": "distillation token",
          "dist_token": "distillation token",
          "register_tokens": "registers", "reg_token": "registers"}  # fmt: skip
PATCH_TOKENS = ("llava", "vipllava", "paligemma")
IN_TILES = ("idefics3", "smolvlm")  # a large picture is cut into tiles, and shown as a whole after
ASPECT_RATIOS = "aspect_ratio_ids"  # of Llama 3.2, whose pictures are tiles side by side
GRID_THW = "image_grid_thw"
GRID_HINT = "say it: grid=(rows, columns)"


@dataclass(frozen=True)
class ImageGrid:
    """The cells of one image in one layer.

    ``cells`` (windows, keys) is the cell of each key, counted along the rows from 0; negative
    numbers are tokens that are no patch of this image, -1 the first of ``others``, and so on.
    ``first`` is the sentence of the layer that the first window belongs to: a model with windows
    (Swin) has a sentence for each, any other has one. ``image`` is the number of the picture, -1
    where it is a part of one; ``tiles`` are rows and columns of tiles that one was cut into.
    """

    rows: int
    columns: int
    cells: Cells
    others: tuple[str, ...] = ()
    first: int = 0
    image: int = 0
    tiles: Size = (1, 1)

    @classmethod
    def from_cells(
        cls, size: Size, cells: Any, others: Sequence[str] = (), **where: Any
    ) -> ImageGrid:
        """A grid of cells, one row of them where there is one window."""
        return cls(*size, np.atleast_2d(np.asarray(cells, np.int32)), tuple(others), **where)

    @property
    def size(self) -> Size:
        return self.rows, self.columns

    def patch_query(self, patch: tuple[int, int]) -> tuple[int, int]:
        """The window, and the position in it, of the patch in a row and a column from 0."""
        row, column = patch
        if not (0 <= row < self.rows and 0 <= column < self.columns):
            raise ArgumentError(
                f"patch must be (row, column) from 0 inside {self.rows} x {self.columns}, got "
                f"{patch!r}."
            )
        window, key = np.argwhere(self.cells == row * self.columns + column)[0]
        return int(window), int(key)


class TokenGrid(NamedTuple):
    """The tokens of one image in a text: rows, columns, and tokens before the patches.

    They come along the rows, or tile by tile, of ``tile`` x ``tile`` tokens each. ``picture`` is
    the number of its picture, where one is shown in several ways.
    """

    rows: int
    columns: int
    prefix: int = 0
    tile: int = 0
    picture: int | None = None

    @property
    def tokens(self) -> int:
        return self.prefix + self.rows * self.columns

    @property
    def cells(self) -> NDArray[np.int64]:
        size = self.rows, self.columns
        return merged_order(size, self.tile) if self.tile else np.arange(self.rows * self.columns)


def image_grids(
    source: LiveLayers, layer_key: LayerKey, sentence: int, size: Size | None = None
) -> tuple[ImageGrid, ...]:
    """The grids of all images that a layer attends to, in a sentence where it reads text."""
    run = source._run
    calls = [call for call in run.media if call.shape(IMAGES)]
    records = run.records[layer_key]
    if layer_key.part.split()[0] == "cross":
        return _encoder_grids(source, layer_key, sentence, size)
    ids = token_ids(run, layer_key.part, sentence)
    config = _text_config(source.recorder.media.model)
    if ids is not None and any(call.has(ASPECT_RATIOS) for call in calls):
        raise NotAskedError(f"{layer_key} saw no image: the cross-attention of this model does.")
    if ids is not None and config is not None and (calls or size):
        return _text_grids(run, config, calls, layer_key, sentence, size)
    if size is not None:
        keys = [record.keys for record in records]
        return tuple(last_keys(size, keys[at], at) for at in range(len(keys)))
    if not calls or ids is not None:
        raise NotAskedError(
            f"{layer_key} saw no image: call the model with pixel_values inside the block, or for "
            f"a program of your own {GRID_HINT}."
        )
    return vision_grids(source, layer_key, calls)


def image_grid(
    seen: Seen, layer_key: LayerKey, image: int = 0, size: Size | None = None
) -> ImageGrid:
    """The cells of an image in a layer: which of its keys is which patch."""
    sentence = seen._sentence or 0
    grids: tuple[ImageGrid, ...] = seen._source.image_grids(layer_key, sentence, size)
    one_text = layer_key.part.split()[0] == "cross" and len({x.first for x in grids}) == 1
    several = seen._source.has(layer_key, 1) and ("text" in grids[0].others or one_text)
    if seen._sentence is None and several:
        number = sum(seen._source.has(layer_key, x) for x in range(seen._source.sentences))
        raise ArgumentError(
            f"there are {number} sentences: choose one first, as in seen.sentence(0).image()."
        )
    if seen._sentence is not None and len(grids) > 1 and grids[0].cells.shape[0] == 1:
        own = tuple(x for x in grids if x.first == seen._sentence)
        grids = own or grids
    if not 0 <= image < len(grids):
        raise ArgumentError(
            f"image must be a number from 0 to {len(grids) - 1} in {layer_key}, got {image!r}."
        )
    return grids[image]


def vision_grids(
    source: LiveLayers, layer_key: LayerKey, calls: Sequence[MediaCall]
) -> tuple[ImageGrid, ...]:
    """The grids of a layer whose keys are patches."""
    records = source._run.records[layer_key]
    path = next(path for path, key in source.paths.items() if key == layer_key)
    root = source.recorder.media.model
    module = root.get_submodule(path.partition("#")[0])
    call = next((x for x in calls if x.contains(module)), None)
    if call is None or (hasattr(call.config, "vision_config") and not _visual(path)):
        raise NotAskedError(f"{layer_key} saw no image: it is a layer of the text.")
    keys = [record.keys for record in records]
    if call.has(GRID_THW):
        return qwen_grids(call, keys[0])
    if call.has(ASPECT_RATIOS):
        ratios = call.arguments[ASPECT_RATIOS].flatten().tolist()
        each = [_tiles_of(call, [ratio], keys[0])[0] for ratio in ratios]
        return tuple(replace(x, first=at, image=at) for at, x in enumerate(each))
    windows = swin_grids(call, root, path, keys)
    return windows or _patch_grids(layer_key, call, keys)


def _patch_grids(
    layer_key: LayerKey, call: MediaCall, keys: Sequence[int]
) -> tuple[ImageGrid, ...]:
    """Patches along the rows of an image, after the tokens that the model's parameters name."""
    size = patch_counts(call)
    prefix = _prefix_tokens(call.module)
    before = sum(number for _, number in prefix)
    if size is None or any(x != before + size[0] * size[1] for x in keys):
        patches = "" if size is None else f" of {size[0]} x {size[1]} patches"
        raise ArgumentError(
            f"the grid of {layer_key} is not known: it has {count(keys[0], 'key')}, and "
            f"{type(call.module).__name__} names {count(before, 'token')} before an image"
            f"{patches}: {GRID_HINT}."
        )
    names = [name for name, _ in prefix]
    head = np.repeat(-1 - np.arange(len(prefix)), [number for _, number in prefix])
    cells = np.concatenate([head, np.arange(size[0] * size[1])])
    tiles = getattr(call.config, "model_type", "").startswith(IN_TILES)
    return tuple(
        ImageGrid.from_cells(size, cells, names, first=at, image=-1 if tiles else at)
        for at in range(len(keys))
    )


def patch_counts(call: MediaCall) -> Size | None:
    """Rows and columns of patches: the size of the pixels divided by that of a patch."""
    shape = call.shape(IMAGES)
    config = vision_config(call.config)
    patch = getattr(config, "patch_size", None)
    patch = (patch, patch) if isinstance(patch, int) else patch
    if shape is None or len(shape) < 4 or patch is None or len(patch) != 2:
        return None
    return shape[-2] // patch[0], shape[-1] // patch[1]


def _prefix_tokens(module: Any) -> list[tuple[str, int]]:
    """Names and numbers of the tokens before the patches, from parameters (..., tokens, width)."""
    tokens = []
    for path, parameter in module.named_parameters():
        name = path.rsplit(".", 1)[-1]
        if name in PREFIX_TOKENS:
            tokens.append((PREFIX_TOKENS[name], parameter.shape[-2] if parameter.ndim > 1 else 1))
    return tokens


def last_keys(size: Size, keys: int, sentence: int) -> ImageGrid:
    """A grid that the caller gives: the last keys are its cells."""
    before = keys - size[0] * size[1]
    if before < 0 or min(size) < 1:
        raise ArgumentError(
            f"grid must have 1 to {keys} cells, as many as the layer has keys, got "
            f"{size[0]} x {size[1]} = {size[0] * size[1]}."
        )
    cells = np.maximum(np.arange(keys) - before, -1)
    return ImageGrid.from_cells(size, cells, ("other tokens",), first=sentence, image=sentence)


def _encoder_grids(
    source: LiveLayers, layer_key: LayerKey, sentence: int, size: Size | None
) -> tuple[ImageGrid, ...]:
    """Cross-attention looks at what the encoder made of the same patches."""
    keys = source._run.records[layer_key][0].keys
    tiled = next((call for call in source._run.media if call.has(ASPECT_RATIOS)), None)
    if tiled is not None:
        ratios = tiled.arguments[ASPECT_RATIOS][sentence].tolist()
        return tuple(replace(x, first=sentence) for x in _tiles_of(tiled, ratios, keys))
    for other in source.layer_keys:
        encodes = other.part.split()[0] in ("encoder", "vision")
        if encodes and source._run.records[other][0].keys == keys:
            return image_grids(source, other, 0, size)
    raise ArgumentError(
        f"the grid of {layer_key} is not known: no layer of an encoder has its {keys} keys."
    )


def _tiles_of(call: MediaCall, ratios: Sequence[int], keys: int) -> tuple[ImageGrid, ...]:
    """Pictures of Llama 3.2: so many tiles, each a class token, its patches, and padding.

    ``ratios`` are the numbers of the shapes of pictures, from 1 in the order of the config.
    """
    config = vision_config(call.config)
    side = patch_counts(call)
    assert side is not None  # its config has a size of patches
    tiles, patches = int(config.max_num_tiles), side[0] * side[1]
    each = keys // (len(ratios) * tiles)
    grids = []
    for number, ratio in enumerate(ratios):
        down, across = config.supported_aspect_ratios[max(ratio, 1) - 1]
        size = down * side[0], across * side[1]
        cells = np.full((len(ratios), tiles, each), -2)
        cells[number], cells[number, :, 0] = -3, -1
        used = merged_order(size, side[0]).reshape(-1, patches)
        cells[number, : len(used), 1 : patches + 1] = used
        others = ("class token", "other images", "padding")
        where = {"image": number, "tiles": (down, across)}
        grids.append(ImageGrid.from_cells(size, cells.reshape(-1), others, **where))
    return tuple(grids)


def token_grids(
    config: Any,
    calls: Sequence[MediaCall],
    layer_key: LayerKey,
    size: Size | None,
    ids_s: Sequence[NDArray[Any]],
) -> list[TokenGrid]:
    """The tokens of every image of the sentences with these ids.

    ``config`` is the model's, ``calls`` are those of its encoder of images.
    """
    total = sum(int((ids == _image_token(config)).sum()) for ids in ids_s)
    if size is not None:
        return [TokenGrid(*size)] * max(1, total // (size[0] * size[1]))
    thw = next((call for call in calls if call.has(GRID_THW)), None)
    if thw is not None:
        merge = vision_config(config).spatial_merge_size
        return [TokenGrid(high // merge, wide // merge) for high, wide in grids_thw(thw)]
    shape, patches = calls[0].shape(IMAGES) or (), patch_counts(calls[0])
    if config.model_type in PATCH_TOKENS and patches is not None and len(shape) == 4:
        full = getattr(config, "vision_feature_select_strategy", "") == "full"
        return [TokenGrid(*patches, int(full))] * shape[0]
    if config.model_type in IN_TILES and patches is not None:
        return _cut_pictures(ids_s, _image_token(config), patches[0] // config.scale_factor)
    side = isqrt(getattr(config, "mm_tokens_per_image", 0))
    if config.model_type == "gemma3" and side * side == config.mm_tokens_per_image:
        return [TokenGrid(side, side)] * max(1, total // (side * side))
    raise ArgumentError(
        f"the grid of {layer_key} is not known: the config of a model of type "
        f"{config.model_type!r} does not say how it puts an image into {total} tokens: {GRID_HINT}."
    )


def _cut_pictures(ids_s: Sequence[NDArray[Any]], token: int | None, side: int) -> list[TokenGrid]:
    """Pictures that were cut into tiles of ``side`` x ``side`` tokens, and each as a whole.

    Before a tile stand two tokens, and one more where a row of tiles begins; the last one says
    which tile it is, or that it is the whole picture, which every picture ends with.
    """
    grids: list[TokenGrid] = []
    pictures = 0
    for ids in ids_s:
        starts = np.flatnonzero(ids == token)[:: side * side].tolist()
        tiles: list[int] = []
        for start in starts:
            if ids[start - 1] != ids[starts[-1] - 1]:
                tiles.append(start)
                continue
            if tiles:
                in_line = np.diff(tiles) == side * side + 2
                across = len(tiles) if in_line.all() else int(np.argmin(in_line)) + 1
                size = len(tiles) // across * side, across * side
                grids.append(TokenGrid(*size, tile=side, picture=pictures))
            grids.append(TokenGrid(side, side, picture=pictures))
            pictures, tiles = pictures + 1, []
    return grids


def _text_grids(
    run: ForwardRun,
    config: Any,
    calls: Sequence[MediaCall],
    layer_key: LayerKey,
    sentence: int,
    size: Size | None,
) -> tuple[ImageGrid, ...]:
    """The images of one text: as many of its image tokens as each has, in the order of images."""
    ids_s = [ids for ids in run.tokens[layer_key.part] if ids is not None]
    at_s = [np.flatnonzero(ids == _image_token(config)) for ids in ids_s]
    total = sum(map(len, at_s))
    tokens = token_grids(config, calls, layer_key, size, ids_s)
    if sum(x.tokens for x in tokens) != total:
        raise ArgumentError(
            f"the grid of {layer_key} is not known: there are {total} image tokens, and "
            f"{count(len(tokens), 'image')} of {sum(x.tokens for x in tokens)}: {GRID_HINT}."
        )
    ends = list(accumulate(x.tokens for x in tokens))
    start, keys = sum(map(len, at_s[:sentence])), run.records[layer_key][sentence].keys
    grids = []
    for number, (grid, end) in enumerate(zip(tokens, ends, strict=True)):
        own = at_s[sentence][max(0, end - grid.tokens - start) : max(0, end - start)]
        if len(own) == grid.tokens:
            picture = number if grid.picture is None else grid.picture
            made = _text_grid(grid, own, at_s[sentence], keys, sentence)
            grids.append(replace(made, image=picture))
    if not grids:
        raise NotAskedError(f"sentence {sentence} has no image.")
    return tuple(grids)


def _text_grid(
    grid: TokenGrid, own: NDArray[Any], images: NDArray[Any], keys: int, sentence: int
) -> ImageGrid:
    cells = np.full(keys, -1)
    cells[images] = -2
    cells[own[: grid.prefix]] = -3
    cells[own[grid.prefix :]] = grid.cells
    others = ("text", "other images", "class token")
    return ImageGrid.from_cells(grid[:2], cells, others, first=sentence)


def grids_thw(call: MediaCall) -> list[Size]:
    """Rows and columns of patches of each image, from ``image_grid_thw``."""
    sizes = []
    for frames, high, wide in call.arguments[GRID_THW].tolist():
        if frames != 1:
            raise ArgumentError(f"an image must have one frame, got a video of {frames}.")
        sizes.append((int(high), int(wide)))
    return sizes


def token_ids(run: ForwardRun, part: str, sentence: int) -> Any:
    """The tokens of a sentence of a part, None where they are not known."""
    ids_b = run.tokens.get(part)
    return ids_b[sentence] if ids_b is not None and sentence < len(ids_b) else None


def _image_token(config: Any) -> int | None:
    token = getattr(config, "image_token_id", getattr(config, "image_token_index", None))
    return token if isinstance(token, int) else None


def _text_config(root: Any) -> Any:
    """The config that names the token of images, of the model or of a model inside it."""
    modules = [] if root is None else root.modules()
    configs = (getattr(module, "config", None) for module in modules)
    return next((config for config in configs if _image_token(config) is not None), None)


def vision_config(config: Any) -> Any:
    """The config of the encoder of images."""
    return getattr(config, "vision_config", config)


def _visual(path: str) -> bool:
    return any(name.startswith(("vision", "visual", "image")) for name in path.split("."))


def swin_grids(call: MediaCall, root: Any, path: str, keys: Sequence[int]) -> tuple[ImageGrid, ...]:
    """Windows of a Swin layer, moved back by what they were shifted; none for other models."""
    block = _shifted_block(root, path)
    shape, patch = call.shape(IMAGES), getattr(call.config, "patch_size", None)
    if block is None or shape is None or not isinstance(patch, int):
        return ()
    stage = int(path.partition("blocks.")[0].rstrip(".").rsplit(".", 1)[-1])
    # Patches and merging round up: what is missing at the edges is padded.
    size = tuple(-(-length // (patch * 2**stage)) for length in shape[-2:])
    cells = window_cells((size[0], size[1]), int(block.window_size), int(block.shift_size))
    images, left = divmod(len(keys), len(cells))
    if left or any(x != cells.shape[1] for x in keys):
        return ()
    return tuple(
        ImageGrid.from_cells(
            (size[0], size[1]), cells, ("padding",), first=at * len(cells), image=at
        )
        for at in range(images)
    )


def window_cells(size: Size, window: int, shift: int) -> Cells:
    """The cells (windows, keys) of the windows of an image; -1 is padding.

    >>> window_cells((2, 4), 2, 1)
    array([[5, 6, 1, 2],
           [7, 4, 3, 0]], dtype=int32)
    """
    rows, columns = size
    padded = np.full([-(-length // window) * window for length in size], -1, np.int32)
    padded[:rows, :columns] = np.arange(rows * columns).reshape(rows, columns)
    rolled = np.roll(padded, (-shift, -shift), axis=(0, 1))
    across = rolled.shape[1] // window
    blocks = rolled.reshape(-1, window, across, window).swapaxes(1, 2)
    return np.ascontiguousarray(blocks.reshape(-1, window * window))


def _shifted_block(root: Any, path: str) -> Any:
    """The innermost module around an attention that shifts its windows."""
    names = path.partition("#")[0].split(".")
    for length in range(len(names), 0, -1):
        module = root.get_submodule(".".join(names[:length]))
        if hasattr(module, "shift_size") and isinstance(getattr(module, "window_size", None), int):
            return module
    return None


def qwen_grids(call: MediaCall, keys: int) -> tuple[ImageGrid, ...]:
    """Images packed into one sequence, each by blocks of patches that become one token."""
    config = vision_config(call.config)
    sizes, merge = grids_thw(call), int(config.spatial_merge_size)
    window = getattr(config, "window_size", None)
    side = 0 if window is None else int(window) // merge // int(config.patch_size)
    grids, start = [], 0
    for number, size in enumerate(sizes):
        cells = np.full(keys, -1)
        stop = start + size[0] * size[1]
        cells[start:stop] = merged_order(size, merge, side)
        grids.append(ImageGrid.from_cells(size, cells, ("other images",), image=number))
        start = stop
    return tuple(grids)


def merged_order(size: Size, merge: int, side: int = 0) -> NDArray[np.int64]:
    """Cells in the order of the sequence: blocks of merge x merge, in windows of side x side.

    >>> merged_order((2, 4), 2)
    array([0, 1, 4, 5, 2, 3, 6, 7])
    """
    rows, columns = size[0] // merge, size[1] // merge
    cells = np.arange(size[0] * size[1]).reshape(rows, merge, columns, merge).swapaxes(1, 2)
    blocks = np.arange(rows * columns).reshape(rows, columns)
    if side:
        windows = [
            blocks[row : row + side, column : column + side].reshape(-1)
            for row in range(0, rows, side)
            for column in range(0, columns, side)
        ]
        blocks = np.concatenate(windows)
    return cells.reshape(rows * columns, -1)[blocks.reshape(-1)].reshape(-1)
