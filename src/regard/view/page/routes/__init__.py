"""The routes of the page, a file for each view: ``routes(context) -> list[Route]``."""

from __future__ import annotations

from starlette.routing import Route

from regard.view.page.jobs import Context
from regard.view.page.routes import experiments, export, learn, map, read, steps


def all_routes(context: Context) -> list[Route]:
    """Every route but the page's own files."""
    parts = (read, experiments, steps, map, learn, export)
    return [route for part in parts for route in part.routes(context)]
