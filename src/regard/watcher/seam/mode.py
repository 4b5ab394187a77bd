"""AttentionMode: calls a reader with every attention among torch's functions, on one thread.

A function mode sees torch's functions with the program's own arguments, above autograd, and costs a
third of a dispatch mode. A dispatch mode runs inside a single call of a fused kernel, for its
log-sum-exp; no other operator goes through one, so that nothing else of a program rounds otherwise.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from regard.errors import BackendError
from regard.watcher.capture.modules import in_backward, is_traced
from regard.watcher.seam.call import AttentionCall, Place, Reader, declare
from regard.watcher.seam.kernels import (
    FLASH,
    FUSED,
    OPTIONAL_LOGSUMEXP,
    flash_call,
    flex_call,
    named_arguments,
    nested_call,
    run_with_logsumexp,
    usable_logsumexp,
)
from regard.watcher.seam.running import sentence_axes
from regard.watcher.seam.written import PRODUCTS, SOFTMAX, Found, Written, joined_masks

FUSED_NAMES = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
SOFTMAX_OPERATORS = ("aten::_softmax", "aten::_safe_softmax")
# Functions of which every model calls many, and which make neither scores nor weights.
PASSED = frozenset({
    "__get__", "size", "dim", "layer_norm", "rms_norm", "gelu", "silu", "relu", "stack", "arange",
})  # fmt: skip


class KernelProbe(TorchDispatchMode):  # type: ignore[misc]
    """Inside one call of a fused attention: its kernel's log-sum-exp, and the dtype it used.

    Where no kernel serves, as with dropout on a CPU, torch takes a softmax of ``scores``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.logsumexp: torch.Tensor | None = None
        self.dtype: torch.dtype | None = None
        self.scores: torch.Tensor | None = None

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Keep torch from importing its compiler at the first operator, which takes seconds."""
        return False

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: Any = (), keywords: Any = None
    ) -> Any:
        keywords, name = keywords or {}, function._schema.name
        if name == "aten::scaled_dot_product_attention":  # undivided under inference_mode
            with self:
                composite = torch._C.DispatchKey.CompositeImplicitAutograd
                return function._op_dk(composite, *arguments, **keywords)
        if name in OPTIONAL_LOGSUMEXP:
            result = run_with_logsumexp(function, arguments, keywords)
        else:
            result = function(*arguments, **keywords)
        if name in SOFTMAX_OPERATORS:
            self.scores = arguments[0].detach()
        elif name in FUSED:
            self.dtype = arguments[0].dtype  # that of autocast, perhaps
            self.logsumexp = usable_logsumexp(result[1], arguments[0])
        return result


class AttentionMode(TorchFunctionMode):  # type: ignore[misc]
    """Runs every function of torch as it is, and calls ``reader`` with those that are attention.

    ``place`` says where an attention happened, ``embedded`` gets the table and the indices of every
    embedding: the tokens of a text. What is written by hand is followed by ``written``.
    """

    def __init__(
        self,
        reader: Reader,
        place: Callable[[str], Place] = lambda inside: Place(),
        embedded: Callable[[Any, Any], None] | None = None,
        written: Written | None = None,
    ) -> None:
        super().__init__()
        self.reader, self.place, self.embedded = reader, place, embedded
        self.written = written or Written()
        self.written.refuse = self._refuse
        self.refused: Callable[[Place], None] = lambda place: None
        self._features: dict[int, Place] = {}  # of softmaxes that are none of scores, by number

    def __torch_function__(
        self, function: Any, types: Any, arguments: Any = (), keywords: Any = None
    ) -> Any:
        keywords = keywords or {}
        name = getattr(function, "__name__", "")
        if name in PASSED:
            return function(*arguments, **keywords)
        if torch._C._functorch.peek_interpreter_stack() is not None:
            return self._transformed(function, name, arguments, keywords)
        if function is F.scaled_dot_product_attention:
            return self._fused(function, arguments, keywords)
        if function is declare:
            return self._declared(*arguments, **keywords)
        if function is F.multi_head_attention_forward:
            with self:  # its own lines, but for the question whether a mode overrides it
                return unasked(function)(*arguments, **keywords)
        if _operator_name(function) in FUSED:
            return self._fused_operator(function, arguments, keywords)
        result = function(*arguments, **keywords)
        if name == "embedding" and self.embedded is not None:
            self._look_up(function, arguments, keywords)
        elif name in PRODUCTS or name in SOFTMAX or self.written.holds:
            found = self.written.follow(name, arguments, keywords, result)
            return result if found is None else self._by_hand(found, result)
        elif name == "flex_attention" and len(arguments) == 9:  # the operator, not the function
            return self._kernel(flex_call(arguments, result), result)
        elif _operator_name(function) in FLASH:
            return self._kernel(flash_call(_schema(function), arguments, keywords, result), result)
        return result

    def _look_up(self, function: Any, arguments: Any, keywords: Any) -> None:
        given = dict(zip(("input", "weight"), arguments, strict=False)) | keywords
        table, ids = given["weight"], given["input"]
        if function is torch.embedding:
            table, ids = ids, table
        if self.embedded is not None and not (in_backward() or is_traced()):
            self.embedded(table, ids)

    def _read(self, call: AttentionCall) -> Any:
        if in_backward() or is_traced() or 0 in call.shape:
            return None
        return self.reader(call)

    def _fused(self, function: Any, arguments: Any, keywords: Any) -> Any:
        given = dict(zip(FUSED_NAMES, arguments, strict=False)) | keywords
        query, key, value = (given[x] for x in FUSED_NAMES[:3])
        if (
            in_backward()
            or is_traced()
            or query.ndim < 3
            or 0 in (*query.shape[:-1], key.shape[-2])
        ):
            return function(*arguments, **keywords)
        if query.is_nested:
            result = function(*arguments, **keywords)
            causal = bool(given.get("is_causal"))
            call = nested_call((query, key, value), causal, given.get("scale"))
            return self._kernel(call, result)
        with KernelProbe() as probe:
            output = function(*arguments, **keywords)
        return self._changed(given, output, probe)

    def _changed(self, given: dict[str, Any], output: Any, probe: KernelProbe) -> Any:
        """The output of a fused kernel for the program, read."""
        query, key, value = (given[x] for x in FUSED_NAMES[:3])
        dtype = probe.dtype or _autocast(query)
        as_4d = _four_axes(query)
        query, key = (as_4d(x.to(dtype)) for x in (query, key))
        call = AttentionCall(
            self.place(""), query, key, as_4d(value.to(dtype)), as_4d(output),
            causal=bool(given.get("is_causal")), mask=given.get("attn_mask"),
            scale=given.get("scale"), logsumexp=probe.logsumexp,
            scores=None if probe.scores is None else as_4d(probe.scores),
            dropout_p=given.get("dropout_p") or 0.0, dtype=dtype,
        )  # fmt: skip
        changed = self._read(call)
        return output if changed is None else changed.reshape(output.shape).to(output.dtype)

    def _transformed(self, function: Any, name: str, arguments: Any, keywords: Any) -> Any:
        """A function inside ``torch.func``'s vmap or grad, whose tensors are wrapped.

        They are read without their wrappers; the axis of vmap comes first.
        """
        if function is declare:
            return keywords.get("output")
        from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

        result = function(*arguments, **keywords)
        watched = function is F.scaled_dot_product_attention
        if not (watched or name in PRODUCTS or name in SOFTMAX or self.written.holds):
            return result
        with temporarily_clear_interpreter_stack():
            bare = tree_map(_bare, (arguments, keywords, result))
            self._read_bare(function, name, *bare, added=_ndim(bare[2]) - _ndim(result))
        return result

    def _read_bare(
        self, function: Any, name: str, arguments: Any, keywords: Any, output: Any, *, added: int
    ) -> None:
        """Read a function whose tensors have so many axes of vmap in front."""
        if function is F.scaled_dot_product_attention:
            given = dict(zip(FUSED_NAMES, arguments, strict=False)) | keywords
            mask, shape = given.get("attn_mask"), given["query"].shape
            if mask is not None and mask.ndim == 3 and len(shape) == 4:
                given["attn_mask"] = mask[:, None]  # of each call of vmap
            read = self._changed(given, output, KernelProbe())
        else:
            arguments, keywords = _shifted(name, arguments, keywords, added)
            found = self.written.follow(name, arguments, keywords, output)
            read = output if found is None else self._by_hand(found, output)
        if read is not output:
            raise BackendError("heads cannot be changed inside torch.func's vmap and grad.")

    def _fused_operator(self, function: Any, arguments: Any, keywords: Any) -> Any:
        """One of the operators that torch's own function chooses from, called by name."""
        given = named_arguments(_schema(function), arguments, keywords)
        with KernelProbe() as probe:
            result = function(*arguments, **keywords)
        call = AttentionCall(
            self.place(""), given["q"], given["k"], given["v"], result[0],
            causal=bool(given.get("causal")), mask=given.get("attn_mask", given.get("attn_bias")),
            scale=given.get("softmax_scale"), logsumexp=probe.logsumexp, dtype=probe.dtype,
            dropout_p=given.get("dropout_p") or 0.0,
        )  # fmt: skip
        changed = self._read(call)
        return result if changed is None else (changed, *result[1:])

    def _kernel(self, call: AttentionCall, result: Any, inside: str = "") -> Any:
        """A kernel whose own output cannot be replaced."""
        call = replace(call, place=self.place(inside))
        if self._read(call) is not None:
            raise BackendError(
                f"{call.place.path or 'the program'} attends by a kernel ({call.kernel}) in whose "
                "output no head can be changed: load the model with attn_implementation='sdpa'."
            )
        return result

    def fast_path(self, call: AttentionCall, inside: str) -> None:
        """Take an operator of torch's fast path, which another object has seen."""
        self._kernel(call, None, inside)

    def _declared(self, query: Any, key: Any, value: Any, **options: Any) -> Any:
        output = options.get("output")
        call = AttentionCall(
            self.place(""), query, key, value, **options, kernel="declared",
            dtype=query.dtype,
        )  # fmt: skip
        changed = self._read(call)
        return output if changed is None else changed

    def _refuse(self, serial: int) -> None:
        if serial in self._features:
            self.refused(self._features.pop(serial))

    def _by_hand(self, found: Found, result: torch.Tensor) -> Any:
        if in_backward() or is_traced() or 0 in found.weights.shape:
            return result
        place = self.place("")
        if found.held.scores is None:
            self._features[found.held.serial] = place
        q, k = found.weights.shape[-2:]
        leading = tuple(found.weights.shape[:-2])
        swapped, shape = sentence_axes(leading, place.module, _sentences(place, q))

        def ours(x: Any) -> Any:
            """(..., t, d) as (b, h or g, t, d)."""
            if x is None:
                return None
            if x.shape[:-2] == leading:
                x = x.transpose(0, 1) if swapped else x
                return x.reshape(*shape, *x.shape[-2:])
            if x.ndim == 4:
                x = x.transpose(0, 1) if swapped else x
                return x if shape[1] % max(1, x.shape[1]) == 0 else None
            whole = x.ndim == 3 and x.shape[0] % shape[0] == 0
            return x.unflatten(0, (shape[0], -1)) if whole else None

        weights, held = ours(found.weights), found.held
        scores = held.scores
        last = held.raw_axis == held.raw.ndim - 1
        raw = ours(held.raw) if last and found.in_order else None
        options: dict[str, Any] = {}
        if scores is not None and scores.known and found.in_order and not held.changed:
            query, key = ours(scores.query), ours(scores.key)
            mask = joined_masks(scores.masks, (*shape, q, k))
            alike = query is not None and key is not None and mask is not False
            if alike and tuple(query.shape[:3]) == (*shape, q) and key.shape[2] == k:
                options = {"query": query, "key": key, "mask": mask}
                options |= {"scale": scores.scale, "softcap": scores.softcap}
        output = found.as_output(result)
        call = AttentionCall(
            place, value=ours(found.value), output=ours(output), sinks=found.sinks,
            weights=weights, scores=raw, dropout_p=held.dropout_p, kernel="hand",
            dtype=weights.dtype, mixed=held.mixed, **options,
        )  # fmt: skip
        changed = self._read(call)
        if changed is None:
            return result
        flat = changed.reshape(*(leading[::-1] if swapped else leading), *changed.shape[-2:])
        flat = flat.transpose(0, 1) if swapped else flat
        return found.as_result(flat.to(result.dtype))


def _sentences(place: Place, queries: int) -> int | None:
    """Sentences of the module's input, (b, t, e) or (t, b, e), where its tokens are the queries."""
    if place.given is None or queries not in place.given:
        return None
    first, second = place.given
    return first if second == queries else second


def _four_axes(query: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """(b, h, t, d) of what torch also takes as (b, t, d) and with more leading axes."""
    if query.ndim == 4:
        return lambda x: x
    if query.ndim == 3:
        return lambda x: x[:, None]
    return lambda x: x.flatten(0, -4)


def _autocast(query: torch.Tensor) -> torch.dtype:
    """The dtype that torch's own functions compute an attention in."""
    device = query.device.type
    dtype: torch.dtype = query.dtype
    if torch.is_autocast_enabled(device) and dtype != torch.float64:
        dtype = torch.get_autocast_dtype(device)
    return dtype


def _operator_name(function: Any) -> str:
    name = getattr(function, "_qualified_op_name", "")
    return str(name or getattr(getattr(function, "_schema", None), "name", ""))


def _ndim(x: Any) -> int:
    return x.ndim if isinstance(x, torch.Tensor) else 0


def _bare(x: Any) -> Any:
    """A tensor without the wrappers of torch.func; the axes of vmap come first."""
    if not isinstance(x, torch.Tensor):
        return x
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(x):
        axis = functorch.maybe_get_bdim(x)
        x = functorch.get_unwrapped(x)
        x = x if axis < 0 else x.movedim(axis, 0)
    return x


def _shifted(name: str, arguments: Any, keywords: Any, added: int) -> tuple[Any, Any]:
    """Arguments that name axes, for tensors with so many more in front."""
    if not added:
        return arguments, keywords
    if name in SOFTMAX:
        given = dict(zip(("input", "dim", "dtype"), arguments, strict=False)) | keywords
        axis = given.get("dim", -1)
        given["dim"] = axis if axis is None or axis < 0 else axis + added
        return (given.pop("input"),), given
    if name == "einsum" and isinstance(arguments[0], str) and added == 1:
        terms, _, out = arguments[0].partition("->")
        factors = arguments[1] if isinstance(arguments[1], list | tuple) else arguments[1:]
        names = [
            f"Z{x}" if y.ndim > len(x.strip()) else x
            for x, y in zip(terms.split(","), factors, strict=False)
        ]
        return (f"{','.join(names)}->Z{out}", *factors), keywords
    return arguments, keywords


def _schema(function: Any) -> Any:
    return getattr(function, "_schema", None) or function.default._schema


_copies: dict[Any, Any] = {}


def unasked(function: Any) -> Any:
    """A Python function of torch without its question whether a mode overrides it."""
    if function not in _copies:
        names = {**function.__globals__, "has_torch_function": lambda tensors: False}
        copy = types.FunctionType(
            function.__code__, names, function.__name__, function.__defaults__,
            function.__closure__,
        )  # fmt: skip
        copy.__kwdefaults__ = function.__kwdefaults__
        _copies[function] = copy
    return _copies[function]
