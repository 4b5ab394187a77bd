"""Things in a notebook: each a page in a frame of its own, so that several can stand there."""

from __future__ import annotations

import base64
import zlib
from html import escape
from typing import TYPE_CHECKING, Any

from regard.errors import NotAskedError, RegardError

if TYPE_CHECKING:
    from regard.view.page.blobs import Packed
    from regard.view.page.map_source import Opened

HEIGHT = 680
LARGEST = 2_000_000  # characters of one cell's output
MOST_WEIGHTS = 700_000  # of all heads of a watched model; beyond, its maps are shown
# A notebook keeps every output: the page travels squeezed, a third smaller, and unfolds itself.
UNFOLD = (
    '<!doctype html><meta charset="utf-8"><title>regard</title><script>'
    'const bytes = Uint8Array.from(atob("{text}"), (letter) => letter.charCodeAt(0));'
    "new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')))"
    ".text().then((page) => {{ document.open(); document.write(page); document.close(); }});"
    "</script>"
)


def in_notebook(thing: Any) -> str:
    """What Jupyter, VS Code and Colab put under the cell; without scripts the text remains."""
    shown = _shown(thing, f"{type(thing).__name__} of regard")
    text = f'<pre style="overflow-x:auto">{escape(str(thing))}</pre>'
    if not shown:
        return f"<div>{text}</div>"
    return f"<div>{shown}<details><summary>As text</summary>{text}</details></div>"


def framed(html: str, title: str, height: int = HEIGHT) -> str:
    """A document inside the notebook's: it runs its own scripts and reaches nothing else."""
    return (
        f'<iframe title="{escape(title)}" sandbox="allow-scripts allow-modals allow-downloads" '
        f'style="width:100%;height:{height}px;border:0" loading="lazy" '
        f'srcdoc="{escape(_folded(html))}"></iframe>'
    )


def _shown(thing: Any, title: str) -> str:
    """The page of a thing; where it would swell the notebook its picture, or its text alone."""
    try:
        frame = framed(_page(thing), title)
    except RegardError:
        return ""
    if len(frame) <= LARGEST:
        return frame
    try:
        return _image(thing.picture().svg(), title)
    except (RegardError, TypeError):  # some things must be told which head
        return ""


def _page(thing: Any) -> str:
    """The offline page, with less in it than a file of its own would hold."""
    from regard.view.page.blobs import Packed
    from regard.view.page.single_file import address, page_of

    packed = Packed()
    held = _held(thing, packed)
    return page_of(held | {"address": address(held["views"][0], {})}, packed)


def _held(thing: Any, packed: Packed) -> dict[str, Any]:
    from regard.engine.observation import Observation
    from regard.transformer.reading import Reading
    from regard.view.page.embed import CELL, hold_map, hold_weights
    from regard.view.page.map_source import opened_observation, opened_seen
    from regard.view.page.single_file import hold
    from regard.watcher.seen import Seen

    if isinstance(thing, Reading):
        return hold_weights(thing, packed)
    if isinstance(thing, Observation):
        return hold_map(opened_observation(thing), packed, CELL)
    if isinstance(thing, Seen):
        opened = opened_seen(thing)
        if not opened.layers:
            raise NotAskedError("nothing was seen yet: call the model inside the block.")
        if _weights(opened) > MOST_WEIGHTS:
            return hold_map(opened, packed, CELL)
    held = hold(thing, packed, {})
    held.pop("at", None)
    return held


def _weights(opened: Opened) -> int:
    """How many weights all heads have together."""
    sizes = [(len(x.heads), x.seen.queries, x.seen.keys) for x in opened.layers]
    return sum(heads * queries * keys for heads, queries, keys in sizes)


def _image(svg: str, title: str) -> str:
    """An SVG as an image, where nothing in it can run or reach the notebook."""
    text = base64.b64encode(svg.encode()).decode()
    return (
        f'<img alt="{escape(title)}" style="max-width:100%" src="data:image/svg+xml;base64,{text}">'
    )


def _folded(html: str) -> str:
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    folded = squeezer.compress(html.encode()) + squeezer.flush()
    return UNFOLD.format(text=base64.b64encode(folded).decode())
