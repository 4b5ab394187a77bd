"""PyTorch: calls are recorded by a dispatch mode; modules are traced as copies in float64."""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from regard.checker.adapters import DEVICE, Layer, is_module
from regard.checker.adapters.tape import Node as TapeNode
from regard.checker.adapters.tape import record_tensors
from regard.checker.graph import Fused, Node, Product, Trace, scale_factor
from regard.engine.tensors import to_float64

CURVED = ("norm", "rsqrt")
MAX_CONSTANT = 2**18
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
            spread = 0.2 if p.ndim <= 1 else max(p.shape[-1], 1) ** -0.5
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


def trace(function: Callable[..., Any], arrays: Sequence[Any]) -> Trace:
    """The trace of a call with PyTorch tensors: its tape as a graph like those of all libraries."""
    tape, leaves, returned = record_tensors(function, arrays, {})
    record, known = Trace(returned=returned), dict[int, Node]()
    last = [tape.node_of(x) for x in leaves]
    for one in tape.nodes:
        _add(record, one, known)
    record.outputs = tuple(_add(record, x, known) for x in last)
    return record


def _add(record: Trace, one: TapeNode, known: dict[int, Node]) -> Node:
    """The node of the graph for one of a tape."""
    if id(one) in known:
        return known[id(one)]
    inputs = [_add(record, x, known) for x in one.inputs]
    if one.op == "input":
        node = Node(sources=one.sources)
    elif not one.sources:
        learned = type(one.tensor).__name__ == "Parameter" or any(x.learned for x in inputs)
        numbers = (
            None if one.tensor.is_complex() or one.tensor.numel() > MAX_CONSTANT else one.value
        )
        node = Node(constant=numbers, learned=learned)
    else:
        fields = _fields(record, one, inputs, known)
        node = record.add(inputs, value=partial(to_float64, one.tensor.detach()), **fields)
    known[id(one)] = node
    return node


def _fields(
    record: Trace, one: TapeNode, inputs: list[Node], known: dict[int, Node]
) -> dict[str, Any]:
    """What a graph says of an operation: its product, its factor, whether it is curved."""
    if one.operands is not None and one.arrays is not None:
        nodes = _add(record, one.operands[0], known), _add(record, one.operands[1], known)
        at = {"addmm": 0, "convolution": 2}.get(one.op, len(inputs))
        plus = inputs[at] if at < len(inputs) else None
        bias = plus.constant if plus is not None and not plus.sources else None
        return {"product": Product(*one.arrays, nodes, bias)}
    if one.fused is not None:
        mask = one.fused.mask_node
        added = None if mask is None else _add(record, mask, known)
        return {"fused": Fused(*one.fused.arrays, one.fused.scale, added)}
    if one.factors:
        factors = tuple(
            Node(constant=np.asarray(x)) if isinstance(x, float) else _add(record, x, known)
            for x in one.factors
        )
        several = sum(bool(x.sources) for x in factors) > 1
        return {"factor": scale_factor(factors, one.op.startswith("div")), "curved": several}
    return {"curved": any(x in one.op for x in CURVED)}
