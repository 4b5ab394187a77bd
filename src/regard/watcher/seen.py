"""Seen: every watched layer of a model as an observation with names for rows and columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from regard.atomic_write import write_text
from regard.display import NotebookDisplay, render
from regard.engine.call import check_weighted
from regard.errors import ArgumentError, NotAskedError, count
from regard.heads.links import Link
from regard.text.words import TokenizedText, tokenized_ids
from regard.typing import Array
from regard.watcher.capture.forward_run import ForwardRun, LayerKey, RecordedBytes, RunRecorder
from regard.watcher.capture.record import LayerRecord
from regard.watcher.changes.seen_experiments import SeenExperiments
from regard.watcher.layer import LayerObservation
from regard.watcher.measures.word_links import find
from regard.watcher.media.media_source import LiveMedia, MediaSource
from regard.watcher.media.seen_media import FramedPicture, SeenMedia
from regard.watcher.seen_tables import SeenTables

if TYPE_CHECKING:
    from regard.watcher.measures.head_report import HeadReport


ORDER = {"encoder": 0, "decoder": 1, "cross": 2}


class LiveLayers(LiveMedia):
    """Layers of a recorder: of its last run, or of a given one."""

    def __init__(
        self,
        recorder: RunRecorder,
        tokenizer: Any,
        processor: Any = None,
        number: int | None = None,
    ) -> None:
        self.recorder, self.tokenizer, self.number = recorder, tokenizer, number
        self.processor = processor
        self._made: dict[tuple[int, LayerKey, int], tuple[int, LayerObservation]] = {}

    def at(self, number: int) -> LiveLayers:
        """One of several runs, from 0."""
        if not 0 <= number < len(self.recorder.runs):
            raise ArgumentError(
                f"{len(self.recorder.runs)} texts were seen, counted from 0, so none is {number}."
            )
        return LiveLayers(self.recorder, self.tokenizer, self.processor, number)

    @property
    def _run(self) -> ForwardRun:
        if not self.recorder.runs:
            return ForwardRun()
        self.recorder.synchronize()
        return self.recorder.runs[-1 if self.number is None else self.number]

    @property
    def layer_keys(self) -> tuple[LayerKey, ...]:
        """Every watched layer: encoder, decoder, cross, then others by name."""
        return tuple(sorted(self._run.records, key=lambda x: (ORDER.get(x.part, 9), *x)))

    @property
    def paths(self) -> Mapping[str, LayerKey]:
        """Layers by the paths of their modules."""
        return self.recorder.paths

    def has(self, layer_key: LayerKey, sentence: int) -> bool:
        """Whether a layer recorded this sentence: the images of two texts are one sequence."""
        return sentence < len(self._run.records[layer_key])

    @property
    def sentences(self) -> int:
        """How many sentences went in together."""
        return max((len(records) for records in self._run.records.values()), default=0)

    def memory(self) -> str:
        """The bytes of all arrays of every text of the block."""
        runs = self.recorder.runs
        every = [run.bytes for run in runs] or [RecordedBytes(0, 0, 0)]
        facts, query_key, device = map(sum, zip(*every, strict=True))
        return (
            f"{(facts + query_key) / 1e6:,.1f} MB for "
            f"{count(self.recorder.watched_layers, 'layer')}"
            f"{f' of {len(runs)} texts' if len(runs) > 1 else ''}, "
            f"{query_key / 1e6:,.1f} MB of it query and key"
            f"{f', and {device / 1e6:,.1f} MB on the device' if device else ''}"
        )

    def layer(self, layer_key: LayerKey, sentence: int) -> LayerObservation:
        """The observation of a layer so far, cached until more is recorded."""
        run = self._run
        record = run.records[layer_key][sentence].complete()
        key = (id(run), layer_key, sentence)
        queries, made = self._made.get(key, (0, None))
        if made is None or queries != record.queries:  # the one before it is not kept
            made = self._layer(run, record, layer_key, sentence)
            self._made[key] = record.queries, made
        return made

    def _layer(
        self, run: ForwardRun, record: LayerRecord, layer_key: LayerKey, sentence: int
    ) -> LayerObservation:
        queries, keys = self._texts(run, record, layer_key, sentence)
        problem = record.problem()
        grown = record.map
        return LayerObservation(
            record.facts(),
            record.profile(),
            () if problem is None else (problem,),
            record.keys,
            record.cost,
            record.notes,
            name=str(layer_key),
            query_text=queries,
            key_text=keys,
            row_edges=None if grown is None else grown.row_edges,
            column_edges=None if grown is None else grown.column_edges,
            measures=record.measures,
            span_names=tuple(self.recorder.options.spans),
            span_weights=self._span_weights(record),
        )

    def _span_weights(self, record: LayerRecord) -> Array | None:
        """Sums over queries become means over the queries of a span that were seen."""
        if record.span_sums is None:
            return None
        first, last = record.first_row, record.first_row + record.queries
        sizes = [
            max(0, min(stop, last) - max(start, first))
            for start, stop in self.recorder.options.spans.values()
        ]
        return np.asarray(record.span_sums / np.maximum(sizes, 1)[:, None])

    def _texts(
        self, run: ForwardRun, record: LayerRecord, layer_key: LayerKey, sentence: int
    ) -> tuple[TokenizedText, TokenizedText]:
        """Rows and columns; in cross-attention the decoder's tokens and the encoder's."""
        if layer_key.part.split()[0] == "cross":
            rows = self._text(run, "decoder", sentence, record.queries)
            return rows, self._text(run, "encoder", sentence, record.keys)
        keys = self._text(run, layer_key.part, sentence, record.keys)
        if (record.first_row, record.queries) == (0, record.keys):
            return keys, keys
        ids = self._ids(run, layer_key.part, sentence)
        start, stop = record.first_row, record.first_row + record.queries
        ids = None if ids is None else ids[start:stop]
        return tokenized_ids(self.tokenizer, ids, record.queries), keys

    def _text(self, run: ForwardRun, part: str, sentence: int, length: int) -> TokenizedText:
        ids = self._ids(run, part, sentence)
        if ids is not None and len(ids) != length:
            ids = None if len(ids) < length else ids[:length]
        if ids is None:
            return self.names_without_tokens(run, part, length)
        return tokenized_ids(self.tokenizer, ids, length)

    def prompt_tokens(self, part: str, sentence: int) -> int | None:
        """How many tokens of a part were given; None where they are not known."""
        given = self._run.prompts.get(part, [])
        return given[sentence] if sentence < len(given) else None

    def _ids(self, run: ForwardRun, part: str, sentence: int) -> Any:
        ids_b = run.tokens.get(part)
        return ids_b[sentence] if ids_b is not None and sentence < len(ids_b) else None


Key = int | str | tuple[int, int] | tuple[str, int] | tuple[str, int, int]


class LayerSource(MediaSource, Protocol):
    """Layers of a recorder or of a file, and the pictures that the model was given."""

    @property
    def layer_keys(self) -> tuple[LayerKey, ...]:
        """Every watched layer, in the order of the model."""

    @property
    def sentences(self) -> int:
        """How many sentences went in together."""

    @property
    def paths(self) -> Mapping[str, LayerKey]:
        """Layers by the paths of their modules, as far as they are known."""

    def has(self, layer_key: LayerKey, sentence: int) -> bool:
        """Whether a layer saw a sentence; not every part of a model sees each one."""

    def layer(self, layer_key: LayerKey, sentence: int) -> LayerObservation:
        """The observation of one layer in one sentence."""

    def prompt_tokens(self, part: str, sentence: int) -> int | None:
        """How many tokens of a part were given; None where they are not known."""

    def memory(self) -> str:
        """The memory of the facts, in words."""


@dataclass(frozen=True)
class Seen(SeenExperiments, SeenMedia, SeenTables, NotebookDisplay):
    """Attention of a watched model, layer by layer. ``print`` it for a summary.

    ``seen[4]`` is layer 4, an observation of all its heads (entropy, received, top, map, profile,
    tile, row); ``seen[4, 3]`` its head 3. Layers and heads count from 0, as in the model's own
    names. A model with two sides has three parts: ``seen["encoder", 4]``, ``seen["decoder", 4]``
    and ``seen["cross", 4]``, each with an optional head after it. ``seen["blocks.3.attn"]`` is the
    layer of a module by its path (``seen.paths`` lists them). A batch has
    ``seen.sentence(0)``, ``seen.sentence(1)`` and so on, each without its padding. Where a model
    was called more than once, this is the last text; ``seen.run(0)`` is the first.
    """

    _source: LayerSource = field(repr=False)
    _sentence: int | None = None
    _pictures: tuple[FramedPicture, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, recorder: RunRecorder, tokenizer: Any, processor: Any = None) -> Seen:
        """The layers of a recorder, current at every access."""
        return cls(LiveLayers(recorder, tokenizer, processor))

    def __getitem__(self, key: Key) -> LayerObservation:
        layer_key, head = self._parse_key(key)
        layer = self._source.layer(layer_key, self._chosen)
        return layer if head is None else layer.head(head)

    @property
    def names(self) -> tuple[LayerKey, ...]:
        """Every watched layer: (part, layer); of one sentence those that saw it."""
        layer_keys = self._source.layer_keys
        if self._sentence is None:
            return layer_keys
        return tuple(x for x in layer_keys if self._source.has(x, self._sentence))

    @property
    def paths(self) -> dict[str, LayerKey]:
        """Layers by the path of their module in the model; its second call is 'path#2'."""
        return {path: key for path, key in self._source.paths.items() if key in self.names}

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts: 'encoder', 'decoder', 'cross', as far as there are any."""
        return tuple(dict.fromkeys(layer_key.part for layer_key in self.names))

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
        return replace(self, _sentence=number % self.sentences)

    def run(self, number: int) -> Seen:
        """An earlier text of the same block, from 0."""

        if not isinstance(self._source, LiveLayers):
            raise ArgumentError("a file holds one text: run is for a block that saw several.")
        return replace(self, _source=self._source.at(number))

    def texts(self, part: str | None = None) -> tuple[TokenizedText, TokenizedText]:
        """Tokens and words of the rows and of the columns of a part."""
        sentence = self._chosen
        layer_key = next((x for x in self.names if part in (None, x.part)), None)
        if layer_key is None:
            raise ArgumentError(
                f"part needs to be one of {', '.join(self.parts)}, but it is {part!r}."
            )
        layer = self._source.layer(layer_key, sentence)
        if layer.query_text is None or layer.key_text is None:
            raise NotAskedError("tokens were not recorded.")
        return layer.query_text, layer.key_text

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of the text; the input's where a model has two sides."""
        return self.texts()[1].tokens

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the text; the input's where a model has two sides."""
        return self.texts()[1].words

    def prompt_tokens(self, part: str | None = None) -> int | None:
        """How many tokens of the rows of a part were given; the model generated those after them.

        None where it is not known, as in a file of an older version.
        """
        name = part or self.parts[0]
        return self._source.prompt_tokens("decoder" if name == "cross" else name, self._chosen)

    def find(self, word: str | int, other: str | int, part: str | None = None) -> tuple[Link, ...]:
        """Every head's weight from one word to another, the strongest first.

        'the#2' is the second 'the', and a word that comes several times has to be numbered. Exact,
        from the map while its blocks are single tokens, from query and key where they were kept,
        else from the best keys as far as they reach.
        """
        self.texts(part)  # raises where there is no such part
        chosen = [x for x in self.names if x.part == (part or self.names[0].part)]
        return find([(x, self._source.layer(x, self._chosen)) for x in chosen], word, other)

    def report(self, weighted: str | None = None) -> HeadReport:
        """Measures, uniform baselines and a name for each head.

        ``weighted='norm'``: of p_ij |v_j W_O| as a share of its row, which is not the attention,
        from a second run.
        """
        from regard.watcher.measures.head_report import report

        if check_weighted(weighted):
            from regard.watcher.changes.text_sources import norm_report

            return norm_report(self._rerun())
        sentence = self._chosen
        return report([(x, self._source.layer(x, sentence)) for x in self.names])

    def save(self, path: str | Path, *, query_and_key: bool = True) -> None:
        """Write a .regard file that ``regard.load`` reads, or with .html a page to look at."""
        if Path(path).suffix.lower() == ".html":
            write_text(Path(path), render("page", self))
            return
        from regard.watcher.files.watched_file import save

        self._check_seen()
        save(self, Path(path), query_and_key)

    def picture(self, layer: Key, head: int = 0, **options: Any) -> Any:
        """The picture of one head, to show and to save."""
        return self[layer].picture(head, **options)

    @property
    def memory(self) -> str:
        """The memory of all texts of the block."""
        return self._source.memory()

    def _check_seen(self) -> None:
        if not self.names:
            raise NotAskedError("nothing was seen yet: call the model inside the block.")

    @property
    def _chosen(self) -> int:
        self._check_seen()
        if self._sentence is None and self.sentences > 1:
            raise ArgumentError(
                f"there are {self.sentences} sentences: choose one first, as in "
                "seen.sentence(0)[4].entropy."
            )
        return self._sentence or 0

    def _parse_key(self, key: Key) -> tuple[LayerKey, int | None]:
        self._check_seen()
        items: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
        if isinstance(items[0], str) and items[0] in self.paths:
            items = (*self.paths[items[0]], *items[1:])
        part, numbers = (items[0], items[1:]) if isinstance(items[0], str) else (None, items)
        self._check_key(key, part, numbers)
        layer_key = LayerKey(part or self.parts[0], int(numbers[0]))
        if layer_key not in self.names:
            layers = [str(x.layer) for x in self.names if x.part == layer_key.part]
            raise ArgumentError(
                f"{layer_key} was not watched: {layer_key.part} has layers "
                f"{', '.join(layers) or 'none'}."
            )
        return layer_key, int(numbers[1]) if len(numbers) > 1 else None

    def _check_key(self, key: Key, part: str | None, numbers: tuple[Any, ...]) -> None:
        valid = 1 <= len(numbers) <= 2 and all(isinstance(x, int) for x in numbers)
        if not valid or (part is not None and self.names and part not in self.parts):
            raise ArgumentError(
                f"seen needs [layer], [layer, head] or a part before them "
                f"({', '.join(self.parts)}), but it got {key!r}."
            )
        if part is None and len(self.parts) > 1:
            first = self.parts[0]
            raise ArgumentError(
                f"this model has {', '.join(self.parts)}, so say which: seen[{first!r}, {key!r}]."
            )
