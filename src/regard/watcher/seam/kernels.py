"""Kernels of attention that torch and flash-attn have, each as an AttentionCall.

What a kernel returned beside its output is taken, above all the log-sum-exp; what it was given in
a layout of its own is brought into that of AttentionCall.
"""

from __future__ import annotations

from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Any

from regard.errors import BackendError
from regard.watcher.seam.call import AttentionCall

if TYPE_CHECKING:
    import torch


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
    "value": "v", "is_causal": "causal", "scale": "softmax_scale",
}  # fmt: skip
UNSUPPORTED_ARGUMENTS = ("block_table", "leftpad_k", "seqused_k")


def named_arguments(
    schema: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> dict[str, Any]:
    """Arguments of an operator under the names of its schema, as flash-attn calls them."""
    names: list[str] = [argument.name for argument in schema.arguments]
    given: dict[str, Any] = dict(zip(names, arguments, strict=False)) | keywords
    return {ATEN_NAMES.get(name, name): value for name, value in given.items()}


def flash_call(
    schema: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any
) -> AttentionCall:
    """The call of a flash kernel: query (b, q, h, d), or packed (t, h, d) with its edges."""
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
    value, output = given["v"], result[0]
    packed, mask = edges_q is not None, None
    if packed:
        (query, sizes_q), (key, sizes_k) = unpacked(query, edges_q), unpacked(key, edges_k)
        (value, _), (output, _) = unpacked(value, edges_k), unpacked(output, edges_q)
    else:
        sizes_q, sizes_k = [query.shape[1]] * len(query), [key.shape[1]] * len(key)
    if packed or windowed or (causal and query.shape[1] != key.shape[1]):
        mask, causal = _mask(given, sizes_q, sizes_k, query.device), False
    query, key, value, output = (x.transpose(1, 2) for x in (query, key, value, output))
    return AttentionCall(
        query=query, key=key, value=value, output=output, causal=bool(causal), mask=mask,
        logsumexp=usable_logsumexp(result[1], query) if mask is None else None,
        kernel="flash", dtype=query.dtype, **scaling,
    )  # fmt: skip


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


def flex_call(arguments: tuple[Any, ...], result: tuple[Any, ...]) -> AttentionCall:
    """The call of flex attention that runs uncompiled: its weights, which torch makes as well."""
    import torch

    query, key, value, score_mod, block_mask, scale, _, of_score, of_mask = arguments
    dtype = query.dtype
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
    weights = scores.softmax(dim=-1).nan_to_num(0)
    return AttentionCall(
        value=value, output=result[0], weights=weights, scale=scale, kernel="flex", dtype=dtype
    )


# Operators of torch's fast path, which compute more than attention and return none of it.
FAST_PATH = frozenset({
    "aten::_native_multi_head_attention", "aten::_transformer_encoder_layer_fwd",
})  # fmt: skip
MASK_OF_KEYS = 1  # the kind of a mask (b, k); others are (q, k) and (b, h, q, k)


def fast_path_call(
    schema: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> AttentionCall:
    """The call of the fast path: query and key are made from its input once more."""
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
    query, key, value = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in qkv.chunk(3, dim=-1))
    return AttentionCall(
        query=query, key=key, value=value, mask=visible, kernel="fast path", dtype=query.dtype
    )


# Fused kernels of torch; all return their log-sum-exp second.
FUSED = frozenset({
    "aten::_scaled_dot_product_flash_attention_for_cpu",
    "aten::_scaled_dot_product_flash_attention",
    "aten::_scaled_dot_product_efficient_attention",
    "aten::_scaled_dot_product_cudnn_attention",
    "aten::_scaled_dot_product_fused_attention_overrideable",
})  # fmt: skip
OPTIONAL_LOGSUMEXP = frozenset({
    "aten::_scaled_dot_product_cudnn_attention", "aten::_scaled_dot_product_efficient_attention",
})  # fmt: skip
ASKED, DROPOUT = 4, 5  # positions of these arguments in both kernels

# By kind of call: whether the output is the same to the bit. One more run decides, the first time.
_same_output: dict[tuple[Any, ...], bool] = {}


def nested_call(given: tuple[Any, Any, Any], causal: bool, scale: float | None) -> AttentionCall:
    """The call of a fused kernel for nested tensors (h, t, d): sentences with zeros behind."""
    import torch

    parts = [[x.detach().transpose(0, 1) for x in tensor.unbind()] for tensor in given]
    padded = (torch.nn.utils.rnn.pad_sequence(x, batch_first=True) for x in parts)
    query, key, value = (x.transpose(1, 2) for x in padded)
    options = {"causal": causal}
    sizes_q, sizes_k = ([len(x) for x in some] for some in parts[:2])
    mask = _mask(options, sizes_q, sizes_k, query.device)
    return AttentionCall(
        query=query, key=key, value=value, mask=mask, scale=scale, kernel="nested",
        dtype=query.dtype,
    )  # fmt: skip


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
