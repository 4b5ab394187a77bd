"""The second witness: an attention that is rebuilt from its parts, and asked about new sentences.

Query, key and value are fitted as affine maps of the words, one for each place; then comes the
softmax, and an affine map of the joined heads (and of the words, for a residual). What differs from
that is more, or something else, than what was understood.
"""

from __future__ import annotations

import numpy as np

from regard.checker.structure.core import Core, slopes
from regard.checker.structure.study import Study
from regard.checker.structure.subject import Seen
from regard.typing import Array

MAX_WIDTH = 160
COVERED = (
    "positions",
    "residual",
    "bias",
    "scale",
    "window",
    "pattern",
    "rotary",
    "maximum",
    "cache",
)


def rebuilt_gap(study: Study) -> float | None:
    """How far the rebuilt attention is from the code, of its size; None where it covers it not."""
    subject, base = study.subject, study.base
    total = sum(subject.widths)
    other = any(x.kind not in COVERED for x in study.differences)
    if other or any(study.normed.values()) or study.is_divided_later or study.open:
        return None
    words = base.sums.shape[2]
    if subject.out_form is None or total > MAX_WIDTH or base.output.shape[1] != words:
        return None
    inner = base.sums.shape[1] * base.sums.shape[-1]
    draws = -(-(max(total, (inner + total) // words) + 8) // subject.batch)
    arrays = [subject.draw(100 + i) for i in range(draws)]
    looks = [study.see(x) for x in arrays]
    fresh = [subject.draw(5000 + i) for i in range(2)]
    raw = np.concatenate([x.q @ x.k.swapaxes(-1, -2) for x in looks])
    core = Core(looks, raw, np.concatenate([x.weights for x in looks]))
    slope = slopes(core)
    if slope is None:
        return None
    bias = (core.logs - slope[:, None, None] * core.scores).mean(axis=0)
    made = {role: _operands(study, role, arrays, looks, fresh) for role in "qkv"}
    source = min(study.sources["q"], default=None)
    if source is not None and study.arrays[source].shape[1] != words:
        source = None
    x = np.concatenate([_joined(a, b.sums, source) for a, b in zip(arrays, looks, strict=True)])
    y = np.concatenate([b.output.reshape(-1, b.output.shape[-1]) for b in looks])
    out = np.linalg.lstsq(x, y, rcond=None)[0]
    worst = 0.0
    for i, one in enumerate(fresh):
        q, k, v = (made[role][i] for role in "qkv")
        scores = slope[:, None, None] * (q @ k.swapaxes(-1, -2)) + bias
        scores = np.where(core.seen[: subject.batch], scores, -np.inf)
        top = np.where(core.seen[: subject.batch].any(axis=-1), scores.max(axis=-1), 0)[..., None]
        e = np.exp(scores - top)
        weights = e / np.maximum(e.sum(axis=-1, keepdims=True), 1e-300)
        rows = _joined(one, weights @ v, source) @ out
        given = study.see(one).output
        gap = np.abs(rows.reshape(given.shape) - given).max() / np.abs(given).max()
        worst = max(worst, float(gap)) if np.isfinite(gap) else float("inf")
    return worst


def _operands(
    study: Study, role: str, arrays: list[list[Array]], looks: list[Seen], fresh: list[list[Array]]
) -> list[Array]:
    """Query, key or value of new sentences by maps that were fitted on others."""
    batch, heads = study.subject.batch, study.base[role].shape[1]
    columns: list[list[Array]] = [[] for _ in fresh]
    for t, words in enumerate(study.maps[role][0]):
        if not words:  # learned, or handed in
            made = looks[0][role][:, :, t]
            for column in columns:
                column.append(made)
            continue
        x = _ones(np.concatenate([_words(a, words, batch) for a in arrays]))
        y = np.concatenate([b[role][:, :, t].reshape(batch, -1) for b in looks])
        fitted = np.linalg.lstsq(x, y, rcond=None)[0]
        for column, one in zip(columns, fresh, strict=True):
            column.append((_ones(_words(one, words, batch)) @ fitted).reshape(batch, heads, -1))
    return [np.stack(column, axis=2) for column in columns]


def _words(arrays: list[Array], words: set[tuple[int, int]], batch: int) -> Array:
    parts = [arrays[i][:, j] for i, j in sorted(words)]
    return np.concatenate(parts, axis=-1) if parts else np.zeros((batch, 0))


def _joined(arrays: list[Array], sums: Array, source: int | None) -> Array:
    """Rows of the joined heads, of the words of a residual, and a one."""
    rows = sums.swapaxes(1, 2).reshape(sums.shape[0] * sums.shape[2], -1)
    if source is not None:
        rows = np.concatenate([rows, arrays[source].reshape(len(rows), -1)], axis=1)
    return _ones(rows)


def _ones(rows: Array) -> Array:
    return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
