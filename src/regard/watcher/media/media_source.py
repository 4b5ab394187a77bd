"""Images and sound of a source of layers: a recorder's run, or what a file holds of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from regard.errors import ArgumentError, NotAskedError
from regard.text.words import TokenizedText, tokenized_ids
from regard.watcher.capture.forward_run import ForwardRun, LayerKey, RunRecorder
from regard.watcher.media.image_grids import ImageGrid, Size, image_grids
from regard.watcher.media.sound_axis import (
    names_of_times,
    real_positions,
    seconds_of_position,
    sound_call,
)

if TYPE_CHECKING:
    from regard.watcher.media.seen_media import FramedPicture
    from regard.watcher.seen import LiveLayers


class MediaSource(Protocol):
    """Pictures, grids of images and times of sound; ``processor`` is the model's, if known."""

    processor: Any

    @property
    def pictures(self) -> tuple[FramedPicture, ...]:
        """The pictures, in the order of the model's images."""

    def image_grids(
        self, layer_key: LayerKey, sentence: int, size: Size | None = None
    ) -> tuple[ImageGrid, ...]:
        """The grids of the images that a layer attends to."""

    def seconds_of_position(self, positions: int) -> float:
        """Seconds between two positions of an encoder of sound."""

    def real_positions(self, positions: int, sentence: int) -> int:
        """Positions of an encoder of sound that hear no padding."""


class LiveMedia:
    """Mix-in of LiveLayers: images and sound of the run that it shows."""

    recorder: RunRecorder
    processor: Any = None
    pictures: tuple[FramedPicture, ...] = ()
    _run: Any

    def image_grids(
        self, layer_key: LayerKey, sentence: int, size: Size | None = None
    ) -> tuple[ImageGrid, ...]:
        """The grids of the images that a layer attends to."""
        live: LiveLayers = self  # type: ignore[assignment]
        return image_grids(live, layer_key, sentence, size)

    def seconds_of_position(self, positions: int) -> float:
        """Seconds between two positions of an encoder of sound."""
        return seconds_of_position(self._run, self.processor, positions)

    def real_positions(self, positions: int, sentence: int) -> int:
        """Positions of an encoder of sound that hear no padding."""
        return real_positions(self._run, positions, sentence)

    def names_without_tokens(self, run: ForwardRun, part: str, length: int) -> TokenizedText:
        """Names of positions that have no tokens: seconds where they are sound, else numbers."""
        if part.split()[0] == "encoder" and sound_call(run) is not None:
            try:
                return names_of_times(self.seconds_of_position(length), length)
            except (NotAskedError, ArgumentError):  # no processor that says how long they are
                pass
        return tokenized_ids(None, None, length)
