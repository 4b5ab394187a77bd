"""The explorer as one HTML file, with the data of a reading, steps, an observation or a model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, singledispatch
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from regard.atomic_write import write_text
from regard.corpus.survey import Survey
from regard.engine.observation import Observation
from regard.errors import ArgumentError
from regard.heads.links import CAUTION
from regard.textbook.steps import Steps
from regard.transformer.reading import Reading
from regard.view.page.blobs import Blobs
from regard.view.page.embed import embed_map, embed_reading, embed_watched
from regard.view.page.map_source import MapSource, source_of_observation
from regard.view.page.single_file import (
    bundle,
    json_block,
    page_style,
    single_file,
    text_block,
    web_files,
)
from regard.view.page.steps_data import data_of_steps
from regard.watcher.seen import Seen

ENTRY = "lib/embedded.js"


def offline_page(thing: Any, state: Mapping[str, Any] | None = None) -> str:
    """The page of a reading, steps, an observation or a watched model, opened at ``state``."""
    blobs = Blobs()
    data = embed(thing, blobs, state or {})
    at = dict(data.pop("at", state or {}))
    view = at.pop("view", data["views"][0])
    return page_with(data | {"address": address(view, at)}, blobs)


def offline_map(source: MapSource) -> str:
    """The page of the maps of one file."""
    blobs = Blobs()
    return page_with(embed_map(source, blobs) | {"address": "#map"}, blobs)


def save_page(thing: Any, path: Path) -> None:
    """Write the page of a thing into a file."""
    write_text(path, offline_page(thing))


@singledispatch
def embed(thing: Any, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    """Data for ``web/lib/embedded.js``; arrays go into ``blobs``."""
    raise ArgumentError(
        "a page needs a reading, steps, an observation or what watch saw, but this is "
        f"{type(thing).__name__}."
    )


@embed.register
def _(thing: Reading, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    return embed_reading(thing, blobs, state)


@embed.register
def _(thing: Steps, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    chosen = {x: state[x] for x in ("head", "sentence") if x in state}
    data = data_of_steps(thing, **chosen).to_bytes()
    return {"views": ["steps"], "at": {}, "steps": {"": blobs.add(data)}}


@embed.register
def _(thing: Observation, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    return embed_map(source_of_observation(thing), blobs)


@embed.register
def _(thing: Seen, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    return embed_watched(thing, blobs)


def address(view: str, state: Mapping[str, Any]) -> str:
    """The fragment of an address: a view and its state.

    >>> address("read", {"layer": 3, "head": 6, "word": None})
    '#read?layer=3&head=6'
    """
    fields = {name: value for name, value in state.items() if value is not None}
    return f"#{view}" + (f"?{urlencode(fields)}" if fields else "")


def page_with(data: Mapping[str, Any], blobs: Blobs) -> str:
    """The explorer with these data embedded."""
    from regard import __version__

    return single_file(
        web_files()["page.html"],
        style=page_style(),
        script=_script(),
        blocks=[
            json_block("embedded", {"version": __version__, **data}),
            text_block("numbers", blobs.text),
        ],
        policy=["img-src data: blob:"],
    )


@cache
def _script() -> str:
    return bundle(web_files(), ENTRY)


def survey_page(survey: Survey) -> str:
    """The report of a survey; text of documents is shown as text, never as markup."""
    from regard import __version__

    texts = web_files()
    return single_file(
        texts["survey/survey.html"],
        style=page_style() + texts["survey/survey.css"],
        script=bundle(texts, "survey/survey.js"),
        blocks=[json_block("report", survey.report)],
        version=__version__,
        caution=CAUTION,
    )
