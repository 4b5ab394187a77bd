"""Candidate ways to call a function, the likeliest first, and the features it claims to have."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from regard.checker.calling import AXES, LAYOUTS, Calling
from regard.checker.cases import Probe
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


LEFT_OUT = ("mask", "causal", "offset", "lengths", "softcap", "scale", "window", "empty rows",
            "large scores", "grouped heads")  # fmt: skip


@dataclass(frozen=True)
class Features:
    """The author's claims; 'no ...' leaves a question out."""

    claims: frozenset[str] = frozenset()

    def covers(self, probe: Probe, calling: Calling) -> bool:
        """Whether this question is to be asked in this way."""
        if f"no {probe.name}" in self.claims:
            return False
        return all(self._has(need, calling) for need in probe.needs)

    def _has(self, need: str, calling: Calling) -> bool:
        if f"no {need}" in self.claims:
            return False
        if need == "lengths":
            return calling.batched and (
                calling.roles.has("lengths") or calling.roles.has("padding")
            )
        if need == "added":
            return calling.mask_form == "added" or "added mask" in self.claims
        if need == "grouped heads":
            return calling.roles.has("grouped") or "grouped heads" in self.claims
        return need == "empty rows" or calling.roles.has(need)

    def variants(self, calling: Calling) -> Iterator[Calling]:
        """Every way in which masks, padding and order might be meant, the usual ones first."""
        masks = list(product(*self._masks(calling)))
        pads = ("hides", "bool") if calling.roles.has("padding") else ("hides",)
        for always, last in self._orders(calling):
            for (form, shape), pad in product(masks, pads):
                yield replace(calling, mask_form=form, mask_shape=shape, pad_form=pad,
                              always=always, last=last)  # fmt: skip

    def _masks(self, calling: Calling) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if not calling.roles.has("mask"):
            return ("bool",), ("full",)
        forms = ("hides",) if "mask hides" in self.claims else ("bool", "added", "ones")
        if not calling.batched:
            return forms, ("full",) if not calling.headed else ("full", "qk")
        return forms, ("full", "qk", "b1qk", "bqk") if calling.headed else ("full", "qk")

    def _orders(self, calling: Calling) -> list[tuple[bool, bool]]:
        lasts = (True,) if "last queries" in self.claims else (False, True)
        if "causal" in self.claims:
            return [(True, last) for last in lasts]
        if calling.roles.has("causal"):
            return [
                (False, last) for last in (lasts if not calling.roles.has("offset") else (False,))
            ]
        return [(False, False), *((True, last) for last in lasts)]


def read_features(features: str | Iterable[str]) -> Features:
    """The author's words, checked."""
    if features == "auto":
        return Features()
    words = [features] if isinstance(features, str) else list(features)
    known = [*CLAIMS, *(f"no {name}" for name in LEFT_OUT)]
    for word in words:
        if word not in known:
            raise ArgumentError(f"features needs words of {', '.join(known)}, but has {word!r}.")
    return Features(frozenset(words))


LIBRARY_NAMES = {"numpy": "NumPy", "torch": "PyTorch", "jax": "JAX"}


FIRST = {"qkv": "q, k, v", "xw": "x, w_q, w_k, w_v", "x": "x"}


@dataclass(frozen=True)
class Ways:
    """A function made ready: what to call, the roles of its parameters, its own parameters."""

    function: Callable[..., Any]
    roles: Roles
    layouts: tuple[str, ...]
    libraries: tuple[str, ...]
    dtypes: tuple[str, ...]
    parameters: Parameters | None = None
    claims: frozenset[str] = frozenset()

    def groups(self) -> Iterator[list[Calling]]:
        """Callings that differ in their axes only, one list a library and dtype."""
        for library in self.libraries:
            for dtype in self.dtypes:
                yield [
                    Calling(self.roles, layout, library, dtype, parameters=self.parameters)
                    for layout in self.layouts
                ]


def ways_to_call(function: Callable[..., Any], signature: str, dtype: str) -> Ways:
    """Everything that is worth trying."""
    roles = read_roles(function, signature)
    dtypes = ("float64", "float32", "float16", "bfloat16") if dtype == "auto" else (dtype,)
    ways = Ways(function, roles, (), tuple(library_order(function)), dtypes)
    if is_module(function):
        ways = _for_module(ways)
    layouts = LAYOUTS[ways.roles.form]
    if ways.roles.form == "qkv" and ways.roles.has("heads"):
        layouts = ("bte",)
    return replace(ways, layouts=_stated(signature, layouts))


def say(calling: Calling, name: str = "it") -> str:
    """A way of calling in words.

    >>> say(Calling(Roles("qkv"), "td"), "attention")
    'attention(q, k, v) with NumPy float64 arrays (token, feature)'
    """
    extra = "".join(f", {x}" for x in calling.roles.names.values())
    axes = AXES[calling.layout]
    library = LIBRARY_NAMES[calling.library]
    text = (
        f"{name}({FIRST[calling.roles.form]}{extra}) with {library} {calling.dtype} arrays {axes}"
    )
    if calling.roles.has("mask"):
        forms = {"bool": "True may look", "hides": "True hides", "added": "0 and -inf, added",
                 "ones": "1 may look, 0 may not"}  # fmt: skip
        text += f"; mask: {forms[calling.mask_form]}"
    return text


def _for_module(ways: Ways) -> Ways:
    """A module's own parameters stand in for w_q, w_k and w_v; it keeps its dtype."""
    module: Any = ways.function
    own = [str(p.dtype).replace("torch.", "") for p in module.parameters()]
    ways = replace(ways, libraries=("torch",), dtypes=(own[0],) if own else ways.dtypes)
    if is_multihead(module):
        # Its own convention; and what it gives a row that may see nothing is its known NaN.
        claims = frozenset({"mask hides", "no empty rows"})
        function = as_self_attention(module)
        ways = replace(ways, function=function, roles=read_roles(function), claims=claims)
    elif own and ways.roles.form == "qkv":
        function = _same_three(module)
        ways = replace(ways, function=function, roles=replace(ways.roles, form="x"))
    return replace(ways, parameters=read_parameters(module)) if own else ways


def _same_three(module: Any) -> Callable[..., Any]:
    return lambda x, **options: module(x, x, x, **options)


def _stated(signature: str, layouts: tuple[str, ...]) -> tuple[str, ...]:
    _, _, axes = signature.partition(" as ")
    axes = axes.replace(" ", "").replace(",", "")
    if axes and axes not in AXES:
        raise ArgumentError(f"the axes after 'as' need to be of {', '.join(AXES)}, not {axes!r}.")
    return (axes,) if axes else layouts


def merged(features: Features, ways: Ways) -> Features:
    """The author's claims and the module's own."""
    return Features(features.claims | ways.claims)
