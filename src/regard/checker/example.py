"""An example call: one call that works, handed in by the author. All else is perturbation of it.

No width is invented then: arrays keep their sizes, and whatever is no array of words keeps its
value.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, TypeGuard

import numpy as np

from regard.checker.adapters import Layer, as_float64
from regard.checker.calling import MASK_ROLES, MATRIX_NAME, Attempt, kind_of
from regard.checker.signatures import ROLE_BY_NAME, function_parameters, main_role
from regard.errors import ArgumentError
from regard.typing import Array

MAX_FORMS = 8
SUCH_A_CALL = "--call must be a call such as Attention(32, 4)(x, context=c)"
# Axes of sentences and of words, the likeliest first, by the number of axes of an array.
USUAL = {2: ((None, 0),), 3: ((0, 1), (1, 0), (0, 2)), 4: ((0, 2), (0, 1), (0, 3), (1, 0))}


@dataclass(frozen=True, eq=False)
class Example:
    """The arguments of a call that works."""

    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)

    def bound(self, called: Callable[..., Any]) -> dict[str, Any]:
        """The arguments by the names of the parameters; an ArgumentError where they do not fit."""
        try:
            return dict(inspect.signature(called).bind(*self.arguments, **self.keywords).arguments)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"the example call does not fit: {error}.") from None

    def masks(self, layer: Layer) -> dict[str, Array]:
        """The masks and lengths that are handed in, as NumPy arrays."""
        values = self.bound(layer.called)
        given = list(values.items())[1:]  # the first is no mask
        named = {n: x for n, x in given if ROLE_BY_NAME.get(n.lower()) in MASK_ROLES}
        return {n: np.asarray(_constant(x)(1, 1)) for n, x in named.items() if hasattr(x, "shape")}

    def cached(self, layer: Layer, inputs: tuple[str, ...]) -> dict[str, list[Array]]:
        """The arrays besides the inputs that may be those of earlier calls."""
        made = {}
        rest = {n: x for n, x in self.bound(layer.called).items() if n not in inputs}
        for name, value in rest.items():
            parts = list(value) if isinstance(value, tuple | list) else [value]
            is_cache = all("float" in str(getattr(x, "dtype", "")) and x.ndim > 2 for x in parts)
            if parts and is_cache:
                made[name] = [as_float64(x) for x in parts]
        return made

    def attempts(self, layer: Layer) -> Iterator[tuple[Attempt, int, tuple[int, ...]]]:
        """Ways to vary the call, with the number of sentences and of words of each array."""
        values = self.bound(layer.called)
        parameters = function_parameters(layer.called)
        names = [
            p.name for i, p in enumerate(parameters) if _is_input(p, values.get(p.name), i == 0)
        ]
        first = values[names[0]].shape if names else ()
        names = names[:1] + [n for n in names[1:] if not _is_of_pairs(values[n].shape, first)]
        if not names:
            raise ArgumentError("the example call has no array of numbers with two axes or more.")
        rest = {name: _constant(x) for name, x in values.items() if name not in names}
        required = [p.name for p in parameters if p.default is p.empty]
        masks = {
            name: make
            for name, make in rest.items()
            if ROLE_BY_NAME.get(name.lower()) in MASK_ROLES and values[name] is not None
        }
        fixed = {name: make for name, make in rest.items() if name not in masks}
        masks = {name: make for name, make in masks.items() if name in required}
        for count in dict.fromkeys((len(names), 1)):  # else the first alone is made of words
            further = {name: _constant(values[name]) for name in names[count:]}
            shapes = [tuple(map(int, values[name].shape)) for name in names[:count]]
            for sentences, words in _axes(shapes):
                forms = tuple(
                    tuple("b" if i == sentences else "t" if i == words else n
                          for i, n in enumerate(shape))
                    for shape in shapes
                )  # fmt: skip
                batch = 1 if sentences is None else max(shape[sentences] for shape in shapes)
                lengths = tuple(shape[words] for shape in shapes)
                made = Attempt(parameters, tuple(names[:count]), forms, fixed | further, masks, {})
                yield made, batch, lengths


def _is_of_pairs(shape: tuple[int, ...], words: tuple[int, ...]) -> bool:
    """Whether an array has a vector for each two words of another."""
    return len(shape) > 2 and shape[-3] == shape[-2] in words[:-1] and words[-3:-1] != shape[-3:-1]


def _axes(shapes: list[tuple[int, ...]]) -> Iterator[tuple[int | None, int]]:
    """The axes that may be those of sentences and of words, in all arrays alike."""
    axes = min(map(len, shapes))
    usual = list(USUAL.get(axes, ()))
    unusual = permutations(range(axes), 2) if axes > 3 else ()  # features come last, or second
    others = [pair for pair in unusual if pair not in usual]
    for sentences, words in [*usual, *others][:MAX_FORMS]:
        sizes = set() if sentences is None else {shape[sentences] for shape in shapes} - {1}
        same = len(sizes) < 2  # one sentence serves all
        if same:
            yield sentences, words


def _is_input(parameter: inspect.Parameter, value: Any, first: bool) -> bool:
    """Whether an argument is an array of numbers that are made of words, as the first one is."""
    shape, kind = getattr(value, "shape", ()), str(getattr(value, "dtype", ""))
    if len(shape) < 2 or "float" not in kind:
        return False
    name = parameter.name.lower()
    named = main_role(name) in ("query", "key", "value", "x")
    if named or (first and ROLE_BY_NAME.get(name) in MASK_ROLES):
        return True
    return kind_of(parameter) == "array" and not re.search(MATRIX_NAME, name)


def _constant(value: Any) -> Callable[[int, int], Any]:
    """A maker of a value, whatever the sizes are; arrays of floats as NumPy's."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        kind = str(value.dtype)
        value = as_float64(value)
        if "bool" in kind or "int" in kind:
            value = value.astype(bool if "bool" in kind else np.int64)
    return lambda b, t: value


def read_call(text: str, names: dict[str, Any]) -> tuple[Any, Example]:
    """What a call in words calls, and its arguments: 'Attention(32, 4)(x, context=c)'.

    ``names``: what its words may mean. The code is run.
    """
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ArgumentError(f"{SUCH_A_CALL}: {error.msg}.") from None

    def value(part: ast.expr) -> Any:
        return eval(compile(ast.Expression(part), "--call", "eval"), names)  # noqa: S307

    try:
        while not _is_call(node):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Lambda):  # a call around it
                given = zip(node.func.args.args, node.args, strict=True)
                names = names | {parameter.arg: value(x) for parameter, x in given}
                node = node.func.body
            elif isinstance(node, ast.Subscript | ast.Attribute):  # a part of what comes back
                node = node.value
            else:
                raise ArgumentError(f"{SUCH_A_CALL}, got {text!r}.")
        arguments = tuple(value(x) for x in node.args)
        keywords = {x.arg: value(x.value) for x in node.keywords if x.arg}
        return value(node.func), Example(arguments, keywords)
    except ArgumentError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise ArgumentError(f"the call {text} cannot be made: {why}.") from None


def _is_call(node: ast.expr) -> TypeGuard[ast.Call]:
    """Whether this calls something that has a name."""
    return isinstance(node, ast.Call) and not isinstance(node.func, ast.Lambda)
