"""Learn: the facts of one page of the course, computed; and the whole course as a file."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from regard.view.page.jobs import Context, Fields, Stop
from regard.view.page.lessons.course import course_page, facts_of
from regard.view.page.lessons.model_facts import Read
from regard.view.page.readings import Readings


def routes(context: Context) -> list[Route]:
    """learn: { page } -> facts; keep/learn -> HTML."""
    # The course is about the shipped model, whichever one is open.
    readings = context.readings if context.readings.is_shipped else Readings()

    def readers(stop: Stop) -> tuple[Read, Read]:
        return (
            lambda sentence: readings.of(sentence, stop.check, quick=True),
            lambda sentence: readings.of(sentence, stop.check),
        )

    def learn(fields: Fields, stop: Stop) -> Response:
        return JSONResponse(facts_of(fields.get("page"), *readers(stop)))

    def html(fields: Fields, stop: Stop) -> Response:
        return Response(course_page(*readers(stop)), media_type="text/html")

    return [context.post("/api/learn", learn), context.post("/api/export/learn", html)]
