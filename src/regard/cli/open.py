"""regard open: the explorer, a page on this machine."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import nullcontext
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.io import progress_bars, text_or_file
from regard.errors import ArgumentError, FileError

if TYPE_CHECKING:
    from regard.transformer.model import Transformer
    from regard.view.page.live import LiveModel


def open_explorer(
    what: Annotated[
        list[str] | None,
        typer.Argument(help="A sentence, .regard files, a training; a text or @file for --model."),
    ] = None,
    *,
    browser: Annotated[bool, typer.Option(help="Open a browser, or print the address.")] = True,
    port: Annotated[int, typer.Option(help="Port; 0 for any free one.", min=0, max=65535)] = 0,
    model: Annotated[
        Path | None,
        typer.Option(help="Model to keep loaded: a folder, a .gguf file, a name in the Hub cache."),
    ] = None,
) -> None:
    """Open the explorer in the browser. It runs on this machine only; Ctrl-C stops it."""
    from regard.view.page.access import launch_page
    from regard.view.page.jobs import Context
    from regard.view.page.readings import Readings
    from regard.view.page.runs import open_run
    from regard.view.page.server import address, bind, serve

    trainings = trainings_among(what or [])
    translator, live = None, None
    if model is not None and is_translator(model):
        translator = _translator(model)
    elif model is not None:
        live, what = _live(model, what or []), []
    sentence, files = sentence_or_files([] if trainings else what or [])
    for path in files:
        open_run(path)  # an unreadable file is an error before the server starts
    context = Context(readings=Readings(translator), files=files, trainings=trainings, model=live)
    bound = bind(port)
    view = "training" if trainings else "map" if files or live else "read"
    state = {"sentence": sentence} if sentence else {}
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
        if is_model:
            raise FileError(
                f"open takes a sentence or a .regard file, but {argument} is {kind}. To keep the "
                f"model loaded in the page: regard open --model {argument}"
            )
        raise FileError(
            f"open takes a sentence or a .regard file, but {argument} is {kind}. To make one: "
            'regard watch FOLDER "text" --save run.regard'
        )


def is_translator(folder: Path) -> bool:
    """Whether a folder holds a translator that model/train made."""
    from regard.transformer.checkpoint import DESCRIPTION, model_folder

    return (model_folder(folder) / DESCRIPTION).is_file()


def _translator(folder: Path) -> Transformer:
    from regard.transformer.checkpoint import load_model

    return load_model(folder)


def _live(folder: Path, what: list[str]) -> LiveModel:
    """Load a model, with the text that it is to read first."""
    from regard.view.page.live import LiveModel
    from regard.watcher.files.model_folder import load_folder

    if any(one.endswith(".regard") for one in what):
        raise ArgumentError("open takes either --model or .regard files, not both.")
    text = text_or_file(" ".join(what)) if what else ""
    with progress_bars() as progress:
        progress.add_task(f"loading {folder.name}", total=None)
        loaded = load_folder(folder)
    return LiveModel(loaded, folder.name, text)
