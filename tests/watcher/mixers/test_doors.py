"""A hybrid model in the other doors: sources count both kinds of layers, the monitor names one."""

import json

import numpy as np
import pytest
import torch
from tests.helpers.own_mixers import hybrid_model

import regard
from regard.view.page.answers import Sources, Stop
from regard.view.page.routes.map import answers

IDS = torch.randint(3, 64, (1, 20), generator=torch.Generator().manual_seed(1))
SPANS = {"one": (0, 6), "other": (6, 12)}
SENTENCES = [(13, 16), (16, 20)]
UNSEEN = "No softmax attention was seen in 1 of 2 layers of model.layers: Qwen3NextGatedDeltaNet."


@pytest.fixture(scope="module")
def hybrid():
    return hybrid_model()


def sources(model, **options):
    with torch.no_grad():
        with regard.watch(model, **options) as seen:
            model(input_ids=IDS)
        return seen, seen.sources(SPANS, SENTENCES)


def test_sources_count_mixers_where_they_count_heads(hybrid):
    _, without = sources(hybrid)
    seen, found = sources(hybrid, mixers=True)
    shares = seen.mixers[0].shares(range(20))
    expected = []
    for number, (start, stop) in enumerate(SENTENCES):
        rows = slice(start - 1, stop - 1)  # a token is predicted from the one before it
        edges = (*SPANS.values(), (SENTENCES[0][0], start), (start, stop))
        spans = [shares[:, rows, slice(*x)].sum(-1).mean() for x in edges]
        expected.append([*spans, 1 - sum(spans)])
        mixed = (4 * without.attention_sn[number] + 2 * np.array(expected[-1])) / 6
        np.testing.assert_allclose(found.attention_sn[number], mixed, atol=1e-9)
    assert np.abs(np.array(expected) - without.attention_sn).max() > 0.01
    np.testing.assert_array_equal(found.effect_sn, without.effect_sn)
    still = "An effect hides a part from attention; the other layers still read it."
    assert without.notes == (f"{UNSEEN} They are not counted: watch with mixers=True.", still)
    assert found.notes == (still,)


def test_a_layer_that_cannot_be_counted_is_named(hybrid):
    with torch.no_grad():
        with regard.watch(hybrid, mixers=True) as seen:
            seen._source.recorder.mixers.limit = 0
            hybrid(input_ids=IDS)
        notes = seen.sources(SPANS, SENTENCES).notes
    assert "model.layers.0.linear_attn is not counted: the inputs of all mixers take" in notes[0]


def test_the_monitor_says_which_layers_it_cannot_watch(hybrid):
    optimizer = torch.optim.SGD(hybrid.parameters(), lr=0.0)
    hybrid.train()
    try:
        with regard.monitor(hybrid, every=1) as monitor:
            for _ in range(2):
                hybrid(input_ids=IDS, labels=IDS).loss.backward()
                optimizer.step()
    finally:
        hybrid.eval()
    assert monitor.notes == [f"{UNSEEN} They are not monitored."]
    assert len(monitor.last["score"]) == 4


def test_the_page_is_given_rows_with_signs(hybrid, tmp_path):
    seen, _ = sources(hybrid, mixers=True)
    seen.save(tmp_path / "run.regard")
    asked = answers(Sources(files=(tmp_path / "run.regard",)))
    about = json.loads(asked["/api/map/about"]({"file": 0}, Stop()).content)
    assert [x["path"] for x in about["mixers"]] == ["model.layers.0.linear_attn"]
    answer = asked["/api/map/mixer"]({"file": 0, "number": 0}, Stop())
    shown = np.frombuffer(answer.content, np.float32).reshape(2, 20, 20)
    np.testing.assert_array_equal(shown, seen.mixers.drawn(0))
    np.testing.assert_allclose(np.abs(shown).sum(-1), 1, rtol=1e-6)
    assert shown.min() < 0
    assert json.loads(answer.headers["X-Regard-Shown"]) == {"rows": list(range(20))}
