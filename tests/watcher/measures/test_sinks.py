"""Sinks and clusters of heads, against plain sums over every weight and heads built by hand."""

import json

import numpy as np
import pytest
import torch
from tests.helpers.model_families import FAMILIES, HEADS, LAYERS, batch
from tests.helpers.planted_model import planted_model, planted_tokenizer
from tests.helpers.watching import seen_by

import regard
from regard.errors import ArgumentError, NotAskedError
from regard.watcher.layer import even_shares, visible_band
from regard.watcher.measures.head_clusters import linked
from regard.watcher.measures.sinks import token_kind

FAMILY = {family.name: family for family in FAMILIES}
TEXT = "<s> the river sang . the river slept . a lighthouse sang to green boats in rain ."
# float32 weights and sums of at most 20 of them.
ROUNDING = 1e-6


def watched(family, **options):
    model = FAMILY[family].made()
    inputs = {"input_ids": batch("not", 1)["input_ids"]}
    return seen_by(model, inputs, **options)


@pytest.fixture(scope="module")
def planted():
    inputs = planted_tokenizer()(TEXT, return_tensors="pt")
    tokenizer = planted_tokenizer()
    return seen_by(planted_model(), inputs["input_ids"], tokenizer=tokenizer)


def test_the_planted_heads_are_what_they_were_built_to_be(planted):
    named = {(row.layer, row.head): row.label for row in planted.report().rows}
    assert named[0, 0].startswith("looks at the token before: 94 %")  # the first has none
    assert named[0, 1].startswith("rests on the first token: 100 %")
    assert named[1, 0].startswith("looks at what follows the same token elsewhere: 100 %")
    assert named[1, 1].startswith("spreads its attention evenly")


@pytest.mark.parametrize("family", ["llama", "bert", "mistral", "gemma2"])
def test_even_attention_of_a_band_is_that_of_its_visible_keys(family):
    seen = watched(family)
    for key in seen.names:
        weights_hqk = np.asarray(seen[key].map, np.float64)
        visible_qk = weights_hqk[0] > 0
        even_qk = visible_qk / visible_qk.sum(1, keepdims=True)
        band = visible_band(seen[key])
        assert band is not None
        np.testing.assert_allclose(even_shares(band), even_qk.mean(0), rtol=0, atol=1e-12)


def test_a_cache_grows_and_the_band_is_still_known():
    model = FAMILY["mistral"].made()
    with torch.no_grad(), regard.watch(model) as seen:
        model.generate(batch("not", 1)["input_ids"], max_new_tokens=6, min_new_tokens=6,
                       do_sample=False)  # fmt: skip
    band = visible_band(seen[0])
    assert (band.offset, band.left, band.right) == (0, 4, 0)


def test_shares_are_sums_over_every_weight(planted):
    near = 4
    tokens = TEXT.split()
    count = len(tokens)
    distance_qk = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    first_qk = np.zeros((count, count), bool)
    first_qk[:, 0] = True
    picked = {
        "first": first_qk,
        "special": np.tile(np.equal(tokens, "<s>"), (count, 1)),
        "punctuation": np.tile(np.equal(tokens, "."), (count, 1)),
        "near": (distance_qk < near) & ~first_qk,
        "distant": (distance_qk >= near) & ~first_qk,
    }
    even_qk = np.tri(count) / np.arange(1, count + 1)[:, None]
    for head in planted.sinks(near).heads:
        weights_qk = np.asarray(planted[head.layer].map[head.head], np.float64)
        for name, chosen_qk in picked.items():
            expected = (weights_qk * chosen_qk).sum() / count
            assert head.shares[name].share == pytest.approx(expected, abs=ROUNDING), name
            even = (even_qk * chosen_qk).sum() / count
            assert head.shares[name].baseline == pytest.approx(even, abs=1e-12), name
    streaming = {(head.layer, head.head) for head in planted.sinks(near).streaming}
    assert streaming == {(0, 0), (0, 1)}


def test_a_sink_has_its_name(planted):
    sinks = planted.sinks()
    assert [(x.token, x.position, x.kind, x.heads) for x in sinks.tokens] == [
        ("<s>", 0, "special", 1)
    ]
    text = str(sinks)
    assert "  decoder '<s>' (token 0, special): " in text
    assert max(map(len, text.splitlines())) <= 80
    values = json.loads(json.dumps(sinks.to_dict()))
    assert values["tokens"][0]["kind"] == "special"
    assert len(values["heads"]) == 4


def test_long_texts_have_the_same_shares_from_their_best_keys(planted):
    inputs = planted_tokenizer()(TEXT, return_tensors="pt")["input_ids"]
    seen = seen_by(planted_model(), inputs, map=4, top=20)
    for few, every in zip(seen.sinks(4).heads, planted.sinks(4).heads, strict=True):
        if (few.layer, few.head) != (1, 1):  # the even head's best keys need not have the first
            share = every.shares["distant"].share
            assert few.shares["distant"].share == pytest.approx(share, abs=ROUNDING)
    assert seen.sinks().notes == (
        "decoder: without a tokenizer the kinds of tokens are not known.",
    )


def test_a_model_of_three_parts_has_no_distances_across():
    model = FAMILY["bart"].made()
    with torch.no_grad(), regard.watch(model) as seen:
        model(**batch("not", 1), decoder_input_ids=torch.tensor([[2, 5, 6]]))
    shares = {head.part: set(head.shares) for head in seen.sinks().heads}
    assert shares == {"encoder": {"first", "near", "distant"}, "cross": {"first"},
                      "decoder": {"first", "near", "distant"}}  # fmt: skip


def test_near_and_far_are_exact_without_best_keys_and_map():
    """What lies on the first token belongs to neither, and is recorded."""
    every = watched("llama").sinks().heads
    for head, expected in zip(watched("llama", top=0, map=0).sinks().heads, every, strict=True):
        for name in ("first", "near", "distant"):
            assert head.shares[name].share == pytest.approx(expected.shares[name].share, abs=1e-6)


def test_kinds_of_tokens():
    kinds = {"<pad>": "special", "[CLS]": "special", "</s>": "special", "[": "punctuation",
             "ĊĊ": "punctuation", "\\n\\n": "punctuation",
             "\\na": "word", "+,": "punctuation", "Dog": "word", "[5]": "word"}  # fmt: skip
    assert {token: token_kind(token) for token in kinds} == kinds


def test_the_distances_of_a_cluster_are_those_of_its_rows():
    seen = watched("llama")
    clusters = seen.clusters(1.0)
    weights_hqk = np.concatenate([np.asarray(seen[key].map, np.float64) for key in seen.names])
    rows = weights_hqk[:, 1:, 1:]
    rows = rows / rows.sum(-1, keepdims=True)
    roots = np.sqrt(rows)
    for a in range(LAYERS * HEADS):
        for b in range(LAYERS * HEADS):
            expected = ((roots[a] - roots[b]) ** 2).sum(-1).mean() / 2
            assert clusters.distance_hh[a, b] == pytest.approx(expected, abs=1e-12)
    (everything,) = clusters.clusters
    assert len(everything.heads) == LAYERS * HEADS
    assert everything.spread == pytest.approx(clusters.usual)


def test_copies_of_a_head_are_a_cluster():
    """Query and key of layer 1, head 3 become those of head 0."""
    gpt2 = FAMILY["gpt2"]
    model = gpt2.model(gpt2.made().config).eval()
    model.load_state_dict(gpt2.made().state_dict())
    weight, bias = (getattr(model.transformer.h[1].attn.c_attn, x) for x in ("weight", "bias"))
    with torch.no_grad():
        for start in (0, 16):
            weight[:, start + 12 : start + 16] = weight[:, start : start + 4]
            bias[start + 12 : start + 16] = bias[start : start + 4]
        with regard.watch(model) as seen:
            model(batch("not", 1)["input_ids"])
    clusters = seen.clusters(within=1e-9)
    assert [tuple(x) for x in clusters.clusters[0].heads] == [("decoder", 1, 0), ("decoder", 1, 3)]
    assert [len(one.heads) for one in clusters.clusters[1:]] == [1] * 6
    assert str(clusters).startswith(
        "1 cluster of 8 heads within 1e-09; 6 alone\n  decoder 1.0, 1.3"
    )
    assert json.loads(json.dumps(clusters.to_dict()))["clusters"][0]["spread"] < 1e-9


def test_average_linkage_is_that_of_a_loop():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(14, 2))
    distance = np.abs(points[:, None] - points[None]).sum(-1)
    groups = [[i] for i in range(14)]
    while len(groups) > 1:
        pairs = {(i, j): distance[np.ix_(groups[i], groups[j])].mean()
                 for i in range(len(groups)) for j in range(i)}  # fmt: skip
        (i, j), least = min(pairs.items(), key=lambda pair: pair[1])
        if least > 1.0:
            break
        groups[j] = sorted(groups[j] + groups.pop(i))
    assert linked(distance, 1.0) == sorted(groups)


@pytest.mark.parametrize(
    ("kind", "ask", "words"),
    [
        (ArgumentError, lambda: watched("llama").sinks(12),
         "near must be a power of two from 2 up, got 12."),
        (ArgumentError, lambda: watched("llama").clusters(2),
         "within must be a distance from 0 to 1, got 2."),
        (NotAskedError, lambda: watched("llama", map=2).clusters(),
         "clusters needs the weights of decoder layer 0, and its map's blocks hold more than one "
         "token: watch with map=11 (every weight), or with keep='all'."),
    ],
    ids=["near", "within", "weights"],
)  # fmt: skip
def test_what_cannot_be_measured(kind, ask, words):
    with pytest.raises(kind) as raised:
        ask()
    assert str(raised.value) == words
