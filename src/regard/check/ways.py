"""The ways in which a function might be called, the likeliest first, and how to say one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from regard.check.arrays import library_order
from regard.check.calling import AXES, LAYOUTS, Calling
from regard.check.features import Features
from regard.check.modules import (
    Parameters,
    as_self_attention,
    is_module,
    is_multihead,
    read_parameters,
)
from regard.check.roles import Roles, read_roles
from regard.errors import ArgumentError

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
