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


class Linear(nn.Module):
    """Linear attention: queries and keys are softmaxes of features, or the keys alone."""

    def __init__(self, form):
        super().__init__()
        self.form, self.qkv = form, nn.Linear(WIDTH, 3 * WIDTH, bias=form != "coat")

    def forward(self, x_bte):
        query, key, value = (
            x.unflatten(-1, (HEADS, -1)).transpose(1, 2) for x in self.qkv(x_bte).chunk(3, -1)
        )
        if self.form == "coat":  # one softmax, of the keys over the tokens
            return query @ (key.softmax(-2).mT @ value)
        if self.form == "einsum":  # the context is the left factor
            context = torch.einsum("bhnd,bhne->bhde", key.softmax(-2), value)
            return torch.einsum("bhde,bhnd->bhne", context, query.softmax(-1))
        return query.softmax(-1) @ (key.softmax(-2).mT @ value)


class Agents(nn.Module):
    """Agent attention: few agents attend to the tokens, and the tokens to the agents."""

    def forward(self, x_bte):
        agents = x_bte[:, :3]
        gathered = (agents @ x_bte.mT).softmax(-1) @ x_bte
        return (x_bte @ agents.mT).softmax(-1) @ gathered


@pytest.mark.parametrize("form", ["both", "coat", "einsum"])
def test_linear_attention_is_refused_and_named(form):
    model = nn.ModuleDict({"linear": Linear(form), "attend": Handwritten("bhqk")})
    x_bte = torch.randn(2, 7, WIDTH)
    with pytest.raises(BackendError, match="features"), regard.watch(model["linear"]):
        model["linear"](x_bte)

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = model

        def forward(self, x_bte):
            return model["attend"](x_bte + model["linear"](x_bte).transpose(1, 2).flatten(2))

    both = Both()
    with regard.watch(both) as seen, torch.no_grad():
        both(x_bte)
        both(x_bte)
    assert seen.paths == {"parts.attend": ("encoder", 0)}
    assert "parts.linear" in seen.unrecorded
    for sentence in range(2):
        shown = seen.sentence(sentence)[0].weights
        np.testing.assert_allclose(shown, model["attend"].weights_bhqk[sentence], atol=2e-6)


def test_agents_that_attend_in_two_steps_are_attention():
    model = Agents()
    with regard.watch(model) as seen:
        model(torch.randn(1, 7, WIDTH))
    assert [seen[key].weights.shape[-2:] for key in seen.names] == [(3, 7), (7, 3)]


@pytest.mark.parametrize("sentences", [1, 2])
@pytest.mark.parametrize("einsum", [False, True])
def test_talking_heads_show_the_softmax_and_say_so(einsum, sentences):
    class Talking(nn.Module):
        def __init__(self):
            super().__init__()
            self.num_heads, self.mix = HEADS, nn.Linear(HEADS, HEADS)

        def forward(self, x_bte):
            x_bhtd = x_bte.unflatten(-1, (HEADS, -1)).transpose(1, 2)
            self.weights_bhqk = (x_bhtd @ x_bhtd.mT).softmax(-1)
            if einsum:
                mixed = torch.einsum("bhij,hg->bgij", self.weights_bhqk, self.mix.weight)
            else:
                mixed = self.mix(self.weights_bhqk.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
            return mixed @ x_bhtd

    model = Talking()
    with torch.no_grad(), regard.watch(model) as seen:
        model(torch.randn(sentences, 7, WIDTH))
    one = seen.sentence(sentences - 1)
    np.testing.assert_allclose(one[0].weights, model.weights_bhqk[-1].numpy(), atol=1e-7)
    assert "talking heads" in one[0].notes[0]
