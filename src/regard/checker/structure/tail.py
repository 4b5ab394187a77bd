"""Stage 6: from the sums to the output, by editing the sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from regard.checker.structure.parameters import pattern_of
from regard.checker.structure.study import Study
from regard.typing import Array

Edited = Callable[..., Array]  # the output with other sums


def ask_tail(study: Study) -> None:
    """Change the sums of one head and word at a time, and look at what comes back."""
    _returned_weights(study)
    if study.subject.out_form is None or "t" not in study.subject.out_form:
        study.open.append("the output has no place for words")
        return
    if not study.base.run.nodes:
        return  # nothing can be edited
    if study.another_follows():
        study.open.append("another attention follows: the first alone is judged")
        return
    edited, places, size = _editor(study)
    _reach(study, edited, places, size)
    delta = np.random.default_rng(13).standard_normal(size)
    before = study.base.output
    one = edited(delta, study.arrays) - before
    two = edited(2 * delta, study.arrays) - before
    linear = bool(np.abs(two - 2 * one).max() < study.exact * np.abs(two).max())
    if not linear:
        study.differ("curved", "a norm or another curve follows the attention")
    _joined(study)
    others = study.subject.draw(40)
    zero, other_zero = (edited(np.zeros(size), x, zero=True) for x in (study.arrays, others))
    if linear and study.moved(zero, other_zero).any():
        _residual(study, zero - other_zero, others)
    if linear and not study.is_divided_later:
        gate = edited(delta, others) - edited(np.zeros(size), others)
        if np.abs(gate - one).max() > study.exact * np.abs(one).max():
            study.differ("gate", "a gate on what the heads give")
            _gate(study, edited, size)


def _returned_weights(study: Study) -> None:
    """Whether weights that come back besides the output are those that were used."""
    weights = study.base.weights
    weights = weights / weights.sum(axis=-1, keepdims=True) if study.is_divided_later else weights
    known = [np.sort(x.ravel()) for x in (weights, weights.mean(axis=1))]
    for leaf in study.base.run.leaves[1:]:
        alike = [x for x in known if x.size == leaf.size]
        is_table = leaf.shape[-2:] == weights.shape[-2:] and np.isfinite(leaf).all()
        if not is_table or not alike or (leaf < 0).any():
            continue  # something else, such as scores
        numbers = np.sort(leaf.ravel())
        if not any(np.allclose(numbers, x, rtol=1e-4, atol=study.exact) for x in alike):
            study.fault("returned weights are not the weights used")


def _editor(study: Study) -> tuple[Edited, dict[tuple[int, int, int], Array], int]:
    """A function that edits the sums, where (sentence, head, row) is among them, how many."""
    import torch

    subject = study.subject
    nodes = {node.index: node for node in reversed(study.base.run.nodes)}
    shapes = {i: tuple(nodes[i].tensor.shape) for i in subject.found.sums}

    def edited(delta: Array, arrays: list[Array], zero: bool = False) -> Array:
        edits, start = {}, 0
        for i, shape in shapes.items():
            n = int(np.prod(shape))
            part = torch.from_numpy(delta[start : start + n].reshape(shape).copy())
            edits[i] = _replaced(part) if zero else _shifted(part)
            start += n
        return study.see(arrays, edits).output

    blocks, start = [], 0
    for shape in shapes.values():
        n = int(np.prod(shape))
        block = np.arange(start, start + n, dtype=float).reshape(shape)
        if not subject.found.fused and not subject.found.weights_left:
            block = block.reshape(-1, *block.shape[-2:]).swapaxes(1, 2)
        blocks.append(block.reshape(-1, *block.shape[-2:]))
        start += n
    made = subject.headed("s", np.concatenate(blocks)).astype(int)
    b, h, t, _ = made.shape
    places = {(i, j, r): made[i, j, r] for i in range(b) for j in range(h) for r in range(t)}
    return edited, places, start


def _replaced(part: Any) -> Callable[[Any], Any]:
    return lambda x: part.to(x.dtype)


def _shifted(part: Any) -> Callable[[Any], Any]:
    return lambda x: x + part.to(x.dtype)


def _reach(study: Study, edited: Edited, places: Any, size: int) -> None:
    """Which words of the output each head and row reaches."""
    random, before = np.random.default_rng(13), study.base.output
    reached: dict[tuple[int, int], set[int]] = {}
    for (sentence, head, row), where in places.items():
        if sentence:
            continue
        delta = np.zeros(size)
        delta[where] = random.standard_normal(len(where))
        words = study.moved_along(edited(delta, study.arrays), before, -1)
        if words[1:].any():
            study.fault("sentences mixed", "after the attention")
        reached[head, row] = {int(x) for x in np.flatnonzero(words[0])}
    lost = sorted({head for (head, _), words in reached.items() if not words})
    if lost:
        study.fault("a head never reaches the output", f"heads {lost}")
        return
    alike = before.shape[1] == study.base.sums.shape[2]
    if alike and any(words != {row} for (_, row), words in reached.items()):
        detail = "what a word's query found reaches other words"
        study.fault("heads joined in the wrong order", detail)


def _residual(study: Study, gap: Array, others: list[Array]) -> None:
    """What is left of the words where all sums are zero."""
    source = min(study.sources["q"], default=0)
    x, y = study.arrays[source], others[source]
    kind, text = "made", "something made of the words is added to the output"
    if x.shape == gap.shape:
        ratio = float((gap * (x - y)).sum() / ((x - y) ** 2).sum())
        if np.abs(gap - ratio * (x - y)).max() < study.exact * np.abs(gap).max():
            times = "" if np.isclose(ratio, 1) else f", times {ratio:.3g}"
            kind, text = "residual", f"the words are added to the output (residual{times})"
    if kind == "made":
        study.open.append("what is added to the output was not told")
    study.differ(kind, text)


def _gate(study: Study, edited: Edited, size: int) -> None:
    """A gate of a word may depend on that word alone."""
    arrays = [a.copy() for a in study.arrays]
    source = min(study.sources["q"], default=0)
    last = arrays[source][:, -1]
    last += np.random.default_rng(8).standard_normal(last.shape)
    one, two = (edited(np.ones(size), x, zero=True) for x in (study.arrays, arrays))
    if one.shape[1] == arrays[source].shape[1] and study.moved(one, two)[:, :-1].any():
        study.fault("a gate of other words", "the gate of a word depends on another word")


def _joined(study: Study) -> None:
    """Whether the heads meet the output layer in the order in which the values were cut."""
    base = study.base
    heads, width = base.sums.shape[1], base.sums.shape[-1]
    layers = [
        node
        for node in base.run.nodes
        if node.operands is not None
        and node.arrays is not None
        and node.level == 2
        and any(x.params and not x.sources for x in node.operands)
        and any(x.level == 2 for x in node.operands)
    ]
    if not layers or heads == 1 or layers[0].arrays is None or layers[0].operands is None:
        return
    left, right = layers[0].arrays
    data = left if layers[0].operands[0].level == 2 else right.swapaxes(1, 2)
    cut = study.cut.get("v") or study.cut.get("q")
    if data.shape[-1] != heads * width or not cut or base.heads_of_k != heads:
        return
    rows = data.reshape(-1, heads * width)
    table = {
        round(float(x), 9): head
        for head in range(heads)
        for x in base.sums[:, head].ravel()
    }  # fmt: skip
    order = []
    for column in rows.T:
        hits = [table[x] for x in (round(float(y), 9) for y in column) if x in table]
        if not hits:
            return
        order.append((max(set(hits), key=hits.count),))
    if len(cut) == len(order) and cut != order:
        detail = f"values {pattern_of(cut)}, output layer {pattern_of(order)}"
        study.fault("heads joined in another order than cut", detail)
