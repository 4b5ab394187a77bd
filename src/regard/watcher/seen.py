"""Seen: every watched layer of a model as an observation with names for rows and columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from regard.display import NotebookDisplay
from regard.errors import ArgumentError, NotAskedError, count
from regard.heads.links import Link
from regard.text.words import TokenizedText, tokenized_ids
from regard.typing import Array
from regard.watcher.forward_run import Place, Run
from regard.watcher.layer import LayerSeen
from regard.watcher.record import Track
from regard.watcher.word_links import find

if TYPE_CHECKING:
    from regard.watcher.head_report import HeadReport
    from regard.watcher.recorder import Watcher


ORDER = {"encoder": 0, "decoder": 1, "cross": 2}


class Live:
    """The last run of a watcher, or a given one."""

    def __init__(self, watcher: Watcher, tokenizer: Any, number: int | None = None) -> None:
        self.watcher, self.tokenizer, self.number = watcher, tokenizer, number
        self._made: dict[tuple[int, Place, int, int], LayerSeen] = {}

    def at(self, number: int) -> Live:
        """One of several runs, from 0."""
        if not 0 <= number < len(self.watcher.runs):
            raise ArgumentError(
                f"{len(self.watcher.runs)} texts were seen, counted from 0, so none is {number}."
            )
        return Live(self.watcher, self.tokenizer, number)

    @property
    def _run(self) -> Run:
        if not self.watcher.runs:
            return Run()
        self.watcher.read()
        return self.watcher.runs[-1 if self.number is None else self.number]

    @property
    def places(self) -> tuple[Place, ...]:
        """Every watched layer: encoder, decoder, cross, then others by name."""
        return tuple(sorted(self._run.tracks, key=lambda x: (ORDER.get(x.part, 9), *x)))

    def holds(self, place: Place, sentence: int) -> bool:
        """Whether a layer saw this sentence: the images of two texts are one sequence."""
        return sentence < len(self._run.tracks[place])

    @property
    def sentences(self) -> int:
        """How many sentences went in together."""
        return max((len(tracks) for tracks in self._run.tracks.values()), default=0)

    def memory(self) -> str:
        """The estimate of the first call."""
        held, layers = self.watcher.memory, self.watcher.watched_layers
        return (
            f"about {held.total(layers) / 1e6:,.1f} MB for {layers} layers, "
            f"{layers * held.kept / 1e6:,.1f} MB of it query and key"
        )

    def layer(self, place: Place, sentence: int) -> LayerSeen:
        """Made once for as much as was seen so far."""
        run = self._run
        track = run.tracks[place][sentence]
        track.settle()
        key = (id(run), place, sentence, track.queries)
        if key not in self._made:
            self._made[key] = self._layer(run, track, place, sentence)
        return self._made[key]

    def _layer(self, run: Run, track: Track, place: Place, sentence: int) -> LayerSeen:
        queries, keys = self._sides(run, track, place, sentence)
        problem = track.problem()
        grown = track.map
        return LayerSeen(
            track.facts(),
            track.profile(),
            () if problem is None else (problem,),
            track.keys,
            track.cost,
            name=str(place),
            queries_side=queries,
            keys_side=keys,
            row_edges=None if grown is None else grown.row_edges,
            column_edges=None if grown is None else grown.column_edges,
            measures=track.measures,
            span_names=tuple(self.watcher.options.spans),
            span_weights=self._span_weights(track),
        )

    def _span_weights(self, track: Track) -> Array | None:
        """Sums over queries become means over the queries of a span that were seen."""
        if track.span_sums is None:
            return None
        first, last = track.first_row, track.first_row + track.queries
        sizes = [
            max(0, min(stop, last) - max(start, first))
            for start, stop in self.watcher.options.spans.values()
        ]
        return np.asarray(track.span_sums / np.maximum(sizes, 1)[:, None])

    def _sides(
        self, run: Run, track: Track, place: Place, sentence: int
    ) -> tuple[TokenizedText, TokenizedText]:
        """Rows and columns; in cross-attention the decoder's tokens and the encoder's."""
        if place.part.split()[0] == "cross":
            rows = self._side(run, "decoder", sentence, track.queries)
            return rows, self._side(run, "encoder", sentence, track.keys)
        keys = self._side(run, place.part, sentence, track.keys)
        if (track.first_row, track.queries) == (0, track.keys):
            return keys, keys
        ids = self._ids(run, place.part, sentence)
        start, stop = track.first_row, track.first_row + track.queries
        return tokenized_ids(self.tokenizer, None if ids is None else ids[start:stop],
                           track.queries), keys  # fmt: skip

    def _side(self, run: Run, part: str, sentence: int, length: int) -> TokenizedText:
        ids = self._ids(run, part, sentence)
        if ids is not None and len(ids) != length:
            ids = None if len(ids) < length else ids[:length]
        return tokenized_ids(self.tokenizer, ids, length)

    def _ids(self, run: Run, part: str, sentence: int) -> Any:
        known = run.tokens.get(part)
        return known[sentence] if known is not None and sentence < len(known) else None


Key = int | tuple[int, int] | tuple[str, int] | tuple[str, int, int]


class Source(Protocol):
    """Where the layers come from: a watcher at work, or a file."""

    @property
    def places(self) -> tuple[Place, ...]:
        """Every watched layer, in the order of the model."""

    @property
    def sentences(self) -> int:
        """How many sentences went in together."""

    def holds(self, place: Place, sentence: int) -> bool:
        """Whether a layer saw a sentence; not every part of a model sees each one."""

    def layer(self, place: Place, sentence: int) -> LayerSeen:
        """What one layer attended to in one sentence."""

    def memory(self) -> str:
        """What is held, in words."""


@dataclass(frozen=True)
class Seen(NotebookDisplay):
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

        return cls(Live(watcher, tokenizer))

    def __getitem__(self, key: Key) -> LayerSeen:
        place, head = self._place(key)
        layer = self._source.layer(place, self._chosen)
        return layer if head is None else layer.head(head)

    @property
    def names(self) -> tuple[Place, ...]:
        """Every watched layer: (part, layer); of one sentence those that saw it."""
        places = self._source.places
        if self._sentence is None:
            return places
        return tuple(place for place in places if self._source.holds(place, self._sentence))

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

        if not isinstance(self._source, Live):
            raise ArgumentError("a file holds one text: run is for a block that saw several.")
        return Seen(self._source.at(number), self._sentence)

    def texts(self, part: str | None = None) -> tuple[TokenizedText, TokenizedText]:
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
        return self.texts()[1].tokens

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the text; the input's where a model has two sides."""
        return self.texts()[1].words

    def find(self, word: str | int, other: str | int, part: str | None = None) -> tuple[Link, ...]:
        """Every head's weight from one word to another, the strongest first.

        'the#2' is the second 'the'. Exact, from the map while its blocks are single tokens, from
        query and key where they were kept, else from the best keys as far as they reach.
        """
        self.texts(part)  # says what is wrong where there is no such part
        chosen = [x for x in self.names if x.part == (part or self.names[0].part)]
        return find([(x, self._source.layer(x, self._chosen)) for x in chosen], word, other)

    def report(self) -> HeadReport:
        """What each head does, measured, with a baseline and in words."""
        from regard.watcher.head_report import report

        return report([(x, self._source.layer(x, self._chosen)) for x in self.names])

    def save(self, path: str | Path, *, query_and_key: bool = True) -> None:
        """Write a .regard file that ``regard.load`` reads, or with .html a page to look at."""
        if Path(path).suffix.lower() == ".html":
            from regard.view.page.offline import save_page

            save_page(self, Path(path))
            return
        from regard.watcher.watched_file import save

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
        from regard.view.terminal.watch_text import summary

        return summary(self)
