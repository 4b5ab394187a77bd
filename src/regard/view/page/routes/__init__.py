"""The routes of the page, a file for each view: ``routes(context) -> list[Route]``."""

from __future__ import annotations

from starlette.routing import Route

from regard.view.page.jobs import Context
from regard.view.page.routes import experiment_routes as experiment
from regard.view.page.routes import export_routes as export
from regard.view.page.routes import learn_routes as learn
from regard.view.page.routes import map_routes as map
from regard.view.page.routes import read_routes as read
from regard.view.page.routes import steps_routes as steps


def all_routes(context: Context) -> list[Route]:
    """Every route but the page's own files."""
    parts = (read, experiment, steps, map, learn, export)
    return [route for part in parts for route in part.routes(context)]
