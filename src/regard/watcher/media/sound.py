"""Sound: seconds of each encoder position, and the times at which words were heard.

A head follows the sound if its weights lie in order: cut the sound into as many pieces as there are
rows, in the order of the rows, so that the weight of every row inside its own piece is largest in
sum (dynamic time warping in which each position belongs to one row). The mean share of a row inside
its piece is compared with that of the same rows in reverse order, which a head that rests on a few
positions, or is spread out, has as well: the difference is the head's monotonicity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.display import TextDisplay, percent
from regard.errors import ArgumentError, NotAskedError
from regard.text.words import TokenizedText
from regard.typing import Array
from regard.watcher.capture.runs import LayerKey
from regard.watcher.media.inputs import SOUND, MediaCall

if TYPE_CHECKING:
    from regard.watcher.capture.runs import ForwardRun
    from regard.watcher.layer import LayerObservation
    from regard.watcher.seen import Seen


SECONDS_HINT = "say it: seconds=0.02 for every position of the encoder"


def sound_call(run: ForwardRun) -> MediaCall | None:
    """The call of the module that took the sound of a run."""
    return next((call for call in run.media if call.shape(SOUND)), None)


def seconds_of_position(run: ForwardRun, processor: Any, positions: int) -> float:
    """Seconds between two positions of the encoder, from the feature extractor and the config.

    Features (b, mel, frames) of the extractor's hop become fewer positions by strides that their
    numbers tell; samples by the strides of the model's convolutions.
    """
    call = sound_call(run)
    if call is None:
        raise NotAskedError(
            "no sound was seen: call the model with input_features or input_values."
        )
    extractor = getattr(processor, "feature_extractor", processor)
    rate = getattr(extractor, "sampling_rate", None)
    if not rate:
        raise NotAskedError(
            "seconds need the rate of the samples, which the model's processor knows: give it to "
            f"watch, as in watch(model, processor=processor), or {SECONDS_HINT}."
        )
    stride = getattr(call.config, "conv_stride", None)
    if call.has("input_values") and stride is not None:
        return float(prod(stride)) / float(rate)
    frames, hop = _frames(call), getattr(extractor, "hop_length", None)
    if hop and frames and frames % positions == 0:
        return (frames // positions) * float(hop) / float(rate)
    raise ArgumentError(
        f"the seconds of {positions} positions of {type(call.module).__name__} are not known from "
        f"its config and its feature extractor: {SECONDS_HINT}."
    )


def _frames(call: MediaCall) -> int | None:
    """The number of frames of features; Whisper has them last, others before the mel bands."""
    shape = call.shape(("input_features",))
    if shape is None or len(shape) != 3:
        return None
    bands = getattr(call.config, "num_mel_bins", None)
    return shape[2] if shape[1] == bands else shape[1]


def real_positions(run: ForwardRun, positions: int, sentence: int) -> int:
    """Positions of the encoder that hear sound and no padding, where a mask of frames says so."""
    frames = {_frames(call) for call in run.media}
    masks = [call.arguments["attention_mask"] for call in run.media if call.has("attention_mask")]
    mask = next((x for x in masks if x.ndim == 2 and x.shape[1] in frames), None)
    if mask is None or sentence >= len(mask):
        return positions
    real = int(mask[sentence].sum())
    return max(1, min(positions, -(-real * positions // int(mask.shape[1]))))


def time_names(seconds: float, positions: int) -> TokenizedText:
    """Positions of the encoder named by the seconds at which they begin.

    >>> time_names(0.02, 3).tokens
    ('0.00 s', '0.02 s', '0.04 s')
    """
    names = tuple(f"{seconds * position:.2f} s" for position in range(positions))
    return TokenizedText(names, names, names, tuple(range(positions)))


MIN_MONOTONICITY = 0.1  # monotonicity of a head that can be used
MIN_SHARE_OF_BEST = 0.5  # and its share of the best head's
MAX_FOLLOWING_HEADS = 10
Head = tuple[int, int]


class WordTime(NamedTuple):
    """A word, its start and end in seconds, and the share of its rows that lies between them."""

    word: str
    start: float
    end: float
    weight: float


class FollowingHead(NamedTuple):
    """A head of cross-attention: weight in the order of the words, and in their reverse order."""

    layer: int
    head: int
    in_order: float
    reverse: float

    @property
    def monotonicity(self) -> float:
        """The weight in order beyond that of the reverse order."""
        return self.in_order - self.reverse


@dataclass(frozen=True, repr=False)
class WordTimes(TextDisplay):
    """When each word was heard, and by which heads; ``print`` it for a table."""

    words: tuple[WordTime, ...]
    heads: tuple[FollowingHead, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "words": [word._asdict() for word in self.words],
            "heads": [head._asdict() for head in self.heads],
            "seconds": self.seconds,
        }

    def __str__(self) -> str:
        lines = ["  start     end  weight  word"]
        lines += [
            f"{x.start:>7.2f} {x.end:>7.2f} {percent(x.weight):>7}  {x.word}" for x in self.words
        ]
        heads = ", ".join(
            f"{x.layer}.{x.head} ({percent(x.in_order)}, reversed {percent(x.reverse)})"
            for x in self.heads
        )
        about = (
            f"Seconds, in steps of {self.seconds:g}. Heads of cross-attention in order: {heads}."
        )
        return "\n".join([*lines, about])


def seconds(seen: Seen, seconds: float | None = None, *, part: str | None = None) -> Array:
    """The second at which each key of a part begins, for a model of sound.

    Parameters
    ----------
    seconds : those of one position; from the processor and the config if not given.
    part : 'encoder' or 'cross'; if not given the one that there is.
    """
    if part is None:
        part = "cross" if "cross" in seen.parts else seen.parts[0]
    positions = len(seen.texts(part)[1].tokens)
    if seconds is None:
        seconds = seen._source.seconds_of_position(positions)
    return np.arange(positions) * seconds


def word_times(
    seen: Seen,
    *,
    seconds: float | None = None,
    duration: float | None = None,
    first: int | None = None,
    heads: Sequence[Head] | None = None,
) -> WordTimes:
    """When each word that a model wrote was heard, from the heads that follow the sound.

    The row before a token wrote it; that of the last token takes what is left of the sound.
    The heads are chosen on this run, by their monotonicity: how much more of their weight lies
    in the order of the words than in reverse.

    Parameters
    ----------
    seconds : those of one position of the encoder; from processor and config if not given.
    duration : seconds of the sound without its padding; by the mask of its frames, or all of
        it, if not given.
    first : the first token of the text; the first that is not special if not given.
    heads : (layer, head) of cross-attention to use instead.
    """
    keys = [key for key in seen.names if key.part == "cross"]
    if not keys:
        raise NotAskedError("word_times needs cross-attention to sound, and none was seen.")
    layers = [(key, seen._source.layer(key, seen._chosen)) for key in keys]
    positions = layers[0][1].keys
    step = seen._source.seconds_of_position(positions) if seconds is None else seconds
    if duration is None:
        real = seen._source.real_positions(positions, seen._chosen)
    else:
        real = min(positions, max(1, round(duration / step)))
    text, _ = layers[0][1].texts_for("word_times")
    start, stop = _text_span(text, first)
    rows = slice(start - 1, stop)
    if stop - start + 1 > real:
        raise ArgumentError(
            f"word_times needs at least as many positions of sound as tokens, got {real} for "
            f"{stop - start} tokens."
        )
    scored = score_heads(layers, rows, real)
    chosen = _chosen(scored, heads)
    mean_qk = _mean_weights(layers, chosen, rows, real)
    edges = segments(mean_qk[None])[1][0]
    return WordTimes(_words(text, start, stop, mean_qk, edges, step), tuple(chosen), step)


def _text_span(text: TokenizedText, first: int | None) -> tuple[int, int]:
    """The first token of the text, and the one after its last; special tokens stand around it."""
    plain = [i for i, token in enumerate(text.tokens) if not _is_special(token)]
    start = first if first is not None else next((i for i in plain if i), None)
    if start is None or not 1 <= start < len(text.tokens):
        raise ArgumentError(
            f"word_times needs a text after the first token, got {' '.join(text.tokens)!r}."
        )
    return start, max([i for i in plain if i >= start], default=start) + 1


def _is_special(token: str) -> bool:
    return token.startswith("<") and token.endswith(">")


def score_heads(
    layers: Sequence[tuple[LayerKey, LayerObservation]], rows: slice, positions: int
) -> list[FollowingHead]:
    """Every head of cross-attention, the most monotonic first."""
    scored = []
    for key, layer in layers:
        weights_hqk = np.asarray(layer.tile(rows, slice(0, positions)), np.float64)
        in_order_h, reverse_h = (segments(x)[0] for x in (weights_hqk, weights_hqk[:, ::-1]))
        scored += [
            FollowingHead(key.layer, head, float(one), float(other))
            for head, (one, other) in enumerate(zip(in_order_h, reverse_h, strict=True))
        ]
    return sorted(scored, key=lambda x: -x.monotonicity)


def segments(weights_hqk: Array) -> tuple[Array, NDArray[np.int64]]:
    """Cut the keys into a piece for each row, in order, with the largest weight in total.

    Returns the mean weight of a row in its piece, for each head, and the edges (h, q + 1).

    >>> share, edges = segments(np.array([[[0.9, 0.1, 0.0], [0.0, 0.5, 0.5]]]))
    >>> share.tolist(), edges.tolist()
    ([0.95], [[0, 1, 3]])
    """
    heads, rows, keys = weights_hqk.shape
    sums_hqk = np.concatenate(
        [np.zeros((heads, rows, 1)), np.cumsum(weights_hqk, axis=-1)], axis=-1
    )
    best_hk = sums_hqk[:, 0].copy()
    best_hk[:, 0] = -np.inf  # every row has a key at least
    origin_qhk = np.zeros((rows, heads, keys + 1), np.int64)
    for row in range(1, rows):
        before_hk = best_hk - sums_hqk[:, row]
        running_hk = np.maximum.accumulate(before_hk, axis=-1)
        at_hk = np.where(before_hk == running_hk, np.arange(keys + 1), 0)
        at_hk = np.maximum.accumulate(at_hk, axis=-1)
        best_hk = np.full_like(best_hk, -np.inf)
        best_hk[:, 1:] = running_hk[:, :-1] + sums_hqk[:, row, 1:]
        origin_qhk[row, :, 1:] = at_hk[:, :-1]
    edges_hq = np.zeros((heads, rows + 1), np.int64)
    edges_hq[:, rows] = keys
    for row in range(rows - 1, 0, -1):
        edges_hq[:, row] = origin_qhk[row, np.arange(heads), edges_hq[:, row + 1]]
    return best_hk[:, keys] / rows, edges_hq


def _chosen(scored: list[FollowingHead], heads: Sequence[Head] | None) -> list[FollowingHead]:
    if heads is not None:
        chosen = [x for x in scored if (x.layer, x.head) in {tuple(head) for head in heads}]
        if len(chosen) != len(set(map(tuple, heads))) or not chosen:
            raise ArgumentError(
                "heads must be (layer, head) of cross-attention, counted from 0, got "
                f"{list(heads)!r}."
            )
        return chosen
    best = scored[0]
    if best.monotonicity < MIN_MONOTONICITY:
        raise NotAskedError(
            f"no head follows the sound: the best, layer {best.layer} head {best.head}, has "
            f"{percent(best.monotonicity, 1)} more of its weight in the order of the words than in "
            f"reverse, and {percent(MIN_MONOTONICITY)} are needed. "
            "heads=[(layer, head)] takes some all the same."
        )
    least = max(MIN_MONOTONICITY, MIN_SHARE_OF_BEST * best.monotonicity)
    return [x for x in scored if x.monotonicity >= least][:MAX_FOLLOWING_HEADS]


def _mean_weights(
    layers: Sequence[tuple[LayerKey, LayerObservation]],
    chosen: Sequence[FollowingHead],
    rows: slice,
    positions: int,
) -> Array:
    by_layer = {key.layer: layer for key, layer in layers}
    tiles = [by_layer[x.layer].tile(rows, slice(0, positions))[x.head] for x in chosen]
    return np.asarray(np.mean(tiles, axis=0), np.float64)


def _words(
    text: TokenizedText,
    start: int,
    stop: int,
    mean_qk: Array,
    edges: NDArray[np.int64],
    seconds: float,
) -> tuple[WordTime, ...]:
    """Words with the pieces of their tokens; special tokens between them are left out."""
    times: dict[int, list[int]] = {}
    for token in range(start, stop):
        if not _is_special(text.tokens[token]):
            times.setdefault(text.word_of_token[token], []).append(token - start)
    words = []
    for word, rows in times.items():
        shares = [mean_qk[row, edges[row] : edges[row + 1]].sum() for row in rows]
        begin, end = edges[rows[0]] * seconds, edges[rows[-1] + 1] * seconds
        words.append(WordTime(text.words[word], float(begin), float(end), float(np.mean(shares))))
    return tuple(words)
