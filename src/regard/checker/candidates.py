"""Candidate calling conventions of a function, the likeliest first, and its claimed features."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from regard.checker.cases import Probe
from regard.checker.convention import AXES, LAYOUTS, CallingConvention
from regard.checker.frameworks import library_order
from regard.checker.signatures import Roles, read_roles
from regard.checker.torch_modules import (
    Parameters,
    as_self_attention,
    is_module,
    is_multihead,
    read_parameters,
)
from regard.errors import ArgumentError

CLAIMS = {
    "causal": "it always hides later words, without being asked",
    "last queries": "with fewer queries than keys, and no offset, the queries are the last words",
    "mask hides": "True in a mask hides",
    "added mask": "a float mask is added to the scores",
    "grouped heads": "there may be fewer key heads than query heads",
}


OPTIONAL_FEATURES = ("mask", "causal", "offset", "lengths", "softcap", "scale", "window",
                     "empty rows", "large scores", "grouped heads")  # fmt: skip


@dataclass(frozen=True)
class Features:
    """Features that the author claims; 'no ...' leaves a probe out."""

    claims: frozenset[str] = frozenset()

    def covers(self, probe: Probe, convention: CallingConvention) -> bool:
        """Whether the probe applies to a function with this convention."""
        if f"no {probe.name}" in self.claims:
            return False
        return all(self._has(need, convention) for need in probe.needs)

    def _has(self, need: str, convention: CallingConvention) -> bool:
        if f"no {need}" in self.claims:
            return False
        if need == "lengths":
            return convention.batched and (
                convention.roles.has("lengths") or convention.roles.has("padding")
            )
        if need == "added":
            return convention.mask_form == "added" or "added mask" in self.claims
        if need == "grouped heads":
            return convention.roles.has("grouped") or "grouped heads" in self.claims
        return need == "empty rows" or convention.roles.has(need)

    def variants(self, convention: CallingConvention) -> Iterator[CallingConvention]:
        """The convention with every meaning of masks, padding and order, the usual ones first."""
        masks = list(product(*self._masks(convention)))
        pads = ("hides", "bool") if convention.roles.has("padding") else ("hides",)
        for always, last in self._orders(convention):
            for (form, shape), pad in product(masks, pads):
                yield replace(
                    convention,
                    mask_form=form,
                    mask_shape=shape,
                    pad_form=pad,
                    always=always,
                    last=last,
                )

    def _masks(self, convention: CallingConvention) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if not convention.roles.has("mask"):
            return ("bool",), ("full",)
        forms = ("hides",) if "mask hides" in self.claims else ("bool", "added", "ones")
        if not convention.batched:
            return forms, ("full",) if not convention.headed else ("full", "qk")
        return forms, ("full", "qk", "b1qk", "bqk") if convention.headed else ("full", "qk")

    def _orders(self, convention: CallingConvention) -> list[tuple[bool, bool]]:
        lasts = (True,) if "last queries" in self.claims else (False, True)
        if "causal" in self.claims:
            return [(True, last) for last in lasts]
        if convention.roles.has("causal"):
            return [
                (False, last)
                for last in (lasts if not convention.roles.has("offset") else (False,))
            ]
        return [(False, False), *((True, last) for last in lasts)]


def read_features(features: str | Iterable[str]) -> Features:
    """The claimed features, validated."""
    if features == "auto":
        return Features()
    words = [features] if isinstance(features, str) else list(features)
    claims = [*CLAIMS, *(f"no {name}" for name in OPTIONAL_FEATURES)]
    for word in words:
        if word not in claims:
            raise ArgumentError(f"features needs words of {', '.join(claims)}, but has {word!r}.")
    return Features(frozenset(words))


LIBRARY_NAMES = {"numpy": "NumPy", "torch": "PyTorch", "jax": "JAX"}
FIRST = {"qkv": "q, k, v", "xw": "x, w_q, w_k, w_v", "x": "x"}


@dataclass(frozen=True)
class PreparedFunction:
    """A function with everything that its calling conventions are made from."""

    function: Callable[..., Any]
    roles: Roles
    layouts: tuple[str, ...]
    libraries: tuple[str, ...]
    dtypes: tuple[str, ...]
    parameters: Parameters | None = None
    claims: frozenset[str] = frozenset()

    def groups(self) -> Iterator[list[CallingConvention]]:
        """Calling conventions that differ in their axes only, one list a library and dtype."""
        for library in self.libraries:
            for dtype in self.dtypes:
                yield [
                    CallingConvention(
                        self.roles, layout, library, dtype, parameters=self.parameters
                    )
                    for layout in self.layouts
                ]


def prepare(function: Callable[..., Any], signature: str, dtype: str) -> PreparedFunction:
    """The function with its roles, layouts, libraries and dtypes, the likeliest first."""
    roles = read_roles(function, signature)
    dtypes = ("float64", "float32", "float16", "bfloat16") if dtype == "auto" else (dtype,)
    prepared = PreparedFunction(function, roles, (), tuple(library_order(function)), dtypes)
    if is_module(function):
        prepared = _for_module(prepared)
    layouts = LAYOUTS[prepared.roles.form]
    if prepared.roles.form == "qkv" and prepared.roles.has("heads"):
        layouts = ("bte",)
    return replace(prepared, layouts=_stated(signature, layouts))


def describe(convention: CallingConvention, name: str = "it") -> str:
    """A calling convention in words.

    >>> describe(CallingConvention(Roles("qkv"), "td"), "attention")
    'attention(q, k, v) with NumPy float64 arrays (token, feature)'
    """
    extra = "".join(f", {x}" for x in convention.roles.names.values())
    axes = AXES[convention.layout]
    library = LIBRARY_NAMES[convention.library]
    call = f"{name}({FIRST[convention.roles.form]}{extra})"
    text = f"{call} with {library} {convention.dtype} arrays {axes}"
    if convention.roles.has("mask"):
        forms = {"bool": "True may look", "hides": "True hides", "added": "0 and -inf, added",
                 "ones": "1 may look, 0 may not"}  # fmt: skip
        text += f"; mask: {forms[convention.mask_form]}"
    return text


def _for_module(prepared: PreparedFunction) -> PreparedFunction:
    """A module with its own parameters for w_q, w_k and w_v, and its own dtype."""
    module: Any = prepared.function
    dtypes = [str(p.dtype).replace("torch.", "") for p in module.parameters()]
    prepared = replace(
        prepared, libraries=("torch",), dtypes=(dtypes[0],) if dtypes else prepared.dtypes
    )
    if is_multihead(module):
        # Its own convention; and what it gives a row that may see nothing is its known NaN.
        claims = frozenset({"mask hides", "no empty rows"})
        function = as_self_attention(module)
        prepared = replace(prepared, function=function, roles=read_roles(function), claims=claims)
    elif dtypes and prepared.roles.form == "qkv":
        function = _same_three(module)
        prepared = replace(prepared, function=function, roles=replace(prepared.roles, form="x"))
    return replace(prepared, parameters=read_parameters(module)) if dtypes else prepared


def _same_three(module: Any) -> Callable[..., Any]:
    return lambda x, **options: module(x, x, x, **options)


def _stated(signature: str, layouts: tuple[str, ...]) -> tuple[str, ...]:
    _, _, axes = signature.partition(" as ")
    axes = axes.replace(" ", "").replace(",", "")
    if axes and axes not in AXES:
        raise ArgumentError(f"the axes after 'as' need to be of {', '.join(AXES)}, not {axes!r}.")
    return (axes,) if axes else layouts


def merged(features: Features, prepared: PreparedFunction) -> Features:
    """The claims of the author together with those of the module."""
    return Features(features.claims | prepared.claims)
