from typing import Optional, Tuple

import torch
from torch import nn


def _expand_mask(mask: torch.Tensor, dtype: torch.dtype, tgt_len: Optional[int] = None):
    """[bsz, seq_len] of 1 (keep) and 0 (padding) to an additive [bsz, 1, tgt_len, src_len]."""
    bsz, src_len = mask.size()
    tgt_len = tgt_len if tgt_len is not None else src_len
    inverted = 1.0 - mask[:, None, None, :].expand(bsz, 1, tgt_len, src_len).to(dtype)
    return inverted.masked_fill(inverted.to(torch.bool), -1e9)


class CLIPTextAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int):
        super().__init__()
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.scale = self.head_dim**-0.5
        self.k_proj = nn.Linear(embed_dim, embed_dim)
        self.v_proj = nn.Linear(embed_dim, embed_dim)
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def _shape(self, tensor: torch.Tensor, seq_len: int, bsz: int):
        return tensor.view(bsz, seq_len, self.num_heads, self.head_dim).transpose(1, 2).contiguous()

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: Optional[torch.Tensor] = None,
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        bsz, tgt_len, embed_dim = hidden_states.size()
        proj_shape = (bsz * self.num_heads, -1, self.head_dim)
        query_states = self._shape(self.q_proj(hidden_states) * self.scale, tgt_len, bsz).view(*proj_shape)
        key_states = self._shape(self.k_proj(hidden_states), -1, bsz).view(*proj_shape)
        value_states = self._shape(self.v_proj(hidden_states), -1, bsz).view(*proj_shape)

        attn_weights = torch.bmm(query_states, key_states.transpose(1, 2))
        attn_weights = attn_weights.view(bsz, self.num_heads, tgt_len, tgt_len)
        causal = torch.full((tgt_len, tgt_len), -1e9, dtype=attn_weights.dtype).triu_(1)
        if attention_mask is not None:
            attention_mask = _expand_mask(attention_mask, attn_weights.dtype)
            attn_weights = attn_weights + causal
        else:
            attn_weights = attn_weights + causal
        attn_weights = nn.functional.softmax(attn_weights, dim=-1)

        attn_probs = attn_weights.view(bsz * self.num_heads, tgt_len, tgt_len)
        attn_output = torch.bmm(attn_probs, value_states)
        attn_output = attn_output.view(bsz, self.num_heads, tgt_len, self.head_dim)
        attn_output = attn_output.transpose(1, 2).reshape(bsz, tgt_len, embed_dim)
        return self.out_proj(attn_output), attn_weights
