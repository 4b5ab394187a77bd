"""What stands around every picture: title above, caption and provenance below."""

from collections.abc import Iterator
from dataclasses import replace

from regard.view.picture.ink import INK, QUIET, width_of
from regard.view.picture.marks import Curve, Drawing, Mark, Text

TEXT, SMALL, MARGIN = 8.0, 6.5, 8.0


def framed(
    marks: list[Mark], size: tuple[float, float], title: str, below: tuple[str, str]
) -> Drawing:
    """Put marks, drawn from (0, 0) to ``size``, under a title and above caption and provenance."""
    room = max(size[0], 200.0)
    shift = (room - size[0]) / 2 + MARGIN
    heads = wrapped(title, TEXT + 1, room)
    top = MARGIN + 12 * len(heads) + (6 if title else 0)
    placed: list[Mark] = [_moved(mark, shift, top) for mark in marks]
    for number, line in enumerate(heads):
        placed.append(Text(MARGIN, MARGIN + 9 + 12 * number, line, TEXT + 1, bold=True))
    y = top + size[1] + 4
    for text, letter, colour, pitch in zip(
        below, (TEXT, SMALL), (INK, QUIET), (11, 9), strict=True
    ):
        for line in wrapped(text, letter, room):
            y += pitch
            placed.append(Text(MARGIN, y, line, letter, colour))
        y += 3 if text else 0
    about = " ".join(x for x in below if x)
    return Drawing(room + 2 * MARGIN, y + MARGIN, tuple(placed), title, about)


def wrapped(text: str, size: float, room: float) -> list[str]:
    """Lines no wider than the room; a word that is wider than it is cut.

    >>> wrapped("a dog ate", 10, 40)
    ['a dog', 'ate']
    """
    lines, line = [], ""
    for word in _pieces(text, size, room):
        longer = f"{line} {word}" if line else word
        if line and width_of(longer, size) > room:
            lines.append(line)
            line = word
        else:
            line = longer
    return [*lines, line] if line else lines


def shortened(text: str, size: float, room: float) -> str:
    """As much of a text as fits the room, with a sign that there was more.

    >>> shortened("Donaudampfschiff", 10, 40)
    'Donau…'
    """
    if width_of(text, size) <= room:
        return text
    while text and width_of(text + "…", size) > room:
        text = text[:-1]
    return text + "…"


def _pieces(text: str, size: float, room: float) -> Iterator[str]:
    for word in text.split():
        while width_of(word, size) > room:
            cut = max(1, len(shortened(word, size, room)) - 1)
            yield word[:cut]
            word = word[cut:]
        if word:
            yield word


def _moved(mark: Mark, x: float, y: float) -> Mark:
    if isinstance(mark, Curve):
        mark = replace(mark, to_x=mark.to_x + x, to_y=mark.to_y + y)
    moved: Mark = replace(mark, x=mark.x + x, y=mark.y + y)
    return moved
