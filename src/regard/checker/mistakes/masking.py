"""Mistakes of masks: inverted, too weak, at the wrong stage, ignored, and empty rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from regard.checker.cases import Case
from regard.checker.mistakes.entry import Mistake, changed, ignore_visibility
from regard.textbook.stages import (
    cap_scores,
    hide_scores,
    mask_visibility,
    padding_visibility,
)
from regard.typing import Array

SMALL_FILLS = (-10.0, -1.0, -2.0, -3.0, -4.0, -5.0, -8.0, -9.0, -20.0, -50.0, -100.0, -1000.0)
Hide = Callable[[Array, Array, Case], Array]


def _added(number: float) -> Hide:
    return lambda scores, visible, case: np.where(visible, scores, scores + number)


def _filled(number: float) -> Hide:
    return lambda scores, visible, case: np.where(visible, scores, number)


def _uniform(weights: Array, visible: Array, case: Case) -> Array:
    return np.where(visible.any(axis=-1, keepdims=True), weights, 1 / weights.shape[-1])


def _inverted(case: Case) -> Array:
    through = mask_visibility(case)
    return ~through if case.mask is not None and case.mask.dtype == bool else through


def _all_visible(case: Case) -> Array:
    return np.ones((1, 1), bool)


def _zeroed(weights: Array, visible: Array, case: Case) -> Array:
    return np.where(visible, weights, 0)


def _renormalised(smallest_sum: float) -> Hide:
    """Hidden weights set to 0 after the softmax, the rest divided by its sum, or by a little."""

    def divide(weights: Array, visible: Array, case: Case) -> Array:
        kept = np.where(visible, weights, 0)
        return np.asarray(kept / np.maximum(kept.sum(axis=-1, keepdims=True), smallest_sum))

    return divide


def _uncapped(scores: Array, case: Case) -> Array:
    return scores


def _capped_after(scores: Array, visible: Array, case: Case) -> Array:
    return cap_scores(hide_scores(scores, visible, case), case)


def _weak(numbers: tuple[float, ...]) -> tuple[Hide, ...]:
    return tuple(make(number) for make in (_added, _filled) for number in numbers)


def _first_sentence(case: Case) -> Array:
    visible = mask_visibility(case)
    return visible[:1] if visible.ndim == 4 else visible


def _first_head(case: Case) -> Array:
    visible = mask_visibility(case)
    return visible[:, :1] if visible.ndim == 4 else visible


def _transposed(case: Case) -> Array:
    visible = mask_visibility(case)
    if visible.shape[-1] != visible.shape[-2]:
        raise ValueError("a mask that is transposed fits as many queries as keys alone")
    return visible.swapaxes(-1, -2)


def _not_with_causal(case: Case) -> Array:
    return np.ones((1, 1), bool) if case.causal else mask_visibility(case)


def _padding_zeroed(weights: Array, visible: Array, case: Case) -> Array:
    return np.where(padding_visibility(case), weights, 0)


def _padding_of_queries(case: Case) -> Array:
    if case.lengths is None:
        return np.ones((1, 1), bool)
    real_bq = np.arange(case.queries) < np.asarray(case.lengths)[:, None]
    return real_bq[:, None, :, None]


def _padding_one_more(case: Case) -> Array:
    if case.lengths is None:
        return np.ones((1, 1), bool)
    real_bk = np.arange(case.keys) <= np.asarray(case.lengths)[:, None]
    return real_bk[:, None, None]


MASKS = (
    Mistake(
        "padding not masked",
        "Keys past the end of a sentence take part: a short sentence gets another result in "
        "every batch that it is padded for.",
        "real = np.arange(keys) < lengths[:, None, None, None]\n"
        "scores = np.where(real, scores, -np.inf)",
        (changed(padding=_all_visible),),
    ),
    Mistake(
        "padding after the softmax",
        "The weights of padded keys are set to 0 after the softmax: they have already taken "
        "their share, and the rows sum to less than 1.",
        "scores = np.where(real[:, None, None, :], scores, -np.inf)\nweights = softmax(scores)",
        (changed(padding=_all_visible, adjust=_padding_zeroed),),
    ),
    Mistake(
        "padding hides queries instead of keys",
        "The mask of padded words is laid along the rows: rows of padding are emptied, and every "
        "real word still looks at the padding.",
        "real = np.arange(keys) < lengths[:, None]  # by sentence\n"
        "scores = np.where(real[:, None, None, :], scores, -np.inf)",
        (
            changed(padding=_padding_of_queries),
            changed(padding=_padding_of_queries, empty_rows=ignore_visibility),
        ),
    ),
    Mistake(
        "padding of the first sentence used for all",
        "The lengths of the first sentence serve the whole batch: with a batch of one, or "
        "sentences of one length, all is well.",
        "real = np.arange(keys) < lengths[:, None]  # a row for each sentence\n"
        "scores = np.where(real[:, None, None, :], scores, -np.inf)",
        (changed(padding=lambda case: padding_visibility(case)[:1]),),
    ),
    Mistake(
        "padding off by one",
        "The comparison with the length lets one key too many through: the first key of the "
        "padding takes part.",
        "real = np.arange(keys) < lengths[:, None]\n"
        "scores = np.where(real[:, None, None, :], scores, -np.inf)",
        (changed(padding=_padding_one_more),),
    ),
    Mistake(
        "mask multiplied into the scores",
        "Hidden scores become 0, and e^0 is 1: what should be hidden gets more weight than any "
        "word with a negative score.",
        "scores = np.where(visible, scores, -np.inf)\nweights = softmax(scores)",
        (changed(hide=_filled(0.0), empty_rows=ignore_visibility),),
    ),
    Mistake(
        "mask after the softmax",
        "The weights of hidden words are set to 0 after the softmax and not divided by their sum "
        "again: the rows sum to less than 1.",
        "scores = np.where(visible, scores, -np.inf)\nweights = softmax(scores)",
        (changed(hide=ignore_visibility, adjust=_zeroed),),
    ),
    Mistake(
        "mask after the softmax, then divided by the sum",
        "The weights of hidden words are set to 0 after the softmax, and the rest is divided by "
        "its sum: right as long as the rest is not too small. Where a hidden score is larger by "
        "hundreds, nothing is left, and 0 / 0 is NaN.",
        "scores = np.where(visible, scores, -np.inf)\nweights = softmax(scores)",
        tuple(
            changed(hide=ignore_visibility, empty_rows=ignore_visibility, adjust=_renormalised(x))
            for x in (0.0, 1e-9, 1e-300)
        ),
    ),
    Mistake(
        "boolean mask inverted",
        "True was taken to hide where it means may look. Both conventions are in use: PyTorch's "
        "scaled_dot_product_attention lets True through, its MultiheadAttention hides it.",
        "# True: this query may look at this key (else say features=('mask hides',))\n"
        "scores = np.where(mask, scores, -np.inf)",
        (changed(mask=_inverted), changed(mask=_inverted, empty_rows=ignore_visibility)),
    ),
    Mistake(
        "mask ignored",
        "The mask is an argument, and no line uses it: every query sees every key. Without a "
        "padded or ordered input in the tests nobody notices.",
        "scores = np.where(mask, scores, -np.inf)\nweights = softmax(scores)",
        (changed(mask=_all_visible, bias=_uncapped),),
    ),
    Mistake(
        "a row that may see nothing gives NaN",
        "All scores of such a row are minus infinity: their softmax is 0 / 0, and one NaN spreads "
        "to everything that is computed from it. If no row can be empty, say 'no empty rows'.",
        "weights = softmax(scores)\n"
        "weights = np.where(visible.any(axis=-1, keepdims=True), weights, 0)",
        (changed(empty_rows=ignore_visibility),),
    ),
    Mistake(
        "a row that may see nothing gives a uniform row",
        "With a finite number such as -1e9 for hidden keys a row that may see nothing looks at "
        "all of them, evenly or as if there were no mask: hidden words leak into its output. If no "
        "row can be empty, say 'no empty rows'.",
        "weights = softmax(scores)\n"
        "weights = np.where(visible.any(axis=-1, keepdims=True), weights, 0)",
        (
            changed(empty_rows=_uniform),
            changed(hide=_filled(-1e9), empty_rows=ignore_visibility),
            changed(hide=_added(-1e4), empty_rows=ignore_visibility),
        ),
    ),
    Mistake(
        "mask added as a small finite number",
        "What may not be seen gets a number such as -10 where minus infinity is meant: e^-10 is "
        "small but not 0, and with large scores it is not even small.",
        "scores = np.where(visible, scores, -np.inf)\nweights = softmax(scores)",
        tuple(changed(hide=hide, empty_rows=ignore_visibility) for hide in _weak(SMALL_FILLS)),
    ),
    Mistake(
        "softcap after the mask",
        "softcap * tanh(-inf) is -softcap: every hidden key comes back with a finite score.",
        "scores = softcap * np.tanh(scores / softcap)\nscores = np.where(visible, scores, -np.inf)",
        (changed(cap=_uncapped, hide=_capped_after),),
    ),
    Mistake(
        "softcap ignored",
        "softcap is an argument, and no line uses it. Scores below the cap hardly change by it, so "
        "small inputs look right.",
        "scores = softcap * np.tanh(scores / softcap)\nscores = np.where(visible, scores, -np.inf)",
        (changed(cap=_uncapped),),
    ),
    Mistake(
        "mask of the first query used for all",
        "One row of the mask is laid over all queries (mask[0], or an axis of size 1 where the "
        "queries belong): right for padding, wrong for anything that differs between words.",
        "mask = np.broadcast_to(mask, scores.shape)  # a row for each query\n"
        "scores = np.where(mask, scores, -np.inf)",
        (changed(mask=lambda case: mask_visibility(case)[..., :1, :]),),
    ),
    Mistake(
        "mask of the first sentence used for all",
        "The mask of the first sentence serves the whole batch: with a batch of one all is well.",
        "mask = np.broadcast_to(mask, scores.shape)  # one for each sentence\n"
        "scores = np.where(mask, scores, -np.inf)",
        (changed(mask=_first_sentence),),
    ),
    Mistake(
        "mask of the first head used for all",
        "Every head gets the mask of the first one: with the same mask for all heads all is well.",
        "mask = np.broadcast_to(mask, scores.shape)  # one for each head\n"
        "scores = np.where(mask, scores, -np.inf)",
        (changed(mask=_first_head),),
    ),
    Mistake(
        "mask transposed",
        "Rows and columns of the mask change places: what a query may see and what may see it are "
        "mixed up. Shapes agree in self-attention.",
        "# rows are queries, columns are keys\nscores = np.where(mask, scores, -np.inf)",
        (changed(mask=_transposed),),
    ),
    Mistake(
        "mask forgotten where it is causal",
        "With the causal mask on, the other mask is left out: an elif where both are meant.",
        "visible = mask & np.tri(queries, keys, dtype=bool)\n"
        "scores = np.where(visible, scores, -np.inf)",
        (changed(mask=_not_with_causal),),
    ),
    Mistake(
        "window ignored",
        "A window is an argument, and no line uses it: every query sees every key.",
        "visible = (gap >= -left) & (gap <= right)\nscores = np.where(visible, scores, -np.inf)",
        (changed(window=lambda case: np.ones((1, 1), bool)),),
    ),
)
