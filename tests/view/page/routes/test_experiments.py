"""What the page is sent of experiments is what the library computes."""

import numpy as np
import numpy.testing as npt
import pytest

SENTENCE = "A dog ate the food because it was hungry"
REDIRECT = {"change": "redirect", "word": 6, "to": 4, "part": "encoder", "layer": 1, "head": 0}
CHANGES = {
    "redirect": ([REDIRECT], lambda x: x.redirect(6, 4, 1, 0)),
    "knock out": ([{"change": "knock_out", "word": 1}], lambda x: x.knock_out(1)),
    "ablate": (
        [{"change": "ablate", "part": "cross", "layer": 0, "head": 1}],
        lambda x: x.ablate(0, 1, part="cross"),
    ),
    "two": (
        [REDIRECT, {"change": "knock_out", "word": 1}],
        lambda x: x.redirect(6, 4, 1, 0).knock_out(1),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_experiment_and_its_weights(client, reading, name):
    changes, make = CHANGES[name]
    experiment = make(reading)
    sent = client.post("/api/experiment", json={"sentence": SENTENCE, "changes": changes}).json()
    assert sent["changed"] == list(experiment.changed)
    assert sent["after"]["translation"] == experiment.after.translation
    assert sent["before"]["translation"] == reading.translation
    assert sent["same"] == experiment.same
    assert sent["reading"]["changes"] == changes
    npt.assert_allclose(
        [x["after"] for x in sent["candidates"]],
        [x.after for x in experiment.parting.candidates],
    )
    ask = {"sentence": SENTENCE, "changes": changes, "part": "encoder", "layer": 1, "head": 0}
    answer = client.post("/api/weights", json={**ask, "show": "head"})
    shape = [int(size) for size in answer.headers["x-regard-shape"].split(",")]
    weights_qk = np.frombuffer(answer.content, "<f4").reshape(shape)
    true = experiment.after.weights(layer=1, head=0, by="tokens")
    npt.assert_array_equal(weights_qk, true.astype(np.float32))


def test_effects_of_every_head(client, reading):
    sent = client.post("/api/effects", json={"sentence": SENTENCE, "of": 0}).json()
    true = reading.effects(0).to_dict()
    assert (sent["of"], sent["against"]) == (true["of"], true["against"])
    npt.assert_allclose(sent["effect"]["cross"], true["effect"]["cross"])


def test_effects_a_layer_at_a_time_are_the_effects(client, reading):
    true = reading.effects(0).to_dict()
    ask = {"sentence": SENTENCE, "of": 0}
    choice = client.post("/api/effects", json={**ask, "choice": True}).json()
    for name in ("of", "against", "prefix", "logit_difference"):
        assert choice[name] == true[name]
    assert choice["direct"] == true["direct"]
    for part, rows in true["effect"].items():
        for layer, effect_h in enumerate(rows):
            sent = client.post("/api/effects", json={**ask, "part": part, "layer": layer}).json()
            # The same sums, in batches of another number of threads.
            npt.assert_allclose(sent["effect"], effect_h, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"part": "x", "layer": 0},
            "part must be 'encoder', 'decoder' or 'cross', got 'x'.",
        ),
        (
            {"part": "cross", "layer": 2},
            "layer must be a number from 0 to 1 (layers count from 0), got 2.",
        ),
    ],
)
def test_effects_of_a_layer_that_is_not_there(client, fields, message):
    answer = client.post("/api/effects", json={"sentence": SENTENCE, "of": 0, **fields})
    assert (answer.status_code, answer.json()["error"]) == (400, message)


def test_a_score_and_a_term_of_it(client, reading):
    ask = {"sentence": SENTENCE, "part": "encoder", "layer": 1, "head": 0, "query": 6, "key": 1}
    sent = client.post("/api/because", json=ask).json()
    true = reading.because(6, 1, 1, 0)
    npt.assert_allclose(sent["score"], true.score)
    npt.assert_allclose(sum(x["value"] for x in sent["terms"]) + sent["rest"], true.total)
    assert sent["count"] == len(true.terms)
    opened = [i for i, x in enumerate(true.terms[:12]) if "feed-forward" in str(x.query)]
    further = client.post("/api/because", json={**ask, "path": opened[:1]}).json()
    npt.assert_allclose(further["total"], true.because(opened[0]).total)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([], "an experiment needs at least one change."),
        ("x", "changes must be a list of at most 8 changes, got 'x'."),
        (
            [{"change": "x"}],
            "a change must be one of knock_out, ablate, redirect, got {'change': 'x'}.",
        ),
        (
            [{"change": "knock_out", "word": "dog"}],
            "word must be a whole number, got 'dog'.",
        ),
    ],
)
def test_what_cannot_be_changed_is_said(client, changes, message):
    answer = client.post("/api/experiment", json={"sentence": SENTENCE, "changes": changes})
    assert (answer.status_code, answer.json()["error"]) == (400, message)


ODD = [
    None,
    True,
    -1,
    2**70,
    1e308,
    "x",
    [],
    [[]],
    {},
    {"change": []},
    [{"change": []}],
    ["x", None],
]
PATHS = ["read", "weights", "thumbnails", "steps", "path", "next", "experiment", "effects",
         "because", "learn", "export/html"]  # fmt: skip
FIELDS = ["sentence", "part", "layer", "head", "show", "changes", "of", "against", "query", "key",
          "path", "example", "page", "at", "state", "file", "choice", "position"]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_odd_fields_are_answered_by_a_sentence(client, path):
    usual = {"sentence": "A dog", "part": "encoder", "layer": 0, "head": 0, "of": 0, "query": 0,
             "key": 0, "page": "nowhere",
             "changes": [{"change": "knock_out", "word": 0}]}  # fmt: skip
    for name in FIELDS:
        for value in ODD:
            answer = client.post(f"/api/{path}", json={**usual, name: value})
            assert answer.status_code in (200, 400), (name, value)


def test_a_change_must_be_of_a_known_kind(client):
    answer = client.post("/api/experiment", json={"sentence": "a", "changes": [{"change": []}]})
    message = "a change must be one of knock_out, ablate, redirect, got {'change': []}."
    assert (answer.status_code, answer.json()) == (400, {"error": message})
