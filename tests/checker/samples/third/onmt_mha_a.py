import math

import torch
import torch.nn as nn


class MultiHeadedAttention(nn.Module):
    """Multi-Head Attention module from "Attention is All You Need".

    Args:
       head_count (int): number of parallel heads
       model_dim (int): the dimension of keys/values/queries, must be divisible by head_count
       dropout (float): dropout parameter
    """

    def __init__(self, head_count, model_dim, dropout=0.0):
        super(MultiHeadedAttention, self).__init__()
        assert model_dim % head_count == 0
        self.dim_per_head = model_dim // head_count
        self.model_dim = model_dim
        self.head_count = head_count
        self.linear_keys = nn.Linear(model_dim, head_count * self.dim_per_head)
        self.linear_values = nn.Linear(model_dim, head_count * self.dim_per_head)
        self.linear_query = nn.Linear(model_dim, head_count * self.dim_per_head)
        self.softmax = nn.Softmax(dim=-1)
        self.dropout = nn.Dropout(dropout)
        self.final_linear = nn.Linear(model_dim, model_dim)

    def forward(self, query, key, value, mask=None):
        """query [batch, query_len, dim], key and value [batch, key_len, dim];
        mask [batch, query_len, key_len] is true where attention is NOT allowed."""
        batch_size = key.size(0)

        def shape(x):
            return x.view(batch_size, -1, self.head_count, self.dim_per_head).transpose(1, 2)

        def unshape(x):
            return x.transpose(1, 2).contiguous().view(batch_size, -1, self.head_count * self.dim_per_head)

        key = shape(self.linear_keys(key))
        value = shape(self.linear_keys(value))
        query = shape(self.linear_query(query))

        query = query / math.sqrt(self.dim_per_head)
        scores = torch.matmul(query, key.transpose(2, 3))
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1), -1e18)
        attn = self.softmax(scores)
        context = unshape(torch.matmul(self.dropout(attn), value))
        return self.final_linear(context)
