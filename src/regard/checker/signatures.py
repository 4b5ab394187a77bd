"""Roles of a function's parameters, read from their names."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from regard.errors import ArgumentError

NAMES = {
    "mask": "mask attn_mask attention_mask bias attn_bias attention_bias m",
    "padding": "key_padding_mask padding_mask pad_mask",
    "causal": "causal is_causal use_causal_mask",
    "offset": "offset",
    "window": "window window_size local_window_size sliding_window",
    "softcap": "softcap soft_cap logit_cap logits_soft_cap",
    "scale": "scale softmax_scale sm_scale scaling",
    "lengths": "lengths key_lengths kv_lengths seqlens seq_lens valid_lens lens",
    "heads": "heads num_heads n_heads h n_head nhead nheads",
    "width": "d_k dk head_dim d_head d",
    "w_output": "w_o wo w_out w_output",
    "grouped": "enable_gqa",
    "dropout": "dropout dropout_p p_dropout dropout_rate",
    "need weights": "need_weights",
}
ROLE_OF = {name: role for role, names in NAMES.items() for name in names.split()}
FIRST_VECTOR = ("x", "inputs", "input", "embeddings", "embedding", "tokens", "vectors", "seq")
FORMS = {"q k v": "qkv", "q k v mask": "qkv", "x w_q w_k w_v": "xw", "x": "x"}


@dataclass(frozen=True)
class Roles:
    """The form of a call, 'qkv', 'xw' or 'x', and the parameter of each further role."""

    form: str
    names: dict[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    positional: tuple[str, ...] = ()
    order: tuple[str, ...] = ("query", "key", "value")

    def has(self, role: str) -> bool:
        """Whether there is a parameter for the role."""
        return role in self.names


def read_roles(function: Callable[..., Any], signature: str = "auto") -> Roles:
    """The roles of a function's parameters.

    Examples
    --------
    >>> def attention(q, k, v, attn_mask=None): ...
    >>> read_roles(attention)
    Roles(form='qkv', names={'mask': 'attn_mask'}, required=(), ...)
    """
    stated = signature.split(" as ")[0].strip()
    if stated not in ("auto", *FORMS):
        raise ArgumentError(
            f"signature needs one of {', '.join(['auto', *FORMS])}, if you like followed by the "
            f"axes ('q k v as bthd'), but it is {signature!r}."
        )
    parameters = _parameters(function)
    form = FORMS.get(stated) or _form(parameters)
    rest = parameters[{"qkv": 3, "xw": 4, "x": 1}[form] :]
    names = {ROLE_OF[p.name.lower()]: p.name for p in rest if p.name.lower() in ROLE_OF}
    if stated == "q k v mask" and rest and "mask" not in names:
        names["mask"] = rest[0].name
    unnamed = [p for p in rest if p.default is p.empty and p.name not in names.values()]
    if form == "qkv" and len(unnamed) == 1 and "mask" not in names and stated == "auto":
        names["mask"], unnamed = unnamed[0].name, []
    if unnamed:
        raise ArgumentError(
            f"the function needs {unnamed[0].name!r}, and its name does not say what it is: give "
            "it a default, or wrap the function in one of (q, k, v), (q, k, v, mask) or "
            "(x, w_q, w_k, w_v)."
        )
    required = tuple(r for r, n in names.items() if any(p.name == n and _needed(p) for p in rest))
    late = tuple(p.name for p in rest if p.kind == p.POSITIONAL_ONLY)
    return Roles(form, names, required, late, _order(parameters[:3]))


def _order(first: list[inspect.Parameter]) -> tuple[str, ...]:
    """The order of the first three parameters: (values, keys, query) is in use too."""
    usual = ("query", "key", "value")
    named = tuple(x for p in first for x in usual if p.name.lower().startswith(x[0]))
    return named if sorted(named) == sorted(usual) else usual


def _needed(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty


def _form(parameters: list[inspect.Parameter]) -> str:
    names = [p.name.lower() for p in parameters]
    needed = [p.name.lower() for p in parameters if p.default is p.empty]
    if len(names) >= 4 and all(name.startswith("w") for name in names[1:4]):
        return "xw"
    main = [name for name in needed if name not in ROLE_OF]
    if len(names) < 3 or (len(main) == 1 and names[0] in FIRST_VECTOR):
        return "x"
    return "qkv"


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters, from the signature or, for compiled functions, from the docstring."""
    target = getattr(function, "forward", function)
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        match = re.search(r"\w+\((.*?)\)\s*->", inspect.getdoc(target) or "", re.DOTALL)
        named = re.findall(r"(\w+)\s*(=?)[^,]*", match[1]) if match else []
        parameters = [_parameter(name, bool(default)) for name, default in named]
    parameters = [p for p in parameters if p.kind not in kinds]
    if not parameters:
        parameters = [_parameter(name, False) for name in ("q", "k", "v")]
    return parameters


def _parameter(name: str, has_default: bool) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=None if has_default else inspect.Parameter.empty)
