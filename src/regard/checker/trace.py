"""Traces: what a function computes from its arrays, recorded operation by operation.

PyTorch is recorded by a dispatch mode, NumPy by an array subclass, JAX from its jaxpr. All three
give the same graph: a ``Node`` for every result, with the inputs that it depends on, and for every
matrix product its two operands. Nothing in it is told by names.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from regard.engine.tensors import to_float64
from regard.typing import Array


@dataclass(frozen=True, eq=False)
class Product:
    """A matrix product: left (n, rows, d) by right (n, d, columns), and the nodes of both."""

    left: Array
    right: Array
    nodes: tuple[Node, Node]
    bias: Array | None = None


@dataclass(frozen=True, eq=False)
class Node:
    """One recorded result: its inputs, and the arguments of the call that it depends on.

    ``depth``: how many products of two results lie on the way to it. ``factor``: the number that
    the operation multiplies its input with. ``curved``: it is no linear function of its inputs.
    """

    inputs: tuple[Node, ...] = ()
    sources: frozenset[int] = frozenset()
    depth: int = 0
    factor: float = 1.0
    curved: bool = False
    product: Product | None = None
    fused: tuple[Array, Array, Array] | None = None  # query, key, value of one fused operation
    constant: Array | None = None  # the numbers of a result that depends on no argument
    value: Callable[[], Array] | None = None

    @property
    def is_projection(self) -> bool:
        """Whether this is a product of a result with constants: a linear layer."""
        return self.product is not None and not all(x.sources for x in self.product.nodes)

    @property
    def mixes(self) -> bool:
        """Whether this is a product of two results, such as query and key."""
        both = self.product is not None and all(x.sources for x in self.product.nodes)
        return both or self.fused is not None


@dataclass
class Trace:
    """The nodes of one call in order, and what came back."""

    nodes: list[Node] = field(default_factory=list)
    returned: Any = None
    outputs: tuple[Node, ...] = ()
    seen: set[int] = field(default_factory=set)  # the identities of all tensors

    def add(self, inputs: Iterable[Node], **fields: Any) -> Node:
        inputs = tuple(inputs)
        sources = frozenset().union(*(node.sources for node in inputs))
        node = Node(inputs, sources, max((x.depth for x in inputs), default=0), **fields)
        if node.mixes:
            node = Node(**(vars(node) | {"depth": node.depth + 1}))
        self.nodes.append(node)
        return node


def scalar_of(node: Node) -> float | None:
    """The number that a constant stands for; None for anything else."""
    if node.constant is None or node.constant.size == 0:
        return None
    first = float(np.ravel(node.constant)[0])
    return first if node.constant.size == 1 or (node.constant == first).all() else None


def scale_factor(inputs: tuple[Node, ...], divides: bool) -> float:
    """The factor of a multiplication or division by one number; 1 where there is none."""
    dependent = [node for node in inputs if node.sources]
    numbers = [scalar_of(node) for node in inputs if not node.sources]
    if len(dependent) != 1 or len(inputs) != 2 or numbers[0] is None or not numbers[0]:
        return 1.0
    return 1 / numbers[0] if divides and inputs[0].sources else numbers[0]


def matrices_of(subscripts: str, left: Array, right: Array) -> tuple[Array, Array] | None:
    """The operands of a product in einsum notation as (n, rows, d) and (n, d, columns).

    >>> left, right = matrices_of("bthd,bshd->bhts", np.ones((2, 5, 3, 4)), np.ones((2, 7, 3, 4)))
    >>> left.shape, right.shape
    ((6, 5, 4), (6, 4, 7))
    """
    terms, _, out = subscripts.replace(" ", "").partition("->")
    one, two = terms.split(",")
    if "." in subscripts or len(set(one)) < len(one) or len(set(two)) < len(two):
        return None
    batch = [x for x in out if x in one and x in two]
    summed = [x for x in one if x in two and x not in out]
    rows = [x for x in one if x not in two and x in out]
    columns = [x for x in two if x not in one and x in out]
    if len(batch) + len(summed) + len(rows) != len(one) or not summed:
        return None
    if len(batch) + len(summed) + len(columns) != len(two):
        return None
    size = dict(zip(one + two, left.shape + right.shape, strict=True))

    def arranged(array: Array, letters: str, *groups: list[str]) -> Array:
        order = [letters.index(x) for group in groups for x in group]
        shape = [math.prod(size[x] for x in group) for group in groups]
        return array.transpose(order).reshape(shape)

    return arranged(left, one, batch, rows, summed), arranged(right, two, batch, summed, columns)


def stacked(left: Array, right: Array) -> tuple[Array, Array]:
    """The operands of a matmul with its leading axes made one."""
    left = left[None] if left.ndim == 1 else left
    right = right[:, None] if right.ndim == 1 else right
    lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left = np.broadcast_to(left, (*lead, *left.shape[-2:]))
    right = np.broadcast_to(right, (*lead, *right.shape[-2:]))
    return left.reshape(-1, *left.shape[-2:]), right.reshape(-1, *right.shape[-2:])


# PyTorch.

TORCH_CURVED = ("native_layer_norm", "rms_norm", "group_norm", "batch_norm", "rsqrt", "norm")
TORCH_PRODUCTS = {"mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2), "matmul": (0, 1)}


class TorchRecords:
    """The nodes of tensors, by identity; the tensors are kept alive."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.known: dict[int, tuple[Any, Node, int]] = {}
        self.written: dict[int, list[Node]] = {}  # by storage: what was written into it

    def remember(self, tensor: Any, node: Node) -> None:
        self.known[id(tensor)] = (tensor, node, tensor._version)

    def node_of(self, tensor: Any) -> Node:
        if id(tensor) not in self.known:
            self.remember(tensor, Node(constant=_small_constant(tensor, 2**20)))
        _, node, version = self.known[id(tensor)]
        writers = self.written.get(_storage(tensor), [])
        if tensor._version > version and any(writer is not node for writer in writers):
            node = self.trace.add((node, *writers))
            self.remember(tensor, node)
        return node

    def record(self, name: str, args: Any, before: list[Node], results: list[Any]) -> None:
        """Add a node for every tensor that an operation gave."""
        fields = self._fields(name.rstrip("_"), args)
        for tensor in results:
            kept = tensor.detach()
            node = self.trace.add(before, value=partial(to_float64, kept), **fields)
            if not node.sources:
                node = Node(constant=_small_constant(tensor, 2**16))
            self.remember(tensor, node)
            if name.endswith("_"):
                self.written.setdefault(_storage(tensor), []).append(node)
            fields = {}  # what is told of an operation belongs to its first result

    def _fields(self, base: str, args: Any) -> dict[str, Any]:
        tensors = [x for x in args if hasattr(x, "untyped_storage")]
        if base in TORCH_PRODUCTS and len(tensors) > 1:
            left, right = (args[i] for i in TORCH_PRODUCTS[base])
            nodes = (self.node_of(left), self.node_of(right))
            added = "add" in base and not self.node_of(args[0]).sources
            bias = to_float64(args[0]) if added else None
            return {"product": Product(*stacked(to_float64(left), to_float64(right)), nodes, bias)}
        if base == "convolution" and all(x == 1 for x in args[1].shape[2:]) and args[8] == 1:
            return {"product": self._pointwise(*args[:3])}
        if "scaled_dot_product" in base:
            return {"fused": tuple(to_float64(x) for x in args[:3])}
        if base in ("mul", "div"):
            factors = tuple(
                self.node_of(x) if is_tensor else Node(constant=np.asarray(float(x)))
                for x, is_tensor in _factors(args)
            )
            several = sum(bool(x.sources) for x in factors) > 1
            return {"factor": scale_factor(factors, base == "div"), "curved": several}
        return {"curved": any(x in base for x in TORCH_CURVED)}

    def _pointwise(self, x: Any, weight: Any, bias: Any) -> Product:
        """A convolution of width one is a linear layer over channels."""
        rows, matrix = to_float64(x), to_float64(weight)
        left = np.moveaxis(rows, 1, -1).reshape(1, -1, rows.shape[1])
        right = matrix.reshape(1, *matrix.shape[:2]).swapaxes(1, 2)
        nodes = (self.node_of(x), self.node_of(weight))
        return Product(left, right, nodes, None if bias is None else to_float64(bias))


def _factors(args: Any) -> list[tuple[Any, bool]]:
    """The two factors of a multiplication, and whether each is a tensor."""
    pairs = [(x, hasattr(x, "untyped_storage")) for x in args[:2]]
    return [(x, tensor) for x, tensor in pairs if tensor or isinstance(x, int | float)]


def _storage(tensor: Any) -> int:
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):
        return id(tensor)


def _small_constant(tensor: Any, most: int) -> Array | None:
    return None if tensor.numel() >= most or tensor.is_complex() else to_float64(tensor)


def trace_torch(function: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Trace:
    """The trace of a call with PyTorch tensors; the arrays of args, then of keywords, count."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    trace = Trace()
    records = TorchRecords(trace)

    def tensors_in(value: Any) -> list[Any]:
        return [x for x in tree_leaves(value) if isinstance(x, torch.Tensor)]

    class Recorder(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            """Whether to keep the compiler away: it takes a second to import, if it is not yet."""
            return "torch._dynamo" in sys.modules

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            before = [records.node_of(x) for x in tensors_in((args, kwargs))]
            result = func(*args, **(kwargs or {}))
            with contextlib.suppress(RuntimeError):
                records.record(func.overloadpacket.__name__, args, before, tensors_in(result))
            return result

    for number, tensor in enumerate(tensors_in((args, keywords))):
        floating = tensor.is_floating_point()
        sources = frozenset([number]) if floating else frozenset()
        constant = None if floating else _small_constant(tensor, 2**20)
        records.remember(tensor, Node(sources=sources, constant=constant))
    with torch.enable_grad(), Recorder():
        trace.returned = function(*args, **keywords)
    trace.seen = set(records.known)
    leaves = tensors_in(trace.returned)
    trace.outputs = tuple(records.known[id(x)][1] for x in leaves if id(x) in records.known)
    return trace


# NumPy.


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
        result = function(*_plain(args), **_plain(keywords))
        return self._wrapped(function.__name__, list(_leaves((args, keywords))), result, ())

    def _wrapped(self, name: str, inputs: Any, result: Any, out: Any) -> Any:
        nodes = tuple(_numpy_node(x) for x in inputs if isinstance(x, np.ndarray | float | int))
        arrays = [_plain(x) for x in inputs if isinstance(x, np.ndarray)]
        recorded = tuple(_numpy_node(x) for x in inputs if isinstance(x, np.ndarray))
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
        kept = np.array(result) if isinstance(result, np.ndarray) else None
        node = self.record.add(nodes, value=None if kept is None else lambda: kept, **fields)
        if out and isinstance(out[0], RecordedArray):
            out[0].node = node
            return out[0]
        return _wrap(result, self.record, node)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.node = self.record.add((self.node, _numpy_node(value)))
        super().__setitem__(_plain(key), _plain(value))


def _wrap(result: Any, trace: Trace, node: Node) -> Any:
    if isinstance(result, tuple | list):
        return type(result)(_wrap(x, trace, node) for x in result)
    if not isinstance(result, np.ndarray) or result.dtype.kind not in "fc":
        return result
    array = result.view(RecordedArray)
    array.record, array.node = trace, node
    return array


def _numpy_node(x: Any) -> Node:
    return x.node if isinstance(x, RecordedArray) else Node(constant=np.asarray(x))


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


def trace_numpy(function: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Trace:
    """The trace of a call with NumPy arrays."""
    trace = Trace()
    numbers = iter(range(len(args) + len(keywords)))

    def source(x: Any) -> Any:
        if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
            return x
        return _wrap(x, trace, Node(sources=frozenset([next(numbers)])))

    trace.returned = function(*map(source, args), **{k: source(v) for k, v in keywords.items()})
    leaves = [x for x in _leaves(trace.returned) if isinstance(x, RecordedArray)]
    trace.outputs, trace.returned = tuple(x.node for x in leaves), _plain(trace.returned)
    return trace


# JAX.


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


TRACERS = {"torch": trace_torch, "numpy": trace_numpy, "jax": trace_jax}
