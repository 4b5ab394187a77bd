"""Experiments on a reading: changes act as they say, add up, and what is unchanged stays exact."""

import json

import numpy as np
import pytest

from regard.errors import ArgumentError
from regard.experiments.experiment import CAUTION
from regard.experiments.selection import PARTS
from regard.transformer import Transformer, read
from regard.transformer.config import END, PAD, START
from regard.transformer.search import longest_target

SENTENCE = "A dog ate the food because it was hungry."


def single_piece(reading):
    """Two words of one token each, by their numbers."""
    counts = np.bincount(reading.source.word_of_token)
    return [int(i) for i in np.flatnonzero(counts == 1)[:2]]


@pytest.mark.smoke
def test_a_row_put_where_it_looked_already_changes_no_bit(reading):
    query, key = single_piece(reading)
    weight = float(reading.weights(layer=1, head=2)[query, key])
    experiment = reading.redirect(query, key, 1, 2, weight=np.float32(weight).item())
    assert experiment.same
    assert experiment.after.translated == reading.translated
    for part in PARTS:
        np.testing.assert_array_equal(experiment.weights(part=part), reading.weights(part=part))


def test_nothing_changed_is_the_reading_itself(reading):
    assert reading.experiment.after is reading
    assert "Changed: nothing." in str(reading.experiment)


def test_a_row_is_put_on_another_word_and_the_rest_scaled(reading):
    query, key = single_piece(reading)
    before = reading.weights(layer=1, head=2)
    after = reading.redirect(query, key, 1, 2, weight=0.75).weights(layer=1, head=2)
    assert after[query, key] == pytest.approx(0.75, abs=1e-6)
    others = np.arange(after.shape[1]) != key
    share = before[query, others] / before[query, others].sum()
    np.testing.assert_allclose(after[query, others], 0.25 * share, atol=1e-6)
    rows = np.arange(len(after)) != query
    np.testing.assert_array_equal(after[rows], before[rows])


def test_layers_before_a_change_are_untouched_and_layers_after_it_are_not(reading):
    experiment = reading.redirect(*single_piece(reading), 1, 2)
    before, after = reading.weights(by="tokens"), experiment.weights(by="tokens")
    np.testing.assert_array_equal(after[0], before[0])
    heads = np.arange(before.shape[1]) != 2
    np.testing.assert_array_equal(after[1, heads], before[1, heads])
    assert np.abs(after[2] - before[2]).max() > 1e-5


def test_a_word_knocked_out_gets_no_weight_and_the_rest_follow_the_closed_form(reading):
    experiment = reading.knock_out("dog")
    hidden = np.flatnonzero(np.equal(reading.source.word_of_token, 1))
    for part in ("encoder", "cross"):
        assert not experiment.weights(part=part, by="tokens")[..., hidden].any()
        np.testing.assert_allclose(experiment.weights(part=part).sum(axis=-1), 1, atol=1e-6)
    before = reading.weights(layer=0, by="tokens")
    left = before.copy()
    left[..., hidden] = 0
    left /= 1 - before[..., hidden].sum(axis=-1, keepdims=True)
    after = experiment.weights(layer=0, by="tokens")
    np.testing.assert_allclose(after, left, atol=1e-6)


def test_knock_outs_add_up(reading):
    at_once = reading.knock_out("dog", "food")
    in_turn = reading.knock_out("dog").knock_out("food")
    assert in_turn.after.translated == at_once.after.translated
    for part in PARTS:
        np.testing.assert_array_equal(in_turn.weights(part=part), at_once.weights(part=part))


def test_a_knock_out_of_some_heads_leaves_the_others(reading):
    after = reading.knock_out("dog", layer=0, head=[1, 3]).weights(by="words")
    before = reading.weights()
    assert not after[0, [1, 3], :, 1].any()
    np.testing.assert_array_equal(after[0, [0, 2]], before[0, [0, 2]])
    assert after[1, :, :, 1].all()


def without_head(model: Transformer, part: str, layer: int, head: int) -> Transformer:
    """A model whose w_output has zeros for one head: another way to ablate it."""
    parameters = {name: array.copy() for name, array in model.parameters().items()}
    stack = "encoder" if part == "encoder" else "decoder"
    attention = "cross_attention" if part == "cross" else "self_attention"
    width = model.config.head_width
    parameters[f"{stack}.{layer}.{attention}.w_output"][head * width : (head + 1) * width] = 0
    return Transformer.from_parameters(model.config, parameters, model.tokenizer, model.about)


@pytest.mark.parametrize("part", PARTS)
def test_an_ablated_head_equals_a_model_whose_w_output_lacks_it(reading, part):
    experiment = reading.ablate(1, 2, part=part)
    other = read(SENTENCE, model=without_head(reading.model, part, 1, 2))
    assert experiment.after.translated.tokens == other.translated.tokens
    assert experiment.after.translated.score == pytest.approx(other.translated.score, abs=1e-5)
    for x in PARTS:
        np.testing.assert_allclose(experiment.weights(part=x), other.weights(part=x), atol=1e-5)


def test_ablation_to_the_mean_writes_the_mean_of_other_sentences(reading):
    sentences = ("I am good.", "The dogs drank cold water.")
    experiment = reading.ablate(1, 2, to="mean", over=sentences)
    outputs = []
    for sentence in sentences:
        call = read(sentence, model=reading.model).attention_call("encoder", 1)
        outputs.append(call.weights()[0, 2] @ call.value_bhkd[0, 2])
    written = []

    def record(result):
        if (result.part, result.layer) == ("encoder", 1):
            written.append(result.output_bhqd[0, 2])
        return result

    change = experiment.after.intervention
    source_bt = np.array([reading.translated.source])
    reading.model.encode(source_bt, intervention=lambda result: record(change(result)))
    mean_d = np.concatenate(outputs).mean(axis=0)
    np.testing.assert_allclose(written[0], np.tile(mean_d, (len(written[0]), 1)), atol=1e-6)


def test_a_patch_writes_what_the_head_wrote_in_the_other_sentence(reading):
    other = read("A dog drank the water because it was hungry.", model=reading.model)
    experiment = reading.patch(other, 0, 1, word="it")
    query = reading.source.word_of_token.index(6)
    taken = other.source.word_of_token.index(6)
    call = other.attention_call("encoder", 0)
    expected = call.weights()[0, 1, taken] @ call.value_bhkd[0, 1]
    change = experiment.after.intervention
    written = []

    def record(result):
        written.append(change(result).output_bhqd[0, 1, query])
        return result

    reading.model.encode(np.array([reading.translated.source]), intervention=record)
    np.testing.assert_allclose(written[0], expected, atol=1e-6)


def test_a_replaced_word_gives_the_reading_of_the_other_sentence(reading):
    experiment = reading.replace("hungry", "happy")
    other = read(SENTENCE.replace("hungry", "happy"), model=reading.model)
    assert experiment.after.sentence == other.sentence
    assert experiment.after.translated.tokens == other.translated.tokens
    np.testing.assert_array_equal(experiment.weights(), other.weights())
    assert experiment.changed == ("hungry replaced by happy",)


CHANGED_BY_NFKC = (
    "The \ufb01re is hot",
    "\ufb01x fix \ufb01x",
    "a \u00bd dog",
    "dogs\u2122 ate food",
    "x\u00b2 was hungry",
    "\uff21 \uff44\uff4f\uff47 ate",
    "o\ufb03ce \u2163 food",
    "\u2460 dog \u2116 5",
    "it\u2026 was \u338f",
    "cafe\u0301 \u00b5 it",
)


@pytest.mark.parametrize("sentence", CHANGED_BY_NFKC, ids=ascii)
def test_words_of_a_text_that_unicode_normalisation_changes_are_replaced(model, sentence):
    before = read(sentence, model=model)
    for number, word in enumerate(before.words[:-1]):
        if word[0].isalnum():
            after = before.replace(number, "because").after
            expected = list(before.words)
            expected[number] = "because"
            assert after.words == tuple(expected)


def test_a_comparison_reads_the_other_sentence(reading):
    experiment = reading.replace_sentence("I am good.")
    assert experiment.after.sentence == "I am good."
    with pytest.raises(ArgumentError, match="a difference of weights needs the same"):
        experiment.difference()


def greedy_the_long_way(reading, intervention):
    """Every step from the logits of the whole target so far, nothing cached."""
    model = reading.model
    encoded = model.encode(np.array([reading.translated.source]), intervention=intervention)
    given = [START]
    for _ in range(longest_target(len(reading.translated.source), model.config)):
        decoded = model.decode(encoded, np.array([given]), intervention=intervention)
        logits_v = decoded.x_bte[0, -1] @ model.embedding_ve.T
        logits_v[PAD] = -np.inf
        given.append(int(logits_v.argmax()))
        if given[-1] == END:
            break
    return tuple(token for token in given[1:] if token != END)


CHANGES = {
    "knock-out": lambda x: x.knock_out("dog"),
    "knock-out of French": lambda x: x.knock_out(2, part="decoder"),
    "redirect": lambda x: x.redirect("it", "food", 1, 2),
    "redirect of French": lambda x: x.redirect(3, 1, part="decoder"),
    "redirect to English": lambda x: x.redirect(2, "food", part="cross"),
    "patch": lambda x: x.patch("A dog ate the food because it was faim .", part="cross"),
    "ablate": lambda x: x.ablate(1, [0, 2], part="decoder"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_acts_in_every_decoding_step(word_reading, change):
    """The search, step by step with caches, finds what whole runs with the change find."""
    reading = read(word_reading.sentence, model=word_reading.model, beams=1)
    after = change(reading).after
    assert after.translated.tokens == greedy_the_long_way(reading, after.intervention)
    assert after.translated.score != reading.translated.score


def test_steps_of_a_changed_reading_follow_the_changes_before_them(reading):
    after = reading.redirect(*single_piece(reading), 0, 1).after
    expected = after.weights(layer=2, head=0, by="tokens")
    np.testing.assert_allclose(after.steps(2, 0).weights, expected, atol=1e-5)


def test_probabilities_of_the_words_are_those_of_the_logits(reading):
    experiment = reading.ablate(1, 2)
    first = experiment.probabilities[0]
    tokens = reading.translated.tokens
    length = list(reading.target.word_of_token).count(1)
    for run, probability in ((reading, first.before), (experiment.after, first.after)):
        given_bt = np.array([(2, *tokens)])
        x_te = run.model.decode(run.encoded, given_bt, intervention=run.intervention).x_bte[0]
        logits_tv = (x_te @ run.model.embedding_ve.T).astype(np.float64)
        p_tv = np.exp(logits_tv) / np.exp(logits_tv).sum(axis=1, keepdims=True)
        expected = np.prod([p_tv[t, tokens[t]] for t in range(length)])
        assert probability == pytest.approx(expected, rel=1e-5)
    assert experiment.probabilities[-1].word == "(end)"


def test_an_experiment_is_json_text_and_html(reading):
    experiment = reading.redirect("it", "food", 1, 2).knock_out("dog", layer=0)
    data = json.loads(json.dumps(experiment.to_dict(), allow_nan=False))
    assert data["changes"][0] == {
        "change": "redirect", "word": "it", "to": "food", "layer": 1, "head": 2,
        "part": "encoder", "weight": 1.0,
    }  # fmt: skip
    assert data["changed"] == list(experiment.changed)
    assert data["changed"][1] == "encoder layer 0, no head may look at dog"
    text = str(experiment)
    assert "Changed: in encoder layer 1, head 2, it looks at food: 100 % (before: " in text
    assert max(map(len, text.splitlines())) <= 80
    assert " ".join(text.split()).endswith(CAUTION)
    html = experiment._repr_html_()
    assert "<script" not in html
    assert "before" in html


def test_text_of_a_user_is_shown_as_text_in_a_notebook(model):
    sentence = "A <b>dog</b> was hungry."
    html = read(sentence, model=model).ablate(0, 0)._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html


def test_a_picture_shows_the_changed_head_and_its_difference(reading):
    experiment = reading.redirect("it", "food", 1, 2)
    picture = experiment.picture()
    np.testing.assert_array_equal(picture.weights, experiment.weights(layer=1, head=2))
    assert picture.title == "Encoder layer 1, head 2, after the change"
    assert picture.chosen == (6,)
    assert picture.svg().startswith("<svg")
    difference = experiment.picture(what="difference")
    np.testing.assert_allclose(difference.weights.sum(axis=1), 0, atol=1e-6)
    with pytest.raises(ArgumentError) as error:
        experiment.picture(what="before")
    assert str(error.value) == "what must be 'after' or 'difference', got 'before'."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x.knock_out("cat"), "the word must be one of the words read, got 'cat'; they "
         "are: A dog ate the food because it was hungry . (end)."),
        (lambda x: x.knock_out(*range(len(x.words))), "knock_out must leave a word to look at, but "
         "it hides every word from a head of the encoder: knock out fewer words, or name layers "
         "and heads."),
        (lambda x: x.knock_out("(start)", part="decoder"), "knock_out must leave a word to look "
         "at, but it hides (start), all that its first position sees, from a head of the decoder: "
         "knock out fewer words, or name layers and heads."),
        (lambda x: x.ablate(3, 0), "layer must be a number from 0 to 2 (layers count from 0), "
         "got 3."),
        (lambda x: x.ablate(0, 4), "head must be a number from 0 to 3 (heads count from 0), "
         "got 4."),
        (lambda x: x.ablate(0, 0, part="middle"), "part must be 'encoder', 'decoder' or 'cross', "
         "got 'middle'."),
        (lambda x: x.redirect(0, 1, 0, 0, part="decoder"), "(start) can only look at words before "
         "it, but {} comes later: the decoder cannot see what it has not written yet."),
        (lambda x: x.patch("I am good.", 0, 0), "patch needs the same number of tokens in both "
         "texts, got {} and {}: give word=, or a sentence that differs in one short word."),
        (lambda x: x.replace("(end)", "now"), "(end) cannot be replaced: replace a word of the "
         "sentence."),
    ],
)  # fmt: skip
def test_bad_input_is_explained(reading, change, message):
    with pytest.raises(ArgumentError) as error:
        change(reading)
    numbers = [len(reading.tokens), len(read("I am good.", model=reading.model).tokens)]
    if "comes later" in message:
        numbers = [reading.target.words[1]]
    assert str(error.value) == message.format(*numbers)


def test_two_of_the_same_word_need_their_number(model):
    reading = read("the dog ate the food.", model=model)
    with pytest.raises(ArgumentError) as error:
        reading.knock_out("the")
    assert str(error.value) == (
        "the word must occur once, got 'the', which occurs 2 times, as words 0 and 3 (from 0): "
        "write the#1 or the#2."
    )
    assert not reading.knock_out("the#2").weights()[..., 3].any()
    assert not reading.knock_out(3).weights()[..., 3].any()


def test_a_reading_without_positions_is_refused(model, reading):
    from regard.transformer.reading import read_translated

    flat = read_translated(model, reading.translated, positions=False)
    with pytest.raises(ArgumentError, match="an experiment needs a reading with positions"):
        _ = flat.knock_out("dog").after


def test_another_model_is_refused(reading):
    other = read(SENTENCE, model=Transformer.random(SENTENCE, width=16, heads=2))
    with pytest.raises(ArgumentError) as error:
        reading.patch(other, 0, 0)
    expected = "the other reading must be of the same model, got another model's."
    assert str(error.value) == expected
