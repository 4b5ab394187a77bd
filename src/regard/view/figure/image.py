"""A picture with attention above it: SVG on any installation, PNG with Pillow.

The picture is shown pale, so that the blue of the weights can be told from its own colours; the
largest weight has a frame.
"""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.display import percent
from regard.png import encode_png
from regard.typing import Array
from regard.view.figure.drawing import ACCENT, FONT, INK, LINE, QUIET, clean

if TYPE_CHECKING:
    from regard.watcher.media.image_attention import ImageAttention

PICTURE_PIXELS = 480.0  # of the picture, in CSS pixels
MIN_PNG_PIXELS = 256  # pixels of a PNG's longer side
LIGHT_KEPT, COLOUR_KEPT = 0.65, 0.35  # how much of the picture's light and of its colours stays
MAX_OPACITY = 0.8  # opacity of the largest weight
LINE_HEIGHT, MARGIN = 18, 8


def image_content(seen: ImageAttention, ending: str) -> bytes:
    """Content of a file with this ending."""
    if ending == ".png":
        return image_png(seen)
    if ending == ".json":
        return (json.dumps(seen.to_dict(), ensure_ascii=False, allow_nan=False) + "\n").encode()
    return image_svg(seen).encode()


def opacities(weights: Array) -> Array:
    """Opacity of each cell, in proportion to its weight."""
    most = float(weights.max(initial=0.0))
    return MAX_OPACITY * weights / most if most > 0 else np.zeros_like(weights)


def caption_lines(seen: ImageAttention) -> list[str]:
    """What looks, how much of its row is on the image, the largest patch, and the notes."""
    (row, column, weight), *_ = seen.strongest(1)
    darkest = f"{percent(weight, 1)} in row {row}, column {column} (from 0)"
    about = f"{seen.summary} Darkest: {darkest}; no blue is none."
    return [seen.title, *textwrap.wrap(about, 72), *(x for n in seen.notes for x in _note(n))]


def _note(note: str) -> list[str]:
    return textwrap.wrap(note, 72)


def picture_size(seen: ImageAttention) -> tuple[float, float]:
    """Width and height of the picture, or of the grid where there is none, in CSS pixels."""
    rows, columns = seen.weights.shape
    wide, high = (columns, rows)
    if seen.picture is not None:
        wide, high = seen.picture.width, seen.picture.height
    scale = PICTURE_PIXELS / max(wide, high)
    return wide * scale, high * scale


def image_svg(seen: ImageAttention) -> str:
    """The picture, a blue box for each patch, and what they mean, as SVG."""
    width, height = picture_size(seen)
    lines = caption_lines(seen)
    total = height + MARGIN + LINE_HEIGHT * len(lines) + MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{PICTURE_PIXELS:g}" '
        f'height="{total:g}" viewBox="0 0 {PICTURE_PIXELS:g} {total:g}" font-family="{FONT}">\n'
        f"<title>{clean(seen.title)}</title>\n<desc>{clean(' '.join(lines[1:]))}</desc>\n"
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{_photo(seen, width, height)}'
        f"{_boxes(seen, width, height)}{_texts(lines, height)}</svg>\n"
    )


def _photo(seen: ImageAttention, width: float, height: float) -> str:
    if seen.picture is None:
        return ""
    return (
        f'<filter id="pale"><feColorMatrix type="saturate" values="{COLOUR_KEPT}"/></filter>\n'
        f'<image width="{width:g}" height="{height:g}" preserveAspectRatio="none" '
        f'filter="url(#pale)" opacity="{LIGHT_KEPT}" href="{seen.picture.uri}"/>\n'
    )


def _boxes(seen: ImageAttention, width: float, height: float) -> str:
    left, top, right, bottom = seen.area
    rows, columns = seen.weights.shape
    across, down = (right - left) * width / columns, (bottom - top) * height / rows
    shades = opacities(seen.weights)

    def box(row: int, column: int, style: str) -> str:
        x, y = left * width + column * across, top * height + row * down
        size = f'width="{across:.2f}" height="{down:.2f}"'
        return f'<rect x="{x:.2f}" y="{y:.2f}" {size} {style}/>\n'

    boxes = [
        box(row, column, f'fill="{LINE}" fill-opacity="{shades[row, column]:.3f}"')
        for row in range(rows)
        for column in range(columns)
        if shades[row, column] >= 0.002
    ]
    (row, column, _), *_ = seen.strongest(1)
    frame = box(row, column, f'fill="none" stroke="{ACCENT}" stroke-width="2"')
    return "".join(boxes) + frame


def _texts(lines: list[str], height: float) -> str:
    texts = []
    for number, line in enumerate(lines):
        y = height + MARGIN + LINE_HEIGHT * (number + 0.8)
        style = f'font-size="14" fill="{INK}"' if not number else f'font-size="12" fill="{QUIET}"'
        texts.append(f'<text x="2" y="{y:g}" {style}>{clean(line)}</text>\n')
    return "".join(texts)


def image_png(seen: ImageAttention) -> bytes:
    """The same as PNG, in the picture's own pixels."""
    from regard.watcher.media.picture_bytes import need_pillow

    need_pillow("an image as .png (.svg needs nothing)")
    return encode_png(_with_text(_blended(seen), caption_lines(seen)))


def _blended(seen: ImageAttention) -> Array:
    """The pale picture with its boxes, (rows, columns, 3) of uint8."""
    picture = _canvas(seen)
    high, wide, _ = picture.shape
    pale = _pale(picture)
    left, top, right, bottom = seen.area
    rows, columns = seen.weights.shape
    row_of = _cell_index(high, rows, top, bottom)
    column_of = _cell_index(wide, columns, left, right)
    inside = (row_of[:, None] >= 0) & (column_of[None] >= 0)
    shade = np.where(inside, opacities(seen.weights)[row_of[:, None], column_of[None]], 0.0)
    blended = pale * (1 - shade[..., None]) + _rgb(LINE) * shade[..., None]
    (row, column, _), *_ = seen.strongest(1)
    blended[_frame(row_of == row, column_of == column)] = _rgb(ACCENT)
    return np.asarray(blended.round().clip(0, 255).astype(np.uint8))


def _canvas(seen: ImageAttention) -> Array:
    """The picture, enlarged where it is small; white where there is none."""
    if seen.picture is None:
        rows, columns = seen.weights.shape
        scale = -(-MIN_PNG_PIXELS // max(rows, columns))
        return np.full((rows * scale, columns * scale, 3), 255, np.uint8)
    colours = seen.picture.colours()
    scale = max(1, -(-MIN_PNG_PIXELS // max(colours.shape[:2])))
    return np.asarray(colours.repeat(scale, axis=0).repeat(scale, axis=1))


def _pale(picture: Array) -> Array:
    grey = picture @ np.array([0.2126, 0.7152, 0.0722])
    coloured = COLOUR_KEPT * picture + (1 - COLOUR_KEPT) * grey[..., None]
    return np.asarray(LIGHT_KEPT * coloured + (1 - LIGHT_KEPT) * 255)


def _cell_index(pixels: int, cells: int, start: float, stop: float) -> Array:
    """The row or column of the grid that each pixel lies in; -1 outside of it."""
    share = ((np.arange(pixels) + 0.5) / pixels - start) / (stop - start)
    cell = np.floor(share * cells).astype(int)
    return np.where((cell >= 0) & (cell < cells), cell, -1)


def _frame(rows: Array, columns: Array) -> Array:
    """A frame of two pixels inside the rows and columns that are chosen."""
    inner = [np.flatnonzero(x)[2:-2] for x in (rows, columns)]
    frame = rows[:, None] & columns[None]
    frame[np.ix_(*inner)] = False
    return frame


def _with_text(picture: Array, lines: list[str]) -> Array:
    from PIL import Image, ImageDraw, ImageFont

    size = max(11, picture.shape[1] // 42)
    font = ImageFont.load_default(size)
    folded = [
        x for line in lines for x in textwrap.wrap(line, max(20, picture.shape[1] * 2 // size))
    ]
    sheet: Any = Image.new("RGB", (picture.shape[1], len(folded) * (size + 4) + 8), "white")
    draw = ImageDraw.Draw(sheet)
    for number, line in enumerate(folded):
        draw.text((4, 4 + number * (size + 4)), line, fill=INK, font=font)
    return np.concatenate([picture, np.asarray(sheet)], axis=0)


def _rgb(colour: str) -> Array:
    return np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)], float)
