from torch import nn, einsum

# classes

class Attention(nn.Module):
    def __init__(self, dim, *, heads = 8, dim_head = 64, dropout = 0.):
        super().__init__()
        inner_dim = dim_head * heads
        self.heads = heads
        self.scale = dim_head ** -0.5

        self.to_qkv = nn.Linear(dim, inner_dim * 3, bias = False)

        self.mix_heads_pre_attn = nn.Conv2d(heads, heads, 1, bias = False)
        self.mix_heads_post_attn = nn.Conv2d(heads, heads, 1, bias = False)

        self.to_out = nn.Sequential(
            nn.Linear(inner_dim, dim),
            nn.Dropout(dropout)
        )

    def forward(self, x, mask = None):
        b, n, _, h = *x.shape, self.heads
        q, k, v = (t.reshape(b, n, h, -1).transpose(1, 2) for t in self.to_qkv(x).chunk(3, dim = -1))

        dots = einsum('b h i d, b h j d -> b h i j', q, k) * self.scale
        dots = self.mix_heads_pre_attn(dots)

        if mask is not None:
            dots = dots.masked_fill(~mask[:, None, None], -1e9)

        attn = dots.softmax(dim = -1)
        attn = self.mix_heads_post_attn(attn)

        out = einsum('b h i j, b h j d -> b h i d', attn, v)
        return self.to_out(out.transpose(1, 2).reshape(b, n, -1))
