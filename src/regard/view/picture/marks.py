"""What a drawing is made of: lines, boxes, images and text, in points (72 to the inch)."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Curve:
    """A line from (x, y) to (to_x, to_y) that leaves and arrives level."""

    x: float
    y: float
    to_x: float
    to_y: float
    width: float
    colour: str
    opacity: float = 1.0


@dataclass(frozen=True)
class Box:
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True)
class Image:
    """Many small boxes at once: colours (rows, columns, 3) in whole numbers from 0 to 255."""

    x: float
    y: float
    width: float
    height: float
    colours: Array


@dataclass(frozen=True)
class Text:
    """A line of text; (x, y) is on its baseline, ``turn`` degrees clockwise about that point."""

    x: float
    y: float
    text: str
    size: float = 8.0
    colour: str = "#1a1a1a"
    anchor: str = "start"
    turn: float = 0.0
    bold: bool = False


Mark = Curve | Box | Image | Text


@dataclass(frozen=True)
class Drawing:
    """Marks on a white sheet, later ones above earlier ones; ``about`` says it without eyes."""

    width: float
    height: float
    marks: tuple[Mark, ...]
    title: str
    about: str
