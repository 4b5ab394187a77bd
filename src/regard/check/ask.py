"""Call a function once on a case, on fresh copies, and hold whatever comes back."""

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.check.arrays import to_library, to_numpy
from regard.check.calling import Calling
from regard.check.case import Array, Case


@dataclass(frozen=True)
class Answer:
    """What came back, as float64, with the dtypes it had; or the error."""

    arrays: tuple[Array, ...] = ()
    dtypes: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    error: str = ""

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of everything that came back."""
        return tuple(array.shape for array in self.arrays)


def ask(function: Callable[..., Any], calling: Calling, case: Case) -> Answer:
    """Call it; an exception is an answer too."""
    arrays = calling.arrays(case)
    options = calling.options(case)
    try:
        given = {x: to_library(a, calling.library, calling.dtype) for x, a in arrays.items()}
        named = {x: _given(o, calling) for x, o in options.items()}
        late = [named.pop(x) for x in calling.roles.positional if x in named]
        before = [to_numpy(array)[0] for array in given.values()]
        with _quietly(calling.library):
            returned = function(*given.values(), *late, **named)
        parts = [to_numpy(part) for part in _parts(returned)]
    except Exception as error:
        return Answer(error=_one_line(error))
    if not parts:
        return Answer(error=f"it returned {type(returned).__name__}, not an array")
    after = [to_numpy(array)[0] for array in given.values()]
    changed = [
        name
        for name, one, other in zip(given, before, after, strict=True)
        if not np.array_equal(one, other)
    ]
    arrays_back, dtypes = zip(*parts, strict=True)
    return Answer(arrays_back, dtypes, tuple(changed))


def _given(option: Any, calling: Calling) -> Any:
    if isinstance(option, np.ndarray):
        return to_library(option, calling.library, calling.dtype)
    return option


def _parts(returned: Any) -> list[Any]:
    """The arrays in whatever was returned."""
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
    """Warnings and printed lines of the user's function would drown the report."""
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
