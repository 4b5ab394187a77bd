import torch
from torch import nn


class PerceiverEncoder(nn.Module):
    def __init__(self, input_dim, latent_dim, num_latents, heads):
        super().__init__()
        self.heads = heads
        self.latents = nn.Parameter(torch.randn(num_latents, latent_dim))
        self.norm_x = nn.LayerNorm(input_dim)
        self.norm_latents = nn.LayerNorm(latent_dim)
        self.to_q = nn.Linear(latent_dim, latent_dim, bias=False)
        self.to_kv = nn.Linear(input_dim, 2 * latent_dim, bias=False)
        self.to_out = nn.Linear(latent_dim, latent_dim)

    def forward(self, x):
        b = x.shape[0]
        latents = self.latents.unsqueeze(0).expand(b, -1, -1)
        q = self.to_q(self.norm_latents(latents))
        k, v = self.to_kv(self.norm_x(x)).chunk(2, dim=-1)
        q, k, v = (t.reshape(b, t.shape[1], self.heads, -1).transpose(1, 2) for t in (q, k, v))
        attn = (q @ k.mT * q.shape[-1] ** -0.5).softmax(dim=-1)
        return latents + self.to_out((attn @ v).transpose(1, 2).reshape(b, -1, q.shape[-1] * self.heads))
