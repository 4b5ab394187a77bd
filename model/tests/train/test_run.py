"""Training: a toy language is learnt, an interruption changes nothing, a model comes out."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="training needs PyTorch: pip install 'regard[train]'")
pytest.importorskip("sacrebleu", reason="BLEU needs sacrebleu: pip install 'regard[train]'")

import torch

from regard.errors import ArgumentError
from regard.transformer.checkpoint import load_parameters
from regard.transformer.config import Config, random_parameters
from train.data import (
    MarkedPair,
    WordLink,
    learn_tokens,
    load_tokens,
    read_marked,
    read_pairs,
    write_marked,
)
from train.dataset import find_splits, gather
from train.loop import DivergedError, RoundHooks, RoundText, train_round
from train.model import to_torch
from train.packing import word_table
from train.recipe import (
    NO_ALTERATIONS,
    Corpus,
    Hyperparameters,
    Round,
    TaughtHead,
    TrainingJob,
    TrainingText,
    check_job,
    plain_rounds,
    read_recipe,
)
from train.run import train_model
from train.step import finished

SIZES = Config(vocabulary=400, layers=2, heads=4, width=64, feed_forward_width=128)
HABITS = Hyperparameters(
    tokens_per_batch=2_048, dropout=0.0, split=0.02, alterations=NO_ALTERATIONS
)


@pytest.fixture(autouse=True)
def one_thread():
    """Sums of floats depend on how many threads share them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def trained(toy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained") / "toy"
    whole = Round("only", (), steps=220, learning_rate=3e-3)
    text = TrainingText(valid=toy[1])
    points = []
    rounds = tuple(plain_rounds(folder, [toy[0]], text, whole))
    job = TrainingJob(
        folder, rounds, text, SIZES, HABITS, progress=lambda part, point: points.append(point)
    )
    return folder, train_model(job), points


def test_a_toy_language_is_learnt_nearly_perfectly(trained):
    _, description, _ = trained
    assert description["scores"]["before rounding"]["bleu"] > 95
    assert description["scores"]["int8"]["bleu"] > 95
    assert description["scores"]["int8"]["chrf"] > 95


def test_everything_that_made_a_model_is_beside_it(trained, toy):
    folder, _, points = trained
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    assert [file["name"] for file in record["files"]] == [path.name for path in toy]
    assert all(len(file["sha256"]) == 64 for file in record["files"])
    assert record["hyperparameters"]["seed"] == 1
    assert record["made with"]["torch"] == torch.__version__
    curve = json.loads((folder / "curve.json").read_text(encoding="utf-8"))
    losses = [point["loss"] for point in curve if "loss" in point]
    assert losses[-1] < losses[0] / 2
    assert curve == points
    assert (folder / "curve.svg").read_text(encoding="utf-8").startswith("<svg")
    assert load_parameters(folder / "model")[0].layers == 2


def test_started_again_a_finished_training_only_exports(trained, toy):
    folder, description, _ = trained
    whole = Round("only", (), steps=220, learning_rate=3e-3)
    text = TrainingText(valid=toy[1])
    rounds = tuple(plain_rounds(folder, [toy[0]], text, whole))
    before = (folder / "model" / "parameters.safetensors").read_bytes()
    assert train_model(TrainingJob(folder, rounds, text, SIZES, HABITS)) == description
    assert (folder / "model" / "parameters.safetensors").read_bytes() == before


def test_training_goes_on_from_an_exported_model(trained, toy, tmp_path):
    folder, description, _ = trained
    recipe = tmp_path / "more.toml"
    recipe.write_text(
        f'start = "{folder / "model"}"\n[text]\nvalid = "{toy[1]}"\n[hyperparameters]\n'
        "tokens_per_batch = 2048\ndropout = 0.0\n[[round]]\nname = 'more'\nsteps = 1\n"
        f'learning_rate = 1e-6\ncorpus = [{{ path = "{toy[0]}" }}]\n'
    )
    more = train_model(read_recipe(recipe, tmp_path / "more"))
    assert more["scores"]["int8"] == description["scores"]["int8"]
    config, before = load_parameters(folder / "model")
    same, after = load_parameters(tmp_path / "more" / "model")
    assert same == config
    # One step of Adam moves a parameter by the learning rate, and rounding by half a step of int8.
    for name, values in before.items():
        step = np.abs(values).max() / 127
        assert np.abs(after[name] - values).max() <= step, name


def ingredients(folder, toy, hyperparameters=HABITS):
    learn_tokens(toy[0].read_text(encoding="utf-8").split("\n"), 400, folder / "tokens.model")
    tokens = load_tokens(folder / "tokens.model")
    config = replace(SIZES, vocabulary=tokens.vocab_size())
    part = Round("only", (Corpus(toy[0]),), steps=30)
    tables = word_table(tokens), word_table(tokens, elisions=True)
    text = RoundText(gather(part, tokens, hyperparameters), find_splits(tokens), tables)
    return to_torch(random_parameters(config, 1)), config, text, (part, hyperparameters)


def test_interrupted_and_resumed_equals_uninterrupted_bit_for_bit(toy, tmp_path):
    hyperparameters = replace(HABITS, dropout=0.1, averaged_from=0.3)
    given = ingredients(tmp_path, toy, hyperparameters)
    whole = train_round(*given, RoundHooks(tmp_path / "whole"))
    for stop in (7, 19, None):
        parts = train_round(*given, RoundHooks(tmp_path / "parts", stop_at=stop))
    assert (parts.step, parts.epoch, parts.batch) == (whole.step, whole.epoch, whole.batch)
    for name in whole.parameters:
        assert torch.equal(parts.parameters[name], whole.parameters[name]), name
        assert torch.equal(parts.average[name], whole.average[name]), name
    assert whole.averaged == parts.averaged == 10


def test_the_same_seed_gives_the_same_model_and_another_seed_another(toy, tmp_path):
    given = ingredients(tmp_path, toy, HABITS)
    part = replace(given[3][0], steps=4)
    runs = [
        train_round(*given[:3], (part, hyperparameters), RoundHooks(tmp_path / str(number)))
        for number, hyperparameters in enumerate([HABITS, HABITS, replace(HABITS, seed=2)])
    ]
    first, same, other = (run.parameters["embedding"] for run in runs)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_a_loss_that_is_no_number_stops_training(toy, tmp_path):
    parameters, config, text, plan = ingredients(tmp_path, toy)
    parameters["decoder.norm.gain"] = parameters["decoder.norm.gain"] * float("nan")
    with pytest.raises(DivergedError) as error:
        train_round(parameters, config, text, plan, RoundHooks(tmp_path / "x", report_every=2))
    assert str(error.value) == (
        "the loss must be a finite number, got nan at step 2: lower the learning rate."
    )


def test_minutes_end_a_round_in_time(toy, tmp_path):
    parameters, config, text, (part, hyperparameters) = ingredients(tmp_path, toy)
    part = replace(part, steps=0, minutes=0.01)
    state = train_round(
        parameters, config, text, (part, hyperparameters), RoundHooks(tmp_path / "m")
    )
    assert state.step > 0
    assert state.seconds >= 0.6


def test_text_in_one_language_is_translated_and_trained_on(toy, tmp_path):
    english, french = tmp_path / "en.txt", tmp_path / "fr.txt"
    lines = [line.split("\t") for line in toy[1].read_text(encoding="utf-8").splitlines()]
    english.write_text("\n".join(source for source, _ in lines), encoding="utf-8")
    french.write_text("\n".join(target for _, target in lines), encoding="utf-8")
    text = TrainingText(source=(english,), target=(french,))
    folder = tmp_path / "out"
    whole = Round("only", (), steps=120, learning_rate=3e-3)
    rounds = tuple(plain_rounds(folder, [toy[0]], text, whole))
    assert [part.name for part in rounds] == ["first", "second"]
    assert rounds[0].corpora[0].both_ways
    rounds = (rounds[0], replace(rounds[1], steps=10))  # the first has to translate, the second not
    train_model(TrainingJob(folder, rounds, text, SIZES, HABITS))
    assert (folder / "back.tsv.gz").is_file()
    assert (folder / "self.tsv.gz").is_file()
    assert np.isfinite(load_parameters(folder / "model")[1]["embedding"]).all()


def test_a_recipe_says_it_all(toy, tmp_path):
    recipe = toy[0].parent / "recipe.toml"
    recipe.write_text(
        """
        [config]
        vocabulary = 400
        layers = 1
        width = 64
        heads = 4
        [hyperparameters]
        seed = 3
        alterations = { joined = 0.0 }
        [text]
        valid = "valid.tsv"
        source = ["en.txt"]
        [[round]]
        name = "first"
        steps = 5
        corpus = [{ path = "train.tsv", copies = 2.5 }]
        [[round]]
        name = "second"
        minutes = 1.5
        corpus = [{ path = "train.tsv" }, { made = "self" }]
        """,
        encoding="utf-8",
    )
    job = read_recipe(recipe, tmp_path)
    assert job.config.layers == 1
    assert job.hyperparameters.seed == 3
    assert job.hyperparameters.alterations.joined == 0
    assert job.text.valid == toy[1]
    assert job.rounds[0].corpora[0] == Corpus(toy[0], copies=2.5)
    assert job.rounds[1].corpora[1].path == tmp_path / "self.tsv.gz"
    assert job.pairs == [toy[0]]


TAUGHT = """
    [config]
    vocabulary = 400
    layers = 2
    width = 64
    heads = 4
    [hyperparameters]
    tokens_per_batch = 2048
    [[taught]]
    part = "encoder"
    layer = 1
    head = 2
    of = "pronouns"
    [[taught]]
    part = "cross"
    layer = 0
    head = 3
    of = "alignment"
    weight = 0.05
    share = 0.5
    [[round]]
    name = "only"
    steps = 20
    corpus = [
        { path = "train.tsv", made = "alignment" },
        { path = "marked.tsv", links = "pronouns", copies = 2 },
    ]
"""


def test_heads_are_taught_by_links_that_are_made_and_links_that_are_given(toy, tmp_path):
    (tmp_path / "train.tsv").write_bytes(toy[0].read_bytes())
    pairs = read_pairs(toy[0])[:200]
    write_marked(tmp_path / "marked.tsv", [MarkedPair(*x, (WordLink(2, 1, 1),)) for x in pairs])
    (tmp_path / "recipe.toml").write_text(TAUGHT, encoding="utf-8")
    job = read_recipe(tmp_path / "recipe.toml", tmp_path / "out")
    assert job.hyperparameters.taught == (
        TaughtHead("encoder", 1, 2, "pronouns"),
        TaughtHead("cross", 0, 3, "alignment", 0.05, 0.5),
    )
    assert job.pairs == [tmp_path / "train.tsv", tmp_path / "marked.tsv"]
    train_model(job)
    aligned = read_marked(tmp_path / "out" / "alignment-train.tsv")
    assert [pair.pair for pair in aligned] == read_pairs(toy[0])
    assert any(pair.links for pair in aligned)
    curve = json.loads((tmp_path / "out" / "curve.json").read_text(encoding="utf-8"))
    (point,) = (point for point in curve if "loss" in point)
    for name in ("encoder 1.2 pronouns", "cross 0.3 alignment"):
        assert point[f"{name} loss"] > 0
        assert 0 <= point[f"{name} right"] <= 1
    recipe = tmp_path / "out" / "model" / "recipe.toml"
    assert recipe.read_text(encoding="utf-8") == TAUGHT


def test_a_head_learns_the_links_it_is_taught(toy, tmp_path):
    """The row of the first adjective on the second, which translation alone does not ask for."""
    pairs = read_pairs(toy[0])[:400]
    marked = tmp_path / "marked.tsv"
    write_marked(marked, [MarkedPair(*x, (WordLink(1, 5, 5),)) for x in pairs])
    given = ingredients(tmp_path, toy)
    hyperparameters = replace(HABITS, taught=(TaughtHead("encoder", 1, 0, "pronouns", 0.5),))
    tokens = load_tokens(tmp_path / "tokens.model")
    part = Round(
        "only", (Corpus(marked, links="pronouns"),), steps=100, learning_rate=3e-3, warm_up=0.1
    )
    text = replace(given[2], dataset=gather(part, tokens, hyperparameters))
    points = []
    hooks = RoundHooks(tmp_path / "taught", lambda _, point: points.append(point))
    train_round(given[0], given[1], text, (part, hyperparameters), hooks)
    losses = [point["encoder 1.0 pronouns loss"] for point in points]
    assert losses[-1] < 0.1 < 0.5 < losses[0]
    assert points[-1]["encoder 1.0 pronouns right"] > 0.98


def test_a_round_can_train_the_taught_heads_alone(toy, tmp_path):
    """Their queries and keys learn the links; every other parameter is the same to the bit."""
    pairs = read_pairs(toy[0])[:400]
    marked = tmp_path / "marked.tsv"
    write_marked(marked, [MarkedPair(*x, (WordLink(1, 5, 5),)) for x in pairs])
    start, config, text = ingredients(tmp_path, toy)[:3]
    heads = TaughtHead("encoder", 1, 0, "pronouns", 0.5), TaughtHead("cross", 0, 3, "alignment")
    hyperparameters = replace(HABITS, taught=heads)
    part = Round(
        "heads", (Corpus(marked, links="pronouns"),), steps=60, learning_rate=3e-3, warm_up=0.1,
        trained="pronouns",
    )  # fmt: skip
    tokens = load_tokens(tmp_path / "tokens.model")
    text = replace(text, dataset=gather(part, tokens, hyperparameters))
    points = []
    hooks = RoundHooks(tmp_path / "heads", lambda _, point: points.append(point))
    end = finished(train_round(start, config, text, (part, hyperparameters), hooks))
    losses = [point["encoder 1.0 pronouns loss"] for point in points]
    assert losses[-1] < 0.8 * losses[0]
    assert not any("cross" in name or name == "loss" for point in points for name in point)
    columns = slice(0, config.head_width)
    for name, parameter in end.items():
        changed = parameter != start[name].float()
        if name in ("encoder.1.self_attention.w_query", "encoder.1.self_attention.w_key"):
            assert changed[:, columns].float().mean() > 0.99
            changed = changed[:, config.head_width :]
        assert not changed.any(), name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('of = "pronouns"', 'of = "alignment"'),
            "a head taught 'alignment' must be of the part 'cross', because its links go from the "
            "target to the source, got 'encoder'.",
        ),
        (
            ('part = "encoder"', 'part = "decoder"'),
            "the part of a taught head must be 'encoder' or 'cross', got 'decoder'.",
        ),
        (
            ('part = "encoder"', 'part = "cross"'),
            "all taught heads of the part 'cross' must learn one kind of links, got 'alignment' "
            "and 'pronouns'.",
        ),
        (
            ("layer = 1\n", "layer = 2\n"),
            "a taught head must be one of 2 layers of 4 heads, counted from 0, got "
            "layer 2, head 2.",
        ),
        (
            (', links = "pronouns"', ""),
            "a head taught 'pronouns' needs a corpus with such links, but no round has one: add "
            "links = 'pronouns' to a corpus that has them.",
        ),
        (
            ("steps = 20", 'steps = 20\n    trained = "verbs"'),
            "trained of round 'only' must be what a head is taught ('alignment' or 'pronouns'), "
            "got 'verbs'.",
        ),
        (("weight = 0.05", "weight = 0"), "weight must be a number above 0, got 0."),
        (("share = 0.5", "share = 2"), "share must be above 0 and at most 1, got 2."),
        (
            ('made = "alignment"', 'made = "self"'),
            "a corpus must have path = a file, or made = 'back', 'self' or 'module:function', or "
            "path and made = 'alignment' or 'module:function', got made = 'self' and "
            "path = 'train.tsv'.",
        ),
        (
            ('made = "alignment"', 'made = "no_such_module:pairs", links = "alignment"'),
            "made = 'no_such_module:pairs' must name a module that can be imported from the "
            "recipe's folder or is installed, got No module named 'no_such_module'.",
        ),
        (
            (
                'made = "alignment"',
                'made = "train.data:pairs_of_socks", links = "alignment"',
            ),
            "made = 'train.data:pairs_of_socks' must name a function of train.data, "
            "got nothing of that name.",
        ),
        (
            ('made = "alignment"', 'made = "train.data:AT_END", links = "alignment"'),
            "made = 'train.data:AT_END' must name a function of train.data, got -1.",
        ),
        (
            ("tokens_per_batch = 2048", "target_width = 64"),
            "target_width must be at least 96, the tokens of the longest side of a pair, got "
            "64: raise it, or lower longest.",
        ),
        (
            ("tokens_per_batch = 2048", 'attention = "fast"'),
            "attention must be one of efficient, cudnn, plain, got 'fast'.",
        ),
    ],
    ids=lambda x: x[1] if isinstance(x, tuple) else "",
)
def test_a_recipe_that_cannot_be_followed_is_refused(tmp_path, change, message):
    assert change[0] in TAUGHT
    (tmp_path / "recipe.toml").write_text(TAUGHT.replace(*change, 1), encoding="utf-8")
    with pytest.raises(ArgumentError) as error:
        check_job(read_recipe(tmp_path / "recipe.toml", tmp_path / "out"))
    assert str(error.value) == message
