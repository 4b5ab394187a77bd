"""Bounds of every head's scores at every step, from the log-sum-exp that fused kernels return.

max <= logsumexp <= max + log(number of visible keys), row by row: a head whose largest log-sum-exp
is not above a threshold has no score above it. Only the others need their exact maximum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from regard.engine.tensors import in_host_memory
from regard.monitoring.health import HIDING_BIAS, largest_logsumexp, largest_scores
from regard.watcher.capture.events import (
    FUSED,
    OPTIONAL_LOGSUMEXP,
    AttentionEvent,
    fused_event,
    run_with_logsumexp,
)
from regard.watcher.capture.modules import attach_hook, in_backward

if TYPE_CHECKING:
    import torch

SOFTMAX = "aten::_softmax"


@cache
def certificate_mode() -> Any:
    """The class of the dispatch mode, made once: torch is imported when it is first needed."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class CertificateMode(TorchDispatchMode):  # type: ignore[misc]
        """Runs every operator as it is, and calls ``found`` with the fused attentions."""

        def __init__(self, found: Callable[[AttentionEvent], None]) -> None:
            super().__init__()
            self.found = found

        @classmethod
        def _should_skip_dynamo(cls) -> bool:  # True would import torch._dynamo, for seconds
            return False

        def __torch_dispatch__(
            self, function: Any, types: Any, arguments: Any = (), keywords: Any = None
        ) -> Any:
            name = function._schema.name
            keywords = keywords or {}
            if name not in FUSED:
                result = function(*arguments, **keywords)
                if name == SOFTMAX and arguments[0].ndim == 4:
                    self.found(AttentionEvent(weights=arguments[0].detach()))
                return result
            run = run_with_logsumexp if name in OPTIONAL_LOGSUMEXP else _run
            result = run(function, arguments, keywords)
            self.found(fused_event(FUSED[name], arguments, keywords, result))
            return result

    return CertificateMode


def _run(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return function(*arguments, **keywords)


class AttentionHooks:
    """Hooks on the modules that attend: within their forward the operators are looked at.

    ``found`` is called with the module and an attention of it. Outside of these modules, and in
    the backward pass, nothing of a program is touched.
    """

    def __init__(self, found: Callable[[Any, AttentionEvent], None]) -> None:
        self.found, self.active = found, False
        self._removers: list[Callable[[], None]] = []
        self._entered: list[Any] = []

    def attach(self, modules: list[Any]) -> None:
        for module in modules:
            self._removers.append(attach_hook(module, "forward_pre", self._begin))
            self._removers.append(attach_hook(module, "forward", self._end, always_call=True))

    def remove(self) -> None:
        self.drop_interrupted()
        for remove in self._removers:
            remove()
        self._removers = []

    def drop_interrupted(self) -> None:
        """Leave modes whose forward KeyboardInterrupt ended, for which torch calls no hook."""
        if not self._entered:
            return
        from torch.utils._python_dispatch import _get_current_dispatch_mode

        while self._entered:
            mode = self._entered.pop()
            mode.found = _ignore
            if _get_current_dispatch_mode() is mode:
                mode.__exit__(None, None, None)

    def _begin(self, module: Any, arguments: Any) -> None:
        import torch

        if torch.compiler.is_compiling() or not self.active or in_backward():
            return
        mode = certificate_mode()(lambda event: self.found(module, event))
        mode.__enter__()
        mode.module = module
        self._entered.append(mode)

    def _end(self, module: Any, arguments: Any, output: Any) -> None:
        import torch

        if torch.compiler.is_compiling() or not self._entered:
            return
        if self._entered[-1].module is module:
            self._entered.pop().__exit__(None, None, None)


def _ignore(event: AttentionEvent) -> None:
    """The callback of a mode that was left behind."""


def bound(event: AttentionEvent, live: torch.Tensor | None = None) -> torch.Tensor | None:
    """The largest log-sum-exp of each head (h), float32; of scores (b, h, q, k) their maximum.

    ``live`` (b, h or 1, q) are the queries that see a key: kernels return anything for the others,
    flash attention +inf.
    """
    if event.weights is not None:
        return event.weights.amax(dim=(0, 2, 3)).float()
    total = event.logsumexp
    if total is None:
        return None
    if live is not None:
        total = total.masked_fill(~live, -math.inf)
    bound_h = largest_logsumexp(total).float()
    assert event.query is not None
    # torch's kernel for a CPU returns a log-sum-exp and an output of 0 for a query with a nan.
    for vectors in (event.query if in_host_memory(event.query) else None, event.value):
        if vectors is not None and vectors.ndim == 4:
            bound_h = bound_h + _zero_or_nan(vectors, len(bound_h))
    return bound_h


def _zero_or_nan(vectors: torch.Tensor, heads: int) -> torch.Tensor:
    """0 for each head, nan where a vector (b, h, t, d) of it has nan or an infinity."""
    import torch

    sums_h = vectors.detach().sum(dim=(0, 2, 3), dtype=torch.float32)
    zero_h = sums_h - sums_h
    return zero_h if len(zero_h) == heads else zero_h.repeat_interleave(heads // len(zero_h))


def live_queries(mask: torch.Tensor) -> torch.Tensor:
    """Queries (b or 1, h or 1, q or 1) that a mask lets see a key."""
    import torch

    visible = mask if mask.dtype == torch.bool else mask > HIDING_BIAS
    return visible.any(dim=-1)


def join_exact(
    event: AttentionEvent, bound_h: torch.Tensor, largest_h: torch.Tensor, threshold: float
) -> None:
    """Join the largest scores of heads whose bound is above the threshold to ``largest_h``.

    On a GPU the kernel itself looks at the bounds, so that the host does not wait.
    """
    import torch

    if event.weights is not None:
        torch.maximum(largest_h, bound_h, out=largest_h)
        return
    query, key = event.query, event.key
    assert query is not None
    assert key is not None
    scale = query.shape[-1] ** -0.5 if event.scale is None else event.scale
    if not in_host_memory(query) and event.softcap is None:
        from regard.engine.gpu.health import join_largest, reasons_against_health

        if not reasons_against_health(query, key):
            join_largest(
                query, key, bound_h, largest_h, threshold=threshold, scale=scale,
                causal=event.causal, mask=event.mask,
            )  # fmt: skip
            return
    heads = [h for h, top in enumerate(bound_h.tolist()) if not top <= threshold]
    if heads:
        at = torch.tensor(heads, device=largest_h.device)
        found = largest_scores(event, scale, heads).to(largest_h)
        largest_h[at] = torch.maximum(largest_h[at], found)


def lower_bound(logsumexp: float, keys: int) -> float:
    """The smallest that a head's largest score can be, given its largest log-sum-exp.

    >>> lower_bound(10.0, 1)
    10.0
    """
    return logsumexp - math.log(max(1, keys))
