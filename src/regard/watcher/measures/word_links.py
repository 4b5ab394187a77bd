"""Links between two words of a watched model, in every head."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.errors import ArgumentError, NotAskedError
from regard.heads.links import Link, word_position
from regard.text.words import TokenizedText
from regard.typing import Array
from regard.watcher.capture.forward_run import LayerKey
from regard.watcher.layer import LayerObservation


def find(
    layers: Sequence[tuple[LayerKey, LayerObservation]], word: str | int, other: str | int
) -> tuple[Link, ...]:
    """Weights added over the tokens of the other word, averaged over those of the first.

    ``usual`` is what the other queries that can see that word give to it, on average.
    """
    links = []
    for key, seen in layers:
        queries, keys = seen.query_text, seen.key_text
        if queries is None or keys is None:
            raise NotAskedError("find needs words: give watch the model's tokenizer.")
        row, column = _only_position(queries, word), _only_position(keys, other)
        rows, columns = _tokens(queries, row), _tokens(keys, column)
        weights_h = _between(seen, rows, columns)
        usual_h = _usual(key, seen, rows, columns, weights_h)
        links += [
            Link(*key, head, row, column, queries.words[row], keys.words[column],
                 float(weight), float(usual))
            for head, (weight, usual) in enumerate(zip(weights_h, usual_h, strict=True))
        ]  # fmt: skip
    return tuple(sorted(links, key=lambda link: -link.weight))


def _only_position(text: TokenizedText, word: str | int) -> int:
    """The position of a word; one that comes several times has to be numbered."""
    position = word_position(text.words, word)
    times = sum(x.casefold() == str(word).strip().casefold() for x in text.words)
    if isinstance(word, str) and times > 1:
        raise ArgumentError(
            f"{word!r} needs a number, since the text has it {times} times: "
            f"{', '.join(repr(f'{word}#{i + 1}') for i in range(min(times, 3)))}"
            f"{', ...' if times > 3 else ''}."
        )
    return position


def _tokens(text: TokenizedText, word: int) -> slice:
    tokens = np.flatnonzero(np.equal(text.word_of_token, word))
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
    if seen.parts or seen.every_weight:
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
