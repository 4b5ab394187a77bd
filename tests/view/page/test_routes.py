"""What the page is sent is what the library computes."""

import base64
import json
import struct

import numpy as np
import numpy.testing as npt
import pytest

from regard.textbook.examples import EXAMPLES, run_example
from regard.textbook.steps import attend, self_attention
from regard.transformer.reading import read
from regard.view.page.maps import shrink
from regard.view.page.readings import glance, without_position
from regard.view.page.steps import steps_data

SENTENCE = "A dog ate the food because it was hungry"


def array(answer) -> np.ndarray:
    assert answer.status_code == 200, answer.text
    shape = [int(size) for size in answer.headers["x-regard-shape"].split(",")]
    return np.frombuffer(answer.content, "<f4").reshape(shape)


def unpacked(content: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    (long,) = struct.unpack_from("<I", content)
    header = json.loads(content[4 : 4 + long])
    assert (4 + long) % 8 == 0
    values = np.frombuffer(content, "<f8", offset=4 + long)
    places = header["matrices"].items()
    return header, {x: values[at : at + r * c].reshape(r, c) for x, (r, c, at) in places}


@pytest.mark.parametrize("at", [None, {"layer": 1, "head": 0}, {"layer": 99, "head": True}, "x"])
def test_the_first_table_comes_with_the_english_side(client, reading, at):
    sent = client.post("/api/read", json={"sentence": SENTENCE, "quick": True, "at": at}).json()
    chosen = at if at == {"layer": 1, "head": 0} else sent["highlight"]
    first = sent["first"]
    assert (first["part"], first["layer"], first["head"]) == (
        "encoder", chosen["layer"], chosen["head"]
    )  # fmt: skip
    stored = np.frombuffer(base64.b64decode(first["weights"]), "<f4")
    true = reading.weights(layer=first["layer"], head=first["head"], by="tokens")
    npt.assert_array_equal(stored.reshape(first["rows"], first["columns"]), true.astype("<f4"))
    assert "first" not in client.post("/api/read", json={"sentence": SENTENCE}).json()


@pytest.mark.parametrize("part", ["encoder", "decoder", "cross"])
def test_weights_of_every_way(client, reading, part):
    ask = {"sentence": SENTENCE, "part": part, "layer": 1, "head": 0}
    every = {
        "head": reading.weights(part=part, layer=1, head=0, by="tokens"),
        "layer": reading.average(1, part=part).tokens_qk,
        "all": reading.average(part=part).tokens_qk,
    }
    if part != "cross":
        every["rollout"] = reading.rollout(part).tokens_qk
    for show, true in every.items():
        sent = array(client.post("/api/weights", json={**ask, "show": show}))
        npt.assert_array_equal(sent, true.astype(np.float32))


def test_a_reading_as_the_page_takes_it(client, reading):
    sent = client.post("/api/read", json={"sentence": SENTENCE}).json()
    assert sent["translation"] == reading.translation
    assert [part["name"] for part in sent["parts"]] == ["encoder", "decoder", "cross"]
    cross = sent["parts"][2]
    assert cross["query"]["tokens"] == list(reading.target.tokens)
    assert cross["key"]["words"] == list(reading.source.words)
    assert cross["ways"] == ["head", "layer", "all"]
    assert len(sent["alignment"]["sources"]) == len(reading.translation_words)
    told = sent["highlight"]
    weights_qk = reading.weights(layer=told["layer"], head=told["head"])
    npt.assert_allclose(weights_qk[told["query"], told["key"]], told["weight"], rtol=0)
    shown = reading.highlight()
    assert (told["reason"], told["disagreement"]) == (shown.reason, shown.disagreement)
    for part in sent["parts"]:
        names, described = np.array(part["roles"]), np.array(part["described_roles"])
        assert names.shape == described.shape == (part["layers"], part["heads"])
        pairs = zip(names.flat, described.flat, strict=True)
        assert all(text.startswith(f"{name}: ") if name else not text for name, text in pairs)


def test_the_quick_reading_has_the_same_english_side(client, reading):
    quick = client.post("/api/read", json={"sentence": SENTENCE, "quick": True}).json()
    assert (quick["translation"], quick["alignment"]) == ("", None)
    assert [part["name"] for part in quick["parts"]] == ["encoder"]
    ask = {"sentence": SENTENCE, "part": "encoder", "layer": 0, "head": 1}
    npt.assert_array_equal(
        array(client.post("/api/weights", json={**ask, "quick": True})),
        array(client.post("/api/weights", json=ask)),
    )
    npt.assert_array_equal(
        glance(reading.model, SENTENCE).weights(by="tokens"), reading.weights(by="tokens")
    )


def test_thumbnails_hold_each_heads_largest_weights(client, reading):
    sent = array(client.post("/api/thumbnails", json={"sentence": SENTENCE, "part": "encoder"}))
    npt.assert_array_equal(sent, reading.weights(by="tokens").astype(np.float32))
    weights = np.random.default_rng(0).random((1, 1, 50, 7))
    shrunk = shrink(weights, 24)
    assert shrunk.shape == (1, 1, 24, 7)
    npt.assert_array_equal(shrunk.max(axis=2), weights.max(axis=2))


@pytest.mark.parametrize(("fields", "said"), [
    ({"part": "encoder", "layer": 2, "head": 0},
     "layer must be a number from 0 to 1 (layers count from 0), got 2."),
    ({"part": "encoder", "layer": 0, "head": "x"},
     "head must be a whole number, got 'x'."),
    ({"part": "encoder", "show": "layer"}, "layer must be a whole number, got None."),
    ({"part": "nowhere", "layer": 0, "head": 0},
     "part must be 'encoder', 'decoder' or 'cross', got 'nowhere'."),
    ({"part": "cross", "show": "rollout"},
     "part must be 'encoder' or 'decoder' for rollout, whose rows and columns are the same words, "
     "got 'cross': use average or alignment."),
    ({"sentence": 5}, "sentence must be text, got 5."),
    ({"sentence": "  "},
     "a sentence must have at least one word, got only spaces: "
     'try "A dog ate the food because it was hungry".'),
])  # fmt: skip
def test_every_mistake_is_a_sentence(client, fields, said):
    answer = client.post("/api/weights", json={"sentence": SENTENCE, **fields})
    assert (answer.status_code, answer.json()) == (400, {"error": said})


def test_a_sentence_that_is_too_long(client):
    answer = client.post("/api/read", json={"sentence": "dog " * 5000})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(
        "a sentence must have at most 256 tokens, END included,"
    )


@pytest.mark.parametrize("part", ["encoder", "decoder", "cross"])
def test_steps_start_from_the_models_own_numbers(client, reading, part):
    answer = client.post(
        "/api/steps", json={"sentence": SENTENCE, "part": part, "layer": 1, "head": 1}
    )
    header, given = unpacked(answer.content)
    x, memory = given["x"], given.get("memory", given["x"])
    steps = attend(x @ given["w_query"], memory @ given["w_key"], memory @ given["w_value"],
                   causal=header["causal"])  # fmt: skip
    # The reading computes in float32: scores of a few units are sure to about 1e-6.
    true = reading.weights(part=part, layer=1, head=1, by="tokens")
    npt.assert_allclose(steps.weights, true, atol=2e-5)
    assert header["queries"] == list(reading.texts(part)[0].tokens)
    assert header["keys"] == list(reading.texts(part)[1].tokens)


def test_a_file_saved_from_a_stage_opens_at_it(client):
    at = {"part": "cross", "layer": 1, "head": 1, "view": "steps"}
    fields = {"sentence": SENTENCE, **at, "state": {"stage": "hidden", "cell": "hidden.1.3"}}
    html = client.post("/api/export/html", json=fields).text
    address = "#steps?stage=hidden&cell=hidden.1.3&part=cross&layer=1&head=1"
    assert f'"address": "{address}"' in html
    assert '"layers": {"cross 1": [' in html
    assert '"next": [' in html
    of_read = client.post("/api/export/html", json=fields | {"view": "read"}).text
    assert '"layers": {"cross' not in of_read


@pytest.mark.parametrize(("path", "fields", "said"), [
    ("path", {"sentence": SENTENCE, "part": "encoder", "layer": 7},
     "layer must be a number from 0 to 1 (layers count from 0), got 7."),
    ("path", {"sentence": SENTENCE, "part": "encoder", "layer": "one"},
     "layer must be a whole number, got 'one'."),
    ("next", {}, "sentence must be text, got None."),
])  # fmt: skip
def test_every_mistake_about_the_path_is_a_sentence(client, path, fields, said):
    answer = client.post(f"/api/{path}", json=fields)
    assert (answer.status_code, answer.json()) == (400, {"error": said})


def test_without_position_equal_words_are_equal_vectors(small_model):
    found = without_position(read("the dog ate the dog", model=small_model))
    x_te = found.attention_call("encoder", 0).x_bqe[0]
    npt.assert_array_equal(x_te[0], x_te[3])
    assert not found.positions
    exact_te = found.vectors("encoder", 0).x_qe
    npt.assert_array_equal(exact_te[0], exact_te[3])
    placed = read("the dog ate the dog", model=small_model).attention_call("encoder", 0).x_bqe[0]
    assert np.abs(placed[0] - placed[3]).max() > 0.1


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_start_from_the_documents_numbers(client, name):
    header, given = unpacked(client.post("/api/steps", json={"example": name}).content)
    example = run_example(name)
    npt.assert_array_equal(given["x"], example.steps.x)
    npt.assert_array_equal(given["w_query"], example.steps.w_query)
    assert header["example"]["sentence"] == example.sentence
    assert len(header["example"]["claims"]) == len(example.claims)


def test_all_examples_are_told(client):
    assert [one["name"] for one in client.post("/api/examples").json()] == list(EXAMPLES)


def test_an_example_that_is_none(client):
    answer = client.post("/api/steps", json={"example": "../../etc/passwd"})
    assert answer.json() == {
        "error": "example must be one of robots, good, cat or all, got '../../etc/passwd'."
    }


def test_any_steps_can_be_shown():
    random = np.random.default_rng(0)
    x, *matrices = (random.normal(size=(4, 4)) for _ in range(4))
    steps = self_attention(x, *matrices, words=["a", "b", "c", "d"], heads=2, causal=True)
    header, given = unpacked(steps_data(steps, head=1).to_bytes())
    assert header["causal"]
    again = attend(*(given["x"] @ given[f"w_{name}"] for name in ("query", "key", "value")),
                   causal=True)  # fmt: skip
    # Products of four terms of order 1, summed in another order at most.
    npt.assert_allclose(again.weights, steps.weights[1], rtol=1e-13)


def test_a_mask_of_any_kind_travels():
    random = np.random.default_rng(0)
    query, key, value = random.normal(size=(3, 3, 2))
    bias = random.normal(size=(3, 3))
    bias[1, 2] = -np.inf
    steps = attend(query, key, value, mask=bias)
    header, given = unpacked(steps_data(steps).to_bytes())
    assert (header["causal"], header["queries"]) == (False, ["0", "1", "2"])
    npt.assert_allclose(given["mask"] + steps.scaled, steps.masked, rtol=1e-14)
    npt.assert_array_equal(given["query"], query)


@pytest.mark.parametrize("most", [10**400, -(10**400), 1e308 * 10, "nan", None, 0])
def test_a_largest_number_that_is_none_is_refused(client, most):
    fields = {"queries": ["a"], "keys": ["b"], "axes": ["", ""], "steps": "AQA=", "most": most}
    texts = dict.fromkeys(("kind", "title", "caption", "provenance", "what"), "x")
    for path in ("pdf", "card"):
        answer = client.post(f"/api/export/{path}", content=json.dumps(fields | texts))
        assert answer.status_code == 400
        assert answer.json() == {"error": "steps must hold one number for each cell of the figure."}
