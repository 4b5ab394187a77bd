"""Whether the kernels can serve a call, and if not, why."""

import importlib.util
import os
from functools import cache

import torch

from regard.self_attention.backends.device.call import Call
from regard.self_attention.tiles.rows import Wanted

WIDEST = 256
MOST_BEST = 16


@cache
def has_triton() -> bool:
    """Whether triton is installed; looking for it takes as long as a short kernel, so once."""
    return importlib.util.find_spec("triton") is not None


def reasons_against_kernels(call: Call, wanted: Wanted) -> list[str]:
    """Why this call goes to chunks in torch instead; empty where kernels serve."""
    reasons = []
    if not has_triton():
        reasons.append("triton is not installed: pip install triton")
    if call.device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        reasons.append(f"kernels need a CUDA device, but the tensors are on {call.device}")
    if call.mask is not None or call.sight.mask is not None:
        reasons.append("a mask is given; kernels know causal, offset, window and lengths")
    if call.query_hqd.dtype == torch.float64:
        reasons.append("kernels compute in float32, but the tensors are float64")
    width = max(call.query_hqd.shape[-1], call.value_gkv.shape[-1])
    if width > WIDEST or call.query_hqd.shape[-1] < 1:
        reasons.append(f"kernels serve heads of width 1 to {WIDEST}, but here is {width}")
    if wanted.top > MOST_BEST:
        reasons.append(f"kernels keep at most {MOST_BEST} best keys, but top is {wanted.top}")
    if not (call.query_hqd.numel() and call.key_gkd.numel()):
        reasons.append("there are no queries or no keys")
    scalars = (call.scale, call.softcap or 1.0, call.scale / (call.softcap or 1.0))
    if not all(1e-9 < number < 1e9 for number in scalars):
        reasons.append("scale or softcap is outside 1e-9 to 1e9")
    return reasons
