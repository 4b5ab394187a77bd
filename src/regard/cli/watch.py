"""regard watch: the attention of a Hugging Face model on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.atomic_write import write_text
from regard.cli.io import check_bounds, check_output_file, notice, show_json, text_argument
from regard.errors import ArgumentError, FileError
from regard.heads.links import single_word
from regard.watcher.media.picture_bytes import PictureBytes

if TYPE_CHECKING:
    from rich.progress import Progress

    from regard.watcher.files.model_folder import Loaded
    from regard.watcher.media.image_attention import ImageAttention
    from regard.watcher.seen import Seen
    from regard.watcher.watching import Watching


AblatedOption = Annotated[
    list[str] | None, typer.Option(help="Head that writes nothing, as 3.6 or cross.3.6.")
]

HiddenOption = Annotated[
    list[str] | None, typer.Option(help="Word that no other may look at; may be repeated.")
]

TurnedOption = Annotated[
    list[str] | None, typer.Option(help="Put a row on another word, as it:food:3.6.")
]

ToOption = Annotated[str, typer.Option(help="What an ablated head writes: zero or mean.")]

NextOption = Annotated[
    str, typer.Option(help="Effect of every head on the next token, WORD or WORD:WORD.")
]

NeedleOption = Annotated[
    bool, typer.Option("--needle", help="Retrieval heads: a needle put into the text, or our own.")
]

LinksOption = Annotated[
    Path | None, typer.Option(help="Agreement of heads with a CoNLL-U file or a table of links.")
]

WeightedOption = Annotated[
    str, typer.Option(help="'norm': a report of norm-weighted weights as well.")
]


@dataclass(frozen=True)
class WatchOptions:
    """What to change in a run, and what to ask beside it."""

    ablate: Sequence[str] = ()
    knock_out: Sequence[str] = ()
    redirect: Sequence[str] = ()
    to: str = "zero"
    effects: str = ""
    weighted: str = ""

    def check(self) -> None:
        """Raise what can be wrong without the model."""
        from regard.engine.norm_weighted import check_weighted
        from regard.watcher.watching import check_ablation

        check_ablation(self.to)
        if self.to != "zero" and not (self.ablate or self.effects):
            raise ArgumentError(
                f"--to {self.to} needs --ablate or --effects: it says what an ablated head writes."
            )
        check_weighted(self.weighted or None)
        for text in self.ablate:
            _head("--ablate", text)
        for text in self.redirect:
            _turn(text)

    @property
    def changes(self) -> bool:
        """Whether something is changed."""
        return any((self.ablate, self.knock_out, self.redirect))

    def applied(self, watching: Watching) -> Watching:
        """The block with the changes."""
        for text in self.ablate:
            part, layer, head = _head("--ablate", text)
            watching = watching.ablate(layer, head, part=part, to=self.to)
        if self.knock_out:
            words = [text_argument("--knock-out", word) for word in self.knock_out]
            watching = watching.knock_out(*words)
        for text in self.redirect:
            word, to, part, layer, head = _turn(text)
            watching = watching.redirect(word, to, layer, head, part=part)
        return watching

    def results(self, seen: Seen) -> dict[str, Any]:
        """What was asked beside the report, by name, each with a text and ``to_dict``."""
        from regard.progress import late_bar

        results: dict[str, Any] = {"sinks": seen.sinks()}
        if self.changes:
            results["outcome"] = seen.outcome
        if self.effects:
            of, _, against = text_argument("--effects", self.effects).partition(":")
            with late_bar("heads") as notice:
                results["effects"] = seen.effects(of, against or None, to=self.to, notice=notice)
        if self.weighted:
            results["norm_weighted"] = seen.report(self.weighted)
        return results


def show_heads(
    loaded: Loaded, options: WatchOptions, text: str, links: Path | None, heads: int, json: bool
) -> None:
    """Print the retrieval heads of a text, or the agreement of heads with links."""
    from regard.view.terminal.style import terminal_style
    from regard.view.terminal.watch import agreement_page, needle_page
    from regard.watcher.watch import watch

    watching = options.applied(watch(loaded.model, tokenizer=loaded.tokenizer))
    if links is not None:
        agreement = watching.links(links)
        shown = agreement_page(agreement, terminal_style(), max(heads, 1))
        values = agreement.to_dict()
    else:
        report = watching.needle(text)
        shown, values = needle_page(report, terminal_style(), max(heads, 1)), report.to_dict()
    if json:
        show_json(values)
    else:
        print(shown)


def _head(option: str, text: str) -> tuple[str | None, int, int]:
    *front, layer, head = text.strip().rsplit(".", 2) if text.count(".") else ("", "", "")
    if not layer.isdecimal() or not head.isdecimal():
        raise ArgumentError(
            f"{option} needs a layer and a head, as in 3.6 or cross.3.6, but it is {text!r}."
        )
    return front[0] if front else None, int(layer), int(head)


def _turn(text: str) -> tuple[str, str, str | None, int, int]:
    word, _, rest = text_argument("--redirect", text).partition(":")
    to, _, head = rest.partition(":")
    if not word or not to or not head:
        raise ArgumentError(
            f"--redirect needs two words and a head, as in it:food:3.6, but it is {text!r}."
        )
    return word, to, *_head("--redirect", head)


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
    from regard.watcher.watch import Options

    requested: dict[str, Any] = {
        "layers": _layers("--layers", layers), "top": top, "map": map,
        "keep": _layers("--keep", keep) if keep else (),
    }  # fmt: skip
    Options.of(requested["layers"], top, map, requested["keep"], None)
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
    requested |= {"tokenizer": loaded.tokenizer, "notice": lambda layer: progress.advance(bar)}
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
    from regard.view.terminal.watch import links_text, report_text, summary

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


SAVED = (".png", ".svg", ".json", ".html", ".regard")

ANSWER = 20  # tokens to generate where nothing else is asked for

MOST_WORDS = 30


@dataclass(frozen=True)
class ImageRequest:
    """Pictures, the text beside them, and what to show: a head, the row of a word, a file."""

    pictures: tuple[PictureBytes, ...]
    text: str
    generate: int
    head: tuple[int, int] | None
    word: str | None
    save: Path | None

    @classmethod
    def of(
        cls,
        images: list[Path],
        text: str,
        generate: int,
        head: str,
        find: list[str] | None,
        save: Path | None,
    ) -> ImageRequest:
        """The request, refused before a model is loaded where it cannot be."""
        if not images:
            raise ArgumentError("--head shows a head on an image: give one with --image.")
        if save is not None:
            check_output_file("--save", save, SAVED)
        pictures = tuple(PictureBytes.of(path) for path in images)
        return cls(pictures, text, generate, _head(head), " ".join(find or []) or None, save)

    def watch(self, folder: Path, requested: dict[str, Any], as_json: bool) -> None:
        """Load the model, run it on the images, and show where it looked."""
        from regard.watcher.media.media_folder import load_image_folder

        seen, written, start = run_on_images(load_image_folder(folder), self, requested)
        image = self.attention(seen, start)
        if self.save is not None:
            saver = seen if self.save.suffix.lower() in (".html", ".regard") else image
            saver.save(self.save)
            notice(f"Saved as {self.save}.")
        if as_json:
            show_json({"written": written, **image.to_dict()})
            return
        show(seen, image, written, start)

    def attention(self, seen: Seen, start: int | None) -> ImageAttention:
        """What is shown: a word's row, else the rows that wrote the answer, else the usual ones."""
        layer, head = self.head or (None, None)
        if start is None:
            return seen.image(layer=layer, head=head, word=self.word)
        if self.word is not None:
            text = seen.texts(_text_part(seen))[0]
            number = single_word(text.words, self.word)
            when = "written" if text.word_of_token.index(number) >= start else "read"
            return seen.image(layer=layer, head=head, word=number, when=when)
        rows = len(seen.texts(_text_part(seen))[0].tokens)
        return seen.image(layer=layer, head=head, query=(start - 1, rows))


def run_on_images(
    loaded: Loaded, request: ImageRequest, requested: dict[str, Any]
) -> tuple[Seen, str, int | None]:
    """What was seen, the text that was written, and the position of its first token."""
    import torch

    from regard.watcher.media.media_folder import image_inputs
    from regard.watcher.watch import watch

    if request.generate and not loaded.writes:
        raise ArgumentError(
            f"--generate needs a model that writes, but {type(loaded.model).__name__} only reads."
        )
    inputs = image_inputs(loaded, request.pictures, request.text)
    prompt = 1 if loaded.two_sided else inputs["input_ids"].shape[1] if loaded.writes else 0
    tokens = prompt + (request.generate or ANSWER)
    if tokens > requested["map"] and not requested["keep"]:
        requested = requested | {"keep": "all"}  # single rows of a long text need query and key
    names = {"tokenizer": loaded.tokenizer, "processor": loaded.processor}
    with torch.no_grad(), watch(loaded.model, **requested, **names) as seen:
        if loaded.writes:
            output = loaded.model.generate(**inputs, max_new_tokens=request.generate or ANSWER,
                                           do_sample=False, num_beams=1)  # fmt: skip
        else:
            loaded.model(**inputs)
    seen = seen.with_picture(*request.pictures)
    if not loaded.writes:
        return seen, "", None
    if seen.sentences > 1:  # every image is a sentence of the encoder; the text is one
        seen = seen.sentence(0)
    written = loaded.tokenizer.decode(output[0][prompt:], skip_special_tokens=True)
    return seen, str(written), prompt


def show(seen: Seen, image: ImageAttention, written: str, start: int | None) -> None:
    """Print what was written, where each of its words looked, and the strongest patches."""
    from regard.view.terminal.style import terminal_style
    from regard.view.terminal.watch import image_text, words_text

    style = terminal_style()
    if start is not None:
        print("\n".join(style.wrap(f"Written: {written!r}")))
        print("\n" + words_text(written_words(seen, start), style) + "\n")
    print(image_text(image, style))


def written_words(seen: Seen, start: int) -> list[tuple[str, ImageAttention]]:
    """Each word of the answer, and where the model looked when it wrote it: mean of all heads."""
    part = _text_part(seen)
    text = seen.texts(part)[0]
    words = [
        number for number in range(len(text.words)) if text.word_of_token.index(number) >= start
    ]
    return [
        (text.words[number], seen.image(word=number, when="written", part=part))
        for number in words[:MOST_WORDS]
    ]


def _text_part(seen: Seen) -> str:
    return "cross" if "cross" in seen.parts else "decoder"


def _head(head: str) -> tuple[int, int] | None:
    if not head:
        return None
    layer, _, number = head.partition(".")
    if not (layer.isdecimal() and number.isdecimal()):
        raise ArgumentError(
            f"--head needs a layer and a head from 0, such as 11.3, but it is {head!r}."
        )
    return int(layer), int(number)
