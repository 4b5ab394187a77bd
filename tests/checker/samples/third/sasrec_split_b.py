import torch
import torch.nn as nn


class SASRecAttention(nn.Module):
    """Self-attention of SASRec over a user's items (left-padded with item 0).

    softmax(Q K^T / sqrt(d)) V per head; future items and padding items are masked,
    the rows of padding are set to zero.
    """

    def __init__(self, hidden_units, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_size = hidden_units // num_heads
        self.Q_w = nn.Linear(hidden_units, hidden_units)
        self.K_w = nn.Linear(hidden_units, hidden_units)
        self.V_w = nn.Linear(hidden_units, hidden_units)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, seqs, log_seqs):
        Q, K, V = self.Q_w(seqs), self.K_w(seqs), self.V_w(seqs)
        # heads go to the batch dimension
        Q_ = torch.cat(torch.split(Q, self.head_size, dim=2), dim=0)
        K_ = torch.cat(torch.split(K, self.head_size, dim=2), dim=0)
        V_ = torch.cat(torch.split(V, self.head_size, dim=2), dim=0)

        timeline = log_seqs == 0
        tl = seqs.shape[1]
        causal = ~torch.tril(torch.ones((tl, tl), dtype=torch.bool, device=seqs.device))
        hidden = (causal[None] | timeline[:, None, :]).repeat(self.num_heads, 1, 1)

        attn_weights = Q_.matmul(torch.transpose(K_, 1, 2))
        attn_weights = attn_weights / (self.head_size)
        attn_weights = attn_weights.masked_fill(hidden, -2 ** 32 + 1)
        attn_weights = self.softmax(attn_weights)

        outputs = attn_weights.matmul(V_)
        outputs = torch.cat(torch.split(outputs, Q.shape[0], dim=0), dim=2)
        return outputs * ~timeline.unsqueeze(-1)
