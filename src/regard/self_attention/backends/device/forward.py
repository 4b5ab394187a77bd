"""Output and log-sum-exp: by cuDNN where it serves and is fastest, else by our own kernel."""

import torch
import triton

from regard.self_attention.backends.device.call import Tensor
from regard.self_attention.backends.device.common import FAR, Common
from regard.self_attention.backends.device.kernels.rows import rows_kernel
from regard.self_attention.backends.device.sums import Found
from regard.self_attention.tiles.rows import Wanted


def cudnn_serves(common: Common) -> bool:
    """Whether cuDNN's attention computes this call: 16 bits, all keys or a plain causal mask."""
    call = common.call
    if call.device.type != "cuda" or not torch.backends.cudnn.is_available() or not common.short:
        return False
    widths = common.width == common.value_gkv.shape[-1] and common.width in (64, 128)
    plain = call.sight.lengths_h is None and call.softcap is None and common.left == FAR
    square = common.right == 0 and common.queries == common.keys
    return widths and plain and (square or common.right == FAR) and common.queries > 1


def by_cudnn(common: Common) -> Found:
    """Output and natural log-sum-exp in float32, from the fastest kernel that torch has."""
    query, key, value = common.query_hqd, common.key_gkd, common.value_gkv
    if common.group > 1:
        key, value = (t.repeat_interleave(common.group, dim=0) for t in (key, value))
    made = torch.ops.aten._scaled_dot_product_cudnn_attention(
        query[None], key[None], value[None], None, True, 0.0, common.right == 0, False,
        scale=common.call.scale,
    )  # fmt: skip
    return Found(total_hq=made[1].reshape(common.heads, common.queries), output_hqv=made[0][0])


def by_rows(common: Common, wanted: Wanted, given_hq: Tensor | None) -> Found:
    """Output, log-sum-exp in float64, and entropy, from our own kernel: any mask that is a band."""
    width = int(common.value_gkv.shape[-1])
    total_hq = common.empty(common.queries, dtype=torch.float64)
    entropy_hq = common.empty(common.queries)
    output_hqv = common.empty(common.queries, width, dtype=common.value_gkv.dtype)
    block = 64 if common.padded <= 128 else 32
    rows_kernel[(triton.cdiv(common.queries, block), common.heads)](
        common.query_hqd, common.key_gkd, common.value_gkv, output_hqv, total_hq, entropy_hq,
        common.lengths_h, *common.sizes(), VALUE_WIDTH=width,
        V=max(16, triton.next_power_of_2(max(1, width))), OUTPUT=wanted.output and width > 0,
        BQ=block, BK=block, **common.limits(),
    )  # fmt: skip
    found = Found(total_hq=total_hq, output_hqv=output_hqv if wanted.output else None)
    if wanted.entropy:
        found.entropy_hq = entropy_hq
        if given_hq is not None:
            found.entropy_hq = _share(total_hq, entropy_hq, given_hq)
    return found


def _share(own_hq: Tensor, entropy_hq: Tensor, given_hq: Tensor) -> Tensor:
    """This part's share of an entropy over more keys: its own, and how far its sum lies below."""
    live_hq = own_hq > -torch.inf
    below_hq = torch.where(live_hq, given_hq - own_hq, 0).float()
    return torch.where(live_hq, torch.exp(-below_hq) * (entropy_hq + below_hq), 0)
