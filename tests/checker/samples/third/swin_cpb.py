import torch
import torch.nn as nn
import torch.nn.functional as F


class CPBWindowAttention(nn.Module):
    r""" Window attention with a continuous position bias: an MLP on log-spaced relative
    coordinates (Swin v2), plain scaled dot products otherwise.

    Args:
        dim (int): Number of input channels.
        window_size (tuple[int]): The height and width of the window.
        num_heads (int): Number of attention heads.
    """

    def __init__(self, dim, window_size, num_heads, hidden=32):
        super().__init__()
        self.window_size = window_size
        self.num_heads = num_heads
        self.cpb_mlp = nn.Sequential(nn.Linear(2, hidden), nn.ReLU(inplace=True), nn.Linear(hidden, num_heads, bias=False))
        wh, ww = window_size
        ys, xs = torch.meshgrid(torch.arange(wh), torch.arange(ww), indexing="ij")
        coords = torch.stack([ys.reshape(-1), xs.reshape(-1)], dim=1)
        rel = (coords[:, None] - coords[None, :]).to(torch.get_default_dtype())
        rel = torch.sign(rel) * torch.log2(1.0 + rel.abs())
        self.register_buffer("relative_coords", rel, persistent=False)
        self.qkv = nn.Linear(dim, dim * 3, bias=False)
        self.q_bias = nn.Parameter(torch.zeros(dim))
        self.v_bias = nn.Parameter(torch.zeros(dim))
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B_, N, C = x.shape
        qkv_bias = torch.cat((self.q_bias, torch.zeros_like(self.v_bias, requires_grad=False), self.v_bias))
        qkv = F.linear(input=x, weight=self.qkv.weight, bias=qkv_bias)
        qkv = qkv.reshape(B_, N, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]

        attn = q @ k.transpose(-2, -1) * q.size(-1) ** -0.5
        bias = 16 * torch.sigmoid(self.cpb_mlp(self.relative_coords)).permute(2, 0, 1).contiguous()
        attn = attn + bias.unsqueeze(0)
        attn = attn.softmax(-1)

        x = (attn @ v).transpose(1, 2).reshape(B_, N, C)
        return self.proj(x)
