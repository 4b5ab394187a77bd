"""What looks at a corpus: a model with its tokens, ready to measure windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from regard.errors import ArgumentError, FileError
from regard.survey.packed import observe_windows
from regard.survey.windows import Facts, Head, Window, bands_within, cut
from regard.transformer.config import END
from regard.transformer.model import Transformer

SHORTEST = 8  # tokens of a window; in less there is nothing to see


class Observer(Protocol):
    """A model that can be surveyed."""

    heads: tuple[Head, ...]
    room: int
    about: str

    def windows(self, text: str) -> list[Window]:
        """A text as tokens, cut to what the model can take."""

    def piece(self, token: int) -> str:
        """How a token is written."""

    def observe(self, windows: Sequence[Window]) -> Facts:
        """What every head does in every window."""


@dataclass(frozen=True)
class ModelPlace:
    """Which model: the shipped one, or the one in a folder; how much it is given at once.

    Small and picklable: the model itself is loaded where it is needed.
    """

    folder: str | None = None
    window: int | None = None
    device: str = "cpu"

    def observer(self) -> Observer:
        """The model, loaded once in each process."""
        return _loaded(self)

    def files(self) -> Path:
        """The folder that holds the model."""
        from regard.transformer.assemble import SHIPPED

        return SHIPPED if self.folder is None else Path(self.folder)


@lru_cache(maxsize=1)
def _loaded(place: ModelPlace) -> Observer:
    from regard.transformer.assemble import load_model
    from regard.transformer.parameters import DESCRIPTION

    folder = place.files()
    if not folder.is_dir():
        raise FileError(
            f"model needs a folder that exists, but there is no {str(folder)!r}: nothing is "
            "downloaded, so give the path of a local folder."
        )
    if place.folder is None or (folder / DESCRIPTION).is_file():
        model = load_model(place.folder)
        return EncoderObserver(model, checked_window(place.window, model.config.max_length))
    if (folder / "config.json").is_file():
        from regard.survey.watched import WatchedObserver

        return WatchedObserver.load(folder, place.window, place.device)
    raise FileError(
        f"model needs a folder with {DESCRIPTION} (written by `regard train`) or config.json (a "
        f"Hugging Face model), but {str(folder)!r} has neither."
    )


def checked_window(window: int | None, most: int) -> int:
    """How many tokens the model is given at once."""
    if window is None:
        return most
    if not SHORTEST <= window <= most:
        raise ArgumentError(
            f"window needs a whole number from {SHORTEST} to {most}, which is what this model can "
            f"take, but it is {window}."
        )
    return window


class EncoderObserver:
    """The encoder of our own transformer; nothing is translated."""

    def __init__(self, model: Transformer, room: int) -> None:
        self.model, self.room = model, room
        self.about = f"the encoder of {model!r}"
        sizes = model.config
        self.heads = tuple(
            Head("encoder", layer, head)
            for layer in range(sizes.layers)
            for head in range(sizes.heads)
        )

    def windows(self, text: str) -> list[Window]:
        """The tokens of the text; each window ends with END, as every source does."""
        from regard.transformer.translating import readable

        return cut(self.model.tokens.encode(readable(text)), self.room, last=[END])

    def piece(self, token: int) -> str:
        """How a token is written."""
        return "(end)" if token == END else self.model.tokens.piece(token)

    def observe(self, windows: Sequence[Window]) -> Facts:
        """What every head does in every window."""
        return observe_windows(self.model, windows, bands_within(self.room))
