"""Text of attention to an image: its strongest patches as a table, and a small grid of shades."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from regard.display import percent
from regard.view.terminal.style import PIPE, TerminalStyle, cells, pad, printable, shorten

if TYPE_CHECKING:
    from regard.typing import Array
    from regard.watcher.media.image_attention import ImageAttention

SHADES = " .:-=+*#%@"
MOST_ROWS, MOST_COLUMNS = 32, 64


def image_text(seen: ImageAttention, style: TerminalStyle = PIPE, most: int = 8) -> str:
    """What looks, what of its row is on the image, a grid of shades, the strongest patches."""
    rows, columns = seen.weights.shape
    others = "".join(f", {percent(x, 1)} on {name}" for name, x in seen.others.items())
    lines = style.wrap(printable(f"{seen.title}."), "  ")
    lines += style.wrap(
        f"{percent(seen.total, 1)} of the row's {seen.what} on {rows} x {columns} patches{others}."
    )
    lines += ["", *(f"  {line}" for line in grid_lines(seen.weights)), ""]
    lines.append(style.bold("  row  column  weight  of even"))
    even = max(seen.total / (rows * columns), np.finfo(float).tiny)
    for row, column, weight in seen.strongest(most):
        lines.append(f"  {row:>3} {column:>7} {percent(weight, 1):>7} {weight / even:>7.1f}x")
    lines += [x for note in seen.notes for x in style.wrap(note)]
    return "\n".join([*lines, *style.wrap(
        "Rows and columns count from 0, at the top left. Of even: how much more than if the "
        "image's weight lay evenly on it. Attention is evidence, not explanation."
    )])  # fmt: skip


def words_text(words: Sequence[tuple[str, ImageAttention]], style: TerminalStyle = PIPE) -> str:
    """A line for each word that was written: its weight on the image, and its strongest patch."""
    wide = max([4, *(cells(shorten(word)) for word, _ in words)])
    lines = [style.bold(f"  {'word':<{wide}}  on image  strongest patch (row, column)")]
    for word, seen in words:
        (row, column, weight), *_ = seen.strongest(1)
        name, share = pad(shorten(word), wide), percent(seen.total, 1)
        lines.append(f"  {name}  {share:>8}  {percent(weight, 1):>7} in {row}, {column}")
    return "\n".join(lines)


def grid_lines(weights: Array) -> list[str]:
    """Each cell as a character, the fuller the larger its weight; blocks of cells in a large grid.

    >>> grid_lines(np.array([[0.0, 0.25], [1.0, 0.0]]))
    ['|  ==|', '|@@  |']
    """
    steps = [max(1, -(-n // most)) for n, most in
             zip(weights.shape, (MOST_ROWS, MOST_COLUMNS // 2), strict=True)]  # fmt: skip
    for axis, step in enumerate(steps):
        weights = np.maximum.reduceat(weights, np.arange(0, weights.shape[axis], step), axis=axis)
    most = float(weights.max(initial=0.0)) or 1.0
    levels = np.rint(np.sqrt(weights / most) * (len(SHADES) - 1)).astype(int)
    return ["|" + "".join(2 * SHADES[x] for x in row) + "|" for row in levels]
