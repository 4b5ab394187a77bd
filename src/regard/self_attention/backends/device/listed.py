"""Weights at listed queries and keys, gathered and multiplied on the device."""

from typing import Any

import torch

from regard.self_attention.backends.device.call import Call, Tensor
from regard.self_attention.pairs import Block
from regard.self_attention.tiles.problem import LOG2_E, Array


def listed_on_device(call: Call, logsumexp_hq: Array, block: Block) -> Tensor:
    """As pairs._weights: (h, m, a, b); whether one may look there is not asked."""

    def there(array: Array) -> Any:
        return torch.as_tensor(array, device=call.device)

    dtype, group = call.compute_dtype, call.group
    factor = call.scale / call.softcap if call.softcap else call.scale * LOG2_E
    query_hmad = call.query_hqd[:, there(block.rows_ma)].to(dtype) * factor
    # A place that is -1 stands for no key; whoever lists it leaves it out of every sum.
    key_gmbd = call.key_gkd[:, there(block.columns_mb).clamp(min=0)].to(dtype)
    shared = (len(key_gmbd), group, *query_hmad.shape[1:])
    t_ghmab = query_hmad.reshape(shared) @ key_gmbd[:, None].transpose(-1, -2)
    t_hmab = t_ghmab.reshape(call.heads, *t_ghmab.shape[2:])
    if call.softcap:
        t_hmab = torch.tanh(t_hmab) * (call.softcap * LOG2_E)
    known_hma = there(logsumexp_hq[:, block.rows_ma]) * LOG2_E
    known_hma = torch.where(known_hma.isfinite(), known_hma, torch.inf).to(dtype)
    weights_hmab: Tensor = torch.exp2((t_hmab - known_hma[..., None]).clamp(max=0))
    return weights_hmab
