"""What one word looks at, over all heads and layers of a part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.display import TextDisplay, percent
from regard.engine.call import check_weighted
from regard.watcher.experiments.text_sources import projected_values
from regard.watcher.measures.links import only_position, word_tokens

if TYPE_CHECKING:
    from regard.watcher.seen import Seen

MAX_TOKENS_SHOWN = 12


@dataclass(frozen=True)
class LookedAtToken:
    """One token: its mean weight, the share of even attention, and the head that gives it most.

    ``word`` is the number of its word, as ``looks_at`` takes it; ``key`` that of the token.
    """

    key: int
    word: int
    token: str
    weight: float
    even: float
    best: tuple[str, int, int]  # part, layer, head
    best_weight: float


@dataclass(frozen=True, repr=False)
class LookedAt(TextDisplay):
    """What a word looks at; ``tokens`` are ranked, ``weights_lhk`` has every layer and head."""

    word: str
    tokens: tuple[LookedAtToken, ...]
    weights_lhk: NDArray[np.float64] = field(repr=False)
    weighted: str | None = None

    def __str__(self) -> str:
        kind = "norm-weighted weights" if self.weighted else "weights"
        lines = [f"'{self.word}' looks at (mean {kind} of all heads; even attention in brackets):"]
        for one in self.tokens[:MAX_TOKENS_SHOWN]:
            part, layer, head = one.best
            lines.append(
                f"  {percent(one.weight, decimals=1):>7} ({percent(one.even, decimals=1)})  "
                f"'{one.token}', word {one.word}; most in {part} {layer}.{head}: "
                f"{percent(one.best_weight, decimals=1)}"
            )
        if len(self.tokens) > MAX_TOKENS_SHOWN:
            lines.append(f"  ... {len(self.tokens) - MAX_TOKENS_SHOWN} more tokens")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return {
            "word": self.word,
            "weighted": self.weighted,
            "tokens": [
                {"key": x.key, "word": x.word, "token": x.token, "weight": x.weight, "even": x.even,
                 "best": list(x.best), "best_weight": x.best_weight}
                for x in self.tokens
            ],
        }  # fmt: skip


def looks_at(
    seen: Seen, word: str | int, *, part: str | None = None, weighted: str | None = None
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
    layers = seen._part_layers(seen._one_part(part, "looks_at"))
    values = projected_values(seen._rerun()) if check_weighted(weighted) else None
    first = layers[0][1]
    queries, columns = first.texts_for("looks_at")
    number = only_position(queries, word)
    rows = word_tokens(queries, number)
    weights = []
    for key, layer in layers:
        weights_hqk = np.asarray(layer.tile(rows, slice(None)), np.float64)
        if values is not None:
            weights_hqk = weights_hqk * values[key].norms(rows)
            sums = weights_hqk.sum(axis=-1, keepdims=True)
            weights_hqk = weights_hqk / np.where(sums > 0, sums, 1)
        weights.append(weights_hqk.mean(axis=1))
    keys, heads = max(x.shape[1] for x in weights), max(len(x) for x in weights)
    weights_lhk = np.zeros((len(weights), heads, keys))
    for index, weights_hk in enumerate(weights):
        weights_lhk[index, : len(weights_hk), : weights_hk.shape[1]] = weights_hk
    count = sum(len(x) for x in weights)
    mean_k = weights_lhk.sum(axis=(0, 1)) / count
    seen_k = np.asarray((weights_lhk > 0).any(axis=(0, 1)))
    even = 1 / max(1, int(seen_k.sum()))
    best = weights_lhk.reshape(-1, keys).argmax(axis=0)
    tokens = []
    for k in np.argsort(-mean_k, kind="stable").tolist():
        if seen_k[k]:
            layer_index, head = divmod(int(best[k]), heads)
            place = (*layers[layer_index][0], head)
            largest = float(weights_lhk[layer_index, head, k])
            name = columns.tokens[k]
            of = columns.word_of_token[k]
            tokens.append(LookedAtToken(k, of, name, float(mean_k[k]), even, place, largest))
    return LookedAt(queries.words[number], tuple(tokens), weights_lhk, weighted)
