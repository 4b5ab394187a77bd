"""Functions that compute attention, judged by their arguments: contracts, not what they did.

``kernel=`` names them; those that transformers has in its registry are taken without being named.
Each is replaced in place for the block. What a function calls inside says where it rounds.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from regard.errors import ArgumentError
from regard.judging.asked import Asked
from regard.judging.reading import asked_of

if TYPE_CHECKING:
    from regard.judging.judge import Judge
    from regard.watcher.seam.call import AttentionCall
    from regard.watcher.seam.source import AttentionSource

NAMES = {
    "query": ("query", "q"),
    "key": ("key", "k"),
    "value": ("value", "v"),
    "mask": ("attn_mask", "mask", "attention_mask", "attn_bias", "bias"),
    "causal": ("is_causal", "causal"),
    "scale": ("scale", "softmax_scale", "scaling", "sm_scale"),
    "window": ("window_size", "sliding_window", "window"),
    "softcap": ("softcap", "logits_soft_cap", "soft_cap"),
    "dropout": ("dropout_p", "dropout"),
    "sinks": ("s_aux", "sinks"),
}
# Names of the flash-attn package, whose tensors are (b, t, h, d).
FLASH_NAMES = frozenset({"softmax_scale", "window_size", "causal"})


class Contracts:
    """Judges the calls of the seam, but for those inside a function that has a contract."""

    def __init__(self, judge: Judge, model: Any, kernels: tuple[Any, ...]) -> None:
        self.judge, self.model, self.kernels = judge, model, kernels
        self.source: AttentionSource | None = None
        self.inside: list[list[AttentionCall]] = []

    def read(self, call: AttentionCall) -> None:
        """A call of the seam: judged, or kept for the contract that it is part of."""
        if self.inside:
            self.inside[-1].append(call)
        else:
            self.judge.read(call)

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Replace the functions, and put them back."""
        undo: list[Callable[[], None]] = []
        try:
            for kernel in self.kernels:
                _check_names(kernel)
                undo += _rebind(kernel, self._wrapped(kernel), self.model)
            undo += self._registry()
            yield
        finally:
            for put_back in reversed(undo):
                put_back()

    def _registry(self) -> list[Callable[[], None]]:
        modeling = sys.modules.get("transformers.modeling_utils")
        registry = getattr(modeling, "ALL_ATTENTION_FUNCTIONS", None)
        undo: list[Callable[[], None]] = []
        for mapping in (getattr(registry, x, {}) for x in ("_global_mapping", "_local_mapping")):
            for name, function in list(mapping.items()):
                if function not in self.kernels:
                    mapping[name] = self._wrapped(function, of_transformers=True)
                    undo.append(functools.partial(mapping.__setitem__, name, function))
        return undo

    def _wrapped(self, function: Any, *, of_transformers: bool = False) -> Any:
        @functools.wraps(function)
        def seen(*arguments: Any, **keywords: Any) -> Any:
            source = self.source
            if source is None or not source.modules.inside or not source.modules.on_thread:
                return function(*arguments, **keywords)
            self.inside.append([])
            try:
                result = function(*arguments, **keywords)
            finally:
                calls = self.inside.pop()
            known = str(getattr(function, "__module__", "")).startswith("transformers.")
            if of_transformers and calls and known:
                for call in calls:  # torch's own contract, which is nearer to the kernel
                    self.read(call)
                return result
            if of_transformers:
                asked = _of_registry(arguments, keywords, result)
            else:
                asked = _of_function(function, arguments, keywords, result)
            if self.inside:
                return result
            self._judge(function, asked, calls)
            return result

        return seen

    def _judge(self, function: Any, asked: dict[str, Any] | str, calls: list[Any]) -> None:
        assert self.source is not None
        module, path = self.source.modules.module, self.source.modules.path or "program"
        if isinstance(asked, str):
            self.judge.take(asked, path, module)
            return
        name = str(getattr(function, "__name__", "kernel"))
        whole = Asked(**asked, kernel=name, path=path)
        if len(calls) == 1:
            whole = _with_inner(asked, whole, calls[0])
        self.judge.take(whole, path, module)


def _with_inner(given: dict[str, Any], whole: Asked, call: AttentionCall) -> Asked:
    """What ran inside says whether scores were written, and gives them where they are known."""
    inner = asked_of(call)
    if isinstance(inner, str) or not inner.written or inner.shape[:2] != whole.shape[:2]:
        return whole
    known = {}
    if inner.shape[3:] == whole.shape[3:]:
        known = {"scores": inner.scores, "weights": inner.weights}
    return Asked(**given, **known, written=True, kernel=whole.kernel, path=whole.path)


def _signature(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"kernel has no signature to read: {function!r:.80}.") from error


def _check_names(function: Any) -> None:
    names = _signature(function)
    missing = [x for x in ("query", "key", "value") if not set(NAMES[x]) & set(names)]
    if missing:
        raise ArgumentError(
            f"kernel needs parameters named query, key and value (or q, k, v), "
            f"got {', '.join(names) or 'none'} in {getattr(function, '__name__', function)!s}."
        )


def _rebind(function: Any, wrapped: Any, model: Any) -> list[Callable[[], None]]:
    """Put the wrapper wherever a module, or a part of the model, has the function by a name."""
    undo: list[Callable[[], None]] = []
    places = [vars(module) for module in list(sys.modules.values()) if hasattr(module, "__dict__")]
    if model is not None:
        places += [vars(part) for part in model.modules()]
    for place in places:
        for name in [name for name, value in list(place.items()) if value is function]:
            place[name] = wrapped
            undo.append(functools.partial(place.__setitem__, name, function))
    if not undo:
        raise ArgumentError(
            f"kernel {getattr(function, '__name__', function)!s} is bound to no name of a module: "
            "call regard.declare(...) where it runs."
        )
    return undo


def _named(names: dict[str, Any], what: str) -> Any:
    return next((names[x] for x in NAMES[what] if names.get(x) is not None), None)


def _of_function(function: Any, arguments: Any, keywords: Any, result: Any) -> dict[str, Any] | str:
    """What a call of a function asked for, by the names of its parameters."""
    bound = inspect.signature(function).bind(*arguments, **keywords)
    bound.apply_defaults()
    names = dict(bound.arguments)
    for value in list(names.values()):  # of **options
        names |= value if isinstance(value, dict) else {}
    flash = bool(FLASH_NAMES & set(_signature(function)))
    tensors = [_named(names, x) for x in ("query", "key", "value")]
    output = result[0] if isinstance(result, tuple | list) else result
    if any(getattr(x, "ndim", 0) != 4 for x in (*tensors, output)):
        return "its query, key, value or output has not four axes"
    if flash:
        tensors, output = [x.transpose(1, 2) for x in tensors], output.transpose(1, 2)
    return _asked(tensors, output, names, bottom_right=flash)


def _of_registry(arguments: Any, keywords: Any, result: Any) -> dict[str, Any] | str:
    """What a model of transformers asked a function of its registry for."""
    order = ("module", "query", "key", "value", "attention_mask")
    names = dict(zip(order, arguments, strict=False)) | keywords
    output = result[0] if isinstance(result, tuple | list) else result
    tensors = [names.get(x) for x in order[1:4]]
    if any(getattr(x, "ndim", 0) != 4 for x in (*tensors, output)):
        return "its query, key, value or output has not four axes"
    mask = names.get("attention_mask")
    if mask is not None and getattr(mask, "ndim", 0) != 4:
        return "its mask is of a form of its own"
    if names.get("is_causal") is None:
        names["is_causal"] = bool(getattr(names.get("module"), "is_causal", False))
    if mask is not None or tensors[0].shape[2] == 1:
        names["is_causal"] = False  # a mask of transformers holds it
    return _asked(tensors, output.transpose(1, 2), names, bottom_right=True)


def _asked(
    tensors: list[Any], output: Any, names: dict[str, Any], *, bottom_right: bool
) -> dict[str, Any] | str:
    query, key, value = (x.detach() for x in tensors)
    b, h, q, d = query.shape
    if tuple(output.shape[:3]) != (b, h, q) or h % key.shape[1] or key.shape[1] != value.shape[1]:
        return "its heads are not laid out as its names say"
    window, scale = _named(names, "window"), _named(names, "scale")
    left, right = window if isinstance(window, tuple | list) else (window, None)
    behind = None if left is None or left < 0 else int(left)
    if behind is not None and not isinstance(window, tuple | list):
        behind -= 1  # a number of keys, the query's own among them
    ahead = None if right is None or right < 0 else int(right)
    if _named(names, "causal"):
        ahead = 0
    sinks = _named(names, "sinks")
    return {
        "query": query, "key": key, "value": value, "output": output.detach(),
        "scale": float(scale) if scale is not None else d**-0.5,
        "position": key.shape[2] - q if bottom_right else 0, "behind": behind, "ahead": ahead,
        "mask": _named(names, "mask"), "softcap": _named(names, "softcap"),
        "sinks": None if sinks is None else sinks.detach(),
        "dropout": float(_named(names, "dropout") or 0.0),
    }  # fmt: skip
