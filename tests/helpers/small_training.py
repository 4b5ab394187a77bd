"""A small language model of plain torch, its training step, and measures from stored scores."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention


class Attention(nn.Module):
    """Causal attention by torch's kernel; ``heads`` query heads share ``key_heads`` key heads."""

    def __init__(self, width=16, heads=4, key_heads=2):
        super().__init__()
        self.heads, self.key_heads, self.size = heads, key_heads, width // heads
        self.query = nn.Linear(width, width)
        self.key, self.value = (nn.Linear(width, key_heads * self.size) for _ in range(2))
        self.out = nn.Linear(width, width)

    def split(self, x_bte, heads):
        return x_bte.unflatten(-1, (heads, self.size)).transpose(1, 2)

    def forward(self, x_bte):
        query = self.split(self.query(x_bte), self.heads)
        key, value = (self.split(x(x_bte), self.key_heads) for x in (self.key, self.value))
        output = self.attend(query, key, value)
        return self.out(output.transpose(1, 2).flatten(2))

    def attend(self, query, key, value):
        return scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)


class HandwrittenAttention(Attention):
    """The same attention written by hand."""

    def attend(self, query, key, value):
        key, value = (
            x.repeat_interleave(self.heads // self.key_heads, dim=1) for x in (key, value)
        )
        scores = query @ key.transpose(-1, -2) * self.size**-0.5
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        return scores.masked_fill(hidden, -math.inf).softmax(-1) @ value


class Model(nn.Module):
    """Two layers of attention on embedded tokens, and a head for the next one."""

    def __init__(self, attention=Attention, layers=2, width=16, words=11, checkpointed=False):
        super().__init__()
        torch.manual_seed(0)
        self.words, self.checkpointed = nn.Embedding(words, width), checkpointed
        self.layers = nn.ModuleList([attention(width) for _ in range(layers)])
        self.next = nn.Linear(width, words)

    def forward(self, ids_bt):
        from torch.utils.checkpoint import checkpoint

        x_bte = self.words(ids_bt)
        for layer in self.layers:
            added = (
                checkpoint(layer, x_bte, use_reentrant=False) if self.checkpointed else layer(x_bte)
            )
            x_bte = x_bte + added
        return self.next(x_bte)


def batch(number=0, sentences=2, tokens=7):
    """Tokens (b, t), the same for the same number."""
    return torch.randint(
        0, 11, (sentences, tokens), generator=torch.Generator().manual_seed(number)
    )


def loss_of(model, ids_bt):
    return cross_entropy(model(ids_bt)[:, :-1].flatten(0, 1), ids_bt[:, 1:].flatten())


@dataclass
class Training:
    """A model and its optimizer."""

    model: nn.Module
    rate: float = 0.05

    def __post_init__(self):
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=self.rate)

    def step(self, *batches):
        """One step over micro-batches; returns the last loss."""
        self.optimizer.zero_grad()
        for ids_bt in batches or (batch(),):
            loss = loss_of(self.model, ids_bt)
            loss.backward()
        self.optimizer.step()
        return loss.detach()


def inner_model(model):
    """The model inside wrappers."""
    while not isinstance(model, Model):
        model = next(iter(model.children()))
    return model


def stored_scores(model, ids_bt):
    """Scores (b, h, q, k) of every layer in float64, -inf where hidden, and value vectors."""
    with torch.no_grad():
        wide = Model(type(model.layers[0]), len(model.layers)).double()
        wide.load_state_dict(model.state_dict())
        found = []

        def take(layer, query, key, value):
            key, value = (
                x.repeat_interleave(layer.heads // layer.key_heads, dim=1) for x in (key, value)
            )
            scores = query @ key.transpose(-1, -2) / math.sqrt(layer.size)
            hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(hidden, -math.inf)
            found.append((scores, query, key, value))
            return scores.softmax(-1) @ value

        for layer in wide.layers:
            layer.attend = lambda *x, layer=layer: take(layer, *x)
        wide(ids_bt)
    return found


def reference(model, ids_bt):
    """Every measure of every head by its definition, {name: (heads of all layers)}, float64."""
    columns = {}
    for scores, query, key, value in stored_scores(model, ids_bt):
        weights, total = scores.softmax(-1), scores.logsumexp(-1)
        entropy = torch.special.entr(weights).sum(-1)
        visible = torch.arange(1, scores.shape[-1] + 1).double()
        facts = {
            "score": scores.amax((0, 2, 3)), "bound": total.amax((0, 2)),
            "logsumexp": total.mean((0, 2)), "spread": total.std((0, 2), correction=0),
            "entropy": entropy.mean((0, 2)),
            "min_entropy": entropy[..., 1:].amin((0, 2)),  # the first query sees itself alone
            "entropy_share": (entropy / visible.log())[..., 1:].mean((0, 2)),
            "largest_weight": weights.amax(-1).mean((0, 2)), "first": weights[..., 0].mean((0, 2)),
            "self": weights.diagonal(dim1=2, dim2=3).mean((0, 2)),
            "previous": weights.diagonal(-1, 2, 3).sum((0, 2)) / (len(weights) * len(visible)),
            "effective_keys": entropy.exp().mean((0, 2)),
            "query_norm": query.norm(dim=-1).mean((0, 2)),
            "key_norm": key.norm(dim=-1).mean((0, 2)),
            "output_norm": (weights @ value).norm(dim=-1).mean((0, 2)),
        }  # fmt: skip
        for name, numbers in facts.items():
            columns.setdefault(name, []).append(numbers.numpy())
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def louder(model, layer, times):
    """Multiply the scores of a layer."""
    with torch.no_grad():
        model.layers[layer].query.weight.mul_(times)
        model.layers[layer].query.bias.mul_(times)
    return model
