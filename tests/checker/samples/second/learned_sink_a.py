import torch


def sink_attention(q, k, v, sinks):
    """Causal attention with a learned sink logit per head: it takes weight and gives no value."""
    b, h, t, d = q.shape
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / d**0.5
    scores = scores.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf"))
    combined = torch.cat([scores, sinks.view(1, h, 1, 1).expand(b, h, t, 1)], dim=-1)
    combined = combined - combined.max(dim=-1, keepdim=True).values
    probs = torch.softmax(combined, dim=-1)
    return probs[..., :-1] @ v
