"""Display of results: text in a terminal, a page in a notebook, a picture, a worksheet.

A result does not import what draws it. ``regard.view`` has a table of renderers by type and form,
and the mix-ins here look them up when a result is shown.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def render(form: str, result: Any, *arguments: Any, **options: Any) -> Any:
    """Call the renderer that ``regard.view`` registers for this type of result.

    Parameters
    ----------
    form : str
        What to make of it: 'text', 'html', 'picture', 'worksheet', ...
    """
    # By name: the view imports the results, so that a static import here would close a cycle.
    renderers: dict[str, dict[str, str]] = import_module("regard.view").RENDERERS
    for kind in type(result).__mro__:
        target = renderers.get(f"{kind.__module__}.{kind.__qualname__}", {}).get(form)
        if target is not None:
            module, _, name = target.partition(":")
            return getattr(import_module(module), name)(result, *arguments, **options)
    raise TypeError(f"regard.view has no {form!r} renderer for {type(result).__name__}")


class TextDisplay:
    """Mix-in whose repr is its text: in a terminal, in a notebook, and inside lists there.

    A dataclass that takes it says ``repr=False``. The text is the registered one, or that of a
    ``__str__`` of its own.
    """

    def __str__(self) -> str:
        return str(render("text", self))

    def __repr__(self) -> str:
        return str(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


class NotebookDisplay:
    """Mix-in of a result that a notebook shows as a page of its own."""

    def __str__(self) -> str:
        return str(render("text", self))

    def _repr_html_(self) -> str:
        return str(render("html", self))

    def _display_(self) -> Any:
        """The output of a cell in marimo."""
        return render("marimo", self)

    def widget(self) -> Any:
        """The same page as an anywidget: what is chosen in it comes back as ``selection``.

        Needs anywidget: ``pip install 'regard[notebook]'``.
        """
        return render("widget", self)


def percent(share: Any, decimals: int = 0) -> str:
    """A share, 0 to 1, in percent; a share that is more than nothing never reads as 0 %.

    >>> percent(0.876), percent(0.876, decimals=1), percent(0.0004, decimals=1)
    ('88 %', '87.6 %', '< 0.1 %')
    """
    number = f"{100 * float(share):.{decimals}f}"
    return (
        f"< {10.0**-decimals:.{decimals}f} %" if share > 0 and float(number) == 0 else f"{number} %"
    )
