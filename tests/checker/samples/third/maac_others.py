import torch
import torch.nn as nn
import torch.nn.functional as F


class AttentionCriticHead(nn.Module):
    """Multi-actor-attention-critic (Iqbal & Sha 2019).

    Every agent attends over the *other* agents' encodings; its own is left out of keys and values.
    Values pass a leaky ReLU. Returns the agent's encoding joined with what the heads read.
    """

    def __init__(self, sa_dim, hidden_dim, heads=1):
        super().__init__()
        assert hidden_dim % heads == 0
        attend_dim = hidden_dim // heads
        self.encoder = nn.Linear(sa_dim, hidden_dim)
        self.selectors = nn.ModuleList(nn.Linear(hidden_dim, attend_dim, bias=False) for _ in range(heads))
        self.keys = nn.ModuleList(nn.Linear(hidden_dim, attend_dim, bias=False) for _ in range(heads))
        self.values = nn.ModuleList(
            nn.Sequential(nn.Linear(hidden_dim, attend_dim), nn.LeakyReLU()) for _ in range(heads))

    def forward(self, sa):
        """sa: (batch, agents, sa_dim)"""
        enc = F.leaky_relu(self.encoder(sa))
        agents = range(sa.shape[1])
        reads = []
        for key_ext, sel_ext, val_ext in zip(self.keys, self.selectors, self.values):
            all_keys, all_sel, all_val = key_ext(enc), sel_ext(enc), val_ext(enc)
            rows = []
            for i in agents:
                others = [j for j in agents if j != i]
                keys, values = all_keys[:, others], all_val[:, others]
                logits = torch.matmul(all_sel[:, i:i + 1], keys.permute(0, 2, 1))
                weights = F.softmax(logits / keys.shape[-1] ** 0.5, dim=2)
                rows.append((weights @ values).squeeze(1))
            reads.append(torch.stack(rows, dim=1))
        return torch.cat([enc] + reads, dim=-1)
