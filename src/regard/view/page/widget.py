"""Widget of a result: its page in a notebook, whose selection comes back to Python (anywidget).

marimo shows a result as this widget, or without anywidget as a frame of fixed height.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from regard.errors import ArgumentError, BackendError, RegardError
from regard.view.page.notebook import HEIGHT, LARGEST, RESIZE, framed_content, in_notebook


def widget(thing: Any) -> Any:
    """An anywidget of the page of a thing; ``selection`` is what is chosen in it.

    ``selection`` has part, show, layer and head, and the positions of the chosen queries and keys.
    """
    if importlib.util.find_spec("anywidget") is None:
        raise BackendError(
            "a widget needs anywidget, and it is not installed: pip install '.[notebook]'. Without "
            "it the result shows the same page, and nothing comes back to Python."
        )
    page = framed_content(thing)
    if len(page) > LARGEST:
        raise ArgumentError(
            f"a widget needs a page of at most {LARGEST:,} characters, but this one has "
            f"{len(page):,}: save it with .picture or as .html, or watch fewer layers."
        )
    return _widget_class()(page=page, title=f"{type(thing).__name__} of regard", height=HEIGHT)


@cache
def _widget_class() -> Any:
    import anywidget
    import traitlets

    script = (files("regard.view") / "web" / "widget.mjs").read_text(encoding="utf-8")

    class PageWidget(anywidget.AnyWidget):  # type: ignore[misc]
        """A page in a shut frame; ``observe`` its ``selection`` as any trait."""

        _esm = script
        page = traitlets.Unicode().tag(sync=True)
        title = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int(HEIGHT).tag(sync=True)
        selection = traitlets.Dict().tag(sync=True)

    return PageWidget


@dataclass(frozen=True)
class HtmlOutput:
    """HTML that marimo puts into the cell itself; one with scripts it shuts in a low frame."""

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
