"""Preparation of a function: its roles, layouts, libraries, dtypes and claimed features.

``prepare`` makes an instance of a class and a plain function of a module, reads what names and
comments say, and lists the calling conventions to try, the likeliest first.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, is_dataclass, replace
from itertools import product
from typing import Any

from regard.checker.adapters import (
    BlockInside,
    as_self_attention,
    has_norms,
    is_module,
    padded_form,
)
from regard.checker.cases import Probe
from regard.checker.conventions import (
    AXES,
    DTYPES,
    LAYOUTS,
    MASK_FORMS,
    CallingConvention,
    mask_shapes,
)
from regard.checker.projections import Projections, is_multihead, read_projections
from regard.checker.signatures import (
    ROLE_NAMES,
    Roles,
    is_called_causal,
    mask_hides,
    mentions_heads,
    mentions_rotary,
    read_roles,
    source_text,
)
from regard.errors import ArgumentError

CLAIM_MEANINGS = {
    "causal": "it always hides later words, without being asked",
    "last queries": "with fewer queries than keys, and no offset, the queries are the last words",
    "mask hides": "True in a mask hides",
    "added mask": "a float mask is added to the scores",
    "grouped heads": "there may be fewer key heads than query heads",
}
OPTIONAL_FEATURES = ("mask", "causal", "offset", "lengths", "softcap", "scale", "window", "cache",
                     "empty rows", "large scores", "grouped heads")  # fmt: skip
# A function with a parameter for one of these has to answer a probe about it.
REQUIRED_FEATURES = ("mask", "causal", "lengths", "softcap", "scale")
LIBRARY_NAMES = {"numpy": "NumPy", "torch": "PyTorch", "jax": "JAX"}
MAIN_ARGUMENTS = {"qkv": "q, k, v", "xw": "x, w_q, w_k, w_v", "x": "x"}
# How an instance of a class under test is made, from the names of its parameters.
MAX_TOKENS = 64
HEAD_WIDTH_NAMES = ("attention_head_size", "d_v", "dv", "d_value", "qk_dim")
OUTPUT_WIDTH_PATTERN = r"(d|dim|size)?_?(out|output)(_?(dim|features|size|channels))?|d_v_out"
WIDTH_PATTERN = (
    r"(d|n|dim|num)?_?(model|embd?|embed(ding)?|hiddens?|in|input|key|query|value)?_?"
    r"(dim|dims|size|width|features|channels|d|e|c|model|embd|hiddens|in)?"
)
# Values of further parameters by what is found in their names, in this order.
VALUE_BY_PATTERN: tuple[tuple[str, Any], ...] = (
    (r"drop|^p$|^rate$", 0.0),
    (r"block_size|context|max_|seq_?len|n_ctx|length|n_positions|^t$|window", MAX_TOKENS),
    (r"rope_theta|theta|^base$", 10000.0),
    (r"layer_(idx|id|index|number)|^layer$", 0),
    (r"init_range|std", 0.5),
    (r"eps", 1e-5),
    (r"bias|flash|debug|verbose|sliding", False),
    (r"^device$", "cpu"),
)
CONFIG_NAMES = ("config", "cfg", "args", "params", "hparams", "model_args", "conf", "c")
METHOD_NAMES = ("forward", "__call__", "call", "attend", "attention", "self_attention",
           "compute_attention", "scaled_dot_product_attention", "compute")  # fmt: skip
KEY_HEADS_PATTERN = r"(n|num)_?(kv|key_value|query)_?(heads?|groups)|kv_heads|multi_query_group_num"


@dataclass(frozen=True)
class Features:
    """What the author claims about a function; 'no ...' leaves a probe out."""

    claims: frozenset[str] = frozenset()

    def covers(self, probe: Probe, convention: CallingConvention) -> bool:
        """Whether the probe applies to a function with this convention."""
        if f"no {probe.name}" in self.claims:
            return False
        return all(self.has(need, convention) for need in probe.needs)

    def has(self, need: str, convention: CallingConvention) -> bool:
        """Whether a function with this convention can be asked about a feature."""
        roles = convention.roles
        if f"no {need}" in self.claims:
            return False
        if need == "lengths":
            return roles.has("lengths") or roles.has("padding")
        if need == "added":
            return convention.mask_form == "added" or "added mask" in self.claims
        if need == "grouped heads":
            return roles.has("grouped") or "grouped heads" in self.claims
        if need == "cache":
            return roles.cached and roles.form == "qkv"
        return need == "empty rows" or roles.has(need)

    def required(self, convention: CallingConvention) -> frozenset[str]:
        return frozenset(feature for feature in REQUIRED_FEATURES if self.has(feature, convention))

    def variants(self, convention: CallingConvention) -> Iterator[CallingConvention]:
        """The convention with every meaning of masks and padding, the usual ones first."""
        masks = list(product(*self._masks(convention)))
        pads = ("hides", "bool", "ones", "added") if convention.roles.has("padding") else ("hides",)
        for (form, shape), pad in product(masks, pads):
            yield replace(convention, mask_form=form, mask_shape=shape, pad_form=pad)

    def orders(self, convention: CallingConvention) -> Iterator[CallingConvention]:
        """The convention with every meaning of the order of words, the usual one first."""
        for always, last in self._orders(convention):
            yield replace(convention, always_causal=always, queries_last=last)

    def _masks(self, convention: CallingConvention) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if not convention.roles.has("mask"):
            return ("bool",), ("full",)
        forms: tuple[str, ...] = ("bool", "added", "ones")
        if "mask hides" in self.claims:
            forms = ("hides", "ones hide")
        if convention.roles.added:
            forms = ("added",)
        return forms, mask_shapes(convention.batched, convention.headed)

    def _orders(self, convention: CallingConvention) -> list[tuple[bool, bool]]:
        """Pairs of always_causal and queries_last."""
        lasts = (True,) if "last queries" in self.claims else (False, True)
        always = [(True, last) for last in lasts]
        if "causal" in self.claims:
            return always
        if not convention.roles.has("causal"):
            return [(False, False), *always]
        if convention.roles.has("offset"):
            return [(False, False)]
        return [(False, last) for last in lasts]


def read_features(features: str | Iterable[str]) -> Features:
    """The claimed features, validated."""
    if features == "auto":
        return Features()
    words = [features] if isinstance(features, str) else list(features)
    claims = [*CLAIM_MEANINGS, *(f"no {name}" for name in OPTIONAL_FEATURES)]
    for word in words:
        if word not in claims:
            raise ArgumentError(f"features must be among {', '.join(claims)}, got {word!r}.")
    return Features(frozenset(words))


@dataclass(frozen=True)
class PreparedFunction:
    """A function with everything that its calling conventions are made from.

    ``readings`` are the ways to read its matrices; ``claims`` are those that it makes itself.
    """

    function: Any
    roles: Roles
    layouts: tuple[str, ...]
    libraries: tuple[str, ...]
    dtypes: tuple[str, ...]
    readings: tuple[Projections | None, ...] = (None,)
    claims: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    head_width: int = 0

    def groups(self) -> Iterator[list[CallingConvention]]:
        """Calling conventions of one library and dtype, a list for each.

        Matrices that are not square tell more apart; square ones serve code that gives its output
        the shape of x.
        """
        squares = (False, True) if self.roles.form == "xw" else (False,)
        for library, dtype, square in product(self.libraries, self.dtypes, squares):
            yield [
                CallingConvention(
                    self.roles, layout, library, dtype, projections=reading, position=position,
                    transposed_weights=transposed, head_width=self.head_width,
                    square_weights=square,
                )
                for reading, position, transposed in product(
                    self.readings, self._positions(), self._weight_orders()
                )
                for layout in self.layouts
            ]  # fmt: skip

    def merge_claims(self, features: Features) -> Features:
        return Features(features.claims | self.claims)

    def _positions(self) -> tuple[str, ...]:
        if self.roles.has("slopes"):
            return ("", "distance")
        if self.roles.has("cos"):
            return ("rotary, halves", "rotary, pairs", "no rotation")
        if self.roles.form != "qkv" and "mentions rotary" in self.claims:
            return ("", "rotary, halves", "rotary, pairs")
        return ("",)

    def _weight_orders(self) -> tuple[bool, ...]:
        return (False, True) if self.roles.form == "xw" else (False,)


def prepare(function: Callable[..., Any], signature: str, dtype: str) -> PreparedFunction:
    """The function with its roles, layouts, libraries and dtypes, the likeliest first."""
    notes: tuple[str, ...] = ()
    made = isinstance(function, type)
    if isinstance(function, type):
        kind = function
        function = make_instance(kind)
        notes = (f"An instance of {kind.__name__} was made for the check.",)
    original = function
    if not is_module(function) and (made or not callable(function)):
        function = attention_method(function)
    function = padded_form(function)
    roles = read_roles(function, signature)
    libraries = tuple(library_order(function))
    # NumPy has no bfloat16: a function of its arrays alone is not offered any.
    tried = DTYPES if libraries != ("numpy",) else DTYPES[:-1]
    dtypes = tried if dtype == "auto" else (dtype,)
    prepared = PreparedFunction(function, roles, (), libraries, dtypes, notes=notes)
    if is_module(function):
        prepared = _prepare_module(prepared, made)
    elif _is_object(original) and roles.form == "x":
        prepared = replace(prepared, readings=tuple(_readings(original)))
    layouts = LAYOUTS[prepared.roles.form]
    if prepared.roles.form == "qkv" and prepared.roles.has("heads"):
        layouts = ("bte",)
    return replace(
        prepared,
        layouts=_stated_layouts(signature, layouts),
        claims=prepared.claims | _hinted_claims(prepared, original),
    )


def _is_object(original: Any) -> bool:
    return (
        hasattr(original, "__dict__")
        and not hasattr(original, "__code__")
        and any(hasattr(value, "ndim") for value in vars(original).values())
    )


def _readings(original: Any) -> list[Projections | None]:
    try:
        return list(read_projections(original))
    except ArgumentError:
        return [None]


def _hinted_claims(prepared: PreparedFunction, original: Any) -> frozenset[str]:
    """The claims that names, docstrings, comments and buffers make."""
    claims = set()
    roles = prepared.roles
    if not (roles.has("causal") or roles.has("mask")) and is_called_causal(original):
        claims.add("causal")
    if roles.has("mask") and not roles.added and mask_hides(original):
        claims.add("mask hides")
    if mentions_rotary(original):
        claims.add("mentions rotary")
    if mentions_heads(prepared.function):
        claims.add("mentions heads")
    return frozenset(claims)


def describe(convention: CallingConvention, name: str = "it") -> str:
    """A calling convention in words.

    >>> describe(CallingConvention(Roles("qkv"), "td"), "attention")
    'attention(q, k, v) with NumPy float64 arrays (token, feature)'
    """
    extra = "".join(f", {x}" for x in convention.roles.names.values())
    axes = AXES[convention.layout]
    library = LIBRARY_NAMES[convention.library]
    call = f"{name}({MAIN_ARGUMENTS[convention.roles.form]}{extra})"
    text = f"{call} with {library} {convention.dtype} arrays {axes}"
    if convention.roles.has("mask"):
        text += f"; mask: {MASK_FORMS[convention.mask_form]}"
    if convention.roles.has("padding"):
        name = convention.roles.names["padding"]
        text += f"; {name}: {MASK_FORMS[convention.pad_form]}"
    return text


def _prepare_module(prepared: PreparedFunction, made: bool) -> PreparedFunction:
    """A module with its own matrices for w_q, w_k and w_v, and its own dtype."""
    module: Any = prepared.function
    dtypes = [str(p.dtype).replace("torch.", "") for p in module.parameters()]
    prepared = replace(
        prepared, libraries=("torch",), dtypes=(dtypes[0],) if dtypes else prepared.dtypes
    )
    if not dtypes:
        return replace(prepared, head_width=4) if made else prepared
    if is_multihead(module):
        # Its own convention; and what it gives a row that may see nothing is its known NaN.
        claims = frozenset({"mask hides", "no empty rows"})
        function = as_self_attention(module)
        prepared = replace(prepared, function=function, roles=read_roles(function), claims=claims)
    elif prepared.roles.form == "qkv":
        roles = prepared.roles
        required = tuple(r for r in roles.required if r != "mask")
        leading = ("x", *(r for r in roles.leading if r not in ("query", "key", "value")))
        new = replace(roles, form="x", leading=leading, required=required)
        prepared = replace(prepared, function=_as_function_of_x(module, roles), roles=new)
    readings: tuple[Projections | None, ...] = tuple(read_projections(module))
    inside = BlockInside(module, prepared.function)
    if has_norms(module) and not inside.usable:
        raise ArgumentError(
            f"{type(module).__name__} has a norm around its attention, whose layers cannot be "
            "read from outside: check the attention module inside it."
        )
    if has_norms(module):
        note = "Only the attention inside is checked, not the norms and layers around it."
        readings = tuple(replace(r, output=None, entry=inside.entry) for r in readings if r)
        prepared = replace(prepared, function=inside.attention, notes=(*prepared.notes, note))
    return replace(prepared, readings=readings)


def _as_function_of_x(module: Any, roles: Roles) -> Callable[..., Any]:
    needs_mask = "mask" in roles.required

    def attention(x: Any, **options: Any) -> Any:
        if needs_mask:
            options.setdefault(roles.names["mask"], None)
        return module(x, x, x, **options)

    return attention


def _stated_layouts(signature: str, layouts: tuple[str, ...]) -> tuple[str, ...]:
    _, _, axes = signature.partition(" as ")
    axes = axes.replace(" ", "").replace(",", "")
    if axes and axes not in AXES:
        raise ArgumentError(f"the axes after 'as' must be one of {', '.join(AXES)}, got {axes!r}.")
    return (axes,) if axes else layouts


# Libraries: which arrays a function is tried with.


def library_order(function: Callable[..., Any]) -> list[str]:
    """The libraries to try: the one that the function's own file uses comes first."""
    target = getattr(function, "func", function)
    names = getattr(target, "__globals__", None)
    if names is None:
        module = sys.modules.get(type(target).__module__ if is_module(target) else "")
        names = vars(module) if module else {}
    used = {
        getattr(value, "__name__", "").split(".")[0]
        for value in names.values()
        if type(value).__name__ == "module"
    }
    home = str(getattr(target, "__module__", "") or type(target).__module__).split(".")[0]
    first = [x for x in ("torch", "jax") if x in used or x == home or _belongs_to(target, x)]
    installed = [x for x in ("torch", "jax") if x in first or _is_loaded(x)]
    if is_module(target):
        return ["torch"]
    order = [*first, "numpy", *installed] if first and "numpy" not in used else ["numpy", *first]
    return list(dict.fromkeys([*order, *installed]))


def _belongs_to(target: Any, library: str) -> bool:
    return library in str(getattr(target, "__self__", "")) or (
        library == "torch" and is_module(target)
    )


def _is_loaded(library: str) -> bool:
    return library in sys.modules and importlib.util.find_spec(library) is not None


# Instances: a class under test is made with the sizes that its parameter names ask for.


@dataclass(frozen=True)
class ClassSizes:
    """Width of the model, heads, heads of key, width of a head."""

    width: int = 12
    heads: int = 3
    key_heads: int = 3
    head_width: int = 4


GROUPED_SIZES = ClassSizes(24, 6, 3, 4)


class SizedConfig:
    """A config whose entries are the sizes that their names ask for, by attribute or by key."""

    def __init__(self, sizes: ClassSizes) -> None:
        self._sizes = sizes

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_sizes":
            raise AttributeError(name)
        value = _size_named(name, self._sizes)
        if value is None:
            raise AttributeError(name)
        return value

    def __getitem__(self, name: str) -> Any:
        value = _size_named(name, self._sizes)
        if value is None:
            raise KeyError(name)
        return value

    def get(self, name: str, default: Any = None) -> Any:
        value = _size_named(name, self._sizes)
        return default if value is None else value


def make_instance(kind: type[Any]) -> Any:
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
            f"making an instance of {kind.__name__} failed ({type(error).__name__}: {error}): put "
            f"attention = {kind.__name__}(...) into the file and check that."
        ) from None
    if torch is not None and isinstance(made, torch.nn.Module):
        made.eval()
    return made


def attention_method(instance: Any) -> Callable[..., Any]:
    """The method of an object that attends: forward, a call, or its only public one."""
    kind = type(instance)
    names = [name for name in METHOD_NAMES if inspect.isfunction(getattr(kind, name, None))]
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
    try:
        parameters = list(inspect.signature(kind).parameters.values())
    except (TypeError, ValueError):
        return {}
    varied = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = [p for p in parameters if p.kind not in varied]
    sizes = _class_sizes([p.name for p in parameters], source_text(kind))
    chosen: dict[str, Any] = {}
    for parameter in parameters:
        value = _argument(parameter, sizes)
        if value is not None:
            chosen[parameter.name] = value
        elif parameter.default is parameter.empty:
            raise ArgumentError(
                f"an instance of {kind.__name__} requires {parameter.name!r}, whose name does not "
                f"say what it is: give it a default, or put attention = {kind.__name__}(...) into "
                "the file and check that."
            )
    return chosen


def _class_sizes(names: list[str], source: str) -> ClassSizes:
    """Sizes with grouped heads where the class has them, one head where it knows no heads."""
    text = " ".join(names) + " " + source
    if re.search(KEY_HEADS_PATTERN, text.lower()):
        return GROUPED_SIZES
    heads = any(_has_role(name, "heads") for name in names) or any(x in names for x in CONFIG_NAMES)
    return ClassSizes() if heads else ClassSizes(12, 1, 1, 4)


def _argument(parameter: inspect.Parameter, sizes: ClassSizes) -> Any:
    name = parameter.name.lower()
    if name in CONFIG_NAMES or is_dataclass(parameter.annotation):
        return _config(parameter.annotation, sizes)
    if name == "temperature":
        return float(sizes.head_width) ** 0.5
    optional = parameter.default is not parameter.empty
    if isinstance(parameter.default, bool):
        return True if name in ("batch_first", *ROLE_NAMES["causal"].split()) else None
    if _has_role(name, "heads") and sizes.heads == 1:
        return 3
    value = _size_named(name, sizes)
    if optional and (name in ("device", "dtype") or isinstance(value, bool)):
        return None
    return value


def _config(annotation: Any, sizes: ClassSizes) -> Any:
    """A config of the annotated dataclass where it has defaults, else one that knows its sizes."""
    if is_dataclass(annotation) and isinstance(annotation, type):
        try:
            made = annotation()
        except TypeError:
            pass
        else:
            for name in vars(made):
                value = _size_named(name, sizes)
                if value is not None and not isinstance(value, bool):
                    object.__setattr__(made, name, value)
            return made
    return SizedConfig(sizes)


def _has_role(name: str, role: str) -> bool:
    return name.lower() in ROLE_NAMES[role].split()


def _size_named(name: str, sizes: ClassSizes) -> Any:
    """The value that a parameter name asks for; None where the name says nothing."""
    name = name.lower()
    if re.fullmatch(KEY_HEADS_PATTERN, name):
        return sizes.key_heads
    if _has_role(name, "heads"):
        return sizes.heads
    if _has_role(name, "width") or name in HEAD_WIDTH_NAMES:
        return sizes.head_width
    if re.fullmatch(OUTPUT_WIDTH_PATTERN, name):
        return sizes.width if sizes.heads > 1 else sizes.head_width
    for pattern, value in VALUE_BY_PATTERN:
        if re.search(pattern, name):
            return value
    if re.fullmatch(WIDTH_PATTERN, name) or _has_role(name, "model width") or name == "k":
        return sizes.width
    return None
