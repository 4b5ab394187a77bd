"""Parameters of PyTorch modules: the matrices of query, key, value and output."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.checker.cases import Case, split_heads
from regard.errors import ArgumentError
from regard.typing import Array

PATTERNS = {
    "query": r"(w|to|lin)?_?(q|query|queries)(_?(proj|linear|lin|w|layer|projection))?",
    "key": r"(w|to|lin)?_?(k|key|keys)(_?(proj|linear|lin|w|layer|projection))?",
    "value": r"(w|to|lin)?_?(v|value|values)(_?(proj|linear|lin|w|layer|projection))?",
    "output": r"(w|to|fc|lin|c)?_?(o|out|output|proj)(_?(proj|linear|lin|w|layer|projection))?",
}
FUSED = r"(c_attn|w?_?qkv|to_qkv|qkv_?(proj|linear)|in_proj|query_key_value)"
HEADS = ("heads", "num_heads", "n_heads", "n_head", "nhead", "h")


@dataclass(frozen=True)
class Parameters:
    """Matrices (e + 1, h * d) whose last row is the bias, the last one (h * d + 1, e)."""

    matrices: tuple[Array, ...]
    output: Array | None
    heads: int

    def project(self, case: Case) -> Case:
        """The case with query, key and value made by these parameters from x."""
        b, t = case.query.shape[0], case.query.shape[2]
        width = self.matrices[0].shape[0] - 1
        random = np.random.default_rng([20, b, t, width])
        size = float(np.abs(case.query).mean()) / 0.8
        x = (random.standard_normal((b, t, width)) * size).round(3)
        x = np.concatenate([x, np.ones((b, t, 1))], axis=-1)
        query, key, value = (split_heads(x @ matrix, self.heads) for matrix in self.matrices)
        return replace(case, query=query, key=key, value=value, x=x, matrices=self.matrices)

    def finish(self, output_bte: Array) -> Array:
        """The output after the module's last layer, where it has one."""
        if self.output is None:
            return output_bte
        return np.asarray(output_bte @ self.output[:-1] + self.output[-1])


def is_module(function: Callable[..., Any]) -> bool:
    """Whether this is a PyTorch module, without importing PyTorch."""
    return any(kind.__module__.startswith("torch.nn.modules") for kind in type(function).__mro__)


def is_multihead(function: Callable[..., Any]) -> bool:
    """Whether this is torch.nn.MultiheadAttention or made from it."""
    return any(kind.__name__ == "MultiheadAttention" for kind in type(function).__mro__)


def read_parameters(module: Any) -> Parameters:
    """The parameters of a module that is called with x alone."""
    if is_multihead(module):
        return _of_multihead(module)
    layers = dict(module.named_children())
    fused = _layer(layers, FUSED)
    if fused is not None:
        return _of_fused(module, fused, _layer(layers, PATTERNS["output"]))
    by_role = {role: _layer(layers, pattern) for role, pattern in PATTERNS.items()}
    missing = [role for role in ("query", "key", "value") if by_role[role] is None]
    if missing:
        raise ArgumentError(
            f"a module called with x alone needs linear layers for query, key and value, but none "
            f"is named like {missing[0]!r} (found: {', '.join(layers) or 'none'}). Check the "
            "function inside it that takes q, k and v."
        )
    matrices = tuple(_matrix(by_role[role]) for role in ("query", "key", "value"))
    output = None if by_role["output"] is None else _matrix(by_role["output"])
    return Parameters(matrices, output, _heads(module))


def as_self_attention(module: Any) -> Callable[..., Any]:
    """nn.MultiheadAttention as a function of x; batch first, without dropout of its own."""

    def attention(x: Any, attn_mask: Any = None, key_padding_mask: Any = None) -> Any:
        x = x if module.batch_first else x.transpose(0, 1)
        output, weights = module(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=True
        )
        return (output if module.batch_first else output.transpose(0, 1)), weights

    return attention


def _of_multihead(module: Any) -> Parameters:
    if not getattr(module, "_qkv_same_embed_dim", True):
        raise ArgumentError("a MultiheadAttention with kdim or vdim cannot be checked yet.")
    weights = _numbers(module.in_proj_weight).reshape(3, module.embed_dim, module.embed_dim)
    biases = np.zeros((3, 1, module.embed_dim))
    if module.in_proj_bias is not None:
        biases = _numbers(module.in_proj_bias).reshape(3, 1, module.embed_dim)
    matrices = tuple(np.concatenate([w.T, b]) for w, b in zip(weights, biases, strict=True))
    return Parameters(matrices, _matrix(module.out_proj), int(module.num_heads))


def _of_fused(module: Any, fused: Any, output: Any) -> Parameters:
    """The parameters of a module with one layer for query, key and value side by side."""
    matrix = _matrix(fused)
    if matrix.shape[1] % 3:
        raise ArgumentError("a layer for query, key and value together needs 3 equal parts.")
    parts = tuple(np.split(matrix, 3, axis=1))
    return Parameters(parts, None if output is None else _matrix(output), _heads(module))


def _layer(layers: dict[str, Any], pattern: str) -> Any:
    for name, layer in layers.items():
        if re.fullmatch(pattern, name.lower()) and hasattr(layer, "weight"):
            return layer
    return None


def _matrix(layer: Any) -> Array:
    weight = _numbers(layer.weight).T
    bias = np.zeros(weight.shape[1]) if layer.bias is None else _numbers(layer.bias)
    return np.concatenate([weight, bias[None]])


def _numbers(tensor: Any) -> Array:
    return np.asarray(tensor.detach().double().cpu().numpy())


def _heads(module: Any) -> int:
    for name in HEADS:
        if isinstance(getattr(module, name, None), int):
            return int(getattr(module, name))
    return 1
