import torch
from torch import nn


def make_pad_mask(lengths, max_len):
    """True at padded frames.

    >>> make_pad_mask(torch.tensor([2, 3]), 3)
    tensor([[False, False,  True],
            [False, False, False]])
    """
    seq = torch.arange(max_len, device=lengths.device)
    return seq.unsqueeze(0) >= lengths.unsqueeze(1)


class SpeechSelfAttention(nn.Module):
    """Encoder attention over acoustic frames; padded frames are never attended to.

    Args:
        xs (Tensor): (batch, frames, size)
        lengths (LongTensor): (batch,) number of real frames
    """

    def __init__(self, size, n_head):
        super().__init__()
        self.h = n_head
        self.d_k = size // n_head
        self.linear_q = nn.Linear(size, size)
        self.linear_k = nn.Linear(size, size, bias=False)
        self.linear_v = nn.Linear(size, size)
        self.linear_out = nn.Linear(size, size)
        self.min_value = -1e4

    def forward(self, xs, lengths):
        B, T, _ = xs.size()
        mask = make_pad_mask(lengths, T)[:, None, None]
        q = self.linear_q(xs).view(B, T, self.h, self.d_k).transpose(1, 2)
        k = self.linear_k(xs).view(B, T, self.h, self.d_k).transpose(1, 2)
        v = self.linear_v(xs).view(B, T, self.h, self.d_k).transpose(1, 2)
        scores = q.matmul(k.transpose(-2, -1)) * self.d_k ** -0.5
        scores = scores.masked_fill(~mask, self.min_value)
        attn = scores.softmax(dim=-1)
        ctx = attn.matmul(v).transpose(1, 2).reshape(B, T, -1)
        return self.linear_out(ctx)
