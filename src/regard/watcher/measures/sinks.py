"""Sinks of a watched model: tokens that heads rest on whatever the text, and far attention.

Shares of each head's attention on the first token, on special tokens and on punctuation, on near
and on distant tokens, each with the share of even attention over the visible keys.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.display import TextDisplay
from regard.engine.visibility import Visibility
from regard.errors import ArgumentError, NotAskedError
from regard.heads.measures import BANDS
from regard.heads.names import NAMING_SHARE
from regard.typing import Array
from regard.watcher.capture.records import FIRST_WEIGHTS
from regard.watcher.capture.runs import LayerKey
from regard.watcher.layer import LayerObservation, even_rows, even_shares, visible_band

if TYPE_CHECKING:
    from regard.watcher.seen import Seen

SPECIAL_TOKEN = re.compile(r"<[^<>\s]+>|\[[A-Z][A-Z0-9_]*\]|<\|.+\|>")
NEW_LINES = ("<0x0A>", "Ċ", "\n")
KINDS = ("special", "punctuation")
SHARES = ("first", *KINDS, "near", "distant")
MIN_EXCESS_SHARE = 0.05  # of a listed token: its mean share over all heads less the even one
MAX_DISTANT_SHARE, MIN_EVEN_DISTANT_SHARE = 0.05, 0.2


class AttentionShare(NamedTuple):
    """A share of a head's attention, and the same of even attention; None where it is not known."""

    share: float
    baseline: float | None


@dataclass(frozen=True)
class SinkToken:
    """A token that gets more than its even share, over all heads of a part.

    ``heads`` counts those that give it 40 % or more of their attention.
    """

    part: str
    position: int
    token: str
    kind: str
    share: float
    baseline: float | None
    heads: int


@dataclass(frozen=True)
class HeadSinks:
    """Shares of one head by name; near and distant leave out the first token.

    ``streaming``: next to nothing lies on distant tokens, where even attention has a good part
    there. Cross-attention has no distances.
    """

    part: str
    layer: int
    head: int
    shares: dict[str, AttentionShare]
    streaming: bool

    def flat(self) -> dict[str, Any]:
        """One line of a table, without what the head report has."""
        line: dict[str, Any] = {}
        for name in SHARES[1:]:
            both = self.shares.get(name, AttentionShare(float("nan"), None))
            line |= {name: both.share, f"{name}_baseline": both.baseline}
        return line | {"streaming": self.streaming}


@dataclass(frozen=True, repr=False)
class SinkReport(TextDisplay):
    """Sinks by token and by head; ``print`` it for a page.

    ``near`` tokens count as near: distances below it, in either direction.
    """

    tokens: tuple[SinkToken, ...]
    heads: tuple[HeadSinks, ...]
    near: int
    notes: tuple[str, ...] = ()

    @property
    def streaming(self) -> tuple[HeadSinks, ...]:
        """Heads that look at the first token and at near ones alone."""
        return tuple(head for head in self.heads if head.streaming)

    def mean(self, part: str) -> dict[str, AttentionShare]:
        own = [head for head in self.heads if head.part == part]
        means = {}
        for name in SHARES:
            shares = [head.shares[name] for head in own if name in head.shares]
            known = [x.baseline for x in shares if x.baseline is not None]
            if shares:
                share = float(np.mean([x.share for x in shares]))
                complete = len(known) == len(shares)
                means[name] = AttentionShare(share, float(np.mean(known)) if complete else None)
        return means

    def to_dict(self) -> dict[str, Any]:
        heads = [
            {"part": x.part, "layer": x.layer, "head": x.head, "streaming": x.streaming}
            | {name: both._asdict() for name, both in x.shares.items()}
            for x in self.heads
        ]
        return {
            "tokens": [vars(token) for token in self.tokens],
            "heads": heads,
            "near": self.near,
            "notes": list(self.notes),
            "counting": "layers, heads and tokens count from 0",
        }


def sinks(seen: Seen, near: int = 32) -> SinkReport:
    """Tokens that heads rest on whatever the text, and each head's near and distant attention.

    Shares on the first token, on special tokens, on punctuation, on near tokens (closer than
    ``near``, a power of two, as distances are counted in such bands) and on distant ones, each
    with the share of even attention.
    """
    if not isinstance(near, int) or near < 2 or near & (near - 1):
        raise ArgumentError(f"near must be a power of two from 2 up, got {near!r}.")
    shares: dict[str, list[LayerShares]] = {}
    heads: list[HeadSinks] = []
    layers = [(key, seen[key]) for key in seen.names]
    for key, layer in layers:
        one = LayerShares.from_layer(key, layer)
        shares.setdefault(key.part, []).append(one)
        heads += one.heads(near)
    tokens = [token for part, some in shares.items() for token in _sink_tokens(part, some)]
    unnamed = [part for part, some in shares.items() if not some[0].named]
    unknown = [str(x.key) for some in shares.values() for x in some if x.band is None]
    notes = [f"{part}: without a tokenizer the kinds of tokens are not known." for part in unnamed]
    if unknown:
        notes.append(
            f"no even baseline where a mask decides: {', '.join(unknown[:4])}"
            f"{', ...' if len(unknown) > 4 else ''}."
        )
    notes += [f"{key}: {note}" for key, layer in layers for note in layer.notes]
    return SinkReport(tuple(tokens), tuple(heads), near, tuple(notes))


BLANK_NAMES = re.compile(r"\\[nrt]")  # line breaks and tabs as tokens are named


def token_kind(token: str) -> str:
    """'special' (BOS, CLS, SEP, ...), 'punctuation' (line ends too), or 'word'.

    >>> [token_kind(x) for x in ("<s>", "[SEP]", "<|im_start|>", "...", "<0x0A>", "+ry", "7")]
    ['special', 'special', 'special', 'punctuation', 'punctuation', 'word', 'word']
    """
    if token.strip("Ċ\n") == "" or token in NEW_LINES or not BLANK_NAMES.sub("", token):
        return "punctuation"
    if SPECIAL_TOKEN.fullmatch(token):
        return "special"
    return "word" if any(x.isalnum() for x in token) else "punctuation"


@lru_cache(maxsize=4)
def token_kinds(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """The kind of each token, the same for all layers; none where tokens are numbered alone.

    >>> token_kinds(("<s>", "dog")), token_kinds(("0", "1"))
    (('special', 'word'), ())
    """
    if all(token == str(position) for position, token in enumerate(tokens)):
        return ()
    return tuple(token_kind(token) for token in tokens)


@dataclass(frozen=True)
class LayerShares:
    """Shares of attention that each key of one layer gets, (h, k); no kinds without names."""

    key: LayerKey
    layer: LayerObservation
    tokens: tuple[str, ...]
    kinds: tuple[str, ...]
    band: Visibility | None
    share_hk: NDArray[np.float64]

    @classmethod
    def from_layer(cls, key: LayerKey, layer: LayerObservation) -> LayerShares:
        if layer.measures is None:
            raise NotAskedError("sinks need measures, and this file does not hold them.")
        received_hk = np.asarray(layer.received, np.float64)
        total_h1 = np.maximum(received_hk.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        tokens = layer.key_text.tokens if layer.key_text is not None else ()
        tokens = tokens if len(tokens) == layer.keys else tuple(map(str, range(layer.keys)))
        kinds, band = token_kinds(tokens), visible_band(layer)
        return cls(key, layer, tokens, kinds, band, received_hk / total_h1)

    @property
    def named(self) -> bool:
        return bool(self.kinds)

    @property
    def even_k(self) -> NDArray[np.float64] | None:
        """The shares of even attention, where the band is known."""
        return None if self.band is None else even_shares(self.band)

    def heads(self, near: int) -> list[HeadSinks]:
        measures = self.layer.measures
        assert measures is not None  # checked by ``from_layer``
        columns: dict[str, tuple[Array, Array | None]] = {
            "first": (measures.first.mean_h, measures.first.baseline_h)
        }
        if self.named:
            columns |= {kind: self._of_kind(kind) for kind in KINDS}
        if not self.key.part.startswith("cross"):
            columns |= self._by_distance(near, first_weights(self.layer))
        rows = []
        for head in range(len(self.share_hk)):
            shares = {
                name: AttentionShare(float(a[head]), None if b is None else float(b[head]))
                for name, (a, b) in columns.items()
            }
            far = shares.get("distant", AttentionShare(1.0, None))
            streaming = (
                far.share <= MAX_DISTANT_SHARE and (far.baseline or 0.0) >= MIN_EVEN_DISTANT_SHARE
            )
            rows.append(HeadSinks(*self.key, head, shares, streaming))
        return rows

    def _of_kind(self, kind: str) -> tuple[Array, Array | None]:
        mine_k = np.array([x == kind for x in self.kinds])
        even_k, heads = self.even_k, len(self.share_hk)
        even = None if even_k is None else np.full(heads, even_k[mine_k].sum())
        return self.share_hk[:, mine_k].sum(axis=1), even

    def _by_distance(
        self, near: int, first_hq: Array | None
    ) -> dict[str, tuple[Array, Array | None]]:
        """Near and distant weight, that on the first token taken out of both."""
        if first_hq is None:
            return {}
        measures = self.layer.measures
        assert measures is not None  # checked by ``from_layer``
        far_b = np.array([abs(band[0]) >= near for band in BANDS])
        offset = self.layer.keys - self.layer.queries if self.band is None else self.band.offset
        far_q = np.arange(self.layer.queries) + offset >= near
        live_h = np.maximum(measures.entropy.queries_h, 1)
        both: dict[str, tuple[Array, Array | None]] = {}
        for name, bands, rows in (("near", ~far_b, ~far_q), ("distant", far_b, far_q)):
            share_h = measures.distance.mean_h[:, bands].sum(axis=1)
            share_h = np.maximum(share_h - first_hq[:, rows].sum(axis=1) / live_h, 0)
            even_h = None
            if self.band is not None:
                low_q, _, even_q = even_rows(self.band)
                even_first = even_q[rows & (low_q == 0)].sum() / live_h
                even_h = measures.distance.baseline_h[:, bands].sum(axis=1) - even_first
                even_h = np.maximum(even_h, 0)
            both[name] = share_h, even_h
        return both


def first_weights(layer: LayerObservation) -> NDArray[np.float64] | None:
    """Weight of every query on the first key, (h, q); None where nothing says it.

    Recorded in host memory. From a device exact where every weight is known or the first key is
    among a query's best ones; else 0, which is off by less than the last of those.
    """
    if layer.map_is_weights or layer.parts:
        return np.asarray(layer.tile(slice(None), slice(0, 1))[..., 0], np.float64)
    if FIRST_WEIGHTS in layer.facts:
        return np.asarray(layer.facts[FIRST_WEIGHTS], np.float64)
    if "top_weights" not in layer.facts or not layer.facts["top_weights"].shape[-1]:
        return None
    best = layer.top()
    return np.asarray(np.where(best.keys == 0, best.weights, 0).sum(axis=-1), np.float64)


def _sink_tokens(part: str, layers: Sequence[LayerShares]) -> list[SinkToken]:
    """Tokens above their even share in the mean over all heads, the largest first."""
    keys = min(len(x.tokens) for x in layers)
    share_hk = np.concatenate([x.share_hk[:, :keys] for x in layers])
    even = [x.even_k for x in layers]
    known = [x[:keys] for x in even if x is not None]
    mean_k = share_hk.mean(axis=0)
    even_k = np.mean(known, axis=0) if len(known) == len(layers) else None
    usual_k = np.full(keys, 1 / keys) if even_k is None else even_k
    chosen = np.flatnonzero(mean_k - usual_k >= MIN_EXCESS_SHARE)
    first = layers[0]
    return [
        SinkToken(
            part,
            int(k),
            first.tokens[k],
            first.kinds[k] if first.named else "unknown",
            float(mean_k[k]),
            None if even_k is None else float(even_k[k]),
            int((share_hk[:, k] >= NAMING_SHARE).sum()),
        )
        for k in chosen[np.argsort(-mean_k[chosen], kind="stable")].tolist()
    ]
