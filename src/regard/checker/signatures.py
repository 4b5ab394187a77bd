"""What a function says about itself: the roles of its parameters, hints in names and comments.

The names of the parameters tell their roles (``read_roles``); names, docstrings, comments and
buffers tell conventions that no call can show (``is_called_causal``, ``mask_hides``).
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from regard.errors import ArgumentError

ROLE_NAMES = {
    "mask": "mask attn_mask attention_mask m masks src_mask tgt_mask look_ahead_mask additive_mask "
    "bias attn_bias attention_bias position_bias rel_pos_bias relative_position_bias causal_mask",
    "padding": "key_padding_mask padding_mask pad_mask src_key_padding_mask key_mask kv_mask "
    "src_padding_mask",
    "causal": "causal is_causal use_causal_mask use_causal autoregressive apply_causal_mask",
    "offset": "offset",
    "window": "window window_size local_window_size sliding_window",
    "softcap": "softcap soft_cap logit_cap logits_soft_cap",
    "scale": "scale softmax_scale sm_scale scaling scale_factor scaling_factor",
    "temperature": "temperature temp",
    "lengths": "lengths key_lengths kv_lengths seqlens seq_lens valid_lens lens valid_len kv_lens "
    "valid_length valid_lengths key_lens",
    "heads": "heads num_heads n_heads h n_head nhead nheads num_attention_heads num_head head_num",
    "width": "d_k dk head_dim d_head d head_size dim_head d_key",
    "model width": "d_model embed_dim n_embd hidden_size model_dim emb_dim embed_size dim width",
    "w_output": "w_o wo w_out w_output o_proj_weight out_proj_weight output_proj_weight",
    "grouped": "enable_gqa",
    "dropout": "dropout dropout_p p_dropout dropout_rate attn_dropout dropout_prob p",
    "need weights": "need_weights return_weights return_attention output_attentions return_attn "
    "return_attention_weights",
    "training": "training train is_training",
    "module": "module",
    "slopes": "slopes alibi_slopes alibi",
    "cos": "cos freqs_cos cosines",
    "sin": "sin freqs_sin sines",
    "past key": "past_k past_key past_keys k_cache key_cache k_past cached_k cached_keys "
    "cached_key cache_k cache_key prev_k prev_key k_prev",
    "past value": "past_v past_value past_values v_cache value_cache v_past cached_v cached_values "
    "cached_value cache_v cache_value prev_v prev_value v_prev",
    "past pair": "past_key_value past_kv kv_cache past layer_past past_key_values cache",
    "query bias": "b_q bq b_query q_bias bias_q",
    "key bias": "b_k bk b_key k_bias bias_k",
    "value bias": "b_v bv b_value v_bias bias_v",
    "output bias": "b_o bo b_output o_bias bias_o",
}
ROLE_BY_NAME = {name: role for role, names in ROLE_NAMES.items() for name in names.split()}
# Masks with these names are added to the scores.
ADDED_MASK_NAMES = [
    "bias",
    "attn_bias",
    "attention_bias",
    "additive_mask",
    "position_bias",
    "rel_pos_bias",
    "relative_position_bias",
]
NAME_ENDING = r"(_?(states?|layers?|vectors?|tensors?|in|inputs?|mat|matrix|heads?|array))?"
WEIGHT_NAME = r"(proj_?)?(w|weights?|kernel|mat|matrix|proj)"
MAIN_PATTERNS = {
    "query": rf"x?q(s|uery|ueries)?{NAME_ENDING}",
    "key": rf"x?k(s|eys?)?{NAME_ENDING}",
    "value": rf"x?v(s|als?|alues?)?{NAME_ENDING}",
    "w_query": rf"(w|weights?)_?(of_)?q(uery|ueries)?|q(uery)?_?{WEIGHT_NAME}",
    "w_key": rf"(w|weights?)_?(of_)?k(eys?)?|k(ey)?_?{WEIGHT_NAME}",
    "w_value": rf"(w|weights?)_?(of_)?v(alues?)?|v(alue)?_?{WEIGHT_NAME}",
    "x": r"x|inputs?|in_features|features|embeddings?|embeds?|embs?|tokens?|vectors?|seq|sequence|"
    r"hidden(_states?)?|src|inp|normalized_resid_pre|resid(_pre)?|token_embeddings|inputs_embeds",
}
FORM_BY_SIGNATURE = {"q k v": "qkv", "q k v mask": "qkv", "x w_q w_k w_v": "xw", "x": "x"}
ARRAYS = {
    "qkv": ("query", "key", "value"),
    "xw": ("x", "w_query", "w_key", "w_value"),
    "x": ("x",),
}
ROTATION_NAME = r"freq|cos|sin(?![kg])|rot|rope|pos(ition)?_?(emb|enc)"
BOOLEAN_ROLES = ("causal", "need weights", "training", "grouped", "softcap")


@dataclass(frozen=True)
class Roles:
    """The form of a call, 'qkv', 'xw' or 'x', and the parameter of each further role.

    ``leading`` are the roles passed by position, in order; the rest are passed by name.
    ``added``: the mask is added to the scores, as its name says.
    """

    form: str
    names: dict[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    leading: tuple[str, ...] = ("query", "key", "value")
    added: bool = False
    sources: dict[str, str] = field(default_factory=dict)  # of a module: its arrays

    def has(self, role: str) -> bool:
        return role in self.names

    @property
    def cached(self) -> bool:
        return self.has("past pair") or (self.has("past key") and self.has("past value"))


def stated_arrays(signature: str) -> str:
    """The arrays of a signature without their axes: "q k v" of "q k v as bthd"."""
    stated = signature.split(" as ")[0].strip()
    if stated not in ("auto", *FORM_BY_SIGNATURE):
        raise ArgumentError(
            f"signature must be one of auto, {', '.join(FORM_BY_SIGNATURE)}, maybe followed by "
            f"the axes ('q k v as bthd'), got {signature!r}."
        )
    return stated


def read_roles(function: Callable[..., Any], signature: str = "auto") -> Roles:
    """The roles of a function's parameters.

    Examples
    --------
    >>> def attention(q, k, v, attn_mask=None): ...
    >>> read_roles(attention)
    Roles(form='qkv', names={'mask': 'attn_mask'}, required=(), ...)
    """
    stated = stated_arrays(signature)
    parameters = function_parameters(function)
    arrays = _main_arrays(parameters, FORM_BY_SIGNATURE.get(stated))
    rest = [p for p in parameters if p.name not in arrays.values()]
    names = further_roles(rest, ())
    if stated == "q k v mask" and rest and "mask" not in names:
        names["mask"] = rest[0].name
    unnamed = [p for p in rest if _is_required(p) and p.name not in names.values() and not _role(p)]
    form = _array_form(arrays)
    told = any(re.search(ROTATION_NAME, p.name.lower()) for p in unnamed)
    if form == "qkv" and len(unnamed) == 1 and "mask" not in names and not told:
        names["mask"], unnamed = unnamed[0].name, []
    if unnamed:
        raise ArgumentError(_untold(unnamed[0].name))
    required = tuple(
        r for r, n in names.items() if any(p.name == n and _is_required(p) for p in rest)
    )
    return Roles(
        form,
        names,
        required,
        _leading(parameters, arrays, names),
        names.get("mask") in ADDED_MASK_NAMES,
    )


def _untold(name: str) -> str:
    return f"the function requires {name!r}, whose name does not say what it is"


def _main_arrays(parameters: list[inspect.Parameter], form: str | None) -> dict[str, str]:
    """The parameter of each main array, by name where names say it, else by position."""
    by_name: dict[str, str] = {}
    for parameter in parameters:
        role = main_role(parameter.name)
        if role and role not in by_name:
            by_name[role] = parameter.name
    for full_form in ("qkv", "xw"):
        roles = ARRAYS[full_form]
        if form in (None, full_form) and all(role in by_name for role in roles):
            return {role: by_name[role] for role in roles}
    form = form or _guess_form(parameters)
    chosen = [p for p in parameters if p.name not in ROLE_BY_NAME or main_role(p.name)]
    if form == "x" and "x" in by_name:
        return {"x": by_name["x"]}
    if len(chosen) < len(ARRAYS[form]):
        chosen = parameters
    if form == "x" and len([p for p in chosen if _is_required(p)]) > 1:
        raise ArgumentError(_untold(chosen[1].name))
    return {role: p.name for role, p in zip(ARRAYS[form], chosen, strict=False)}


def main_role(name: str) -> str:
    """The main array that a parameter's name stands for, or ''."""
    return next(
        (r for r, pattern in MAIN_PATTERNS.items() if re.fullmatch(pattern, name.lower())), ""
    )


def _array_form(arrays: dict[str, str]) -> str:
    return next(form for form, roles in ARRAYS.items() if tuple(arrays) == roles)


def further_roles(parameters: list[inspect.Parameter], taken: Collection[str]) -> dict[str, str]:
    """The parameter of each role besides the main arrays."""
    rest = [p for p in parameters if p.name not in taken]
    names = {_role(p): p.name for p in reversed(rest) if _role(p)}
    return dict(reversed(names.items()))


def _role(parameter: inspect.Parameter) -> str:
    """The role of a further parameter; a switch named like a number has none."""
    role = ROLE_BY_NAME.get(parameter.name.lower(), "")
    if isinstance(parameter.default, bool) and role not in BOOLEAN_ROLES:
        return "causal" if parameter.name == "causal_mask" else ""
    if role == "temperature" and not _is_required(parameter):
        return ""
    return role


def _leading(
    parameters: list[inspect.Parameter], arrays: dict[str, str], names: dict[str, str]
) -> tuple[str, ...]:
    """The roles of the parameters up to the last main array: these are passed by position."""
    roles = {name: role for role, name in (names | arrays).items()}
    leading: list[str] = []
    for parameter in parameters:
        if parameter.name not in roles or parameter.kind == parameter.KEYWORD_ONLY:
            break
        leading.append(roles[parameter.name])
    while leading and leading[-1] not in arrays and not _positional_only(parameters, leading):
        leading.pop()
    return tuple(leading)


def _positional_only(parameters: list[inspect.Parameter], leading: list[str]) -> bool:
    return parameters[len(leading) - 1].kind == inspect.Parameter.POSITIONAL_ONLY


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty


def _guess_form(parameters: list[inspect.Parameter]) -> str:
    names = [p.name.lower() for p in parameters]
    if len(names) >= 4 and all(name.startswith("w") for name in names[1:4]):
        return "xw"
    main = [p.name for p in parameters if _is_required(p) and p.name.lower() not in ROLE_BY_NAME]
    return "qkv" if len(main) >= 3 or (len(names) >= 3 and not main) else "x"


def function_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters, from the signature or, for compiled functions, from the docstring."""
    is_class = isinstance(function, type)
    target = function if is_class else getattr(function, "forward", function)
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    schema = operator_schema(function)
    if schema is not None:
        return [_parameter(x.name, x.has_default_value()) for x in schema.arguments]
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        match = re.search(r"\w+\((.*?)\)\s*->", inspect.getdoc(target) or "", re.DOTALL)
        named = re.findall(r"(\w+)\s*(=?)[^,]*", match[1]) if match else []
        parameters = [_parameter(name, bool(default)) for name, default in named]
    parameters = [p for p in parameters if p.kind not in kinds]
    if not parameters and is_class:  # a metaclass that makes the instance hides what it takes
        made = list(inspect.signature(target.__init__).parameters.values())[1:]
        parameters = [p for p in made if p.kind not in kinds]
    if not parameters and not is_class:
        parameters = [_parameter(name, False) for name in ("q", "k", "v")]
    return parameters


def operator_schema(function: Any) -> Any:
    """What PyTorch knows of the arguments of a custom operator; None for anything else."""
    overload = getattr(function, "_opoverload", None) or getattr(function, "default", function)
    return getattr(overload, "_schema", None)


def _parameter(name: str, has_default: bool) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=None if has_default else inspect.Parameter.empty)


CAUSAL_PATTERN = r"(?<!non-)(?<!not )(?<!non)(?<!non_)(causal|autoregressive)"
HIDES_PATTERN = (
    r"(true|ones?|1)s?\b[^.,;\n0]{0,30}?\b(hid|mask(ed)?\b(?! *=)|padd?ing|padded|ignor|block|"
    r"exclud|not allowed|disallow|may not|cannot|forbid|not attend)|"
    r"fill[^.\n]{0,60}where mask is (true|one)"
)
SHOWS_PATTERN = (
    r"(true|1)\b[^.\n]{0,30}?\b(may|can|visible|keep|kept|attend|allowed|real|valid|seen|look|"
    r"token)"
)
SCORES_NAME = r"score|logit|energy|^qk$|^sim"
HEADS_PATTERN = r"head|, ?h, ?|\bbhqk|\bbhtd|b ?h ?[a-z] ?d"


def source_text(function: Callable[..., Any]) -> str:
    """The source of a function or of the class of an object, '' where there is none."""
    target = inspect.unwrap(getattr(function, "func", function))
    if not (inspect.isfunction(target) or inspect.isclass(target) or inspect.ismethod(target)):
        target = type(target)
    if inspect.isclass(target) and target.__module__.startswith(("torch.", "builtins")):
        return ""
    try:
        return inspect.getsource(target)
    except (OSError, TypeError):
        return inspect.getdoc(target) or ""


def _prose(function: Callable[..., Any]) -> str:
    """The docstring and the comments of a function, in lower case."""
    source = source_text(function)
    quoted = re.findall(r'"""(.*?)"""', source, re.DOTALL)
    comments = re.findall(r"#(.*)", source)
    return " . ".join([*quoted, *comments]).lower()


def is_called_causal(function: Callable[..., Any]) -> bool:
    """Whether its name, its class, its docstring or a triangular buffer says that it is causal."""
    target = getattr(function, "func", function)
    names = [getattr(target, "__qualname__", ""), type(target).__name__]
    doc = (inspect.getdoc(target) or "").split("\n\n")[0]
    named = re.search(CAUSAL_PATTERN, " ".join([*names, doc]).lower())
    return bool(named) or any(_is_triangular(buffer) for buffer in _buffers(target))


def mask_shows(function: Callable[..., Any]) -> bool:
    """Whether the docstring or a comment says that True, or 1, in a mask lets a query look."""
    prose = _prose(function)
    return bool(re.search(SHOWS_PATTERN, prose)) and not re.search(HIDES_PATTERN, prose)


def returns_scores(function: Callable[..., Any]) -> bool:
    """Whether it returns something besides the output that its own name calls scores."""
    try:
        tree = ast.parse(textwrap.dedent(source_text(function)))
    except SyntaxError:
        return False
    returned = [n.value for n in ast.walk(tree) if isinstance(n, ast.Return)]
    further = [part for x in returned if isinstance(x, ast.Tuple) for part in x.elts[1:]]
    return any(re.search(SCORES_NAME, _variable(part).lower()) for part in further)


def _variable(part: ast.expr) -> str:
    """The variable of an expression like x or x.detach(); '' for any other."""
    while isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and not part.args:
        part = part.func.value
    return part.id if isinstance(part, ast.Name) else ""


def mentions_heads(function: Callable[..., Any]) -> bool:
    """Whether its source mentions heads."""
    return bool(re.search(HEADS_PATTERN, source_text(function).lower()))


def _buffers(target: Any) -> list[Any]:
    buffers = getattr(target, "named_buffers", None)
    return [buffer for _, buffer in buffers()] if callable(buffers) else []


def _is_triangular(buffer: Any) -> bool:
    """Whether a buffer (..., t, t) has one number above its diagonal and another below."""
    if buffer.ndim < 2 or buffer.shape[-1] != buffer.shape[-2] or buffer.shape[-1] < 2:
        return False
    matrix = buffer.reshape(-1, *buffer.shape[-2:])[0]
    above, below = matrix.triu(1), matrix.tril(-1)
    return bool((above == 0).all()) != bool((below == 0).all())
