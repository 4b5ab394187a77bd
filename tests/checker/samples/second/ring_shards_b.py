import torch


def partial(q, k, v):
    """Attention over one device's keys, with the log of the denominator."""
    s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    lse = torch.logsumexp(s, dim=-1, keepdim=True)
    return torch.exp(s - lse) @ v, lse


def merge(out, lse, block_out, block_lse):
    new_lse = torch.logaddexp(lse, block_lse)
    out = torch.exp(lse - new_lse) * out + torch.exp(block_lse - new_lse) * block_out
    return out, block_lse


def ring_attention(q, ks, vs):
    """The shards of keys and values arrive one after another."""
    out, lse = partial(q, ks[0], vs[0])
    for k, v in zip(ks[1:], vs[1:]):
        out, lse = merge(out, lse, *partial(q, k, v))
    return out
