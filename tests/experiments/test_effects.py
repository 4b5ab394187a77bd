"""Effects of heads: real runs against an independent loop in torch, and a formula that sums up."""

import json

import numpy as np
import pytest
from tests.experiments.test_experiment import without_head

from regard.errors import ArgumentError
from regard.experiments.selection import PARTS
from regard.transformer.checkpoint import PARAMETERS, SHIPPED
from regard.transformer.config import START
from regard.transformer.experiment import (
    _direction,
    _memory_directions,
    direct_effects,
    find_choice,
)
from regard.transformer.reading import read
from regard.transformer.residual import ResidualRun


@pytest.fixture(scope="module")
def choice(word_reading):
    return find_choice(word_reading, 0)


@pytest.fixture(scope="module")
def measured(word_reading):
    return word_reading.effects(0)


def test_effects_equal_an_independent_loop_in_torch(word_reading, measured, choice, one_torch):
    """Another library, another way to ablate: w_output without the rows of the head."""
    from train.model import logits, to_torch

    source = one_torch.tensor([list(word_reading.translated.source)])
    given = one_torch.tensor([[START, *choice.prefix]])

    def difference(model):
        logits_v = logits(to_torch(model.parameters()), model.config, source, given)[0, -1]
        one, other = choice.tokens
        return float(logits_v[one].double() - logits_v[other].double())

    full = difference(word_reading.model)
    assert measured.logit_difference == pytest.approx(full, abs=1e-4)
    for m, layer, head in np.ndindex(*measured.effect_mlh.shape):
        without = difference(without_head(word_reading.model, PARTS[m], layer, head))
        assert measured.effect_mlh[m, layer, head] == pytest.approx(full - without, abs=2e-4)


def test_every_head_is_among_them_the_largest_first(word_reading, measured):
    sizes = word_reading.model.config
    assert len(measured.heads) == 3 * sizes.layers * sizes.heads
    sizes_of_effects = [abs(row.effect) for row in measured.heads]
    assert sizes_of_effects == sorted(sizes_of_effects, reverse=True)


def test_direct_effects_of_all_components_sum_to_the_logit_difference(word_reading, choice):
    run = ResidualRun.from_reading(word_reading, choice.prefix)
    norm, direction_e = run.output_norm, _direction(word_reading, choice)
    shares_n = run.target.written_nte[:, -1] @ norm.pull_back(direction_e)[-1]
    x_e = run.reading.model.decode(
        run.reading.model.encode(np.array([word_reading.translated.source]), dtype=np.float64),
        np.array([(START, *choice.prefix)]),
    ).x_bte[0, -1]
    total = shares_n.sum() + norm.bias_e @ direction_e
    assert total == pytest.approx(x_e @ direction_e, rel=1e-10)


def test_the_encoders_direct_effects_sum_to_what_cross_attention_brings(word_reading, choice):
    """Its heads, feed-forward layers, embeddings and biases: the whole output of cross heads."""
    run = ResidualRun.from_reading(word_reading, choice.prefix)
    last_e = run.output_norm.pull_back(_direction(word_reading, choice))[-1]
    directions_te = _memory_directions(run, last_e)
    memory = np.vdot(run.source.x_te(), directions_te)
    bias = 0.0
    for layer in range(word_reading.model.config.layers):
        value, output = (run.matrix("cross", layer, x) for x in ("w_value", "w_output"))
        bias += run.key_norm("cross", 0).bias_e @ value @ output @ last_e
    direct_lh = direct_effects(word_reading, choice)[PARTS.index("cross")]
    assert memory + bias == pytest.approx(direct_lh.sum(), rel=1e-9)


def test_effects_of_a_changed_reading_are_those_of_the_changed_run(word_reading):
    after = word_reading.ablate(1, 2, part="cross").after
    again = after.effects(0)
    assert again.effect_mlh[PARTS.index("cross"), 1, 2] == pytest.approx(0, abs=1e-6)


def test_without_another_word_the_likeliest_that_is_not_its_beginning_is_taken(word_reading):
    choice = find_choice(word_reading, 0)
    x_e = word_reading.decoded.x_bte[0, 0]
    order = np.argsort(-(x_e @ word_reading.model.embedding_ve.T), kind="stable").tolist()
    names = [word_reading.model.tokenizer.decode([token]) for token in order]
    others = [x for x in names if x != "(pad)" and not choice.of.startswith(x)]
    assert choice.against == others[0]


def test_progress_is_told_until_all_heads_are_done(word_reading):
    calls = []
    word_reading.effects(0, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(4 * (n + 1), 36) for n in range(9)]


def test_effects_are_json_text_and_picture(measured):
    data = json.loads(json.dumps(measured.to_dict(), allow_nan=False))
    assert np.array(data["effect"]["cross"]).shape == (3, 4)
    text = str(measured)
    assert f"Correlation of formula and runs: {measured.correlation:.2f} (encoder " in text
    assert max(map(len, text.splitlines())) <= 80
    picture = measured.picture()
    assert picture.weights.shape == (9, 4)
    np.testing.assert_array_equal(measured.picture("cross").weights, measured.effect_mlh[2])
    assert picture.svg().startswith("<svg")
    assert "<script" not in measured._repr_html_()


def test_a_word_that_is_not_there_or_cannot_be_compared_is_explained(word_reading):
    word = word_reading.translation_words[0]
    with pytest.raises(ArgumentError, match="the word must be one of the words read, got 'chat'"):
        word_reading.effects("chat")
    with pytest.raises(ArgumentError) as error:
        find_choice(word_reading, 0, word)
    assert str(error.value) == (
        f"{word!r} and {word!r} must begin with different tokens, but one is the beginning of "
        "the other: compare it with another word."
    )


@pytest.mark.skipif(
    not (SHIPPED / PARAMETERS).is_file(), reason="this checkout has no shipped parameters"
)
def test_the_shipped_model_compares_words_behind_an_apostrophe():
    word_reading = read("A dog ate the food because it was hungry")
    pronoun = next(x for x in ("il", "elle") if x in word_reading.translation_words)
    other = "elle" if pronoun == "il" else "il"
    choice = find_choice(word_reading, pronoun, other)
    pieces = [word_reading.model.tokenizer.piece(x) for x in choice.tokens]
    assert [x.lstrip("\u2581") for x in pieces] == [pronoun, other]
    assert len({x.startswith("\u2581") for x in pieces}) == 1
