"""Calling: the arguments with which a function attends, found by trying until its trace shows it.

What a parameter is called decides only which of the possibilities is tried first.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Any

import numpy as np

from regard.checker.adapters import Layer, native, trace
from regard.checker.conventions import rotary_angles
from regard.checker.graph import Trace
from regard.checker.instances import HEAD_WIDTH, HEADS, WIDTH, values_for
from regard.checker.reading import Form, Reader, Reading, pack
from regard.checker.signatures import (
    ROLE_BY_NAME,
    ROTATION_NAME,
    function_parameters,
    main_role,
)
from regard.checker.unknown import Unknown
from regard.errors import ArgumentError
from regard.typing import Array

MAX_CALLS = 600  # of one function or instance, before it is given up
MAX_VALUES = 90  # of the arguments that are no arrays, for arrays of one form
MAX_ALIKE = 3  # equal errors, whatever the other arguments are: then the form is wrong
MASK_ROLES = ("mask", "padding", "lengths")
MATRIX_NAME = r"^w(?!$)|weight|param|kernel|^c_|proj|^b_|bias"
SIZE_NAME = r"block|chunk|window|tile|_size$|stride|radius|group|^n_|^num_"
PAIR_NAME = r"^z(_?(ij|in))?$|pair|edge"
ALL_THREE = r"qkv|kqv|attn|^in_|all"
Maker = Callable[[int, int], Any]  # of a value, from the numbers of sentences and words


@dataclass(frozen=True, eq=False)
class Called:
    """A function with the parameters that take arrays, and whatever else a call needs.

    ``names``: the parameter of each array; two in a row with one name are handed in as a pair.
    ``fixed``: makers of the other required arguments.
    """

    layer: Layer
    names: tuple[str, ...]
    forms: tuple[Form, ...]
    fixed: dict[str, Maker]
    reading: Reading
    reader: Reader

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        bound = Binding(self.layer.called, self.names, self.forms, self.fixed, options)
        function = bound.bind(self.layer.function, arrays, self.layer.library)
        if not self.reading.inside:
            return function(*arrays)
        recorded = trace(self.layer.library, function, arrays)
        batch, tokens = bound.sizes(arrays)
        inner = self.reader.inner(recorded, batch, tokens)
        return inner if self.reading.batched else inner[0]

    @property
    def is_ideal(self) -> bool:
        """Whether its sizes tell mistakes apart: some heads, wide enough, not as many as wide."""
        arrays = self.reader.draw(self.reader.of_query)
        heads, width = self.reading.features(arrays)[0].shape[1::2]
        return bool(1 < heads <= 8 and width > 2 and heads != width)


@dataclass(frozen=True, eq=False)
class Binding:
    """The arguments of a call: arrays by parameter, fixed values, options."""

    called: Callable[..., Any]
    names: tuple[str, ...]
    forms: tuple[Form, ...]
    fixed: dict[str, Maker]
    options: dict[str, Any] = field(default_factory=dict)

    def sizes(self, arrays: Any) -> tuple[int, int]:
        """The numbers of sentences and words of the first array."""
        shape, form = arrays[0].shape, self.forms[0]
        return shape[form.index("b")] if "b" in form else 1, shape[form.index("t")]

    def bind(self, function: Callable[..., Any], arrays: Any, library: str) -> Callable[..., Any]:
        """A function of arrays alone, of the shapes and the dtype of these."""
        dtype = str(arrays[0].dtype).removeprefix("torch.").removeprefix("dtypes.")
        sizes = self.sizes(arrays)
        fixed = {name: _native(make(*sizes), library, dtype) for name, make in self.fixed.items()}

        def call(*arrays: Any) -> Any:
            values: dict[str, Any] = fixed | self.options
            for name, array in zip(self.names, arrays, strict=True):
                values[name] = (values[name], array) if name in values else array
            leading: list[Any] = []
            for parameter in function_parameters(self.called):  # Keras takes arrays alone by place
                array = parameter.name in self.names and parameter.kind != parameter.KEYWORD_ONLY
                if not array and parameter.kind != parameter.POSITIONAL_ONLY:
                    break
                leading.append(values.pop(parameter.name))
            return function(*leading, **values)

        return call


def _native(value: Any, library: str, dtype: str) -> Any:
    """A value with its NumPy arrays as those of a library."""
    if isinstance(value, np.ndarray):
        return native(value, library, dtype)
    if isinstance(value, tuple | list):
        return type(value)(_native(x, library, dtype) for x in value)
    if isinstance(value, dict):
        return type(value)({name: _native(x, library, dtype) for name, x in value.items()})
    return value


def find_call(
    layer: Layer,
    widths: list[int],
    most: int = MAX_CALLS,
    given: Iterable[Attempt] | None = None,
) -> Called:
    """A way to call a layer in which its attention is found; an ArgumentError where there is none.

    ``given``: the only ways to try, those of an example.
    Of several the first counts in which every array is used and is read word by word.
    """
    parameters = function_parameters(layer.called)
    errors: list[str] = []
    partly: Called | None = None
    failed: dict[Any, list[str]] = {}  # errors by the names and forms of the arrays
    given = attempts(parameters, layer, widths) if given is None else given
    ways = (x for x in given if not _is_hopeless(failed, x))
    for attempt in islice(ways, most):
        try:
            called = attempt.read(layer)
        except Exception as error:  # whatever the function raises with these arguments
            errors.append(f"{type(error).__name__}: {' '.join(str(error).split())[:120]}")
            failed.setdefault(attempt.key, []).append(errors[-1])
            attempt.learn(str(error))
            continue
        if called is not None and (called.reader.by_token or layer.parameters):
            return attempt.without_unused(layer, called)
        partly = partly or called
    if partly is not None:
        return partly
    raise ArgumentError(
        f"no attention was found in {_layer_name(layer)}: "
        + (f"called with random arrays it ends in {_likeliest(errors)}. " if errors else "")
        + f"Add this line to the file and check attention: {_line_to_add(layer, parameters)}"
    )


def _is_hopeless(failed: dict[Any, list[str]], attempt: Attempt) -> bool:
    """Whether calls with arrays of these forms end in one error whatever else is handed in."""
    errors = failed.get(attempt.key, [])
    return len(errors) >= MAX_ALIKE and len(set(errors)) == 1


def _line_to_add(layer: Layer, parameters: list[inspect.Parameter]) -> str:
    """A function for the author to add, with blanks for what nobody else knows."""
    required = [p.name for p in parameters if p.default is p.empty]
    arrays = ("q", "k", "v") if len(required) > 2 else ("x",)
    given = dict(zip(required, arrays, strict=False))
    arguments = ", ".join(f"{name}={given.get(name, '...')}" for name in required)
    made = _layer_name(layer) + ("(...)" if layer.parameters else "")
    return f"def attention({', '.join(arrays)}): return {made}({arguments})"


def _layer_name(layer: Layer) -> str:
    function = getattr(layer.called, "__self__", layer.function)
    return str(getattr(function, "__name__", type(function).__name__))


def _likeliest(errors: list[str]) -> str:
    """The error that came up most, the first of equals."""
    return max(dict.fromkeys(errors), key=errors.count)


@dataclass
class Attempt:
    """One way to call a function: its arrays and their forms, and the values of all the rest."""

    parameters: list[inspect.Parameter]
    names: tuple[str, ...]
    forms: tuple[Form, ...]
    fixed: dict[str, Any]  # makers, or the columns of an unknown argument
    masks: dict[str, Maker]  # handed in while the attention is looked for, and not afterwards
    learnt: dict[str, tuple[str, ...]]

    @property
    def key(self) -> tuple[Any, ...]:
        return self.names, self.forms

    def read(self, layer: Layer) -> Called | None:
        """The call with its reading; None where its trace shows no attention."""
        fixed = self.settled(layer)
        bound = Binding(layer.called, self.names, self.forms, fixed | self.masks)

        def call(arrays: tuple[Array, ...]) -> Trace:
            packed = [
                native(np.ascontiguousarray(pack(a, form)), layer.library, layer.traced_in)
                for a, form in zip(arrays, self.forms, strict=True)
            ]
            return trace(layer.library, bound.bind(layer.exact, packed, layer.library), packed)

        reader = Reader(call, self.forms)
        reading = reader.reading()
        if reading is None:
            return None
        return Called(layer, self.names, self.forms, fixed, reading, reader)

    def without_unused(self, layer: Layer, called: Called) -> Called:
        """The call without the arrays that its attention has nothing of, where it works so."""
        names = {self.names[i] for i in called.reading.sources}
        kept = [i for i, name in enumerate(self.names) if name in names]
        rest = {name: lambda b, t: None for name in self.names if name not in names}
        forms = tuple(self.forms[i] for i in kept)
        less = replace(self, names=tuple(self.names[i] for i in kept), forms=forms,
                       fixed=self.fixed | rest)  # fmt: skip
        try:
            return (less.read(layer) if rest else None) or called
        except Exception:  # it does something with them after all
            return called

    def settled(self, layer: Layer) -> dict[str, Maker]:
        """The fixed values, unknown arguments as what one call makes of them."""
        unknown = {
            name: Unknown(layer.library, columns, self.learnt.get("names", ()), seed)
            for seed, (name, columns) in enumerate(self.fixed.items(), 1)
            if isinstance(columns, int)
        }
        fixed = {n: (lambda b, t, x=unknown[n]: x) if n in unknown else make
                 for n, make in self.fixed.items()}  # fmt: skip
        if not unknown:
            return fixed
        arrays = [
            native(pack(np.random.default_rng(i).standard_normal((2, 5, width)), form),
                   layer.library, layer.traced_in)
            for i, (form, width) in enumerate(zip(self.forms, _widths(self.forms), strict=True))
        ]  # fmt: skip
        bound = Binding(layer.called, self.names, self.forms, fixed | self.masks)
        bound.bind(layer.exact, arrays, layer.library)(*arrays)
        settled = {name: x.settled(lambda array: array) for name, x in unknown.items()}
        return fixed | {n: (lambda b, t, x=x: x) for n, x in settled.items()}

    def learn(self, error: str) -> None:
        """Take the names of a dict's entries from an error that misses them."""
        missing = re.search(r"missing \d+ required positional arguments?: (.*)", error)
        own = {p.name for p in self.parameters}
        names = tuple(re.findall(r"'(\w+)'", missing[1])) if missing else ()
        if names and not own & set(names):
            self.learnt["names"] = names


def _widths(forms: tuple[Form, ...]) -> list[int]:
    return [int(np.prod([x for x in form if isinstance(x, int)])) for form in forms]


def attempts(
    parameters: list[inspect.Parameter], layer: Layer, widths: list[int]
) -> Iterator[Attempt]:
    """The ways to call a function, the likeliest first."""
    required = [p for p in parameters if p.default is p.empty] or parameters[:1]
    arrays = [p for p in required if kind_of(p) == "array"] or required[:1]
    first = ROLE_BY_NAME.get(required[0].name.lower(), "") if required else ""
    if first in MASK_ROLES:  # the first is no mask, whatever its name is
        arrays = list(dict.fromkeys([required[0], *arrays]))
    optional = [p.name for p in parameters if p.default is None and kind_of(p) == "array"]
    learnt: dict[str, tuple[str, ...]] = {}
    masks = [p.name for p in required if ROLE_BY_NAME.get(p.name.lower()) in MASK_ROLES
             and p not in arrays]  # fmt: skip
    fewest = 3 if [main_role(p.name) for p in arrays[:3]] == ["query", "key", "value"] else 1
    for count in range(len(arrays), fewest - 1, -1):
        names = [p.name for p in arrays[:count]]
        rest = [p for p in required if p.name not in (*names, *masks)]
        contexts = [n for n in optional if n not in names][:1] if count < 3 else []
        for chosen in ([*names, *contexts], names) if contexts else (names,):
            values = list(islice(_fixed_values(rest, layer), MAX_VALUES))
            makers = list(_mask_makers()) if masks else [("", None)]
            for sources, forms in _array_forms(tuple(chosen), widths, bool(layer.parameters)):
                for fixed, (axes, mask) in _diagonally(values, makers):
                    if mask is None or "b" not in axes or "b" in forms[0]:
                        given = dict.fromkeys(masks, mask) if mask else {}
                        yield Attempt(parameters, sources, forms, fixed, given, learnt)


def _diagonally(one: list[Any], two: list[Any]) -> list[tuple[Any, Any]]:
    """All pairs, those from the beginnings of both lists first: neither waits for the other."""
    places = sorted(product(range(len(one)), range(len(two))), key=sum)
    return [(one[i], two[j]) for i, j in places]


def kind_of(parameter: inspect.Parameter) -> str:
    """What a parameter is likely to be: an array, or something that is fixed for all calls."""
    name = parameter.name.lower()
    if re.search(ROTATION_NAME, name):
        return "rotation"
    if name in ROLE_BY_NAME and not main_role(name):
        return "role"
    if main_role(name) in ("w_query", "w_key", "w_value") or re.search(MATRIX_NAME, name):
        return "matrix"
    return "number" if parameter.annotation in (int, "int") else "array"


def _array_forms(
    names: tuple[str, ...], widths: list[int], layered: bool
) -> Iterator[tuple[tuple[str, ...], tuple[Form, ...]]]:
    """The forms of the arrays, the likeliest first; a last array may be a pair of two."""
    count = len(names)
    pairs = [(w,) * count for w in widths]
    pairs += [p for p in product(widths, repeat=count) if p not in pairs] if count == 2 else []
    makers = FORMS if layered else FORMS[:-1]
    joined = [(names, tuple(make(w) for w in sizes)) for make in makers for sizes in pairs]
    headed = [(names, (form,) * count) for form in HEADED]
    three = not layered and [main_role(name) for name in names] == ["query", "key", "value"]
    yield from (*headed, *joined) if three else (*joined, *headed)
    if layered:
        return
    if count == 1:
        yield from ((names, (form,)) for form in PACKED)
    if count == 2:
        for form, packed in product(HEADED, PACKED_PAIR):
            yield names, (form, packed)
        for form in (*HEADED, *(make(WIDTH) for make in makers)):
            yield (names[0], names[1], names[1]), (form,) * 3


FORMS: tuple[Callable[[int], Form], ...] = (
    lambda w: ("b", "t", w), lambda w: ("t", "b", w), lambda w: ("b", w, "t"), lambda w: ("t", w),
    lambda w: (1, "b", "t", w), lambda w: ("b", w, "t", 1),
)  # fmt: skip
HEADED: tuple[Form, ...] = (
    ("b", HEADS, "t", HEAD_WIDTH), ("b", "t", HEADS, HEAD_WIDTH), ("b", HEADS, HEAD_WIDTH, "t"),
    ("t", "b", HEADS, HEAD_WIDTH),
)  # fmt: skip
PACKED: tuple[Form, ...] = (
    ("b", "t", 3, HEADS, HEAD_WIDTH), (3, "b", HEADS, "t", HEAD_WIDTH),
    ("b", 3, HEADS, "t", HEAD_WIDTH), ("b", "t", HEADS, 3, HEAD_WIDTH),
    ("t", "b", 3, HEADS, HEAD_WIDTH), ("b", HEADS, "t", 3, HEAD_WIDTH),
    ("b", "t", 3 * WIDTH), ("b", 3 * WIDTH, "t"), ("t", "b", 3 * WIDTH), (3, "b", "t", WIDTH),
    ("b", "t", 3, WIDTH), ("t", 3, HEADS, HEAD_WIDTH), ("t", 3 * WIDTH),
)  # fmt: skip
PACKED_PAIR: tuple[Form, ...] = (
    ("b", "t", 2, HEADS, HEAD_WIDTH), (2, "b", HEADS, "t", HEAD_WIDTH),
    ("b", 2, HEADS, "t", HEAD_WIDTH), (2, "b", "t", HEADS, HEAD_WIDTH),
)  # fmt: skip


def _fixed_values(rest: list[inspect.Parameter], layer: Layer) -> Iterator[dict[str, Any]]:
    """Values for the required parameters that no array is handed to."""
    turning = [p.name for p in rest if kind_of(p) == "rotation"]
    others = [p.name for p in rest if kind_of(p) != "rotation"]
    lists = [_values(p) for p in rest if p.name in others]
    styles = list(_rotations(layer)) if turning else [None]
    for values, style in product(product(*lists), styles):
        fixed = dict(zip(others, values, strict=True))
        yield fixed | {name: style(name) for name in turning if style is not None}


def _values(parameter: inspect.Parameter) -> list[Any]:
    """What a parameter may be given: makers, or the columns of an unknown array."""
    name = parameter.name
    role = ROLE_BY_NAME.get(name.lower(), "")
    by_role = {"causal": False, "scale": HEAD_WIDTH**-0.5, "dropout": 0.0, "training": False,
               "need weights": False, "softcap": None, "temperature": HEAD_WIDTH**0.5}  # fmt: skip
    if role in by_role:
        return [lambda b, t, x=by_role[role]: x]
    if re.search(PAIR_NAME, name.lower()):  # a vector for each two words
        shapes = (lambda b, t: (t, t, WIDTH)), (lambda b, t: (b, t, t, WIDTH))
        return [lambda b, t, x=x: np.random.default_rng(5).standard_normal(x(b, t)) for x in shapes]
    columns = [3 * WIDTH, WIDTH, 2 * WIDTH] if re.search(ALL_THREE, name.lower()) else [WIDTH]
    if role == "heads" or values_for(name, False)[0] == HEADS:
        return [*(lambda b, t, x=x: x for x in (HEADS, 1)), HEAD_WIDTH]
    if re.search(SIZE_NAME, name.lower()):
        return [*(lambda b, t, x=x: x for x in (4, 2, 8)), lambda b, t: None]
    if parameter.annotation in (int, "int") or re.search(r"pos|start|offset|ind?e?x|step", name):
        return [lambda b, t: 0, lambda b, t: None]
    if role or not re.search(MATRIX_NAME, name.lower()):
        return [*columns, lambda b, t: None, lambda b, t: 0]
    return columns if len(columns) > 1 else [WIDTH, 3 * WIDTH]


def _mask_makers() -> Iterator[tuple[str, Maker]]:
    """Masks that hide nothing, whatever True means in them, with their axes."""
    yield "", lambda b, t: None
    for axes, make in product(("b11k", "qk", "b1qk", "bqk", "bk"), (np.ones, np.zeros)):

        def mask(b: int, t: int, axes: str = axes, make: Any = make) -> Array:
            return np.asarray(make([{"b": b, "1": 1}.get(x, t) for x in axes], bool))

        yield axes, mask
    yield "qk", lambda b, t: np.zeros((t, t))


def _rotations(layer: Layer) -> Iterator[Callable[[str], Maker]]:
    """Rotations by position in the forms in which functions take them, by the parameter's name."""
    owner = getattr(layer.called, "__self__", None)
    numbers = [n for n in getattr(owner, "__dict__", {}).values() if isinstance(n, int)]
    widths = list(dict.fromkeys([HEAD_WIDTH, *(n for n in numbers if 3 < n < 512 and n % 2 == 0)]))
    shapes: list[Callable[[Array], Array]] = [
        lambda z: z, lambda z: np.tile(z, 2), lambda z: np.tile(z, 2)[None],
        lambda z: z[None, :, None], lambda z: z[None, None], lambda z: np.repeat(z, 2, axis=-1),
    ]  # fmt: skip
    for width, shape in product(widths[:4], shapes):
        for whole in ("pair", "complex", "stack", "angle"):

            def style(name: str, w: int = width, shape: Any = shape, whole: str = whole) -> Maker:
                return lambda b, t: _rotation(name, shape(rotary_angles(t, w)), whole)

            yield style


def _rotation(name: str, angles: Array, whole: str) -> Any:
    """cos or sin where the name says so, else both: a pair, complex numbers, or the angles."""
    named = [x for x in ("cos", "sin") if x in name.lower()]
    cos, sin = np.cos(angles), np.sin(angles)
    if len(named) == 1:
        return cos if named == ["cos"] else sin
    forms = {"pair": (cos, sin), "complex": cos + 1j * sin, "angle": angles}
    return forms.get(whole, np.stack([cos, sin], axis=-1))
