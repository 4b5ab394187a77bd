"""Changes of heads in plain torch programs: the same words, and the same numbers, as elsewhere."""

import copy

import numpy as np
import pytest
import torch
from tests.helpers.model_families import FAMILIES
from torch import nn
from torch.nn import functional as F

import regard
from regard.errors import BackendError

HEADS, WIDTH, TOKENS = 4, 32, 7
CHANGES = {
    "ablate": lambda block: block.ablate(0, 1),
    "knock_out": lambda block: block.knock_out((1, 3), layer=1),
    "redirect": lambda block: block.redirect((5, 6), (2, 3), 1, 3, weight=0.7),
}


class Attention(nn.Module):
    """Causal self-attention, fused or by hand in one of several layouts."""

    def __init__(self, form):
        super().__init__()
        self.form, self.qkv, self.out = form, nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x_bte):
        query, key, value = (
            x.unflatten(-1, (HEADS, -1)).transpose(1, 2) for x in self.qkv(x_bte).chunk(3, -1)
        )
        if self.form == "fused":
            output = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            hidden = torch.ones(x_bte.shape[1], x_bte.shape[1]).triu(1).bool()
            scores = query @ key.mT / np.sqrt(WIDTH // HEADS)
            weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
            if self.form == "transposed":
                output = (value.mT @ weights.mT).mT
            elif self.form == "einsum":
                output = torch.einsum("bhqk,bhkd->bhqd", weights, value)
            else:
                output = weights @ value
        return self.out(output.transpose(1, 2).flatten(2))


class Gpt(nn.Module):
    """A small language model that returns its logits, and a loss that is None."""

    def __init__(self, form):
        super().__init__()
        self.table = nn.Embedding(20, WIDTH)
        self.layers = nn.ModuleList(Attention(form) for _ in range(2))
        self.head = nn.Linear(WIDTH, 20)

    def forward(self, ids):
        x_bte = 3 * self.table(ids)
        for layer in self.layers:
            x_bte = x_bte + layer(x_bte)
        return self.head(x_bte), None


def made(form):
    torch.manual_seed(1)
    return Gpt(form).eval()


IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2], [6, 5, 3, 5, 8, 9, 7]])


def reference(model, name):
    """Logits of the changed model in float64, and its weights (l, b, h, q, k)."""
    model = made("fused").double() if model is None else model
    x_bte, every = 3 * model.table(IDS), []
    for number, layer in enumerate(model.layers):
        query, key, value = (
            x.unflatten(-1, (HEADS, -1)).transpose(1, 2) for x in layer.qkv(x_bte).chunk(3, -1)
        )
        scores = query @ key.mT / np.sqrt(WIDTH // HEADS)
        scores = scores.masked_fill(torch.ones(TOKENS, TOKENS).triu(1).bool(), -torch.inf)
        if (name, number) == ("knock_out", 1):
            others = [0, 3, 4, 5, 6]
            scores[:, :, others, 1:3] = -torch.inf
        weights = scores.softmax(-1)
        if (name, number) == ("redirect", 1):
            weights = weights.clone()
            row = weights[:, 3, 5].clone()
            row[:, 2] = 0
            weights[:, 3, 5] = 0.3 * row / row.sum(-1, keepdim=True)
            weights[:, 3, 5, 2] = 0.7
        every.append(weights)
        output = weights @ value
        if (name, number) == ("ablate", 0):
            output[:, 1] = 0
        x_bte = x_bte + layer.out(output.transpose(1, 2).flatten(2))
    return model.head(x_bte), torch.stack(every)


@torch.no_grad()
@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("form", ["fused", "by hand", "transposed", "einsum"])
def test_a_changed_program_is_that_of_float64(form, name):
    model = made(form)
    with CHANGES[name](regard.watch(model)) as seen:
        logits, _ = model(IDS)
    expected, weights = reference(None, name)
    np.testing.assert_allclose(logits, expected, atol=2e-5)
    for sentence in range(2):
        for layer in range(2):
            shown = seen.sentence(sentence)[layer].weights
            np.testing.assert_allclose(shown, weights[layer, sentence].detach(), atol=2e-6)
    before, after = seen.outcome.logits
    np.testing.assert_array_equal(before, model(IDS)[0])
    np.testing.assert_array_equal(after, logits)


@torch.no_grad()
@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_program_around_a_model_is_changed_as_the_model_is(attention, name):
    model = copy.deepcopy(next(x for x in FAMILIES if x.name == "llama").made())
    model.set_attn_implementation(attention)
    ids = torch.arange(3, 12)[None]
    with CHANGES[name](regard.watch(model)):
        expected = model(ids, use_cache=False).logits
    with CHANGES[name](regard.watch()):
        actual = model(ids, use_cache=False).logits
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-5)
    assert not torch.equal(expected, model(ids, use_cache=False).logits)


@torch.no_grad()
def test_a_finished_run_of_a_plain_model_is_changed_and_taken_apart():
    model = made("by hand")
    with regard.watch(model) as seen:
        model(IDS[:1])
    changed = seen.ablate(0, 1)
    np.testing.assert_allclose(changed.logits[1], reference(None, "ablate")[0][:1], atol=2e-5)
    effects = seen.effects(3, 4)
    one, other = (x[0, -1, 3] - x[0, -1, 4] for x in changed.logits)
    np.testing.assert_allclose(effects.by_layer["decoder", 0][1], one - other, atol=2e-5)


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_program_has_the_gradients_of_float64(name):
    model, wide = made("fused"), made("fused").double()
    with CHANGES[name](regard.watch(model)):
        logits, _ = model(IDS)
    logits[1, -1, 3].backward()
    reference(wide, name)[0][1, -1, 3].backward()
    for ours, exact in zip(model.parameters(), wide.parameters(), strict=True):
        np.testing.assert_allclose(ours.grad, exact.grad, atol=1e-4 * float(exact.grad.abs().max()))


def test_what_cannot_be_changed_says_why():
    model = made("by hand")
    with regard.watch(model).ablate(0, 1):
        model(IDS)[0].sum().backward()
    with (
        pytest.raises(BackendError, match="changed weights have no gradients"),
        regard.watch(model).knock_out((1, 3), layer=1),
    ):
        model(IDS)
    model = nn.MultiheadAttention(WIDTH, HEADS, dropout=0.5, batch_first=True)
    x_bte = torch.randn(1, 5, WIDTH)
    with (
        torch.no_grad(),
        pytest.raises(BackendError, match="Dropout is one reason"),
        regard.watch(model).ablate(0, 1),
    ):
        model(x_bte, x_bte, x_bte)
