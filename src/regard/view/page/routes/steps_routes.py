"""Steps: what a head's computation starts from, and the documents' examples."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from regard.errors import ArgumentError
from regard.view.page.jobs import Context, Fields, Stop
from regard.view.page.readings import without_position
from regard.view.page.steps_data import data_of_example, data_of_reading, example_summaries


def routes(context: Context) -> list[Route]:
    """steps, examples."""

    def steps(fields: Fields, stop: Stop) -> Response:
        if "example" in fields:
            data = data_of_example(str(fields["example"]))
        else:
            sentence, part = fields.get("sentence"), str(fields.get("part"))
            if not isinstance(sentence, str):
                raise ArgumentError("a sentence needs to be text: send it as 'sentence'.")
            reading = context.readings.of(sentence, stop.check, quick=part == "encoder")
            if fields.get("position") is False:
                reading = without_position(reading)
            numbers = [_number(fields, name) for name in ("layer", "head")]
            data = data_of_reading(reading, part, *numbers)
        return Response(data.to_bytes(), media_type="application/octet-stream")

    def examples(fields: Fields, stop: Stop) -> Response:
        return JSONResponse(example_summaries())

    return [context.post("/api/steps", steps), context.post("/api/examples", examples)]


def _number(fields: Fields, name: str) -> int | None:
    number = fields.get(name)
    if number is None:
        return None
    if not isinstance(number, int) or isinstance(number, bool):
        raise ArgumentError(f"{name} needs a whole number from 0, but it is {number!r}.")
    return number
