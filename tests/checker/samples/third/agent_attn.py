import torch
import torch.nn as nn


class AgentAttention(nn.Module):
    r"""Agent attention (Han et al.): a few agent tokens, pooled from the queries, first
    gather from all keys and then hand out to all queries. Two softmaxes, on purpose.

    Input: (B, N, C) with N a square number; the pooling acts on the square map.
    """

    def __init__(self, dim, num_heads=8, agent_num=49):
        super().__init__()
        self.dim, self.num_heads, self.agent_num = dim, num_heads, agent_num
        self.scale = (dim // num_heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=False)
        self.proj = nn.Linear(dim, dim)
        pool_size = int(agent_num ** 0.5)
        self.pool = nn.AdaptiveAvgPool2d(output_size=(pool_size, pool_size))
        self.softmax = nn.Softmax(dim=-1)
        self.dwc = nn.Conv2d(dim, dim, kernel_size=3, padding=1, groups=dim)

    def forward(self, x):
        b, n, c = x.shape
        h = int(n ** 0.5)
        num_heads, head_dim = self.num_heads, c // self.num_heads
        q, k, v = self.qkv(x).reshape(b, n, 3, c).permute(2, 0, 1, 3).unbind(0)

        agent_tokens = self.pool(q.reshape(b, h, h, c).permute(0, 3, 1, 2)).reshape(b, c, -1).permute(0, 2, 1)
        image = v.transpose(1, 2).reshape(b, c, h, h)
        q = q.reshape(b, n, num_heads, head_dim).permute(0, 2, 1, 3)
        k = k.reshape(b, n, num_heads, head_dim).permute(0, 2, 1, 3)
        v = v.reshape(b, n, num_heads, head_dim).permute(0, 2, 1, 3)
        agent_tokens = agent_tokens.reshape(b, self.agent_num, num_heads, head_dim).permute(0, 2, 1, 3)

        agent_attn = self.softmax((agent_tokens * self.scale) @ k.transpose(-2, -1))
        agent_v = agent_attn @ v
        q_attn = self.softmax((q * self.scale) @ agent_tokens.transpose(-2, -1))
        x = (q_attn @ agent_v).transpose(1, 2).reshape(b, n, c)

        x = x + self.dwc(image).permute(0, 2, 3, 1).reshape(b, n, c)
        return self.proj(x)
