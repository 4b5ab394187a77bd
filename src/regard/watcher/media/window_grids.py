"""Grids of models that attend in windows of an image: Swin, and the vision of Qwen-VL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.watcher.media.image_grids import Cells, ImageGrid, Size, grids_thw, vision_config
from regard.watcher.media.media_inputs import IMAGES, MediaCall


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
        ImageGrid.of((size[0], size[1]), cells, ("padding",), first=at * len(cells), image=at)
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
        grids.append(ImageGrid.of(size, cells, ("other images",), image=number))
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
