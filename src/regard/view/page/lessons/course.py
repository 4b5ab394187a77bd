"""The pages of the course by name, and the course as one file."""

from __future__ import annotations

from collections.abc import Callable

from regard.errors import ArgumentError
from regard.view.page.lessons import document_facts as documents
from regard.view.page.lessons import model_facts as model
from regard.view.page.lessons.model_facts import Facts, Read

PAGES: dict[str, Callable[[Read, Read], Facts]] = {
    "look": model.look,
    "scores": lambda *_: documents.scores(),
    "shares": lambda *_: documents.shares(),
    "sum": lambda *_: documents.weighted_sum(),
    "division": lambda *_: documents.division(),
    "order": lambda *_: documents.order(),
    "batch": lambda *_: documents.batch(),
    "habit": model.habit,
    "tell": model.tell,
}


def facts_of(page: object, glance: Read, read: Read) -> Facts:
    """Facts of one page; ``glance`` reads the English side alone, ``read`` the whole sentence."""
    if not isinstance(page, str) or page not in PAGES:
        raise ArgumentError(f"page needs to be one of {', '.join(PAGES)}, but it is {page!r}.")
    return PAGES[page](glance, read)


def course_page(glance: Read, read: Read) -> str:
    """The whole course in one HTML file, which needs neither server nor network."""
    from regard.view.page.blobs import Blobs
    from regard.view.page.offline import page_with

    facts = {page: facts_of(page, glance, read) for page in PAGES}
    return page_with({"views": ["learn"], "learn": facts, "address": "#learn"}, Blobs())
