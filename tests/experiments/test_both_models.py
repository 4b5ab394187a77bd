"""The same experiments, in the same words, on the shipped kind of model and on a watched one."""

import copy
import inspect
import json
import pickle

import numpy as np
import pytest

import regard
from regard.errors import ArgumentError, NotAskedError
from regard.experiments.because import ScoreDecomposition
from regard.experiments.changes import Changeable, ChangeableText
from regard.experiments.effects import Effects, HeadEffect
from regard.experiments.experiment import Experiment, WordProbability
from regard.transformer.reading import Reading
from regard.watcher.seen import Seen
from regard.watcher.watch import Watching

WORDS = ["A", "dog", "ate", "the", "food", "because", "it", "was", "hungry"]
OTHER = ["A", "cat", "ate", "the", "food", "because", "it", "was", "hungry"]


class WordTokenizer:
    """A tokenizer of words: token n is word n of a list."""

    all_special_ids = ()
    words = tuple(dict.fromkeys([*WORDS, *OTHER, "happy"]))

    def __call__(self, text, return_tensors=None):
        import torch

        return {"input_ids": torch.tensor([self.encode(text)])}

    def encode(self, text, add_special_tokens=True):
        return [self.words.index(word) for word in text.split()]

    def decode(self, ids, skip_special_tokens=False):
        return " ".join(self.words[int(i)] if i < len(self.words) else f"<{i}>" for i in ids)

    def convert_ids_to_tokens(self, token):
        return "\u0120" + self.decode([token])

    def convert_tokens_to_string(self, tokens):
        return " ".join(token.removeprefix("\u0120") for token in tokens)


def watched(words, **options):
    torch = pytest.importorskip("torch", reason="watched models are torch models")
    from tests.helpers.model_families import FAMILIES

    model = next(x for x in FAMILIES if x.name == "llama").made()
    tokenizer = WordTokenizer()
    ids = torch.tensor([tokenizer.encode(" ".join(words))])
    with torch.no_grad(), regard.watch(model, tokenizer=tokenizer, **options) as seen:
        model(input_ids=ids)
    return seen


@pytest.fixture(scope="module", params=["reading", "watched"])
def both(request, word_reading):
    """A finished run of each kind of model, and the same kind of run of another text."""
    if request.param == "watched":
        return watched(WORDS), watched(OTHER)
    vocabulary = f"{' '.join(WordTokenizer.words)} il elle chien avait faim"
    model = regard.Transformer.random(
        vocabulary, layers=2, heads=4, width=16, feed_forward_width=32, seed=3
    )
    return tuple(regard.read(" ".join(words), model=model) for words in (WORDS, OTHER))


IT, FOOD = WORDS.index("it"), WORDS.index("food")
CHANGES = {
    "knock_out": lambda run, other: run.knock_out("food", layer=1, head=2),
    "redirect": lambda run, other: run.redirect("it", to="food", layer=1, head=2, weight=0.75),
    "ablate": lambda run, other: run.ablate(0, [1, 2]),
    "ablate to mean": lambda run, other: run.ablate(0, 1, to="mean", over=[" ".join(OTHER)]),
    "patch": lambda run, other: run.patch(other, 0, 1),
    "patch of a word": lambda run, other: run.patch(other, 0, 1, word="it"),
    "replace": lambda run, other: run.replace("dog", "cat"),
    "replace_sentence": lambda run, other: run.replace_sentence(" ".join(OTHER)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_gives_an_experiment_with_before_and_after(both, change):
    experiment = change(*both)
    assert isinstance(experiment, Experiment)
    assert len(experiment.changed) == 1
    assert not np.array_equal(*(np.asarray(x) for x in experiment.logits))
    tokens = experiment.next_tokens(3)
    assert all(isinstance(x, WordProbability) for x in tokens)
    best = max(range(len(tokens)), key=lambda i: tokens[i].before)
    logits_v = np.asarray(experiment.logits[0][0, -1], np.float64)
    shares_v = np.exp(logits_v - logits_v.max())
    assert tokens[best].id == int(logits_v.argmax())
    assert tokens[best].before == pytest.approx(float((shares_v / shares_v.sum()).max()), rel=1e-5)
    json.dumps(experiment.to_dict(), allow_nan=False)
    assert f"Changed: {experiment.changed[0]}"[:60] in " ".join(str(experiment).split())
    assert "<script" not in experiment._repr_html_()


def test_a_redirected_row_has_the_weight_and_no_other_row_differs(both):
    experiment = both[0].redirect("it", "food", 1, 2, weight=0.75)
    after = experiment.weights(1, 2)
    assert after[IT, FOOD] == pytest.approx(0.75, abs=1e-6)
    difference = experiment.difference(1, 2)
    others = np.arange(len(difference)) != IT
    np.testing.assert_allclose(difference[others], 0, atol=1e-6)
    assert np.abs(difference[IT]).max() > 0.1
    assert experiment.picture(what="difference").weights.shape == difference.shape


def test_a_word_knocked_out_gets_no_weight_from_other_words(both):
    weights_lhqk = both[0].knock_out("food").weights()
    others = np.arange(weights_lhqk.shape[2]) != FOOD
    assert not weights_lhqk[:, :, others, FOOD].any()
    np.testing.assert_allclose(weights_lhqk.sum(-1), 1, atol=1e-5)


def test_a_patch_from_the_run_itself_changes_nothing_but_rounding(both):
    one, other = both[0].patch(both[0], 0, 1).logits
    np.testing.assert_allclose(np.asarray(other), np.asarray(one), rtol=0, atol=1e-5)


def test_ablating_every_head_in_turn_gives_the_effects(both):
    run = both[0]
    effects = run.effects(0, "elle" if isinstance(run, Reading) else 1)
    assert isinstance(effects, Effects)
    assert all(isinstance(x, HeadEffect) for x in effects.heads)
    part = effects.parts[0]
    experiment = run.ablate(1, 2, part=part)
    after = experiment.after
    if isinstance(run, Reading):
        from regard.transformer.experiment import logit_difference

        difference = logit_difference(after, effects.choice)
    else:
        one, other = effects.ids
        difference = float(after.logits[0, -1, one] - after.logits[0, -1, other])
    expected = effects.logit_difference - difference
    assert effects.by_layer[part, 1][2] == pytest.approx(expected, abs=1e-4)
    assert effects.picture(part).weights.shape == (2, 4)


@pytest.mark.parametrize("against", [None, "dog"])
def test_a_score_is_the_sum_of_its_terms(both, against):
    result = both[0].because("it", "food", 1, 2, against=against)
    assert isinstance(result, ScoreDecomposition)
    expected = result.score - result.score_against
    assert result.total == pytest.approx(expected, rel=1e-3, abs=1e-5)
    assert sum(x.value for x in result.terms) == pytest.approx(result.total, abs=1e-9)
    assert bool(result.against) == (against is not None)


def test_changes_add_up_in_whatever_order_they_are_added(both):
    one = both[0].knock_out("dog").redirect("it", "food", 1, 2)
    other = both[0].redirect("it", "food", 1, 2).knock_out("dog")
    np.testing.assert_array_equal(np.asarray(one.logits[1]), np.asarray(other.logits[1]))
    assert sorted(one.changed) == sorted(other.changed)


def test_a_change_follows_a_replaced_word(both):
    one = both[0].ablate(0, 1).replace("dog", "cat")
    other = both[1].ablate(0, 1)
    np.testing.assert_allclose(
        np.asarray(one.logits[1]), np.asarray(other.logits[1]), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])  # noqa: S301
def test_an_experiment_can_be_copied(both, copied):
    experiment = both[0].redirect("it", "food", 1, 2)
    before = experiment.next_tokens()
    other = copied(experiment)
    assert other.changed == experiment.changed
    assert other.next_tokens() == before
    assert str(other) == str(experiment)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x.knock_out(), "knock_out needs at least one word, got none."),
        (lambda x: x.redirect("it", "dog", 0, 0, weight=2),
         "weight must be a number from 0 to 1, got 2."),
        (lambda x: x.ablate(0, 0, to="one"), "to must be 'zero' or 'mean', got 'one'."),
        (lambda x: x.ablate(0, 0, to="mean", over="dog"),
         "over must be a list of at least one text, got 'dog'."),
        (lambda x: x.ablate([], 0), "layer must have at least one number, got an empty list."),
        (lambda x: x.redirect((3, 99), "dog", 0, 0),
         "a span must be (start, stop) in tokens, 0 <= start < stop <= "),
        (lambda x: x.redirect("mouse", "dog", 0, 0),
         "the word must be one of the words read, got 'mouse'"),
    ],
)  # fmt: skip
def test_bad_arguments_are_explained_in_the_same_words(both, change, message):
    with pytest.raises(ArgumentError) as error:
        change(both[0])
    assert str(error.value).startswith(message)


def test_methods_have_the_same_arguments_in_the_same_order():
    for name in ("knock_out", "redirect", "ablate", "patch"):
        method = getattr(Changeable, name)
        for kind in (Reading, Seen, Watching, Experiment):
            assert inspect.unwrap(getattr(kind, name)) is method
    for name in ("replace", "replace_sentence"):
        for kind in (Reading, Seen, Experiment):
            assert inspect.unwrap(getattr(kind, name)) is getattr(ChangeableText, name)
    for name in ("because", "effects"):
        one, other = (
            list(inspect.signature(getattr(x, name)).parameters)[1:] for x in (Reading, Seen)
        )
        assert [x for x in other if x in one] == one


def test_a_block_gives_the_same_experiment_as_the_finished_run():
    torch = pytest.importorskip("torch", reason="watched models are torch models")
    seen = watched(WORDS)
    after = seen.redirect("it", "food", 1, 2)
    model, tokenizer = after.before.block.model, WordTokenizer()
    ids = torch.tensor([tokenizer.encode(" ".join(WORDS))])
    block = regard.watch(model, tokenizer=tokenizer).redirect("it", "food", 1, 2)
    with torch.no_grad(), block as changed:
        model(input_ids=ids)
    outcome = changed.outcome
    assert type(outcome) is type(after)
    assert outcome.changed == after.changed
    for one, other in zip(outcome.logits, after.logits, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=0, atol=1e-5)
    np.testing.assert_allclose(outcome.weights(1, 2), after.weights(1, 2), atol=1e-6)
    with pytest.raises(NotAskedError, match="the attention of this run was not watched"):
        outcome.difference(1, 2)
    further = outcome.ablate(0, 1)
    assert len(further.changed) == 2
    np.testing.assert_allclose(
        further.logits[1].numpy(), after.ablate(0, 1).logits[1].numpy(), rtol=0, atol=1e-5
    )


def test_an_experiment_on_a_changed_block_begins_with_its_changes():
    torch = pytest.importorskip("torch", reason="watched models are torch models")
    seen = watched(WORDS)
    model, tokenizer = seen.ablate(0, 1).before.block.model, WordTokenizer()
    ids = torch.tensor([tokenizer.encode(" ".join(WORDS))])
    with torch.no_grad(), regard.watch(model, tokenizer=tokenizer).ablate(0, 1) as changed:
        model(input_ids=ids)
    further = changed.ablate(1, 2)
    both = seen.ablate(0, 1).ablate(1, 2)
    np.testing.assert_allclose(further.logits[1].numpy(), both.logits[1].numpy(), rtol=0, atol=1e-5)
    np.testing.assert_allclose(
        further.logits[0].numpy(), seen.ablate(0, 1).logits[1].numpy(), rtol=0, atol=1e-5
    )


def test_a_pickled_experiment_on_a_watched_model_cannot_be_run_again():
    experiment = pickle.loads(pickle.dumps(watched(WORDS).ablate(0, 1)))  # noqa: S301
    with pytest.raises(ArgumentError) as error:
        experiment.ablate(1, 2)
    assert str(error.value) == (
        "an experiment needs the model: a pickled one has only its numbers."
    )
