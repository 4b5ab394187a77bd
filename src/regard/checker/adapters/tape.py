"""Tapes: every operation of one call of PyTorch code, with its numbers; and reruns with edits.

A node knows the inputs and parameters that it depends on, and how far it is on the way through an
attention: 0 before the weights, 1 from them on, 2 once they have met values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.typing import Array

PRODUCTS = {"mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2), "mv": (0, 1),
            "dot": (0, 1)}  # fmt: skip
SOFTMAXES = ("_softmax", "_safe_softmax")
NARROW = ("torch.float32", "torch.float16", "torch.bfloat16")


@dataclass(frozen=True, eq=False)
class Fused:
    """An attention in one operation: nodes and arrays of query, key, value, and its options."""

    arrays: tuple[Array, Array, Array]
    mask: Array | None
    causal: bool
    scale: float | None
    mask_node: Node | None = None


@dataclass(eq=False)
class Node:
    """One result: its operation, inputs and numbers, and what it depends on."""

    op: str
    inputs: tuple[Node, ...]
    tensor: Any
    sources: frozenset[int] = frozenset()
    params: frozenset[str] = frozenset()
    level: int = 0
    operands: tuple[Node, Node] | None = None
    arrays: tuple[Array, Array] | None = None  # (n, rows, d), (n, d, columns)
    fused: Fused | None = None
    factors: tuple[Node | float, ...] = ()  # of a multiplication or division
    index: int = -1

    @property
    def value(self) -> Array:
        return _numbers(self.tensor)

    @property
    def is_narrow(self) -> bool:
        return str(self.tensor.dtype) in NARROW and self.tensor.numel() > 1

    @property
    def sums_values(self) -> bool:
        """Whether weights meet values here."""
        if self.fused is not None:
            return True
        if self.operands is None or sorted(x.level for x in self.operands) != [0, 1]:
            return False
        return bool(next(x for x in self.operands if x.level == 0).sources)


Edits = dict[int, Callable[[Any], Any]]  # of the first result of the operation with this number


@dataclass(eq=False)
class Run:
    """One call: the nodes of its tape, and what came back."""

    nodes: list[Node]
    output: Array
    leaves: list[Array] = field(default_factory=list)

    def angles(self, name: str) -> Array:
        """What the sine or the cosine was taken of."""
        made = [n.inputs[0].value.ravel() for n in self.nodes if n.op == name and n.inputs]
        return np.concatenate([*made, np.zeros(0)])


class Tape:
    """The nodes of tensors by identity; the tensors are kept alive."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.known: dict[int, tuple[Any, Node]] = {}
        self.writers: dict[int, list[Node]] = {}  # by storage
        self.count = 0

    def remember(self, tensor: Any, node: Node) -> Node:
        self.known[id(tensor)] = (tensor, node)
        return node

    def node_of(self, tensor: Any) -> Node:
        if id(tensor) not in self.known:
            return self.remember(tensor, Node("constant", (), tensor))
        node = self.known[id(tensor)][1]
        writers = self.writers.get(_storage(tensor), [])
        newer = [x for x in writers if x.index > node.index and x is not node]
        if newer:
            node = self.remember(tensor, self.add("written", (node, *newer), tensor.clone()))
        return node

    def add(self, op: str, inputs: tuple[Node, ...], tensor: Any, **fields: Any) -> Node:
        node = Node(
            op,
            inputs,
            tensor,
            frozenset().union(*(x.sources for x in inputs)),
            frozenset().union(*(x.params for x in inputs)),
            max((x.level for x in inputs), default=0),
            index=self.count,
            **fields,
        )
        depends = bool(node.sources or node.params)
        if op in (*SOFTMAXES, "exp", "exp2") and node.level == 0 and depends:
            node.level = int(_follows_product(node))
        if node.sums_values:
            node.level = 2
        self.nodes.append(node)
        return node

    def record(self, name: str, args: Any, keywords: Any, inputs: Any, results: list[Any]) -> None:
        """Add a node for every tensor that an operation gave."""
        fields = self._fields(name if name.startswith("_") else name.rstrip("_"), args, keywords)
        in_place = name.endswith("_") and not name.endswith("__")
        for tensor in results:
            node = self.add(name, inputs, tensor.clone() if in_place else tensor, **fields)
            self.remember(tensor, node)
            if in_place:
                self.writers.setdefault(_storage(tensor), []).append(node)
            fields = {}  # what is told of an operation belongs to its first result

    def _fields(self, name: str, args: Any, keywords: Any) -> dict[str, Any]:
        if name in PRODUCTS:
            left, right = (args[i] for i in PRODUCTS[name])
            one, two = _numbers(left), _numbers(right)
            one = one.reshape((1, 1, -1) if one.ndim == 1 else (-1, *one.shape[-2:]))
            two = two.reshape((1, -1, 1) if two.ndim == 1 else (-1, *two.shape[-2:]))
            return self._product(left, right, (one.copy(), two.copy()))
        if name == "convolution" and all(n == 1 for n in args[1].shape[2:]) and args[8] == 1:
            x, weight = _numbers(args[0]), _numbers(args[1])
            left = np.moveaxis(x, 1, -1).reshape(1, -1, x.shape[1])
            right = weight.reshape(1, *weight.shape[:2]).swapaxes(1, 2)
            return self._product(args[0], args[1], (left, right))
        if name == "mul" and _spreads_both(args):
            return self._product(args[0], args[1], None)
        if "scaled_dot_product" in name:
            return {"fused": self._fused(args, keywords)}
        if name in ("mul", "div"):
            pairs = [(x, hasattr(x, "untyped_storage")) for x in args[:2]]
            known = [(x, made) for x, made in pairs if made or isinstance(x, int | float)]
            return {"factors": tuple(self.node_of(x) if made else float(x) for x, made in known)}
        return {}

    def _fused(self, args: Any, keywords: Any) -> Fused:
        mask, node = keywords.get("attn_mask"), None
        if mask is None and len(args) > 3 and hasattr(args[3], "shape"):
            mask = args[3]
        if mask is not None:
            node = self.node_of(mask)
            is_bool = "bool" in str(mask.dtype)
            mask = mask.detach().cpu().numpy().copy() if is_bool else _numbers(mask)
        causal = bool(keywords.get("is_causal", any(x is True for x in args[3:])))
        query, key, value = (_numbers(x).copy() for x in args[:3])
        return Fused((query, key, value), mask, causal, keywords.get("scale"), node)

    def _product(self, left: Any, right: Any, arrays: Any) -> dict[str, Any]:
        return {"operands": (self.node_of(left), self.node_of(right)), "arrays": arrays}


def _numbers(tensor: Any) -> Array:
    made: Array = tensor.detach().double().cpu().numpy()
    return made


def _spreads_both(args: Any) -> bool:
    """Whether two arrays are multiplied that are both spread, as in an outer product of rows."""
    if len(args) < 2 or not all(getattr(x, "ndim", 0) > 2 for x in args[:2]):
        return False
    one, two = args[0].shape, args[1].shape
    pairs = list(zip(one, two, strict=False))
    return len(one) == len(two) and all(
        any(a == 1 != b for a, b in order) for order in (pairs, [(b, a) for a, b in pairs])
    )


def _follows_product(node: Node) -> bool:
    """Whether some product of an input leads to a node."""
    waiting, seen = list(node.inputs), set()
    while waiting:
        one = waiting.pop()
        if one.operands is not None and any(x.sources for x in one.operands):
            return True
        if id(one) not in seen:
            seen.add(id(one))
            waiting += one.inputs
    return False


def _storage(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())


def record(
    function: Callable[..., Any],
    inputs: Sequence[Array],
    params: dict[str, Any],
    edits: Edits | None = None,
) -> Run:
    """Call a function of tensors with these arrays; ``edits`` change results on the way."""
    import torch

    tensors = [torch.from_numpy(np.ascontiguousarray(x)).clone() for x in inputs]
    tape, leaves, _ = record_tensors(function, tensors, params, edits)
    if not leaves:
        raise ValueError("it returned no tensor")
    return Run(tape.nodes, _numbers(leaves[0]).copy(), [_numbers(x) for x in leaves])


def record_tensors(
    function: Callable[..., Any],
    tensors: Sequence[Any],
    params: dict[str, Any],
    edits: Edits | None = None,
) -> tuple[Tape, list[Any], Any]:
    """The tape of a call with tensors, the tensors that came back, and all that came back."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    tape, changes = Tape(), edits or {}

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
            kwargs = kwargs or {}
            before = tuple(tape.node_of(x) for x in tensors_in((args, kwargs)))
            result = func(*args, **kwargs)
            tape.count += 1
            made = tensors_in(result)
            if tape.count in changes and made:
                with torch.no_grad():
                    made[0].copy_(changes[tape.count](made[0]))
            tape.record(func.overloadpacket.__name__, args, kwargs, before, made)
            return result

    for number, tensor in enumerate(tensors):
        tape.remember(tensor, Node("input", (), tensor, frozenset([number])))
    for name, parameter in params.items():
        tape.remember(parameter, Node("parameter", (), parameter, params=frozenset([name])))
    with torch.enable_grad(), Recorder():  # without gradients, fast paths hide the operations
        returned = function(*tensors)
    return tape, tensors_in(returned), returned
