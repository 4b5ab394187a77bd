"""The report of a survey as one HTML file."""

from __future__ import annotations

from functools import cache
from typing import Any

from regard.heads.links import CAUTION
from regard.view.page.single_file import bundle, json_block, single_file, web_files


def page(report: dict[str, Any]) -> str:
    """The page with the report inside; text of documents is shown as text, never as markup."""
    from regard import __version__

    texts = web_files()
    return single_file(
        texts["survey/survey.html"],
        style=texts["style.css"] + texts["survey/survey.css"],
        script=_script(),
        blocks=[json_block("report", report)],
        version=__version__,
        caution=CAUTION,
    )


@cache
def _script() -> str:
    return bundle(web_files(), "survey/survey.js")
