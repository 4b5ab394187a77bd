"""regard watch: the attention of a Hugging Face model on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.atomic_write import write_text
from regard.cli.argument_checks import check_bounds, check_output_file, text_argument
from regard.cli.output import notice, show_json
from regard.cli.watch_options import (
    AblatedOption,
    HiddenOption,
    LinksOption,
    NeedleOption,
    NextOption,
    ToOption,
    TurnedOption,
    WatchOptions,
    WeightedOption,
    show_heads,
)
from regard.errors import ArgumentError, FileError

if TYPE_CHECKING:
    from rich.progress import Progress

    from regard.watcher.files.model_folder import Loaded
    from regard.watcher.seen import Seen

_MODEL = typer.Argument(help="Folder of the model and its tokenizer, or a .gguf file.")
_TEXT = typer.Argument(help="A text in quotes, or @file; images of a vision model have none.")
_SAVE = typer.Option(help="File to save: x.regard, x.html; x.png.")


def watch(  # noqa: PLR0913 (each is an option of the command)
    model: Annotated[Path, _MODEL],
    text: Annotated[str | None, _TEXT] = None,
    *,
    image: Annotated[list[Path] | None, typer.Option(help="Image for the model to see.")] = None,
    head: Annotated[str, typer.Option(help="Head to show on the image, such as 11.3.")] = "",
    generate: Annotated[int, typer.Option(help="Generate this many more tokens.")] = 0,
    find: Annotated[list[str] | None, typer.Option(help="Two words: 'it dog'.")] = None,
    layers: Annotated[str, typer.Option(help="Layers to observe, such as 0,4,5.")] = "all",
    keep: Annotated[str, typer.Option(help="Layers whose query and key to keep.")] = "",
    top: Annotated[int, typer.Option(help="Largest weights to keep for each query.")] = 16,
    map: Annotated[int, typer.Option(help="Largest side of the map, in blocks.")] = 512,
    sort: Annotated[str, typer.Option(help="Measure to sort by, such as induction.")] = "",
    heads: Annotated[int, typer.Option(help="Number of heads to show in the report.")] = 8,
    save: Annotated[Path | None, _SAVE] = None,
    csv: Annotated[Path | None, typer.Option(help="File for the report as CSV.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    ablate: AblatedOption = None,
    knock_out: HiddenOption = None,
    redirect: TurnedOption = None,
    to: ToOption = "zero",
    effects: NextOption = "",
    weighted: WeightedOption = "",
    needle: NeedleOption = False,
    links: LinksOption = None,
) -> None:
    """Run a model on a text and show what its heads attend to, exactly.

    The model runs on this machine and its output is unchanged. Layers and heads count from 0.
    """
    from regard.cli.image_option import ImageRequest
    from regard.watcher.files.model_folder import load_folder

    # What can be wrong without the model is said before it is loaded.
    requested = _requested(layers, keep, top, map)
    _check_numbers(sort, generate, heads)
    if image or head:
        request = ImageRequest.of(image or [], _content(text or ""), generate, head, find, save)
        request.watch(model, requested, json)
        return
    _check_files(save, csv)
    more = WatchOptions(ablate or (), knock_out or (), redirect or (), to, effects, weighted)
    more.check()
    if needle or links is not None:
        show_heads(load_folder(model), more, _content(text or ""), links, heads, json)
        return
    content, words = _needed(text), _words(find)
    with _progress() as progress:
        step = progress.add_task("loading the model", total=None)
        loaded = load_folder(model)
        progress.remove_task(step)
        seen, written = _run(loaded, content, generate, requested, progress, more)
    _save(seen, save, csv)
    results = more.results(seen)
    if json:
        asked = {name: x.to_dict() for name, x in results.items()}
        show_json({"written": written, **seen.report().to_dict(), **asked})
        return
    _show(seen, words, written, sort, heads)
    print("".join(f"\n{result}\n" for result in results.values()), end="")


def _requested(layers: str, keep: str, top: int, map: int) -> dict[str, Any]:
    """The options of ``regard.watch``, validated."""
    from regard.watcher.options import Options

    requested: dict[str, Any] = {
        "layers": _layers("--layers", layers), "top": top, "map": map,
        "keep": _layers("--keep", keep) if keep else (),
    }  # fmt: skip
    Options.from_arguments(requested["layers"], top, map, requested["keep"], None)
    return requested


def _save(seen: Seen, save: Path | None, csv: Path | None) -> None:
    if save is not None:
        seen.save(save)
        notice(f"Saved as {save}.")
    if csv is not None:
        write_text(csv, seen.report().to_csv())
        notice(f"Saved as {csv}.")


def _check_numbers(sort: str, generate: int, heads: int) -> None:
    from regard.watcher.measures.head_report import HeadReport

    HeadReport(()).sorted(sort or "entropy")
    check_bounds("--generate", generate, 0)
    check_bounds("--heads", heads, 0)


def _check_files(save: Path | None, csv: Path | None) -> None:
    """Refuse files that cannot be written before the model is loaded and run."""
    if save is not None:
        check_output_file("--save", save, (".regard", ".html"))
    if csv is not None:
        check_output_file("--csv", csv, (".csv",))


def _run(
    loaded: Loaded,
    content: str,
    generate: int,
    requested: dict[str, Any],
    progress: Progress,
    more: WatchOptions,
) -> tuple[Seen, str]:
    """Watch the model read, and generate where it can; the bar counts layers of every call."""
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
    requested |= {"tokenizer": loaded.tokenizer, "progress": lambda layer: progress.advance(bar)}
    with torch.no_grad(), more.applied(watching(loaded.model, **requested)) as seen:
        if not generate:
            loaded.model(**inputs)
            return seen, ""
        progress.update(bar, description="writing")
        output = loaded.model.generate(**inputs, max_new_tokens=generate, do_sample=False,
                                       num_beams=1)  # fmt: skip
    start = 0 if loaded.two_sided else inputs["input_ids"].shape[1]
    return seen, str(loaded.tokenizer.decode(output[0][start:], skip_special_tokens=True))


def _inputs(loaded: Loaded, content: str, more: int) -> Any:
    """The text as the model takes it; one that is too long is refused."""
    inputs = loaded.tokenizer(content, return_tensors="pt", verbose=False)
    inputs.pop("token_type_ids", None)
    tokens = inputs["input_ids"].shape[1]
    most = getattr(loaded.model.config, "max_position_embeddings", None) or tokens + more
    if more >= most:
        raise ArgumentError(
            f"--generate needs fewer tokens than the {most:,} that {type(loaded.model).__name__} "
            f"can read and write, but it is {more:,}."
        )
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


def _needed(text: str | None) -> str:
    if text is None:
        raise ArgumentError("watch needs a text in quotes, @file, or --image, but there is none.")
    return _content(text)


def _content(text: str) -> str:
    if not text.startswith("@"):
        return text_argument("the text", text)
    path = Path(text[1:])
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FileError(f"{path} needs to be a text file, but: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise FileError(f"{path} needs to be text in UTF-8, but it is something else.") from None


def _words(find: list[str] | None) -> tuple[str, str] | None:
    parts = text_argument("--find", " ".join(find or [])).split()
    if not parts:
        return None
    if len(parts) != 2:
        raise ArgumentError(f"--find needs two words, as in 'it dog', but it is {parts}.")
    return parts[0], parts[1]


def _layers(option: str, listed: str) -> Any:
    if listed == "all":
        return listed
    try:
        numbers = [int(number) for number in listed.replace(",", " ").split()]
    except ValueError:
        numbers = []
    if not numbers:
        raise ArgumentError(f"{option} needs all or numbers such as 0,4,5, but it is {listed!r}.")
    return numbers


def _layers_of(loaded: Loaded) -> int:
    config = loaded.model.config
    return int(getattr(config, "num_hidden_layers", 0) or 1) * (2 if loaded.two_sided else 1)


@contextmanager
def _progress() -> Iterator[Progress]:
    """Progress bars on the error stream, so that a pipe gets the result alone."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    parts = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*parts, console=console, transient=True, disable=not sys.stderr.isatty()) as bars:
        yield bars
