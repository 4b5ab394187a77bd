"""Names: what a parameter, an input or an attribute is called, where that says what it is for.

A name decides nothing alone: it is compared with what was found, and a finding from it says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

LETTERS = {"q": "query", "k": "key", "v": "value"}
PLURALS = {"q": "queries", "k": "keys", "v": "values"}
CONTEXTS = r"context|memory|enc|cond|^kv|source|^src$|cross|^key|^value"
TABLES = (
    r"(^|[._])(pos|rel|emb|embed\w*|position\w*|relative\w*|rel_\w+|table|\w*bias_table|\w*_emb\w*"
    r"|\w*pos\w*)([._]|$)"
)
NORMS = r"norm|ln|gamma"
OWN_NORM = r"q|k|latent|context|cross|compress|_a_|_c|mem"
WINDOWS = r"window|local|span|radius|band|^w$|^win|reach|lookback"
HEADS = r"^(n_?|num_?)?(attention_)?heads?$|^nhead$|^n_h$|^h$"
SCALES = r"^(softmax_|attn_)?(scale|scaling|norm_factor|inv_sqrt\w*|norm_fact)$"
WHOLE = r"(?<![a-z])(quer(?:y|ies)|keys?|val(?:ue)?s?)(?![a-z])"
SHORT = (
    r"(?<![a-z])(?:w|b|to|x|in|lin|proj|fc|attn|c|u|up|dense|linear|conv)?_?([qkv]{1,3})s?"
    r"(?:proj|lin|layer|net|fc|conv|norm|bias|b|a|down|up)?(?![a-z])"
)
ACTIVATIONS = ("ReLU", "GELU", "SiLU", "Tanh", "ELU", "LeakyReLU", "Mish", "Softplus", "Sigmoid")


def role_of(name: str) -> str:
    """The roles that a name speaks of, in its order; '' for none.

    >>> [role_of(x) for x in ("attn.q_proj.weight", "to_kv.weight", "qkv.bias", "norm.weight")]
    ['q', 'kv', 'qkv', '']
    """
    parts = [_snake(part) for part in name.split(".")]
    for at in range(len(parts) - 1, -1, -1):
        part = parts[at]
        if part in ("weight", "bias") or part.isdigit():
            continue
        whole = re.findall(WHOLE, part)
        if whole:
            return "".join(dict.fromkeys(x[0] for x in whole))
        short = re.findall(SHORT, part)
        if not short or len(set(short[0])) < len(short[0]):
            return ""
        letters = "".join(dict.fromkeys("".join(short)))
        place = next((int(x) for x in parts[:at:-1] if x.isdigit()), None)
        if place is not None and len(letters) > 1:  # a list of layers, one for each
            return letters[place : place + 1]
        return letters
    return ""


def _snake(part: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", part).lower()


def are_twins(one: str, other: str) -> bool:
    """Whether two parameters are of one kind: both weights, or both biases."""
    return one.rpartition(".")[2] == other.rpartition(".")[2] or "." not in one


def listed(roles: str) -> str:
    """Roles in words: 'queries and keys'."""
    return " and ".join(PLURALS[role] for role in roles)


def modules(target: Any) -> list[tuple[str, Any]]:
    """A module with all modules inside it, by name; none for a function."""
    return list(target.named_modules()) if hasattr(target, "named_modules") else []


def numbers(target: Any) -> Iterator[tuple[Any, str, Any]]:
    """The modules inside a module with their own attributes that are numbers, but for booleans."""
    for _, module in modules(target):
        for name, value in vars(module).items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield module, name, value


def windows(target: Any) -> list[tuple[str, int]]:
    """The attributes that say how wide a window is."""
    made = [(name, x) for _, name, x in numbers(target) if isinstance(x, int) and x > 0]
    return [(name, x) for name, x in made if re.search(WINDOWS, name.lower())]


def says_causal(target: Any) -> bool:
    """Whether a flag, or the name of a class, says that later words are hidden."""
    flags = [getattr(m, n, None) for _, m in modules(target) for n in ("causal", "is_causal")]
    name = str(getattr(target, "__name__", type(target).__name__)).lower()
    return True in flags or ("causal" in name and False not in flags)


def has_wide_convolution(target: Any) -> bool:
    """Whether a convolution reaches beyond one word."""
    return any(
        max(getattr(m, "kernel_size", None) or (1,)) > 1
        for _, m in modules(target)
        if "Conv" in type(m).__name__
    )


def has_norm_over_words(target: Any) -> bool:
    """Whether a norm takes its mean over several words."""
    kinds = ("GroupNorm", "InstanceNorm1d", "InstanceNorm2d")
    return any(type(module).__name__ in kinds for _, module in modules(target))


def documentation(target: Any) -> str:
    """The docstrings of a layer and of its class and call, in lower case."""
    texts = [getattr(x, "__doc__", "") for x in (type(target), getattr(target, "forward", None))]
    code = getattr(target, "__code__", None)
    if code is not None:  # with the functions beside it that it calls
        known = target.__globals__
        beside = [known[x] for x in code.co_names if hasattr(known.get(x), "__code__")]
        texts = [y for x in (target, *beside) for y in (x.__doc__, x.__name__)]
    return " ".join(x for x in texts if isinstance(x, str)).lower()
