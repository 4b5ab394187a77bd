"""Subjects of NumPy, JAX and other code: operands from the trace of the library.

Sums cannot be edited here, so that the last stage is left to the rebuilt attention.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any
from unittest.mock import patch

import numpy as np

from regard.checker.adapters import Layer, as_float64, as_layer, native, trace
from regard.checker.adapters.tape import Edits, Run
from regard.checker.calling import MATRIX_NAME, Attempt, Binding, attempts
from regard.checker.example import Example
from regard.checker.graph import Trace
from regard.checker.instances import WIDTH
from regard.checker.reading import _weights_and_values, find_operands, pack
from regard.checker.signatures import function_parameters
from regard.checker.structure.subject import (
    BATCH,
    LONGER,
    MAX_WAYS,
    TOKENS,
    Found,
    Subject,
)
from regard.errors import ArgumentError
from regard.typing import Array

NOISE_IN_FLOAT32 = 1e-5
MAX_TRACED_WAYS = 60


@dataclass(eq=False)
class TracedRun(Run):
    """One call: its trace instead of a tape."""

    trace: Trace = field(default_factory=Trace)
    taken: dict[str, list[Array]] = field(default_factory=dict)  # of what sine and cosine are

    def angles(self, name: str) -> Array:
        return np.concatenate([*self.taken.get(name, []), np.zeros(0)])


@dataclass
class TracedSubject(Subject):
    """A subject whose operands are found in the trace of its library.

    ``places``: the container and the key of each parameter.
    """

    places: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def run(self, arrays: list[Array], edits: Edits | None = None) -> Run:
        layer = self.layer
        packed = [
            native(np.ascontiguousarray(pack(a, form)), layer.library, layer.traced_in)
            for a, form in zip(arrays, self.forms, strict=True)
        ]
        taken: dict[str, list[Array]] = {"sin": [], "cos": []}
        noted: dict[str, Any] = {name: _noted(name, taken[name]) for name in taken}
        with patch.multiple(np, **noted):
            made = trace(layer.library, self.bind(packed, self.options), packed)
        returned = made.returned
        parts = returned.values() if isinstance(returned, dict) else returned
        parts = list(parts) if isinstance(returned, tuple | list | dict) else [returned]
        leaves = [as_float64(x) for x in parts if hasattr(x, "shape")]
        return TracedRun([], leaves[0], leaves, made, taken)

    def operands(self, run: Run) -> dict[str, Array]:
        assert isinstance(run, TracedRun)
        found = find_operands(run.trace, self.found.key_first if self.layouts else None)
        if found is None:
            raise ArgumentError("no attention in the trace")
        self.found.key_first = found.key_first
        q, k, v = (part.array for part in found.parts)
        products = [node for node in found.sums if node.product is not None]
        w = np.concatenate([_weights_and_values(node)[0] for node in products])
        return {"q": q, "k": k, "v": v, "w": w, "s": w @ v}

    def traced_factor(self, role: str, run: Run) -> float | None:
        assert isinstance(run, TracedRun)
        found = find_operands(run.trace, self.found.key_first)
        return None if found is None else found.parts["qkv".index(role)].origin()[1]

    def find(self, run: Run) -> Found | None:
        assert isinstance(run, TracedRun)
        found = find_operands(run.trace)
        return None if found is None else Found(list(range(len(found.sums))), fused=True)

    def write(self, name: str, numbers: Array) -> None:
        container, key = self.places[name]
        before = self.params[name]
        made = native(numbers, self.layer.library, str(before.dtype))
        if isinstance(container, dict | list):
            container[key] = made
        else:
            setattr(container, key, made)


def _noted(name: str, taken: list[Array]) -> Callable[..., Any]:
    """The sine or cosine of NumPy, which notes what it is taken of."""
    function = getattr(np, name)

    def call(x: Any, *rest: Any, **options: Any) -> Any:
        with contextlib.suppress(TypeError, ValueError):
            taken.append(np.asarray(x, np.float64).ravel().copy())
        return function(x, *rest, **options)

    return call


def traced_subjects(target: Any, library: str, example: Example | None) -> Iterator[Subject]:
    """The first way to call code of a library in which its attention is found."""
    layer = as_layer(target) or Layer(target, target, target, library, "float64")
    own = dict(_leaves(target, "", 2)) if hasattr(target, "__dict__") and layer.parameters else {}
    if example is not None:
        ways = example.attempts(layer)
    else:
        parameters = function_parameters(layer.called)
        tried = islice(attempts(parameters, layer, layer.widths or [WIDTH]), MAX_WAYS)
        ways = ((x, BATCH, (TOKENS, *[TOKENS + LONGER] * (len(x.names) - 1))) for x in tried)
    failed: dict[Any, int] = {}
    for attempt, batch, lengths in islice(ways, MAX_TRACED_WAYS):
        if failed.get(attempt.key, 0) > 2:
            continue
        with contextlib.suppress(Exception):  # whatever the code raises with these arguments
            subject = _traced(layer, attempt, own, batch, lengths)
            if subject is not None:
                if example is not None:
                    subject.masks = example.masks(layer)
                    subject.cached = example.cached(layer, subject.names)
                yield subject
                return
        failed[attempt.key] = failed.get(attempt.key, 0) + 1
    raise ArgumentError("no attention was found in any call")


def _traced(
    layer: Layer, attempt: Attempt, own: dict[str, Any], batch: int, lengths: tuple[int, ...]
) -> TracedSubject | None:
    fixed = attempt.settled(layer)
    values = {name: make(batch, lengths[0]) for name, make in fixed.items()}
    places = dict(own)
    unused = []
    for name, value in values.items():
        matrix = bool(re.search(MATRIX_NAME, name.lower()))
        if isinstance(value, dict | list | tuple):
            values[name] = value = list(value) if isinstance(value, tuple) else value
            places |= _leaves(value, f"{name}.", 1)
        elif matrix and hasattr(value, "shape"):
            places[name] = values, name
        elif matrix and value is None:
            unused.append(name)
    makers = {name: _current(values, name) for name in values}
    bound = Binding(layer.called, attempt.names, attempt.forms, makers | attempt.masks)
    params = {name: _get(*place) for name, place in places.items()}

    def call(arrays: list[Any], options: dict[str, Any]) -> Any:
        return replace(bound, options=options).bind(layer.exact, arrays, layer.library)

    one = TracedSubject(layer, attempt.names, attempt.forms, call, params, lengths,
                        batch if "b" in attempt.forms[0] else 1, tuple(unused), (),
                        places=places)  # fmt: skip
    if "32" in layer.traced_in or layer.library in ("jax", "tinygrad"):
        one.noise = NOISE_IN_FLOAT32
    if one.arrange() and one.out_form and np.isfinite(one.see(one.draw(1)).output).all():
        return one
    return None


def _current(values: dict[str, Any], name: str) -> Any:
    return lambda b, t: values[name]


def _get(container: Any, key: Any) -> Any:
    return container[key] if isinstance(container, dict | list) else getattr(container, key)


def _leaves(value: Any, prefix: str, depth: int) -> dict[str, tuple[Any, Any]]:
    """The container and key of every array of floats inside a value, by a name."""
    inner = dict(enumerate(value)) if isinstance(value, list) else value
    items = inner if isinstance(inner, dict) else getattr(value, "__dict__", {})
    found: dict[str, tuple[Any, Any]] = {}
    for key, part in items.items():
        if "float" in str(getattr(part, "dtype", "")) and len(getattr(part, "shape", ())) > 0:
            found[f"{prefix}{key}"] = value, key
        elif depth > 0 and (isinstance(part, dict | list) or hasattr(part, "__dict__")):
            found |= _leaves(part, f"{prefix}{key}.", depth - 1)
    return found
