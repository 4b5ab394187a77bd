"""Model: what a loaded model is, a text through it, and how far it is with one."""

from __future__ import annotations

from dataclasses import asdict

from regard.errors import ArgumentError
from regard.view.page.answers import Answer, AnswerTable, Fields, Sources, Stop, json_answer
from regard.view.page.live import LiveModel, Request


def answers(sources: Sources) -> AnswerTable:
    """about, read and progress of the model that the command line named."""

    def model() -> LiveModel:
        if sources.model is None:
            raise ArgumentError("no model is loaded: start the page with regard open --model.")
        return sources.model

    def about(fields: Fields, stop: Stop) -> Answer:
        return json_answer(model().about())

    def read(fields: Fields, stop: Stop) -> Answer:
        return json_answer(model().read(Request.from_fields(fields, model().text), stop))

    def progress(fields: Fields, stop: Stop) -> Answer:
        return json_answer(asdict(model().progress))

    return {
        "/api/model/about": about,
        "/api/model/read": read,
        "/api/model/progress": progress,
    }
