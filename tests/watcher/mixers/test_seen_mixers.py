"""regard.watch(model, mixers=True): what is kept, joined, proven, and refused."""

import json

import numpy as np
import pytest
import torch
from tests.helpers.own_mixers import (
    S4D,
    WIDTH,
    ConvolvedAttention,
    LinearAttention,
    MinGRU,
    Mlp,
    Recurrent,
    Softmax,
)
from tests.helpers.planted_model import planted_tokenizer
from torch import nn

import regard
from regard.errors import ArgumentError, BackendError, NotAskedError

TOKENS = 24


class Hybrid(nn.Module):
    """A small program: layers of one kind and another, each with an MLP."""

    def __init__(self, *kinds):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(64, WIDTH)
        self.layers = nn.ModuleList(nn.ModuleList([kind(), Mlp()]) for kind in kinds)

    def forward(self, input_ids, attention_mask=None):
        x = self.embed(input_ids)
        if attention_mask is not None:
            x = x * attention_mask[..., None]
        for mixer, mlp in self.layers:
            x = x + mixer(x)
            x = x + mlp(x)
        return x


def ids(sentences=1, tokens=TOKENS):
    return torch.randint(3, 64, (sentences, tokens), generator=torch.Generator().manual_seed(1))


def watched(model, *calls, **options):
    with torch.no_grad():
        expected = [model(**x) for x in calls]
        with regard.watch(model, mixers=True, **options) as seen:
            outputs = [model(**x) for x in calls]
    for one, other in zip(outputs, expected, strict=True):
        assert torch.equal(one, other)  # the same to the bit
    return seen


def test_both_kinds_of_layers_of_a_program():
    model = Hybrid(LinearAttention, Softmax, MinGRU)
    seen = watched(model, {"input_ids": ids()})
    assert list(seen.paths) == ["layers.1.0"]
    assert [(x.path, x.kind, x.layer) for x in seen.mixers] == [
        ("layers.0.0", "LinearAttention", 0),
        ("layers.2.0", "MinGRU", 2),
    ]
    first, last = seen.mixers
    hidden = model.embed(ids())
    expected = model.layers[0][0].weights(hidden).detach().numpy()
    np.testing.assert_allclose(first.taken(7, signed=True), expected[:, 7], atol=1e-6)
    np.testing.assert_allclose(first.received, expected.sum(1), atol=1e-5)
    by_hand = expected[:, 8:20, 2:5].sum(-1).mean(-1)
    np.testing.assert_allclose(first.span((8, 20), (2, 5), signed=True), by_hand, atol=1e-6)
    value = model.layers[0][0].qkv(hidden)[0, :, 2 * WIDTH :].view(TOKENS, 4, -1).detach().numpy()
    sizes = np.abs(expected) * np.linalg.norm(value, axis=-1).T[:, None]
    share = sizes / sizes.sum(-1, keepdims=True)
    np.testing.assert_allclose(first.taken(-1), share[:, -1], atol=1e-6)
    distance = np.abs(np.subtract.outer(np.arange(TOKENS), np.arange(TOKENS)))
    np.testing.assert_allclose(first.reach, (share * distance).sum(-1).mean(-1), rtol=1e-5)
    np.testing.assert_allclose(first.spread, (1 / (share**2).sum(-1)).mean(-1), rtol=1e-5)
    np.testing.assert_allclose(first.span((8, 20), (2, 5)), share[:, 8:20, 2:5].sum(-1).mean(-1),
                               atol=1e-6)  # fmt: skip
    np.testing.assert_allclose(first.cancelled, 0, atol=1e-6)  # its weights are all positive
    assert first.negative.max() == 0
    assert (first.heads, first.width, first.columns) == (4, 8, "tokens")
    assert (last.heads, last.width, last.taken(3).shape) == (WIDTH, 1, (8, TOKENS))
    np.testing.assert_allclose(last.taken(3).sum(-1), 1, rtol=1e-6)
    assert last.reach[0] < last.reach[-1]  # groups of channels are in the order of their reach
    assert max(x.proofs.error for x in seen.mixers) < 1e-6
    report = str(seen.mixers)
    assert "layers.0.0  4 heads" in report
    assert "no attention" in report
    assert not seen.mixers.refused


def test_signed_weights_cancel():
    model = Hybrid(ConvolvedAttention)
    (mixer,) = watched(model, {"input_ids": ids()}).mixers
    weights = model.layers[0][0].weights(model.embed(ids())).detach().numpy()
    mass = np.abs(weights).sum(-1)
    np.testing.assert_allclose(
        mixer.cancelled, (1 - np.abs(weights.sum(-1)) / mass).mean(-1), atol=1e-5
    )
    np.testing.assert_allclose(
        mixer.negative, (np.maximum(-weights, 0).sum(-1) / mass).mean(-1), atol=1e-5
    )
    parts = mixer._proven.tokens.parts(torch.from_numpy(weights[:, 9])).T.unflatten(1, (4, -1))
    mixed = mixer._proven.replay.mixed_tv[9].unflatten(0, (4, -1))
    against = (parts * mixed).sum(-1).numpy().T < 0
    assert 0 < against.sum() < against.size
    signed = np.where(against, -1, 1) * mixer.taken(9)  # taken back, or not
    np.testing.assert_allclose(mixer.drawn[:, 9], signed, atol=1e-6)
    assert mixer.convolved
    assert mixer.measured.biases_ga.max() > 0  # what the convolution's bias wrote stands apart


def test_words_spans_and_texts():
    model, tokenizer = Hybrid(LinearAttention), planted_tokenizer()
    text = {"input_ids": torch.arange(2, 14)[None]}  # each a word of its own
    seen = watched(model, text, {"input_ids": ids()}, tokenizer=tokenizer, spans={"start": (0, 3)})
    assert seen.runs == 2
    assert len(seen.mixers[0].text.tokens) == len(seen.run(1).mixers[0].text.tokens) == TOKENS
    mixer = seen.run(0).mixers["layers.0.0"]
    words = mixer.text.words
    rows = mixer.text.span(" ".join(words[4:6]))
    np.testing.assert_allclose(
        mixer.span(" ".join(words[4:6]), "start"), mixer.span(rows, (0, 3)), rtol=1e-12
    )
    np.testing.assert_allclose(mixer.taken(words[4]), mixer.taken(rows[0]), rtol=1e-12)


class Remembering(nn.Module):
    """Linear attention with a state that the caller keeps, as a cache."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x, cache=None):
        q, k, v = self.q(x), self.k(x), self.v(x)
        memory = torch.einsum("btk,btv->btkv", k, v).cumsum(1)
        if cache is not None:
            memory = memory + cache.get("memory", torch.zeros(()))
            cache["memory"] = memory[:, -1:]
        return self.out(torch.einsum("btk,btkv->btv", q, memory))


class Generating(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.mixer = nn.Embedding(64, WIDTH), Remembering()

    def forward(self, input_ids, cache=None):
        return self.mixer(self.embed(input_ids), cache=cache)


def test_calls_with_a_cache_are_one_text():
    model, tokens = Generating(), ids()
    with torch.inference_mode(), regard.watch(model, mixers=True) as seen:
        for _ in range(2):  # two generations, one after the other
            cache = {}
            model(tokens[:, :20], cache)
            for i in range(20, TOKENS):
                model(tokens[:, i : i + 1], cache)
    assert len(seen.mixers._groups) == 2
    mixer = seen.mixers[0]
    assert len(mixer.text.tokens) == TOKENS
    assert mixer.proofs.error < 1e-6
    (whole,) = watched(model, {"input_ids": tokens}).mixers
    np.testing.assert_allclose(mixer.taken(-1), whole.taken(-1), atol=1e-6)


def test_chunks_of_a_prompt_are_one_text():
    model, tokens, cache = Generating(), ids(), {}
    with torch.no_grad(), regard.watch(model, mixers=True) as seen:
        for start in range(0, TOKENS, 8):
            model(tokens[:, start : start + 8], cache)
    assert len(seen.mixers[0].text.tokens) == TOKENS
    assert not seen.mixers.refused


def test_a_cache_from_before_the_block_is_refused():
    model, tokens, cache = Generating(), ids(), {}
    with torch.no_grad():
        model(tokens[:, :20], cache)
        with regard.watch(model, mixers=True) as seen:
            model(tokens[:, 20:], cache)
    with pytest.raises(BackendError, match=r"mixer: no weights are shown, since run again"):
        seen.mixers[0].taken(0)
    assert "a cache that was filled before" in seen.mixers.refused["mixer"]
    assert "is not shown" in str(seen.mixers)


def test_padding_is_cut():
    model, mask = Hybrid(LinearAttention), torch.ones(3, TOKENS, dtype=torch.long)
    mask[1, :5], mask[2, -7:] = 0, 0
    # Biases of key and value write something where there is padding, unless there are none.
    nn.init.zeros_(model.layers[0][0].qkv.bias)
    seen = watched(model, {"input_ids": ids(3), "attention_mask": mask})
    alone = ids(3)[2:, :-7]
    assert seen.sentences == 3
    right = seen.sentence(2).mixers[0]
    assert len(right.text.tokens) == TOKENS - 7
    (expected,) = watched(model, {"input_ids": alone}).mixers
    np.testing.assert_allclose(right.taken(-1), expected.taken(-1), atol=1e-6)
    # On the left padding changes the sums of elu(0) + 1: that layer reads it.
    assert "padding that it reads" in seen.sentence(1).mixers.refused["layers.0.0"]
    mask[0, 3:6] = 0
    seen = watched(model, {"input_ids": ids(3), "attention_mask": mask})
    assert "padding lies between" in seen.sentence(0).mixers.refused["layers.0.0"]


def test_what_cannot_be_proven_has_an_influence():
    seen = watched(Hybrid(lambda: Recurrent(nn.GRU)), {"input_ids": ids()})
    (mixer,) = seen.mixers
    with pytest.raises(BackendError, match="no value in it is mixed"):
        mixer.taken(3)
    influence = mixer.influence(9)
    assert influence.shape == (TOKENS,)
    assert influence[9] == influence.max()
    assert influence[10:].max() == 0  # it looks back alone


def test_influence_is_the_size_of_the_jacobian():
    model = Hybrid(LinearAttention)
    (mixer,) = watched(model, {"input_ids": ids()}).mixers
    hidden = model.embed(ids()).detach()
    jacobian = torch.autograd.functional.jacobian(lambda x: model.layers[0][0](x)[0, 9], hidden)
    exact = jacobian[:, 0].square().sum((0, 2)).sqrt().numpy()
    # 16 directions of 32: each square is known to about sqrt(2 / 16), its root to half of that.
    np.testing.assert_allclose(mixer.influence(9), exact, rtol=0.5, atol=1e-7)


def test_inputs_stay_within_the_limit():
    model = Hybrid(S4D, S4D)
    seen = watched(model, {"input_ids": ids()}, layers=[1])
    assert [x.path for x in seen.mixers] == ["layers.1.0"]
    with torch.no_grad(), regard.watch(model, mixers=True) as seen:
        seen._source.recorder.mixers.limit = TOKENS * WIDTH * 4 * 3 // 2  # of two inputs and rows
        model(ids())
    assert list(seen.mixers.refused) == ["layers.1.0"]
    assert "choose layers=..." in seen.mixers.refused["layers.1.0"]
    with torch.no_grad(), regard.watch(model, mixers=True, keep="all") as seen:
        model(ids())
    assert seen._source.recorder.mixers.limit is None


def test_parameters_that_changed_since_are_noticed():
    model = Hybrid(LinearAttention)
    seen = watched(model, {"input_ids": ids()})
    with torch.no_grad():
        model.layers[0][0].out.weight.mul_(1.5)
    assert "parameters that changed since" in seen.mixers.refused["layers.0.0"]


def test_every_row_is_proven_when_it_is_shown():
    (mixer,) = watched(Hybrid(ConvolvedAttention), {"input_ids": ids()}).mixers
    mixer.taken(5)
    with torch.no_grad():
        mixer._proven.replay.mixed[0, 5] *= 1.001  # one row of the output is another
    mixer.taken(6)
    for signed in (False, True):
        with pytest.raises(BackendError, match="weights of row 5 miss its output by"):
            mixer.taken(5, signed=signed)


def test_nothing_of_the_module_is_changed():
    model = Hybrid(LinearAttention, MinGRU).train()
    before = {name: (x.data_ptr(), x.requires_grad) for name, x in model.named_parameters()}
    seen = watched(model, {"input_ids": ids()})
    assert not seen.mixers.refused
    assert before == {n: (x.data_ptr(), x.requires_grad) for n, x in model.named_parameters()}
    assert all(x.grad is None for x in model.parameters())
    assert not any(x._forward_hooks or x._forward_pre_hooks for x in model.modules())
    assert all(module.training for module in model.modules())


def test_arguments():
    model = Hybrid(LinearAttention, Softmax)
    with pytest.raises(ArgumentError, match="mixers needs a model"):
        regard.watch(mixers=True)
    with pytest.raises(ArgumentError, match="mixers must be False with on_step"):
        regard.watch(model, on_step=print, mixers=True)
    with torch.no_grad(), regard.watch(model) as seen:
        model(ids())
    with pytest.raises(NotAskedError, match="mixers were not watched"):
        seen.mixers  # noqa: B018
    seen = watched(model, {"input_ids": ids()})
    with pytest.raises(ArgumentError, match="1 layer without a softmax ran"):
        seen.mixers[1]
    with pytest.raises(ArgumentError, match=r"must be one of layers\.0\.0"):
        seen.mixers["layers.1.0"]
    with pytest.raises(ArgumentError, match="one of 24"):
        seen.mixers[0].taken(24)
    with pytest.raises(ArgumentError, match="24 tokens"):
        seen.mixers[0].span((0, 25), (0, 1))


def test_a_file_holds_the_measures(tmp_path):
    model = Hybrid(LinearAttention, Softmax, lambda: Recurrent(nn.GRU))
    seen = watched(model, {"input_ids": ids(2)})
    seen.save(tmp_path / "run.regard")
    loaded = regard.load(tmp_path / "run.regard")
    assert loaded.watched_mixers
    for sentence in range(2):
        live, stored = (x.sentence(sentence).mixers for x in (seen, loaded))
        assert stored.facts == tuple(json.loads(json.dumps(live.facts)))
        assert str(stored) == str(live)
        np.testing.assert_array_equal(stored.drawn(0), live.drawn(0))
        assert stored.drawn(1) is live.drawn(1) is None  # it is refused
    assert list(loaded.mixers.refused) == ["layers.2.0"]
    assert seen.sentence(0).to_dict()["mixers"] == list(seen.mixers.facts)
    plain = watched(Hybrid(Softmax), {"input_ids": ids()})
    assert not plain.watched_mixers
    plain.save(tmp_path / "plain.regard")
    with pytest.raises(NotAskedError, match="mixers were not watched"):
        regard.load(tmp_path / "plain.regard").mixers  # noqa: B018


class Routed(nn.Module):
    """A mixer with a softmax over features, which is none over positions."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x):
        q, k = self.q(x).softmax(-1), self.k(x).softmax(-2)
        return self.out(q @ (k.transpose(1, 2) @ self.v(x)))


def test_trying_a_module_is_not_recorded():
    """Efficient attention (Shen et al., 2018): the block sees its two softmaxes once."""
    model = Hybrid(Routed, Softmax)
    with torch.no_grad(), regard.watch(model) as plain:
        model(ids())
    with torch.no_grad(), regard.watch(model, mixers=True) as seen:
        model(ids())
        assert not seen.mixers.refused  # asked inside the block
    assert seen.names == plain.names
    assert seen.unrecorded == plain.unrecorded
    assert [x.path for x in seen.mixers] == ["layers.0.0"]
    x = model.embed(ids())
    mixer = model.layers[0][0]
    weights = (mixer.q(x).softmax(-1) @ mixer.k(x).softmax(-2).transpose(1, 2))[0].detach()
    np.testing.assert_allclose(seen.mixers[0].taken(5, signed=True)[0], weights[5], atol=1e-7)
