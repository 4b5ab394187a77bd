import torch
from torch import nn


def segment_softmax(src, index, num_nodes):
    """Softmax over the entries of src (E, H) that share an index."""
    idx = index.unsqueeze(-1).expand_as(src)
    top = src.new_full((num_nodes, src.size(1)), float("-inf"))
    top = top.scatter_reduce(0, idx, src, reduce="amax")
    out = (src - top[index]).exp()
    total = src.new_zeros(num_nodes, src.size(1)).index_add(0, index, out)
    return out / (total[index] + 1e-16)


class GraphTransformerLayer(nn.Module):
    r"""Transformer convolution on a graph (Shi et al.): node i attends over its incoming edges j -> i,
    :math:`x'_i = W_1 x_i + \sum_{j \to i} \alpha_{ij} W_2 x_j`. edge_index is (source, target)."""

    def __init__(self, in_channels, out_channels, heads=1):
        super().__init__()
        self.heads, self.out_channels = heads, out_channels
        self.lin_query = nn.Linear(in_channels, heads * out_channels)
        self.lin_key = nn.Linear(in_channels, heads * out_channels)
        self.lin_value = nn.Linear(in_channels, heads * out_channels)
        self.lin_skip = nn.Linear(in_channels, heads * out_channels)

    def forward(self, x, edge_index):
        H, C = self.heads, self.out_channels
        source, target = edge_index
        query = self.lin_query(x).view(-1, H, C)
        key = self.lin_key(x).view(-1, H, C)
        value = self.lin_value(x).view(-1, H, C)
        alpha = (query[target] * key[source]).sum(dim=-1) / C ** 0.5
        alpha = segment_softmax(alpha, source, x.size(0))
        out = x.new_zeros(x.size(0), H, C)
        out = out.index_add(0, target, value[source] * alpha.unsqueeze(-1))
        return out.flatten(1) + self.lin_skip(x)
