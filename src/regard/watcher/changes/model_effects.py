"""Effects of the heads of a watched model on a next token: a real run without each head."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.display import TextDisplay
from regard.errors import ArgumentError
from regard.watcher.capture.runs import LayerKey
from regard.watcher.changes.model_changes import AblationByRow, WatchedHeads
from regard.watcher.changes.model_outcome import token_name
from regard.watcher.changes.text_rerun import TextRerun

Notice = Callable[[int, int], None]


@dataclass(frozen=True)
class WatchedHeadEffect:
    """One head of a watched model, and its effect."""

    part: str
    layer: int
    head: int
    effect: float


@dataclass(frozen=True, repr=False)
class ModelEffects(TextDisplay):
    """The logit of one token minus that of another, with all heads minus without each.

    ``by_layer`` has effect_h of every layer; positive where a head favours ``of``. ``to`` says what
    a head without effect writes: zero, or its mean over other texts.
    """

    of: str
    against: str
    ids: tuple[int, int]
    position: int
    logit_difference: float
    by_layer: Mapping[LayerKey, NDArray[np.float64]] = field(repr=False)
    to: str = "zero"

    @property
    def heads(self) -> tuple[WatchedHeadEffect, ...]:
        """Every head, the largest effect first."""
        rows = [
            WatchedHeadEffect(*key, head, float(effect))
            for key, effect_h in self.by_layer.items()
            for head, effect in enumerate(effect_h)
        ]
        return tuple(sorted(rows, key=lambda row: -abs(row.effect)))

    def to_dict(self) -> dict[str, Any]:
        """The effects as JSON values."""
        return {
            "of": self.of,
            "against": self.against,
            "position": self.position,
            "logit_difference": self.logit_difference,
            "to": self.to,
            "heads": [vars(row) for row in self.heads],
            "unit": "logits; positive where the head favours 'of'",
            "counting": "layers and heads count from 0",
        }


def model_effects(
    rerun: TextRerun,
    of: str | int | None,
    against: str | int | None,
    position: int | None,
    *,
    batch: int = 16,
    means: Mapping[LayerKey, Any] | None = None,
    notice: Notice | None = None,
) -> ModelEffects:
    """Run a text without each head in turn, ``batch`` heads of a layer at once.

    With ``means`` a head writes its mean (h, d) over other texts instead of zero.
    """
    if not isinstance(batch, int) or batch < 1:
        raise ArgumentError(f"batch needs a number from 1 up, but it is {batch!r}.")
    at = checked_position(position, len(rerun.text_ids))
    logits_v = rerun.logits_at(at)[0]
    chosen = choose_tokens(rerun.tokenizer, logits_v, of, against)
    full = float(logits_v[chosen[0]] - logits_v[chosen[1]])
    total, done = sum(rerun.heads.values()), 0
    by_layer = {key: np.zeros(heads) for key, heads in rerun.heads.items()}
    for key, heads in rerun.heads.items():
        mean_hd = None if means is None else means[key]
        for first in range(0, heads, batch):
            rows = min(batch, heads - first)
            covered = WatchedHeads((key.part,), (key.layer,), None)
            change = AblationByRow(covered, first, rows, mean_hd)
            changed_bv = rerun.logits_from(key, at, logits_v, change, rows)
            difference_b = changed_bv[:, chosen[0]] - changed_bv[:, chosen[1]]
            by_layer[key][first : first + rows] = full - difference_b
            done += rows
            if notice is not None:
                notice(done, total)
    names = [token_name(rerun.tokenizer, token) for token in chosen]
    return ModelEffects(names[0], names[1], chosen, at, full, by_layer,
                        "zero" if means is None else "mean")  # fmt: skip


def checked_position(position: int | None, tokens: int) -> int:
    """A position of the text, from 0; the last if none is given."""
    if position is None:
        return tokens - 1
    if not isinstance(position, int | np.integer) or not 0 <= position < tokens:
        raise ArgumentError(
            f"position needs a number from 0 to {tokens - 1}, but it is {position!r}."
        )
    return int(position)


def choose_tokens(
    tokenizer: Any, logits_v: NDArray[np.float64], of: str | int | None, against: str | int | None
) -> tuple[int, int]:
    """Ids of two tokens; the likeliest, and the likeliest other, where none is given."""
    order = np.argsort(-logits_v, kind="stable")
    one = int(order[0]) if of is None else token_id(tokenizer, logits_v, of)
    rival = int(next(x for x in order if x != one))
    other = rival if against is None else token_id(tokenizer, logits_v, against)
    if one == other:
        raise ArgumentError(
            f"{of!r} and {against!r} need to begin with different tokens, but both begin with "
            f"{token_name(tokenizer, one)!r}: compare it with another word."
        )
    return one, other


def token_id(tokenizer: Any, logits_v: NDArray[np.float64], word: str | int) -> int:
    """The token that a word begins with, with or without a blank before it: the likelier one."""
    if isinstance(word, int | np.integer):
        if not 0 <= word < len(logits_v):
            raise ArgumentError(
                f"a token needs a number from 0 to {len(logits_v) - 1}, but it is {word!r}."
            )
        return int(word)
    if tokenizer is None:
        raise ArgumentError(
            f"{word!r} needs a tokenizer to be a token: give watch the model's, or say its number."
        )
    spellings = [tokenizer.encode(x, add_special_tokens=False) for x in (word, f" {word}")]
    unknown = getattr(tokenizer, "unk_token_id", None)
    candidates = [ids[0] for ids in spellings if ids and ids[0] != unknown]
    if not candidates:
        raise ArgumentError(
            f"{word!r} needs to have a token, but the tokenizer gives none: choose another word."
        )
    return int(max(candidates, key=lambda token: logits_v[token]))
