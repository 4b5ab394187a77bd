import torch
from torch import nn


class ConditionalCrossAttention(nn.Module):
    """Cross-attention of Conditional DETR.

    Content and position are concatenated inside each head, so that a head's score is
    the sum of a content product and a position product over its own 2 * d_head features.
    Values come from the content only.
    """

    def __init__(self, d_model, nhead):
        super().__init__()
        self.nhead = nhead
        self.ca_qcontent_proj = nn.Linear(d_model, d_model)
        self.ca_qpos_sine_proj = nn.Linear(d_model, d_model)
        self.ca_kcontent_proj = nn.Linear(d_model, d_model)
        self.ca_kpos_proj = nn.Linear(d_model, d_model)
        self.ca_v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, tgt, memory, query_sine_embed, pos):
        bs, num_queries, n_model = tgt.shape
        hw = memory.shape[1]
        q_content = self.ca_qcontent_proj(tgt)
        q_pos = self.ca_qpos_sine_proj(query_sine_embed)
        k_content = self.ca_kcontent_proj(memory)
        k_pos = self.ca_kpos_proj(pos)
        v = self.ca_v_proj(memory)

        q = torch.cat([q_content.view(bs, num_queries, self.nhead, n_model // self.nhead),
                       q_pos.view(bs, num_queries, self.nhead, n_model // self.nhead)], dim=3)
        k = torch.cat([k_content.view(bs, hw, self.nhead, n_model // self.nhead),
                       k_pos.view(bs, hw, self.nhead, n_model // self.nhead)], dim=3)
        v = v.view(bs, hw, self.nhead, n_model // self.nhead)

        q = q * float(q.shape[-1]) ** -0.5
        attn = torch.einsum("bqhc,bkhc->bhqk", q, k).softmax(dim=-1)
        tgt2 = torch.einsum("bhqk,bkhc->bqhc", attn, v).flatten(2)
        return self.out_proj(tgt2)
