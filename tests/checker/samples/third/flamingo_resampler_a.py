import torch
from torch import einsum, nn


class PerceiverAttention(nn.Module):
    """Flamingo resampler layer.

    The latents query the media features and themselves: keys and values are made from
    the concatenation of normed media and normed latents.
    """

    def __init__(self, *, dim, dim_head=64, heads=8):
        super().__init__()
        self.scale = dim_head ** -0.5
        self.heads = heads
        inner_dim = dim_head * heads
        self.norm_media = nn.LayerNorm(dim)
        self.norm_latents = nn.LayerNorm(dim)
        self.to_q = nn.Linear(dim, inner_dim, bias=False)
        self.to_kv = nn.Linear(dim, inner_dim * 2, bias=False)
        self.to_out = nn.Linear(inner_dim, dim, bias=False)

    def forward(self, x, latents):
        """
        x: (b, n, d) media features
        latents: (b, m, d)
        """
        media = self.norm_media(x)
        latents = self.norm_latents(latents)
        b, m, h = *latents.shape[:2], self.heads

        q = self.to_q(latents)
        kv_input = torch.cat((media, latents), dim=-2)
        k, v = self.to_kv(kv_input).chunk(2, dim=-1)
        q, k, v = (t.reshape(b, t.shape[1], h, -1).transpose(1, 2) for t in (q, k, v))
        q = q * self.scale

        sim = einsum("... i d, ... j d -> ... i j", q, k)
        sim = sim - sim.amax(dim=-1, keepdim=True).detach()
        attn = sim.softmax(dim=-1)
        out = einsum("... i j, ... j d -> ... i d", attn, v)
        return self.to_out(out.transpose(1, 2).reshape(b, m, -1))
