"""Two runs compared, against scipy-free sums of our own; tables and arrays of what was seen."""

import json
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from tests.helpers.model_families import FAMILIES, HEADS, LAYERS, batch
from tests.helpers.watching import seen_by
from tests.watcher.test_seen import CharacterTokenizer

import regard
from regard.errors import ArgumentError, BackendError, NotAskedError
from regard.heads.divergence import hellinger_squared, jensen_shannon
from regard.watcher.measures.head_report import AXES
from regard.watcher.measures.run_comparison import aligned_positions

FAMILY = {family.name: family for family in FAMILIES}
LLAMA, BERT, BART = (FAMILY[name] for name in ("llama", "bert", "bart"))
IDS = [5, 6, 7, 8, 9, 10, 11]
OTHER = [5, 6, 30, 7, 8, 10, 11, 12]


def seen_of(ids, family=LLAMA, model=None, **options):
    model = family.made() if model is None else model
    return seen_by(model, torch.tensor([ids]), tokenizer=CharacterTokenizer(), **options)


def divergence(p, q):
    """Jensen-Shannon by the mean of two Kullback-Leibler divergences, in bits."""
    mean = (p + q) / 2
    return sum(
        np.where(x > 0, x * np.log2(np.where(x > 0, x, 1) / np.where(mean > 0, mean, 1)), 0).sum(-1)
        for x in (p, q)
    ) / 2  # fmt: skip


def test_jensen_shannon_is_the_mean_divergence_from_the_mean():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.full(9, 0.3), (2, 50))
    np.testing.assert_allclose(jensen_shannon(p, q), divergence(p, q), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(jensen_shannon(p, q), jensen_shannon(q, p))
    assert jensen_shannon(p, p).max() <= 1e-15


def test_hellinger_leaves_out_rows_of_nothing():
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.ones(5), (3, 4))
    weights[:, 0] = 0
    distance = hellinger_squared(weights)
    for a in range(3):
        for b in range(3):
            roots = np.sqrt(weights[a, 1:]) - np.sqrt(weights[b, 1:])
            assert distance[a, b] == pytest.approx((roots**2).sum(-1).mean() / 2, abs=1e-12)


def test_the_same_run_differs_in_nothing():
    comparison = seen_of(IDS).compare(seen_of(IDS))
    assert [head.distance for head in comparison.heads] == [0.0] * (LAYERS * HEADS)
    assert all(head.usual > 0.001 for head in comparison.heads)
    assert comparison.aligned == {"decoder": (7, 7, 7)}


def test_two_texts_are_compared_on_the_tokens_they_share():
    one, other = seen_of(IDS), seen_of(OTHER)
    comparison = one.compare(other)
    rows = np.array([0, 1, 2, 3, 5, 6]), np.array([0, 1, 3, 4, 5, 6])  # 9 is missing, 30 is new
    assert comparison.aligned == {"decoder": (6, 7, 8)}
    distances = [head.distance for head in comparison.heads]
    assert distances == sorted(distances, reverse=True)
    for head in comparison.heads:
        merged = []
        for seen, at in zip((one, other), rows, strict=True):
            weights = np.asarray(seen[head.layer].map[head.head], np.float64)[at]
            rest = np.delete(weights, at, axis=1).sum(1, keepdims=True)
            merged.append(np.concatenate([weights[:, at], rest], axis=1))
        each = divergence(*merged)
        assert head.distance == pytest.approx(each.mean(), abs=1e-6)  # float32 rows sum to 1 - 1e-7
        assert head.largest.distance == pytest.approx(each.max(), abs=1e-6)
        row = head.largest.positions[0]
        best = int(np.asarray(one[head.layer].map[head.head])[row].argmax())
        assert head.largest.one.position == best
        assert head.largest.one.token == one.tokens[best]
        measure = one[head.layer].measures.induction.mean_h[head.head]
        assert head.measured["induction"][0] == pytest.approx(measure)


def test_two_checkpoints_and_the_usual_distance():
    """Only layer 1, head 2 of a copy is changed, so only it and nothing before it differs."""
    tuned = LLAMA.model(LLAMA.made().config).eval()
    tuned.load_state_dict(LLAMA.made().state_dict())
    width = tuned.config.hidden_size // HEADS
    with torch.no_grad():
        tuned.model.layers[1].self_attn.q_proj.weight[2 * width : 3 * width] *= -1
    one, other = seen_of(IDS), seen_of(IDS, model=tuned)
    comparison = one.compare(other)
    first = comparison.heads[0]
    assert (first.part, first.layer, first.head) == ("decoder", 1, 2)
    assert first.distance > 0.001
    assert [head.distance for head in comparison.heads[1:]] == [0.0] * (LAYERS * HEADS - 1)
    rows = [np.asarray(x[1].map, np.float64) for x in (one, other)]
    expected = divergence(rows[0], np.roll(rows[1], 1, axis=0)).mean()
    assert first.usual == pytest.approx(expected, abs=1e-6)


def test_a_comparison_as_text_and_as_values(tmp_path):
    one, other = seen_of(IDS), seen_of(OTHER)
    comparison = one.compare(other)
    text = str(comparison)
    assert text.startswith("decoder: 6 tokens aligned, of 7 and of 8.")
    assert f"decoder {comparison.heads[0].layer}.{comparison.heads[0].head}" in text
    assert max(map(len, text.splitlines())) <= 80
    values = json.loads(json.dumps(comparison.to_dict()))
    assert values["tokens"] == {"decoder": {"aligned": 6, "one": 7, "other": 8, "compared": 6}}
    assert len(values["heads"]) == LAYERS * HEADS
    for name, seen in (("one", one), ("other", other)):
        seen.save(tmp_path / f"{name}.regard")
    stored = regard.load(tmp_path / "one.regard").compare(regard.load(tmp_path / "other.regard"))
    assert stored.to_dict() == comparison.to_dict()


def test_long_texts_need_their_weights_and_are_compared_in_some_rows(monkeypatch):
    monkeypatch.setattr("regard.watcher.measures.run_comparison.MAX_COMPARED_ROWS", 3)
    with pytest.raises(NotAskedError) as raised:
        seen_of(IDS, map=2).compare(seen_of(IDS))
    assert str(raised.value) == (
        "compare needs the weights of decoder layer 0, and its map's blocks hold more than one "
        "token: watch both runs with map=7 (every weight), or with keep='all'."
    )
    comparison = seen_of(IDS, map=2, keep="all").compare(seen_of(IDS))
    assert comparison.compared == {"decoder": 3}
    assert comparison.notes == ("decoder: 3 of 7 aligned rows, evenly spaced.",)
    # Weights from query and key, and from the map: float32 on both sides.
    assert max(head.distance for head in comparison.heads) < 1e-6


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda: seen_of(IDS, BERT), "layers that both runs have, and they have none in common: "
         "decoder layer 0, decoder layer 1 and encoder layer 0, encoder layer 1."),
        (lambda: seen_of([20, 21, 22]), "tokens that both texts have, and there are none: compare "
         "texts that differ in a few words, or one text in two models."),
    ],
    ids=["layers", "tokens"],
)  # fmt: skip
def test_what_cannot_be_compared(other, words):
    with pytest.raises(ArgumentError) as raised:
        seen_of(IDS).compare(other())
    assert str(raised.value) == f"compare needs {words}"


def test_a_layer_of_one_run_alone_is_noted():
    comparison = seen_of(IDS, layers=[1]).compare(seen_of(IDS))
    assert comparison.notes == ("only in one of the runs: decoder layer 0.",)


def test_a_part_without_common_tokens_is_left_out():
    model, runs = BART.made(), []
    for target in ([2, 5, 6], [8, 9]):
        with torch.no_grad(), regard.watch(model, tokenizer=CharacterTokenizer()) as seen:
            model(torch.tensor([IDS]), decoder_input_ids=torch.tensor([target]))
        runs.append(seen)
    comparison = runs[0].compare(runs[1])
    assert list(comparison.aligned) == ["encoder"]
    assert comparison.notes == (
        "decoder: the texts have no token in common.", "cross: the texts have no token in common.",
    )  # fmt: skip


def test_alignment_keeps_the_order():
    one, other = aligned_positions(list("abcabd"), list("cabxd"))
    assert ["abcabd"[i] for i in one] == ["cabxd"[j] for j in other] == list("cabd")
    assert (np.diff(one) > 0).all()
    assert (np.diff(other) > 0).all()


def test_a_data_frame_of_each_kind():
    pytest.importorskip("pandas", reason="pandas is an extra of the user's own")
    seen = seen_of(IDS)
    heads = seen.to_pandas()
    assert len(heads) == LAYERS * HEADS
    assert heads.induction.tolist() == [row.measured["induction"] for row in seen.report().rows]
    queries = seen.to_pandas("queries").set_index(["part", "layer", "head", "query"])
    assert queries.loc[("decoder", 1, 2, 3), "entropy"] == seen[1, 2].entropy[3]
    best = seen[1, 2].top(1)
    assert queries.loc[("decoder", 1, 2, 3), "best_key"] == best.keys[3, 0]
    assert queries.loc[("decoder", 1, 2, 3), "best_key_token"] == seen.tokens[best.keys[3, 0]]
    keys = seen.to_pandas("keys").set_index(["part", "layer", "head", "key"])
    assert keys.loc[("decoder", 0, 1, 4), "received"] == seen[0, 1].received[4]
    weights = seen.to_pandas("weights")
    assert len(weights) == LAYERS * HEADS * sum(range(1, 8))  # query q of a causal model sees q + 1
    row = weights.query("layer == 1 and head == 2 and query == 3 and rank == 1").iloc[0]
    assert (row.key, row.weight) == (seen[1, 2].top().keys[3, 1], seen[1, 2].top().weights[3, 1])


def test_what_has_no_table(monkeypatch):
    seen = seen_of(IDS)
    with pytest.raises(ArgumentError) as raised:
        seen.to_pandas("words")
    assert str(raised.value) == ("table must be one of heads, queries, keys, weights, got 'words'.")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BackendError) as raised:
        seen.to_pandas()
    assert str(raised.value) == (
        "to_pandas needs pandas, not installed here: pip install pandas, or take "
        "seen.report().to_csv('heads.csv') or seen.arrays()."
    )


def without_xarray(name):
    return None if name == "xarray" else SimpleNamespace()


def test_arrays_by_name(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", without_xarray)
    seen = seen_of(IDS)
    arrays = seen.arrays()
    sizes = {"layer": LAYERS, "head": HEADS, "query": 7, "key": 7, "rank": 7, "query_block": 7,
             "key_block": 7}  # fmt: skip
    for name, axes in AXES.items():
        shape = tuple(sizes[axis] for axis in axes)
        if "rank" not in axes:  # as many as were asked for
            assert arrays[name].shape == shape, name
    np.testing.assert_array_equal(arrays["entropy"][1, 2], seen[1, 2].entropy)
    np.testing.assert_array_equal(arrays["induction"][1], seen[1].measures.induction.mean_h)
    assert arrays["layer"].tolist() == [0, 1]
    assert arrays["key_token"].tolist() == list(seen.tokens)


def test_arrays_as_a_dataset(monkeypatch):
    """xarray's Dataset gets names of axes and coordinates that fit its arrays."""
    made = []
    stand_in = ModuleType("xarray")
    stand_in.Dataset = lambda values, coordinates: made.append((values, coordinates)) or made[-1]
    monkeypatch.setitem(sys.modules, "xarray", stand_in)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: SimpleNamespace())
    values, coordinates = seen_of(IDS).arrays("decoder")
    sizes = {}
    for axes, array in (*values.values(), *coordinates.values()):
        assert len(axes) == array.ndim
        for axis, size in zip(axes, array.shape, strict=True):
            assert sizes.setdefault(axis, size) == size
    assert set(coordinates) == {"layer", "head", "query_token", "key_token"}


def test_a_model_of_three_parts_says_which_arrays():
    with torch.no_grad(), regard.watch(BART.made()) as seen:
        BART.made()(**batch("not", 1), decoder_input_ids=torch.tensor([[2, 5, 6]]))
    with pytest.raises(ArgumentError) as raised:
        seen.arrays()
    assert str(raised.value) == (
        "this model has encoder, decoder, cross, so say which: seen.arrays(part='encoder')."
    )
    assert seen.arrays("cross")["received"].shape[:2] == (LAYERS, HEADS)
    values = json.loads(json.dumps(seen.to_dict()))
    assert list(values["parts"]) == ["encoder", "decoder", "cross"]
    assert len(values["heads"]) == 3 * LAYERS * HEADS
