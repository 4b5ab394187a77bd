"""One source of attention: readers of torch programs, whatever code computes the attention."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import regard
from regard.errors import ArgumentError, BackendError
from regard.watcher.seam.source import AttentionSource

WIDTH, HEADS, GROUPS, TOKENS = 16, 4, 2, 7
WRITTEN = ("fused", "masked", "matmul", "softcap", "bmm", "einsum", "dropout", "sinks")


class Attention(nn.Module):
    """Causal self-attention with heads that share keys, written in several ways."""

    def __init__(self, written):
        super().__init__()
        self.written, self.num_heads = written, HEADS
        self.query, self.key, self.value = (
            nn.Linear(WIDTH, heads * WIDTH // HEADS) for heads in (HEADS, GROUPS, GROUPS)
        )
        self.sink = nn.Parameter(torch.ones(HEADS))

    def forward(self, hidden_states):
        each = self.query, self.key, self.value
        q, k, v = (
            x(hidden_states).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for x in each
        )
        return hidden_states + self.attend(q, k, v).transpose(1, 2).flatten(2)

    def attend(self, q, k, v):
        visible = torch.ones(q.shape[2], q.shape[2]).tril().bool()
        if self.written == "fused":
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        k, v = (x.repeat_interleave(HEADS // GROUPS, dim=1) for x in (k, v))
        if self.written == "masked":
            return F.scaled_dot_product_attention(q, k, v, visible)
        if self.written == "bmm":
            q, k, v = (x.flatten(0, 1) for x in (q, k, v))
            bias = torch.zeros(visible.shape).masked_fill(~visible, -torch.inf)
            scores = torch.baddbmm(bias, q, k.mT, alpha=0.5)
            return torch.bmm(scores.softmax(-1), v).unflatten(0, (-1, HEADS))
        scores = q @ k.mT / 2
        if self.written == "softcap":
            scores = torch.tanh(scores / 3) * 3
        scores = scores + torch.zeros(visible.shape).masked_fill(~visible, -torch.inf)
        if self.written == "sinks":
            sink = self.sink[:, None, None].expand(*scores.shape[:-1], 1)
            return torch.cat([scores, sink], -1).softmax(-1)[..., :-1] @ v
        weights = F.dropout(scores.softmax(-1), 0.5 if self.written == "dropout" else 0.0)
        if self.written == "einsum":
            return torch.einsum("bhqk,bhkd->bhqd", weights, v)
        return weights @ v


def program(written):
    torch.manual_seed(0)
    model = nn.Sequential(Attention(written), Attention(written))
    return model, torch.randn(2, TOKENS, WIDTH)


def weights_of(call):
    """The weights of a call in float64, made from nothing but its fields."""
    call = call.detached
    if call.query is None or call.sinks:
        return call.weights.double().numpy()
    query, key = (x.double() for x in (call.query, call.key.repeat_interleave(call.group, dim=1)))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if call.scale is None else call.scale)
    if call.softcap is not None:
        scores = call.softcap * torch.tanh(scores / call.softcap)
    if call.causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -torch.inf)
    if call.mask is not None:
        hides = call.mask.dtype == torch.bool
        scores = scores.masked_fill(~call.mask, -torch.inf) if hides else scores + call.mask
    return scores.softmax(-1).numpy()


class LargestWeight:
    """Your own reader: where each head of each layer looks most, over a whole program."""

    def __init__(self):
        self.best = {}

    def __call__(self, call):
        weights_bhqk = weights_of(call)
        where = np.unravel_index(weights_bhqk.argmax(), weights_bhqk.shape)
        self.best[call.place.path] = (*(int(x) for x in where), float(weights_bhqk.max()))


def test_a_reader_of_your_own():
    model, x_bte = program("fused")
    reader = LargestWeight()
    with AttentionSource(model, reader).attached():
        model(x_bte)
    assert list(reader.best) == ["0", "1"]
    assert reader.best["0"][-1] == 1  # the first token sees itself alone


@pytest.mark.parametrize("written", WRITTEN)
def test_the_fields_of_a_call_say_what_was_computed(written):
    (model, x_bte), calls = program(written), []
    torch.manual_seed(1)
    expected = model(x_bte)
    torch.manual_seed(1)
    with AttentionSource(model, calls.append).attached():
        output = model(x_bte)
    assert torch.equal(output, expected)
    assert [(x.place.path, x.place.part, x.place.layer) for x in calls] == [
        ("0", "decoder", 0), ("1", "decoder", 1)
    ]  # fmt: skip
    for call in (x.detached for x in calls):
        assert call.shape == (2, HEADS, TOKENS, TOKENS)
        weights = weights_of(call)
        assert call.query is not None
        if call.weights is not None:
            np.testing.assert_allclose(weights, call.weights.numpy(), atol=1e-6)
        if call.logsumexp is not None:
            assert call.kernel == "sdpa"
        value = call.value.double().repeat_interleave(HEADS // call.value.shape[1], dim=1)
        if written != "dropout":
            made = torch.from_numpy(weights) @ value
            torch.testing.assert_close(made.float(), call.output, rtol=0, atol=1e-6)
        assert call.place.given == (2, TOKENS)
        assert (call.sinks, call.dropout_p) == (written == "sinks", 0.5 * (written == "dropout"))


@pytest.mark.parametrize("written", WRITTEN)
def test_a_changed_output_has_gradients(written):
    """An ablated head is one whose output projection is zero, gradients included."""
    model, x_bte = program(written)

    def ablate(call):
        kept = torch.ones(HEADS, 1, 1)
        kept[2] = 0
        return call.output * kept if call.place.path == "1" else None

    torch.manual_seed(1)
    with AttentionSource(model, ablate).attached():
        output = model(x_bte)
    (changed,) = torch.autograd.grad(output.square().sum(), model[0].value.weight)
    keep = torch.ones(WIDTH)
    keep[2 * 4 : 3 * 4] = 0
    torch.manual_seed(1)
    hidden = model[0](x_bte)
    expected = hidden + (model[1](hidden) - hidden) * keep
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-6)
    (own,) = torch.autograd.grad(expected.square().sum(), model[0].value.weight)
    torch.testing.assert_close(changed, own, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("written", ["fused", "matmul"])
def test_within_the_attending_modules_alone(written):
    (model, x_bte), whole, inside = program(written), [], []
    source = AttentionSource(model, whole.append)
    with source.attached():
        model(x_bte)
    source.reader = inside.append
    remove = source.attach_inside(list({id(x): x for x in source.attending.values()}.values()))
    model(x_bte)
    assert not inside  # it looks only when it is asked to
    source.active = True
    for _ in range(2):
        source.begin_forward()
        model(x_bte)
    remove()
    model(x_bte)
    where = [(x.place.path, x.place.part, x.place.layer) for x in whole]
    assert [(x.place.path, x.place.part, x.place.layer) for x in inside] == 2 * where
    torch.testing.assert_close(inside[-1].output, whole[-1].output, rtol=0, atol=0)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_torchs_own_modules_keep_their_fast_path_and_their_bits(mode):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 24, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x_bte, calls = torch.randn(2, TOKENS, WIDTH), []
    with mode():
        expected = model(x_bte)
        with AttentionSource(model, calls.append).attached():
            output = model(x_bte)
    assert torch.equal(output, expected)
    assert [x.place.path for x in calls] == ["layers.0.self_attn", "layers.1.self_attn"]
    assert {x.kernel for x in calls} == {"sdpa" if mode is torch.enable_grad else "fast path"}


class Own(nn.Module):
    """A layer of somebody's own in torch's encoder, which calls it with modes off."""

    def __init__(self):
        super().__init__()
        self.self_attn = Attention("fused")
        self.self_attn.batch_first = True

    def forward(self, src, **options):
        return self.self_attn(src)


def test_a_layer_of_ones_own_inside_torchs_encoder():
    model, calls = nn.TransformerEncoder(Own(), 2, enable_nested_tensor=False), []
    with AttentionSource(model, calls.append).attached():
        model(torch.randn(1, TOKENS, WIDTH))
    assert [x.place.path for x in calls] == ["layers.0.self_attn", "layers.1.self_attn"]


def test_backward_checkpoints_and_copies_are_untouched():
    (model, x_bte), calls = program("matmul"), []
    expected = torch.autograd.grad(model(x_bte).sum(), list(model[0].query.parameters()))
    with AttentionSource(model, calls.append).attached():
        output = checkpoint(model, x_bte, use_reentrant=False)
        grads = torch.autograd.grad(output.sum(), list(model[0].query.parameters()))
        copy.deepcopy(model)
    assert all(torch.equal(x, y) for x, y in zip(grads, expected, strict=True))
    assert len(calls) == 2


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_a_forward_that_ends_early_leaves_nothing_behind(stop):
    model, x_bte = program("fused")
    model.append(nn.TransformerEncoderLayer(WIDTH, HEADS, 24, batch_first=True).eval())
    calls = []

    def end(module, arguments):
        raise stop

    with AttentionSource(model, calls.append).attached():
        handle = model[2].self_attn.register_forward_pre_hook(end)
        with pytest.raises(stop):
            model(x_bte)
        handle.remove()
        model(x_bte)
    assert torch._C._is_torch_function_enabled()
    assert torch.overrides._get_current_function_mode() is None
    assert [x.place.path for x in calls] == ["0", "1", "0", "1", "2.self_attn"]


def test_a_declared_kernel():
    torch.manual_seed(0)
    query, key = torch.randn(1, 2, 5, 4), torch.randn(1, 1, 5, 4)

    def kernel():  # as one that torch cannot look into
        output = torch.from_numpy((weights @ key.double().numpy()).astype(np.float32))
        return regard.declare(query, key, key, output=output, causal=True, scale=0.25)

    scores = query.double() @ key.double().mT * 0.25
    weights = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf).softmax(-1).numpy()
    alone, calls = kernel(), []
    with AttentionSource(None, calls.append).attached():
        assert torch.equal(kernel(), alone)
    (call,) = calls
    assert (call.kernel, call.place.path, call.place.part) == ("declared", "program", "decoder")
    np.testing.assert_allclose(weights_of(call), weights, atol=1e-12)
    with AttentionSource(None, lambda call: call.output * 0).attached():
        assert not kernel().any()
    with pytest.raises(ArgumentError, match="query must be a tensor"):
        regard.declare(query[0], key)


def test_a_kernel_that_keeps_its_heads_cannot_be_changed():
    torch.manual_seed(0)
    model = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).eval()
    x_bte = torch.randn(1, TOKENS, WIDTH)
    source = AttentionSource(model, lambda call: torch.zeros(1))
    with torch.no_grad(), source.attached(), pytest.raises(BackendError, match="fast path"):
        model(x_bte, x_bte, x_bte, need_weights=False)


def attended(x_te, written="fused"):
    """Attention of one sentence with two heads, as a function that vmap repeats."""
    q = x_te.unflatten(-1, (2, -1))
    if written == "einsum":
        weights = torch.einsum("qhd,khd->hqk", q, q).div(2).softmax(0 - 1)
        return torch.einsum("hqk,khd->qhd", weights, q)
    q = q.transpose(0, 1)
    if written == "fused":
        return F.scaled_dot_product_attention(q, q, q, scale=0.5)
    return (q @ q.mT / 2).softmax(2) @ q


@pytest.mark.parametrize("written", ["fused", "matmul", "einsum"])
def test_what_vmap_repeats_are_sentences(written):
    x_bte = torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(0))
    expected = torch.vmap(lambda x: attended(x, written))(x_bte)
    with regard.watch() as seen:
        assert torch.equal(torch.vmap(lambda x: attended(x, written))(x_bte), expected)
    assert (len(seen.names), seen.sentences) == (1, 3)
    for number, x_te in enumerate(x_bte):
        q = x_te.double().unflatten(-1, (2, -1)).transpose(0, 1)
        weights = (q @ q.mT / 2).softmax(-1).numpy()
        np.testing.assert_allclose(seen.sentence(number)[0].weights, weights, atol=1e-6)


def test_gradients_of_torch_func_are_untouched():
    x_bte = torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(0))

    def gradients():
        return torch.vmap(torch.func.grad(lambda x: attended(x).sum()))(x_bte)

    expected, calls = gradients(), []
    with AttentionSource(None, calls.append).attached():
        assert torch.equal(gradients(), expected)
    assert [call.shape for call in calls] == [(3, 2, 5, 5)]
    refused, source = pytest.raises(BackendError, match=r"inside torch\.func"), None
    with refused, AttentionSource(source, lambda call: call.output * 0).attached():
        gradients()


def test_two_sources_leave_the_modes_of_a_module_in_order():
    """torch calls their hooks in one order before and after: what is entered last is left first."""
    attend, x_bte = (
        nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).eval(),
        torch.randn(2, 5, WIDTH),
    )
    first, second = [], []
    sources = AttentionSource(attend, first.append), AttentionSource(attend, second.append)
    with sources[0].attached(), sources[1].attached():
        attend(x_bte, x_bte, x_bte)
    assert len(first) == len(second) == 1
    assert not torch._C._is_torch_function_all_disabled()
    with sources[0].attached():
        attend(x_bte, x_bte, x_bte)
    assert len(first) == 2
