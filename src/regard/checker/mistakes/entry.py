"""One mistake: its name, what it does and why it looks plausible, the fix, and its stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.checker.cases import Case
from regard.textbook.stages import Stages, Trace, run
from regard.typing import Array


def _as_it_is(case: Case, trace: Trace) -> Trace:
    return trace


@dataclass(frozen=True)
class PatchedStages(Stages):
    """Stages of attention and a change of what they gave, for mistakes that no stage can make."""

    after: Callable[[Case, Trace], Trace] = _as_it_is


UNCHANGED = PatchedStages()


def run_stages(stages: Stages, case: Case, dtype: Any = np.float64) -> Trace:
    """Attention by these stages, with the bias of the case, and by what comes after them."""
    if case.bias is not None:
        added, bias = stages.bias, case.bias
        stages = replace(stages, bias=lambda scores, inputs: added(scores, inputs) + bias)
    trace = run(stages, case, dtype)
    return stages.after(case, trace) if isinstance(stages, PatchedStages) else trace


@dataclass(frozen=True)
class Mistake:
    """A mistake: one or more wrong stages of attention, or wrong conduct.

    ``variants`` are the stages in which it is made, the usual one first. A mistake of conduct
    (inputs changed, results that differ) has right values and no stages: ``conduct`` makes it.
    ``unnamed``: only the feature that is wrong is known.
    """

    name: str
    about: str
    fix: str
    variants: tuple[Stages, ...] = ()
    returns: str = "output"
    conduct: Callable[..., Any] | None = None
    unnamed: bool = False

    @property
    def markdown(self) -> str:
        """The entry as docs/check.md shows it: the name, what it does, the fix."""
        return f"### {self.name}\n\n{self.about}\n\n```python\n{self.fix}\n```\n"

    @property
    def function(self) -> Callable[..., Any]:
        """The wrong attention, with the arguments of ``attend``; right where nothing is known."""
        stages = self.variants[0] if self.variants else UNCHANGED
        return self.conduct or as_function(stages, self.returns)


def ignore_visibility(array: Array, visible: Array, case: Case) -> Array:
    """The scores or weights as they are: a stage that hides nothing and empties no row."""
    return array


def changed(**stages: Any) -> Stages:
    """The specification with other stages."""
    return replace(UNCHANGED, **stages)


def combined(one: Stages, other: Stages) -> Stages | None:
    """Both changes at once; None where both change the same stage."""
    first, second = one.changes(), other.changes()
    return None if first.keys() & second.keys() else changed(**first, **second)


def as_function(stages: Stages, returns: str = "output") -> Callable[..., Any]:
    """Stages as an ordinary function of (b, h, t, d) arrays.

    >>> attention = as_function(UNCHANGED, "weights")
    >>> attention(*[np.ones((1, 1, 2, 2))] * 3)
    array([[[[0.5, 0.5],
             [0.5, 0.5]]]])
    """

    def attention(
        query: Array,
        key: Array,
        value: Array,
        *,
        mask: Array | None = None,
        causal: bool = False,
        offset: int = 0,
        window: tuple[int | None, int | None] | None = None,
        softcap: float | None = None,
        scale: float | None = None,
        lengths: Array | None = None,
    ) -> Any:
        _, _, _, _ = query.shape  # exactly these axes: fewer would be read as others
        case = Case(query, key, value, mask, causal, offset, window, softcap, scale, lengths)
        result = run_stages(stages, case, np.result_type(query))
        returned = tuple(getattr(result, name) for name in returns.split())
        return returned if len(returned) > 1 else returned[0]

    return attention
