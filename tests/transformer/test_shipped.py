"""The model that comes with the package: small enough, sensible, and measured."""

import json
import subprocess
import sys

import numpy as np
import pytest

from regard.display import percent
from regard.transformer import load_model, read
from regard.transformer.checkpoint import PARAMETERS, SHIPPED
from regard.transformer.roles import HEADS

pytestmark = pytest.mark.skipif(
    not (SHIPPED / PARAMETERS).is_file(), reason="this checkout has no shipped parameters"
)
SENTENCE = "A dog ate the food because it was hungry"


@pytest.fixture(scope="module")
def reading():
    return read(SENTENCE)


def test_it_is_small_and_has_the_sizes_of_the_document():
    assert (SHIPPED / PARAMETERS).stat().st_size <= 40e6
    sizes = load_model().config
    assert (sizes.layers, sizes.heads, sizes.head_width, sizes.width) == (6, 8, 64, 512)


def test_the_documents_sentence_is_translated(reading):
    words = reading.translation.lower().split()
    assert "chien" in words
    assert "faim" in words
    assert reading.translated.finished


def test_steps_have_the_documents_shapes_and_true_numbers(reading):
    steps = reading.steps(layer=3, head=2)
    assert steps.x.shape == (10, 512)
    assert steps.w_query.shape == (512, 64)
    assert steps.scale == pytest.approx(1 / 8)
    found = reading.weights(layer=3, head=2, by="tokens")
    np.testing.assert_allclose(steps.weights, found, atol=1e-5)


def test_chien_came_from_dog(reading):
    if not (SHIPPED / HEADS).is_file():
        pytest.skip("the heads of this model have not been measured yet")
    assert ("chien", "dog") in [(pair.word, pair.source) for pair in reading.alignment.pairs]


def test_the_command_needs_neither_torch_nor_rich_nor_typer():
    heavy = ("torch", "rich", "matplotlib", "typer", "pydantic", "safetensors")
    code = (
        "import sys\n"
        "from regard.cli import main\n"
        f"try: main([{SENTENCE!r}])\n"
        "except SystemExit: pass\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[0] == SENTENCE
    assert run.stdout.splitlines()[-1] == "[]"


def test_text_in_another_language_or_script_gets_a_note():
    assert read("Le chien a mangé la nourriture parce qu'il avait faim.").notes[0] == (
        "This does not look like English (Le, la), and the model was trained on English alone: its "
        "translation may mean nothing."
    )
    assert any("Training never met 你 好: " in note for note in read("你好").notes)


def test_foreign_note_absent_for_english(reading):
    assert reading.notes == ()


@pytest.fixture(scope="module")
def measured():
    return json.loads((SHIPPED / HEADS).read_text(encoding="utf-8"))


def test_the_heads_were_measured_on_these_parameters(measured):
    """The judge's weights are found again: heads.json and the parameters belong together."""
    judge = measured["judge"]
    layer, head = judge["head"]["layer"], judge["head"]["head"]
    for told in judge["by_hand"]["sentences"][:6]:
        reading = read(told["sentence"])
        words = [word.lower() for word in reading.words]
        row = reading.weights(layer=layer, head=head)[words.index(told["pronoun"])]
        weights = {noun: float(row[words.index(noun)]) for noun in told["weights"]}
        # Four decimals are written; the kernels of another processor may move the third.
        assert weights == pytest.approx(told["weights"], abs=5e-3)


def test_taught_head_is_highlighted_with_its_accuracy(measured, reading):
    if not measured["pronouns"]["taught"]:
        pytest.skip("no head of these parameters was taught what a pronoun stands for")
    shown = reading.highlight()
    assert (shown.link.layer, shown.link.head) == tuple(measured["judge"]["head"].values())
    right = measured["judge"]["everyday"]["pronouns"]["it"]["right"]
    generated = measured["judge"]["contrast_pairs"]["kinds"]["it"]["right"]
    assert f"right in {percent(right)} (95 % range " in shown.accuracy
    assert f"in generated ones with 'it', in {percent(generated)}." in shown.accuracy
    assert shown.doubt in shown.sentence
    assert shown.reason.startswith("the head taught, on made-up sentences, to ")


def test_the_name_of_the_taught_head_carries_the_same_figures(measured, reading):
    roles = reading.model.roles
    if not measured["pronouns"]["taught"]:
        pytest.skip("no head of these parameters was taught what a pronoun stands for")
    assert roles.encoder[roles.pronoun_heads[0]].figure == roles.accuracy.short
    assert "that people wrote with 'it'" in roles.accuracy.short


def test_heads_have_names_that_tell_them_apart(reading):
    """At most a third without a measured behaviour, and no name for half of a part."""
    parts = [reading.model.roles.heads(part) for part in ("encoder", "decoder", "cross")]
    names = [[role.name for role in heads.values()] for heads in parts]
    vague = {"picks a few words", "spreads its attention"}
    assert sum(x in vague for part in names for x in part) <= sum(map(len, names)) / 3
    assert all(part.count(name) <= len(part) / 2 for part in names for name in part)
    behaviours = [role.behaviour for heads in parts for role in heads.values() if role.behaviour]
    assert all(x["share"] > x["chance"] > 0 and x["queries"] >= 100 for x in behaviours)
