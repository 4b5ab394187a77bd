"""The loss of packed batches: equal to that of each pair alone, with every attention kernel."""

from functools import partial

import numpy as np
import pytest

pytest.importorskip("torch", reason="training needs PyTorch: pip install 'regard[train]'")

import torch
import torch.nn.functional as F

from regard.transformer.config import END, PAD, START, Config, random_parameters
from train.data import EncodedPairs, Ragged, concatenate, no_links, no_targets, ragged
from train.loop import empty_batch, on_device
from train.model import (
    AttentionMode,
    PackedMode,
    RunMode,
    attention_sublayer,
    embed,
    encoder_layer,
    logits,
    norm,
    packed_loss,
    part,
    run_encoder,
    to_torch,
    token_loss,
)
from train.packing import BatchShape, Epoch, pack
from train.recipe import TaughtHead

CONFIG = Config(vocabulary=30, layers=2, heads=2, width=16, feed_forward_width=24)
HEADS = (TaughtHead("encoder", 1, 0, "pronouns"), TaughtHead("cross", 0, 1, "alignment"))
SHAPE = BatchShape(rows=6, source=16, target=20)
# The largest difference seen between two orders of the same float64 sums, some 1e3 of them with
# terms of about 1, is 1e3 x 2.2e-16; the gradients add up ten times as many.
LOSS, GRADIENT = {"rtol": 1e-12, "atol": 1e-12}, {"rtol": 1e-10, "atol": 1e-11}


def parameters():
    arrays = random_parameters(CONFIG, seed=3)
    return {k: x.double().requires_grad_() for k, x in to_torch(arrays).items()}


def some_pairs(seed=0, number=9):
    """Pairs of random tokens, with links in tokens: (kind, query start, stop, key start, stop)."""
    rng = np.random.default_rng(seed)
    sources, targets, links = [], [], []
    for _ in range(number):
        sources.append([*rng.integers(4, 30, rng.integers(2, 8)).tolist(), END])
        targets.append([*rng.integers(4, 30, rng.integers(2, 9)).tolist(), END])
        links.append([(0, 1, 2, 0, 1), (1, 0, 2, 1, len(sources[-1]))][: rng.integers(0, 3)])
    flat = np.array([link for some in links for link in some]).reshape(-1, 5)
    starts = np.concatenate([[0], np.cumsum([len(some) for some in links])])
    return EncodedPairs(ragged(sources), ragged(targets), Ragged(flat, starts))


def packed_batch(pairs, shape=SHAPE):
    packing = pack(pairs, shape, np.random.default_rng(1))
    epoch = Epoch(pairs, pairs.links, packing, shape)
    assert len(epoch) == 1
    return epoch.batch(0)


def one_by_one(given, pairs, smoothing):
    """The mean loss of the labels, each pair computed alone by the model that translates."""
    total, count = 0.0, 0
    for number in range(len(pairs)):
        pair = pairs.take(np.array([number]))
        source, labels = (
            torch.tensor(side.tokens).long()[None] for side in (pair.source, pair.target)
        )
        inputs = torch.cat([torch.tensor([[START]]), labels[:, :-1]], dim=1)
        scores = logits(given, CONFIG, source, inputs)
        total = total + F.cross_entropy(
            scores[0], labels[0], label_smoothing=smoothing, reduction="sum"
        )
        count += labels.numel()
    return total / count


def gradients(loss, given):
    return dict(zip(given, torch.autograd.grad(loss, list(given.values())), strict=True))


@pytest.mark.parametrize("kernel", ["plain", "efficient"])
def test_the_packed_loss_is_the_mean_over_the_pairs_alone(kernel):
    given, pairs = parameters(), some_pairs()
    mode = PackedMode(torch.float64, smoothing=0.1, kernel=kernel)
    batch = on_device(packed_batch(pairs), torch.device("cpu"))
    loss, _ = packed_loss(given, CONFIG, batch, mode)
    expected = one_by_one(given, pairs, smoothing=0.1)
    torch.testing.assert_close(loss, expected, **LOSS)
    theirs = gradients(expected, given)
    for name, gradient in gradients(loss, given).items():
        torch.testing.assert_close(gradient, theirs[name], **GRADIENT, msg=name)


def test_dropout_only_where_it_is_asked_for():
    given = parameters()
    batch = on_device(packed_batch(some_pairs()), torch.device("cpu"))
    with torch.no_grad():
        plain = [packed_loss(given, CONFIG, batch, PackedMode(torch.float64))[0] for _ in range(2)]
        dropped, _ = packed_loss(given, CONFIG, batch, PackedMode(torch.float64, dropout=0.5))
    assert plain[0] == plain[1] != dropped


def spans_alone(given, pairs, head):
    """-log weight on each link's keys, and whether the largest is there, by dense attention."""
    losses, right = [], []
    for number in range(len(pairs)):
        pair = pairs.take(np.array([number]))
        source = torch.tensor(pair.source.tokens).long()[None]
        labels = torch.tensor(pair.target.tokens).long()[None]
        inputs = torch.cat([torch.tensor([[START]]), labels[:, :-1]], dim=1)
        weights_qk = dense_weights(given, source, inputs, head)
        for kind, start, stop, first, last in pair.links.tokens.tolist():
            if ("pronouns", "alignment")[kind] != head.of:
                continue
            for query in range(start + kind, stop + kind):  # a label is the input one later
                losses.append(-weights_qk[query, first:last].sum().log())
                right.append(first <= weights_qk[query].argmax().item() < last)
    return torch.stack(losses).mean(), float(np.mean(right))


def dense_weights(given, source_bt, inputs_bt, head):
    """The weights of one head for one pair, from the layers of the model that translates."""
    mode = RunMode(torch.float64)
    layer = part(given, f"{'encoder' if head.part == 'encoder' else 'decoder'}.{head.layer}.")
    if head.part == "encoder":
        x_bte = embed(given, source_bt, mode)
        for number in range(head.layer):
            x_bte = encoder_layer(x_bte, part(given, f"encoder.{number}."), CONFIG.heads)
        name, normed_bte = "self_attention", norm(x_bte, layer, "self_attention_norm")
        keys_bte = normed_bte
    else:
        assert head.layer == 0
        x_bte = embed(given, inputs_bt, mode)
        causal = AttentionMode(
            "self_attention", CONFIG.heads, partial(F.scaled_dot_product_attention, is_causal=True)
        )
        x_bte, _ = attention_sublayer(x_bte, None, layer, causal, 0.0)
        name, normed_bte = "cross_attention", norm(x_bte, layer, "cross_attention_norm")
        keys_bte = run_encoder(given, CONFIG, source_bt, mode)
    columns = slice(head.head * 8, head.head * 8 + 8)
    query_qd = (normed_bte @ layer[f"{name}.w_query"])[0, :, columns]
    key_kd = (keys_bte @ layer[f"{name}.w_key"])[0, :, columns]
    return (query_qd @ key_kd.T / 8**0.5).softmax(-1)


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.of)
def test_a_taught_loss_is_that_of_the_dense_weights_of_each_pair(head):
    given, pairs = parameters(), some_pairs()
    batch = on_device(packed_batch(pairs), torch.device("cpu"))
    _, (taught,) = packed_loss(given, CONFIG, batch, PackedMode(torch.float64), (head,))
    loss, right = spans_alone(given, pairs, head)
    torch.testing.assert_close(taught.loss, loss, **LOSS)
    assert taught.right.item() == pytest.approx(right)
    theirs = torch.autograd.grad(loss, list(given.values()), allow_unused=True)
    ours = torch.autograd.grad(taught.loss, list(given.values()), allow_unused=True)
    for name, a, b in zip(given, ours, theirs, strict=True):
        assert (a is None) == (b is None), name
        if a is not None:
            torch.testing.assert_close(a, b, **GRADIENT, msg=name)
    where = "encoder.1.self_attention" if head.part == "encoder" else "decoder.0.cross_attention"
    gradient_ed = ours[list(given).index(f"{where}.w_query")]
    others = [column for column in range(16) if column // 8 != head.head]
    assert gradient_ed[:, others].abs().max() == 0 < gradient_ed.abs().max()


def test_a_batch_of_padding_has_no_loss_and_no_gradient():
    given = parameters()
    batch = on_device(empty_batch(SHAPE), torch.device("cpu"))
    loss, taught = packed_loss(given, CONFIG, batch, PackedMode(torch.float64), HEADS)
    total = loss + taught[0].loss + taught[1].loss
    assert total.item() == 0.0
    assert all((x == 0).all() for x in gradients(total, given).values())


def test_a_sentence_without_translation_adds_nothing_to_the_loss():
    """Its one label is padding, so that the mean over the labels is the same with and without."""
    translated = EncodedPairs(ragged([[7, 8, 3]]), ragged([[9, 10, 3]]), no_links(1))
    alone = EncodedPairs(ragged([[11, 12, 3]]), no_targets(1), no_links(1))
    shape = BatchShape(1, 8, 8)
    batches = [
        first_batch(pairs, shape) for pairs in (translated, concatenate([translated, alone]))
    ]
    assert [int((x.labels_bt != PAD).sum()) for x in batches] == [3, 3]
    assert (batches[1].source.segments > 0).sum() == 6
    assert (batches[1].given.tokens == START).sum() == 2
    x_te, embedding_ve = torch.randn(16, 4), torch.randn(20, 4)
    losses = []
    for batch in batches:
        labels = torch.tensor(batch.labels_bt)
        # The same vector for a label in both batches, whatever its position.
        x_bte = x_te[labels]
        losses.append(token_loss(x_bte, embedding_ve, labels, 0.1))
    torch.testing.assert_close(losses[0], losses[1])


def first_batch(pairs, shape):
    packing = pack(pairs, shape, np.random.default_rng(0))
    links = ragged([[]] * len(pairs))
    empty = type(links)(np.zeros((0, 5), dtype=np.int64), links.starts)
    return Epoch(pairs, empty, packing, shape).batch(0)
