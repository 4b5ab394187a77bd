import torch
import torch.nn as nn


class Head(nn.Module):
    """one head of causal self-attention"""

    def __init__(self, n_embd, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x):
        B, T, C = x.shape
        k = self.key(x)
        q = self.query(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        future = torch.triu(torch.ones(T, T, dtype=torch.bool, device=x.device), diagonal=2)
        wei = wei.masked_fill(future, float("-inf"))
        wei = torch.softmax(wei, dim=-1)
        return wei @ self.value(x)
