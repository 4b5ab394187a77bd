"""Every attention of a program: a dispatch mode that looks at operators after they ran.

The program's own kernels compute its output, so that it is the same to the bit. A fused kernel is
taken with the log-sum-exp that it returned; attention written by hand with its weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from regard.watcher.capture.attention_event import AttentionEvent, usable_logsumexp
from regard.watcher.capture.flash_events import FLASH, flash_event, flex_event, nested_event
from regard.watcher.capture.forwards import in_backward
from regard.watcher.capture.handwritten import SOFTMAX, HandwrittenAttention
from regard.watcher.capture.optional_logsumexp import OPTIONAL, run_with_logsumexp

if TYPE_CHECKING:
    import torch

# Under inference_mode these arrive undivided; their parts are what matters.
COMPOSITE = frozenset({
    "aten::scaled_dot_product_attention", "aten::matmul", "aten::softmax", "aten::einsum",
    "aten::dropout", "aten::to", "aten::contiguous", "aten::reshape",
})  # fmt: skip


@dataclass(frozen=True)
class FusedKernel:
    """Names of a fused kernel's arguments in order, and where its log-sum-exp is returned."""

    arguments: tuple[str, ...]
    logsumexp: int = 1


_BIASED = ("query", "key", "value", "mask", "compute_logsumexp", "dropout", "is_causal")
FUSED = {
    "aten::_scaled_dot_product_flash_attention_for_cpu": FusedKernel(
        ("query", "key", "value", "dropout", "is_causal")
    ),
    "aten::_scaled_dot_product_flash_attention": FusedKernel(
        ("query", "key", "value", "dropout", "is_causal")
    ),
    "aten::_scaled_dot_product_efficient_attention": FusedKernel(_BIASED),
    "aten::_scaled_dot_product_cudnn_attention": FusedKernel(_BIASED),
    "aten::_scaled_dot_product_fused_attention_overrideable": FusedKernel(
        ("query", "key", "value", "mask", "dropout", "is_causal")
    ),
}
KEYWORDS = {"attn_mask": "mask", "attn_bias": "mask", "is_causal": "is_causal", "scale": "scale"}


def fused_event(
    kernel: FusedKernel, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any
) -> AttentionEvent:
    """The event of a fused kernel, from its arguments and results."""
    given = dict(zip(kernel.arguments, arguments, strict=False))
    given |= {KEYWORDS[name]: value for name, value in keywords.items() if name in KEYWORDS}
    query, key = given["query"].detach(), given["key"].detach()
    return AttentionEvent(
        query,
        key,
        given.get("mask"),
        usable_logsumexp(result[kernel.logsumexp], query),
        causal=bool(given.get("is_causal", False)),
        scale=given.get("scale"),
    )


def linear(
    function: Any, vectors: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """A linear layer as torch computes it under inference_mode without a dispatch mode.

    With one, torch forgets that the weight is a parameter, and takes another product for vectors
    that are not contiguous, which rounds in another order.
    """
    if vectors.ndim < 3 or vectors.is_contiguous() or not weight.requires_grad:
        return cast("torch.Tensor", function(vectors, weight, bias))
    product = vectors.reshape(-1, vectors.shape[-1]).mm(weight.t())
    product = product.view(*vectors.shape[:-1], weight.shape[0])
    return product if bias is None else product + bias


def _is_nested(arguments: tuple[Any, ...]) -> bool:
    return bool(arguments) and getattr(arguments[0], "is_nested", False)


def event_of(
    function: Any, arguments: Any, keywords: Any, result: Any, handwritten: HandwrittenAttention
) -> AttentionEvent | None:
    """The attention that an operator is, if it is one."""
    schema = getattr(function, "_schema", None)
    if schema is None:  # an operator of higher order
        return flex_event(arguments, result) if str(function) == "flex_attention" else None
    name = schema.name
    if _is_nested(arguments):
        return nested_event(result) if name in SOFTMAX else None
    if name in FUSED:
        return fused_event(FUSED[name], arguments, keywords, result)
    if name in FLASH:
        return flash_event(schema, arguments, keywords, result)
    weights = handwritten.follow(name, arguments, result)
    return None if weights is None else AttentionEvent(weights=weights)


@cache
def _operator_mode() -> Any:
    """The class of the dispatch mode, made once: torch is imported when it is first needed."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    composite = torch._C.DispatchKey.CompositeImplicitAutograd

    class OperatorMode(TorchDispatchMode):  # type: ignore[misc]
        """Runs every operator as it is, and calls ``look`` afterwards."""

        supports_higher_order_operators = True  # flex attention is one

        def __init__(self, look: Callable[[Any, Any, Any, Any], None]) -> None:
            super().__init__()
            self.look = look

        def __torch_dispatch__(
            self, function: Any, types: Any, arguments: Any = (), keywords: Any = None
        ) -> Any:
            keywords = keywords or {}
            name = getattr(getattr(function, "_schema", None), "name", "")
            if name in COMPOSITE and not _is_nested(arguments):
                with self:  # the kernel of torch itself: decompose may take another
                    return function._op_dk(composite, *arguments, **keywords)
            if name == "aten::linear" and not _is_nested(arguments):
                return linear(function, *arguments)
            if name in OPTIONAL:
                result = run_with_logsumexp(function, arguments, keywords)
            else:
                result = function(*arguments, **keywords)
            if not in_backward():
                self.look(function, arguments, keywords, result)
            return result

    return OperatorMode


@contextmanager
def attention_events(
    take: Callable[[AttentionEvent], None],
    embedded: Callable[[torch.Tensor, torch.Tensor], None] | None = None,
) -> Iterator[None]:
    """Call ``take`` with every attention of the block, on this thread.

    ``embedded`` gets the table and the indices of every embedding: the tokens of a text.
    """
    import torch

    handwritten = HandwrittenAttention()

    def look(function: Any, arguments: Any, keywords: Any, result: Any) -> None:
        if embedded is not None and getattr(function, "_name", "") == "aten::embedding":
            embedded(arguments[0], arguments[1])
        event = event_of(function, arguments, keywords, result, handwritten)
        if event is not None:
            take(event)

    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # its one operator returns no log-sum-exp
    try:
        with _operator_mode()(look):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
