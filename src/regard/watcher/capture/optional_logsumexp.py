"""Fused kernels that return a log-sum-exp only if asked, asked for it without changing the output.

torch asks for it where gradients will be needed. Without it all facts would need a second forward
pass over the keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

OPTIONAL = frozenset({
    "aten::_scaled_dot_product_cudnn_attention", "aten::_scaled_dot_product_efficient_attention",
})  # fmt: skip
ASKED, DROPOUT = 4, 5  # positions of these arguments in both kernels

# By kind of call: whether the output is the same to the bit. One more run decides, the first time.
_same_output: dict[tuple[Any, ...], bool] = {}


def run_with_logsumexp(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The results of a kernel, with a log-sum-exp unless that gives other bits of the output."""
    kind = _kind(function, arguments, keywords)
    if kind is None or _same_output.get(kind) is False:
        return function(*arguments, **keywords)
    asked = function(*arguments[:ASKED], True, *arguments[ASKED + 1 :], **keywords)
    if kind not in _same_output:
        plain = function(*arguments, **keywords)
        _same_output[kind] = _same_bits(plain[0], asked[0])
        return asked if _same_output[kind] else plain
    return asked


def _kind(
    function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Any, ...] | None:
    """What a library chooses its kernel by; None where the call is left as it is.

    It asks for the log-sum-exp already, or has dropout, which is random.
    """
    if len(arguments) <= ASKED or arguments[ASKED] or keywords.keys() - {"dropout_p", "scale"}:
        return None
    if arguments[DROPOUT] if len(arguments) > DROPOUT else keywords.get("dropout_p"):
        return None
    tensors = tuple(
        None if x is None else (tuple(x.shape), x.stride(), x.dtype, x.device)
        for x in arguments[:ASKED]
    )
    return str(function), tensors, arguments[DROPOUT:], tuple(sorted(keywords.items()))


def _same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors agree in every bit, also where they hold nan."""
    import torch

    integers = {2: torch.int16, 4: torch.int32, 8: torch.int64}[one.element_size()]
    return bool(torch.equal(one.view(integers), other.view(integers)))
