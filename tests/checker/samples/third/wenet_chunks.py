import math

import torch
from torch import nn


def subsequent_chunk_mask(size: int, chunk_size: int, num_left_chunks: int = -1) -> torch.Tensor:
    """Mask for streaming encoders: a frame sees its whole chunk and num_left_chunks before it
    (all of them for -1).

    >>> subsequent_chunk_mask(4, 2).int()
    tensor([[1, 1, 0, 0],
            [1, 1, 0, 0],
            [1, 1, 1, 1],
            [1, 1, 1, 1]], dtype=torch.int32)
    """
    ret = torch.zeros(size, size, dtype=torch.bool)
    for i in range(size):
        if num_left_chunks < 0:
            start = 0
        else:
            start = max((i // chunk_size - num_left_chunks) * chunk_size, 0)
        ending = min((i // chunk_size + 1) * chunk_size, size)
        ret[i, start:ending] = True
    return ret


class ChunkAttention(nn.Module):
    def __init__(self, n_head: int, n_feat: int, chunk_size: int, num_left_chunks: int = -1):
        super().__init__()
        self.d_k = n_feat // n_head
        self.h = n_head
        self.chunk_size = chunk_size
        self.num_left_chunks = num_left_chunks
        self.linear_q = nn.Linear(n_feat, n_feat)
        self.linear_k = nn.Linear(n_feat, n_feat)
        self.linear_v = nn.Linear(n_feat, n_feat)
        self.linear_out = nn.Linear(n_feat, n_feat)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n_batch, t, _ = x.shape
        q = self.linear_q(x).view(n_batch, -1, self.h, self.d_k).transpose(1, 2)
        k = self.linear_k(x).view(n_batch, -1, self.h, self.d_k).transpose(1, 2)
        v = self.linear_v(x).view(n_batch, -1, self.h, self.d_k).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.d_k)
        mask = subsequent_chunk_mask(t, self.chunk_size, self.num_left_chunks).to(x.device)
        scores = scores.masked_fill(mask.eq(0), -float("inf"))
        attn = torch.softmax(scores, dim=-1).masked_fill(mask.eq(0), 0.0)
        x = torch.matmul(attn, v)
        x = x.transpose(1, 2).contiguous().view(n_batch, -1, self.h * self.d_k)
        return self.linear_out(x)
