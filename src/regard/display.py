"""Display of results: text in a terminal, a page in a notebook, a picture, a worksheet."""

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from regard.textbook.steps import Steps
    from regard.view.figure.figure import Picture
    from regard.view.worksheet.worksheet import Worksheet


class TextDisplay:
    """Mix-in whose repr is its text: in a terminal, in a notebook, and inside lists there.

    A dataclass that takes it says ``repr=False`` and has a ``__str__`` of its own.
    """

    def __repr__(self) -> str:
        return str(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


class NotebookDisplay:
    """Mix-in of a result that a notebook shows as a page of its own."""

    def _repr_html_(self) -> str:
        from regard.view.page.notebook import in_notebook

        return in_notebook(self)

    def _display_(self) -> Any:
        """The output of a cell in marimo."""
        from regard.view.page.widget import in_marimo

        return in_marimo(self)

    def widget(self) -> Any:
        """The same page as an anywidget: what is chosen in it comes back as ``selection``.

        Needs anywidget: ``pip install '.[notebook]'``.
        """
        from regard.view.page.widget import widget

        return widget(self)


class StepsDisplay(NotebookDisplay):
    """Mix-in of Steps: its text, its pictures and its worksheets."""

    def picture(self, stage: str = "weights", head: int = 0, **options: Any) -> "Picture":
        """One stage of one head to look at and to save; ``kind`` is 'lines' or 'heatmap'."""
        from regard.view.figure.build import picture_of_steps

        return picture_of_steps(cast("Steps", self), stage, head, options)

    def worksheet(self, row: str | int | None = None, **options: Any) -> "Worksheet":
        """The numbers of one row as blanks to fill in by hand, with a key; ``.save(path)`` it.

        ``every_row``, ``head``, ``sentence`` and ``digits`` by keyword.
        """
        from regard.view.worksheet.worksheet import worksheet

        return worksheet(cast("Steps", self), row, **options)

    def __str__(self) -> str:
        from regard.view.terminal.render import as_text

        return as_text(self)


def percent(share: Any, decimals: int = 0) -> str:
    """A share, 0 to 1, in percent; a share that is more than nothing never reads as 0 %.

    >>> percent(0.876), percent(0.876, decimals=1), percent(0.0004, decimals=1)
    ('88 %', '87.6 %', '< 0.1 %')
    """
    number = f"{100 * float(share):.{decimals}f}"
    return (
        f"< {10.0**-decimals:.{decimals}f} %" if share > 0 and float(number) == 0 else f"{number} %"
    )
