"""Where the layers of a ``Seen`` come from: a recorder, whose blocks may still run, or a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from regard.errors import ArgumentError, NotAskedError
from regard.text.words import TokenizedText, tokenized_ids
from regard.typing import Array
from regard.watcher.capture.recorder import Recorder
from regard.watcher.capture.records import LayerRecord
from regard.watcher.capture.runs import ForwardRun, LayerKey, MemoryUse
from regard.watcher.layer import LayerObservation
from regard.watcher.media.image_grids import ImageGrid, Size, image_grids, token_ids
from regard.watcher.media.picture_bytes import FramedPicture
from regard.watcher.media.sound import real_positions, seconds_of_position, sound_call, time_names
from regard.watcher.media.word_pixels import diffusion_call, prompt_text
from regard.watcher.other_layers import LayerLists, OtherLayers
from regard.watcher.verdict import Verdict

if TYPE_CHECKING:
    from regard.watcher.mixers.mixer_table import StoredMixers
    from regard.watcher.mixers.seen_mixers import Mixers

PART_ORDER = {"encoder": 0, "decoder": 1, "cross": 2}


class LayerSource(Protocol):
    """Layers of a recorder or of a file, with images and sound that the model was given.

    ``tokenizer`` and ``processor`` are the model's, None where they are not known.
    """

    tokenizer: Any
    processor: Any
    verdict: Verdict | None

    @property
    def layer_keys(self) -> tuple[LayerKey, ...]:
        """Every watched layer, in the order of the model."""

    @property
    def sentences(self) -> int:
        """How many sentences went in together."""

    @property
    def paths(self) -> Mapping[str, LayerKey]:
        """Layers by the paths of their modules; empty where a file does not hold them."""

    def has(self, layer_key: LayerKey, sentence: int) -> bool:
        """Whether a layer saw a sentence; not every part of a model sees each one."""

    def layer(self, layer_key: LayerKey, sentence: int) -> LayerObservation:
        """The observation of one layer in one sentence."""

    def prompt_tokens(self, part: str, sentence: int) -> int | None:
        """How many tokens of a part were given; None where they are not known."""

    def recorded_bytes(self) -> MemoryUse:
        """Bytes of the facts, of query and key, and of what is still on a device."""

    @property
    def others(self) -> tuple[OtherLayers, ...]:
        """Layers in which no attention with a softmax ran."""

    def mixers(self, sentence: int) -> Mixers | StoredMixers:
        """The layers without a softmax whose inputs were kept, on one sentence."""

    @property
    def texts(self) -> int | None:
        """The number of texts that the block saw; None for a file."""

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


class LiveLayers:
    """Layers of a recorder: of its last run, or of a given one."""

    pictures: tuple[FramedPicture, ...] = ()
    verdict: Verdict | None = None

    def __init__(
        self,
        recorder: Recorder,
        tokenizer: Any,
        processor: Any = None,
        number: int | None = None,
        given: str | None = None,
        lists: LayerLists | None = None,
    ) -> None:
        self.recorder, self.tokenizer, self.number = recorder, tokenizer, number
        self.lists = lists or LayerLists(None)
        self.processor, self.given = processor, given
        self._made: dict[tuple[int, LayerKey, int], tuple[int, LayerObservation]] = {}
        self._named: tuple[tuple[int, ...], TokenizedText] | None = None
        self._mixers: dict[int, Mixers] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> LiveLayers:
        return self  # with the model, which a copy shares

    def __reduce__(self) -> tuple[Callable[[bytes], LayerSource], tuple[bytes]]:
        from regard.watcher.files.watched_file import content_of, layers_from
        from regard.watcher.seen import Seen

        return layers_from, (content_of(Seen(self)),)  # every number, without the model

    def at(self, number: int) -> LiveLayers:
        if not 0 <= number < self.texts:
            raise ArgumentError(
                f"{self.texts} texts were seen, counted from 0, so none is {number}."
            )
        return self._again(number, self.given)

    def with_text(self, text: str) -> LiveLayers:
        return self._again(self.number, text)

    def _again(self, number: int | None, given: str | None) -> LiveLayers:
        lists = self.lists
        again = LiveLayers(self.recorder, self.tokenizer, self.processor, number, given, lists)
        again.verdict = self.verdict
        return again

    @property
    def others(self) -> tuple[OtherLayers, ...]:
        return self.lists.others(list(self.paths))

    def mixers(self, sentence: int) -> Mixers:
        inputs, options = self.recorder.mixers, self.recorder.options
        if inputs is None:
            raise NotAskedError("mixers were not watched: regard.watch(model, mixers=True).")
        if sentence not in self._mixers:
            from regard.watcher.mixers.seen_mixers import Mixers  # needs torch

            named = options.text_spans
            spans = options.spans if named is None else named.given
            self._mixers[sentence] = Mixers(inputs, self._tokenized, spans, self.number, sentence)
        return self._mixers[sentence]

    @property
    def _run(self) -> ForwardRun:
        if not self.recorder.runs:
            return ForwardRun()
        self.recorder.synchronize()
        return self.recorder.runs[-1 if self.number is None else self.number]

    @property
    def layer_keys(self) -> tuple[LayerKey, ...]:
        return tuple(sorted(self._run.records, key=lambda x: (PART_ORDER.get(x.part, 9), *x)))

    @property
    def paths(self) -> Mapping[str, LayerKey]:
        return self.recorder.source.paths

    def has(self, layer_key: LayerKey, sentence: int) -> bool:
        return sentence < len(self._run.records[layer_key])

    @property
    def sentences(self) -> int:
        mixed = 0 if self.recorder.mixers is None else self.recorder.mixers.sentences
        return max((len(records) for records in self._run.records.values()), default=mixed)

    def recorded_bytes(self) -> MemoryUse:
        every = [run.bytes for run in self.recorder.runs] or [MemoryUse(0, 0, 0)]
        return MemoryUse(*map(sum, zip(*every, strict=True)))

    @property
    def texts(self) -> int:
        """Those of attention; of a model that has none, those of its mixers."""
        if self.recorder.runs or self.recorder.mixers is None:
            return len(self.recorder.runs)
        from regard.watcher.mixers.texts import MixerTexts  # needs torch

        return len(MixerTexts(self.recorder.mixers).groups())

    def layer(self, layer_key: LayerKey, sentence: int) -> LayerObservation:
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
            span_names=tuple(self._spans(record)),
            span_weights=self._span_weights(record),
        )

    def _spans(self, record: LayerRecord) -> Mapping[str, tuple[int, int]]:
        return self.recorder.options.spans if record.spans is None else record.spans

    def _span_weights(self, record: LayerRecord) -> Array | None:
        """Sums over queries become means over the queries of a span that were seen."""
        if record.span_sums is None:
            return None
        first, last = record.first_row, record.first_row + record.queries
        sizes = [
            max(0, min(stop, last) - max(start, first))
            for start, stop in self._spans(record).values()
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
        ids = token_ids(run, layer_key.part, sentence)
        start, stop = record.first_row, record.first_row + record.queries
        ids = None if ids is None else ids[start:stop]
        return self._tokenized(ids, record.queries), keys

    def _text(self, run: ForwardRun, part: str, sentence: int, length: int) -> TokenizedText:
        ids = token_ids(run, part, sentence)
        if ids is not None and len(ids) != length:
            ids = None if len(ids) < length else ids[:length]
        if ids is None:
            return self._names_without_tokens(run, part, length)
        return self._tokenized(ids, length)

    def _tokenized(self, ids: Any, length: int) -> TokenizedText:
        """Tokens and words; the layers of a part share one text, so the last one is kept."""
        key = (length, *(() if ids is None else map(int, ids)))
        if self._named is None or self._named[0] != key:
            self._named = key, tokenized_ids(self.tokenizer, ids, length, self.given)
        return self._named[1]

    def prompt_tokens(self, part: str, sentence: int) -> int | None:
        given = self._run.prompts.get(part, [])
        return given[sentence] if sentence < len(given) else None

    def image_grids(
        self, layer_key: LayerKey, sentence: int, size: Size | None = None
    ) -> tuple[ImageGrid, ...]:
        return image_grids(self, layer_key, sentence, size)

    def seconds_of_position(self, positions: int) -> float:
        return seconds_of_position(self._run, self.processor, positions)

    def real_positions(self, positions: int, sentence: int) -> int:
        return real_positions(self._run, positions, sentence)

    def _names_without_tokens(self, run: ForwardRun, part: str, length: int) -> TokenizedText:
        """Names of positions without tokens: of a prompt, seconds of a sound, else numbers."""
        if self.given is not None and diffusion_call(run) is not None:
            return prompt_text(self.tokenizer, self.given, length)
        if part.split()[0] == "encoder" and sound_call(run) is not None:
            try:
                return time_names(self.seconds_of_position(length), length)
            except (NotAskedError, ArgumentError):  # no processor that says how long they are
                pass
        return tokenized_ids(None, None, length)
