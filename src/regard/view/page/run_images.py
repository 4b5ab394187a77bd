"""Images that a watched model was given, for the page: pictures, and which key is which patch."""

from __future__ import annotations

from typing import Any

from regard.errors import ArgumentError, NotAskedError
from regard.watcher.media.image_grids import ImageGrid
from regard.watcher.media.picture_bytes import FramedPicture
from regard.watcher.seen import Seen

PATCH_PIXELS = 24  # where there is no picture


def page_images(seen: Seen) -> list[dict[str, Any]]:
    """Every image (web/types.d.ts: PageImage); none where the run has no image or no grid."""
    grids = {part: _image_grids(seen, part) for part in seen.parts}
    numbers = sorted({grid.image for own in grids.values() for grid in own if grid.image >= 0})
    pictures = seen._pictures or seen._source.pictures
    return [
        _image(
            seen,
            {part: _numbered(own, number) for part, own in grids.items()},
            pictures[number] if number < len(pictures) else None,
        )
        for number in numbers
    ]


def parts_by_images(seen: Seen) -> list[str]:
    """The parts of a run; those whose text has images in it come first."""
    return sorted(
        seen.parts, key=lambda part: not any("text" in x.others for x in _image_grids(seen, part))
    )


def _image_grids(seen: Seen, part: str) -> tuple[ImageGrid, ...]:
    key = next(key for key in seen.names if key.part == part)
    try:
        return seen._source.image_grids(key, seen._sentence or 0)
    except (NotAskedError, ArgumentError):  # no image, or none whose grid is known
        return ()


def _numbered(grids: tuple[ImageGrid, ...], number: int) -> ImageGrid | None:
    return next((grid for grid in grids if grid.image == number and len(grid.cells) == 1), None)


def _image(
    seen: Seen, grids: dict[str, ImageGrid | None], framed: FramedPicture | None
) -> dict[str, Any]:
    known = {part: grid for part, grid in grids.items() if grid is not None}
    parts = {
        part: {"rows": grid.rows, "columns": grid.columns, "cells": grid.cells[0].tolist()}
        for part, grid in known.items()
    }
    first = next(iter(known.values()))
    if framed is None:
        size = {"width": PATCH_PIXELS * first.columns, "height": PATCH_PIXELS * first.rows}
        return {"picture": "", **size, "area": [0, 0, 1, 1], "parts": parts}
    area, _ = framed.area_on(first, seen._source.processor)
    small = framed.picture.small()
    return {
        "picture": small.uri,
        "width": small.width,
        "height": small.height,
        "area": list(area),
        "parts": parts,
    }
