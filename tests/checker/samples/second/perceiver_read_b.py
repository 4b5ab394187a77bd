import torch.nn as nn


class PerceiverCrossAttention(nn.Module):
    """Latents read from a long input array."""

    def __init__(self, latent_dim, input_dim, heads=4, dim_head=8):
        super().__init__()
        inner = heads * dim_head
        self.heads, self.scale = heads, dim_head**-0.5
        self.norm = nn.LayerNorm(latent_dim)
        self.norm_context = nn.LayerNorm(input_dim)
        self.to_q = nn.Linear(latent_dim, inner, bias=False)
        self.to_kv = nn.Linear(input_dim, inner * 2, bias=False)
        self.to_out = nn.Linear(inner, latent_dim)

    def forward(self, latents, data):
        x = self.norm(latents)
        context = self.norm_context(data)
        q = self.to_q(x)
        k, v = self.to_kv(context).chunk(2, dim=-1)
        q, k, v = (t.view(*t.shape[:2], self.heads, -1).transpose(1, 2) for t in (q, k, v))
        attn = (q @ k.transpose(-1, -2) * self.scale).softmax(dim=-1)
        return self.to_out((attn @ v).transpose(1, 2).flatten(2))
