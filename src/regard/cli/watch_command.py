"""regard watch: what a Hugging Face model on this machine attends to."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.errors import ArgumentError, FileError

if TYPE_CHECKING:
    from rich.progress import Progress

    from regard.watcher.model_folder import Loaded
    from regard.watcher.seen import Seen

_MODEL = typer.Argument(help="Folder of the model and its tokenizer, or a .gguf file.")
_TEXT = typer.Argument(help="A text in quotes, or @file.")


def watch(
    model: Annotated[Path, _MODEL],
    text: Annotated[str, _TEXT],
    *,
    generate: Annotated[int, typer.Option(help="Let it write so many tokens more.")] = 0,
    find: Annotated[list[str] | None, typer.Option(help="Two words: 'it dog'.")] = None,
    layers: Annotated[str, typer.Option(help="Such as 0,4,5; all unless given.")] = "all",
    keep: Annotated[str, typer.Option(help="Layers whose query and key are kept.")] = "",
    top: Annotated[int, typer.Option(help="Best keys of each query.")] = 16,
    map: Annotated[int, typer.Option(help="Equal blocks of the map a side, at most.")] = 512,
    sort: Annotated[str, typer.Option(help="Report by this measure, such as induction.")] = "",
    heads: Annotated[int, typer.Option(help="How many heads of the report to show.")] = 8,
    save: Annotated[Path | None, typer.Option(help="Keep it: x.regard or x.html.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the report as a table.")] = None,
    json: Annotated[bool, typer.Option("--json", help="The report, for programs.")] = False,
) -> None:
    """Run a model on a text and show what its heads attend to, exactly.

    The model stays on this machine and computes what it always does. Layers and heads count from 0.
    """
    from regard.watcher.head_report import Report
    from regard.watcher.model_folder import load_folder
    from regard.watcher.watch import Options

    wanted: dict[str, Any] = {"layers": _layers("--layers", layers), "top": top, "map": map,
                              "keep": _layers("--keep", keep) if keep else ()}  # fmt: skip
    # What can be wrong without the model is said before it is loaded.
    Options.of(wanted["layers"], top, map, wanted["keep"], None)
    Report(()).sorted(sort or "entropy")
    content, words = _content(text), _words(find)
    with _progress() as progress:
        step = progress.add_task("loading the model", total=None)
        loaded = load_folder(model)
        progress.remove_task(step)
        seen, written = _run(loaded, content, generate, wanted, progress)
    if save is not None:
        seen.save(save)
    report = seen.report()
    if csv is not None:
        report.to_csv(csv)
    if json:
        from regard.cli.output import show_json

        show_json({"written": written, **report.to_dict()})
        return
    _show(seen, words, written, sort, heads)


def _run(
    loaded: Loaded, content: str, generate: int, wanted: dict[str, Any], progress: Progress
) -> tuple[Seen, str]:
    """Watch the model read, and write where it can; the bar counts layers, then tokens."""
    import torch

    from regard.watcher.watch import watch as watching

    if generate and not loaded.writes:
        raise ArgumentError(
            f"--generate needs a model that writes, but {type(loaded.model).__name__} only reads."
        )
    if loaded.two_sided:
        generate = generate or 50
    inputs = _inputs(loaded, content, 0 if loaded.two_sided else generate)
    bar = progress.add_task("reading", total=max(1, generate) * _layers_of(loaded))
    wanted |= {"tokenizer": loaded.tokenizer, "notice": lambda place: progress.advance(bar)}
    with torch.no_grad(), watching(loaded.model, **wanted) as seen:
        if not generate:
            loaded.model(**inputs)
            return seen, ""
        progress.update(bar, description="writing")
        output = loaded.model.generate(**inputs, max_new_tokens=generate, do_sample=False,
                                       num_beams=1)  # fmt: skip
    start = 0 if loaded.two_sided else inputs["input_ids"].shape[1]
    return seen, str(loaded.tokenizer.decode(output[0][start:], skip_special_tokens=True))


def _inputs(loaded: Loaded, content: str, more: int) -> Any:
    """The text as the model takes it; one that is too long is said before it breaks the model."""
    inputs = loaded.tokenizer(content, return_tensors="pt", verbose=False)
    inputs.pop("token_type_ids", None)
    tokens = inputs["input_ids"].shape[1]
    most = getattr(loaded.model.config, "max_position_embeddings", None) or tokens + more
    if not 0 < tokens <= most - more:
        raise ArgumentError(
            f"the text needs from 1 to {most - more:,} tokens, as many as "
            f"{type(loaded.model).__name__} can read{' and write' if more else ''}, but it has "
            f"{tokens:,}."
        )
    return inputs


def _show(seen: Seen, words: tuple[str, str] | None, written: str, sort: str, heads: int) -> None:
    from regard.view.terminal.style import terminal_style
    from regard.view.terminal.watch_text import links_text, report_text, summary

    style = terminal_style()
    print(summary(seen, style))
    if written:
        print("\n" + "\n".join(style.wrap(f"Written: {written!r}")))
    if words is not None:
        print("\n" + links_text(seen.find(*words)))
    report = seen.report().sorted(sort) if sort else seen.report()
    if heads:
        print("\n" + report_text(report, style, heads))


def _content(text: str) -> str:
    if not text.startswith("@"):
        return text
    path = Path(text[1:])
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path} needs to be a text file, but: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise FileError(f"{path} needs to be text in UTF-8, but it is something else.") from None


def _words(find: list[str] | None) -> tuple[str, str] | None:
    parts = " ".join(find or []).split()
    if not parts:
        return None
    if len(parts) != 2:
        raise ArgumentError(f"--find needs two words, as in 'it dog', but it is {parts}.")
    return parts[0], parts[1]


def _layers(name: str, wanted: str) -> Any:
    if wanted == "all":
        return wanted
    try:
        return [int(number) for number in wanted.replace(",", " ").split()]
    except ValueError:
        raise ArgumentError(
            f"{name} needs all or numbers such as 0,4,5, but it is {wanted!r}."
        ) from None


def _layers_of(loaded: Loaded) -> int:
    config = loaded.model.config
    return int(getattr(config, "num_hidden_layers", 0) or 1) * (2 if loaded.two_sided else 1)


@contextmanager
def _progress() -> Iterator[Progress]:
    """Bars on the error stream, so that a pipe gets the result alone."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    parts = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*parts, console=console, transient=True, disable=not sys.stderr.isatty()) as bars:
        yield bars
