"""regard open: the explorer, a page on this machine."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import nullcontext
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from regard.errors import ArgumentError, FileError

if TYPE_CHECKING:
    from regard.transformer.model import Transformer


def open_explorer(
    what: Annotated[
        list[str] | None, typer.Argument(help="A sentence, .regard files, or a training.")
    ] = None,
    *,
    browser: Annotated[bool, typer.Option(help="Open a browser, or print the address.")] = True,
    port: Annotated[int, typer.Option(help="Port; 0 for any free one.", min=0, max=65535)] = 0,
    model: Annotated[Path | None, typer.Option(help="Folder of another model.")] = None,
) -> None:
    """Open the explorer in the browser. It runs on this machine only; Ctrl-C stops it."""
    from regard.view.page.access import launch_page
    from regard.view.page.jobs import Context
    from regard.view.page.maps import open_file
    from regard.view.page.readings import Readings
    from regard.view.page.server import address, bind, serve

    trainings = trainings_among(what or [])
    sentence, files = sentence_or_files([] if trainings else what or [])
    for path in files:
        open_file(path)  # an unreadable file is an error before the server starts
    context = Context(readings=Readings(_model(model)), files=files, trainings=trainings)
    bound = bind(port)
    view, state = ("training", {}) if trainings else first_view(sentence, files)
    url = address(bound.getsockname()[1], context.token, view, **state)

    def ready() -> None:
        print(f"The explorer is at {url}\nCtrl-C stops it.", flush=True)
        if launcher:
            Thread(target=webbrowser.open, args=(launcher,), daemon=True).start()

    with launch_page(url) if browser else nullcontext() as launcher:
        serve(context, bound, ready)
    print("Stopped.", file=sys.stderr)


def trainings_among(arguments: list[str]) -> tuple[Path, ...]:
    """Arguments of open where one is the folder of a monitored training.

    >>> trainings_among(["A dog ate"])
    ()
    """
    try:
        found = [Path(one) for one in arguments if (Path(one) / "monitor.json").is_file()]
    except (OSError, ValueError):  # too long a name, or a NUL: a sentence
        return ()
    if found and len(arguments) > 1:
        raise ArgumentError("open takes one folder of a monitored training, and nothing else.")
    from regard.monitoring.folder import History

    for folder in found:
        History.load(folder)  # an unreadable one is an error before the server starts
    return tuple(found)


def sentence_or_files(arguments: list[str]) -> tuple[str, tuple[Path, ...]]:
    """Arguments of open: a sentence, or files where all of them end in .regard.

    >>> sentence_or_files(["A dog ate"])
    ('A dog ate', ())
    """
    paths = [one for one in arguments if one.endswith(".regard")]
    if not paths:
        if len(arguments) == 1:
            _check_not_other_path(arguments[0])
        return " ".join(arguments), ()
    if len(paths) < len(arguments):
        raise ArgumentError("open takes either a sentence or .regard files, not both.")
    for path in paths:
        if not Path(path).is_file():
            raise FileError(f"No such file: {path}")
    return "", tuple(Path(path) for path in paths)


def _check_not_other_path(argument: str) -> None:
    """Refuse a path that is neither a sentence nor a .regard file.

    One word that happens to be the name of a folder, such as Music, is a sentence.
    """
    path = Path(argument)
    try:
        is_file, is_model = path.is_file(), (path / "config.json").is_file()
        is_folder = path.is_dir() and len(path.parts) > 1
    except (OSError, ValueError):  # too long a name, or a NUL: a sentence
        return
    if is_file or is_model or is_folder:
        kind = "another kind of file" if is_file else "a folder"
        kind = "a model's folder" if is_model else kind
        example = f'regard watch {argument if is_model else "FOLDER"} "text" --save run.regard'
        raise FileError(
            f"open takes a sentence or a .regard file, but {argument} is {kind}. To make one: "
            f"{example}"
        )


def first_view(sentence: str, files: tuple[Path, ...]) -> tuple[str, dict[str, str]]:
    """The view to open: Read where the text can be read head by head, else Map."""
    if not files:
        return "read", {"sentence": sentence} if sentence else {}
    from regard.view.page.runs import readable_run

    return ("map", {}) if readable_run(files[0]) is None else ("read", {"file": "0"})


def _model(folder: Path | None) -> Transformer | None:
    if folder is None:
        return None
    from regard.transformer.checkpoint import load_model

    return load_model(folder)
