"""Seen: every watched layer of a model as an observation with names for rows and columns."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from regard.arguments import named_arguments
from regard.atomic_write import write_text
from regard.blas import one_blas_thread
from regard.display import NotebookDisplay, render
from regard.engine.call import check_weighted
from regard.errors import ArgumentError, BackendError, NotAskedError, count
from regard.experiments.because import ScoreDecomposition
from regard.experiments.changes import SENTENCES, Change, ChangeableText, Progress, check_ablation
from regard.experiments.effects import Effects
from regard.experiments.experiment import Experiment
from regard.experiments.selection import HeadSelection, Numbers, Word
from regard.heads.links import Link
from regard.heads.rollout import ROLLOUT_EXPLANATION, flow_row, rolled_out
from regard.progress import late_bar
from regard.text.words import TokenizedText, tokenized_ids
from regard.transformer.combine import Mixed
from regard.typing import Array
from regard.watcher.capture.interface import InterfaceSource
from regard.watcher.capture.operators import OperatorSource
from regard.watcher.capture.recorder import Recorder
from regard.watcher.capture.records import LayerRecord
from regard.watcher.capture.runs import ForwardRun, LayerKey, MemoryUse
from regard.watcher.experiments import because as score
from regard.watcher.experiments import experiment as experiments
from regard.watcher.experiments.gradients import Gradients, gradients
from regard.watcher.experiments.rerun import TextRerun
from regard.watcher.experiments.rotation import RotaryScore, rotation
from regard.watcher.experiments.text_sources import (
    TextSources,
    norm_report,
    norm_weighted,
    projected_values,
    text_sources,
)
from regard.watcher.layer import LayerObservation
from regard.watcher.measures.head_clusters import HeadClusters, cluster_heads
from regard.watcher.measures.head_report import (
    TABLES,
    HeadReport,
    as_dataset,
    report,
    stacked_arrays,
)
from regard.watcher.measures.links import find_links, only_position, word_tokens
from regard.watcher.measures.looks_at import LookedAt, looked_at
from regard.watcher.measures.run_comparison import RunComparison, compare_runs
from regard.watcher.measures.sinks import SinkReport, find_sinks
from regard.watcher.media.image_attention import (
    ImageAttention,
    ImageRequest,
    Query,
    image_attention,
)
from regard.watcher.media.image_grids import ImageGrid, Size, image_grids
from regard.watcher.media.picture_bytes import Area, FramedPicture, PictureBytes
from regard.watcher.media.sound import (
    Head,
    WordTimes,
    real_positions,
    seconds_of_position,
    sound_call,
    time_names,
    word_times,
)
from regard.watcher.media.word_pixels import diffusion_call, prompt_text
from regard.watcher.options import Spans
from regard.watcher.other_layers import LayerLists, OtherLayers, why_none

if TYPE_CHECKING:
    from regard.engine.observation import Observation
    from regard.watcher.mixers.mixer_table import StoredMixers
    from regard.watcher.mixers.seen_mixers import Mixers

MAX_ROLLOUT_TOKENS = 4096  # a table of 134 MB in float64
MAX_FLOW_TOKENS = 64  # the flows of one word take ten seconds there in twelve layers
PART_ORDER = {"encoder": 0, "decoder": 1, "cross": 2}
Key = int | str | tuple[int, int] | tuple[str, int] | tuple[str, int, int]


class LayerSource(Protocol):
    """Layers of a recorder or of a file, with images and sound that the model was given.

    ``tokenizer`` and ``processor`` are the model's, None where they are not known.
    """

    tokenizer: Any
    processor: Any

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
        return LiveLayers(self.recorder, self.tokenizer, self.processor, number, given, self.lists)

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
        ids = self._ids(run, layer_key.part, sentence)
        start, stop = record.first_row, record.first_row + record.queries
        ids = None if ids is None else ids[start:stop]
        return self._tokenized(ids, record.queries), keys

    def _text(self, run: ForwardRun, part: str, sentence: int, length: int) -> TokenizedText:
        ids = self._ids(run, part, sentence)
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

    def _ids(self, run: ForwardRun, part: str, sentence: int) -> Any:
        ids_b = run.tokens.get(part)
        return ids_b[sentence] if ids_b is not None and sentence < len(ids_b) else None

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


@named_arguments
@dataclass(frozen=True)
class Seen(ChangeableText, NotebookDisplay):
    """Attention of a watched model, layer by layer. ``print`` it for a summary.

    ``seen[4]`` is layer 4, an observation of all its heads (entropy, received, top, map, profile,
    tile, row); ``seen[4, 3]`` its head 3. Layers and heads count from 0, as in the model's own
    names, and from the end with a minus; ``for layer in seen`` goes through them. A model with two
    sides has three parts: ``seen["encoder", 4]``, ``seen["decoder", 4]`` and ``seen["cross", 4]``,
    each with an optional head after it. ``seen["blocks.3.attn"]`` is the layer of a module by its
    path (``seen.paths`` lists them). A batch has ``seen.sentence(0)``, ``seen.sentence(1)`` and so
    on, each without its padding. Where a model was called more than once, this is the last text;
    ``seen.run(0)`` is the first.
    """

    _source: LayerSource = field(repr=False)
    _sentence: int | None = None
    _pictures: tuple[FramedPicture, ...] = field(default=(), repr=False)
    _regenerate: bool = field(default=False, repr=False)  # whether experiments write again

    @classmethod
    def from_recorder(
        cls, recorder: Recorder, tokenizer: Any, processor: Any = None, lists: Any = None
    ) -> Seen:
        """The layers of a recorder, current at every access."""
        return cls(LiveLayers(recorder, tokenizer, processor, lists=lists))

    def __getitem__(self, key: Key) -> LayerObservation:
        layer_key, head = self._parse_key(key)
        layer = self._source.layer(layer_key, self._chosen)
        return layer if head is None else layer.head(head)

    def __iter__(self) -> Iterator[LayerObservation]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def layers(self) -> tuple[LayerObservation, ...]:
        """Every watched layer, in the order of ``names``."""
        return tuple(self._source.layer(key, self._chosen) for key in self.names)

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
    def unrecorded(self) -> tuple[str, ...]:
        """Paths of modules in which a softmax or an attention ran that is in no layer here."""
        recorder = getattr(self._source, "recorder", None)
        return () if recorder is None else recorder.source.unrecorded

    @property
    def without_softmax(self) -> tuple[OtherLayers, ...]:
        """Layers that ran without an attention with a softmax: linear attention, for example."""
        return self._source.others

    @property
    def mixers(self) -> Any:
        """Layers that mix positions without a softmax: ``regard.watch(model, mixers=True)``.

        Their exact weights, signed, each with the error of its proofs; see docs/mixers.md.
        """
        return self._source.mixers(self._sentence or 0)

    @property
    def watched_mixers(self) -> bool:
        """Whether ``mixers`` has any: the block had ``mixers=True`` and such layers ran."""
        try:
            return len(self.mixers) > 0
        except NotAskedError:
            return False

    @property
    def parts(self) -> tuple[str, ...]:
        """The watched parts: 'encoder', 'decoder', 'cross' or names of the model's own."""
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

    @property
    def runs(self) -> int:
        """How many texts the block saw; 1 for a file."""
        return 1 if self._source.texts is None else self._source.texts

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
            raise ArgumentError(f"part must be one of {', '.join(self.parts)}, got {part!r}.")
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

    def find(
        self, word: str | int, other: str | int, *, part: str | None = None
    ) -> tuple[Link, ...]:
        """Every head's weight from one word to another, the strongest first.

        'the#2' is the second 'the', and a word that comes several times has to be numbered. Exact,
        from the map while its blocks are single tokens, from query and key where they were kept,
        else from the best keys where they include the word.
        """
        self.texts(part)  # raises where there is no such part
        chosen = [x for x in self.names if x.part == (part or self.names[0].part)]
        return find_links([(x, self._source.layer(x, self._chosen)) for x in chosen], word, other)

    def looks_at(
        self, word: str | int, *, part: str | None = None, weighted: str | None = None
    ) -> LookedAt:
        """What a word looks at: the mean weight on every token over all heads and layers, ranked.

        Parameters
        ----------
        word : a word of the text ('the#2' is the second), or its number from 0.
        part : the part of the model, where it has several.
        weighted : 'norm' for p |v W_O| as a share of its row, from a second run.

        Notes
        -----
        Each token with the share of even attention over the keys that the word can see, and the
        head that gives it most. Exact, from a map of single tokens or from query and key.
        """
        chosen = self._one_part(part, "looks_at")
        keys = [key for key in self.names if key.part == chosen]
        values = projected_values(self._rerun()) if check_weighted(weighted) else None
        return looked_at([(key, self[key]) for key in keys], word, values)

    def report(self, weighted: str | None = None) -> HeadReport:
        """Measures, uniform baselines and a name for each head.

        ``weighted='norm'``: of p_ij |v_j W_O| as a share of its row, which is not the attention,
        from a second run.
        """
        if check_weighted(weighted):
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

    def picture(
        self,
        layer: Key,
        head: int = 0,
        *,
        kind: str = "heatmap",
        between: tuple[tuple[int, int], tuple[int, int]] | None = None,
        title: str | None = None,
    ) -> Any:
        """The picture of one head, to show and to save.

        Parameters
        ----------
        layer : a layer as in ``seen[layer]``: its number, a part with it, or the path of a module.
        head : its number from 0.
        kind : 'heatmap' or another kind of ``Picture``.
        between : two spans (start, stop) of tokens, to show what the first gives to the second.
        title : that of the picture; layer and head if not given.
        """
        options: dict[str, Any] = {"kind": kind, "between": between, "title": title}
        given = {name: value for name, value in options.items() if value is not None}
        return self[layer].picture(head, **given)

    @property
    def memory(self) -> int:
        """Bytes of all arrays of every text of the block, in host memory and on a device."""
        return sum(self._source.recorded_bytes())

    def compare(self, other: Seen) -> RunComparison:
        """Every head in this run and in another, those that differ most first.

        Two prompts in one model, or one text in two checkpoints of the same layers and heads.
        Tokens are aligned, and a head's distance is the Jensen-Shannon divergence of its rows in
        bits, given with that of two different heads of its layer for comparison.
        """
        return compare_runs(self, other)

    def sinks(self, near: int = 32) -> SinkReport:
        """Tokens that heads rest on whatever the text, and each head's near and distant attention.

        Shares on the first token, on special tokens, on punctuation, on near tokens (closer than
        ``near``, a power of two) and on distant ones, each with the share of even attention.
        """
        return find_sinks([(key, self[key]) for key in self.names], near)

    def clusters(self, within: float = 0.1, *, part: str | None = None) -> HeadClusters:
        """Heads grouped by their rows of weights, the first token left out.

        Parameters
        ----------
        within : the mean distance up to which clusters are joined, from 0 (the same rows) to 1.
        part : the part of the model, where it has several.
        """
        chosen = self._one_part(part, "clusters")
        return cluster_heads([(x, self[x]) for x in self.names if x.part == chosen], within)

    @one_blas_thread()
    def rollout(self, *, part: str | None = None) -> Mixed:
        """Attention rollout: mean weights followed from the last layer down to the tokens.

        Parameters
        ----------
        part : the part of the model, where it has several; cross-attention has no rollout.
        """
        layers = self._layers_of_one_text(part, "rollout", MAX_ROLLOUT_TOKENS)
        mixed_qk = rolled_out(layer.mean_weights() for layer in layers)
        queries, keys = layers[0].query_text, layers[0].key_text
        if queries is None or keys is None:
            raise NotAskedError("tokens were not recorded.")
        return Mixed("rollout", ROLLOUT_EXPLANATION, queries, keys, mixed_qk)

    def flow(self, word: str | int, *, part: str | None = None) -> Array:
        """Attention flow: the most that can flow from a word to each token of the text, (k,).

        The mean weights of the layers are capacities, with half of every vector coming straight
        from below; the maximal flow from the word after the last layer to a token before the first.
        Of a word of several tokens the mean.

        Parameters
        ----------
        word : a word of the text ('the#2' is the second), or its number from 0.
        part : the part of the model, where it has several; cross-attention has no flow.
        """
        layers = self._layers_of_one_text(part, "flow", MAX_FLOW_TOKENS)
        text = layers[0].query_text
        if text is None:
            raise NotAskedError("tokens were not recorded.")
        rows = word_tokens(text, only_position(text, word))
        means = [layer.mean_weights() for layer in layers]
        flows = [flow_row(means, row) for row in range(rows.start, rows.stop)]
        return np.asarray(np.mean(flows, axis=0))

    def to_dict(self) -> dict[str, Any]:
        """Tokens, layers, and the report of every head, as JSON values."""
        texts = {part: self.texts(part) for part in self.parts}
        return {
            "parts": {
                part: {"query_tokens": list(queries.tokens), "key_tokens": list(keys.tokens),
                       "words": list(keys.words)}
                for part, (queries, keys) in texts.items()
            },
            "layers": [
                {**key._asdict(), "heads": self[key].head_shape[-1], "notes": list(self[key].notes)}
                for key in self.names
            ],
            "paths": {path: list(key) for path, key in self.paths.items()},
            "without_softmax": [x.to_dict() for x in self.without_softmax],
            **({"mixers": list(self.mixers.facts)} if self.watched_mixers else {}),
            **self.report().to_dict(),
            "counting": "layers and heads count from 0",
        }  # fmt: skip

    def to_pandas(self, table: str = "heads") -> Any:
        """A DataFrame of pandas; BackendError where it is not installed.

        Parameters
        ----------
        table : 'heads' has a line for each head with its measures, baselines and name; 'queries'
            one for each head and query (token, entropy, best key, its weight); 'keys' one for each
            head and key (token, attention received); 'weights' one for each of the best keys of
            each query of each head.
        """
        if table not in TABLES:
            raise ArgumentError(f"table must be one of {', '.join(TABLES)}, got {table!r}.")
        if importlib.util.find_spec("pandas") is None:
            raise BackendError(
                "to_pandas needs pandas, not installed here: pip install pandas, or take "
                "seen.report().to_csv('heads.csv') or seen.arrays()."
            )
        pandas: Any = importlib.import_module("pandas")
        return pandas.DataFrame(TABLES[table](self))

    def arrays(self, part: str | None = None) -> Any:
        """Arrays of all layers of a part by name: an xarray Dataset, or without xarray a dict.

        entropy and logsumexp (layer, head, query), received (layer, head, key), top_weights and
        top_keys (layer, head, query, rank), map (layer, head, query_block, key_block), and each
        measure of the report with its baseline (layer, head), as in ``induction`` and
        ``induction_baseline``. The names of the axes are coordinates of the Dataset and entries of
        the dict: layer and head are numbers from 0, query_token and key_token are the tokens.
        """
        chosen = self._one_part(part, "arrays")
        keys = [key for key in self.names if key.part == chosen]
        layers = [self[key] for key in keys]
        values = stacked_arrays(keys, layers)
        queries, columns = self.texts(chosen)
        coordinates = {
            "layer": np.array([key.layer for key in keys]),
            "head": np.arange(layers[0].head_shape[-1]),
            "query_token": np.array(queries.tokens),
            "key_token": np.array(columns.tokens),
        }
        if importlib.util.find_spec("xarray") is None:
            return values | coordinates
        return as_dataset(values, coordinates)

    def with_text(self, text: str) -> Seen:
        """The same, with the text that was tokenized, so that a saved file shows it as written.

        Byte-level and SentencePiece tokens give their text back without it; WordPiece and
        tokenizers that normalise have lost capitals, blanks and line breaks.
        """
        if not isinstance(self._source, LiveLayers):
            raise ArgumentError("a file holds its text: with_text is for a block that ran.")
        if not isinstance(text, str):
            raise ArgumentError(f"text must be a string, got {text!r:.200}.")
        return replace(self, _source=self._source.with_text(text))

    def with_picture(self, *pictures: Any, area: Area | None = None) -> Seen:
        """The same, with the pictures that the model was given, in their order.

        ``seen.image`` then lays weights over them, and a saved file or page shows them. A picture
        is a path, the bytes of a file, an image of Pillow or an array (rows, columns, 3) of uint8.
        """
        framed = tuple(FramedPicture(PictureBytes.from_any(one), area) for one in pictures)
        return replace(self, _pictures=framed)

    def image(
        self,
        picture: Any = None,
        *,
        layer: Numbers = None,
        head: Numbers = None,
        word: str | int | None = None,
        query: Query | None = None,
        patch: tuple[int, int] | None = None,
        when: str = "read",
        weighted: str | None = None,
        image: int = 0,
        part: str | None = None,
        grid: Size | None = None,
        area: Area | None = None,
        prompt: tuple[int, int] | None = None,
        runs: str | Sequence[int] | None = None,
    ) -> ImageAttention:
        """Where a row looks in an image: its weights on the grid of patches, over the picture.

        In a diffusion model, whose queries are patches, it is where the image looks at a word.

        Parameters
        ----------
        picture : the picture, as ``with_picture`` takes it; not needed for the numbers.
        layer, head : one or several, counted from 0; the mean of all if not given.
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
        prompt : (start, stop) of the keys that are the prompt, in a diffusion model that reads
            prompt and image together, where the model does not say them.
        runs : 'all', or numbers of runs, as of a diffusion model's steps, to take the mean of.
        """
        if isinstance(runs, str) and runs != "all":
            raise ArgumentError(f"runs must be 'all' or numbers of runs, got {runs!r}.")
        request = ImageRequest(
            picture, layer, head, (word, query, patch, when), weighted, image, part, grid, area,
            prompt,
        )  # fmt: skip
        if runs is None:
            return image_attention(self, request)
        chosen = range(self.runs) if isinstance(runs, str) else runs
        return ImageAttention.mean([image_attention(self.run(x), request) for x in chosen])

    def seconds(self, seconds: float | None = None, *, part: str | None = None) -> Array:
        """The second at which each key of a part begins, for a model of sound.

        Parameters
        ----------
        seconds : those of one position; from the processor and the config if not given.
        part : 'encoder' or 'cross'; if not given the one that there is.
        """
        if part is None:
            part = "cross" if "cross" in self.parts else self.parts[0]
        positions = len(self.texts(part)[1].tokens)
        if seconds is None:
            seconds = self._source.seconds_of_position(positions)
        return np.arange(positions) * seconds

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
        keys = [key for key in self.names if key.part == "cross"]
        if not keys:
            raise NotAskedError("word_times needs cross-attention to sound, and none was seen.")
        layers = [(key, self._source.layer(key, self._chosen)) for key in keys]
        positions = layers[0][1].keys
        step = self._source.seconds_of_position(positions) if seconds is None else seconds
        if duration is None:
            real = self._source.real_positions(positions, self._chosen)
        else:
            real = min(positions, max(1, round(duration / step)))
        return word_times(layers, step, real, first, heads)

    def image_grid(
        self, layer_key: LayerKey, image: int = 0, size: Size | None = None
    ) -> ImageGrid:
        """The cells of an image in a layer: which of its keys is which patch."""
        sentence = self._sentence or 0
        grids: tuple[ImageGrid, ...] = self._source.image_grids(layer_key, sentence, size)
        one_text = layer_key.part.split()[0] == "cross" and len({x.first for x in grids}) == 1
        several = self._source.has(layer_key, 1) and ("text" in grids[0].others or one_text)
        if self._sentence is None and several:
            number = sum(self._source.has(layer_key, x) for x in range(self._source.sentences))
            raise ArgumentError(
                f"there are {number} sentences: choose one first, as in seen.sentence(0).image()."
            )
        if self._sentence is not None and len(grids) > 1 and grids[0].cells.shape[0] == 1:
            own = tuple(x for x in grids if x.first == self._sentence)
            grids = own or grids
        if not 0 <= image < len(grids):
            raise ArgumentError(
                f"image must be a number from 0 to {len(grids) - 1} in {layer_key}, got {image!r}."
            )
        return grids[image]

    def _check_seen(self) -> None:
        if not self.names:
            raise NotAskedError(f"nothing was seen yet: {self.advice}")

    @property
    def advice(self) -> str:
        """What to do where nothing was seen."""
        recorder = getattr(self._source, "recorder", None)
        if recorder is not None and recorder.source.ran_elsewhere:
            return (
                "the model ran on another thread, as it does with a streamer. Enter the block on "
                "the thread that calls the model."
            )
        return " ".join(map(str, self.without_softmax)) or "call the model inside the block."

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
        if numbers[0] < 0:  # from the end, as in a list
            own = [x for x in self.names if x.part == layer_key.part]
            layer_key = own[numbers[0]] if -numbers[0] <= len(own) else layer_key
        if layer_key not in self.names and layer_key in self._source.layer_keys:
            number = sum(self._source.has(layer_key, x) for x in range(self.sentences))
            raise ArgumentError(
                f"{layer_key} has {count(number, 'sentence')}, counted from 0, so none is "
                f"{self._sentence}."
            )
        if layer_key not in self.names:
            layers = [str(x.layer) for x in self.names if x.part == layer_key.part]
            raise ArgumentError(
                f"{layer_key} was not watched: {layer_key.part} has layers "
                f"{', '.join(layers) or 'none'}.{why_none(self.without_softmax, layer_key)}"
            )
        return layer_key, int(numbers[1]) if len(numbers) > 1 else None

    def _check_key(self, key: Key, part: str | None, numbers: tuple[Any, ...]) -> None:
        valid = 1 <= len(numbers) <= 2 and all(isinstance(x, int) for x in numbers)
        if not valid or (part is not None and self.names and part not in self.parts):
            raise ArgumentError(
                f"seen takes [layer], [layer, head] or a part before them "
                f"({', '.join(self.parts)}), got {key!r}."
            )
        if part is None and len(self.parts) > 1:
            first = self.parts[0]
            raise ArgumentError(
                f"this model has {', '.join(self.parts)}, so say which: seen[{first!r}, {key!r}]."
            )

    def _layers_of_one_text(
        self, part: str | None, method: str, max_tokens: int
    ) -> list[LayerObservation]:
        """Every layer of a part whose queries and keys are one text, with all its weights."""
        chosen = self._one_part(part, method)
        keys = [key for key in self.names if key.part == chosen]
        layers = [self[key] for key in keys]
        first = layers[0]
        if chosen.split()[0] == "cross" or any(x.queries != x.keys for x in layers):
            raise ArgumentError(
                f"{method} needs layers whose queries and keys are the same tokens, and those of "
                f"{chosen!r} are not."
            )
        if [key.layer for key in keys] != list(range(len(keys))):
            numbers = ", ".join(str(key.layer) for key in keys)
            raise NotAskedError(
                f"{method} needs every layer from 0 on, and those that were watched are {numbers}: "
                "watch with layers='all'."
            )
        if first.keys > max_tokens:
            raise ArgumentError(
                f"{method} takes texts of at most {max_tokens:,} tokens, got {first.keys:,}."
            )
        for layer in layers:
            if not layer.parts and not layer.every_weight:
                raise NotAskedError(
                    f"{method} needs the weights of {layer.name}, and its map's blocks hold more "
                    f"than one token: watch with map={first.keys} (every weight), or with "
                    "keep='all'."
                )
        return layers

    def _one_part(self, part: str | None, method: str) -> str:
        if part is None and len(self.parts) > 1:
            raise ArgumentError(
                f"this model has {', '.join(self.parts)}, so say which: "
                f"seen.{method}(part={self.parts[0]!r})."
            )
        self.texts(part)  # raises where there is no such part
        return part or self.parts[0]

    @property
    def _recorder(self) -> Any:
        recorder = getattr(self._source, "recorder", None)
        if recorder is None:
            raise ArgumentError("an experiment needs the model: a file has only what was seen.")
        return recorder

    @property
    def outcome(self) -> Experiment:
        """Before and after of the changes of the block: logits, next tokens, text.

        The run without them is made when this is first read, after the block, and kept.
        """
        recorder = self._recorder.source
        capture = getattr(recorder, "capture", None)
        if capture is None:
            raise NotAskedError(
                "an outcome needs a change, and the end of its block: with "
                "regard.watch(model).ablate(4, 7) as seen: model(...), and after it seen.outcome."
            )
        if recorder.outcome is None:
            recorder.outcome = experiments.block_outcome(self, recorder.block, capture)
        outcome: Experiment = recorder.outcome
        return outcome

    def effects(
        self,
        of: str | int | None = None,
        against: str | int | None = None,
        *,
        position: int | None = None,
        to: str = "zero",
        over: Sequence[str] | None = None,
        batch: int = 16,
        progress: Progress | None = None,
    ) -> Effects:
        """What each head does for one next token against another: a real run without it.

        Parameters
        ----------
        of, against : tokens, or the words that they begin; the likeliest two if not given.
        position : the token whose next one is meant, from 0; the last if not given.
        to, over : 'zero', or 'mean': a head writes its mean over these texts, our own if None.
        batch : how many heads of a layer are taken away at once, each in a row of its own.
        progress : called with the number of heads done and of all.
        """
        rerun, means = self._rerun(), None
        if check_ablation(to) == "mean":
            means = experiments.mean_outputs(self._model_recorder().block, over or SENTENCES)
        return experiments.effects(
            rerun, of, against, position, batch=batch, means=means, progress=progress
        )

    def because(
        self,
        word: Word,
        other: Word,
        layer: int,
        head: int,
        *,
        part: str | None = None,
        against: Word | None = None,
    ) -> ScoreDecomposition:
        """Why a head's score of one word on another is what it is: a sum over components.

        Embedding, position, every earlier head and feed-forward layer on both sides, for models
        built as Llama, GPT-2 or BERT are. The terms sum to the model's own score, which is checked.
        With ``against`` it is why the score on ``other`` is larger than that on a third word.
        """
        for one, is_key in ((word, False), (other, True), (against, True)):
            if one is not None:
                experiments.check_word(self, one, part, is_key=is_key)
        return score.because(self._rerun(), word, other, layer, head, part=part, against=against)

    def rotation(
        self, word: Word, other: Word, layer: int, head: int, *, part: str | None = None
    ) -> RotaryScore:
        """The score of one word on another, number by number of its rotary position embedding.

        Each pair of numbers of query and key before and after it was turned, the angles, and what
        it adds to the score; for models that turn query and key (Llama, Qwen, Mistral, Gemma).
        """
        experiments.check_word(self, word, part, is_key=False)
        experiments.check_word(self, other, part, is_key=True)
        return rotation(self._rerun(), word, other, layer, head, part)

    def gradients(
        self,
        of: str | int | None = None,
        against: str | int | None = None,
        *,
        position: int | None = None,
        steps: int | None = None,
        progress: Progress | None = None,
    ) -> Gradients:
        """Gradient x attention of every head, and integrated gradients of every token.

        Right for small changes alone (``gradients().limits``); ``effects`` really runs again.

        Parameters
        ----------
        of, against : tokens, or the words that they begin; the likeliest two if not given.
        position : the token whose next one is meant, from 0; the last if not given.
        steps : steps from the mean embedding to the text's own; if not given 32, and 128 where
            those do not add up to the difference.
        progress : called with the number of steps done and of all; a bar if not given.
        """
        with late_bar("integrated gradients") as bar:
            return gradients(self._rerun(), of, against, position, steps, progress or bar)

    def sources(
        self,
        spans: Spans = "lines",
        of: Sequence[tuple[int, int]] | tuple[int, int] | None = None,
    ) -> TextSources:
        """How much each part of the context counted for each sentence generated after it.

        Norm-weighted attention over all layers and heads, beside the effect of really hiding each
        part, and how well the first predicted the second.

        Parameters
        ----------
        spans : {name: text} or {name: (start, stop)} in tokens (system text, documents, question),
            the messages of a chat, or 'lines'.
        of : sentences as (start, stop) in tokens; if not given what was generated, or all that
            comes after the spans, split at full stops.
        """
        return text_sources(self._rerun(), spans, of)

    def norm_weighted(
        self, layer: int, *, part: str | None = None, top: int = 16, map: int = 512
    ) -> Observation:
        """All heads of a layer with p_ij |v_j W_O| as a share of its row: not the attention.

        Every fact of an observation (entropy, received, top, map, tile), from a second run.
        """
        rerun = self._rerun()
        return norm_weighted(rerun, LayerKey(part or next(iter(rerun.heads)).part, layer), top, map)

    def _changeable(self, regenerate: bool) -> Seen:
        return replace(self, _regenerate=True) if regenerate else self

    def _select(
        self, part: str | None, layer: Numbers, head: Numbers, *, hides_keys: bool = False
    ) -> HeadSelection:
        model = self._model_recorder().model
        return experiments.select_heads(model, part, layer, head, hides_keys=hides_keys)

    def _mean_outputs(self, texts: Sequence[str]) -> Mapping[tuple[str, int], Any]:
        return experiments.mean_outputs(self._model_recorder().block, texts)

    def _head_outputs(self, other: Any) -> Any:
        return experiments.head_outputs(other)

    def _add(self, change: Change) -> Experiment:
        experiments.check_words(self, change)  # before anything runs
        return self.experiment._add(change)

    def _rerun(self) -> TextRerun:
        return TextRerun.from_seen(self, self._model_recorder())

    @property
    def experiment(self) -> Experiment:
        """An experiment on this text, run again from its tokens; nothing is changed yet."""
        run = self._rerun().regenerated if self._regenerate else self._rerun().watched_run
        return Experiment(experiments.WATCHED_ADAPTER, run, run)

    def _model_recorder(self) -> InterfaceSource | OperatorSource:
        """The source of events of a model, in which heads can be changed."""
        source: InterfaceSource | OperatorSource = self._recorder.source
        if source.model is None:
            raise BackendError("a second run needs the model: regard.watch(model), not watch().")
        return source
