"""The answers of the page, a file for each view: ``answers(sources) -> {path: function}``."""

from __future__ import annotations

import os

from regard import __version__
from regard.view.figure.matplotlib_backend import is_installed
from regard.view.page.answers import Answer, AnswerTable, Fields, Sources, Stop, json_answer
from regard.view.page.routes import experiments, export, learn, map, model, monitor, read, steps

# Of the public site, for links to share; REGARD_SITE names another. None: there is none yet.
PUBLIC_ADDRESS: str | None = None


def all_answers(sources: Sources) -> AnswerTable:
    """Every answer by its path."""

    def page(fields: Fields, stop: Stop) -> Answer:
        names = [path.name for path in sources.files]
        trainings = [path.name for path in sources.trainings]
        address = os.environ.get("REGARD_SITE") or PUBLIC_ADDRESS
        about = {"version": __version__, "files": names, "trainings": trainings}
        model = None if sources.model is None else sources.model.name
        return json_answer({**about, "model": model, "address": address, "pdf": is_installed()})

    table: AnswerTable = {"/api/page": page}
    for view in (read, experiments, steps, map, model, learn, export, monitor):
        table |= view.answers(sources)
    return table
