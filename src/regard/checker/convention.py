"""Calls of a candidate function: one calling convention, applied to fresh copies of a case."""

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.checker.cases import Case, draw_projected, join_heads
from regard.checker.signatures import Roles
from regard.checker.torch_modules import Parameters
from regard.engine.tensors import dtype_name, to_float64, to_library
from regard.textbook.stages import Trace
from regard.typing import Array

LAYOUTS = {"qkv": ("bhtd", "bthd", "btd", "thd", "td"), "xw": ("btd", "td"), "x": ("btd", "td")}


AXES = {
    "bhtd": "(batch, head, token, feature)",
    "bthd": "(batch, token, head, feature)",
    "btd": "(batch, token, feature)",
    "bte": "(batch, token, head * feature)",
    "thd": "(token, head, feature)",
    "td": "(token, feature)",
}


@dataclass(frozen=True)
class CallingConvention:
    """A calling convention: the form of the arguments and of the results.

    ``mask_form``: bool, hides (True hides), added (0 and -inf), ones (1.0 and 0.0).
    ``mask_shape``: full, qk, b1qk or bqk. ``last``: without an offset, the queries are the last
    words. ``always``: causal without being asked.
    """

    roles: Roles
    layout: str
    library: str = "numpy"
    dtype: str = "float64"
    mask_form: str = "bool"
    mask_shape: str = "full"
    pad_form: str = "hides"
    last: bool = False
    always: bool = False
    parameters: Parameters | None = None

    @property
    def batched(self) -> bool:
        """Whether there is an axis of sentences."""
        return "b" in self.layout

    @property
    def headed(self) -> bool:
        """Whether there can be several heads."""
        several = self.parameters is not None or self.roles.has("heads")
        return "h" in self.layout or self.layout == "bte" or (self.roles.form != "qkv" and several)

    def fit(self, case: Case) -> Case | None:
        """The case as this convention can express it; None where it cannot."""
        heads, batch = case.query.shape[1], case.query.shape[0]
        if case.key.shape[1] != heads and (not self.headed or self.roles.form != "qkv"):
            return None
        case = _cut(case, batch if self.batched else 1, heads if self.headed else 1)
        if self.roles.form != "qkv":
            if case.query.shape[2] != case.key.shape[2]:
                return None
            case = self._project(case)
        if "mask" in self.roles.required and case.mask is None:
            case = replace(case, mask=np.ones((case.query.shape[2], case.key.shape[2]), bool))
        if self.always or (case.causal and not self.roles.has("offset")):
            offset = case.key.shape[2] - case.query.shape[2] if self.last else 0
            case = replace(case, causal=True, offset=offset)
        return case

    def _project(self, case: Case) -> Case:
        if self.parameters is not None:
            return self.parameters.project(case)
        if self.roles.form == "xw":
            return draw_projected(case)
        x = join_heads(case.query)
        return case.with_projections((np.eye(x.shape[-1]),) * 3, x)

    def arrays(self, case: Case) -> dict[str, Array]:
        """The arrays that go first, by role."""
        if self.roles.form == "qkv":
            arrays = {"query": case.query, "key": case.key, "value": case.value}
            return {name: self.pack(arrays[name]) for name in self.roles.order}
        x = case.x if case.x is not None else case.query[:, 0]
        if self.parameters is not None:
            x = x[..., :-1]  # the last column is the 1 that the bias multiplies
        arrays = {"x": x if self.batched else x[0]}
        if self.roles.form == "xw":
            arrays |= dict(zip(("w_query", "w_key", "w_value"), case.matrices, strict=True))
        return arrays

    def options(self, case: Case) -> dict[str, Any]:
        """The keyword arguments."""
        options: dict[str, Any] = {
            "causal": case.causal and not self.always,
            "scale": case.scale,
            "offset": case.offset,
            "window": case.window,
            "softcap": case.softcap,
        }
        options["heads"], options["width"] = case.query.shape[1], case.query.shape[-1]
        options["mask"] = None if case.mask is None else self._mask(case)
        options["lengths"], options["padding"] = case.lengths, self._padding(case)
        options["grouped"] = case.key.shape[1] != case.query.shape[1]
        options["dropout"] = 0.0 if "dropout" in self.roles.required else None
        options["w_output"] = np.eye(case.query.shape[1] * case.value.shape[-1])
        options["need weights"] = None
        always = ("heads", "width", "w_output", *self.roles.required)
        return {
            name: options[role]
            for role, name in self.roles.names.items()
            if role in always or options[role] is not None
        }

    def pack(self, array_bhtd: Array) -> Array:
        """An array (b, h, t, d) in the function's layout; an odd shape loses its axes of size 1."""
        if array_bhtd.ndim != 4:
            return array_bhtd.squeeze()
        if self.layout == "bte" or self.roles.form != "qkv":
            joined_bte = join_heads(array_bhtd)
            return joined_bte if self.batched else joined_bte[0]
        if self.layout in ("bthd", "thd"):
            array_bhtd = array_bhtd.swapaxes(1, 2)
        elif not self.headed:
            array_bhtd = array_bhtd[:, 0]
        return array_bhtd if self.batched else array_bhtd[0]

    def expected(self, result: Trace) -> dict[str, Array]:
        """Every array that the function might return, by kind, in its shape."""
        output = self.pack(result.output)
        if self.parameters is not None and result.output.ndim == 4:
            output = self.parameters.finish(output)
        if result.weights.ndim != 4:
            return {"output": output}
        kinds = {"output": output, "weights": self._drop_axes(result.weights)}
        if self.layout == "bhtd":
            kinds["output, tokens first"] = result.output.swapaxes(1, 2)
            kinds["output, heads joined"] = join_heads(result.output)
        if self.headed:
            mean = result.weights.mean(axis=1)
            kinds["weights, mean over heads"] = mean if self.batched else mean[0]
        kinds["log-sum-exp"] = self._drop_axes(result.logsumexp)
        if self.layout == "bthd":
            kinds["log-sum-exp by token"] = result.logsumexp.swapaxes(1, 2)
        return kinds | {"received": self._drop_axes(result.received)}

    def _drop_axes(self, array_bhx: Array) -> Array:
        array = array_bhx if self.headed else array_bhx[:, 0]
        return array if self.batched else array[0]

    def _mask(self, case: Case) -> Array:
        mask_qk = np.asarray(case.mask)
        b, h = case.query.shape[:2]
        if mask_qk.dtype == bool:
            mask_qk = _in_form(mask_qk, self.mask_form)
        if mask_qk.ndim == 2:
            shapes: dict[str, tuple[int, ...]] = {"qk": (), "b1qk": (b, 1), "bqk": (b,)}
            shapes["full"] = ((b,) if self.batched else ()) + ((h,) if self.headed else ())
            mask_qk = np.broadcast_to(mask_qk, (*shapes[self.mask_shape], *mask_qk.shape))
        return mask_qk

    def _padding(self, case: Case) -> Array | None:
        if case.lengths is None:
            return None
        real_bk = np.arange(case.key.shape[2]) < np.asarray(case.lengths)[:, None]
        return _in_form(real_bk, self.pad_form)


def _in_form(visible: Array, form: str) -> Array:
    """A bool mask, True where a key is visible, in the form that a function takes."""
    if form == "added":
        return np.where(visible, 0.0, -np.inf)
    if form == "ones":
        return visible.astype(np.float64)
    return ~visible if form == "hides" else visible


def _cut(case: Case, batch: int, heads: int) -> Case:
    """The first sentences and heads."""
    keys = case.key.shape[1] if heads > 1 or case.query.shape[1] == heads else 1
    return replace(
        case,
        query=case.query[:batch, :heads],
        key=case.key[:batch, :keys],
        value=case.value[:batch, :keys],
        lengths=None if case.lengths is None else np.asarray(case.lengths)[:batch],
    )


@dataclass(frozen=True)
class CallResult:
    """The returned arrays as float64 and their dtypes, or the error."""

    arrays: tuple[Array, ...] = ()
    dtypes: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    error: str = ""

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of every returned array."""
        return tuple(array.shape for array in self.arrays)


def call_function(
    function: Callable[..., Any], convention: CallingConvention, case: Case
) -> CallResult:
    """The result of one call; an exception is a result too."""
    arrays = convention.arrays(case)
    options = convention.options(case)
    try:
        converted = {
            x: to_library(a, convention.library, convention.dtype) for x, a in arrays.items()
        }
        keywords = {x: _to_library(o, convention) for x, o in options.items()}
        late = [keywords.pop(x) for x in convention.roles.positional if x in keywords]
        before = [to_float64(array) for array in converted.values()]
        with _quietly(convention.library):
            returned = function(*converted.values(), *late, **keywords)
        parts = [(to_float64(part), dtype_name(part)) for part in _parts(returned)]
    except Exception as error:
        return CallResult(error=_one_line(error))
    if not parts:
        return CallResult(error=f"it returned {type(returned).__name__}, not an array")
    after = [to_float64(array) for array in converted.values()]
    changed = [
        name
        for name, one, other in zip(converted, before, after, strict=True)
        if not np.array_equal(one, other)
    ]
    arrays_back, dtypes = zip(*parts, strict=True)
    return CallResult(arrays_back, dtypes, tuple(changed))


def _to_library(option: Any, convention: CallingConvention) -> Any:
    if isinstance(option, np.ndarray):
        return to_library(option, convention.library, convention.dtype)
    return option


def _parts(returned: Any) -> list[Any]:
    """The arrays among the returned objects."""
    if returned is None or isinstance(returned, str):
        return []
    if isinstance(returned, dict):
        returned = tuple(returned.values())
    if isinstance(returned, list):
        returned = np.asarray([np.asarray(part) for part in returned], np.float64)
    parts = returned if isinstance(returned, tuple) else (returned,)
    return [part for part in parts if part is not None and np.ndim(part) > 0]


@contextlib.contextmanager
def _quietly(library: str) -> Iterator[None]:
    """A context without warnings, printed lines and gradients of the function under test."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(np.errstate(all="ignore"))
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        if library == "torch":
            import torch

            stack.enter_context(torch.no_grad())
        yield


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:140]}"
