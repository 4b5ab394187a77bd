"""Images and sound of a watched model as methods of what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, cast

from regard.errors import ArgumentError, NotAskedError
from regard.typing import Array
from regard.watcher.capture.forward_run import LayerKey
from regard.watcher.media.image_attention import GridSums, ImageAttention, RowChoice, mean_of_layers
from regard.watcher.media.image_grids import ImageGrid, Size
from regard.watcher.media.picture_bytes import FULL, Area, PictureBytes, processed_area
from regard.watcher.media.sound_axis import starts_of
from regard.watcher.media.word_times import Head, WordTimes, word_times

if TYPE_CHECKING:
    from regard.watcher.media.image_attention import Norms, Query
    from regard.watcher.seen import Seen

WEIGHTED = {None: "weights", "norm": "norm-weighted weights"}
UNCUT = (
    "No processor was given, so the grid is laid over all of the picture: where the model's "
    "processor crops, give it to watch, as in watch(model, processor=processor)."
)


@dataclass(frozen=True)
class FramedPicture:
    """A picture, and the part of it that the model was given, in fractions of its sides."""

    picture: PictureBytes
    area: Area | None = None

    def area_on(self, size: Size, processor: Any) -> tuple[Area, tuple[str, ...]]:
        """The part of the picture under a grid, and what is to be said about it."""
        if self.area is not None:
            return self.area, ()
        width, height = self.picture.width, self.picture.height
        if processor is not None:
            return processed_area(processor, width, height), ()
        rows, columns = size
        # Sizes are rounded to whole patches: one more or less is the same shape.
        if abs(width * rows - height * columns) > max(width, height):
            raise ArgumentError(
                f"a picture of {width} x {height} pixels became {columns} x {rows} patches, and "
                "whether it was cropped or squeezed its processor knows: give it to watch, as in "
                "watch(model, processor=processor), or say area=(left, top, right, bottom) in "
                "fractions of the picture."
            )
        return FULL, (UNCUT,)


class SeenMedia:
    """Mix-in of Seen: where the model looks in images, and when it listens."""

    _source: Any
    _sentence: int | None
    _pictures: tuple[FramedPicture, ...]

    def with_picture(self, *pictures: Any, area: Area | None = None) -> Self:
        """The same, with the pictures that the model was given, in their order.

        ``seen.image`` then lays weights over them, and a saved file or page shows them. A picture
        is a path, the bytes of a file, an image of Pillow or an array (rows, columns, 3) of uint8.
        """
        framed = tuple(FramedPicture(PictureBytes.of(one), area) for one in pictures)
        changed = replace(cast("Any", self), _pictures=framed)
        return cast("Self", changed)

    def image(
        self,
        picture: Any = None,
        *,
        layer: int | None = None,
        head: int | None = None,
        word: str | int | None = None,
        query: Query | None = None,
        patch: tuple[int, int] | None = None,
        when: str = "read",
        weighted: str | None = None,
        image: int = 0,
        part: str | None = None,
        grid: Size | None = None,
        area: Area | None = None,
    ) -> ImageAttention:
        """Where a row looks in an image: its weights on the grid of patches, over the picture.

        Parameters
        ----------
        picture : the picture, as ``with_picture`` takes it; not needed for the numbers.
        layer, head : counted from 0; the mean of all if not given.
        word, query, patch : what looks: a word of the text, a query or (start, stop) of them, or
            the patch in a (row, column). If none is given the class token, without one the mean of
            all patches, and in a text its last token.
        when : 'read' is a word's own row; 'written' the row before it, which predicted it.
        weighted : 'norm' for p |v W_O| as a share of its row, from a second run.
        image : which of several images, from 0.
        part : 'encoder', 'decoder', ...; if not given the text's where it has image tokens.
        grid : (rows, columns), where the model does not say them.
        area : (left, top, right, bottom), the part of the picture that the model was given, in
            fractions; by the processor if not given.
        """
        if weighted not in WEIGHTED:
            raise ArgumentError(f"weighted needs to be 'norm' or None, but it is {weighted!r}.")
        choice = RowChoice(word, query, patch, when)
        layers = self._image_layers(part, layer, image, grid)
        norms = self._norms([key for key, _ in layers]) if weighted == "norm" else None
        sums = [(key, GridSums.of(self._source, key, one, choice, norms)) for key, one in layers]
        weights, others = mean_of_layers(sums, head)
        framed, span, notes = self._framed(picture, area, layers[0][1])
        return ImageAttention(
            weights,
            others,
            _title(sums, layer, head, image),
            framed,
            span,
            WEIGHTED[weighted],
            notes,
        )

    def seconds(self, part: str | None = None, seconds: float | None = None) -> Array:
        """The second at which each key of a part begins, for a model of sound.

        Parameters
        ----------
        part : 'encoder' or 'cross'; if not given the one that there is.
        seconds : those of one position; from the processor and the config if not given.
        """
        seen = cast("Seen", self)
        if part is None:
            part = "cross" if "cross" in seen.parts else seen.parts[0]
        positions = len(seen.texts(part)[1].tokens)
        if seconds is None:
            seconds = self._source.seconds_of_position(positions)
        return starts_of(seconds, positions)

    def word_times(
        self,
        *,
        seconds: float | None = None,
        duration: float | None = None,
        first: int | None = None,
        heads: Sequence[Head] | None = None,
    ) -> WordTimes:
        """When each word that a model wrote was heard, from the heads that follow the sound.

        The heads are chosen on this run, by their monotonicity: how much more of their weight lies
        in the order of the words than in reverse (see ``word_times.py``).

        Parameters
        ----------
        seconds : those of one position of the encoder; from processor and config if not given.
        duration : seconds of the sound without its padding; by the mask of its frames, or all of
            it, if not given.
        first : the first token of the text; the first that is not special if not given.
        heads : (layer, head) of cross-attention to use instead.
        """
        seen = cast("Seen", self)
        keys = [key for key in seen.names if key.part == "cross"]
        if not keys:
            raise NotAskedError("word_times needs cross-attention to sound, but none was seen.")
        layers = [(key, self._source.layer(key, seen._chosen)) for key in keys]
        positions = layers[0][1].keys
        step = self._source.seconds_of_position(positions) if seconds is None else seconds
        if duration is None:
            real = self._source.real_positions(positions, seen._chosen)
        else:
            real = min(positions, max(1, round(duration / step)))
        return word_times(layers, step, real, first, heads)

    def _framed(
        self, picture: Any, area: Area | None, grid: ImageGrid
    ) -> tuple[PictureBytes | None, Area, tuple[str, ...]]:
        pictures = self._pictures or self._source.pictures
        if picture is not None:
            framed = FramedPicture(PictureBytes.of(picture), area)
        elif grid.image < len(pictures):
            framed = pictures[grid.image]
        else:
            return None, FULL, ()
        return framed.picture, *framed.area_on(grid.size, self._source.processor)

    def image_grid(
        self, layer_key: LayerKey, image: int = 0, size: Size | None = None
    ) -> ImageGrid:
        """The cells of an image in a layer: which of its keys is which patch."""
        sentence = self._sentence or 0
        grids: tuple[ImageGrid, ...] = self._source.image_grids(layer_key, sentence, size)
        texts = "text" in grids[0].others and self._source.has(layer_key, 1)
        if self._sentence is None and texts:
            raise ArgumentError(
                f"there are {self._source.sentences} sentences: choose one first, as in "
                "seen.sentence(0).image()."
            )
        if self._sentence is not None and len(grids) > 1 and grids[0].cells.shape[0] == 1:
            own = tuple(x for x in grids if x.first == self._sentence)
            grids = own or grids
        if not 0 <= image < len(grids):
            raise ArgumentError(
                f"image needs a number from 0 to {len(grids) - 1} in {layer_key}, but it is "
                f"{image!r}."
            )
        return grids[image]

    def _image_layers(
        self, part: str | None, layer: int | None, image: int, size: Size | None
    ) -> list[tuple[LayerKey, ImageGrid]]:
        """The layers of a part with their grids; of the first part that looks at an image."""
        seen = cast("Seen", self)
        if not seen.names:
            raise NotAskedError("nothing was seen yet: call the model inside the block.")
        if part is None:
            part = self._image_part(size)
        keys = [key for key in seen.names if key.part == part and layer in (None, key.layer)]
        if not keys:
            numbers = [key.layer for key in seen.names if key.part == part]
            raise ArgumentError(
                f"part and layer need to be watched ones, but {part!r} has layers "
                f"{', '.join(map(str, numbers)) or 'none'}."
            )
        return [(key, self.image_grid(key, image, size)) for key in keys]

    def _image_part(self, size: Size | None) -> str:
        """The part that looks at images: the text's before that of the patches themselves."""
        seen = cast("Seen", self)
        first: Exception | None = None
        order = sorted(seen.parts, key=lambda part: part.split()[0] not in ("decoder", "cross"))
        for part in order:
            try:
                self.image_grid(next(key for key in seen.names if key.part == part), 0, size)
            except NotAskedError as error:
                first = first or error
            else:
                return part
        raise first or NotAskedError("no image was seen.")

    def _norms(self, layers: list[LayerKey]) -> Norms:
        from regard.watcher.media.media_rerun import value_norms_of

        return value_norms_of(cast("Seen", self), layers)


def _title(
    sums: list[tuple[LayerKey, GridSums]], layer: int | None, head: int | None, image: int
) -> str:
    key = sums[0][0]
    heads = "mean of all heads" if head is None else f"head {head}"
    where = f"{key.part}, mean of {len(sums)} layers" if layer is None else str(key)
    return f"Weights on image {image} of {sums[0][1].looks} ({where}, {heads})"
