"""Projections of a module or object: its matrices of query, key, value and output."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.checker.cases import Case, generator, split_heads
from regard.errors import ArgumentError
from regard.typing import Array

MEANINGLESS_WORDS = frozenset(
    ("w", "weight", "weights", "proj", "projection", "projections", "linear", "linears", "lin",
     "layer", "layers", "fc", "to", "dense", "net", "matrix", "mat", "param", "kernel",
     "transform", "head", "heads", "attn", "attention", "self", "c", "in", "lora", "the", "of")
)  # fmt: skip
NAMES_BY_ROLE = {
    "query": ("q", "query", "queries", "wq", "qw", "qs", "wquery"),
    "key": ("k", "key", "keys", "wk", "kw", "ks", "wkey"),
    "value": ("v", "value", "values", "wv", "vw", "vs", "wvalue"),
    "output": ("o", "out", "output", "wo", "unify", "unifyheads", "combine", "merge", "final",
               "fcout", "concat", "wout", "resid"),
    "fused": ("qkv", "kqv", "wqkv", "querykeyvalue", "qkvproj", "qkvs", "keyqueryvalue"),
    "pair": ("kv", "wkv", "keyvalue"),
}  # fmt: skip
FUSED_NAMES = {"c_attn": "fused", "in_proj": "fused", "attn": "fused", "in_proj_weight": "fused"}
HEAD_COUNT_NAMES = ("num_heads", "n_heads", "heads", "n_head", "nhead", "h",
                    "num_attention_heads", "nh", "num_head", "nheads", "head_num",
                    "n_h")  # fmt: skip
HEAD_WIDTH_NAMES = ("head_dim", "d_k", "d_head", "head_size", "attention_head_size", "dim_head",
                    "head_width", "dk", "hs", "head_d")  # fmt: skip


@dataclass(frozen=True)
class Projections:
    """Matrices (e + 1, h * d) whose last row is the bias, the last one (h * d + 1, e).

    ``entry`` makes from x what the matrices are multiplied with, where a norm comes first.
    """

    matrices: tuple[Array, ...]
    output: Array | None
    heads: int
    key_heads: int = 0
    entry: Callable[[Array], Array] | None = None

    def project(self, case: Case) -> Case:
        """The case with query, key and value made by these matrices from x."""
        b, t = case.query.shape[0], case.query.shape[2]
        width = self.matrices[0].shape[0] - 1
        random = generator(20, b, t, width)
        size = float(np.abs(case.query).mean()) / 0.8
        x = (random.standard_normal((b, t, width)) * size).round(3)
        ones = np.ones((b, t, 1))
        inside = x if self.entry is None else self.entry(x)
        inside = np.concatenate([inside, ones], axis=-1)
        counts = (self.heads, self.key_heads or self.heads, self.key_heads or self.heads)
        query, key, value = (
            split_heads(inside @ m, n) for m, n in zip(self.matrices, counts, strict=True)
        )
        x = np.concatenate([x, ones], axis=-1)
        return replace(case, query=query, key=key, value=value, x=x, matrices=self.matrices)

    def finish(self, output_bte: Array) -> Array:
        if self.output is None:
            return output_bte
        return np.asarray(output_bte @ self.output[:-1] + self.output[-1])


@dataclass(frozen=True)
class NamedLayer:
    """A layer or array and its path in the module."""

    path: str
    layer: Any

    @property
    def parent(self) -> str:
        """The path of the module that it belongs to, numbers of lists left out."""
        path = re.sub(r"\.\d+$", "", self.path)
        return re.sub(r"\d+", "#", path.rpartition(".")[0])


def layer_role(path: str) -> str:
    """The role that the name of a layer gives it; 'rest' where it says nothing, '' for others.

    >>> [layer_role(name) for name in ("W_q", "k_proj", "to_kv", "c_attn", "c_proj", "mlp.fc1")]
    ['query', 'key', 'pair', 'fused', 'rest', '']
    """
    name = re.sub(r"(\.\d+)+$", "", path).rpartition(".")[2]
    if name.lower() in FUSED_NAMES:
        return FUSED_NAMES[name.lower()]
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    words = re.sub(r"query_key_value", "qkv", words)
    rest = "".join(x for x in words.split("_") if x not in MEANINGLESS_WORDS and x)
    if not rest:
        return "rest"
    return next((role for role, names in NAMES_BY_ROLE.items() if rest in names), "")


def is_multihead(module: Any) -> bool:
    """Whether this is torch.nn.MultiheadAttention or made from it."""
    return any(kind.__name__ == "MultiheadAttention" for kind in type(module).__mro__)


def read_projections(module: Any) -> list[Projections]:
    """The readings of an object's matrices, the likeliest first."""
    children = module.children() if hasattr(module, "children") else ()
    for owner in (module, *children):
        if is_multihead(owner):
            return [_read_multihead(owner)]
    layers = list(_layers(module))
    by_role: dict[str, list[NamedLayer]] = {}
    for layer in layers:
        by_role.setdefault(layer_role(layer.path), []).append(layer)
    if "query" in by_role and "key" in by_role and "value" in by_role:
        return list(_read_three(module, by_role))
    if "query" in by_role and "pair" in by_role:
        return list(_read_pair(module, by_role))
    if "fused" in by_role:
        return list(_read_fused(module, by_role))
    listed = _layers_in_list(layers)
    if listed:
        return list(_read_three(module, listed))
    names = ", ".join(layer.path for layer in layers) or "none"
    raise ArgumentError(
        "a module called with x alone must have linear layers named like 'query', 'key' and "
        f"'value', got {names}. Check the function inside it that takes q, k and v."
    )


def _layers(module: Any) -> Iterator[NamedLayer]:
    """Layers with a matrix and arrays of their own, in the order of their definition."""
    if not hasattr(module, "named_modules"):
        for name, value in vars(module).items():
            if (hasattr(value, "ndim") and value.ndim in (2, 3)) or hasattr(value, "weight"):
                yield NamedLayer(name, value)
        return
    owned = set()
    for path, child in module.named_modules():
        weight = getattr(child, "weight", None)
        if path and weight is not None and getattr(weight, "ndim", 0) == 2:
            owned.add(path)
            yield NamedLayer(path, child)
    for path, parameter in module.named_parameters():
        if path.rpartition(".")[0] not in owned and parameter.ndim in (2, 3):
            yield NamedLayer(path, parameter)


def _layers_in_list(layers: list[NamedLayer]) -> dict[str, list[NamedLayer]]:
    """Three or four equal layers of one list as query, key, value and output."""
    numbered = [x for x in layers if re.search(r"\d+$", x.path)]
    lists = {x.path.rpartition(".")[0] for x in numbered}
    for one in sorted(lists):
        some = [x for x in numbered if x.path.rpartition(".")[0] == one]
        if len(some) in (3, 4) and len({tuple(x.layer.weight.shape) for x in some}) == 1:
            return {r: [x] for r, x in zip(("query", "key", "value", "output"), some, strict=False)}
    return {}


def _read_three(module: Any, by_role: dict[str, list[NamedLayer]]) -> Iterator[Projections]:
    for transposed in (False, True):
        chosen = [by_role[role] for role in ("query", "key", "value")]
        matrices = tuple(
            np.concatenate([_matrix(module, x, transposed) for x in some], axis=1)
            for some in chosen
        )
        output = _output(module, by_role, chosen[0][0].parent, transposed)
        several = len(by_role["query"])
        yield _with_head_counts(module, matrices, output, several)
        if all(hasattr(x.layer, "weight") or x.layer.ndim == 3 for some in chosen for x in some):
            return


def _read_pair(module: Any, by_role: dict[str, list[NamedLayer]]) -> Iterator[Projections]:
    query = by_role["query"][0]
    key, value = np.split(_matrix(module, by_role["pair"][0], False), 2, axis=1)
    output = _output(module, by_role, query.parent, False)
    yield _with_head_counts(module, (_matrix(module, query, False), key, value), output, 1)


def _read_fused(module: Any, by_role: dict[str, list[NamedLayer]]) -> Iterator[Projections]:
    """One layer for all three: side by side, or head by head."""
    fused = by_role["fused"][0]
    matrix = _matrix(module, fused, False)
    output = _output(module, by_role, fused.parent, False)
    heads, head_width = _count(module, HEAD_COUNT_NAMES), _count(module, HEAD_WIDTH_NAMES)
    width = matrix.shape[1]
    if heads and head_width and width != 3 * heads * head_width:
        split = heads * head_width
        rest = (width - split) // 2
        parts = np.split(matrix, [split, split + rest], axis=1)
        yield _with_head_counts(module, tuple(parts), output, 1)
        return
    if width % 3:
        raise ArgumentError(
            f"a layer for query, key and value must have 3 equal parts, got width {width}."
        )
    order = (1, 0, 2) if "kqv" in fused.path.lower() else (0, 1, 2)
    parts = np.split(matrix, 3, axis=1)
    yield _with_head_counts(module, tuple(parts[i] for i in order), output, 1)
    heads = heads or 1
    by_head = matrix.reshape(matrix.shape[0], heads, 3, -1)
    yield _with_head_counts(
        module, tuple(by_head[:, :, i].reshape(matrix.shape[0], -1) for i in range(3)), output, 1
    )


def _with_head_counts(
    module: Any, matrices: tuple[Array, ...], output: Array | None, several: int
) -> Projections:
    width = matrices[0].shape[1]
    head_width = _count(module, HEAD_WIDTH_NAMES)
    heads = several if several > 1 else _count(module, HEAD_COUNT_NAMES)
    if not heads:
        heads = width // head_width if head_width and width % head_width == 0 else 1
    if width % heads:
        heads = 1
    key_heads = max(1, matrices[1].shape[1] // (width // heads))
    if output is not None and output.shape[0] - 1 != heads * (matrices[2].shape[1] // key_heads):
        output = None
    return Projections(matrices, output, heads, 0 if key_heads == heads else key_heads)


def _count(module: Any, names: tuple[str, ...]) -> int:
    """A number that a module or its config has under one of these names; 0 where there is none."""
    configs = [getattr(module, name, None) for name in ("cfg", "config", "args")]
    for owner in (module, *configs):
        for name in names:
            value = getattr(owner, name, None) if owner is not None else None
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return 0


def _output(
    module: Any, by_role: dict[str, list[NamedLayer]], parent: str, transposed: bool
) -> Array | None:
    """The matrix of the output layer, None where there is none.

    That is a layer such as ``out_proj`` in the module of the query layer or around it; else one
    with a name that says nothing, such as ``c_proj`` next to ``c_attn``.
    """
    owners = [parent]
    while owners[-1]:
        owners.append(owners[-1].rpartition(".")[0])
    for owner in owners:
        for role in ("output", "rest"):
            for layer in by_role.get(role, []):
                if layer.parent == owner or re.fullmatch(rf"{re.escape(owner)}\.?#", layer.parent):
                    return _matrix(module, layer, transposed, output=True)
    return None


def output_layer(module: Any) -> Any:
    """The layer that gives the output, where it is one that can be hooked."""
    layers = list(_layers(module))
    first = next((x for x in layers if layer_role(x.path) in ("query", "fused")), None)
    for role in ("output", "rest"):
        for layer in layers:
            same = first is not None and layer.parent == first.parent
            if layer_role(layer.path) == role and same and hasattr(layer.layer, "weight"):
                return layer.layer
    return None


def first_layer(module: Any) -> Any:
    """The layer that gives the query, where it is one that can be hooked."""
    for layer in _layers(module):
        if layer_role(layer.path) in ("query", "fused") and hasattr(layer.layer, "weight"):
            return layer.layer
    return None


def _matrix(module: Any, named: NamedLayer, transposed: bool, output: bool = False) -> Array:
    """A matrix (in + 1, out) with its bias as the last row."""
    layer = named.layer
    if hasattr(layer, "weight"):
        weight = _numbers(layer.weight)
        weight = weight if type(layer).__name__ == "Conv1D" else weight.T
        bias = getattr(layer, "bias", None)
        bias = np.zeros(weight.shape[1]) if bias is None else _numbers(bias)
        return np.concatenate([weight, bias[None]])
    weight = _numbers(layer)
    if weight.ndim == 3:
        weight = weight.reshape(-1, weight.shape[2]) if output else _side_by_side(weight)
    elif transposed:
        weight = weight.T
    bias = _bias(module, named.path, weight.shape[1])
    return np.concatenate([weight, bias[None]])


def _side_by_side(weight_hed: Array) -> Array:
    return weight_hed.transpose(1, 0, 2).reshape(weight_hed.shape[1], -1)


def _bias(module: Any, path: str, width: int) -> Array:
    """The bias that belongs to an array such as W_q: b_q, bq, q_bias or bias_q."""
    last = path.rpartition(".")[2]
    core = re.sub(r"(?i)^w(eight)?s?_?|_?w(eight)?s?$", "", last)
    for name in (f"b_{core}", f"b{core}", f"{core}_bias", f"bias_{core}", f"B_{core}"):
        value = getattr(module, name, None)
        if value is not None and hasattr(value, "shape"):
            return _numbers(value).reshape(width)
    return np.zeros(width)


def _read_multihead(module: Any) -> Projections:
    if not getattr(module, "_qkv_same_embed_dim", True):
        raise ArgumentError("a MultiheadAttention with kdim or vdim cannot be checked yet.")
    weights = _numbers(module.in_proj_weight).reshape(3, module.embed_dim, module.embed_dim)
    biases = np.zeros((3, 1, module.embed_dim))
    if module.in_proj_bias is not None:
        biases = _numbers(module.in_proj_bias).reshape(3, 1, module.embed_dim)
    matrices = tuple(np.concatenate([w.T, b]) for w, b in zip(weights, biases, strict=True))
    output = _matrix(module, NamedLayer("out_proj", module.out_proj), False)
    return Projections(matrices, output, int(module.num_heads))


def _numbers(array: Any) -> Array:
    if hasattr(array, "detach"):
        array = array.detach().double().cpu().numpy()
    return np.asarray(array, np.float64)
