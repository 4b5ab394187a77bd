"""Calls of a candidate function with fresh copies of a case."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.checker.cases import Case
from regard.checker.convention import CallingConvention
from regard.engine.tensors import dtype_name, to_float64, to_library
from regard.typing import Array


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
    """The result of one call; an exception is reported, and is no result."""
    try:
        arrays, leading, keywords = call_arguments(convention, case)
        before = {x: to_float64(array) for x, array in arrays.items()}
        with quietly(convention.library):
            returned = function(*leading, **keywords)
        parts = [(to_float64(part), dtype_name(part)) for part in returned_arrays(returned)]
    except Exception as error:
        return CallResult(error=one_line(error))
    if not parts:
        return CallResult(error=f"it returned {type(returned).__name__}, not an array")
    changed = [x for x, a in arrays.items() if not np.array_equal(to_float64(a), before[x])]
    arrays_back, dtypes = zip(*parts, strict=True)
    return CallResult(arrays_back, dtypes, tuple(changed))


def call_arguments(
    convention: CallingConvention, case: Case
) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
    """The main arrays by role, then all arguments: by position, and by name."""
    roles = convention.roles
    arrays = {x: _to_library(a, convention) for x, a in convention.arrays(case).items()}
    options = {x: _to_library(o, convention) for x, o in convention.options(case).items()}
    given = options | arrays
    leading = [given.pop(role) for role in roles.leading if role in given]
    return arrays, leading, {roles.names[role]: value for role, value in given.items()}


def _to_library(option: Any, convention: CallingConvention) -> Any:
    if isinstance(option, np.ndarray):
        return to_library(option, convention.library, convention.dtype)
    if isinstance(option, tuple) and any(isinstance(x, np.ndarray) for x in option):
        return tuple(_to_library(x, convention) for x in option)
    return option


def returned_arrays(returned: Any) -> list[Any]:
    """The arrays among the returned objects; pairs of cached keys and values are left out."""
    if returned is None or isinstance(returned, str):
        return []
    if isinstance(returned, dict):
        returned = tuple(returned.values())
    if isinstance(returned, list):
        returned = np.asarray([np.asarray(part) for part in returned], np.float64)
    parts = returned if isinstance(returned, tuple) else (returned,)
    return [part for part in parts if part is not None and _is_array(part)]


def _is_array(part: Any) -> bool:
    if isinstance(part, (tuple, dict)):
        return False
    return bool(np.ndim(part) > 0)


@contextlib.contextmanager
def quietly(library: str, gradients: bool = False) -> Iterator[None]:
    """A context without warnings and printed lines, and without gradients unless asked for."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(np.errstate(all="ignore"))
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        if library == "torch" and not gradients:
            import torch

            stack.enter_context(torch.no_grad())
        yield


def one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:140]}"
