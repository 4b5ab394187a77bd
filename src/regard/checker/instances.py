"""Instances of classes under test, made with sizes that the names of their parameters ask for."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from typing import Any

from regard.checker.signatures import NAMES
from regard.errors import ArgumentError

LENGTH = 64
CONFIGS = ("config", "cfg", "args", "params", "hparams", "model_args", "conf", "c")
METHODS = ("forward", "__call__", "call", "attend", "attention", "self_attention",
           "compute_attention", "scaled_dot_product_attention", "compute")  # fmt: skip
KEY_HEADS = r"(n|num)_?(kv|key_value|query)_?(heads?|groups)|kv_heads|multi_query_group_num"


@dataclass(frozen=True)
class SizesOfClass:
    """Width of the model, heads, heads of key, width of a head."""

    width: int = 12
    heads: int = 3
    key_heads: int = 3
    head_width: int = 4


GROUPED = SizesOfClass(24, 6, 3, 4)


class SizedConfig:
    """A config whose entries are the sizes that their names ask for, by attribute or by key."""

    def __init__(self, sizes: SizesOfClass, names: set[str]) -> None:
        self._sizes, self._names = sizes, names

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_sizes":
            raise AttributeError(name)
        value = _value_of(name, self._sizes)
        if value is None:
            raise AttributeError(name)
        return value

    def __getitem__(self, name: str) -> Any:
        value = _value_of(name, self._sizes)
        if value is None:
            raise KeyError(name)
        return value

    def get(self, name: str, default: Any = None) -> Any:
        """The entry, or the default where its name says nothing."""
        value = _value_of(name, self._sizes)
        return default if value is None else value


def instance_of(kind: type[Any]) -> Any:
    """An instance of a class, made with small sizes; a PyTorch module is seeded and in eval mode.

    Raises an ArgumentError that says which parameter has no known meaning.
    """
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(0)
    try:
        made = kind(**_arguments(kind))
    except ArgumentError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"an instance of {kind.__name__} could not be made ({type(error).__name__}: {error}): "
            f"put attention = {kind.__name__}(...) into the file and check that."
        ) from None
    if torch is not None and isinstance(made, torch.nn.Module):
        made.eval()
    return made


def method_of(instance: Any) -> Callable[..., Any]:
    """The method of an object that attends: forward, a call, or its only public one."""
    kind = type(instance)
    names = [name for name in METHODS if inspect.isfunction(getattr(kind, name, None))]
    public = [n for n, f in vars(kind).items() if inspect.isfunction(f) and not n.startswith("_")]
    names = names or public[:1]
    if not names:
        raise ArgumentError(
            f"{kind.__name__} has no method to call: name it forward or __call__, or check "
            "file.py:a_function."
        )
    method: Callable[..., Any] = getattr(instance, names[0])
    return method


def _arguments(kind: type[Any]) -> dict[str, Any]:
    """Arguments of the constructor, by the names of its parameters."""
    try:
        parameters = list(inspect.signature(kind).parameters.values())
    except (TypeError, ValueError):
        return {}
    varied = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = [p for p in parameters if p.kind not in varied]
    sizes = _sizes_for([p.name for p in parameters], inspect.getsource(kind) if _has(kind) else "")
    chosen: dict[str, Any] = {}
    for parameter in parameters:
        value = _argument(parameter, sizes)
        if value is not None:
            chosen[parameter.name] = value
        elif parameter.default is parameter.empty:
            raise ArgumentError(
                f"to make an instance of {kind.__name__} its {parameter.name!r} is needed, and the "
                f"name does not say what it is: give it a default, or put attention = "
                f"{kind.__name__}(...) into the file and check that."
            )
    return chosen


def _has(kind: type[Any]) -> bool:
    try:
        inspect.getsource(kind)
    except (OSError, TypeError):
        return False
    return True


def _sizes_for(names: list[str], source: str) -> SizesOfClass:
    """Sizes with grouped heads where the class has them, one head where it knows no heads."""
    text = " ".join(names) + " " + source
    if re.search(KEY_HEADS, text.lower()):
        return GROUPED
    heads = any(_is(name, "heads") for name in names) or any(x in names for x in CONFIGS)
    return SizesOfClass() if heads else SizesOfClass(12, 1, 1, 4)


def _argument(parameter: inspect.Parameter, sizes: SizesOfClass) -> Any:
    name = parameter.name.lower()
    if name in CONFIGS or is_dataclass(parameter.annotation):
        return _config(parameter.annotation, sizes)
    if name == "temperature":
        return float(sizes.head_width) ** 0.5
    optional = parameter.default is not parameter.empty
    if isinstance(parameter.default, bool):
        return True if name in ("batch_first", *NAMES["causal"].split()) else None
    if _is(name, "heads") and sizes.heads == 1:
        return 3
    value = _value_of(name, sizes)
    if optional and (name in ("device", "dtype") or isinstance(value, bool)):
        return None
    return value


def _config(annotation: Any, sizes: SizesOfClass) -> Any:
    """A config of the annotated dataclass where it has defaults, else one that knows its sizes."""
    if is_dataclass(annotation) and isinstance(annotation, type):
        try:
            made = annotation()
        except TypeError:
            pass
        else:
            for name in vars(made):
                value = _value_of(name, sizes)
                if value is not None and not isinstance(value, bool):
                    object.__setattr__(made, name, value)
            return made
    return SizedConfig(sizes, set())


def _is(name: str, role: str) -> bool:
    return name.lower() in NAMES[role].split()


def _value_of(name: str, sizes: SizesOfClass) -> Any:
    """The value that a name asks for; None where the name says nothing."""
    name = name.lower()
    if re.fullmatch(KEY_HEADS, name):
        return sizes.key_heads
    if (_is(name, "heads") and name != "h") or name in ("h", "num_attention_heads", "n_heads"):
        return sizes.heads
    if re.search(r"drop|^p$|^rate$", name):
        return 0.0
    if _is(name, "width") or name in ("attention_head_size", "d_v", "dv", "d_value", "qk_dim"):
        return sizes.head_width
    if re.fullmatch(r"(d|dim|size)?_?(out|output)(_?(dim|features|size|channels))?|d_v_out", name):
        return sizes.width if sizes.heads > 1 else sizes.head_width
    if re.search(r"block_size|context|max_|seq_?len|n_ctx|length|n_positions|^t$|window", name):
        return LENGTH
    if re.search(r"rope_theta|theta|^base$", name):
        return 10000.0
    if re.search(r"layer_(idx|id|index|number)|^layer$", name):
        return 0
    if re.search(r"init_range|std", name):
        return 0.5
    if re.search(r"eps", name):
        return 1e-5
    if re.search(r"bias|flash|debug|verbose|sliding", name):
        return False
    if name in ("device",):
        return "cpu"
    wide = r"(d|n|dim|num)?_?(model|embd?|embed(ding)?|hiddens?|in|input|key|query|value)?_?"
    if re.fullmatch(wide + r"(dim|dims|size|width|features|channels|d|e|c|model|embd|hiddens|in)?",
                    name) or _is(name, "model width") or name == "k":  # fmt: skip
        return sizes.width
    return None
