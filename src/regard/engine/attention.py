"""Attention of any length, in tiles on all cores: the same mathematics as ``textbook.steps``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regard.arguments import suggest_keywords
from regard.engine.call import Problem, Requested, gather_options, prepare
from regard.engine.native.attend import native_output, reason_against
from regard.engine.tensors import cast_like, on_device
from regard.engine.threads import run_in_order
from regard.engine.tiles.plan import Unit, choose
from regard.engine.tiles.rows import Scratch, stream_rows
from regard.textbook.options import MaskRule, Window
from regard.typing import Array


@suggest_keywords
def attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    mask: ArrayLike | MaskRule | None = None,
    causal: bool = False,
    offset: int | None = None,
    window: Window | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    lengths: ArrayLike | None = None,
) -> Any:
    """Attention of any length: softmax(query @ key.T * scale) @ value, in memory that grows with n.

    Parameters
    ----------
    query : (..., h, q, d), key : (..., h_kv, k, d), value : (..., h_kv, k, d_v)
        float16, float32 or float64. Arrays with two axes are one head; h_kv divides h. Also torch
        tensors (and bfloat16): on the CPU without a copy, on a GPU by its own kernels.
    mask : bool (True = may look) or float (added to the scores), broadcast to (..., h, q, k);
        or a function of (query positions, key positions) that returns a bool tile.
    causal, offset : key j is visible to query i when j <= i + offset.
    window : (left, right); key j is visible when i + offset - left <= j <= i + offset + right.
    softcap : scores become softcap * tanh(scores / softcap).
    scale : factor of the scores, 1 / sqrt(d) by default.
    lengths : number of real keys, one integer for each entry of the leading batch axes.

    Returns
    -------
    output : (..., h, q, d_v)
        In the dtype of the input; a tensor for tensors, without gradient. 0 for a query that may
        look at nothing.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> attention(x, x, x, causal=True).round(3)
    array([[1.  , 0.  ],
           [0.33, 0.67]])
    """
    options = gather_options(mask, causal, offset, window, softcap, scale, lengths)
    if on_device(query=query, key=key, value=value):
        from regard.engine.gpu.dispatch import attention_on_device

        return attention_on_device(query, key, value, options)
    return cast_like(_attention_on_host(prepare(query, key, value, **options)), query)


def _attention_on_host(problem: Problem) -> Array:
    """The output (..., h, q, d_v) of one problem, by native kernels where they serve it."""
    if reason_against(problem, Requested()):
        return _attention_in_tiles(problem)
    output_hqv = native_output(problem)
    shaped = output_hqv.reshape(*problem.leading, *output_hqv.shape[1:])
    return np.asarray(shaped, problem.output_dtype)


def _attention_in_tiles(problem: Problem) -> Array:
    """The output (..., h, q, d_v) of one problem, each unit's block written by its thread."""
    plan, requested = choose(problem, column_facts=False), Requested()
    shape = (problem.heads, problem.visibility.queries, problem.value_gkv.shape[-1])
    output_hqv = np.zeros(shape, problem.output_dtype)

    def work(unit: Unit, scratch: Scratch) -> None:
        rows = stream_rows(problem, plan, unit, requested, scratch)
        output_hqv[unit.heads, unit.rows] = rows.mean_output_hqv()

    run_in_order(plan.units(problem), work)
    return output_hqv.reshape(*problem.leading, *shape[1:])
