"""NumPy: calls are recorded by an array subclass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np

from regard.checker.graph import Node, Product, Trace, matrices_of, scale_factor, stacked

# Functions that make plain arrays: what is written into one, or goes through one, would be lost.
MAKERS = ("array", "asarray", "ascontiguousarray", "zeros", "ones", "empty", "full")
as_constant = np.asarray  # itself, while those are replaced


class RecordedArray(np.ndarray):
    """An array that records what is computed from it."""

    record: Trace
    node: Node

    def __array_finalize__(self, parent: Any) -> None:
        if isinstance(parent, RecordedArray):
            self.record, self.node = parent.record, parent.node

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.get("out", ())
        plain = [_plain(x) for x in inputs]
        if out:
            options["out"] = tuple(_plain(x) for x in out)
        result = getattr(ufunc, method)(*plain, **{k: _plain(v) for k, v in options.items()})
        name = ufunc.__name__ if method == "__call__" else ""
        return self._wrapped(name, inputs, result, out)

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        if function is np.einsum and len(args) > 3 and "->" in str(args[0]):
            return _einsum_by_twos(*args)
        result = function(*_plain(args), **_plain(keywords))
        return self._wrapped(function.__name__, list(_leaves((args, keywords))), result, ())

    def _wrapped(self, name: str, inputs: Any, result: Any, out: Any) -> Any:
        nodes = tuple(_node(x) for x in inputs if isinstance(x, np.ndarray | float | int))
        arrays = [_plain(x) for x in inputs if isinstance(x, np.ndarray)]
        recorded = tuple(_node(x) for x in inputs if isinstance(x, np.ndarray))
        fields: dict[str, Any] = {}
        pair = None
        if name in ("matmul", "dot") and len(arrays) == 2 and min(x.ndim for x in arrays):
            pair = stacked(*arrays) if name == "matmul" or arrays[1].ndim < 3 else None
        elif name == "einsum" and len(arrays) == 2 and isinstance(inputs[0], str):
            pair = matrices_of(inputs[0], *arrays)
        if pair is not None:
            fields["product"] = Product(pair[0].copy(), pair[1].copy(), (recorded[0], recorded[1]))
        elif name in ("multiply", "divide", "true_divide") and len(nodes) == 2:
            fields["factor"] = scale_factor(nodes, name != "multiply")
            fields["curved"] = all(x.sources for x in nodes)
        kept = result.copy() if isinstance(result, np.ndarray) else None
        node = self.record.add(nodes, value=None if kept is None else lambda: kept, **fields)
        if out and isinstance(out[0], RecordedArray):
            out[0].node = node
            return out[0]
        return _wrap(result, self.record, node)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_plain(key), _plain(value))
        node = self.record.add((self.node, _node(value)))
        array: Any = self
        while isinstance(array, RecordedArray):  # what a view is written into changes too
            array.node = node
            array = array.base


def _einsum_by_twos(formula: str, one: Any, two: Any, *others: Any) -> Any:
    """An einsum of more than two arrays, the first two first."""
    terms, _, out = formula.replace(" ", "").partition("->")
    left, right, *rest = terms.split(",")
    kept = "".join(x for x in dict.fromkeys(left + right) if x in "".join([out, *rest]))
    product = np.einsum(f"{left},{right}->{kept}", one, two)
    return np.einsum(f"{','.join([kept, *rest])}->{out}", product, *others)


def _wrap(result: Any, record: Trace, node: Node) -> Any:
    if isinstance(result, tuple | list):
        return type(result)(_wrap(x, record, node) for x in result)
    if not isinstance(result, np.ndarray) or result.dtype.kind not in "fc":
        return result
    array = result.view(RecordedArray)
    array.record, array.node = record, node
    return array


def _node(x: Any) -> Node:
    return x.node if isinstance(x, RecordedArray) else Node(constant=as_constant(x))


def _plain(x: Any) -> Any:
    if isinstance(x, RecordedArray):
        return x.view(np.ndarray)
    if isinstance(x, tuple | list):
        return type(x)(_plain(part) for part in x)
    return {name: _plain(part) for name, part in x.items()} if isinstance(x, dict) else x


def _leaves(x: Any) -> Iterator[Any]:
    if isinstance(x, dict):
        x = tuple(x.values())
    if isinstance(x, tuple | list):
        for part in x:
            yield from _leaves(part)
    else:
        yield x


def _recording(make: Callable[..., Any], record: Trace) -> Callable[..., Any]:
    """A function that makes arrays, whose arrays record what is written into them."""

    def recorded(*args: Any, **options: Any) -> Any:
        inner = [x for x in _leaves(args) if isinstance(x, RecordedArray)]
        made = make(*_plain(args), **options)
        node = record.add([x.node for x in inner]) if inner else Node(constant=made)
        return _wrap(made, record, inner[0].node if len(inner) == 1 else node)

    return recorded


def trace(function: Callable[..., Any], arrays: Sequence[Any]) -> Trace:
    """The trace of a call with NumPy arrays."""
    record = Trace()
    sources = [_wrap(x, record, Node(sources=frozenset([i]))) for i, x in enumerate(arrays)]
    makers: dict[str, Any] = {name: _recording(getattr(np, name), record) for name in MAKERS}
    with patch.multiple(np, **makers):
        returned = function(*sources)
    leaves = [x for x in _leaves(returned) if isinstance(x, RecordedArray)]
    record.outputs, record.returned = tuple(x.node for x in leaves), _plain(returned)
    return record
