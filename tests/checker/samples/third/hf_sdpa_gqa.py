from typing import Optional

import torch
from torch import nn


class SdpaAttention(nn.Module):
    def __init__(self, hidden_size: int, num_heads: int, num_key_value_heads: int):
        super().__init__()
        self.num_heads = num_heads
        self.num_key_value_heads = num_key_value_heads
        self.num_key_value_groups = num_heads // num_key_value_heads
        self.head_dim = hidden_size // num_heads
        self.q_proj = nn.Linear(hidden_size, num_heads * self.head_dim, bias=True)
        self.k_proj = nn.Linear(hidden_size, num_key_value_heads * self.head_dim, bias=True)
        self.v_proj = nn.Linear(hidden_size, num_key_value_heads * self.head_dim, bias=True)
        self.o_proj = nn.Linear(num_heads * self.head_dim, hidden_size, bias=False)

    def repeat_kv(self, t: torch.Tensor) -> torch.Tensor:
        b, g, n, d = t.shape
        t = t[:, :, None].expand(b, g, self.num_key_value_groups, n, d)
        return t.reshape(b, g * self.num_key_value_groups, n, d)

    def forward(self, hidden_states: torch.Tensor, attention_mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        bsz, q_len, _ = hidden_states.size()
        query_states = self.q_proj(hidden_states).view(bsz, q_len, self.num_heads, self.head_dim).transpose(1, 2)
        key_states = self.k_proj(hidden_states).view(bsz, q_len, self.num_key_value_heads, self.head_dim).transpose(1, 2)
        value_states = self.v_proj(hidden_states).view(bsz, q_len, self.num_key_value_heads, self.head_dim).transpose(1, 2)
        key_states, value_states = self.repeat_kv(key_states), self.repeat_kv(value_states)

        mask = None
        if attention_mask is not None:
            mask = torch.ones(q_len, q_len, dtype=torch.bool, device=hidden_states.device).tril()
            mask = mask[None, None] & attention_mask[:, None, None, :].bool()
        attn_output = nn.functional.scaled_dot_product_attention(
            query_states, key_states, value_states, attn_mask=mask, is_causal=mask is None and q_len > 1)
        attn_output = attn_output.transpose(1, 2).contiguous().view(bsz, q_len, -1)
        return self.o_proj(attn_output)
