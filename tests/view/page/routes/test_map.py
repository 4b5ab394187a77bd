"""What the run view is sent, and what it is told when it asks for something that is not there."""

import json

import numpy as np
import numpy.testing as npt
import pytest

import regard
from regard.view.page.jobs import Context
from regard.view.page.maps import shrink

RANDOM = np.random.default_rng(11)
X = RANDOM.normal(size=(2, 60, 8)).astype(np.float32)
PART = {"part": "attention", "layer": 0}


@pytest.fixture(scope="module")
def seen():
    return regard.observe(X, X, X, causal=True, map=20, top=4)


@pytest.fixture(scope="module")
def client(seen, tmp_path_factory, connect):
    place = tmp_path_factory.mktemp("files")
    seen.save(place / "fine.regard", query_and_key=True)
    regard.observe(X, X, X, map=6, received=False, entropy=False, top=0).save(place / "map.regard")
    seen.save(place / "best.regard")
    context = Context(files=[place / f"{name}.regard" for name in ("fine", "map", "best")])
    with connect(context) as made:
        yield made


def ask(client, what, **fields):
    return client.post(f"/api/map/{what}", json=fields)


def line(answer):
    """The weights of a row or column, and what is said about them."""
    return np.frombuffer(answer.content, "<f4"), json.loads(answer.headers["x-regard-shown"])


def test_about(client):
    about = ask(client, "about", file=0).json()
    (part,) = about["parts"]
    (layer,) = part["layers"]
    assert (about["name"], about["texts"], part["name"]) == ("fine.regard", [], "attention")
    assert (layer["heads"], layer["number"]) == (["0", "1"], 0)
    assert (layer["queries"], layer["keys"], layer["exact"]) == (60, 60, True)
    assert (layer["least"], layer["missing"]) == ([1, 1], "")


def test_what_a_file_does_not_hold_is_one_sentence(client):
    told = [
        ask(client, "about", file=file).json()["parts"][0]["layers"][0]["missing"]
        for file in (1, 2)
    ]
    assert told == [
        "Exact are the cells of the map, means over 16 x 16 tokens; single weights beyond them are "
        "not known, because query and key of this layer were not kept.",
        "Exact are the 4 largest weights of each token and the cells of the map, means over 4 x 4 "
        "tokens; single weights beyond them are not known, because query and key of this layer "
        "were not kept.",
    ]


def test_a_region_with_its_strips(client, seen):
    answer = ask(
        client, "region", file=0, **PART, head=1, rows=[10, 30], columns=[0, 20], cells=[10, 20]
    )
    said = json.loads(answer.headers["x-regard-shown"])
    assert said["cells"] == [10, 20]
    values, received, entropy = np.split(np.frombuffer(answer.content, "<f4"), [200, 220])
    tile = seen.tile(slice(10, 30), slice(0, 20), 1).reshape(10, 2, 20).mean(axis=1)
    # float32 throughout: a few units in the last place of weights of at most 1
    npt.assert_allclose(values.reshape(10, 20), tile, atol=1e-6)
    npt.assert_allclose(received, seen.received[1, :20], rtol=1e-6)
    npt.assert_allclose(entropy, seen.entropy[1, 10:30].reshape(10, 2).mean(axis=1), rtol=1e-6)


def test_strips_are_cut_where_the_cells_are(client, seen):
    answer = ask(
        client, "region", file=0, **PART, head=1, rows=[0, 60], columns=[0, 60], cells=[2, 2]
    )
    assert json.loads(answer.headers["x-regard-shown"])["spans"] == [64, 64]
    received, entropy = np.split(np.frombuffer(answer.content, "<f4")[4:], 2)
    for strip, fact in ((received, seen.received[1]), (entropy, seen.entropy[1])):
        npt.assert_allclose(strip, [fact[:32].mean(), fact[32:].mean()], rtol=1e-6)


def test_what_was_not_observed_is_not_sent(client):
    answer = ask(client, "region", file=1, **PART, rows=[0, 60], columns=[0, 60], cells=[6, 6])
    said = json.loads(answer.headers["x-regard-shown"])
    assert (said["received"], said["entropy"]) == (False, False)
    assert (said["cells"], said["spans"]) == ([4, 4], [64, 64])  # of 16, the last of 12
    assert len(answer.content) == 4 * 16


def test_rows_and_columns_are_every_weight(client, seen):
    for at in (0, 17, 59):
        weights, said = line(ask(client, "row", file=0, **PART, head=1, query=at))
        assert said == {"known": "all", "rest": 0.0}
        npt.assert_allclose(weights, seen.row(at, 1), atol=1e-7)
        weights, said = line(ask(client, "column", file=0, **PART, head=1, key=at))
        npt.assert_allclose(weights, seen.tile(slice(None), at, 1)[:, 0], atol=1e-7)


def test_a_row_without_query_and_key_has_its_best_keys(client, seen):
    weights, said = line(ask(client, "row", file=2, **PART, head=1, query=33))
    top = seen.top(4)
    expected = np.zeros(60)
    expected[top.keys[1, 33]] = top.weights[1, 33]
    npt.assert_allclose(weights, expected, rtol=1e-6)
    assert said["known"] == "largest"
    assert said["rest"] == pytest.approx(1 - top.weights[1, 33].sum(), abs=1e-6)
    answer = ask(client, "column", file=2, **PART, head=1, key=3)
    assert answer.json() == {
        "error": "what looks at a token needs query and key of this layer, which were not kept."
    }


def test_a_row_of_a_map_alone_is_its_cells(client):
    weights, said = line(ask(client, "row", file=1, **PART, head=0, query=20))
    assert said["known"] == "blocks"
    cells = regard.observe(X, X, X, map=6).map[0]
    npt.assert_allclose(weights[:16], cells[1, 0] / 16, rtol=1e-5)
    assert weights.sum() == pytest.approx(1, abs=1e-5)


def test_the_most_telling_link_of_a_head(client, seen):
    link = ask(client, "link", file=0, **PART, head=1).json()
    assert link["weight"] == pytest.approx(float(seen.tile(link["query"], link["key"], 1)[0, 0]))
    assert link["query"] > 0
    assert link["query"] != link["key"]
    assert ask(client, "link", file=1, **PART, head=1).json() is None


def test_the_weight_of_one_link_in_every_head(client, seen):
    found = ask(client, "weights", file=0, part="attention", query=40, key=3).json()
    assert [(layer, head) for layer, head, _ in found] == [(0, 0), (0, 1)]
    npt.assert_allclose([weight for *_, weight in found], seen.tile(40, 3)[:, 0, 0], rtol=1e-5)


MISTAKES = {
    "file": ("about", {"file": 7}, "file must be 0-2, got 7."),
    "path": (
        "about", {"file": "../x"}, "file must be 0-2, got '../x'.",
    ),
    "part": (
        "row", {"file": 0, "part": "cross", "query": 0},
        "part must be one of attention, got 'cross'.",
    ),
    "layer": (
        "row", {"file": 0, **PART, "layer": 5, "query": 0},
        "layer must be one of 0, got 5.",
    ),
    "head": (
        "row", {"file": 0, **PART, "head": 2, "query": 0},
        "head must be 0-1, got 2.",
    ),
    "rows": (
        "region", {"file": 0, **PART, "rows": [0, 61], "columns": [0, 9], "cells": [3, 3]},
        "the end of rows must be 1-60, got 61.",
    ),
    "shape": (
        "region", {"file": 0, **PART, "rows": "all", "columns": [0, 9], "cells": [3, 3]},
        "the start of rows must be 0-59, got None.",
    ),
    "cells": (
        "region", {"file": 0, **PART, "rows": [0, 9], "columns": [0, 9], "cells": [3, 9999]},
        "cells across must be 1-1024, got 9999.",
    ),
    "model": ("about", {"run": "x"}, "file must be 0-2, got None."),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_explained(client, mistake):
    what, fields, message = mistake
    answer = ask(client, what, **fields)
    assert (answer.status_code, answer.json()) == (400, {"error": message})


def test_heads_and_their_small_pictures(client, seen):
    ranking = ask(client, "heads", file=0).json()
    assert {(x["layer"], x["head"]) for x in ranking["heads"]} == {(0, 0), (0, 1)}
    best = max(ranking["heads"], key=lambda head: head["link"]["excess"])
    assert ranking["first"]["head"] == best["head"]
    answer = ask(client, "thumbnails", file=0, part="attention")
    shape = tuple(int(size) for size in answer.headers["x-regard-shape"].split(","))
    thumbnails = np.frombuffer(answer.content, "<f4").reshape(shape)
    maps = np.asarray(seen.map).reshape(1, -1, *seen.map.shape[-2:])
    npt.assert_array_equal(thumbnails, shrink(maps, 24).astype(np.float32))


ODD = [None, True, -1, 2**70, 1e308, "x", "", [], [[]], {}, {"a": []}, [1, 2], ["x", None]]
FIELDS = [
    *("file", "sentence", "part", "layer", "head", "rows", "columns", "cells", "query", "key"),
    *("text", "thorough", "run"),
]
ANSWERS = ("about", "heads", "thumbnails", "region", "row", "column", "text", "link", "weights")


@pytest.mark.parametrize("what", ANSWERS)
def test_odd_fields_of_the_map_are_answered_by_a_sentence(client, what):
    usual = {"file": 0, "part": "attention", "layer": 0, "head": 0, "rows": [0, 9], "query": 0,
             "key": 0, "columns": [0, 9], "cells": [9, 9]}  # fmt: skip
    for name in FIELDS:
        for value in ODD:
            answer = ask(client, what, **{**usual, name: value})
            assert answer.status_code in (200, 400), (name, value)
