"""Links between words: the weights of every head between two words, and agreement with given links.

A head agrees with a link, as of a dependency parse or of coreference, where the query's row has its
largest weight, among the words of the sentence other than itself, on the key. The
baseline is the best fixed offset: the share of links that 'the word before', or any other one
distance, gets right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.display import TextDisplay
from regard.errors import ArgumentError, NotAskedError
from regard.heads.links import Link, single_word
from regard.text.link_file import LabelledLink, LinkedSentence
from regard.text.words import TokenizedText
from regard.typing import Array
from regard.watcher.capture.runs import LayerKey
from regard.watcher.experiments.rerun import input_device
from regard.watcher.layer import LayerObservation
from regard.watcher.measures.head_clusters import HeadNumbers
from regard.watcher.measures.sinks import token_kind

if TYPE_CHECKING:
    from regard.watcher.seen import Seen
    from regard.watcher.watch import Watching


def find(
    seen: Seen, word: str | int, other: str | int, *, part: str | None = None
) -> tuple[Link, ...]:
    """Every head's weight from one word to another, the strongest first.

    'the#2' is the second 'the', and a word that comes several times has to be numbered. Exact,
    from the map while its blocks are single tokens, from query and key where they were kept,
    else from the best keys where they include the word. Weights are added over the tokens of the
    other word and averaged over those of the first; ``usual`` is what the other queries that can
    see that word give to it, on average.
    """
    links = []
    for key, layer in seen._part_layers(part):
        queries, keys = layer.texts_for("find")
        row, column = only_position(queries, word), only_position(keys, other)
        rows, columns = word_tokens(queries, row), word_tokens(keys, column)
        weights_h = _between(layer, rows, columns)
        usual_h = _usual(key, layer, rows, columns, weights_h)
        links += [
            Link(
                *key,
                head,
                row,
                column,
                queries.words[row],
                keys.words[column],
                float(weight),
                float(usual),
            )
            for head, (weight, usual) in enumerate(zip(weights_h, usual_h, strict=True))
        ]
    return tuple(sorted(links, key=lambda link: -link.weight))


def only_position(text: TokenizedText, word: str | int) -> int:
    """The position of a word; one that comes several times has to be numbered."""
    return single_word(text.words, word)


def word_tokens(text: TokenizedText, word: str | int) -> slice:
    """The positions of the tokens of a word."""
    tokens = np.flatnonzero(np.equal(text.word_of_token, single_word(text.words, word)))
    return slice(int(tokens[0]), int(tokens[-1]) + 1)


def _usual(
    key: LayerKey, seen: LayerObservation, rows: slice, columns: slice, weights_h: Array
) -> Array:
    """The mean weight that the key word receives from the other queries."""
    first = columns.start - (seen.keys - seen.queries) if key.part == "decoder" else 0
    others = seen.queries - max(0, first) - (rows.stop - rows.start)
    received_h = np.asarray(seen.received[..., columns], np.float64).sum(axis=-1)
    rest_h = received_h - weights_h * (rows.stop - rows.start)
    return np.asarray(np.maximum(rest_h, 0) / max(1, others))


def _between(seen: LayerObservation, rows: slice, columns: slice) -> Array:
    if seen.parts or seen.map_is_weights:
        return np.asarray(seen.tile(rows, columns).sum(axis=-1).mean(axis=-1))
    best = seen.top()
    weights_hqn, keys_hqn = best.weights[..., rows, :], best.keys[..., rows, :]
    inside = (keys_hqn >= columns.start) & (keys_hqn < columns.stop)
    pairs = (columns.stop - columns.start) * (rows.stop - rows.start)
    if (inside.sum(axis=(-1, -2)) < pairs).any():
        raise NotAskedError(
            f"{seen.name}: the weight is not among the {best.keys.shape[-1]} best keys of every "
            f"head, and the map's blocks hold more than one token. Watch with "
            f"map={max(seen.queries, seen.keys)} (every weight), or with keep='all'."
        )
    return np.asarray((weights_hqn * inside).sum(axis=-1).mean(axis=-1))


ALL_LINKS = "all links"
FORWARD, BACKWARD = "to the key", "to the query"


@dataclass(frozen=True)
class LabelAgreement:
    """Links of one label in one direction; ``accuracy_h`` of every head, in their order.

    ``direction`` is 'to the key' (a dependent looks at its head) or 'to the query'. ``offset`` is
    the best fixed one and ``baseline`` its accuracy. ``second_half`` is the accuracy
    on every second sentence of the head that is best on the others, None where a half has none.
    """

    label: str
    direction: str
    links: int
    accuracy_h: NDArray[np.float64] = field(repr=False)
    best: HeadNumbers
    accuracy: float
    second_half: float | None
    offset: int
    baseline: float


@dataclass(frozen=True, repr=False)
class LinkAgreement(TextDisplay):
    """Every label in both directions, the largest lead over the best fixed offset first.

    ``hidden`` counts ways of links to a later word of a causal model; ``misspelt`` are sentences
    that were left out, since the model's tokens do not spell their words.
    """

    rows: tuple[LabelAgreement, ...]
    heads: tuple[HeadNumbers, ...]
    sentences: int
    hidden: int
    misspelt: tuple[str, ...] = ()

    def row(self, label: str = ALL_LINKS, direction: str = FORWARD) -> LabelAgreement:
        for row in self.rows:
            if (row.label, row.direction) == (label, direction):
                return row
        labels = ", ".join(dict.fromkeys(f"{x.label!r}" for x in self.rows))
        raise ArgumentError(f"label must be one of {labels}, got {label!r}.")

    def to_dict(self) -> dict[str, Any]:
        rows = [
            vars(row) | {"accuracy_h": row.accuracy_h.tolist(), "best": row.best._asdict()}
            for row in self.rows
        ]
        return {
            "rows": rows,
            "heads": [head._asdict() for head in self.heads],
            "sentences": self.sentences,
            "hidden": self.hidden,
            "misspelt": list(self.misspelt),
            "counting": "layers and heads count from 0",
        }


def measure_agreement(
    watching: Watching, sentences: Sequence[LinkedSentence], fewest: int = 10
) -> LinkAgreement:
    """Run the model on every sentence; labels with fewer links than ``fewest`` have no row."""
    if watching.tokenizer is None:
        raise ArgumentError(
            "link_agreement needs the model's tokenizer: watch(model, tokenizer=...)."
        )
    trials, misspelt = _Trials(), []
    for number, sentence in enumerate(sentences):
        weights_hww = _weights(watching, sentence, trials) if sentence.links else None
        if weights_hww is not None:
            trials.add(number, sentence, weights_hww)
        elif sentence.links:
            misspelt.append(sentence.text)
    if not trials.trials:
        shown = f": {misspelt[0]!r}" if misspelt else ""
        raise ArgumentError(
            "link_agreement needs sentences whose tokens spell their words character by character, "
            f"and words that can be seen, and there is none{shown}."
        )
    rows = trials.rows(fewest)
    rows.sort(key=lambda row: row.baseline - row.accuracy)
    used = len(sentences) - len(misspelt)
    return LinkAgreement(tuple(rows), trials.heads, used, trials.hidden, tuple(misspelt))


@dataclass
class _Trials:
    """One trial for each link, direction and sentence: which heads hit it, and its offset."""

    heads: tuple[HeadNumbers, ...] = ()
    causal: bool = False
    hidden: int = 0
    trials: list[tuple[str, str, int, int, Array]] = field(default_factory=list)

    def add(self, number: int, sentence: LinkedSentence, weights_hww: Array) -> None:
        rows_hww = weights_hww.copy()
        rows_hww[:, np.arange(len(sentence.words)), np.arange(len(sentence.words))] = -1
        best_hw = rows_hww.argmax(axis=-1)
        for link in sentence.links:
            for direction, one in ((FORWARD, link), (BACKWARD, _reversed(link))):
                if self.causal and one.key > one.query:
                    self.hidden += 1
                    continue
                hit_h = best_hw[:, one.query] == one.key
                trial = (one.label, direction, number, one.key - one.query, hit_h)
                self.trials.append(trial)

    def rows(self, fewest: int) -> list[LabelAgreement]:
        rows = []
        counts = Counter(label for label, direction, *_ in self.trials)
        for label in [ALL_LINKS, *sorted(x for x in counts if counts[x])]:
            for direction in (FORWARD, BACKWARD):
                own = [x for x in self.trials if label in (ALL_LINKS, x[0]) and x[1] == direction]
                if len(own) >= (1 if label == ALL_LINKS else fewest):
                    rows.append(self._row(label, direction, own))
        return rows

    def _row(
        self, label: str, direction: str, own: list[tuple[str, str, int, int, Array]]
    ) -> LabelAgreement:
        hits_nh = np.array([trial[4] for trial in own], np.float64)
        accuracy_h = hits_nh.mean(axis=0)
        best = int(accuracy_h.argmax())
        even_n = np.array([trial[2] % 2 == 0 for trial in own])
        second_half = None
        if even_n.any() and not even_n.all():
            chosen = int(hits_nh[even_n].mean(axis=0).argmax())
            second_half = float(hits_nh[~even_n, chosen].mean())
        offset, number = Counter(trial[3] for trial in own).most_common(1)[0]
        return LabelAgreement(
            label,
            direction,
            len(own),
            accuracy_h,
            self.heads[best],
            float(accuracy_h[best]),
            second_half,
            offset,
            number / len(own),
        )


def _weights(watching: Watching, sentence: LinkedSentence, trials: _Trials) -> Array | None:
    """Weights of every head between the words of the file, (h, w, w); None where they differ."""
    seen = _read(watching, sentence.text)
    part = seen.parts[0]
    layers = [(key, seen[key]) for key in seen.names if key.part == part]
    words_t = word_of_tokens(seen.texts(part)[1], sentence.words)
    if words_t is None:
        return None
    member_wt = np.equal(np.arange(len(sentence.words))[:, None], words_t).astype(np.float64)
    mean_wt = member_wt / member_wt.sum(axis=1, keepdims=True)
    weights_hqk = np.concatenate(
        [np.asarray(x.tile(slice(None), slice(None)), np.float64) for _, x in layers]
    )
    trials.causal = trials.causal or part == "decoder"
    trials.heads = tuple(
        HeadNumbers(*key, head) for key, x in layers for head in range(x.head_shape[-1])
    )
    return np.asarray(mean_wt @ weights_hqk @ member_wt.T)


def _read(watching: Watching, text: str) -> Seen:
    import torch

    inputs = watching.tokenizer(text, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    length = inputs["input_ids"].shape[1]
    block = watching.with_options(top=1, map=max(16, length))
    with torch.no_grad(), block as seen:
        watching.model(**inputs.to(input_device(watching.model)))
    return seen


def word_of_tokens(text: TokenizedText, words: Sequence[str]) -> NDArray[np.int64] | None:
    """The word of a file that each token belongs to, by counting characters; -1 for special ones.

    None where tokens and words have not as many characters, as where one is unknown.

    >>> text = TokenizedText(*[("<s>", "do", "+n't", "go")] * 3, (0, 1, 1, 2))
    >>> word_of_tokens(text, ["do", "n't", "go"])
    array([-1,  0,  1,  2])
    """
    of_character = [i for i, word in enumerate(words) for _ in "".join(word.split())]
    sizes = [0 if token_kind(token) == "special" else len(_bare(token)) for token in text.tokens]
    ends = np.cumsum(sizes)
    if not of_character or ends[-1] != len(of_character):
        return None
    starts = ends - sizes
    return np.array(
        [of_character[start] if size else -1 for start, size in zip(starts, sizes, strict=True)]
    )


def _bare(token: str) -> str:
    """A token without the mark of one that goes on inside a word, and without blanks."""
    plain = token[1:] if token.startswith("+") and len(token) > 1 else token
    return "".join(plain.split())


def _reversed(link: LabelledLink) -> LabelledLink:
    return LabelledLink(link.key, link.query, link.label)
