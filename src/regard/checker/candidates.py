"""Candidate calling conventions of a function, the likeliest first, and its claimed features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from regard.checker.cases import Probe
from regard.checker.convention import AXES, LAYOUTS, CallingConvention
from regard.checker.frameworks import DTYPES, library_order
from regard.checker.hints import is_called_causal, mask_hides, mentions_rotary
from regard.checker.instances import instance_of, method_of
from regard.checker.mask_forms import FORMS, shapes_for
from regard.checker.packed_calls import padded_form
from regard.checker.projections import Projections, read_projections
from regard.checker.signatures import Roles, read_roles
from regard.checker.torch_modules import (
    BlockInside,
    as_self_attention,
    has_norms,
    is_module,
    is_multihead,
)
from regard.errors import ArgumentError

CLAIMS = {
    "causal": "it always hides later words, without being asked",
    "last queries": "with fewer queries than keys, and no offset, the queries are the last words",
    "mask hides": "True in a mask hides",
    "added mask": "a float mask is added to the scores",
    "grouped heads": "there may be fewer key heads than query heads",
}


OPTIONAL_FEATURES = ("mask", "causal", "offset", "lengths", "softcap", "scale", "window", "cache",
                     "empty rows", "large scores", "grouped heads")  # fmt: skip
# Where a parameter says that it can be asked about, an answer is needed.
NEEDED = ("mask", "causal", "lengths", "softcap", "scale")


@dataclass(frozen=True)
class Features:
    """Features that the author claims; 'no ...' leaves a probe out."""

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

    def needed(self, convention: CallingConvention) -> frozenset[str]:
        """The features that a function with this convention has to give an answer to."""
        return frozenset(feature for feature in NEEDED if self.has(feature, convention))

    def variants(self, convention: CallingConvention) -> Iterator[CallingConvention]:
        """The convention with every meaning of masks and padding, the usual ones first."""
        masks = list(product(*self._masks(convention)))
        pads = ("hides", "bool", "ones", "added") if convention.roles.has("padding") else ("hides",)
        for (form, shape), pad in product(masks, pads):
            yield replace(convention, mask_form=form, mask_shape=shape, pad_form=pad)

    def orders(self, convention: CallingConvention) -> Iterator[CallingConvention]:
        """The convention with every meaning of the order of words, the usual one first."""
        for always, last in self._orders(convention):
            yield replace(convention, always=always, last=last)

    def _masks(self, convention: CallingConvention) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if not convention.roles.has("mask"):
            return ("bool",), ("full",)
        forms: tuple[str, ...] = ("bool", "added", "ones")
        if "mask hides" in self.claims:
            forms = ("hides", "ones hide")
        if convention.roles.added:
            forms = ("added",)
        return forms, shapes_for(convention.batched, convention.headed)

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
    """A function with everything that its calling conventions are made from.

    ``original`` is what was handed in, for hints; ``readings`` are the ways to read its matrices.
    """

    function: Callable[..., Any]
    original: Callable[..., Any]
    roles: Roles
    layouts: tuple[str, ...]
    libraries: tuple[str, ...]
    dtypes: tuple[str, ...]
    readings: tuple[Projections | None, ...] = (None,)
    claims: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    width: int = 0

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
                    turned=turned, width=self.width, square=square,
                )
                for reading, position, turned in product(
                    self.readings, self._positions(), self._orders_of_weights()
                )
                for layout in self.layouts
            ]  # fmt: skip

    def _positions(self) -> tuple[str, ...]:
        if self.roles.has("slopes"):
            return ("", "distance")
        if self.roles.has("cos"):
            return ("rotary, halves", "rotary, pairs", "no rotation")
        if self.roles.form != "qkv" and mentions_rotary(self.original):
            return ("", "rotary, halves", "rotary, pairs")
        return ("",)

    def _orders_of_weights(self) -> tuple[bool, ...]:
        return (False, True) if self.roles.form == "xw" else (False,)


def prepare(function: Callable[..., Any], signature: str, dtype: str) -> PreparedFunction:
    """The function with its roles, layouts, libraries and dtypes, the likeliest first."""
    notes: tuple[str, ...] = ()
    made = isinstance(function, type)
    if isinstance(function, type):
        kind = function
        function = instance_of(kind)
        notes = (f"An instance of {kind.__name__} was made for the check.",)
    original = function
    if not is_module(function) and (made or not callable(function)):
        function = method_of(function)
    function = padded_form(function)
    roles = read_roles(function, signature)
    libraries = tuple(library_order(function))
    # NumPy has no bfloat16: a function of its arrays alone is not offered any.
    tried = DTYPES if libraries != ("numpy",) else DTYPES[:-1]
    dtypes = tried if dtype == "auto" else (dtype,)
    prepared = PreparedFunction(function, original, roles, (), libraries, dtypes, notes=notes)
    if is_module(function):
        prepared = _for_module(prepared, made)
    elif _is_object(original) and roles.form == "x":
        prepared = replace(prepared, readings=tuple(_readings(original)))
    layouts = LAYOUTS[prepared.roles.form]
    if prepared.roles.form == "qkv" and prepared.roles.has("heads"):
        layouts = ("bte",)
    return replace(
        prepared, layouts=_stated(signature, layouts), claims=prepared.claims | _hinted(prepared)
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


def _hinted(prepared: PreparedFunction) -> frozenset[str]:
    """Claims that names, docstrings and buffers make."""
    claims = set()
    roles = prepared.roles
    if not (roles.has("causal") or roles.has("mask")) and is_called_causal(prepared.original):
        claims.add("causal")
    if roles.has("mask") and not roles.added and mask_hides(prepared.original):
        claims.add("mask hides")
    return frozenset(claims)


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
        text += f"; mask: {FORMS[convention.mask_form]}"
    return text


def _for_module(prepared: PreparedFunction, made: bool) -> PreparedFunction:
    """A module with its own matrices for w_q, w_k and w_v, and its own dtype."""
    module: Any = prepared.function
    dtypes = [str(p.dtype).replace("torch.", "") for p in module.parameters()]
    prepared = replace(
        prepared, libraries=("torch",), dtypes=(dtypes[0],) if dtypes else prepared.dtypes
    )
    if not dtypes:
        return replace(prepared, width=4) if made else prepared
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
        prepared = replace(prepared, function=_same_three(module, roles), roles=new)
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


def _same_three(module: Any, roles: Roles) -> Callable[..., Any]:
    """A module of query, key and value as a function of x alone."""
    needs_mask = "mask" in roles.required

    def attention(x: Any, **options: Any) -> Any:
        if needs_mask:
            options.setdefault(roles.names["mask"], None)
        return module(x, x, x, **options)

    return attention


def _stated(signature: str, layouts: tuple[str, ...]) -> tuple[str, ...]:
    _, _, axes = signature.partition(" as ")
    axes = axes.replace(" ", "").replace(",", "")
    if axes and axes not in AXES:
        raise ArgumentError(f"the axes after 'as' need to be of {', '.join(AXES)}, not {axes!r}.")
    return (axes,) if axes else layouts


def merged(features: Features, prepared: PreparedFunction) -> Features:
    """The claims of the author together with those of the module and of its names."""
    return Features(features.claims | prepared.claims)
