"""Seen: every watched layer of a model as an observation with names for rows and columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from regard.arguments import named_arguments
from regard.atomic_write import write_text
from regard.display import NotebookDisplay, render
from regard.engine.call import check_weighted
from regard.errors import ArgumentError, NotAskedError, count
from regard.experiments.experiment import Experiment
from regard.text.words import TokenizedText
from regard.watcher.capture.recorder import Recorder
from regard.watcher.capture.runs import LayerKey
from regard.watcher.experiments.seen_experiments import SeenExperiments, experiment_of, outcome_of
from regard.watcher.experiments.text_sources import norm_report
from regard.watcher.layer import LayerObservation
from regard.watcher.live_layers import LayerSource, LiveLayers
from regard.watcher.measures.head_report import HeadReport, report
from regard.watcher.measures.seen_measures import SeenMeasures
from regard.watcher.media.picture_bytes import FramedPicture
from regard.watcher.media.seen_media import SeenMedia
from regard.watcher.other_layers import OtherLayers, why_none
from regard.watcher.verdict import Verdict

Key = int | str | tuple[int, int] | tuple[str, int] | tuple[str, int, int]


@named_arguments
@dataclass(frozen=True)
class Seen(SeenMeasures, SeenMedia, SeenExperiments, NotebookDisplay):
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
    def verdict(self) -> Verdict | None:
        """What ``regard.judge(seen)`` found, in a block inside that of ``regard.watch``."""
        return self._source.verdict

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

        if not self.watched_mixers:
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

    def _part_layers(self, part: str | None) -> list[tuple[LayerKey, LayerObservation]]:
        """The layers of a part, the first if not given; raises where there is no such part."""
        self.texts(part)
        chosen = part or self.parts[0]
        return [(key, self[key]) for key in self.names if key.part == chosen]

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
        return outcome_of(self)

    @property
    def experiment(self) -> Experiment:
        """An experiment on this text, run again from its tokens; nothing is changed yet."""
        return experiment_of(self)
