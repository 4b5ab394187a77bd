"""Figures with lines between words: two columns, or a card of one sentence for sharing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regard.display import percent
from regard.errors import ArgumentError
from regard.text.tokens import SPECIALS
from regard.typing import Array
from regard.view.figure.drawing import (
    ACCENT,
    INK,
    LINE,
    QUIET,
    TEXT_SIZE,
    Box,
    Curve,
    Drawing,
    Label,
    Mark,
    framed,
    shade,
    shortened,
    text_width,
    web,
)

if TYPE_CHECKING:
    from regard.view.figure.picture import Picture

Pair = tuple[float, float]
ACCENT_SOFT = "#fbe9da"
PITCH, GAP, MAX_LINE_WIDTH, MAX_WORD_WIDTH = 13.0, 120.0, 7.0, 110.0


def draw_lines(picture: Picture) -> Drawing:
    """Queries on the left, keys on the right, both from top to bottom."""
    left, right = (
        _column(names, axis) for names, axis in zip(picture.names, picture.axes, strict=True)
    )
    tall = max(picture.weights.shape)
    starts = [(tall - size) / 2 * PITCH + 1.8 * PITCH for size in picture.weights.shape]
    column_x = (left + 4, left + 4 + GAP)
    marks: list[Mark] = [*_curves(picture, column_x, starts), *_headings(picture, column_x)]
    marks += _words(picture, column_x, starts)
    size = (left + GAP + right + 8, tall * PITCH + 1.2 * PITCH)
    return framed(marks, size, picture.title, (_caption(picture), picture.provenance))


def _column(names: tuple[str, ...], axis: str) -> float:
    """Width of a column: its longest name and a percentage behind it."""
    widest = max((text_width(name, TEXT_SIZE) for name in names), default=0)
    return max(min(widest, MAX_WORD_WIDTH) + 28, text_width(axis, TEXT_SIZE))


def _curves(picture: Picture, column_x: Pair, starts: list[float]) -> Iterator[Curve]:
    """The thin ones first, the chosen ones last, so that nothing that matters is covered."""
    shown = np.argwhere(picture.weights >= max(picture.threshold, 1e-12))
    order = sorted(shown.tolist(), key=lambda x: (x[0] in picture.chosen, picture.weights[*x]))
    for query, key in order:
        weight = float(picture.weights[query, key])
        pale = bool(picture.chosen) and query not in picture.chosen
        yield Curve(
            column_x[0],
            starts[0] + query * PITCH,
            column_x[1],
            starts[1] + key * PITCH,
            max(0.15, MAX_LINE_WIDTH * weight),
            ACCENT if query in picture.chosen else LINE,
            0.12 if pale else 0.75,
        )


def _headings(picture: Picture, column_x: Pair) -> list[Mark]:
    query_axis, key_axis = picture.axes
    return [
        Label(column_x[0], 0.7 * PITCH, query_axis, TEXT_SIZE, QUIET, "end"),
        Label(column_x[1], 0.7 * PITCH, key_axis, TEXT_SIZE, QUIET),
    ]


def _words(picture: Picture, column_x: Pair, starts: list[float]) -> Iterator[Label]:
    queries, keys = picture.names
    for row, name in enumerate(queries):
        chosen = row in picture.chosen
        y = starts[0] + row * PITCH + 0.33 * TEXT_SIZE
        yield Label(
            column_x[0] - 3,
            y,
            shortened(name, TEXT_SIZE, MAX_WORD_WIDTH),
            TEXT_SIZE,
            ACCENT if chosen else INK,
            "end",
            bold=chosen,
        )
    shares = picture.weights[list(picture.chosen)].mean(axis=0) if picture.chosen else None
    for column, name in enumerate(keys):
        y = starts[1] + column * PITCH + 0.33 * TEXT_SIZE
        yield Label(column_x[1] + 3, y, shortened(name, TEXT_SIZE, MAX_WORD_WIDTH), TEXT_SIZE)
        if shares is not None and shares[column] >= max(picture.threshold, 0.01):
            x = column_x[1] + 3 + min(text_width(name, TEXT_SIZE), MAX_WORD_WIDTH) + 4
            yield Label(x, y, f"{100 * shares[column]:.0f} %", TEXT_SIZE, ACCENT, bold=True)


def _caption(picture: Picture) -> str:
    hidden = picture.weights[picture.weights < picture.threshold]
    if not picture.threshold or not hidden.size or not hidden.any():
        return picture.caption
    omitted = f"Weights under {100 * picture.threshold:g} % are not drawn."
    return f"{picture.caption} {omitted}".strip()


DOTS_PER_INCH = 96  # 900 points are 1200 pixels, the size of previews of shared links
CARD_WIDTH, CARD_HEIGHT, CARD_EDGE = 900.0, 472.5, 48.0
SENTENCE_TOP, SENTENCE_BOTTOM = 110.0, 286.0  # arcs rise above the top
MAX_LETTER_SIZE, MIN_LETTER_SIZE = 36, 11
END_TOKEN = SPECIALS[3]
MIN_LINE_WEIGHT = 0.05  # a smaller weight gets no line
ABOUT = "regard shows what attention looks at inside a transformer, every number true."


@dataclass(frozen=True)
class Word:
    """A word of the sentence and the centre of its baseline."""

    text: str
    x: float
    y: float
    width: float


def draw_card(picture: Picture) -> Drawing:
    """The sentence shaded by the row of one word, its lines, and the largest weight in large."""
    words = picture.names[0]
    query = picture.chosen[0] if picture.chosen else strongest_pair(picture.weights)[0]
    row = picture.weights[query]
    key = int(_to_others(row, query).argmax()) if len(row) > 1 else 0
    # The end token is not a word of the sentence: left out where no line goes to it.
    shown = len(words) - (
        words[-1] == END_TOKEN and row[-1] < MIN_LINE_WEIGHT and query < len(words) - 1
    )
    size, spots = _arranged(words[:shown])
    marks: list[Mark] = [Box(0, 0, CARD_WIDTH, 9, ACCENT)]
    marks += _sentence(row[:shown], query, size, spots)
    number = Label(CARD_EDGE, 392, percent(row[key]), 76, ACCENT, bold=True)
    text_x = CARD_EDGE + text_width(number.text, 76) + 30
    name = ": ".join(picture.title.split(": ")[:2])  # what follows says how that was measured
    heading = shortened(
        f"{words[query]} looks at {words[key]}", 30, CARD_WIDTH - CARD_EDGE - text_x
    )
    marks += [
        number,
        Label(text_x, 362, heading, 30, INK, bold=True),
        Label(text_x, 390, shortened(name, 17, CARD_WIDTH - CARD_EDGE - text_x), 17, QUIET),
        Label(CARD_EDGE, 444, shortened(ABOUT, 19, CARD_WIDTH - 2 * CARD_EDGE), 19, INK),
    ]
    about = f"{heading}: {percent(row[key])}. {picture.provenance}"
    return Drawing(
        CARD_WIDTH,
        CARD_HEIGHT,
        tuple(marks),
        f"{heading}: {percent(row[key])}",
        about,
        DOTS_PER_INCH,
    )


def strongest_pair(weights_qk: Array) -> tuple[int, int]:
    """The query and the key, two different words, between which the weight is largest."""
    others_qk = np.where(np.eye(*weights_qk.shape) > 0, -1.0, weights_qk)
    query, key = np.unravel_index(int(others_qk.argmax()), others_qk.shape)
    return int(query), int(key)


def check_card(picture: Picture) -> None:
    """Raise where the picture is not of weights within one sentence."""
    if picture.what != "weights" or picture.names[0] != picture.names[1]:
        raise ArgumentError(
            "a card shows weights within one sentence, but these rows and columns differ or are "
            "not weights: use kind='lines' or kind='heatmap'."
        )


def _to_others(row: Array, query: int) -> Array:
    others = np.array(row, float)
    others[query] = -1.0
    return others


def _sentence(row: Array, query: int, size: float, spots: list[Word]) -> list[Mark]:
    """A shaded box and a label for each word, and lines as thick as the weights above them."""
    shades = [web(x) for x in shade(np.sqrt(np.clip(row, 0, 1)) * 0.55)]
    shades[int(_to_others(row, query).argmax())] = ACCENT_SOFT  # as in the page's first scene
    boxes: list[Mark] = [
        Box(x.x - x.width / 2, x.y - 0.95 * size, x.width, 1.3 * size, shades[at])
        for at, x in enumerate(spots)
    ]
    start = spots[query]
    lines: list[Mark] = []
    for at in np.argsort(row, kind="stable"):
        end = spots[at]
        if at != query and row[at] >= MIN_LINE_WEIGHT:
            lift = min(96.0, 26 + 0.22 * abs(end.x - start.x))
            lines.append(
                Curve(
                    start.x,
                    start.y - size,
                    end.x,
                    end.y - size,
                    max(1.0, 9 * float(row[at])),
                    ACCENT if row[at] == _to_others(row, query).max() else LINE,
                    0.85,
                    lift,
                )
            )
    labels: list[Mark] = [
        Label(x.x, x.y, x.text, size, ACCENT if at == query else INK, "middle", bold=at == query)
        for at, x in enumerate(spots)
    ]
    return [*boxes, *lines, *labels]


def _arranged(words: tuple[str, ...]) -> tuple[float, list[Word]]:
    """The largest size at which the words fit, and where each stands."""
    for size in range(MAX_LETTER_SIZE, MIN_LETTER_SIZE - 1, -1):
        spots = _lines(words, float(size))
        pitch = 2.6 * size
        if SENTENCE_TOP + pitch * (spots[-1].y if spots else 0) <= SENTENCE_BOTTOM:
            first = (
                (SENTENCE_TOP + SENTENCE_BOTTOM - pitch * spots[-1].y) / 2 + size / 2
                if spots
                else SENTENCE_TOP
            )
            return float(size), [Word(x.text, x.x, first + pitch * x.y, x.width) for x in spots]
    raise ArgumentError(
        f"a card has no room for a sentence of {len(words)} words: use kind='lines' or "
        "kind='heatmap'."
    )


def _lines(words: tuple[str, ...], size: float) -> list[Word]:
    """Words from left to right in lines, whose numbers stand for their heights."""
    spots, x, line = [], CARD_EDGE, 0
    ends: dict[int, float] = {}
    for text in (shortened(word, size, CARD_WIDTH - 2 * CARD_EDGE) for word in words):
        width = text_width(text, size) + 0.25 * size
        if x + width > CARD_WIDTH - CARD_EDGE and x > CARD_EDGE:
            x, line = CARD_EDGE, line + 1
        spots.append(Word(text, x + width / 2, line, width))
        ends[line] = x + width
        x += width + 0.12 * size
    room = {at: (CARD_WIDTH - CARD_EDGE - end) / 2 for at, end in ends.items()}  # to the middle
    return [Word(x.text, x.x + room[int(x.y)], x.y, x.width) for x in spots]
