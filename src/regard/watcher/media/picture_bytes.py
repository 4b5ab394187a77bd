"""A picture as the bytes of a PNG or JPEG file, and the part of it that a processor leaves."""

from __future__ import annotations

import base64
import importlib.util
import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import ArgumentError, BackendError, FileError
from regard.png import encode_png

if TYPE_CHECKING:
    from regard.watcher.media.image_grids import ImageGrid

PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
MAX_STORED_PIXELS = 768  # of the longer side of a picture that is stored in a file
Area = tuple[float, float, float, float]
FULL_AREA: Area = (0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True)
class PictureBytes:
    """A PNG or JPEG file in memory, with its size in pixels."""

    data: bytes = field(repr=False)
    width: int
    height: int

    @classmethod
    def from_any(cls, picture: Any) -> PictureBytes:
        """A picture from a path, bytes of a file, an array (rows, columns, 3), or one of Pillow."""
        if isinstance(picture, PictureBytes):
            return picture
        if isinstance(picture, str | Path):
            return cls.from_file(_read(Path(picture)), str(picture))
        if isinstance(picture, bytes | bytearray):
            return cls.from_file(bytes(picture), "the picture")
        if hasattr(picture, "convert"):  # of Pillow
            return cls.from_array(np.asarray(picture.convert("RGB")))
        return cls.from_array(np.asarray(picture))

    @classmethod
    def from_array(cls, colours: Any) -> PictureBytes:
        """A picture from colours (rows, columns, 3), whole numbers from 0 to 255."""
        if colours.ndim == 2 and colours.dtype == np.uint8:
            colours = np.repeat(colours[..., None], 3, axis=-1)
        if colours.ndim != 3 or colours.shape[2] not in (3, 4) or colours.dtype != np.uint8:
            raise ArgumentError(
                "a picture must be a file, its bytes, an image of Pillow or an array (rows, "
                f"columns, 3) of uint8, got {colours.dtype} of shape {colours.shape}."
            )
        data = encode_png(np.ascontiguousarray(colours[..., :3]))
        return cls(data, colours.shape[1], colours.shape[0])

    @classmethod
    def from_file(cls, data: bytes, name: str) -> PictureBytes:
        """The bytes of a file; upright, as its camera noted it, where Pillow is installed."""
        if importlib.util.find_spec("PIL") is not None:
            return _upright(data, name)
        size = _png_size(data) if data.startswith(PNG) else _jpeg_size(data)
        if size is None:
            raise FileError(
                f"{name} must be a PNG or JPEG file; other kinds need Pillow: "
                "pip install 'regard[image]'."
            )
        return cls(data, *size)

    @property
    def mime(self) -> str:
        return "image/png" if self.data.startswith(PNG) else "image/jpeg"

    @property
    def uri(self) -> str:
        """The picture as a data URI, which pages show without fetching anything."""
        return f"data:{self.mime};base64,{base64.b64encode(self.data).decode()}"

    def small(self, most: int = MAX_STORED_PIXELS) -> PictureBytes:
        """The picture with a longer side of at most ``most`` pixels, to store; needs Pillow."""
        if max(self.width, self.height) <= most or importlib.util.find_spec("PIL") is None:
            return self
        image = pillow_image(self.data)
        image.thumbnail((most, most))
        return PictureBytes(_jpeg(image), *image.size)

    def colours(self) -> Any:
        """The colours (rows, columns, 3) as an array; needs Pillow."""
        need_pillow("the colours of a picture")
        return np.asarray(pillow_image(self.data).convert("RGB"))


def need_pillow(what: str) -> None:
    """Raise where Pillow is not installed."""
    if importlib.util.find_spec("PIL") is None:
        raise BackendError(f"{what} needs Pillow, not installed here: pip install 'regard[image]'.")


def pillow_image(data: bytes, name: str = "the picture") -> Any:
    """A picture of Pillow, from the bytes of a file."""
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.open(io.BytesIO(data))
        image.load()
    except Image.DecompressionBombError:
        most = 2 * (Image.MAX_IMAGE_PIXELS or 0)
        raise FileError(
            f"{name} must be an image of at most {most:,} pixels, got more: make it smaller."
        ) from None
    except UnidentifiedImageError:
        raise FileError(f"{name} must be an image, and it cannot be read as one.") from None
    except (OSError, SyntaxError, ValueError, MemoryError) as error:
        raise FileError(f"{name} must be an image, and it is damaged: {error}.") from None
    return image


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"{path} must be an image file: {error.strerror}.") from None


def _upright(data: bytes, name: str) -> PictureBytes:
    from PIL import ImageOps

    image = pillow_image(data, name)
    turned = ImageOps.exif_transpose(image)
    if data.startswith((PNG, JPEG)) and turned.size == image.size:
        return PictureBytes(data, *image.size)
    return PictureBytes(_jpeg(turned), *turned.size)


def _jpeg(image: Any) -> bytes:
    file = io.BytesIO()
    image.convert("RGB").save(file, format="JPEG", quality=85)
    return file.getvalue()


def _png_size(data: bytes) -> tuple[int, int] | None:
    return struct.unpack(">II", data[16:24]) if len(data) >= 24 else None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """The size that a JPEG's frame header states; the headers before it are skipped."""
    at = 2
    while data.startswith(JPEG) and at + 9 <= len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return None


def processed_area(processor: Any, width: int, height: int) -> Area:
    """The part of a picture that is left after resizing and cropping, in fractions of its sides.

    What is padded lies outside of 0 to 1.
    """
    image = getattr(processor, "image_processor", processor)
    if not getattr(image, "do_center_crop", False):
        return FULL_AREA
    crop, size = (_sides(getattr(image, x, None)) for x in ("crop_size", "size"))
    if crop is None or "height" not in crop:
        raise ArgumentError(
            f"{type(image).__name__} crops pictures, but does not say to what size: give "
            "area=(left, top, right, bottom) in fractions of the picture."
        )
    scaled = (width, height)
    if getattr(image, "do_resize", True) and size is not None:
        scaled = _resized(size, width, height)
    across, down = crop.get("width", crop["height"]) / scaled[0], crop["height"] / scaled[1]
    return (1 - across) / 2, (1 - down) / 2, (1 + across) / 2, (1 + down) / 2


def _sides(size: Any) -> dict[str, int] | None:
    """The size of a processor: a mapping, or an object with the same names."""
    if size is None:
        return None
    names = ("height", "width", "shortest_edge", "longest_edge")
    sides = size if isinstance(size, Mapping) else vars(size)
    return {name: int(sides[name]) for name in names if sides.get(name)}


def _resized(size: Mapping[str, int], width: int, height: int) -> tuple[int, int]:
    if "height" in size:
        return size.get("width", size["height"]), size["height"]
    if "shortest_edge" in size:
        scale = size["shortest_edge"] / min(width, height)
    else:
        scale = size["longest_edge"] / max(width, height)
    return max(1, int(width * scale)), max(1, int(height * scale))


def tiled_area(processor: Any, tiles: tuple[int, int], width: int, height: int) -> Area:
    """The area of a canvas of tiles, in which a picture stands at the top left.

    It is made larger only where it is smaller than one tile. What is padded lies outside of 1.
    """
    image = getattr(processor, "image_processor", processor)
    tile = _sides(getattr(image, "size", None)) or {}
    if "height" not in tile:
        return FULL_AREA
    rows, columns = tiles
    canvas = columns * tile.get("width", tile["height"]), rows * tile["height"]
    pairs = zip((width, height), canvas, (columns, rows), strict=True)
    scale = min(min(max(side, whole / number), whole) / side for side, whole, number in pairs)
    return 0.0, 0.0, canvas[0] / (width * scale), canvas[1] / (height * scale)


UNCROPPED_NOTE = (
    "No processor was given, so the grid is laid over all of the picture: where the model's "
    "processor crops, give it to watch, as in watch(model, processor=processor)."
)


@dataclass(frozen=True)
class FramedPicture:
    """A picture, and the part of it that the model was given, in fractions of its sides."""

    picture: PictureBytes
    area: Area | None = None

    def area_on(self, grid: ImageGrid, processor: Any) -> tuple[Area, tuple[str, ...]]:
        """The part of the picture under a grid, and what is to be said about it."""
        if self.area is not None:
            return self.area, ()
        width, height = self.picture.width, self.picture.height
        image = getattr(processor, "image_processor", processor)
        if hasattr(image, "max_image_tiles"):
            return tiled_area(processor, grid.tiles, width, height), ()
        if processor is not None:
            return processed_area(processor, width, height), ()
        rows, columns = grid.size
        # Sizes are rounded to whole patches: one more or less is the same shape.
        if abs(width * rows - height * columns) > max(width, height):
            raise ArgumentError(
                f"a picture of {width} x {height} pixels became {columns} x {rows} patches, and "
                "whether it was cropped or squeezed its processor knows: give it to watch, as in "
                "watch(model, processor=processor), or say area=(left, top, right, bottom) in "
                "fractions of the picture."
            )
        return FULL_AREA, (UNCROPPED_NOTE,)
