"""Output of a cell in marimo: the widget of a result, or its page in a frame of fixed height."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

from regard.errors import RegardError
from regard.view.page.notebook import RESIZE, in_notebook
from regard.view.page.widget import widget


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
