"""Instances: classes are made and modules called with sizes that are tried until one attends.

What a parameter is called decides only which of the sizes is tried first.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import math
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, is_dataclass
from functools import partial
from itertools import islice, product
from typing import Any

import numpy as np

from regard.checker.reading import LAYOUTS_OF_X, ModuleReader, Reading
from regard.checker.signatures import ROLE_BY_NAME, function_parameters, main_role
from regard.checker.trace import TRACERS, Trace
from regard.engine.tensors import to_library
from regard.errors import ArgumentError
from regard.typing import Array

WIDTH, HEADS, HEAD_WIDTH, TOKENS = 12, 3, 4, 512
MAX_INSTANCES, MAX_WIDTHS = 150, 4
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
    (r"max|block|context_?(len|size|win)|seq|ctx|length|position|window|^t$", (TOKENS, 64)),
    (r"n_?layers?|num_layers", (2,)),
    (GROUPED, (3, 1)),
    (r"(dim|size|width|d|per|channels)_?(per_)?heads?$|heads?_?(dim|size|width|d)|^d_?[kv]$|qk_dim",
     (HEAD_WIDTH, WIDTH)),
    (r"heads?|^h$|^nh$|^n_h$", (HEADS, 4, 2, 1)),
    (r"dim|embd?|width|size|features|channels|model|hidden|^d|^e$|state|_in$|_out$|^in|^out|query|"
     r"key|value|cond", (WIDTH, HEAD_WIDTH, HEADS)),
)  # fmt: skip
UNKNOWN = (WIDTH, HEADS, HEAD_WIDTH, 0.1, None)
MASK_ROLES = ("mask", "padding", "lengths")
METHOD_NAMES = ("forward", "__call__", "call", "attend", "attention", "self_attention", "compute")


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
    slots: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    chosen: dict[str, Any] = field(default_factory=dict)

    def choose(self, name: str) -> Any:
        self.slots.setdefault(name, values_for(name, self.grouped))
        return self.chosen.get(name, self.slots[name][0])


def made_instances(kind: type[Any]) -> Iterator[Any]:
    """Instances of a class, made with one assignment of sizes after the other."""
    parameters = function_parameters(kind)
    text = " ".join(p.name for p in parameters) + " " + _source(kind)
    assignment = Assignment(grouped=bool(re.search(GROUPED, text.lower())))
    error: Exception | None = None
    tried = made = 0
    for combination in _combinations(assignment):
        tried += 1
        if tried > MAX_INSTANCES:
            break
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
        raise ArgumentError(
            f"no instance of {kind.__name__} could be made ({why}): add this line to the file and "
            f"check attention: attention = {kind.__name__}({_blanks(parameters)})"
        )


def _combinations(assignment: Assignment) -> Iterator[dict[str, Any]]:
    """All assignments of the slots known by then; more slots may come up on the way."""
    done: set[tuple[tuple[str, Any], ...]] = set()
    yield {}
    while True:
        names = tuple(assignment.slots)
        for values in islice(product(*assignment.slots.values()), MAX_INSTANCES):
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
        if is_dataclass(parameter.annotation) or re.fullmatch(
            r"(model_?)?(config|cfg|args|params|hparams|conf)|c", name.lower()
        ):
            chosen[name] = _config(parameter.annotation, assignment)
        elif not optional:
            chosen[name] = assignment.choose(name)
        elif isinstance(default, bool):
            if "causal" in name.lower() or name == "batch_first":
                chosen[name] = True
        elif isinstance(default, int) and values_for(name, False)[0] in (WIDTH, HEADS, HEAD_WIDTH):
            chosen[name] = assignment.choose(name)
    return chosen


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


def _blanks(parameters: list[inspect.Parameter]) -> str:
    return ", ".join(f"{p.name}=..." for p in parameters if p.default is p.empty)


def _source(kind: type[Any]) -> str:
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return ""


# Modules: how they are called, and the readings of their traces.


@dataclass(frozen=True, eq=False)
class CalledModule:
    """A module with the parameters that take arrays, and whatever else a call needs.

    ``fixed``: makers of further required arguments, from the number of tokens.
    """

    function: Callable[..., Any]
    library: str
    dtype: str
    names: tuple[str, ...]
    positional: bool
    readings: tuple[Reading, ...]
    fixed: dict[str, Callable[[int], Any]] = field(default_factory=dict)
    reader: ModuleReader | None = None
    has_unused_layer: bool = False

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        keywords = options | self._fixed(self._tokens(arrays, options))
        if not self.readings[0].inside or self.reader is None:
            return self.function(*arrays, **keywords)
        trace = TRACERS[self.library](self.function, list(arrays), keywords)
        first = arrays[0] if arrays else options[self.names[0]]
        words = (1, *first.shape)[-3:-1]
        return self.reader.inner(trace, words).reshape(*first.shape[:-1], -1)

    def _tokens(self, arrays: tuple[Any, ...], options: dict[str, Any]) -> int:
        first = arrays[0] if arrays else options.get(self.names[0])
        axis = self.readings[0].layout.index("t")
        return int(first.shape[axis]) if first is not None else 0

    def _fixed(self, tokens: int) -> dict[str, Any]:
        return {name: make(tokens) for name, make in self.fixed.items()}

    @property
    def is_ideal(self) -> bool:
        """Whether its sizes tell mistakes apart: some heads, wide enough, not as many as wide."""
        reading = self.readings[0]
        arrays = tuple(np.random.default_rng(5).standard_normal((2, 5, e)) for e in reading.widths)
        query = reading.features(arrays)[0]
        heads, width = query.shape[1], query.shape[-1]
        return bool(1 < heads <= 8 and width > 2 and heads != width)


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


def is_module(function: Any) -> bool:
    """Whether this is a PyTorch module, without importing PyTorch."""
    return any(kind.__module__.startswith("torch.nn.modules") for kind in type(function).__mro__)


def usable_module(module: Any) -> Any:
    """A PyTorch module without parameters that make every result alike.

    Parameters that are zero, constant, not finite or never filled are drawn anew, in a copy.
    """
    import torch

    if any(isinstance(p, torch.nn.UninitializedParameter) for p in module.parameters()):
        count = len([p for p in function_parameters(module) if p.default is p.empty])
        with contextlib.suppress(Exception), torch.no_grad():
            module(*[torch.randn(2, 5, WIDTH)] * count)  # the first call gives it its sizes
    poor = [name for name, p in module.named_parameters() if _is_poor(p)]
    module = copy.deepcopy(module) if poor else module
    random = torch.Generator().manual_seed(7)
    parameters = dict(module.named_parameters())
    with torch.no_grad():
        for name in poor:
            p = parameters[name]
            drawn = torch.randn(p.shape, generator=random, dtype=torch.float64)
            around = 1.0 if p.ndim == 1 and bool((p == 1).all()) else 0.0
            spread = 0.2 if p.ndim == 1 else p.shape[-1] ** -0.5
            p.copy_(around + spread * drawn)
    return module


def _is_poor(parameter: Any) -> bool:
    if parameter.numel() < 2 or not parameter.is_floating_point():
        return False
    numbers = parameter.detach().double()
    if not bool(numbers.isfinite().all()):
        return True
    spread = float(numbers.std())
    return not 1e-6 < spread < 1e3 or float(numbers.abs().max()) > 1e4


def call_module(module: Any, function: Callable[..., Any] | None = None) -> CalledModule:
    """A module, or an object, with a way to call it in which its attention is found."""
    if is_module(module):
        module = usable_module(module)
        return _call(module, module, "torch", _module_dtype(module), _module_widths(module))
    function = function or attention_method(module)
    return _call(module, function, "numpy", "float64", _object_widths(module))


def _call(
    module: Any, function: Callable[..., Any], library: str, dtype: str, widths: list[int]
) -> CalledModule:
    exact = _in_float64(function) if library == "torch" else function
    parameters = function_parameters(function)
    required = [p for p in parameters if p.default is p.empty and not _has_role(p.name)]
    required = required or parameters[:1]
    maybe = [
        p for p in parameters
        if p.default is None and not _has_role(p.name) and p not in required
    ]  # fmt: skip
    error = ""
    options = _mask_options(parameters)
    for count in range(len(required), 0, -1):
        sources, rest = required[:count], required[count:]
        for fixed in _fixed_arguments([p.name for p in rest], widths):
            for more in (maybe[:1], []) if count < 3 and maybe and not rest else ([],):
                names = tuple(p.name for p in (*sources, *more))
                positional = all(p.kind != p.KEYWORD_ONLY for p in (*sources, *more)) and [
                    p.name for p in parameters[: len(names)]
                ] == list(names)
                plan = CalledModule(function, library, dtype, names, positional, (), dict(fixed))
                for reader, readings in _tried(plan, exact, widths, options):
                    if isinstance(readings, str):
                        error = error or readings
                    elif not more or readings[0].takes_context:
                        return CalledModule(
                            function, library, dtype, names, positional, tuple(readings),
                            dict(fixed), reader, _has_unused_layer(exact, reader, readings[0]),
                        )  # fmt: skip
    raise ArgumentError(
        f"no attention was found in {type(module).__name__}: "
        + (f"called with random arrays it ends in {error}. " if error else "")
        + "Check the function inside it that takes q, k and v, or add a function of x alone to "
        "the file: def attention(x): return module(x)"
    )


def _has_unused_layer(module: Any, reader: ModuleReader, reading: Reading) -> bool:
    """Whether there is no output layer, and yet a matrix for one that nothing is done with."""
    if reading.output is not None or not is_module(module):
        return False
    unused = [p for p in module.parameters() if p.ndim == 2 and id(p) not in reader.seen]
    return any(reading.widths[reading.sources[0]] in p.shape for p in unused)


def _tried(
    plan: CalledModule, exact: Any, widths: list[int], options: dict[str, Any]
) -> Iterator[tuple[ModuleReader, Any]]:
    """The readings in each layout and width in which there are any, or the error."""
    count = len(plan.names)
    pairs = [(w,) * count for w in widths]
    pairs += [p for p in product(widths, repeat=count) if p not in pairs] if count == 2 else []
    for layout in LAYOUTS_OF_X:
        for sizes in pairs:
            reader = ModuleReader(partial(_trace, plan, exact, layout, options), layout)
            try:
                readings = reader.readings(sizes)
            except Exception as error:  # whatever the module raises with these sizes
                text = " ".join(str(error).split())[:120]
                yield reader, f"{type(error).__name__}: {text}"
                continue
            if readings:
                yield reader, readings


def _trace(
    plan: CalledModule, exact: Any, layout: str, options: dict[str, Any], arrays: tuple[Array, ...]
) -> Trace:
    """The trace of one call of the module in float64."""
    converted = [to_library(np.ascontiguousarray(a), plan.library, "float64") for a in arrays]
    tokens = arrays[0].shape[layout.index("t")]
    keywords = {name: make(tokens) for name, make in (plan.fixed | options).items()}
    if plan.positional:
        return TRACERS[plan.library](exact, converted, keywords)
    named = dict(zip(plan.names, converted, strict=True))
    return TRACERS[plan.library](exact, [], named | keywords)


def _mask_options(parameters: list[inspect.Parameter]) -> dict[str, Callable[[int], Any]]:
    """Required masks, which hide nothing while the attention is looked for."""
    names = [
        p.name for p in parameters
        if ROLE_BY_NAME.get(p.name.lower()) in MASK_ROLES and p.default is p.empty
    ]  # fmt: skip
    return {name: lambda tokens: None for name in names}


def _has_role(name: str) -> bool:
    return name.lower() in ROLE_BY_NAME and not main_role(name)


def _fixed_arguments(
    names: list[str], widths: list[int]
) -> Iterator[dict[str, Callable[[int], Any]]]:
    """Values to try for required arguments that no array fits: positions, a start, nothing."""
    if not names:
        yield {}
        return
    makers: list[Callable[[int], Any]] = [
        lambda t: _turns(t, HEAD_WIDTH), lambda t: 0, lambda t: None,
        lambda t: _turns(t, HEAD_WIDTH).real, lambda t: _turns(t, HEAD_WIDTH).imag,
    ]  # fmt: skip
    if len(names) > 2:
        return
    for chosen in product(makers, repeat=len(names)):
        yield dict(zip(names, chosen, strict=True))


def _turns(tokens: int, width: int) -> Any:
    """Rotations of pairs of features as complex numbers, (t, d / 2), for PyTorch."""
    import torch

    angles = torch.outer(
        torch.arange(tokens).double(), 10000.0 ** (-torch.arange(0, width, 2).double() / width)
    )
    return torch.polar(torch.ones_like(angles), angles)


def _module_dtype(module: Any) -> str:
    dtypes = [str(p.dtype).replace("torch.", "") for p in module.parameters()]
    return dtypes[0] if dtypes else "float32"


def _in_float64(module: Any) -> Any:
    """A copy of a module in float64 and eval mode; the module itself where there is none."""
    try:
        return copy.deepcopy(module).double().eval()
    except Exception:  # a module that cannot be copied is traced in its own precision
        return module


def _module_widths(module: Any) -> list[int]:
    """Widths that the arrays of a module may have: sizes of its parameters."""
    import torch

    sizes: list[int] = []
    for p in module.parameters():
        if not isinstance(p, torch.nn.UninitializedParameter) and p.ndim > 1:
            sizes += [int(p.shape[1]), int(p.shape[0])]
    return _most_frequent([n for n in sizes if n > 1] or [WIDTH])


def _object_widths(instance: Any) -> list[int]:
    sizes: list[int] = []
    for value in _arrays_of(instance, 2):
        sizes += [int(n) for n in value.shape if n > 1]
    return _most_frequent(sizes or [WIDTH])


def _arrays_of(value: Any, depth: int) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        if value.ndim > 1:
            yield value
    elif depth >= 0:
        parts = (
            value
            if isinstance(value, list | tuple)
            else list(getattr(value, "__dict__", {}).values())
        )
        for part in value.values() if isinstance(value, dict) else parts:
            yield from _arrays_of(part, depth - 1)


def _most_frequent(sizes: list[int]) -> list[int]:
    return sorted(set(sizes), key=lambda n: -sizes.count(n))[:MAX_WIDTHS]


def make_and_call(kind: type[Any]) -> tuple[Any, CalledModule | None]:
    """An instance of a class and a way to call it, the first whose sizes tell mistakes apart.

    The second is None for a class whose calls take query, key and value as they are.
    """
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(0)
    usable: list[tuple[Any, CalledModule]] = []
    first, why = None, ArgumentError("")
    for instance in made_instances(kind):
        instance = instance.eval() if is_module(instance) else instance
        first = first if first is not None else instance
        if takes_main_arrays(instance):
            if scalar_width(instance) in (0, HEAD_WIDTH):
                return instance, None
            continue
        try:
            called = call_module(instance)
        except ArgumentError as error:
            why = why if str(why) else error
            continue
        usable.append((instance, called))
        if called.is_ideal or len(usable) > 8:
            break
    if not usable and first is not None and takes_main_arrays(first):
        return first, None
    if not usable:
        raise why
    return next((pair for pair in usable if pair[1].is_ideal), usable[0])


def takes_main_arrays(instance: Any) -> bool:
    """Whether an object has no parameters of its own: its q, k and v are query, key and value."""
    if is_module(instance):
        return next(iter(instance.parameters()), None) is None
    return next(_arrays_of(instance, 2), None) is None


def scalar_width(instance: Any) -> int:
    """The head width that a module without parameters was made for; 0 where it says none."""
    numbers = [
        v for v in vars(instance).values() if isinstance(v, int | float) and not isinstance(v, bool)
    ]
    squares = [float(n) ** 2 for n in numbers if n > 1]
    return next((round(n) for n in squares if math.isclose(n, round(n), rel_tol=1e-9)), 0)
