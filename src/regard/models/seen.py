"""What was seen of a model: every watched layer an observation, with names for rows and columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from regard.errors import ArgumentError, NotAskedError
from regard.inputs.subwords import Side
from regard.models.finding import Link, find
from regard.models.layer import LayerSeen
from regard.models.run import Place
from regard.self_attention.shown import Shown
from regard.shapes import count

if TYPE_CHECKING:
    from regard.models.report import Report
    from regard.models.watcher import Watcher

Key = int | tuple[int, int] | tuple[str, int] | tuple[str, int, int]


class Source(Protocol):
    """Where the layers come from: a watcher at work, or a file."""

    @property
    def places(self) -> tuple[Place, ...]:
        """Every watched layer, in the order of the model."""

    @property
    def sentences(self) -> int:
        """How many sentences went in together."""

    def layer(self, place: Place, sentence: int) -> LayerSeen:
        """What one layer attended to in one sentence."""

    def memory(self) -> str:
        """What is held, in words."""


@dataclass(frozen=True)
class Seen(Shown):
    """What a model attended to. ``print`` it for a summary.

    ``seen[4]`` is layer 4, an observation of all its heads (entropy, received, top, map, profile,
    tile, row); ``seen[4, 3]`` its head 3. Layers and heads count from 0, as in the model's own
    names. A model with two sides has three parts: ``seen["encoder", 4]``, ``seen["decoder", 4]``
    and ``seen["cross", 4]``, each with a head after it if wanted. A batch has
    ``seen.sentence(0)``, ``seen.sentence(1)`` and so on, each without its padding. Where a model
    was called more than once, this is the last text; ``seen.run(0)`` is the first.
    """

    _source: Source = field(repr=False)
    _sentence: int | None = None

    @classmethod
    def of(cls, watcher: Watcher, tokenizer: Any) -> Seen:
        """Look over a watcher's shoulder."""
        from regard.models.live import Live

        return cls(Live(watcher, tokenizer))

    def __getitem__(self, key: Key) -> LayerSeen:
        place, head = self._place(key)
        layer = self._source.layer(place, self._chosen)
        return layer if head is None else layer.head(head)

    @property
    def names(self) -> tuple[Place, ...]:
        """Every watched layer: (part, layer)."""
        return self._source.places

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts: 'encoder', 'decoder', 'cross', as far as there are any."""
        return tuple(dict.fromkeys(place.part for place in self.names))

    @property
    def sentences(self) -> int:
        """How many sentences went in together."""
        return self._source.sentences

    def sentence(self, number: int) -> Seen:
        """One sentence of a batch, from 0."""
        if not -self.sentences <= number < self.sentences:
            raise ArgumentError(
                f"there {'is' if self.sentences == 1 else 'are'} "
                f"{count(self.sentences, 'sentence')}, counted from 0, so none is {number}."
            )
        return Seen(self._source, number % self.sentences)

    def run(self, number: int) -> Seen:
        """An earlier text of the same block, from 0."""
        from regard.models.live import Live

        if not isinstance(self._source, Live):
            raise ArgumentError("a file holds one text: run is for a block that saw several.")
        return Seen(self._source.at(number), self._sentence)

    def sides(self, part: str | None = None) -> tuple[Side, Side]:
        """Tokens and words of the rows and of the columns of a part."""
        sentence = self._chosen
        place = next((x for x in self.names if part in (None, x.part)), None)
        if place is None:
            raise ArgumentError(
                f"part needs to be one of {', '.join(self.parts)}, but it is {part!r}."
            )
        layer = self._source.layer(place, sentence)
        if layer.queries_side is None or layer.keys_side is None:
            raise NotAskedError("tokens were not recorded.")
        return layer.queries_side, layer.keys_side

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of the text; the input's where a model has two sides."""
        return self.sides()[1].tokens

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the text; the input's where a model has two sides."""
        return self.sides()[1].words

    def find(self, word: str | int, other: str | int, part: str | None = None) -> tuple[Link, ...]:
        """Every head's weight from one word to another, the strongest first.

        'the#2' is the second 'the'. Exact, from the map while its blocks are single tokens, from
        query and key where they were kept, else from the best keys as far as they reach.
        """
        self.sides(part)  # says what is wrong where there is no such part
        chosen = [x for x in self.names if x.part == (part or self.names[0].part)]
        return find([(x, self._source.layer(x, self._chosen)) for x in chosen], word, other)

    def report(self) -> Report:
        """What each head does, measured, with a baseline and in words."""
        from regard.models.report import report

        return report([(x, self._source.layer(x, self._chosen)) for x in self.names])

    def save(self, path: str | Path, *, query_and_key: bool = True) -> None:
        """Write a .regard file that ``regard.load`` reads, or with .html a page to look at."""
        if Path(path).suffix.lower() == ".html":
            from regard.view.explorer.offline import save_page

            save_page(self, Path(path))
            return
        from regard.models.storage import save

        save(self, Path(path), query_and_key)

    def picture(self, place: Key, head: int = 0, **options: Any) -> Any:
        """One head to look at and to save."""
        return self[place].picture(head, **options)

    @property
    def memory(self) -> str:
        """How much is held, estimated at the first call."""
        return self._source.memory()

    @property
    def _chosen(self) -> int:
        if not self.names:
            raise NotAskedError("nothing was seen yet: call the model inside the block.")
        if self._sentence is None and self.sentences > 1:
            raise ArgumentError(
                f"there are {self.sentences} sentences: choose one first, as in "
                "seen.sentence(0)[4].entropy."
            )
        return self._sentence or 0

    def _place(self, key: Key) -> tuple[Place, int | None]:
        given = key if isinstance(key, tuple) else (key,)
        part, numbers = (given[0], given[1:]) if isinstance(given[0], str) else (None, given)
        self._check_key(key, part, numbers)
        place = Place(part or self.parts[0], int(numbers[0]))
        if place not in self.names:
            layers = [str(x.layer) for x in self.names if x.part == place.part]
            raise ArgumentError(
                f"{place} was not watched: {place.part} has layers {', '.join(layers) or 'none'}."
            )
        return place, int(numbers[1]) if len(numbers) > 1 else None

    def _check_key(self, key: Key, part: str | None, numbers: tuple[Any, ...]) -> None:
        whole = 1 <= len(numbers) <= 2 and all(isinstance(x, int) for x in numbers)
        if not whole or (part is not None and self.names and part not in self.parts):
            raise ArgumentError(
                f"seen needs [layer], [layer, head] or a part before them "
                f"({', '.join(self.parts)}), but it got {key!r}."
            )
        if part is None and len(self.parts) > 1:
            first = self.parts[0]
            raise ArgumentError(
                f"this model has {', '.join(self.parts)}, so say which: seen[{first!r}, {key!r}]."
            )

    def __str__(self) -> str:
        from regard.view.watch import summary

        return summary(self)
