"""Notebook output: the page of a result in a sandboxed frame, or as a widget."""

from __future__ import annotations

import base64
import importlib.util
import zlib
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from regard.engine.observation import Observation
from regard.errors import ArgumentError, BackendError, RegardError
from regard.transformer.reading import Reading
from regard.view.page.embed import (
    NOTEBOOK_BUDGET,
    Blobs,
    address,
    embed,
    embed_run,
    embed_weights,
    page_with,
)
from regard.view.page.runs import observed_run, watched_run
from regard.view.page.single_file import web_files
from regard.watcher.seen import Seen

FRAME_PIXELS = 680  # height of a frame until its page reports its own
# Runs in trusted notebooks; a frame reports its own height (web/lib/host_frame.js).
RESIZE = """<script>
window.regardHeights ||= addEventListener("message", ({ source, data }) => {
  if (!data || data.regard !== "height" || !Number.isInteger(data.height)) return;
  for (const frame of document.querySelectorAll("iframe[data-regard]"))
    if (frame.contentWindow === source) frame.style.height = `${Math.min(4000, data.height)}px`;
}) || true;
</script>"""
MAX_OUTPUT_CHARACTERS = 2_000_000  # characters of one cell's output


def in_notebook(thing: Any) -> str:
    """HTML output of a cell in Jupyter, VS Code and Colab; where scripts are off, the text."""
    shown = _shown(thing, f"{type(thing).__name__} of regard")
    text = f'<pre style="overflow-x:auto">{escape(str(thing))}</pre>'
    if not shown:
        return f"<div>{text}</div>"
    return f"<div>{shown}<details><summary>As text</summary>{text}</details></div>"


def framed(html: str, title: str, height: int = FRAME_PIXELS) -> str:
    """A document in a sandboxed frame, whose scripts cannot reach the notebook."""
    return (
        f'<iframe data-regard title="{escape(title)}" '
        'sandbox="allow-scripts allow-modals allow-downloads" '
        f'style="width:100%;height:{height}px;border:0" loading="lazy" '
        f'srcdoc="{escape(_compressed(html))}"></iframe>{RESIZE}'
    )


def framed_content(thing: Any) -> str:
    """The page of a result as the content of a frame, which decompresses itself."""
    return _compressed(_page(thing))


def _shown(thing: Any, title: str) -> str:
    """The page of a thing; where it would swell the notebook its picture, or its text alone."""
    try:
        frame = framed(_page(thing), title)
    except RegardError:
        return ""
    if len(frame) <= MAX_OUTPUT_CHARACTERS:
        return frame
    try:
        return as_image(thing.picture().svg(), title)
    except (RegardError, TypeError):  # some results need the number of a head
        return ""


def _page(thing: Any) -> str:
    """The explorer with less data than a file of its own would hold.

    It has the reader's fonts: a notebook keeps every output, and may forbid fonts inside a page.
    """
    blobs = Blobs()
    data = _embedded(thing, blobs)
    return page_with(data | {"address": address(data["views"][0], {})}, blobs, fonts=False)


def _embedded(thing: Any, blobs: Blobs) -> dict[str, Any]:
    if isinstance(thing, Reading):
        return embed_weights(thing, blobs)
    if isinstance(thing, Observation):
        return embed_run(observed_run(thing), blobs, NOTEBOOK_BUDGET)
    if isinstance(thing, Seen):
        return embed_run(watched_run(thing), blobs, NOTEBOOK_BUDGET)
    data = embed(thing, blobs, {})
    data.pop("at", None)
    return data


def as_image(svg: str, title: str) -> str:
    """An SVG as an image, in which no script can run."""
    text = base64.b64encode(svg.encode()).decode()
    return (
        f'<img alt="{escape(title)}" style="max-width:100%" src="data:image/svg+xml;base64,{text}">'
    )


def _compressed(html: str) -> str:
    """A page that decompresses itself: a third of the size, and notebooks keep every output."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    content = compressor.compress(html.encode()) + compressor.flush()
    template = web_files()["notebook.html"]
    return template.format_map({"compressed": base64.b64encode(content).decode()})


def widget(thing: Any) -> Any:
    """An anywidget of the page of a result; ``selection`` is what the user selects in it.

    ``selection`` has part, show, layer and head, and the positions of the chosen queries and keys.
    """
    if importlib.util.find_spec("anywidget") is None:
        raise BackendError(
            "a widget needs anywidget, which is not installed: pip install 'regard[notebook]'. "
            "Without it the result shows the same page, but no selection comes back to Python."
        )
    page = framed_content(thing)
    if len(page) > MAX_OUTPUT_CHARACTERS:
        raise ArgumentError(
            f"a widget's page must have at most {MAX_OUTPUT_CHARACTERS:,} characters, got "
            f"{len(page):,}: save it with .picture or as .html, or watch fewer layers."
        )
    return _widget_class()(
        page=page, title=f"{type(thing).__name__} of regard", height=FRAME_PIXELS
    )


@cache
def _widget_class() -> Any:
    import anywidget
    import traitlets

    script = (files("regard.view") / "web" / "widget.mjs").read_text(encoding="utf-8")

    class PageWidget(anywidget.AnyWidget):  # type: ignore[misc]
        """A page in a sandboxed frame; ``observe`` its ``selection`` as any trait."""

        _esm = script
        page = traitlets.Unicode().tag(sync=True)
        title = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int(FRAME_PIXELS).tag(sync=True)
        selection = traitlets.Dict().tag(sync=True)

    return PageWidget


@dataclass(frozen=True)
class HtmlOutput:
    """HTML that marimo puts into the cell itself; HTML with scripts would get a low frame."""

    html: str

    def _mime_(self) -> tuple[str, str]:
        return "text/html", self.html


def in_marimo(thing: Any) -> Any:
    """The widget where anywidget is installed and the page is not too large, else the frame."""
    if importlib.util.find_spec("anywidget") is not None:
        try:
            return widget(thing)
        except RegardError:  # no page of it, or a large one: what the frame shows instead
            pass
    return HtmlOutput(in_notebook(thing).replace(RESIZE, ""))
