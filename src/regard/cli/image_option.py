"""regard watch --image: where a model looks in images, as a table and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.argument_checks import check_output_file
from regard.cli.output import notice, show_json
from regard.errors import ArgumentError
from regard.heads.links import single_word
from regard.watcher.media.picture_bytes import PictureBytes

if TYPE_CHECKING:
    from regard.watcher.files.model_folder import Loaded
    from regard.watcher.media.image_attention import ImageAttention
    from regard.watcher.seen import Seen

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
        pictures = tuple(PictureBytes.from_any(path) for path in images)
        return cls(pictures, text, generate, _head(head), " ".join(find or []) or None, save)

    def watch(self, folder: Path, requested: dict[str, Any], as_json: bool) -> None:
        """Load the model, run it on the images, and show where it looked."""
        from regard.watcher.files.model_folder import load_image_folder

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

    from regard.watcher.files.model_folder import image_inputs
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
    from regard.view.terminal.image_text import image_text, words_text
    from regard.view.terminal.style import terminal_style

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
