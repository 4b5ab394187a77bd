"""Preparation of a function: its roles, layouts, libraries, dtypes and claimed features.

``prepare`` makes an instance of a class and a plain function of a module, reads what names and
comments say, and lists the calling conventions to try, the likeliest first.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from types import ModuleType
from typing import Any

from regard.checker.adapters import (
    DEVICE,
    LIBRARY_NAMES,
    Layer,
    arrays_of,
    as_layer,
    is_module,
    most_frequent,
)
from regard.checker.calling import MAX_CALLS, Called, find_call
from regard.checker.cases import Probe
from regard.checker.conventions import (
    AXES,
    DTYPES,
    LAYOUTS,
    MASK_FORMS,
    MIXED_POSITIONS,
    PAD_FORMS,
    PAD_SHAPES,
    WINDOW_FORMS,
    CallingConvention,
    mask_shapes,
)
from regard.checker.example import Example
from regard.checker.instances import HEAD_WIDTH, WIDTH, made_instances
from regard.checker.kernel_forms import padded_form
from regard.checker.reading import Reading
from regard.checker.signatures import (
    ADDED_MASK_NAMES,
    Roles,
    function_parameters,
    further_roles,
    is_called_causal,
    mask_shows,
    mentions_heads,
    read_roles,
    returns_scores,
    stated_arrays,
)
from regard.errors import ArgumentError

CLAIM_MEANINGS = {
    "causal": "it always hides later words, without being asked",
    "last queries": "with fewer queries than keys, and no offset, the queries are the last words",
    "mask hides": "True in a mask hides",
    "mask shows": "True in a mask lets a query look",
    "added mask": "a float mask is added to the scores",
    "grouped heads": "there may be fewer key heads than query heads",
}
OPTIONAL_FEATURES = ("mask", "causal", "offset", "lengths", "softcap", "scale", "window", "cache",
                     "empty rows", "large scores", "grouped heads")  # fmt: skip
# A function with a parameter for one of these has to answer a probe about it.
REQUIRED_FEATURES = ("mask", "causal", "lengths", "softcap", "scale")
MAIN_ARGUMENTS = {"qkv": "q, k, v", "xw": "x, w_q, w_k, w_v", "x": "x"}
MAX_INSTANCES = 8  # that can be made of a class, before no attention is found in it


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
            return roles.cached and (roles.form == "qkv" or convention.reading is not None)
        return need == "empty rows" or roles.has(need)

    def required(self, convention: CallingConvention) -> frozenset[str]:
        return frozenset(feature for feature in REQUIRED_FEATURES if self.has(feature, convention))

    def variants(self, convention: CallingConvention) -> Iterator[CallingConvention]:
        """The convention with every meaning of masks and padding, the usual ones first."""
        masks = list(product(*self._masks(convention)))
        padded = convention.roles.has("padding")
        pads = product(PAD_SHAPES, PAD_FORMS) if padded else (("bk", "hides"),)
        for (form, shape), (pad_shape, pad) in product(masks, list(pads)):
            yield replace(convention, mask_form=form, mask_shape=shape, pad_form=pad,
                          pad_shape=pad_shape)  # fmt: skip

    def orders(self, convention: CallingConvention) -> Iterator[CallingConvention]:
        """The convention with every meaning of the order of words, the usual one first."""
        divides = (False, True) if convention.roles.has("scale") else (False,)
        windows = WINDOW_FORMS if convention.roles.has("window") else ("pair",)
        for (always, last), divide, form in product(self._orders(convention), divides, windows):
            yield replace(convention, always_causal=always, queries_last=last,
                          scale_divides=divide, window_form=form)  # fmt: skip

    def _masks(self, convention: CallingConvention) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if not convention.roles.has("mask"):
            return ("bool",), ("full",)
        forms: tuple[str, ...] = ("bool", "added", "ones", "hides", "ones hide")
        if "mask hides" in self.claims:
            forms = ("hides", "ones hide")
        if "mask shows" in self.claims:
            forms = ("bool", "ones")
        if convention.roles.added:
            forms = ("added",)
        return forms, mask_shapes(convention.batched, convention.headed, convention.tokens_first)

    def _orders(self, convention: CallingConvention) -> list[tuple[bool, bool]]:
        """Pairs of always_causal and queries_last."""
        lasts = (True,) if "last queries" in self.claims else (False, True)
        always = [(True, last) for last in lasts]
        if "causal" in self.claims:
            return always
        if not convention.roles.has("causal"):
            window = [(False, True)] if convention.roles.has("window") else []
            return [(False, False), *window, *always]
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

    ``reading`` is that of its trace; ``claims`` are those that it makes itself.
    """

    function: Any
    roles: Roles
    layouts: tuple[str, ...]
    libraries: tuple[str, ...]
    dtypes: tuple[str, ...]
    reading: Reading | None = None
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
            if library == "numpy" and dtype == "bfloat16":
                continue  # NumPy has none
            yield [
                CallingConvention(
                    self.roles, layout, library, dtype, reading=self.reading, position=position,
                    transposed_weights=transposed, head_width=self.head_width,
                    square_weights=square, gives_scores="returns scores" in self.claims,
                )
                for position, transposed in product(self._positions(), self._weight_orders())
                for layout in self.layouts
            ]  # fmt: skip

    def merge_claims(self, features: Features) -> Features:
        """What is claimed; a word of the author wins over one in the code."""
        stated = features.claims & {"mask hides", "mask shows"}
        return Features(features.claims | (self.claims - {"mask shows"} if stated else self.claims))

    def _positions(self) -> tuple[str, ...]:
        if self.roles.has("slopes"):
            return ("", "distance")
        if self.roles.has("cos"):
            return ("rotary, halves", "rotary, pairs", "no rotation", *MIXED_POSITIONS)
        return ("",)

    def _weight_orders(self) -> tuple[bool, ...]:
        return (False, True) if self.roles.form == "xw" else (False,)


def prepare(
    function: Callable[..., Any], signature: str, dtype: str, example: Example | None = None
) -> PreparedFunction:
    """The function with its roles, layouts, libraries and dtypes, the likeliest first.

    Where names say what is query, key and value these are handed in; else they are looked for in
    a trace of a call.
    """
    if example is not None:
        return _prepare_example(function, signature, dtype, example)
    notes: tuple[str, ...] = ()
    if isinstance(function, type):
        instance, called = _make(function)
        notes = (f"An instance of {function.__name__} was made for the check.",)
        if called is not None:
            return _of_trace(called, instance, dtype, notes)
        function = instance
    layer = as_layer(function)
    if layer is not None and layer.parameters:
        return _of_trace(find_call(layer, layer.widths), function, dtype)
    width = scalar_width(function) if layer else 0
    original, function = function, padded_form(layer.function if layer else function)
    try:
        roles = read_roles(function, signature)
    except ArgumentError as untold:
        if signature != "auto":
            raise ArgumentError(f"{untold}: give it a default.") from None
        try:
            return prepare_traced(original, dtype)
        except ArgumentError as error:
            raise ArgumentError(f"{untold}, and {error}") from None
    if roles.form == "x":
        return prepare_traced(original, dtype)
    libraries = tuple(library_order(function))
    layouts = LAYOUTS[roles.form]
    if roles.form == "qkv" and roles.has("heads"):
        layouts = ("bte",)
    return PreparedFunction(
        function,
        roles,
        _stated_layouts(signature, layouts),
        libraries,
        DTYPES if dtype == "auto" else (dtype,),
        claims=_hinted_claims(roles, function, original),
        notes=notes,
        head_width=width,
    )


def _prepare_example(
    function: Any, signature: str, dtype: str, example: Example
) -> PreparedFunction:
    """A function as its example call shows it; one of query, key and value as without it."""
    layer = as_layer(function)
    if layer is None:
        try:
            if read_roles(function, signature).form != "x":
                return prepare(function, signature, dtype)
        except ArgumentError:  # its names do not say what they are
            pass
        library = library_of(example) or library_order(function)[0]
        layer = Layer(function, function, function, library, "float64")
    ways = [attempt for attempt, _, _ in example.attempts(layer)]
    return _of_trace(find_call(layer, layer.widths, given=ways), function, dtype)


def library_of(example: Example) -> str:
    """The library of the arrays of an example."""
    homes = [type(x).__module__ for x in (*example.arguments, *example.keywords.values())]
    known = [name for name in LIBRARY_NAMES for home in homes if home.startswith(name)]
    return known[0] if known else ""


def prepare_traced(function: Any, dtype: str) -> PreparedFunction:
    """A function whose query, key and value its trace shows, in the first library that does."""
    layer, error = as_layer(function), ArgumentError("nothing was found")
    widths = most_frequent([n for x in _arrays_around(function) for n in x.shape[::-1]])
    widths = list(dict.fromkeys([*widths, WIDTH]))
    layers = [layer] if layer else [
        Layer(function, function, function, library, "float64", traced_in=precision)
        for library in library_order(function) for precision in ("float64", "float32")
    ]  # fmt: skip
    for one in layers:
        try:
            return _of_trace(find_call(one, widths), function, dtype)
        except ArgumentError as failure:
            error = failure
    raise error


def _arrays_around(function: Any) -> Iterator[Any]:
    """The arrays that a function finds in its module and in the functions around it."""
    names = getattr(function, "__code__", None)
    known = getattr(function, "__globals__", {})
    yield from arrays_of([known[x] for x in names.co_names if x in known] if names else [], 2)
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    yield from arrays_of(cells, 2)


def _make(kind: type[Any]) -> tuple[Any, Called | None]:
    """An instance of a class and a way to call it, the first whose sizes tell mistakes apart.

    The second is None for a class whose calls take query, key and value as they are.
    """
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(0)
    usable: list[tuple[Any, Called]] = []
    first, why = None, ArgumentError("")
    for number, instance in enumerate(made_instances(kind)):
        instance = instance.eval() if is_module(instance) else instance
        layer = as_layer(instance)
        if layer is None:
            raise ArgumentError(f"an instance of {kind.__name__} cannot be called.")
        if not layer.parameters and _takes_three(layer):
            if scalar_width(instance) in (0, HEAD_WIDTH):
                return instance, None
            first = instance if first is None else first
            continue
        try:
            called = find_call(layer, layer.widths or [WIDTH], MAX_CALLS if number == 0 else 100)
        except ArgumentError as error:
            why = why if str(why) else error
            if number > MAX_INSTANCES:
                break
            continue
        usable.append((instance, called))
        if called.is_ideal or len(usable) > 8:
            break
    if not usable and first is not None:
        return first, None
    if not usable:
        raise why
    return next((pair for pair in usable if pair[1].is_ideal), usable[0])


def _takes_three(layer: Layer) -> bool:
    """Whether its names say that query, key and value are handed in."""
    try:
        return read_roles(layer.called).form == "qkv"
    except ArgumentError:
        return False


def scalar_width(instance: Any) -> int:
    """The head width that a layer without parameters was made for; 0 where it says none."""
    numbers = [
        v for v in vars(instance).values() if isinstance(v, int | float) and not isinstance(v, bool)
    ]
    squares = [float(n) ** 2 for n in numbers if n > 1]
    return next((round(n) for n in squares if math.isclose(n, round(n), rel_tol=1e-9)), 0)


def _hinted_claims(roles: Roles, function: Any, original: Any) -> frozenset[str]:
    """The claims that names, docstrings, comments and buffers make."""
    claims = set()
    if not (roles.has("causal") or roles.has("mask")) and is_called_causal(original):
        claims.add("causal")
    if roles.has("mask") and not roles.added and mask_shows(original):
        claims.add("mask shows")
    if mentions_heads(function):
        claims.add("mentions heads")
    if returns_scores(original):
        claims.add("returns scores")
    return frozenset(claims)


def describe(convention: CallingConvention, name: str = "it") -> str:
    """A calling convention in words.

    >>> describe(CallingConvention(Roles("qkv"), "td"), "attention")
    'attention(q, k, v) with NumPy float64 arrays (token, feature)'
    """
    extra = "".join(f", {x}" for x in convention.roles.names.values())
    axes = convention.axes
    library = LIBRARY_NAMES[convention.library]
    arrays = ", ".join(convention.roles.sources.values()) or MAIN_ARGUMENTS[convention.roles.form]
    call = f"{name}({arrays}{extra})"
    text = f"{call} with {library} {convention.dtype} arrays {axes}"
    if convention.roles.has("mask"):
        text += f"; mask: {MASK_FORMS[convention.mask_form]}"
    if convention.roles.has("padding"):
        name = convention.roles.names["padding"]
        text += f"; {name}: {MASK_FORMS[convention.pad_form]}"
    return text


def _of_trace(
    called: Called, original: Any, dtype: str, notes: tuple[str, ...] = ()
) -> PreparedFunction:
    """A function with the query, key and value that its trace shows."""
    sources = {f"source {i}": name for i, name in enumerate(called.names)}
    parameters = function_parameters(called.layer.called)
    names = further_roles(parameters, (*called.names, *called.fixed))
    required = [p.name for p in parameters if p.default is p.empty]
    roles = Roles(
        "x",
        names,
        tuple(role for role, name in names.items() if name in required),
        tuple(sources),
        names.get("mask") in ADDED_MASK_NAMES,
        sources,
    )
    claims = _hinted_claims(roles, called.layer.called, original)
    if type(original).__module__.startswith("torch.nn."):
        # Its flag only says what its mask is; and what it gives an empty row is its known NaN.
        roles.names.pop("causal", None)
        claims |= {"no empty rows"}
    if called.reading.inside:
        notes = (*notes, "Only the attention inside is checked, not the layers around it.")
    if called.reader.biased:
        notes = (*notes, "A bias of its own is added to the scores.")
    if called.reader.scale_h is not None:
        notes = (*notes, "Query and key are normalised: any scale of the scores will do.")
    return PreparedFunction(
        called,
        roles,
        ("",),
        (called.layer.library,),
        (called.layer.dtype,) if dtype == "auto" else (dtype,),
        called.reading,
        claims,
        notes,
    )


def _stated_layouts(signature: str, layouts: tuple[str, ...]) -> tuple[str, ...]:
    axes = read_signature(signature)
    return (axes,) if axes else layouts


def read_signature(signature: str) -> str:
    """The axes that a signature states, or ''; one that cannot be used is an ArgumentError."""
    stated_arrays(signature)
    axes = signature.partition(" as ")[2].replace(" ", "").replace(",", "")
    if axes and axes not in AXES:
        raise ArgumentError(f"the axes after 'as' must be one of {', '.join(AXES)}, got {axes!r}.")
    return axes


# Libraries: which arrays a function is tried with.


def library_order(function: Callable[..., Any]) -> list[str]:
    """The libraries to try: the one that the function's own file uses comes first."""
    target = getattr(function, "func", function)
    known = getattr(target, "__globals__", {})
    home = str(getattr(target, "__module__", "") or type(target).__module__)
    used = {home.partition(".")[0], str(getattr(target, "__self__", "")).partition(".")[0]}
    for value in known.values():
        origin = "__name__" if isinstance(value, ModuleType) else "__module__"
        used.add(str(getattr(value, origin, "")).partition(".")[0])
    if DEVICE.get() != "cpu":
        return ["torch"]
    others = [x for x in LIBRARY_NAMES if x != "numpy"]
    first = [x for x in others if x in used]
    loaded = [x for x in others if x in sys.modules and x != "tinygrad"]
    order = [*first, "numpy"] if first and "numpy" not in used else ["numpy", *first]
    return list(dict.fromkeys([*order, *loaded]))
