"""What the Map view is sent, and what it is told when it asks for something that is not there."""

import json

import numpy as np
import numpy.testing as npt
import pytest

import regard
from regard.view.page.jobs import Context
from regard.view.page.maps import shrink

RANDOM = np.random.default_rng(11)
X = RANDOM.normal(size=(2, 60, 8)).astype(np.float32)


@pytest.fixture(scope="module")
def seen():
    return regard.observe(X, X, X, causal=True, map=20, top=4)


@pytest.fixture(scope="module")
def client(seen, tmp_path_factory, connect):
    place = tmp_path_factory.mktemp("files")
    seen.save(place / "fine.regard", query_and_key=True)
    regard.observe(X, X, X, map=6, received=False, entropy=False, top=0).save(place / "map.regard")
    context = Context(files=(place / "fine.regard", place / "map.regard"))
    with connect(context) as made:
        yield made


def ask(client, what, **fields):
    return client.post(f"/api/map/{what}", json=fields)


def test_about(client):
    about = ask(client, "about", file=0).json()
    (layer,) = about["layers"]
    assert (about["name"], layer["text"]) == ("fine.regard", False)
    assert layer["heads"] == ["0", "1"]
    assert (layer["queries"], layer["keys"], layer["fine"]) == (60, 60, True)
    assert layer["facts"] == ["received", "entropy", "map", "top_keys"]
    assert ask(client, "about", file=1).json()["layers"][0]["fine"] is False


def test_a_region_with_its_strips(client, seen):
    answer = ask(client, "region", file=0, head=1, rows=[10, 30], columns=[0, 20], cells=[10, 20])
    said = json.loads(answer.headers["x-regard-shown"])
    assert said["cells"] == [10, 20]
    values, received, entropy = np.split(np.frombuffer(answer.content, "<f4"), [200, 220])
    tile = seen.tile(slice(10, 30), slice(0, 20), 1).reshape(10, 2, 20).mean(axis=1)
    # float32 throughout: a few units in the last place of weights of at most 1
    npt.assert_allclose(values.reshape(10, 20), tile, atol=1e-6)
    npt.assert_allclose(received, seen.received[1, :20], rtol=1e-6)
    npt.assert_allclose(entropy, seen.entropy[1, 10:30].reshape(10, 2).mean(axis=1), rtol=1e-6)


def test_strips_are_cut_where_the_cells_are(client, seen):
    answer = ask(client, "region", file=0, head=1, rows=[0, 60], columns=[0, 60], cells=[2, 2])
    assert json.loads(answer.headers["x-regard-shown"])["spans"] == [64, 64]
    received, entropy = np.split(np.frombuffer(answer.content, "<f4")[4:], 2)
    for strip, fact in ((received, seen.received[1]), (entropy, seen.entropy[1])):
        npt.assert_allclose(strip, [fact[:32].mean(), fact[32:].mean()], rtol=1e-6)


def test_what_was_not_observed_is_not_sent(client):
    answer = ask(client, "region", file=1, rows=[0, 60], columns=[0, 60], cells=[6, 6])
    said = json.loads(answer.headers["x-regard-shown"])
    assert (said["received"], said["entropy"]) == (False, False)
    assert (said["cells"], said["spans"]) == ([4, 4], [64, 64])  # of 16, the last of 12
    assert len(answer.content) == 4 * 16
    assert ask(client, "row", file=1, query=3).json() == {"query": 3, "keys": [], "weights": []}


def test_a_row_has_its_best_keys(client, seen):
    row = ask(client, "row", file=0, head=1, query=1).json()
    top = seen.top(2)
    assert row["keys"] == top.keys[1, 1].tolist()  # it sees two keys, so there are no more
    npt.assert_allclose(row["weights"], top.weights[1, 1], rtol=1e-6)


def test_a_file_without_text_has_none(client):
    assert ask(client, "text", **{"file": 0, "from": 0, "to": 9}).json() == {"tokens": []}


MISTAKES = {
    "file": ("about", {"file": 7}, "file must be 0-1, got 7."),
    "path": (
        "about", {"file": "../x"}, "file must be 0-1, got '../x'.",
    ),
    "head": (
        "row", {"file": 0, "head": 2, "query": 0},
        "head must be 0-1, got 2.",
    ),
    "rows": (
        "region", {"file": 0, "rows": [0, 61], "columns": [0, 9], "cells": [3, 3]},
        "the end of rows must be 1-60, got 61.",
    ),
    "shape": (
        "region", {"file": 0, "rows": "all", "columns": [0, 9], "cells": [3, 3]},
        "the start of rows must be 0-59, got None.",
    ),
    "cells": (
        "region", {"file": 0, "rows": [0, 9], "columns": [0, 9], "cells": [3, 9999]},
        "cells across must be 1-1024, got 9999.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_explained(client, mistake):
    what, fields, message = mistake
    answer = ask(client, what, **fields)
    assert (answer.status_code, answer.json()) == (400, {"error": message})


def test_heads_and_their_small_pictures(client, seen):
    (part,) = ask(client, "heads", file=0).json()["parts"]
    assert (part["layers"], part["heads"]) == (1, int(np.prod(seen.head_shape)))
    answer = ask(client, "thumbnails", file=0, part=part["name"])
    shape = tuple(int(size) for size in answer.headers["x-regard-shape"].split(","))
    thumbnails = np.frombuffer(answer.content, "<f4").reshape(shape)
    maps = np.asarray(seen.map).reshape(1, -1, *seen.map.shape[-2:])
    npt.assert_array_equal(thumbnails, shrink(maps, 24).astype(np.float32))
    assert ask(client, "thumbnails", file=0, part="none").headers["x-regard-shape"] == "0,0,0,0"


def test_a_part_must_be_text(client):
    answer = ask(client, "thumbnails", file=0, part=[])
    assert (answer.status_code, answer.json()) == (400, {"error": "part must be text, got []."})


ODD = [None, True, -1, 2**70, 1e308, "x", "", [], [[]], {}, {"a": []}, [1, 2], ["x", None]]
FIELDS = [
    *("file", "part", "layer", "head", "rows", "columns", "cells", "query", "side", "from", "to"),
    "thorough",
]


@pytest.mark.parametrize("what", ["about", "heads", "thumbnails", "region", "row", "text"])
def test_odd_fields_of_the_map_are_answered_by_a_sentence(client, what):
    usual = {"file": 0, "part": "attention", "layer": 0, "head": 0, "rows": [0, 9], "query": 0,
             "columns": [0, 9], "cells": [9, 9], "side": "key", "from": 0, "to": 9}  # fmt: skip
    for name in FIELDS:
        for value in ODD:
            answer = ask(client, what, **{**usual, name: value})
            assert answer.status_code in (200, 400), (name, value)
