"""The rotary position embedding of a watched model taken apart: one score, pair by pair of numbers.

A rotary embedding turns each pair of numbers of query and key by an angle that grows with the
position, so that their product depends on the distance of the two tokens alone. The rotation is
read off the model's own function, and that it takes the vectors before it to those that attended is
checked.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.errors import BackendError, count
from regard.experiments.selection import Word, check_number
from regard.typing import Array
from regard.watcher.experiments.because import SUM_TOLERANCE, ScorePair, in_float64, score_pair
from regard.watcher.experiments.intervention_call import Probe, SentenceCall
from regard.watcher.experiments.rerun import TextRerun, float_dtype


@dataclass(frozen=True)
class RotatedPair:
    """Two numbers of query and key before and after they are turned, and what they add.

    Angles are in radians, counterclockwise; ``value`` is the pair's part of the score.
    """

    numbers: tuple[int, int]
    query: tuple[float, float]
    key: tuple[float, float]
    angles: tuple[float, float]
    turned_query: tuple[float, float]
    turned_key: tuple[float, float]
    value: float

    def __str__(self) -> str:
        (a, b), (c, d) = self.turned_query, self.turned_key
        before = f"{_vector(self.query)} {self.angles[0]:+.3f} rad, "
        before += f"{_vector(self.key)} {self.angles[1]:+.3f} rad"
        return f"numbers {self.numbers[0]}, {self.numbers[1]}: {before}: {a:.4f} · {c:.4f} + " + (
            f"{b:.4f} · {d:.4f} adds {self.value:.4f}"
        )


@dataclass(frozen=True)
class RotaryScore:
    """One score as the sum over turned pairs; ``rest`` is what numbers add that are not turned."""

    query: str
    key: str
    positions: tuple[int, int]
    score: float
    scale: float
    pairs: tuple[RotatedPair, ...] = field(repr=False)
    rest: float = 0.0

    @property
    def total(self) -> float:
        """The sum of all pairs and of the rest; equal to the score but for rounding."""
        return sum(x.value for x in self.pairs) + self.rest

    @property
    def unturned(self) -> float:
        """The score that query and key would have without any rotation."""
        return self.scale * sum(float(np.dot(x.query, x.key)) for x in self.pairs) + self.rest

    def __str__(self) -> str:
        head = f"{self.query} (token {self.positions[0]}) on {self.key} "
        head += f"(token {self.positions[1]}): "
        head += f"{self.score:.4f}, without rotation {self.unturned:.4f}"
        largest = sorted(self.pairs, key=lambda x: -abs(x.value))[:8]
        return "\n".join([head, f"the largest of {count(len(self.pairs), 'pair')}:"]
                         + [f"  {x}" for x in largest])  # fmt: skip


def rotation(
    rerun: TextRerun, word: Word, other: Word, layer: int, head: int, part: str | None
) -> RotaryScore:
    """The score of one word on another in one head, pair by pair of the rotary embedding."""
    layer = check_number("layer", layer, 1 + max(key.layer for key in rerun.heads))
    found: list[tuple[ScorePair, SentenceCall]] = []

    def look(call: SentenceCall) -> None:
        if call.layer == layer and part in (None, call.part) and not call.is_cross:
            check_number("head", head, call.call.query.shape[1])
            found.append((score_pair(call, word, other, head), call))

    captured: dict[str, Any] = {}
    with ExitStack() as stack:
        for key, path in rerun.paths.items():
            if key.layer == layer and part in (None, key.part):
                _capture(rerun.model.get_submodule(path.split("#")[0]), captured, stack)
        rerun.run(Probe(look))
    if not found or "rotary" not in captured:
        raise BackendError(
            f"{type(rerun.model).__name__} hands no rotary embedding to layer {layer}: its "
            "positions are not turned, or in a way that regard does not know."
        )
    pair, call = found[0]
    sides = [(head, "query"), (head // pair.group, "key")]
    before, after, turns = [], [], []
    for (number, name), position in zip(sides, pair.positions, strict=True):
        vectors = getattr(call.call, name)[call.row, number, position]
        after.append(in_float64(vectors))
        before.append(_unturned(captured[name], number, len(after[-1]), position))
        turns.append(_turn(call.call.module, captured["rotary"], len(after[-1]), position))
        _check(rerun, turns[-1] @ before[-1], after[-1])
    partners = _partners(turns[0] if pair.positions[0] else turns[1])
    pairs = tuple(_pair(numbers, before, after, turns, pair.scale) for numbers in partners)
    turned = {x for numbers in partners for x in numbers}
    still = [x for x in range(len(after[0])) if x not in turned]
    rest = float(after[0][still] @ after[1][still]) * pair.scale
    return RotaryScore(*pair.names, pair.positions, pair.score, pair.scale, pairs, rest)


def _capture(attention: Any, captured: dict[str, Any], stack: ExitStack) -> None:
    """Hooks for the vectors before the rotation, and for its cosines and sines."""

    def rotary(module: Any, arguments: Any, keywords: dict[str, Any]) -> None:
        if keywords.get("position_embeddings") is not None:
            captured["rotary"] = keywords["position_embeddings"]

    for name in ("query", "key"):
        letter = name[0]
        module = getattr(attention, f"{letter}_norm", getattr(attention, f"{letter}_proj", None))
        if module is not None:
            hook = module.register_forward_hook(_keep(captured, name))
            stack.callback(hook.remove)
    hook = attention.register_forward_pre_hook(rotary, with_kwargs=True)
    stack.callback(hook.remove)


def _keep(captured: dict[str, Any], name: str) -> Any:
    def keep(module: Any, arguments: Any, output: Any) -> None:
        captured[name] = output

    return keep


def _unturned(projected: Any, head: int, width: int, position: int) -> Array:
    """A head's vector at one position, of a projection (1, t, h d) or of a norm (1, t, h, d)."""
    array = in_float64(projected)[0].reshape(projected.shape[1], -1, width)
    vector: Array = array[position, head]
    return vector


def _turn(attention: Any, rotary: Any, width: int, position: int) -> Array:
    """The rotation of a position as a matrix (d, d), by the model's own function.

    Numbers beyond the cosines' width are not turned.
    """
    import torch

    apply = getattr(sys.modules[type(attention).__module__], "apply_rotary_pos_emb", None)
    if apply is None:
        raise BackendError(f"{type(attention).__name__} turns query and key in a way of its own.")
    cos, sin = (x[:1, position : position + 1].double().cpu() for x in rotary)
    turned = cos.shape[-1]
    unit = torch.eye(turned, dtype=torch.float64)[None, :, None]
    matrix = np.eye(width)
    matrix[:turned, :turned] = apply(unit, unit, cos, sin)[0][0, :, 0].numpy().T
    return matrix


def _partners(turn_dd: Array) -> list[tuple[int, int]]:
    """The pairs of numbers that a rotation mixes."""
    rows, columns = np.nonzero(np.triu(np.abs(turn_dd) + np.abs(turn_dd.T), 1) > 0)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _pair(
    numbers: tuple[int, int], before: list[Array], after: list[Array], turns: list[Array],
    scale: float,
) -> RotatedPair:  # fmt: skip
    at = list(numbers)
    (query, key), (turned_query, turned_key) = (
        [tuple(x[at].tolist()) for x in vectors] for vectors in (before, after)
    )
    one, other = (float(np.arctan2(x[at[1], at[0]], x[at[0], at[0]])) for x in turns)
    value = float(after[0][at] @ after[1][at]) * scale
    return RotatedPair(numbers, query, key, (one, other), turned_query, turned_key, value)


def _check(rerun: TextRerun, turned_d: Array, attended_d: Array) -> None:
    dtype = float_dtype(rerun.model)
    allowed = SUM_TOLERANCE[dtype] * max(1.0, float(np.abs(attended_d).max()))
    if not np.abs(turned_d - attended_d).max() <= allowed:
        raise BackendError(
            f"{type(rerun.model).__name__} does more to query and key than to turn them, which "
            "regard does not know: their rotation is not shown."
        )


def _vector(numbers: tuple[float, float]) -> str:
    return f"({numbers[0]:.4f}, {numbers[1]:.4f})"
