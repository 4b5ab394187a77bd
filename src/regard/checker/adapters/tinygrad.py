"""tinygrad: products are recorded where its tensors make them; objects that hold its tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from regard.checker.adapters import Layer, arrays_of, attention_method, plain_layer
from regard.checker.graph import Node, Product, Trace, matrices_of, scale_factor, stacked
from regard.typing import Array

MOVEMENTS = ("RESHAPE", "EXPAND", "PERMUTE", "CAST", "SHRINK", "DETACH")


def native(array: Array, dtype: str) -> Any:
    """A NumPy array as a tensor; floats get ``dtype``."""
    from tinygrad import Tensor, dtypes

    tensor = Tensor(np.ascontiguousarray(array))
    return tensor.cast(getattr(dtypes, dtype)) if array.dtype.kind == "f" else tensor


def as_layer(instance: Any) -> Layer | None:
    """An object that holds tensors of tinygrad; None for anything else."""
    from tinygrad import Tensor

    if isinstance(instance, Tensor | type) or plain_layer(instance) is None:
        return None
    tensors = [x for x in arrays_of(instance, 2) if isinstance(x, Tensor)]
    if not tensors:
        return None
    for number, tensor in enumerate(tensors):
        numbers = tensor.numpy()
        if not np.isfinite(numbers).all() or numbers.std() < 1e-6:
            drawn = np.random.default_rng(number).standard_normal(numbers.shape)
            tensor.assign(native(drawn * numbers.shape[-1] ** -0.5, "float32")).realize()
    method = attention_method(instance)
    return Layer(method, method, method, "tinygrad", "float32", tuple(tensors), "float32")


class Records:
    """The nodes of a trace by the operation of tinygrad's graph that they stand for."""

    def __init__(self, record: Trace) -> None:
        self.trace = record
        self.known: dict[Any, Node] = {}

    def node_of(self, operation: Any) -> Node:
        if operation in self.known:
            return self.known[operation]
        name = operation.op.name
        inputs = tuple(self.node_of(x) for x in operation.src)
        if not any(x.sources for x in inputs):
            number = operation.arg if name == "CONST" else None
            scalars = [x.constant for x in inputs if x.constant is not None]
            constant = np.asarray(float(number)) if number is not None else None
            # Moved and spread over other axes a number stays what it is.
            moved = scalars[0] if scalars and name in MOVEMENTS else None
            node = Node(constant=moved if constant is None else constant)
        else:
            fields: dict[str, Any] = {}
            if name == "MUL":
                curved = all(x.sources for x in inputs)
                fields = {"factor": scale_factor(inputs, divides=False), "curved": curved}
            node = self.trace.add(inputs, **fields)
        self.known[operation] = node
        return node

    def numbers(self, tensor: Any) -> Array:
        """The numbers of a tensor, which stays the same node once they are computed."""
        node = self.node_of(tensor.uop)
        array = np.asarray(tensor.numpy(), np.float64)
        self.known[tensor.uop] = node
        return array

    def add(self, one: Any, other: Any, operands: Callable[..., Any], result: Any) -> Any:
        """Record a product of two tensors."""
        nodes = (self.node_of(one.uop), self.node_of(other.uop))
        pair = operands(self.numbers(one), self.numbers(other))
        fields = {} if pair is None else {"product": Product(pair[0], pair[1], nodes)}
        value = self._value(result)
        self.known[result.uop] = self.trace.add(nodes, value=value, **fields)
        return result

    def _value(self, tensor: Any) -> Callable[[], Array]:
        return lambda: np.asarray(tensor.numpy(), np.float64)


def trace(function: Callable[..., Any], arrays: Sequence[Any]) -> Trace:
    """The trace of a call with tensors of tinygrad."""
    from tinygrad import Tensor

    record = Trace()
    records = Records(record)
    for number, tensor in enumerate(arrays):
        tensor.realize()
        records.known[tensor.uop] = Node(sources=frozenset([number]))
    dot, einsum = Tensor.dot, Tensor.einsum

    def recorded_dot(self: Any, w: Any, dtype: Any = None) -> Any:
        return records.add(self, w, stacked, dot(self, w, dtype))

    def recorded_einsum(formula: str, *operands: Any, **options: Any) -> Any:
        tensors = operands[0] if isinstance(operands[0], list | tuple) else operands
        result = einsum(formula, *tensors, **options)
        if len(tensors) != 2:
            return result
        one, two = tensors
        return records.add(one, two, partial(matrices_of, formula), result)

    with (
        patch.object(Tensor, "dot", recorded_dot),
        patch.object(Tensor, "einsum", staticmethod(recorded_einsum)),
    ):
        returned = function(*arrays)
    record.returned = returned
    leaves = returned if isinstance(returned, tuple | list) else (returned,)
    record.outputs = tuple(records.node_of(x.uop) for x in leaves if isinstance(x, Tensor))
    return record
