import torch
from torch import nn


class LocalGlobalAttention(nn.Module):
    """Longformer attention, dense reference for tests.

    Ordinary tokens see ``one_sided`` neighbours on each side and the global tokens, with the local
    projections. Rows of global tokens see everything, with projections of their own
    (query_global, key_global, value_global).
    """

    def __init__(self, dim, heads, one_sided=256):
        super().__init__()
        self.heads, self.one_sided = heads, one_sided
        self.query, self.key, self.value = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.query_global, self.key_global, self.value_global = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def _attend(self, q, k, v, visible=None):
        b, n, c = q.shape
        q, k, v = [t.reshape(b, n, self.heads, c // self.heads).transpose(1, 2) for t in (q, k, v)]
        scores = (q / (c // self.heads) ** 0.5) @ k.transpose(2, 3)
        if visible is not None:
            scores = scores.masked_fill(~visible.unsqueeze(1), torch.finfo(scores.dtype).min)
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)

    def forward(self, x, is_global):
        n = x.shape[1]
        i = torch.arange(n, device=x.device)
        near = (i[:, None] - i[None, :]).abs() <= self.one_sided
        visible = near[None] | is_global[:, None, :]
        local = self._attend(self.query(x), self.key(x), self.value(x), visible)
        full = self._attend(self.query_global(x), self.key_global(x), self.value_global(x))
        return torch.where(is_global[..., None], full, local)
