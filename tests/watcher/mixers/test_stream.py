"""The value of a mixer is found without names, and its weights are those of its formula."""

import pytest
import torch
import torch.nn.functional as F
from tests.helpers.own_mixers import (
    FORMULAS,
    HEADS,
    REFUSED,
    WIDTH,
    BothWays,
    ConvolvedAttention,
    GatedConvolution,
    Mlp,
    TwoValues,
)

from regard.watcher.mixers.module_call import ModuleCall, separate_copy
from regard.watcher.mixers.replay import TOLERANCE, Replay
from regard.watcher.mixers.stream import SHORT, NoStreamError, find_stream, mixes
from regard.watcher.mixers.tokens import Tokens

TOKENS = 32  # as many as channels: the axes are told apart all the same
EVERY = range(TOKENS)


def calls_of(make):
    torch.manual_seed(0)
    module = separate_copy(make())

    def call_of(n):
        return ModuleCall(module, "x", torch.randn(1, n, WIDTH), {})

    return call_of


@pytest.mark.parametrize("name", FORMULAS)
def test_weights_are_those_of_the_formula(name):
    call_of = calls_of(FORMULAS[name])
    stream, call = find_stream(call_of), call_of(TOKENS)
    weights = call.module.weights(call.hidden).detach()
    replay = Replay(call, stream)
    assert (stream.channels, stream.heads) == (WIDTH, len(weights))
    # FFT adds 64 terms of every size; all else rounds each weight a few times.
    close = {"rtol": 1e-5, "atol": 1e-5 * float(weights.abs().max())}
    torch.testing.assert_close(replay.rows(EVERY), weights, **close)
    several = {"rtol": 1e-4, "atol": 1e-5 * float(weights.abs().sum(-1).max())}
    torch.testing.assert_close(replay.received(), weights.sum(1), **several)
    torch.testing.assert_close(replay.span_sums(3, 9), weights[..., 3:9].sum(-1), **several)
    assert replay.error(EVERY) < TOLERANCE
    assert Tokens(replay).error < TOLERANCE


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_linear_in_a_value_is_refused(name):
    call_of = calls_of(REFUSED[name])
    assert mixes(call_of(SHORT))
    with pytest.raises(NoStreamError, match="no value in it is mixed"):
        find_stream(call_of)


def test_two_values_side_by_side_are_refused():
    with pytest.raises(NoStreamError, match="some of its mixing does not pass"):
        find_stream(calls_of(TwoValues))


def test_a_layer_that_mixes_nothing():
    assert not mixes(calls_of(Mlp)(SHORT))


def test_a_gated_convolution_is_its_kernel_times_its_gate():
    call_of = calls_of(GatedConvolution)
    stream, call = find_stream(call_of), call_of(TOKENS)
    b, c, value = call.module.bcx(call.hidden)[0].detach().chunk(3, dim=-1)
    kernel = call.module.convolution.weight.detach()[:, 0]
    rows = Replay(call, stream).rows(EVERY)
    torch.testing.assert_close(Replay(call, stream).value_tv, b * value)
    for lag in range(3):  # the last tap of the kernel is the position itself
        expected = (c * kernel[:, 2 - lag])[lag:].T
        torch.testing.assert_close(rows.diagonal(-lag, 1, 2), expected, rtol=1e-5, atol=1e-6)
    assert rows.triu(1).abs().max() == rows.tril(-3).abs().max() == 0


def test_tokens_through_a_convolution():
    """The parts of tokens by their formula; columns of the weights are something else."""
    call_of = calls_of(ConvolvedAttention)
    stream, call = find_stream(call_of), call_of(TOKENS)
    replay = Replay(call, stream)
    assert stream.source is not None
    module, row = call.module, TOKENS - 1
    written = module.qkv(call.hidden)[0, :, 2 * WIDTH :].detach()
    kernel = module.convolution.weight.detach()[2 * WIDTH :, 0]
    bias = module.convolution.bias.detach()[2 * WIDTH :]
    padded = F.pad(written, (0, 0, 3, 0))
    u = sum(padded[tap : tap + TOKENS] * kernel[:, tap] for tap in range(4)) + bias
    gate = F.silu(u) / u
    weights = module.weights(call.hidden)[:, row].detach()  # (h, t)
    passed = weights.T.repeat_interleave(WIDTH // HEADS, 1) * gate
    expected = torch.zeros(TOKENS, WIDTH)
    for tap in range(4):
        lag = 3 - tap
        expected[: TOKENS - lag] += passed[lag:] * kernel[:, tap] * written[: TOKENS - lag]
    tokens, weights_ht = Tokens(replay), replay.rows([row])[:, 0]
    assert list(tokens.lags) == [0, 1, 2, 3]
    parts = tokens.parts(weights_ht).T
    of_biases = torch.einsum("ht,htv->hv", weights_ht, replay.by_head(tokens.biases_tv)).flatten()
    scale = float(expected.abs().max())
    torch.testing.assert_close(parts, expected, rtol=1e-4, atol=1e-5 * scale)
    torch.testing.assert_close(
        of_biases, (passed * bias).sum(0), rtol=1e-4, atol=1e-5 * float(of_biases.abs().max())
    )
    by_head = expected.unflatten(1, (HEADS, -1)).norm(dim=-1).T
    torch.testing.assert_close(
        tokens.sizes(weights_ht).float(), by_head, rtol=1e-4, atol=1e-5 * scale
    )
    columns = passed / gate * replay.value_tv
    assert (columns - parts).abs().max() > 0.1 * scale


@pytest.mark.parametrize("tokens", [1, 2, 3, 5])
def test_a_text_shorter_than_the_convolution(tokens):
    call_of = calls_of(ConvolvedAttention)
    replay = Replay(call_of(tokens), find_stream(call_of))
    found = Tokens(replay)
    assert found.error < TOLERANCE
    assert list(found.lags) == [0, 1, 2, 3]
    late = torch.arange(tokens) + torch.arange(4)[:, None] >= tokens
    assert found.written_kvt.transpose(1, 2)[late].abs().sum() == 0  # it would write past the end


def test_a_convolution_that_looks_both_ways():
    call_of = calls_of(BothWays)
    stream, call = find_stream(call_of), call_of(TOKENS)
    found = Tokens(Replay(call, stream))
    assert list(found.lags) == [-2, -1, 0, 1, 2]
    assert found.error < TOLERANCE
    kernel = call.module.convolution.weight.detach()[:, 0]  # (channels, taps)
    given = call.module.value(call.hidden)[0].detach().T
    convolved = call.module.convolution(given[None])[0].detach()
    gate = F.silu(convolved) / convolved
    for k, lag in enumerate(found.lags):  # the value at t + lag reads t with the tap 2 - lag
        read, made = (
            slice(max(-lag, 0), TOKENS - max(lag, 0)),
            slice(max(lag, 0), TOKENS + min(lag, 0)),
        )
        expected = torch.zeros(WIDTH, TOKENS)
        expected[:, read] = gate[:, made] * kernel[:, 2 - lag, None] * given[:, read]
        torch.testing.assert_close(found.written_kvt[k], expected, rtol=1e-4, atol=1e-6)


def test_a_copy_shares_the_parameters_and_leaves_the_module_alone():
    module = GatedConvolution()
    calls = []
    module.register_forward_hook(lambda *_: calls.append(1))
    copied = separate_copy(module)
    copied(torch.randn(1, 5, WIDTH))
    assert not calls
    for one, other in zip(module.parameters(), copied.parameters(), strict=True):
        assert one.data_ptr() == other.data_ptr()
        assert one.requires_grad
        assert not other.requires_grad
    assert separate_copy(module, torch.float64).out.weight.dtype == torch.float64
    assert module.out.weight.dtype == torch.float32
