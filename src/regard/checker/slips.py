"""Slips in a sheet worked by hand: the arithmetic, and a known slip that gives the wrong number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.checker.claims import Claimed, Interval
from regard.textbook.stages import softmax
from regard.textbook.steps import Steps
from regard.typing import Array

if TYPE_CHECKING:
    from regard.checker.sheet_claims import Claims
    from regard.checker.worked_sheet import Step

Slips = Iterator[tuple[str, Array]]


def explain_step(step: Step, row: Claimed, claims: Claims, true: Steps) -> Step:
    """The step with its arithmetic, and the known slip that gives its numbers."""
    before = {stage: _row(stage, step.row, claims, true) for stage in ("scores", "scaled")}
    plain_k = before["scaled"]
    masks: Slips = iter(())
    if true.masked is not None:
        seen_k = np.isfinite(true.masked[step.row])
        before = {stage: np.where(seen_k, row, -np.inf) for stage, row in before.items()}
        masks = _masking(step.stage, plain_k, seen_k)
    before["weights"] = _row("weights", step.row, claims, true)
    value = np.asarray(true.value)
    slips_of: dict[str, Any] = {
        "scaled": lambda: _scaling(before["scores"], true),
        "weights": lambda: _softmax(before["scores"], before["scaled"], true),
        "output": lambda: _sums(before["weights"], before["scores"], value, true),
    }
    slips = chain(masks, slips_of.get(step.stage, lambda: iter(()))())
    instead = next((name for name, array in slips if _gives(row, array)), "")
    if not instead and step.stage == "weights":
        instead = _oddities(row, before["scaled"])
    return replace(step, arithmetic=_arithmetic(step, before, value), instead=instead)


def explain_joined(step: Step, row: Claimed, sums: list[Interval], true: Steps) -> Step:
    """The output of all heads with its arithmetic, and the known slip that gives its numbers."""
    w_output = None if true.w_output is None else np.asarray(true.w_output)
    for name, interval in _joining(sums, w_output):
        if interval.low.size == len(step.due) and row.either.overlaps(interval).all():
            return replace(step, arithmetic=_number_off(step), instead=name)
    return replace(step, arithmetic=_number_off(step))


def _joining(sums: list[Interval], w_output: Array | None) -> Iterator[tuple[str, Interval]]:
    """What becomes of heads that are joined in another way."""
    backwards = side_by_side(sums[::-1])
    if w_output is not None:
        yield "w_output was left out", side_by_side(sums)
        if w_output.shape[0] == w_output.shape[1]:
            turned = Interval.exactly(w_output.T)
            yield "w_output was transposed", side_by_side(sums).times(turned)
        backwards = backwards.times(Interval.exactly(w_output))
    if len(sums) > 1:
        yield "the heads were joined in the opposite order", backwards
        total = Interval(
            np.sum([s.low for s in sums], axis=0), np.sum([s.high for s in sums], axis=0)
        )
        yield "the heads were added, not put side by side", total
        yield "the mean of the heads was taken", total.scaled(1 / len(sums))


def side_by_side(sums: list[Interval]) -> Interval:
    """The rows of all heads joined."""
    lows, highs = [s.low for s in sums], [s.high for s in sums]
    return Interval(np.concatenate(lows, axis=1), np.concatenate(highs, axis=1))


def _masking(stage: str, scaled_k: Array, seen_k: Array) -> Slips:
    """What becomes of a mask that is forgotten, turned round, made of zeros or late."""
    turned_k = np.where(seen_k, -np.inf, scaled_k)
    zeros_k = np.where(seen_k, scaled_k, 0)
    names = ("the mask was not applied", "the mask was applied the other way round",
             "hidden scores became 0, not minus infinity: e^0 is 1")  # fmt: skip
    for name, array_k in zip(names, (scaled_k, turned_k, zeros_k), strict=True):
        if stage == "masked":
            yield name, array_k
        elif stage == "weights" and np.isfinite(array_k).any():
            yield name, softmax(array_k)
    if stage == "weights":
        yield "the mask was applied after the softmax", softmax(scaled_k) * seen_k


def _gives(row: Claimed, array: Array) -> bool:
    return bool(row.either.overlaps(Interval.exactly(np.atleast_2d(array))).all())


def _row(stage: str, at: int, claims: Claims, true: Steps) -> Array:
    """The author's own numbers, or the true ones where there are none."""
    claimed = claims.get(stage, {}).get(at)
    if claimed is not None:
        return np.asarray(claimed.numbers[0])
    return np.asarray(getattr(true, stage)[at])


def _scaling(scores_k: Array, true: Steps) -> Slips:
    width = true.query.shape[-1]
    yield "the scores were left as they are", scores_k
    yield f"the scores were divided by {width}, not by its square root", scores_k / width
    yield "the scores were multiplied by the square root", scores_k * np.sqrt(width)


def _softmax(scores_k: Array, scaled_k: Array, true: Steps) -> Slips:
    width = true.query.shape[-1]
    yield "the softmax was taken of the unscaled scores", softmax(scores_k)
    yield f"the scores were divided by {width}, not by its square root", softmax(scores_k / width)
    with np.errstate(all="ignore"):
        yield (
            "the scaled scores were divided by their sum: no exponential",
            scaled_k / scaled_k.sum(),
        )
        yield "the scores were divided by their sum: no exponential", scores_k / scores_k.sum()
        squares_k = scores_k**2
        yield "squares took the place of exponentials", squares_k / squares_k.sum()
    yield "powers of 2 took the place of powers of e", softmax(scaled_k * np.log(2))
    for name, some_k in (("scaled scores", scaled_k), ("unscaled scores", scores_k)):
        hidden_k = np.where(some_k == 0, -np.inf, some_k)
        yield (
            f"words with a score of 0 were left out of the softmax of the {name}",
            softmax(hidden_k),
        )
    yield "the exponentials were not divided by their sum", np.exp(scaled_k)
    less_k = np.exp(scaled_k) - 1
    yield "1 was taken from every exponential", less_k / max(less_k.sum(), 1e-300)


def _sums(weights_k: Array, scores_k: Array, value_kv: Array, true: Steps) -> Slips:
    for size in (1, 2):
        for omitted in combinations(range(len(weights_k)), size):
            some_k = weights_k.copy()
            some_k[list(omitted)] = 0
            names = " and ".join(repr(str(true.words[i])) for i in omitted)
            what = "the terms of" if size > 1 else "the term of"
            verb = "were" if size > 1 else "was"
            yield f"{what} {names} {verb} left out of the sum", some_k @ value_kv
    yield "the values were added without weights", value_kv.sum(axis=0)
    yield "the mean of all values was taken", value_kv.mean(axis=0)
    yield "the scores were never scaled", softmax(scores_k) @ value_kv
    width = true.query.shape[-1]
    yield f"the scores were divided by {width}", softmax(scores_k / width) @ value_kv


def _oddities(row: Claimed, scaled_k: Array) -> str:
    """Odd properties of a row that no known slip gives."""
    claimed_k = row.numbers[0]
    oddities = []
    if ((claimed_k == 0) & np.isfinite(scaled_k)).any():
        zero = bool(((claimed_k == 0) == (scaled_k == 0)).all())
        oddities.append(
            "a score of 0 got weight 0, but e^0 is 1"
            if zero
            else "a softmax gives no weight of exactly 0"
        )
    if not row.either.low.sum() <= 1 <= row.either.high.sum():
        oddities.append(f"the row sums to {claimed_k.sum():g}, not to 1")
    how = "; ".join(oddities)
    return how + ("; " if how else "") + "no known slip gives all of these numbers"


def _arithmetic(step: Step, before: dict[str, Array], value_kv: Array) -> str:
    """The number that is furthest off, worked out from the author's own step before."""
    at = _furthest(step)
    end = f"= {step.due[at]:.4g}, not {step.claimed[at]:g}"
    if step.stage == "scaled":
        ratio = before["scores"][at]
        return f"{ratio:g} / √{step_width(step, before):g} {end}"
    if step.stage == "weights":
        scaled_k = before["scaled"]
        total = np.exp(scaled_k).sum()
        terms = " + ".join(f"e^{x:.2f}" for x in scaled_k if np.isfinite(x))
        exponential = np.exp(scaled_k[at])
        return f"e^{scaled_k[at]:.2f} / ({terms}) = {exponential:.3f} / {total:.3f} {end}"
    if step.stage == "output":
        pairs = zip(before["weights"], value_kv[:, at], strict=True)
        terms = " + ".join(f"{w:.3g}·{v:g}" for w, v in pairs if w and v)
        return f"{terms} {end}"
    return _number_off(step)


def _number_off(step: Step) -> str:
    at = _furthest(step)
    return f"number {at} is {step.due[at]:.4g}, not {step.claimed[at]:g}"


def _furthest(step: Step) -> int:
    """The index of the number that is furthest off."""
    with np.errstate(invalid="ignore"):  # minus infinity less minus infinity
        gap = np.abs(np.array(step.claimed) - np.array(step.due))
    return int(np.nan_to_num(gap, nan=0.0, posinf=np.inf).argmax())


def step_width(step: Step, before: dict[str, Array]) -> float:
    """The width whose root the true scaling divides by."""
    scores_k, true_k = before["scores"], np.array(step.due)
    ratios = scores_k[true_k != 0] / true_k[true_k != 0]
    return round(float(ratios[0] ** 2)) if ratios.size else 1.0
