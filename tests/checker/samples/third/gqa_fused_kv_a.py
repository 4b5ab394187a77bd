import torch
import torch.nn.functional as F
from torch import Tensor, nn


class GroupedQueryAttention(nn.Module):
    """GQA (Ainslie et al., 2023): query head i belongs to key/value head i // (heads // kv_heads)."""

    def __init__(self, width: int, heads: int, kv_heads: int):
        super().__init__()
        assert heads % kv_heads == 0
        self.heads, self.kv_heads = heads, kv_heads
        self.group = heads // kv_heads
        self.d = width // heads
        self.q = nn.Linear(width, heads * self.d, bias=False)
        self.kv = nn.Linear(width, 2 * kv_heads * self.d, bias=False)
        self.o = nn.Linear(heads * self.d, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        b, n, _ = x.shape
        q = self.q(x).view(b, n, self.heads, self.d).transpose(1, 2)
        k, v = self.kv(x).view(b, n, 2, self.kv_heads, self.d).permute(2, 0, 3, 1, 4)
        k = k.repeat_interleave(self.group, dim=1)
        v = v.repeat_interleave(self.group, dim=1)
        w = q @ k.transpose(-2, -1) / self.d ** 0.5
        keep = torch.ones(n, n, device=x.device).tril().bool()
        w = F.softmax(w.masked_fill(~keep, float("-inf")), dim=-1)
        return self.o((w @ v).transpose(1, 2).reshape(b, n, -1))
