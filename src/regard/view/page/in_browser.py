"""The table of answers inside a browser: Python of the worker (web/site/worker.js) calls it.

The same functions as at home. What differs is around them: no token, no threads, files that are
dropped on the page, and pasted code, which the browser's own sandbox contains.
"""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from regard.errors import ArgumentError, RegardError
from regard.transformer.checkpoint import PARAMETERS, SHIPPED
from regard.transformer.reading import shipped_model
from regard.view.page import readings
from regard.view.page.answers import (
    Answer,
    Fields,
    Sources,
    Stop,
    error_answer,
    json_answer,
    json_fields,
)
from regard.view.page.readings import text_field
from regard.view.page.routes import all_answers
from regard.view.page.runs import open_run

MAX_CACHE_BYTES = 60_000_000  # of readings; a tab has less memory than a machine
INTERNAL_ERROR_MESSAGE = (
    "Something went wrong inside the explorer: this is a defect. The browser's console has it."
)

PASTED_NAME = "pasted code"
BrowserAnswer = tuple[int, list[tuple[str, str]], bytes]  # as a Response of JavaScript takes it


class BrowserPage:
    """The page's answers in a browser, with the files that were dropped on it."""

    def __init__(self) -> None:
        self.files: list[Path] = []
        self.answers = all_answers(Sources(files=self.files)) | {"/api/check": check_code}

    def answer(self, path: str, body: str) -> BrowserAnswer:
        """The answer to a request."""
        if path not in self.answers:
            return _browser_answer(error_answer(f"There is no answer {path}.", 404))
        compute = self.answers[path]
        content = body.encode("utf-8", "surrogatepass")
        return _browser_answer(_attempt(lambda: compute(json_fields(content), Stop())))

    def open_file(self, path: str) -> BrowserAnswer:
        """Add a .regard file that was dropped: its index."""
        return _browser_answer(_attempt(lambda: self._opened(Path(path))))

    def load_model(self) -> None:
        """Load the model from its file, which then goes: it would be in memory twice."""
        shipped_model()
        (SHIPPED / PARAMETERS).unlink()

    def _opened(self, path: Path) -> Answer:
        try:
            open_run(path)
        except RegardError:
            path.unlink()
            raise
        self.files.append(path)
        return json_answer({"file": len(self.files) - 1})


def check_code(fields: Fields, stop: Stop) -> Answer:
    """The report of regard.check on pasted code; its last function is the one that is checked.

    Only in a browser, whose sandbox contains the code. The page ends the worker if it takes long.
    """
    from regard.checker.check import check

    code = text_field(fields, "code")
    names: dict[str, Any] = {"__name__": PASTED_NAME}
    # Where inspect finds the source of a function.
    linecache.cache[PASTED_NAME] = (len(code), None, code.splitlines(keepends=True), PASTED_NAME)
    try:
        exec(compile(code, PASTED_NAME, "exec"), names)  # noqa: S102
    except (Exception, SystemExit) as error:
        raise ArgumentError(f"the code must run, got {type(error).__name__}: {error}") from None
    functions = [x for x in names.values() if isinstance(x, FunctionType)]
    pasted = [x for x in functions if x.__code__.co_filename == PASTED_NAME]
    if not pasted:
        raise ArgumentError("the code must define a function such as def attention(q, k, v): ...")
    return json_answer(check(pasted[-1]).to_dict())


def _attempt(make: Callable[[], Answer]) -> Answer:
    try:
        return make()
    except RegardError as error:
        return error_answer(str(error), 400)
    except Exception:
        traceback.print_exc()
        return error_answer(INTERNAL_ERROR_MESSAGE, 500)


def _browser_answer(made: Answer) -> BrowserAnswer:
    headers = [("Content-Type", made.media_type), *made.headers.items()]
    return made.status, headers, made.content


def start() -> BrowserPage:
    """The page of the worker."""
    readings.MAX_CACHE_BYTES = MAX_CACHE_BYTES
    return BrowserPage()
