"""PyTorch: calls are recorded by a dispatch mode; modules are traced as copies in float64."""

from __future__ import annotations

import contextlib
import copy
import inspect
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from regard.checker.adapters import DEVICE, Layer, is_module
from regard.checker.graph import Fused, Node, Product, Trace, scale_factor, stacked
from regard.engine.tensors import to_float64
from regard.typing import Array

CURVED = ("norm", "rsqrt")
PRODUCTS = {"mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2), "matmul": (0, 1)}
LAZY_WIDTH = 12


def as_layer(module: Any) -> Layer | None:
    """A PyTorch module as a layer; None for anything else."""
    if not is_module(module):
        return None
    module = usable(module)
    if DEVICE.get() != "cpu":
        module = copy.deepcopy(module).to(DEVICE.get())
    parameters = tuple(module.parameters())
    dtype = str(parameters[0].dtype).removeprefix("torch.") if parameters else "float32"
    exact = in_float64(module) if parameters else module
    return Layer(module, exact, module.forward, "torch", dtype, parameters)


def in_float64(module: Any) -> Any:
    """A copy of a module in float64 and eval mode; the module itself where there is none."""
    try:
        return copy.deepcopy(module).double().eval()
    except Exception:  # a module that cannot be copied is traced in its own precision
        return module


def usable(module: Any) -> Any:
    """A PyTorch module without parameters that make every result alike.

    Parameters that are zero, constant, not finite or never filled are drawn anew, in a copy.
    """
    import torch

    _fill_lazy(module)
    poor = [name for name, p in module.named_parameters() if _is_poor(p)]
    module = copy.deepcopy(module) if poor else module
    random = torch.Generator().manual_seed(7)
    parameters = dict(module.named_parameters())
    with torch.no_grad():
        for name in poor:
            p = parameters[name]
            drawn = torch.randn(p.shape, generator=random, dtype=torch.float64)
            around = 1.0 if p.numel() == 1 or (p.ndim == 1 and bool((p == 1).all())) else 0.0
            spread = 0.2 if p.ndim <= 1 else p.shape[-1] ** -0.5
            p.copy_(around + spread * drawn)
    return module


def _fill_lazy(module: Any) -> None:
    """Give lazy layers their sizes by a first call."""
    import torch

    if not any(isinstance(p, torch.nn.UninitializedParameter) for p in module.parameters()):
        return
    parameters = inspect.signature(module.forward).parameters.values()
    required = [p for p in parameters if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
    for arrays in range(min(3, len(required)), 0, -1):
        x = [torch.randn(2, 5, LAZY_WIDTH)] * arrays
        with contextlib.suppress(Exception), torch.no_grad():
            module(*x, *[None] * (len(required) - arrays))
            return


def _is_poor(parameter: Any) -> bool:
    import torch

    if isinstance(parameter, torch.nn.UninitializedParameter) or not parameter.is_floating_point():
        return False
    numbers = parameter.detach().double()
    if not bool(numbers.isfinite().all()) or numbers.numel() < 2:
        return not bool(numbers.isfinite().all() and numbers.any())
    spread = float(numbers.std())
    return not 1e-6 < spread < 1e3 or float(numbers.abs().max()) > 1e4


class Records:
    """The nodes of tensors, by identity; the tensors are kept alive."""

    def __init__(self, record: Trace) -> None:
        self.trace = record
        self.known: dict[int, tuple[Any, Node, int]] = {}
        self.written: dict[int, list[Node]] = {}  # by storage: what was written into it

    def remember(self, tensor: Any, node: Node) -> None:
        self.known[id(tensor)] = (tensor, node, tensor._version)

    def node_of(self, tensor: Any) -> Node:
        if id(tensor) not in self.known:
            learned = type(tensor).__name__ == "Parameter"
            self.remember(tensor, Node(constant=_small(tensor, 2**20), learned=learned))
        _, node, version = self.known[id(tensor)]
        writers = self.written.get(_storage(tensor), [])
        if tensor._version > version and any(writer is not node for writer in writers):
            node = self.trace.add((node, *writers))
            self.remember(tensor, node)
        return node

    def add(
        self, name: str, args: Any, keywords: Any, before: list[Node], results: list[Any]
    ) -> None:
        """Add a node for every tensor that an operation gave."""
        fields = self._fields(name.rstrip("_"), args, keywords)
        for tensor in results:
            kept = tensor.detach()
            node = self.trace.add(before, value=partial(to_float64, kept), **fields)
            if not node.sources:
                node = Node(constant=_small(tensor, 2**16), learned=any(x.learned for x in before))
            self.remember(tensor, node)
            if name.endswith("_"):
                self.written.setdefault(_storage(tensor), []).append(node)
            fields = {}  # what is told of an operation belongs to its first result

    def _fields(self, base: str, args: Any, keywords: Any) -> dict[str, Any]:
        tensors = [x for x in args if hasattr(x, "untyped_storage")]
        if base in PRODUCTS and len(tensors) > 1:
            left, right = (args[i] for i in PRODUCTS[base])
            nodes = (self.node_of(left), self.node_of(right))
            plus = "add" in base and not self.node_of(args[0]).sources and keywords.get("beta") != 0
            bias = to_float64(args[0]) if plus else None
            return {"product": Product(*stacked(to_float64(left), to_float64(right)), nodes, bias)}
        if base == "convolution" and all(x == 1 for x in args[1].shape[2:]) and args[8] == 1:
            return {"product": self._pointwise(*args[:3])}
        if "scaled_dot_product" in base:
            mask = keywords.get("attn_mask")
            added = self.node_of(mask) if mask is not None else None
            query, key, value = (to_float64(x) for x in args[:3])
            return {"fused": Fused(query, key, value, keywords.get("scale"), added)}
        if base in ("mul", "div"):
            factors = tuple(
                self.node_of(x) if is_tensor else Node(constant=np.asarray(float(x)))
                for x, is_tensor in _factors(args)
            )
            several = sum(bool(x.sources) for x in factors) > 1
            return {"factor": scale_factor(factors, base == "div"), "curved": several}
        return {"curved": any(x in base for x in CURVED)}

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


def _small(tensor: Any, most: int) -> Array | None:
    return None if tensor.numel() >= most or tensor.is_complex() else to_float64(tensor)


def trace(function: Callable[..., Any], arrays: Sequence[Any]) -> Trace:
    """The trace of a call with PyTorch tensors."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    record = Trace()
    records = Records(record)

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
            before = [records.node_of(x) for x in tensors_in((args, kwargs))]
            result = func(*args, **kwargs)
            with contextlib.suppress(RuntimeError):
                name = func.overloadpacket.__name__
                records.add(name, args, kwargs, before, tensors_in(result))
            return result

    for number, tensor in enumerate(arrays):
        records.remember(tensor, Node(sources=frozenset([number])))
    with torch.enable_grad(), Recorder():
        record.returned = function(*arrays)
    record.seen = set(records.known)
    leaves = tensors_in(record.returned)
    record.outputs = tuple(records.known[id(x)][1] for x in leaves if id(x) in records.known)
    return record
