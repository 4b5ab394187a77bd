"""A gated delta net that was trained to recall: its tokens are right where its columns mislead.

Pairs of a key and a value are read, then keys, each answered by its value. The layer stands behind
a convolution of four tokens, which writes a value into the column of a later token.
"""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from transformers import Qwen3NextConfig, Qwen3NextForCausalLM
from transformers.models.qwen3_next import modeling_qwen3_next as qwen

import regard

KEYS, VALUES, PAIRS = range(4, 16), range(18, 30), 6
STEPS = 1600


def texts(count, pairs, generator):
    """Pairs, then the same keys in another order with their values; and that order."""
    keys = torch.stack(
        [torch.randperm(len(KEYS), generator=generator)[:pairs] for _ in range(count)]
    )
    values = torch.randint(len(VALUES), (count, pairs), generator=generator) + VALUES[0]
    order = torch.stack([torch.randperm(pairs, generator=generator) for _ in range(count)])
    keys = keys + KEYS[0]
    asked = torch.stack([keys.gather(1, order), values.gather(1, order)], -1).reshape(count, -1)
    return torch.cat([torch.stack([keys, values], -1).reshape(count, -1), asked], 1), order


@pytest.fixture(scope="module")
def trained():
    """One layer of a gated delta net, trained until it answers right."""
    config = Qwen3NextConfig(
        vocab_size=32, hidden_size=64, intermediate_size=128, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, head_dim=32, linear_num_key_heads=2,
        linear_num_value_heads=2, linear_key_head_dim=32, linear_value_head_dim=32,
        layer_types=["linear_attention"], mlp_only_layers=[0], num_experts=0, use_cache=False,
        max_position_embeddings=64, tie_word_embeddings=True, pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    model, generator = Qwen3NextForCausalLM(config), torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=0.01)
    chunks = qwen.torch_chunk_gated_delta_rule
    qwen.torch_chunk_gated_delta_rule = lambda *x, **y: chunks(*x, **{**y, "chunk_size": 8})
    try:
        for step in range(STEPS):
            pairs = min(PAIRS, 2 + step // 100)
            ids, _ = texts(64, pairs, generator)
            logits = model(input_ids=ids[:, :-1]).logits
            asked = torch.arange(2 * pairs, 4 * pairs - 1, 2)
            wanted = ids[:, asked + 1]
            loss = F.cross_entropy(logits[:, asked].transpose(1, 2), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right = (logits[:, asked].argmax(-1) == wanted).float().mean()
            if pairs == PAIRS and step > 900 and right == 1:
                break
        yield model.eval()
    finally:
        qwen.torch_chunk_gated_delta_rule = chunks


def watched(model, ids):
    with torch.no_grad(), regard.watch(model, mixers=True) as seen:
        logits = model(input_ids=ids).logits
    return seen, logits


@pytest.mark.nightly
def test_the_largest_share_is_at_the_answer(trained):
    ids, order = texts(30, PAIRS, torch.Generator().manual_seed(5))
    seen, logits = watched(trained, ids)
    asked = torch.arange(2 * PAIRS, 4 * PAIRS - 1, 2)
    assert (logits[:, asked].argmax(-1) == ids[:, asked + 1]).float().mean() > 0.97
    by_token, by_column = [], []
    for sentence in range(len(ids)):
        (mixer,) = seen.sentence(sentence).mixers
        assert mixer.convolved
        assert mixer.columns == "tokens"
        value = mixer._proven.replay.value_tv.reshape(len(ids[0]), 2, -1)
        size = value.norm(dim=-1).T.numpy()
        for number, row in enumerate(asked.tolist()):
            right = 2 * int(order[sentence, number]) + 1
            by_token.append(mixer.taken(row).argmax(-1) == right)
            column = np.abs(mixer.taken(row, signed=True)) * size
            by_column.append(column.argmax(-1) == right)
    tokens, columns = np.mean(by_token, axis=0), np.mean(by_column, axis=0)
    head = tokens.argmax()  # one of the two answers
    assert tokens[head] > 0.95
    assert columns[head] < 0.05


@pytest.mark.nightly
def test_a_value_that_was_written_over_is_taken_less(trained):
    """The model answers with the second value of a key; a formula without erasing has them even."""
    generator = torch.Generator().manual_seed(7)
    rows = []
    for _ in range(30):
        keys = torch.randperm(12, generator=generator)[:4] + KEYS[0]
        values = torch.randperm(12, generator=generator)[:5] + VALUES[0]
        pairs = [(0, 0), (1, 1), (2, 2), (0, 4), (3, 3)]
        rows.append([int(x) for k, v in pairs for x in (keys[k], values[v])] + [int(keys[0])])
    ids = torch.tensor(rows)
    seen, logits = watched(trained, ids)
    assert (logits[:, -1].argmax(-1) == ids[:, 7]).float().mean() > 0.95
    shares = np.stack([seen.sentence(i).mixers[0].taken(-1) for i in range(len(ids))]).mean(0)
    head = shares[:, 7].argmax()
    assert shares[head, 7] > 2 * shares[head, 1]
