"""How things show themselves: text in a terminal, a page in a notebook, a picture, a worksheet."""

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from regard.textbook.steps import Steps
    from regard.view.figure.figure import Picture
    from regard.view.worksheet.worksheet import Worksheet


class NotebookDisplay:
    """What a notebook shows as a page of its own."""

    def _repr_html_(self) -> str:
        from regard.view.page.notebook import in_notebook

        return in_notebook(self)


class StepsDisplay(NotebookDisplay):
    """The ways to look at Steps; what they hold is in ``steps``."""

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
