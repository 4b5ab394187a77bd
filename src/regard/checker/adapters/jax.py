"""JAX: a call is its jaxpr, evaluated equation by equation; Flax and Equinox layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from regard.checker.graph import Node, Product, Trace, matrices_of, scale_factor
from regard.engine.tensors import to_float64


def trace_jax(function: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Trace:
    """The trace of a call with JAX arrays: its jaxpr, evaluated equation by equation."""
    import jax  # type: ignore[import-not-found, unused-ignore]

    trace = Trace()
    closed, shape = jax.make_jaxpr(lambda *a: function(*a, **keywords), return_shape=True)(*args)
    nodes = [Node(sources=frozenset([i])) for i in range(len(args))]
    arrays = jax.tree_util.tree_leaves(args)
    outputs = list(_evaluate(closed.jaxpr, closed.consts, arrays, nodes, trace))
    trace.outputs = tuple(node for _, node in outputs)
    structure = jax.tree_util.tree_structure(shape)
    trace.returned = jax.tree_util.tree_unflatten(structure, [array for array, _ in outputs])
    return trace


def _evaluate(
    jaxpr: Any, consts: Any, arrays: Any, nodes: Any, trace: Trace
) -> list[tuple[Any, Node]]:
    known: dict[Any, tuple[Any, Node]] = {}
    for var, array in zip(jaxpr.constvars, consts, strict=True):
        known[var] = (array, Node(constant=to_float64(array)))
    for var, array, node in zip(jaxpr.invars, arrays, nodes, strict=True):
        known[var] = (array, node)

    def read(var: Any) -> tuple[Any, Node]:
        if hasattr(var, "val"):
            return var.val, Node(constant=np.asarray(var.val))
        return known[var]

    for equation in jaxpr.eqns:
        pairs = [read(var) for var in equation.invars]
        inner = equation.params.get("jaxpr") or equation.params.get("call_jaxpr")
        if inner is not None and equation.primitive.name not in ("scan", "while", "cond"):
            body = getattr(inner, "jaxpr", inner)
            found = _evaluate(
                body,
                getattr(inner, "consts", ()),
                [a for a, _ in pairs],
                [n for _, n in pairs],
                trace,
            )
        else:
            found = _equation(equation, pairs, trace)
        known |= dict(zip(equation.outvars, found, strict=True))
    return [read(var) for var in jaxpr.outvars]


def _equation(equation: Any, pairs: list[tuple[Any, Node]], trace: Trace) -> list[tuple[Any, Node]]:
    name, arrays, nodes = equation.primitive.name, [a for a, _ in pairs], tuple(n for _, n in pairs)
    subfuns, params = equation.primitive.get_bind_params(equation.params)
    result = equation.primitive.bind(*subfuns, *arrays, **params)
    results = result if equation.primitive.multiple_results else [result]
    fields: dict[str, Any] = {}
    if name == "dot_general":
        (one, two), (batch_one, batch_two) = equation.params["dimension_numbers"]
        letters = iter("abcdefghijklmnopqrstuvwxyz")
        left, right = ([next(letters) for _ in array.shape] for array in arrays)
        for i, j in zip((*one, *batch_one), (*two, *batch_two), strict=True):
            right[j] = left[i]
        summed = [left[i] for i in one]
        out = [left[i] for i in batch_one]
        out += [x for x in dict.fromkeys(left + right) if x not in summed and x not in out]
        text = f"{''.join(left)},{''.join(right)}->{''.join(out)}"
        pair = matrices_of(text, *(to_float64(a) for a in arrays))
        if pair is not None:
            fields["product"] = Product(*pair, (nodes[0], nodes[1]))
    elif name in ("mul", "div"):
        fields["factor"] = scale_factor(nodes, name == "div")
        fields["curved"] = all(x.sources for x in nodes)
    elif name in ("rsqrt", "sqrt"):
        fields["curved"] = True
    found = []
    for array in results:
        node = trace.add(nodes, value=lambda x=array: to_float64(x), **fields)
        if not node.sources:
            node = Node(constant=to_float64(array) if array.size < 2**16 else None)
        found.append((array, node))
    return found
