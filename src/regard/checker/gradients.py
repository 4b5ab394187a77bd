"""Gradients of query, key and value: those of a function, and those of the definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.checker.calls import call_arguments, one_line, quietly, returned_arrays
from regard.checker.cases import Case
from regard.checker.compare import as_dtype, kinds_of, plain_run
from regard.checker.convention import CallingConvention
from regard.engine.tensors import to_float64, to_library
from regard.textbook.stages import SPECIFICATION, Trace, run, score_scale
from regard.typing import Array


@dataclass(frozen=True)
class Gradients:
    """The gradients by array, or why there are none; ``refused`` where it has no backward."""

    arrays: dict[str, Array]
    error: str = ""
    refused: str = ""


def cotangent(case: Case) -> Array:
    """Fixed numbers in the shape of the output (b, h, q, v): the gradient that comes in."""
    shape = (*case.query.shape[:-1], case.value.shape[-1])
    return np.random.default_rng(41).standard_normal(shape).round(1)


def gradients_of(
    function: Callable[..., Any], convention: CallingConvention, case: Case
) -> Gradients:
    """The gradients that PyTorch computes through a function."""
    import torch

    try:
        arrays, leading, keywords = call_arguments(convention, case)
        for array in arrays.values():
            array.requires_grad_()
        with quietly("torch", gradients=True), torch.enable_grad():
            parts = returned_arrays(function(*leading, **keywords))
            kinds = kinds_of(convention, case, tuple(tuple(part.shape) for part in parts))
            at = next(i for i, kind in enumerate(kinds) if kind.startswith("output"))
            if not parts[at].requires_grad:
                return Gradients({}, refused="its output has no gradient")
            incoming = to_library(_incoming(convention, case, kinds[at]), "torch", convention.dtype)
            grads = torch.autograd.grad(
                parts[at], list(arrays.values()), incoming, allow_unused=True
            )
    except StopIteration:
        return Gradients({}, error="no returned array has the shape of the output")
    except Exception as error:
        return Gradients({}, error=one_line(error))
    missing = [name for name, grad in zip(arrays, grads, strict=True) if grad is None]
    if missing:
        return Gradients({}, error=f"no gradient of {missing[0]}")
    return Gradients({x: to_float64(grad) for x, grad in zip(arrays, grads, strict=True)})


def _incoming(convention: CallingConvention, case: Case, kind: str) -> Array:
    """The cotangent in the shape of the returned output."""
    return convention.expected(replace(run(SPECIFICATION, case), output=cotangent(case)))[kind]


def expected_gradients(
    convention: CallingConvention, case: Case, dtype: str = "float64"
) -> dict[str, Array]:
    """The gradients by the definition in the layout of the function, every step in ``dtype``."""
    trace = run(SPECIFICATION, case) if dtype == "float64" else plain_run(case, dtype)
    query, key, value = _backward(trace, case, dtype)
    return convention.arrays(replace(case, query=query, key=key, value=value))


def _backward(trace: Trace, case: Case, dtype: str) -> tuple[Array, Array, Array]:
    """The gradients of query, key and value.

    With G the incoming gradient, P the weights: dV = P' G, dP = G V', and dS = P (dP - row sums of
    P dP) for the scores, times the derivative of the softcap and the scale; dQ = dS K, dK = dS' Q.
    """
    incoming_bhqv = cotangent(case)
    weights_bhqk = trace.weights.astype(np.float64)
    towards_bhqk = _product(incoming_bhqv, trace.value.swapaxes(-1, -2), dtype)
    mean_bhq1 = (weights_bhqk * towards_bhqk).sum(axis=-1, keepdims=True)
    scores_bhqk = weights_bhqk * (towards_bhqk - mean_bhq1)
    if case.softcap:
        scores_bhqk = scores_bhqk * (1 - (trace.capped / case.softcap) ** 2)
    scores_bhqk = as_dtype(scores_bhqk * score_scale(case), dtype)
    query = _product(scores_bhqk, trace.key, dtype)
    key = _product(scores_bhqk.swapaxes(-1, -2), trace.query, dtype)
    value = _product(weights_bhqk.swapaxes(-1, -2), incoming_bhqv, dtype)
    groups = case.key.shape[1]
    return query, _group_sums(key, groups), _group_sums(value, groups)


def _product(one: Array, other: Array, dtype: str) -> Array:
    working = np.float32 if dtype == "float32" else np.float64
    return as_dtype(one.astype(working) @ other.astype(working), dtype)


def _group_sums(array_bhkd: Array, groups: int) -> Array:
    """The sum over the query heads that share a key head."""
    b, h, k, d = array_bhkd.shape
    return np.asarray(array_bhkd.reshape(b, groups, h // groups, k, d).sum(axis=2))
