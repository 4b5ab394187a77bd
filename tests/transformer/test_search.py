"""Greedy and beam search: equal to going the long way, alone or in batches, cut or finished."""

from dataclasses import replace

import numpy as np
import pytest

from regard.errors import ArgumentError
from regard.transformer import Search, beam_search, greedy_search, translate
from regard.transformer.config import END, PAD, START
from regard.transformer.decoding import StepDecoder
from regard.transformer.search import (
    RestrictedDecoder,
    encode_sources,
    longest_target,
    search_encoded,
)

SOURCES = ([10, 20, 30, 40, 50, 60, 3], [7, 8, 3], [100, 101, 102, 103, 3], [9, 3])


@pytest.fixture(scope="module")
def talker(model):
    """A model that likes END, so that translations end at different lengths."""
    embedding = model.embedding_ve.copy()
    embedding[END] = embedding[4:40].mean(axis=0) * 5
    return replace(model, embedding_ve=embedding)


def greedy_the_long_way(model, source):
    given = [START]
    for _ in range(longest_target(len(source), model.config)):
        logits = model.logits(np.array([source]), np.array([given]))[0, -1]
        logits[PAD] = -np.inf
        given.append(int(logits.argmax()))
        if given[-1] == END:
            break
    return tuple(token for token in given[1:] if token != END)


@pytest.mark.parametrize("source", SOURCES, ids=len)
def test_greedy_search_equals_recomputing_all_logits(talker, source):
    assert greedy_search(talker, [source])[0].tokens == greedy_the_long_way(talker, source)


def test_cached_decoding_gives_the_logits_of_full_decoding(model):
    given = np.array([[START, 11, 12, 13, *range(20, 40)]] * 2)
    source, lengths = np.array([SOURCES[0], [*SOURCES[1], 0, 0, 0, 0]]), np.array([7, 3])
    encoded = model.encode(source, lengths)
    at_once = model.decode(encoded, given).x_bte @ model.embedding_ve.T
    decoder = StepDecoder(model, encoded, beams=1)
    stepwise = np.stack([decoder.next_logits(given[:, t]) for t in range(given.shape[1])], axis=1)
    np.testing.assert_allclose(stepwise, at_once, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("beams", [1, 4])
def test_a_batch_gives_what_each_sentence_gives(talker, beams):
    together = beam_search(talker, SOURCES, Search(beams))
    for source, one in zip(SOURCES, together, strict=True):
        alone = beam_search(talker, [source], Search(beams))[0]
        assert one.tokens == alone.tokens
        assert one.finished == alone.finished
        assert one.score == pytest.approx(alone.score, abs=1e-4)
    assert len({len(one.tokens) for one in together}) > 1


@pytest.mark.parametrize("source", SOURCES, ids=len)
def test_beam_search_equals_the_training_side(talker, source, one_torch):
    from train.decoding import beam_search as torch_beam_search
    from train.model import to_torch

    parameters = to_torch(talker.parameters())
    trained = torch_beam_search([parameters], talker.config, one_torch.tensor([source]))[0]
    ours = beam_search(talker, [source])[0]
    assert (ours.tokens, ours.finished) == (trained.tokens, trained.finished)
    assert ours.score == pytest.approx(trained.score, abs=1e-4)


def test_the_training_side_translates_a_batch_as_each_sentence(talker, one_torch):
    from train.decoding import beam_search as torch_beam_search
    from train.model import to_torch

    longest = max(map(len, SOURCES))
    padded = one_torch.tensor([[*source, *[PAD] * (longest - len(source))] for source in SOURCES])
    together = torch_beam_search([to_torch(talker.parameters())], talker.config, padded)
    for one, ours in zip(together, beam_search(talker, SOURCES), strict=True):
        assert (one.tokens, one.finished) == (ours.tokens, ours.finished)
        assert one.score == pytest.approx(ours.score, abs=1e-4)


def test_a_step_may_cancel_the_search(model):
    steps = []

    def progress():
        steps.append(len(steps))
        if len(steps) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        beam_search(model, SOURCES, progress=progress)
    assert steps == [0, 1, 2, 3]


def test_more_beams_never_find_a_worse_sentence_here(talker):
    one, four = (beam_search(talker, SOURCES, Search(beams)) for beams in (1, 4))
    assert sum(x.score for x in four) >= sum(x.score for x in one) - 1e-4


def test_translation_at_its_limit_is_unfinished(model):
    never = model.embedding_ve.copy()
    never[END] = 0
    never[10] = 1
    found = beam_search(replace(model, embedding_ve=never), [[9, 3]])[0]
    assert not found.finished
    assert len(found.tokens) == longest_target(2, model.config) == 15


@pytest.mark.parametrize("beams", [1, 4])
def test_a_restricted_search_leaves_out_what_it_may_not_say(talker, beams):
    encoded = encode_sources(talker, SOURCES[:1])
    options = talker, encoded, Search(beams), None, None
    (free,) = search_encoded(*options)
    everything = search_encoded(*options, lambda beginning, tokens: [True] * len(tokens))
    assert everything == [free]
    word = free.tokens[2]
    (without,) = search_encoded(*options, lambda beginning, tokens: [x != word for x in tokens])
    assert word not in without.tokens
    asked = []
    search_encoded(*options, lambda *given: asked.append(given) or [True] * len(given[1]))
    assert all(len(tokens) == 64 for _, tokens in asked)
    assert any(free.tokens[:2] == tuple(beginning) for beginning, _ in asked)


class Fixed:
    """A decoder that says the same at every step."""

    def best_next(self, token_n, number):
        assert number == 3
        return np.log(np.array([[0.6, 0.3, 0.1]])), np.array([[10, END, 12]])


@pytest.mark.parametrize(
    ("forbidden", "left"),
    [
        (10, {END: 0.75, 12: 0.25}),
        (END, {10: 0.6, 12: 0.1}),  # what may not end gains nothing
        (12, {10: 0.6 / 0.9, END: 0.3 / 0.9}),
    ],
)
def test_what_is_forbidden_passes_its_probability_on(forbidden, left):
    allowed = RestrictedDecoder(Fixed(), lambda _, tokens: [x != forbidden for x in tokens], 1, 3)
    best, tokens = allowed.best_next(np.array([START]), 2)
    assert dict(zip(tokens[0], np.exp(best[0]), strict=True)) == pytest.approx(left)


def test_no_beams_is_an_error():
    with pytest.raises(
        ArgumentError, match=r"beams must be a whole number from 1 to 1000, got 0\."
    ):
        Search(beams=0)


def test_many_batches_keep_their_order(model, monkeypatch):
    monkeypatch.setattr("regard.transformer.translation.TOKENS_PER_BATCH", 12)
    sentences = ["I am good.", "A dog ate the food.", "the water was cold", "happy"] * 3
    found = translate(model, sentences)
    assert [x.sentence for x in found] == sentences
    for sentence, one in zip(sentences[:4], found, strict=False):
        assert one.tokens == translate(model, [sentence])[0].tokens


def test_translating_no_sentences_gives_none(model):
    assert translate(model, []) == []


def test_a_single_string_is_refused_as_a_list(model):
    with pytest.raises(ArgumentError, match="sentences must be a list of sentences"):
        translate(model, "I am good.")
