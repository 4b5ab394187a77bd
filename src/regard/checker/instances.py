"""Instances: classes are made with sizes that are tried until one attends.

What a parameter is called decides only which of the sizes is tried first.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, is_dataclass
from itertools import islice, product
from typing import Any

from regard.checker.adapters import made_values
from regard.checker.signatures import function_parameters
from regard.errors import ArgumentError

WIDTH, HEADS, HEAD_WIDTH, TOKENS = 12, 3, 4, 512
WIDER = 4
MAX_TRIED = 150
GROUPED = r"kv_?head|key_value_head|kv_?groups|query_groups|num_queries_per|_kv$"
# The values to try for a parameter, by what its name holds, the first match first.
VALUES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    (r"drop|prob|^p$|^rate$", (0.1, 0.0)),
    (r"theta|^base$", (10000.0,)),
    (r"temperature", (2.0,)),
    (r"eps", (1e-5,)),
    (r"layer_?(idx|id|index|number)|^layer$", (0,)),
    (r"init_range|std", (0.5,)),
    (r"causal", (True, False)),
    (r"bias|flash|debug|verbose|sliding|^(use|is|with|has|return|output)_|^vis$", (False, True)),
    (r"device", ("cpu",)),
    (r"window", (TOKENS, 64, (5, 1))),
    (r"max|block|context_?(len|size|win)|seq|ctx|length|position|^t$", (TOKENS, 64)),
    (r"n_?layers?|num_layers", (2,)),
    (GROUPED, (3, 1)),
    (r"(dim|size|width|d|per|channels)_?(per_)?heads?$|heads?_?(dim|size|width|d)|^d_?[kv]$|qk_dim",
     (HEAD_WIDTH, WIDTH)),
    (r"heads?|^h$|^nh$|^n_h$", (HEADS, 4, 2, 1)),
    (r"dim|embd?|width|size|features|channels|model|hidden|^d|^e$|state|_in$|_out$|^in|^out|query|"
     r"key|value|cond", (WIDTH, HEAD_WIDTH, HEADS, 64)),
)  # fmt: skip
UNKNOWN = (WIDTH, HEADS, HEAD_WIDTH, 0.1, None)


def values_for(name: str, grouped: bool) -> tuple[Any, ...]:
    """The values to try for a parameter, the likeliest first.

    >>> values_for("num_heads", False), values_for("dropout", False), values_for("r", False)
    ((3, 4, 2, 1), (0.1, 0.0), (12, 3, 4, 0.1, None))
    """
    for pattern, values in VALUES:
        if re.search(pattern, name.lower()):
            if grouped and values[0] in (WIDTH, HEADS) and pattern != GROUPED:
                return (2 * values[0], *values)
            return values
    return UNKNOWN


class TriedConfig:
    """A config that has whatever it is asked for, by attribute or by key."""

    def __init__(self, choose: Callable[[str], Any]) -> None:
        object.__setattr__(self, "_choose", choose)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._choose(name)

    def __getitem__(self, name: str) -> Any:
        return self._choose(name)

    def get(self, name: str, default: Any = None) -> Any:
        return self._choose(name) if default is None else default


@dataclass
class Assignment:
    """The value of every size that a class asked for so far, and the values still to be tried."""

    grouped: bool = False
    wide: bool = False
    slots: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    chosen: dict[str, Any] = field(default_factory=dict)

    def choose(self, name: str) -> Any:
        self.slots.setdefault(name, values_for(name, self.grouped))
        value = self.chosen.get(name, self.slots[name][0])
        return WIDER * value if self.wide and value in (WIDTH, HEAD_WIDTH) else value


def made_instances(kind: type[Any], wide: bool = False) -> Iterator[Any]:
    """Instances of a class, made with one assignment of sizes after the other."""
    parameters = function_parameters(kind)
    text = " ".join(p.name for p in parameters) + " " + _source(kind)
    assignment = Assignment(bool(re.search(GROUPED, text.lower())), wide)
    error: Exception | None = None
    made = 0
    for combination in islice(_combinations(assignment), MAX_TRIED):
        assignment.chosen = combination
        try:
            instance = kind(**_arguments(parameters, assignment))
        except Exception as failure:
            error = error or failure
            continue
        made += 1
        yield instance
    if not made:
        why = f"{type(error).__name__}: {error}" if error else "nothing fits"
        blanks = ", ".join(f"{p.name}=..." for p in parameters if p.default is p.empty)
        raise ArgumentError(
            f"no instance of {kind.__name__} could be made ({why}): add this line to the file and "
            f"check attention: attention = {kind.__name__}({blanks})"
        )


def _combinations(assignment: Assignment) -> Iterator[dict[str, Any]]:
    """All assignments of the slots known by then; more slots may come up on the way."""
    done: set[tuple[tuple[str, Any], ...]] = set()
    yield {}
    while True:
        names = tuple(assignment.slots)
        for values in islice(product(*assignment.slots.values()), MAX_TRIED):
            combination = dict(zip(names, values, strict=True))
            key = tuple(combination.items())
            if key not in done:
                done.add(key)
                yield combination
            if tuple(assignment.slots) != names:
                break
        else:
            return


def _arguments(parameters: list[inspect.Parameter], assignment: Assignment) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for parameter in parameters:
        name, default = parameter.name, parameter.default
        optional = default is not parameter.empty
        special = made_values(name)
        if special and not isinstance(default, int | float):
            chosen[name] = special[0]
        elif is_dataclass(parameter.annotation) or re.fullmatch(
            r"(model_?)?(config|cfg|args|params|hparams|conf)|c", name.lower()
        ):
            chosen[name] = _config(parameter.annotation, assignment)
        elif not optional:
            chosen[name] = assignment.choose(name)
        elif isinstance(default, bool):
            if "causal" in name.lower() or name == "batch_first":
                chosen[name] = True
        elif isinstance(default, int) and _is_size(name):
            chosen[name] = assignment.choose(name)
    return chosen


def _is_size(name: str) -> bool:
    """Whether a name says that a number is a width or a number of heads."""
    values = values_for(name, False)
    return values is not UNKNOWN and values[0] in (WIDTH, HEADS, HEAD_WIDTH)


def _config(annotation: Any, assignment: Assignment) -> Any:
    if is_dataclass(annotation) and isinstance(annotation, type):
        try:
            made = annotation()
        except TypeError:
            return TriedConfig(assignment.choose)
        for name, value in vars(made).items():
            sized = isinstance(value, int) and not isinstance(value, bool)
            if sized and values_for(name, False) is not UNKNOWN:
                object.__setattr__(made, name, assignment.choose(name))
        return made
    return TriedConfig(assignment.choose)


def _source(kind: type[Any]) -> str:
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return ""
