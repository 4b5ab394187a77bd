"""Learn: the facts of one page of the course, computed; and the whole course as a file."""

from __future__ import annotations

from collections.abc import Callable

from regard.errors import ArgumentError
from regard.view.page.answers import (
    Answer,
    AnswerTable,
    Fields,
    Sources,
    Stop,
    html_answer,
    json_answer,
)
from regard.view.page.embed import Blobs, page_with
from regard.view.page.lessons import documents, model, story
from regard.view.page.lessons.model import Facts, Read
from regard.view.page.readings import Readings

PAGES: dict[str, Callable[[Read, Read], Facts]] = {
    "look": model.look,
    "vectors": story.vectors,
    "query": story.query_and_key,
    "scores": lambda *_: documents.scores(),
    "shares": lambda *_: documents.shares(),
    "division": lambda *_: documents.division(),
    "sum": lambda *_: documents.weighted_sum(),
    "habit": model.habit,
    "position": story.position,
    "mask": story.mask,
    "cross": story.cross,
    "layers": story.layers,
    "training": story.training,
    "experiment": story.experiment,
    "tell": model.tell,
    "printed": lambda *_: documents.printed(),
    "order": lambda *_: documents.order(),
    "batch": lambda *_: documents.batch(),
}


def answers(sources: Sources) -> AnswerTable:
    """learn: { page } -> facts; keep/learn -> HTML."""
    # The course is about the shipped model, whichever one is open.
    readings = sources.readings if sources.readings.is_shipped else Readings()

    def readers(stop: Stop) -> tuple[Read, Read]:
        return (
            lambda sentence: readings.read(sentence, stop.check, quick=True),
            lambda sentence: readings.read(sentence, stop.check),
        )

    def learn(fields: Fields, stop: Stop) -> Answer:
        return json_answer(page_facts(fields.get("page"), *readers(stop)))

    def html(fields: Fields, stop: Stop) -> Answer:
        return html_answer(course_page(*readers(stop)))

    return {"/api/learn": learn, "/api/export/learn": html}


def page_facts(page: object, glance: Read, read: Read) -> Facts:
    """Facts of one page; ``glance`` reads the English side alone, ``read`` the whole sentence."""
    if not isinstance(page, str) or page not in PAGES:
        raise ArgumentError(f"page must be one of {', '.join(PAGES)}, got {page!r}.")
    return PAGES[page](glance, read)


def course_page(glance: Read, read: Read) -> str:
    """The whole course in one HTML file, which needs neither server nor network."""
    facts = {page: page_facts(page, glance, read) for page in PAGES}
    return page_with({"views": ["learn"], "learn": facts, "address": "#learn"}, Blobs())
