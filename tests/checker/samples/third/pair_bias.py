import torch
from torch import nn, Tensor


class AttentionPairBias(nn.Module):
    """Attention pair bias layer (AlphaFold 3, algorithm 24, without conditioning).

    Parameters
    ----------
    c_s : the input sequence dimension
    c_z : the input pairwise dimension
    num_heads : the number of heads
    """

    def __init__(self, c_s: int, c_z: int, num_heads: int, inf: float = 1e6) -> None:
        super().__init__()
        assert c_s % num_heads == 0
        self.c_s = c_s
        self.num_heads = num_heads
        self.head_dim = c_s // num_heads
        self.inf = inf
        self.norm_s = nn.LayerNorm(c_s)
        self.proj_q = nn.Linear(c_s, c_s)
        self.proj_k = nn.Linear(c_s, c_s, bias=False)
        self.proj_v = nn.Linear(c_s, c_s, bias=False)
        self.proj_g = nn.Linear(c_s, c_s, bias=False)
        self.proj_z = nn.Sequential(nn.LayerNorm(c_z), nn.Linear(c_z, num_heads, bias=False))
        self.proj_o = nn.Linear(c_s, c_s, bias=False)

    def forward(self, s: Tensor, z: Tensor, mask: Tensor) -> Tensor:
        """s (B, S, D), z (B, N, N, D), mask (B, N) with 1 for a residue and 0 for padding."""
        B = s.shape[0]
        s = self.norm_s(s)
        q = self.proj_q(s).view(B, -1, self.num_heads, self.head_dim)
        k = self.proj_k(s).view(B, -1, self.num_heads, self.head_dim)
        v = self.proj_v(s).view(B, -1, self.num_heads, self.head_dim)
        z = self.proj_z(z).permute(0, 3, 1, 2)
        g = self.proj_g(s).sigmoid()

        attn = torch.einsum("bihd,bjhd->bhij", q, k)
        attn = attn / (self.head_dim**0.5) + z
        attn = attn + (1 - mask[:, None, None]) * -self.inf
        attn = attn.softmax(dim=-1)

        o = torch.einsum("bhij,bjhd->bihd", attn, v)
        o = o.reshape(B, -1, self.c_s)
        return self.proj_o(g * o)
