"""The routes of the page, a file for each view: ``routes(context) -> list[Route]``."""

from __future__ import annotations

from starlette.routing import Route

from regard.view.explorer.context import Context
from regard.view.explorer.routes import export, learn, map, read, steps


def all_routes(context: Context) -> list[Route]:
    """Every route but the page's own files."""
    return [route for part in (read, steps, map, learn, export) for route in part.routes(context)]
