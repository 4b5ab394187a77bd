"""Attention among the operators of a program: a dispatch mode that looks at them after they ran.

The program's own kernels compute its output, so that it is the same to the bit. A fused kernel is
taken with the log-sum-exp that it returned; attention written by hand with its weights.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Any, cast

from regard.errors import BackendError
from regard.watcher.capture.handwritten import SOFTMAX, HandwrittenAttention, Multiplied
from regard.watcher.capture.modules import in_backward, is_traced

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class AttentionEvent:
    """One attention of a program: query and key of a fused kernel, or the weights themselves.

    query (b, h, q, d), key (b, h_kv, k, d), mask as torch takes it, logsumexp (b, h, q) or None;
    weights (..., q, k), whose rows sum to less than 1 where a softmax has sinks, with the
    ``product`` that takes them. ``output`` and ``value`` are those of the program, (b, h, q, d) and
    (b, h_kv, k, d) of a fused kernel, None where their layout is not known. ``inside`` is the name
    of the attention in the module that runs, where one operator computes more than attention.
    """

    query: torch.Tensor | None = field(default=None, repr=False)
    key: torch.Tensor | None = field(default=None, repr=False)
    mask: torch.Tensor | None = field(default=None, repr=False)
    logsumexp: torch.Tensor | None = field(default=None, repr=False)
    weights: torch.Tensor | None = field(default=None, repr=False)
    causal: bool = False
    scale: float | None = None
    softcap: float | None = None
    output: torch.Tensor | None = field(default=None, repr=False)
    value: torch.Tensor | None = field(default=None, repr=False)
    product: Multiplied | None = field(default=None, repr=False)
    inside: str = ""


def usable_logsumexp(logsumexp: Any, query: torch.Tensor) -> torch.Tensor | None:
    """The log-sum-exp as (b, h, q); None where a kernel returned none."""
    shape = tuple(query.shape[:3])
    if logsumexp is None or logsumexp.numel() == 0:
        return None
    logsumexp = logsumexp.detach()
    if logsumexp.ndim == 4:  # cuDNN has one more axis
        logsumexp = logsumexp[..., 0]
    cut: torch.Tensor = logsumexp[..., : shape[2]]  # some kernels round the number of queries up
    return cut if tuple(cut.shape) == shape else None


# Operators whose arguments have the names of the flash-attn package, or those of aten.
FLASH = frozenset({
    "flash_attn::_flash_attn_forward", "flash_attn::_flash_attn_varlen_forward",
    "aten::_flash_attention_forward",
})  # fmt: skip
ATEN_NAMES = {
    "query": "q", "key": "k", "cum_seq_q": "cu_seqlens_q", "cum_seq_k": "cu_seqlens_k",
    "is_causal": "causal", "scale": "softmax_scale",
}  # fmt: skip
UNSUPPORTED_ARGUMENTS = ("block_table", "leftpad_k", "seqused_k")


def named_arguments(
    schema: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> dict[str, Any]:
    """Arguments of an operator under the names of its schema, as flash-attn calls them."""
    names: list[str] = [argument.name for argument in schema.arguments]
    given: dict[str, Any] = dict(zip(names, arguments, strict=False)) | keywords
    return {ATEN_NAMES.get(name, name): value for name, value in given.items()}


def flash_event(
    schema: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any
) -> AttentionEvent:
    """The event of a flash kernel: query (b, q, h, d), or packed (t, h, d) with its edges."""
    given = named_arguments(schema, arguments, keywords)
    for name in UNSUPPORTED_ARGUMENTS:
        if given.get(name) is not None:
            raise BackendError(
                f"{schema.name} reads its keys by {name!r}, which regard does not know: its "
                "weights would be wrong, so watch shows none."
            )
    scaling: dict[str, Any] = {
        "scale": given.get("softmax_scale"),
        "softcap": given.get("softcap") or None,
    }
    query, key = given["q"].detach(), given["k"].detach()
    causal, edges_q, edges_k = (given.get(x) for x in ("causal", "cu_seqlens_q", "cu_seqlens_k"))
    windows = [given.get(f"window_size_{side}") for side in ("left", "right")]
    windowed = given.get("alibi_slopes") is not None or any(
        x is not None and x >= 0 for x in windows
    )
    if edges_q is not None:
        (query, sizes_q), (key, sizes_k) = unpacked(query, edges_q), unpacked(key, edges_k)
    elif windowed or (causal and query.shape[1] != key.shape[1]):
        sizes_q, sizes_k = [query.shape[1]] * len(query), [key.shape[1]] * len(key)
    else:
        query, key = query.transpose(1, 2), key.transpose(1, 2)
        logsumexp = usable_logsumexp(result[1], query)
        output = result[0].detach().transpose(1, 2)
        return AttentionEvent(
            query, key, None, logsumexp, causal=bool(causal), output=output, **scaling
        )
    mask = _mask(given, sizes_q, sizes_k, query.device)
    return AttentionEvent(query.transpose(1, 2), key.transpose(1, 2), mask, **scaling)


def _mask(given: dict[str, Any], queries: list[int], keys: list[int], device: Any) -> torch.Tensor:
    """The mask (b, 1, q, k) of sequences of these lengths, with a bias for each head if it has."""
    import torch

    shape, sizes = (max(queries), max(keys)), zip(queries, keys, strict=True)
    mask = torch.stack([_visible(given, q, k, shape, device) for q, k in sizes])[:, None]
    slopes = given.get("alibi_slopes")
    if slopes is None:
        return mask
    return torch.where(mask, _alibi(slopes, queries, keys, mask), -torch.inf)


def unpacked(packed: torch.Tensor, edges: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
    """Sequences (t, h, d) between edges as (b, t, h, d) with zeros behind, and their lengths."""
    import torch

    parts = [packed[start:stop] for start, stop in pairwise(edges.tolist())]
    return torch.nn.utils.rnn.pad_sequence(parts, batch_first=True), [len(x) for x in parts]


def _visible(
    given: dict[str, Any], queries: int, keys: int, shape: tuple[int, int], device: Any
) -> torch.Tensor:
    """The mask (q, k) of one sequence: the last query has the position of the last key."""
    import torch

    at_q, at_k = (torch.arange(size, device=device) for size in shape)
    back = (at_q + keys - queries)[:, None] - at_k
    visible = (at_q < queries)[:, None] & (at_k < keys)
    left, right = (given.get(f"window_size_{side}") for side in ("left", "right"))
    if given.get("causal"):
        right = 0 if right is None or right < 0 else min(right, 0)
    if left is not None and left >= 0:
        visible &= back <= left
    if right is not None and right >= 0:
        visible &= back >= -right
    return visible


def _alibi(
    slopes: torch.Tensor, queries: list[int], keys: list[int], mask: torch.Tensor
) -> torch.Tensor:
    """The bias (b, h, q, k) of distances with a slope for each head, of all sentences or of one."""
    import torch

    at_q, at_k = (torch.arange(size, device=mask.device) for size in mask.shape[-2:])
    shift = torch.tensor(keys, device=mask.device) - torch.tensor(queries, device=mask.device)
    distance_bqk = ((at_q + shift[:, None])[..., None] - at_k).abs()
    slopes_bh = slopes.expand(len(queries), -1) if slopes.ndim == 1 else slopes
    return -slopes_bh[:, :, None, None] * distance_bqk[:, None]


def flex_event(arguments: tuple[Any, ...], result: tuple[Any, ...]) -> AttentionEvent:
    """The event of flex attention that runs uncompiled: its weights, which torch makes as well."""
    import torch

    query, key, _, score_mod, block_mask, scale, _, of_score, of_mask = arguments
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    query, key = query.detach().to(wide), key.detach().to(wide)
    key = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    scores = query @ key.transpose(-1, -2) * scale
    at = [
        torch.arange(size, device=query.device).view([-1 if x == axis else 1 for x in range(4)])
        for axis, size in enumerate(scores.shape)
    ]
    scores = score_mod(scores, *at, *of_score)
    scores = torch.where(block_mask[-1](*at, *of_mask), scores, -torch.inf)
    own, ours = result[1].detach() * log(2), scores.logsumexp(dim=-1)
    difference = (own - ours).abs()[own.isfinite() & ours.isfinite()]
    if not bool((difference <= 1e-3 * (1 + ours.abs().nan_to_num(0, 0, 0).max())).all()):
        raise BackendError(
            f"flex attention: the log-sum-exp of its kernel is {difference.max():.3g} away from "
            "that of the weights regard would show, so watch shows none."
        )
    return AttentionEvent(weights=scores.softmax(dim=-1).nan_to_num(0))


def nested_event(weights: Any) -> AttentionEvent:
    """The event of a softmax of nested tensors, (h, q, k) for each sentence."""
    return AttentionEvent(weights=weights.detach().to_padded_tensor(0.0))


# Operators of torch's fast path, which compute more than attention and return none of it.
FAST_PATH = frozenset({
    "aten::_native_multi_head_attention", "aten::_transformer_encoder_layer_fwd",
})  # fmt: skip
MASK_OF_KEYS = 1  # the kind of a mask (b, k); others are (q, k) and (b, h, q, k)


def fast_path_event(
    schema: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> AttentionEvent:
    """The event of the fast path: query and key are made from its input once more."""
    import torch

    given = named_arguments(schema, arguments, keywords)
    whole_layer = "src" in given
    heads = given["num_heads" if whole_layer else "num_head"]
    x_bte, visible = given["src" if whole_layer else "q"].detach(), None
    if x_bte.is_nested:
        sizes_b1 = torch.tensor([[len(x)] for x in x_bte.unbind()], device=x_bte.device)
        x_bte = x_bte.to_padded_tensor(0.0)
        at_k = torch.arange(x_bte.shape[1], device=x_bte.device)
        visible = (at_k < sizes_b1)[:, None, None]
    elif given.get("mask") is not None:
        hidden, kind = given["mask"].bool(), given.get("mask_type")
        visible = ~(hidden[:, None, None] if kind == MASK_OF_KEYS else hidden)
    if given.get("norm_first"):
        norm = given["norm_weight_1"], given["norm_bias_1"], given["eps"]
        x_bte = torch.nn.functional.layer_norm(x_bte, x_bte.shape[-1:], *norm)
    qkv = torch.nn.functional.linear(x_bte, given["qkv_weight"], given["qkv_bias"])
    query, key, _ = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in qkv.chunk(3, dim=-1))
    return AttentionEvent(query, key, visible, inside="self_attn" if whole_layer else "")


OPTIONAL_LOGSUMEXP = frozenset({
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


# Under inference_mode these arrive undivided; their parts are what matters.
COMPOSITE = frozenset({
    "aten::scaled_dot_product_attention", "aten::matmul", "aten::softmax", "aten::einsum",
    "aten::dropout", "aten::to", "aten::contiguous", "aten::reshape",
})  # fmt: skip

# Names of the arguments of fused kernels in order; all return their log-sum-exp second.
_PLAIN = ("query", "key", "value", "dropout", "is_causal")
_BIASED = ("query", "key", "value", "mask", "compute_logsumexp", "dropout", "is_causal")
FUSED = {
    "aten::_scaled_dot_product_flash_attention_for_cpu": _PLAIN,
    "aten::_scaled_dot_product_flash_attention": _PLAIN,
    "aten::_scaled_dot_product_efficient_attention": _BIASED,
    "aten::_scaled_dot_product_cudnn_attention": _BIASED,
    "aten::_scaled_dot_product_fused_attention_overrideable": (
        "query", "key", "value", "mask", "dropout", "is_causal",
    ),
}  # fmt: skip
KEYWORDS = {"attn_mask": "mask", "attn_bias": "mask", "is_causal": "is_causal", "scale": "scale"}


def fused_event(
    names: tuple[str, ...], arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any
) -> AttentionEvent:
    """The event of a fused kernel, from its arguments and results."""
    given = dict(zip(names, arguments, strict=False))
    given |= {KEYWORDS[name]: value for name, value in keywords.items() if name in KEYWORDS}
    query, key = given["query"].detach(), given["key"].detach()
    return AttentionEvent(
        query,
        key,
        given.get("mask"),
        usable_logsumexp(result[1], query),
        causal=bool(given.get("is_causal", False)),
        scale=given.get("scale"),
        output=result[0].detach(),
        value=given["value"].detach(),
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


def attention_event(
    function: Any, arguments: Any, keywords: Any, result: Any, handwritten: HandwrittenAttention
) -> AttentionEvent | None:
    """The attention that an operator is, if it is one."""
    schema = getattr(function, "_schema", None)
    if schema is None:  # an operator of higher order
        return flex_event(arguments, result) if str(function) == "flex_attention" else None
    name = schema.name
    if name in FAST_PATH:
        return fast_path_event(schema, arguments, keywords)
    if _is_nested(arguments):
        return nested_event(result) if name in SOFTMAX else None
    if name in FUSED:
        return fused_event(FUSED[name], arguments, keywords, result)
    if name in FLASH:
        return flash_event(schema, arguments, keywords, result)
    found = handwritten.follow(name, arguments, result)
    if found is None:
        return None
    return AttentionEvent(weights=found.weights, output=result.detach(), product=found)


@cache
def _operator_mode() -> Any:
    """The class of the dispatch mode, made once: torch is imported when it is first needed."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    composite = torch._C.DispatchKey.CompositeImplicitAutograd

    class OperatorMode(TorchDispatchMode):  # type: ignore[misc]
        """Runs every operator as it is, and calls ``look`` afterwards, which may change it."""

        supports_higher_order_operators = True  # flex attention is one

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            """Keep torch from importing its compiler at the first operator, which takes seconds."""
            return False

        def __init__(self, look: Callable[[Any, Any, Any, Any], Any]) -> None:
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
            if name in OPTIONAL_LOGSUMEXP:
                result = run_with_logsumexp(function, arguments, keywords)
            else:
                result = function(*arguments, **keywords)
            if in_backward() or is_traced():
                return result
            changed = self.look(function, arguments, keywords, result)
            if changed is None:
                return result
            return (changed, *result[1:]) if isinstance(result, tuple) else changed

    return OperatorMode


@contextmanager
def attention_events(
    take: Callable[[AttentionEvent], Any],
    embedded: Callable[[torch.Tensor, torch.Tensor], None] | None = None,
    handwritten: HandwrittenAttention | None = None,
) -> Iterator[None]:
    """Call ``take`` with every attention of the block, on this thread.

    Where it returns a tensor, that is the output of the attention for the program.
    ``embedded`` gets the table and the indices of every embedding: the tokens of a text.
    ``handwritten`` follows the weights that a program computes itself.
    """
    handwritten = handwritten or HandwrittenAttention()

    def look(function: Any, arguments: Any, keywords: Any, result: Any) -> Any:
        if embedded is not None and getattr(function, "_name", "") == "aten::embedding":
            embedded(arguments[0], arguments[1])
        event = attention_event(function, arguments, keywords, result, handwritten)
        return None if event is None else take(event)

    with _operator_mode()(look):
        yield


_lock = threading.Lock()
_blocks_without_fast_path = 0
_fast_path_before = True


@contextmanager
def without_fast_path() -> Iterator[None]:
    """Switch off torch's fast path, in whose operators no head can be changed.

    It is one switch of the whole process: the last of the blocks that overlap puts it back.
    """
    global _blocks_without_fast_path, _fast_path_before
    from torch.backends import mha

    with _lock:
        if not _blocks_without_fast_path:
            _fast_path_before = mha.get_fastpath_enabled()
            mha.set_fastpath_enabled(False)
        _blocks_without_fast_path += 1
    try:
        yield
    finally:
        with _lock:
            _blocks_without_fast_path -= 1
            if not _blocks_without_fast_path:
                mha.set_fastpath_enabled(_fast_path_before)
