"""Attention written by hand: its axes in any order, heads that share keys, sentences and heads."""

import numpy as np
import pytest
import torch
from torch import nn

import regard
from regard.errors import BackendError

WIDTH, HEADS = 32, 4
# The axes of the weights, the product with the value, and the axis of the softmax.
ORDERS = {
    "bhqk": ("bhqk,bkhd->bqhd", -1),
    "bqhk": ("bqhk,bkhd->bqhd", -1),
    "bqkh": ("bqkh,bkhd->bqhd", 2),
    "bhkq": ("bhkq,bkhd->bqhd", 2),
    "hbqk": ("hbqk,bkhd->bqhd", -1),
    "qbhk": ("qbhk,bkhd->bqhd", -1),
}
SIZES = [(1, 4), (2, 4), (4, 4), (1, 7), (2, 7)]  # sentences and tokens; as many tokens as heads


class Handwritten(nn.Module):
    """Self-attention of four heads; ``weights_bhqk`` are those of the last call, in float64."""

    def __init__(self, form, dropout=0.0):
        super().__init__()
        self.form, self.dropout = form, nn.Dropout(dropout)
        self.projections = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.weights_bhqk = None

    def forward(self, x_bte):
        query, key, value = (
            p(x_bte).unflatten(-1, (HEADS, WIDTH // HEADS)) for p in self.projections
        )
        return getattr(self, self.form, self.in_order)(query, key, value)

    def expect(self, query, key):
        scores = torch.einsum("bqhd,bkhd->bhqk", query.double(), key.double())
        self.weights_bhqk = (scores / np.sqrt(WIDTH // HEADS)).softmax(-1).detach().numpy()

    def in_order(self, query, key, value):
        self.expect(query, key)
        product, axis = ORDERS[self.form]
        scores = torch.einsum(f"bqhd,bkhd->{self.form}", query, key) / np.sqrt(WIDTH // HEADS)
        return torch.einsum(product, self.dropout(scores.softmax(axis)), value)

    def one_key_head(self, query, key, value):
        self.expect(query, key[:, :, :1].expand_as(key))
        scores = torch.einsum("bqhd,bkd->bhqk", query, key[:, :, 0]) / np.sqrt(WIDTH // HEADS)
        return torch.einsum("bhqk,bkd->bqhd", scores.softmax(-1), value[:, :, 0])

    def two_key_heads(self, query, key, value):
        self.expect(query, key[:, :, :2].repeat_interleave(2, 2))
        grouped = query.unflatten(2, (2, 2))
        scores = torch.einsum("bqghd,bkgd->bghqk", grouped, key[:, :, :2])
        weights = (scores / np.sqrt(WIDTH // HEADS)).softmax(-1)
        return torch.einsum("bghqk,bkgd->bqghd", weights, value[:, :, :2])

    def viewed(self, query, key, value):
        self.expect(query, key)
        scores = query.transpose(1, 2) @ key.permute(0, 2, 3, 1) / np.sqrt(WIDTH // HEADS)
        weights = self.dropout(scores.softmax(-1).flatten(0, 1))
        return weights @ value.transpose(1, 2).flatten(0, 1)


def check(module, sentences, tokens):
    """The output is unchanged, and every weight is that of float64."""
    x_bte = torch.randn(sentences, tokens, WIDTH, generator=torch.Generator().manual_seed(1))
    torch.manual_seed(2)
    output = module(x_bte)
    torch.manual_seed(2)
    with regard.watch(module) as seen:
        assert torch.equal(module(x_bte), output)
    assert seen.names == (("encoder", 0),)
    for sentence in range(sentences):
        weights_hqk = seen.sentence(sentence)[0].tile(slice(None), slice(None))
        expected = module.weights_bhqk[sentence]
        # A float32 softmax of d = 8: a few roundings of scores near 1.
        np.testing.assert_allclose(weights_hqk, expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize(("sentences", "tokens"), SIZES)
@pytest.mark.parametrize("form", [*ORDERS, "one_key_head", "two_key_heads", "viewed"])
def test_weights_of_any_layout(form, sentences, tokens):
    check(Handwritten(form), sentences, tokens)


@pytest.mark.parametrize("form", [*ORDERS, "viewed"])
def test_weights_before_dropout(form):
    check(Handwritten(form, dropout=0.3), 2, 5)


def test_a_loop_over_heads_is_a_call_for_each():
    class Loop(nn.Module):
        def forward(self, x_bte):
            halves = x_bte.split(WIDTH // 2, -1)
            return torch.cat([(x @ x.mT).softmax(-1) @ x for x in halves], -1)

    loop = Loop()
    with regard.watch(loop) as seen:
        loop(torch.randn(2, 5, WIDTH))
    assert list(seen.paths) == ["Loop", "Loop#2"]
    assert seen.sentence(1)[0].entropy.shape == (1, 5)


def test_a_mixture_of_rows_of_a_table_is_no_attention():
    class Mixture(nn.Module):
        def forward(self, x_bte):
            return torch.einsum("bte,ef->btf", x_bte.softmax(-1), torch.ones(WIDTH, 2))

    mixture = Mixture()
    with pytest.raises(BackendError, match="no attention was seen"):  # noqa: SIM117
        with regard.watch(mixture):
            mixture(torch.zeros(2, 5, WIDTH))
