"""regard watch: the attention of a Hugging Face model on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.atomic_write import write_text
from regard.cli.io import (
    HeadNumber,
    check_bounds,
    check_output_file,
    notice,
    progress_bars,
    show_json,
    text_argument,
    text_or_file,
)
from regard.engine.call import check_weighted
from regard.errors import ArgumentError
from regard.heads.links import single_word
from regard.progress import late_bar
from regard.view.terminal.style import terminal_style
from regard.view.terminal.watch import (
    agreement_page,
    image_text,
    links_text,
    needle_page,
    report_text,
    summary,
    words_text,
)
from regard.watcher.media.picture_bytes import PictureBytes

if TYPE_CHECKING:
    from rich.progress import Progress

    from regard.watcher.files.model_folder import Loaded
    from regard.watcher.media.image_attention import ImageAttention
    from regard.watcher.seen import Seen
    from regard.watcher.watch import Watching

RUN_SUFFIXES = (".regard", ".html", ".csv")
IMAGE_SUFFIXES = (".png", ".svg", ".json", ".html", ".regard")
ANSWER_TOKENS = 20  # generated about an image where --generate is not given
MAX_WORDS_LISTED = 30


def _option(section: str, *names: str, help: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=section)


def _hidden(*names: str) -> Any:
    return typer.Option(*names, hidden=True)


_RUN, _REPORT, _CHANGE = "Options", "Report and files", "Experiments"


def watch(  # noqa: PLR0913 (each is an option of the command)
    model: Annotated[
        Path,
        typer.Argument(help="Folder of the model, a .gguf file, or a name in the local Hub cache."),
    ],
    text: Annotated[
        str | None, typer.Argument(help="A text in quotes, or @file; none for a vision model.")
    ] = None,
    *,
    generate: Annotated[int, _option(_RUN, help="Generate this many tokens.")] = 0,
    chat: Annotated[
        bool, _option(_RUN, "--chat", help="Put the text into the model's chat template.")
    ] = False,
    span: Annotated[
        list[str] | None,
        _option(_RUN, help="Name a part of the text: doc=TEXT, or lines; repeatable."),
    ] = None,
    layers: Annotated[str, _option(_RUN, help="Layers to observe, such as 0,4,5.")] = "all",
    keep: Annotated[
        str, _option(_RUN, help="Layers whose query and key to keep; with --save up to 1 GiB.")
    ] = "",
    top: Annotated[int, _option(_RUN, help="Largest weights to keep for each query.")] = 16,
    map: Annotated[int, _option(_RUN, help="Largest side of the map, in blocks.")] = 512,
    image: Annotated[
        list[Path] | None, _option(_RUN, help="Image for the model; repeatable.")
    ] = None,
    head: Annotated[str, _option(_RUN, help="Head to show on the image, such as 11.3.")] = "",
    find: Annotated[
        list[str] | None,
        _option(_REPORT, help="Heads in which one word attends to another: it:dog."),
    ] = None,
    sources: Annotated[
        bool, _option(_REPORT, "--sources", help="What the answer depends on: spans, or lines.")
    ] = False,
    sort: Annotated[
        str, _option(_REPORT, help="Order of heads: telling, or a measure such as induction.")
    ] = "telling",
    heads: Annotated[int, _option(_REPORT, help="Number of heads to list.")] = 8,
    weighted: Annotated[
        str, _option(_REPORT, help="norm: also report weights times the norm they carry.")
    ] = "",
    save: Annotated[
        list[Path] | None,
        _option(_REPORT, help="Save as x.regard, x.html or x.csv (x.png of an image); repeatable."),
    ] = None,
    json: Annotated[bool, _option(_REPORT, "--json", help="Print the report as JSON.")] = False,
    ablate: Annotated[
        list[str] | None, _option(_CHANGE, help="Ablate a head, as 3.6 or cross.3.6; repeatable.")
    ] = None,
    to: Annotated[str, _option(_CHANGE, help="Output of an ablated head: zero or mean.")] = "zero",
    knock_out: Annotated[
        list[str] | None, _option(_CHANGE, help="Hide a word from all others; repeatable.")
    ] = None,
    redirect: Annotated[
        list[str] | None,
        _option(_CHANGE, help="Move a word's attention to another in a head, as it:food:3.6."),
    ] = None,
    effects: Annotated[
        str, _option(_CHANGE, help="Effect of every head on the next token, or on two: a:b.")
    ] = "",
    needle: Annotated[
        bool, _option(_CHANGE, "--needle", help="Find retrieval heads with a planted sentence.")
    ] = False,
    links: Annotated[
        Path | None,
        _option(_CHANGE, help="Compare heads with the links of a CoNLL-U file or a table."),
    ] = None,
    csv: Annotated[Path | None, _hidden("--csv")] = None,
) -> None:
    """Run a model on a text and show what its heads attend to, exactly.

    The model runs on this machine and its output is unchanged. Layers and heads count from 0.
    """
    from regard.watcher.files.model_folder import load_folder

    # What can be wrong without the model is reported before it is loaded.
    files = [*(save or ()), *(() if csv is None else (csv,))]
    saved = any(path.suffix.lower() == ".regard" for path in files)
    requested = _requested(layers, keep, top, map, saved)
    _check_numbers(sort, generate, heads)
    if image or head:
        request = ImageRequest.from_options(
            image or [], text_or_file(text or ""), generate, head, find, files
        )
        request.watch(model, requested, json)
        return
    for path in files:
        check_output_file("--save", path, RUN_SUFFIXES)
    spans = _spans(span or [])
    if sources and not generate:
        raise ArgumentError("--sources needs an answer: add --generate N.")
    more = WatchOptions(
        ablate or (), knock_out or (), redirect or (), to, effects, weighted, chat,
        (spans or "lines") if sources else None,
    )  # fmt: skip
    more.check()
    requested["spans"] = spans
    if needle or links is not None:
        show_heads(load_folder(model), more, text_or_file(text or ""), links, heads, json)
        return
    content, words = _required(text), _words(find)
    with progress_bars() as progress:
        step = progress.add_task("loading the model", total=None)
        loaded = load_folder(model)
        progress.remove_task(step)
        seen, written = _run(loaded, content, generate, requested, progress, more)
    if not seen.names:  # every layer mixes without a softmax
        for path in files:
            _save(seen, path)
        if json:
            show_json({"written": written, "mixers": list(seen.mixers.facts)})
            return
        print(f"{summary(seen, terminal_style())}\n\n{seen.mixers}")
        if written:
            print(f"\nWritten: {written!r}")
        return
    for path in files:
        _save(seen, path)
    results = more.results(seen)
    if json:
        asked = {name: x.to_dict() for name, x in results.items()}
        others = {"mixers": list(seen.mixers.facts)} if seen.watched_mixers else {}
        show_json({"written": written, **seen.report().to_dict(), **others, **asked})
        return
    _show(seen, words, written, sort, heads)
    print("".join(f"\n{result}\n" for result in results.values()), end="")


def _requested(layers: str, keep: str, top: int, map: int, saved: bool) -> dict[str, Any]:
    from regard.watcher.options import Options

    requested: dict[str, Any] = {
        "layers": _layers("--layers", layers),
        "top": top,
        "map": map,
        "keep": _layers("--keep", keep) if keep else "auto" if saved else (),
    }
    Options.from_arguments(requested["layers"], top, map, requested["keep"], None)
    return requested


def _check_numbers(sort: str, generate: int, heads: int) -> None:
    from regard.watcher.measures.head_report import HeadReport

    HeadReport(()).sorted(sort)
    check_bounds("--generate", generate, 0)
    check_bounds("--heads", heads, 0)


def _run(
    loaded: Loaded,
    content: str,
    generate: int,
    requested: dict[str, Any],
    progress: Progress,
    more: WatchOptions,
) -> tuple[Seen, str]:
    """Watch the model read, and generate where it can; the bar counts layers of every call."""
    from regard.watcher.files.model_folder import run_text

    bar = progress.add_task("reading", total=max(1, generate) * loaded.layers)
    options = requested | {"progress": lambda layer: progress.advance(bar), "mixers": True}
    run = run_text(loaded, content, generate, chat=more.chat, changed=more.applied, **options)
    return run.seen, run.written


def _save(seen: Seen, path: Path) -> None:
    if path.suffix.lower() == ".csv":
        write_text(path, seen.report().to_csv())
    else:
        seen.save(path)
    notice(f"Saved as {path}.")


def _show(seen: Seen, words: tuple[str, str] | None, written: str, sort: str, heads: int) -> None:
    style = terminal_style()
    print(summary(seen, style))
    if written:
        print("\n" + "\n".join(style.wrap(f"Written: {written!r}")))
    if words is not None:
        print("\n" + links_text(seen.find(*words)))
    report = seen.report().sorted(sort)
    if heads:
        print("\n" + report_text(report, style, heads))
    if seen.watched_mixers:
        print(f"\n{seen.mixers}")


def _required(text: str | None) -> str:
    if text is None:
        raise ArgumentError("watch needs a text in quotes, @file, or --image FILE.")
    return text_or_file(text)


def _spans(given: list[str]) -> Any:
    """Spans of --span doc=TEXT, or 'lines'; None where none is given."""
    if given == ["lines"]:
        return "lines"
    pairs = [text_argument("--span", text).partition("=") for text in given]
    for name, _, text in pairs:
        if not name or not text:
            raise ArgumentError(f"--span must be lines or name=TEXT, got {name!r}.")
    return {name: text for name, _, text in pairs} or None


def _words(find: list[str] | None) -> tuple[str, str] | None:
    """The two words of --find, written it:dog or 'it dog'."""
    text = text_argument("--find", " ".join(find or []))
    parts = text.replace(":", " ").split()
    if not parts:
        return None
    if len(parts) != 2:
        raise ArgumentError(f"--find must be two words such as it:dog, got {text!r}.")
    return parts[0], parts[1]


def _layers(option: str, listed: str) -> Any:
    if listed == "all":
        return listed
    try:
        numbers = [int(number) for number in listed.replace(",", " ").split()]
    except ValueError:
        numbers = []
    if not numbers:
        raise ArgumentError(f"{option} must be all or numbers such as 0,4,5, got {listed!r}.")
    return numbers


@dataclass(frozen=True)
class WatchOptions:
    """Changes of a run, and results beyond the report."""

    ablate: Sequence[str] = ()
    knock_out: Sequence[str] = ()
    redirect: Sequence[str] = ()
    to: str = "zero"
    effects: str = ""
    weighted: str = ""
    chat: bool = False
    sources: Any = None  # spans, where the sources of the answer are asked for

    def check(self) -> None:
        """Raise where an option is wrong whatever the model is."""
        from regard.experiments.changes import check_ablation

        check_ablation(self.to)
        if self.to != "zero" and not (self.ablate or self.effects):
            raise ArgumentError(
                f"--to {self.to} applies to ablated heads: add --ablate or --effects."
            )
        check_weighted(self.weighted or None)
        for text in self.ablate:
            HeadNumber.parse_with_layer("--ablate", text)
        for text in self.redirect:
            _redirection(text)

    @property
    def changes(self) -> bool:
        return any((self.ablate, self.knock_out, self.redirect))

    def applied(self, watching: Watching) -> Watching:
        for text in self.ablate:
            layer, head, part = HeadNumber.parse_with_layer("--ablate", text)
            watching = watching.ablate(layer, head, part=part, to=self.to)
        if self.knock_out:
            words = [text_argument("--knock-out", word) for word in self.knock_out]
            watching = watching.knock_out(*words)
        for text in self.redirect:
            word, to, layer, head, part = _redirection(text)
            watching = watching.redirect(word, to, layer, head, part=part)
        return watching

    def results(self, seen: Seen) -> dict[str, Any]:
        """Results beyond the report, by name, each with a text and ``to_dict``."""
        results: dict[str, Any] = {"sinks": seen.sinks()}
        if self.changes:
            results["outcome"] = seen.outcome
        if self.effects:
            of, _, against = text_argument("--effects", self.effects).partition(":")
            with late_bar("heads") as notice:
                results["effects"] = seen.effects(of, against or None, to=self.to, progress=notice)
        if self.sources is not None:
            results["sources"] = seen.sources(self.sources)
        if self.weighted:
            results["norm_weighted"] = seen.report(self.weighted)
        return results


def show_heads(
    loaded: Loaded, options: WatchOptions, text: str, links: Path | None, heads: int, json: bool
) -> None:
    """Print the retrieval heads of a text, or the agreement of heads with links."""
    from regard.watcher.watch import watch

    watching = options.applied(watch(loaded.model, tokenizer=loaded.tokenizer))
    if links is not None:
        agreement = watching.link_agreement(links)
        shown = agreement_page(agreement, terminal_style(), max(heads, 1))
        values = agreement.to_dict()
    else:
        report = watching.needle(text)
        shown, values = needle_page(report, terminal_style(), max(heads, 1)), report.to_dict()
    if json:
        show_json(values)
    else:
        print(shown)


def _redirection(text: str) -> tuple[str, str, int, int, str | None]:
    word, _, rest = text_argument("--redirect", text).partition(":")
    to, _, head = rest.partition(":")
    if not word or not to or not head:
        raise ArgumentError(
            f"--redirect must be two words and a head, such as it:food:3.6, got {text!r}."
        )
    return word, to, *HeadNumber.parse_with_layer("--redirect", head)


@dataclass(frozen=True)
class ImageRequest:
    """Images, the text with them, and what to show: a head, the row of a word, files to save."""

    pictures: tuple[PictureBytes, ...]
    text: str
    generate: int
    head: tuple[int, int] | None
    word: str | None
    save: tuple[Path, ...]

    @classmethod
    def from_options(
        cls,
        images: list[Path],
        text: str,
        generate: int,
        head: str,
        find: list[str] | None,
        save: list[Path],
    ) -> ImageRequest:
        """Check the options before a model is loaded."""
        if not images:
            raise ArgumentError("--head shows a head on an image: add --image FILE.")
        for path in save:
            check_output_file("--save", path, IMAGE_SUFFIXES)
        pictures = tuple(PictureBytes.from_any(path) for path in images)
        at = None
        if head:
            layer, number, part = HeadNumber.parse_with_layer("--head", head)
            if part is not None:
                raise ArgumentError(
                    f"--head must be a layer and a head such as 11.3, got {head!r}."
                )
            at = layer, number
        return cls(pictures, text, generate, at, " ".join(find or []) or None, tuple(save))

    def watch(self, folder: Path, requested: dict[str, Any], as_json: bool) -> None:
        """Load the model, run it on the images, and show where it looked."""
        from regard.watcher.files.model_folder import load_image_folder

        seen, written, start = run_on_images(load_image_folder(folder), self, requested)
        image = self.attention(seen, start)
        for path in self.save:
            saver = seen if path.suffix.lower() in (".html", ".regard") else image
            saver.save(path)
            notice(f"Saved as {path}.")
        if as_json:
            show_json({"written": written, **image.to_dict()})
            return
        _show_image(seen, image, written, start)

    def attention(self, seen: Seen, start: int | None) -> ImageAttention:
        """The row of --find, else the rows that wrote the answer, else the default ones."""
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
    """The watched run, the generated text, and the position of its first token."""
    import torch

    from regard.watcher.files.model_folder import image_inputs
    from regard.watcher.watch import watch

    loaded.check_writes(request.generate)
    inputs = image_inputs(loaded, request.pictures, request.text)
    prompt = 1 if loaded.two_sided else inputs["input_ids"].shape[1] if loaded.writes else 0
    tokens = prompt + (request.generate or ANSWER_TOKENS)
    if tokens > requested["map"] and not requested["keep"]:
        requested = requested | {"keep": "all"}  # single rows of a long text need query and key
    names = {"tokenizer": loaded.tokenizer, "processor": loaded.processor}
    with torch.no_grad(), watch(loaded.model, **requested, **names) as seen:
        if loaded.writes:
            length = request.generate or ANSWER_TOKENS
            output = loaded.model.generate(
                **inputs, max_new_tokens=length, do_sample=False, num_beams=1
            )
        else:
            loaded.model(**inputs)
    seen = seen.with_picture(*request.pictures)
    if not loaded.writes:
        return seen, "", None
    if seen.sentences > 1:  # every image is a sentence of the encoder; the text is one
        seen = seen.sentence(0)
    written = loaded.tokenizer.decode(output[0][prompt:], skip_special_tokens=True)
    return seen, str(written), prompt


def _show_image(seen: Seen, image: ImageAttention, written: str, start: int | None) -> None:
    """Print what was written, where each of its words looked, and the strongest patches."""
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
        for number in words[:MAX_WORDS_LISTED]
    ]


def _text_part(seen: Seen) -> str:
    return "cross" if "cross" in seen.parts else "decoder"
