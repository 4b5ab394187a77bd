"""What was measured of heads names them, and picks the head to show."""

import json
from dataclasses import replace

import numpy as np
import pytest

from regard.errors import FileError
from regard.transformer import load_model, read
from regard.transformer.highlight import usual_weights
from regard.transformer.roles import HEADS, HeadRoles, Role, load_roles

SENTENCE = "A dog ate the food because it was hungry."


def row(layer, head, **shares):
    places = dict.fromkeys(("same", "previous", "next", "first", "end"), 0.1)
    return {"layer": layer, "head": head, "entropy": 1.0, **places, **shares}


MEASURED = {
    "heads": {
        "encoder": [row(0, 0, previous=0.9), row(1, 2, pronouns=0.8), row(2, 0, pronouns=0.7)],
        "decoder": [row(0, 0)],
        "cross": [row(0, 0)],
    },
    "pronouns": {"heads": [{"layer": 1, "head": 2}, {"layer": 2, "head": 0}]},
    "alignment": {"heads": [{"layer": 1, "head": 1}]},
}


def test_roles_are_loaded_with_the_model(folder):
    (folder / HEADS).write_text(json.dumps(MEASURED))
    try:
        model = load_model(folder)
    finally:
        (folder / HEADS).unlink()
    assert model.roles.pronoun_heads == ((1, 2), (2, 0))
    assert model.roles.encoder[0, 0].name == "looks at the word before"
    reading = read(SENTENCE, model=model)
    shown = reading.highlight()
    assert (shown.link.layer, shown.link.head) in model.roles.pronoun_heads
    assert shown.link.query_word == "it"
    row = reading.weights(layer=shown.link.layer, head=shown.link.head)[shown.link.query]
    assert shown.link.key == row.argmax()
    assert shown.link.weight == row.max()
    assert "in measured contrast pairs" in shown.reason
    assert shown.sentence.startswith("it looks at ")


@pytest.mark.parametrize(
    ("shares", "described"),
    [
        ({"previous": 0.88}, "looks at the word before: 88 % on 400 sentences held out"),
        ({"pronouns": 0.97, "pronoun_weight": 0.9, "end": 0.6},
         "finds what a pronoun stands for: right in 97 % of 2,400 contrast sentences"),
        ({"pronouns": 0.5, "pronoun_weight": 0.9},
         "picks a few words: entropy 1.00 nats on 400 sentences held out"),
        ({"pronouns": 0.97, "pronoun_weight": 0.01, "same": 0.7},
         "looks at the word itself: 70 % on 400 sentences held out"),
        ({"behaviour": {"name": "looks from a verb to its object", "share": 0.46, "chance": 0.15,
                        "queries": 1106, "aside": "(end)"}, "previous": 0.9},
         "looks from a verb to its object: 46 %, (end) aside (chance 15 %), over 1,106 words of "
         "400 sentences held out"),
        ({"alignment": 0.9}, "looks at the word it translates: 90 % of the nouns of 2,400 "
         "contrast sentences"),
        ({"entropy": 1.7}, "spreads its attention: entropy 1.70 nats on 400 sentences held out"),
    ],
    ids=["position", "pronouns", "pronouns at chance", "pronouns without weight", "behaviour",
         "alignment", "spread"],
)  # fmt: skip
def test_role_is_named_by_its_own_measure_with_the_figure(shares, described):
    measured = MEASURED | {"sentences": 400, "text": "held out"}
    measured["heads"] = MEASURED["heads"] | {"encoder": [row(0, 0, **shares)]}
    measured["pronouns"] = MEASURED["pronouns"] | {"pairs": 1200}
    assert HeadRoles.from_dict(measured).encoder[0, 0].described == described


def test_without_heads_json_nothing_is_known(tmp_path):
    assert load_roles(tmp_path) == HeadRoles()


def test_a_broken_heads_json_is_explained(tmp_path):
    (tmp_path / HEADS).write_text('{"heads": 1}')
    with pytest.raises(FileError, match="must hold the measured roles of the heads, and cannot be"):
        load_roles(tmp_path)


def test_usual_weight_comes_from_the_measured_role(model):
    always = Role(1, 2, {"previous": 0.97}, entropy=0.1)
    known = replace(model, roles=HeadRoles(encoder={(1, 2): always}))
    for link in read(SENTENCE, model=known).links("it").links:
        if (link.layer, link.head, link.key_word) == (1, 2, "because"):
            assert link.usual == 0.97
        elif (link.layer, link.head) != (1, 2):
            assert link.usual == 0


def test_without_roles_the_usual_is_the_mean_of_the_other_words(model):
    reading = read(SENTENCE, model=replace(model, roles=HeadRoles()))
    weights, query = reading.weights(), reading.words.index("food")
    others = [q for q in range(1, len(reading.words)) if q != query]
    expected = np.mean([weights[:, :, q, q - 1] for q in others], axis=0)
    usual = usual_weights(reading, "encoder", query)
    np.testing.assert_allclose(usual[:, :, query - 1], expected, rtol=1e-12)
