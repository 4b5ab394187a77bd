"""A reading: weights that add up, steps with the model's own numbers, named choices, bad input."""

import copy
import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from regard.engine.dense import dense_attention
from regard.errors import ArgumentError
from regard.experiments.selection import PARTS
from regard.text.words import TokenizedText, to_words
from regard.transformer import Transformer, load_model, read, read_all
from regard.transformer.checkpoint import PARAMETERS, SHIPPED

SENTENCE = "A dog ate the unknowable food because it was hungry."
MAX_WAIT_SECONDS = 300.0  # until a wait that cannot end becomes an error


@pytest.fixture(scope="module")
def reading(model):
    return read(SENTENCE, model=model)


@pytest.mark.smoke
@pytest.mark.parametrize("by", ["words", "tokens"])
@pytest.mark.parametrize("part", PARTS)
def test_every_row_of_weights_sums_to_one(reading, part, by):
    queries, keys = reading.texts(part)
    weights = reading.weights(part=part, by=by)
    assert weights.shape == (3, 4, len(queries.names(by)), len(keys.names(by)))
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-6)
    np.testing.assert_array_equal(reading.weights(part=part, layer=1, head=3, by=by), weights[1, 3])


def test_words_are_whole_and_marks_stand_alone(reading):
    assert reading.words == (*SENTENCE[:-1].split(), ".", "(end)")
    assert len(reading.tokens) > len(reading.words)
    spelled = "".join(x.lstrip("+\u2581") for x in reading.tokens[:-1])
    assert spelled == SENTENCE.replace(" ", "")


def test_sub_words_are_added_over_keys_and_averaged_over_queries():
    side = TokenizedText(("_a", "b", "_c"), ("a", "+b", "c"), ("ab", "c"), (0, 0, 1))
    weights = np.array([[0.1, 0.2, 0.7], [0.3, 0.4, 0.3], [0.5, 0.5, 0.0]])
    np.testing.assert_allclose(to_words(weights, side, side), [[0.5, 0.5], [1.0, 0.0]])


def test_steps_are_the_models_own_numbers(reading, model):
    steps = reading.steps(layer=1, head=2)
    np.testing.assert_allclose(
        steps.weights, reading.weights(layer=1, head=2, by="tokens"), atol=1e-6
    )
    np.testing.assert_allclose(steps.x @ steps.w_query, steps.query)
    assert steps.query.shape[-1] == model.config.head_width
    assert steps.words == reading.tokens


def test_steps_of_a_whole_layer_end_in_what_the_model_adds(reading, model):
    steps = reading.steps(layer=1)
    output_bhqd, _ = reading.attention_call("encoder", 1).run()
    expected = model.encoders[1].self_attention.joined(output_bhqd)
    np.testing.assert_allclose(steps.output, expected[0], rtol=1e-4, atol=1e-5)


def test_steps_of_the_decoder_see_nothing_later(reading):
    steps = reading.steps(layer=0, head=0, part="decoder")
    assert not np.triu(steps.weights, 1).any()
    np.testing.assert_allclose(
        steps.weights, reading.weights(part="decoder", layer=0, head=0, by="tokens"), atol=1e-6
    )


def test_why_works_on_a_real_head(reading):
    why = pytest.importorskip("regard.textbook.why", reason="needs why").why
    steps = reading.steps(layer=0, head=0)
    told = str(why(steps, "weights", row=2, column=-1))
    assert f"{steps.weights[2, -1]:.3f}" in told


@pytest.mark.parametrize("part", PARTS)
def test_observe_tells_of_the_same_weights(reading, part):
    seen = reading.observe(layer=2, head=1, part=part)
    weights = reading.weights(part=part, layer=2, head=1, by="tokens")
    np.testing.assert_allclose(seen.received, weights.sum(axis=0), rtol=1e-4, atol=1e-5)
    assert reading.observe(layer=2, part=part).received.shape[0] == 4


def test_links_has_every_head_once_the_largest_excess_first(reading):
    links = reading.links("it").links
    assert len({(x.layer, x.head) for x in links}) == 12
    excess = [x.excess for x in links]
    assert excess == sorted(excess, reverse=True)
    assert min(x.layer for x in links) == 0


def test_find_gives_the_weight_of_every_head(reading):
    found = reading.find("it", "dog")
    first = found[0]
    row, column = reading.words.index("it"), reading.words.index("dog")
    weights = reading.weights()[:, :, row, column]
    assert first.weight == weights.max() == weights[first.layer, first.head]
    assert len(found) == 12


def test_a_word_that_is_there_twice(model):
    reading = read("the dog ate the food", model=model)
    assert reading.links("the").note == (
        "the is there 2 times; this is the first. Write the#2 for the second."
    )
    assert reading.links("the#2").note == ""
    assert reading.find("the#2", "dog") != reading.find("the", "dog")


def test_choices_are_named_explained_and_add_up(reading):
    choices = [
        reading.average(), reading.average(1), reading.average(part="cross"), reading.rollout(),
        reading.rollout(part="decoder"), reading.value_weighted(0, 1),
        reading.value_weighted(2, 3, part="cross"),
    ]  # fmt: skip
    for choice in choices:
        np.testing.assert_allclose(choice.weights_qk.sum(axis=1), 1, atol=1e-6)
        assert len(choice.explanation) > 60
        assert choice.name in str(choice)
    assert len({choice.name for choice in choices}) == 5


def test_an_average_of_chosen_heads(reading):
    mixed = reading.average(heads=[(0, 1), (2, 3)])
    tables = [reading.weights(layer=0, head=1), reading.weights(layer=2, head=3)]
    np.testing.assert_allclose(mixed.weights_qk, np.mean(tables, axis=0), atol=1e-7)
    assert mixed.name == "average of heads 0.1, 2.3"
    with pytest.raises(ArgumentError) as caught:
        reading.average(layer=1, heads=[(0, 1)])
    assert str(caught.value) == (
        "heads must be a list of (layer, head), given without layer, as in "
        "heads=[(3, 6), (4, 4)], got heads=[(0, 1)] and layer=1."
    )


def test_rollout_is_the_product_of_the_layers(reading):
    means = reading.weights(by="tokens").mean(axis=1)
    half = [0.5 * mean + 0.5 * np.eye(len(mean)) for mean in means]
    np.testing.assert_allclose(reading.rollout().tokens_qk, half[2] @ half[1] @ half[0])


def test_value_weighted_is_the_length_of_what_is_brought(reading, model):
    steps = reading.steps(layer=1, head=0)
    w_output = model.encoders[1].self_attention.w_output[:8]
    brought = steps.weights[:, :, None] * (steps.value @ w_output)[None]
    lengths = np.linalg.norm(brought, axis=-1)
    wanted = lengths / lengths.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(reading.value_weighted(1, 0).tokens_qk, wanted, atol=1e-5)


MISTAKES = {
    "layer": (
        lambda r: r.steps(layer=3),
        "must be a number from 0 to 2 (layers count from 0)",
    ),
    "below": (lambda r: r.weights(layer=-1), "layer must be a number from 0 to 2"),
    "head": (lambda r: r.steps(layer=0, head=4), "head must be a number from 0 to 3"),
    "part": (lambda r: r.weights(part="up"), "part must be 'encoder', 'decoder' or 'cross'"),
    "by": (lambda r: r.weights(by="letters"), "by must be 'words' or 'tokens'"),
    "cross": (lambda r: r.steps(0, 0, part="cross"), "rows are French"),
    "rollout": (
        lambda r: r.rollout(part="cross"),
        "part must be 'encoder' or 'decoder' for rollout",
    ),
    "word": (lambda r: r.links("cat"), "must be one of the words read, got 'cat'; they are: A"),
    "number": (lambda r: r.find("it", 99), "the word must be a number from 0 to"),
    "head alone": (lambda r: r.highlight(head=0), "head needs a layer"),
    "no text as a word": (lambda r: r.links(["it"]), "must be text or a number from 0, got ['it']"),
    "no word": (
        lambda r: r.find(None, "dog"),
        "the word must be text or a number from 0, got None",
    ),
    "a number of heads": (lambda r: r.average(heads=1.5), "heads must be a list of (layer, head)"),
    "no function": (lambda r: r.effects(0, progress=1), "progress must be a function, got 1."),
    "no second word": (lambda r: r.effects(0, 3), "against must be a word, got 3."),
    "an array": (lambda r: r.weights(part=np.ones(2)), "part must be 'encoder', 'decoder' or 'cr"),
    "another part": (lambda r: r.effects(0).grid("up"), "part must be 'encoder', 'decoder' or 'cr"),
    "row": (lambda r: r.alignment.source_columns(999), "row must be a number from 0 to"),
    "term": (lambda r: r.because("it", "dog", 1, 1).because("x"), "term must be a number from 0"),
    "side": (lambda r: r.because("it", "dog", 1, 1).by(None), "side must be 'query' or 'key'"),
    "no other reading": (
        lambda r: r.patch(3, 0, 0),
        "other must be a reading or a sentence, got 3",
    ),
    "no texts": (
        lambda r: r.ablate(0, 0, to="mean", over=3),
        "over must be a list of at least one",
    ),
    "letters": (lambda r: r.ablate(0, 0, to="mean", over="Dogs"), "at least one text, got 'Dogs'."),
    "nothing to replace": (lambda r: r.replace(None, "cat"), "replace needs a word, got None"),
    "replaced by nothing": (lambda r: r.replace("dog", None), "by must be text, got None."),
    "tokens": (lambda r: r.ablate(0, 0).next_tokens("x"), "number must be a whole number from 1"),
    "sentences": (lambda r: read_all(3, model=r.model), "must be a list of sentences, got 3."),
    "beams": (lambda r: read("A dog", model=r.model, beams=True), "from 1 to 1000, got True."),
    "too many": (lambda r: read("A dog", model=r.model, beams=999), "beams must be at most 340"),
    "model": (lambda r: read("A dog", model=3), "must be a Transformer or the folder of one, got"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_explained(reading, mistake):
    call, message = mistake
    with pytest.raises(ArgumentError) as error:
        call(reading)
    assert message in str(error.value)


@pytest.mark.parametrize("text", ["", "   ", "\n", "\x00\x07", "\u200b"], ids=ascii)
def test_nothing_to_read_is_an_explained_error(model, text):
    with pytest.raises(ArgumentError, match=r"^a sentence must have at least one word, got"):
        read(text, model=model)


def test_ten_thousand_words_are_an_explained_error(model):
    with pytest.raises(ArgumentError) as error:
        read("dog " * 10_000, model=model)
    assert str(error.value).startswith("a sentence must have at most 256 tokens, END included, got")
    assert "(10,000 words): give the sentences of the text one at a time." in str(error.value)


STRANGE = [
    "I am 🍕",
    "Привет, dog",
    "犬は食べた",
    "dog\x07 ate\x1b[31m food",
    "\ud800 dog",
    "a\tb\nc",
]


@pytest.mark.parametrize("text", STRANGE, ids=ascii)
def test_strange_text_is_read_and_what_was_never_met_is_named(model, text):
    reading = read(text, model=model)
    np.testing.assert_allclose(reading.weights().sum(axis=-1), 1, atol=1e-6)
    assert "\x1b" not in str(reading)
    hidden = "Characters that cannot be seen were left out"
    assert any(note.startswith(hidden) for note in reading.notes) == (
        "\x07" in text or "\ud800" in text
    )
    if "🍕" in text:
        assert "Training never met 🍕: " in " ".join(reading.notes)


def test_a_cut_translation_has_a_note(reading):
    cut = any(note.startswith("The translation was cut at") for note in reading.notes)
    assert cut == (not reading.translated.finished)


def test_everything_goes_into_json(reading):
    told = json.loads(json.dumps(reading.to_dict("tokens"), allow_nan=False))
    np.testing.assert_allclose(told["weights"]["cross"], reading.weights(part="cross", by="tokens"))
    assert told["counting"] == "layers and heads count from 0"


def test_a_learner_reads_with_an_untrained_model():
    reading = read("I am good", model=Transformer.random("I am good", layers=2))
    assert reading.words == ("I", "am", "good", "(end)")
    assert reading.steps(layer=0, head=0).query.shape == (4, 64)
    assert "The model is untrained: its parameters are random and mean nothing." in str(reading)


def test_every_attention_runs_once(model, monkeypatch):
    """Encoder, search and one pass over the translation: nothing is computed a second time."""
    calls = []

    def counted(query, key, value, visible=None):
        calls.append(query.shape[2])
        return dense_attention(query, key, value, visible)

    monkeypatch.setattr("regard.transformer.model.dense_attention", counted)
    monkeypatch.setattr("regard.transformer.decoding.dense_attention", counted)
    reading = read(SENTENCE, model=model)
    layers, steps = (
        model.config.layers,
        len(reading.translated.tokens) + reading.translated.finished,
    )
    for part in PARTS:
        reading.weights(part=part)
    assert len(calls) == layers + 2 * layers * steps + 2 * layers
    assert calls[:layers] == [len(reading.tokens)] * layers


def test_readings_of_a_batch_are_those_of_each_sentence(model):
    sentences = [SENTENCE, "the dog", "I am good."]
    for together, sentence in zip(read_all(sentences, model=model), sentences, strict=True):
        alone = read(sentence, model=model)
        assert together.translation == alone.translation
        for part in PARTS:
            # float32 vectors of three layers; a product of other rows may round elsewhere.
            np.testing.assert_allclose(
                together.weights(part=part), alone.weights(part=part), atol=1e-5
            )


def test_a_long_text_runs_through_the_tiled_engine(model, monkeypatch):
    dense = read(SENTENCE, model=model)
    monkeypatch.setattr("regard.transformer.model.MAX_DENSE_KEYS", 3)
    tiled = read(SENTENCE, model=model)
    assert tiled.translation == dense.translation
    assert tiled.attention_call("encoder", 0).weights_bhqk is None
    for part in PARTS:
        np.testing.assert_allclose(tiled.weights(part=part), dense.weights(part=part), atol=1e-5)


@pytest.mark.parametrize("part", PARTS)
def test_norm_weighted_readings_observations_and_pictures_agree(reading, part):
    weights_lhqk = reading.weights(part=part, by="tokens", weighted="norm")
    np.testing.assert_allclose(weights_lhqk.sum(axis=-1), 1, atol=1e-6)
    call = reading.attention_call(part, 1)
    width = reading.model.config.head_width
    rows = np.asarray(reading.matrices(part, 1).w_output)[2 * width : 3 * width]
    carried_k = np.linalg.norm(call.value_bhkd[0, 2].astype(np.float64) @ rows, axis=1)
    carried_qk = reading.weights(part=part, layer=1, head=2, by="tokens") * carried_k
    carried_qk /= carried_qk.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(weights_lhqk[1, 2], carried_qk, atol=1e-6)
    for seen in (reading.observe(1, 2, part=part, weighted="norm"),
                 reading.observe(1, part=part, weighted="norm")):  # fmt: skip
        tile_qk = seen.tile(slice(None), slice(None), 2 if seen.head_shape else None)
        np.testing.assert_allclose(tile_qk, carried_qk, atol=1e-5)
    picture = reading.picture(1, 2, part=part, by="tokens", weighted="norm", kind="heatmap")
    np.testing.assert_array_equal(picture.weights, weights_lhqk[1, 2])
    assert picture.title.endswith("(norm-weighted)")
    mixed = reading.value_weighted(1, 2, part=part)
    np.testing.assert_array_equal(mixed.tokens_qk, weights_lhqk[1, 2])


def test_weights_are_weighted_by_norm_or_not_at_all(reading):
    with pytest.raises(ArgumentError) as error:
        reading.weights(weighted="length")
    assert str(error.value) == "weighted must be None or 'norm', got 'length'."


def through_pickle(thing):
    return pickle.loads(pickle.dumps(thing))  # noqa: S301 (our own bytes)


@pytest.mark.parametrize("copied", [through_pickle, copy.deepcopy, copy.copy])
def test_a_reading_can_be_copied(reading, copied):
    reading.weights()
    for one in (reading, reading.redirect("it", "dog", 1, 2).after):
        other = copied(one)
        assert other.translation == one.translation
        np.testing.assert_array_equal(other.weights(part="cross"), one.weights(part="cross"))
        assert other.knock_out("dog").after.translated == one.knock_out("dog").after.translated


@pytest.mark.skipif(
    not (SHIPPED / PARAMETERS).is_file(), reason="this checkout has no shipped parameters"
)
@pytest.mark.parametrize("copied", [through_pickle, copy.deepcopy])
def test_what_the_shipped_model_makes_can_be_copied(copied):
    reading = read("A dog ate the food because it was hungry")
    expected = reading.ablate(3, 6).after.translated
    assert copied(reading).ablate(3, 6).after.translated == expected
    assert copied(reading.ablate(3, 6)).after.translated == expected
    assert read(reading.sentence, model=copied(reading.model)).translated == reading.translated


def test_a_model_can_be_given_by_its_folder(folder):
    expected = read(SENTENCE, model=load_model(folder)).translated
    assert read(SENTENCE, model=folder).translated == expected
    assert read_all([SENTENCE], model=str(folder))[0].translated == expected


def test_parameters_too_large_for_float32_are_explained(model):
    parameters = model.parameters() | {"decoder.norm.bias": np.full(32, 3e38, np.float32)}
    broken = Transformer.from_parameters(model.config, parameters, model.tokenizer, model.about)
    with np.errstate(all="ignore"), pytest.raises(ArgumentError) as error:
        read(SENTENCE, model=broken)
    assert str(error.value) == (
        "the model's probabilities must be numbers, got NaN: its parameters are too large."
    )


def test_a_change_of_a_changed_reading_keeps_the_first_change(reading):
    first = reading.ablate(0, 1)
    one, other = first.after.ablate(1, 2).after, first.ablate(1, 2).after
    assert one.translated == other.translated
    np.testing.assert_array_equal(one.weights(), other.weights())


def blas_threads() -> list[int]:
    return [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]


@pytest.fixture(scope="module")
def wide(model) -> Transformer:
    """Products so large that BLAS shares them out where nothing keeps it from that."""
    return Transformer.random(layers=1, heads=4, width=256, feed_forward_width=1024, seed=5,
                              tokenizer=model.tokenizer, vocabulary=340)  # fmt: skip


def bits(model: Transformer) -> list[bytes]:
    reading = read(SENTENCE, model=model)
    steps = reading.steps(0)
    facts = (
        reading.encoded.memory_bke, reading.decoded.x_bte, reading.weights(),
        reading.weights(part="cross"), reading.rollout().tokens_qk,
        reading.value_weighted(0, 1).tokens_qk, steps.scores, steps.output,
        reading.translated.score,
    )  # fmt: skip
    return [np.asarray(fact).tobytes() for fact in facts]


def test_one_blas_thread_inside_and_all_of_them_after(model, monkeypatch):
    before, inside = blas_threads(), []
    for name in ("encode", "decode"):
        method = getattr(Transformer, name)

        def recorded(self, *arguments, method=method, **named):
            inside.append(blas_threads())
            return method(self, *arguments, **named)

        monkeypatch.setattr(Transformer, name, recorded)
    read(SENTENCE, model=model)
    calls = len(inside)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(read, SENTENCE, model=model).result(MAX_WAIT_SECONDS)
    assert len(inside) == 2 * calls > 0
    assert {number for numbers in inside for number in numbers} <= {1}
    assert blas_threads() == before


def test_every_thread_reads_the_same_bits_at_the_same_time(wide):
    before, alone, together = blas_threads(), bits(wide), threading.Barrier(3)

    def work(_: int) -> list[bytes]:
        together.wait(MAX_WAIT_SECONDS)
        return bits(wide)

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(work, range(3))) == [alone] * 3
    assert blas_threads() == before


@pytest.mark.parametrize("number", [1, 2, 4])
def test_the_callers_number_of_blas_threads_changes_no_bits(wide, number):
    once = bits(wide)
    with threadpool_limits(limits=number, user_api="blas"):
        assert bits(wide) == once
        assert set(blas_threads()) <= {number}
