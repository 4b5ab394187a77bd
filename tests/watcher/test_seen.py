"""Asking, reporting, saving: what was seen under its names."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.model_families import FAMILIES, batch, eager
from tests.helpers.watching import seen_by

import regard
from regard.engine.call import blocks
from regard.errors import ArgumentError, FileError, NotAskedError
from regard.heads.names import MEASURES
from regard.text.words import TokenizedText, tokenized_ids, word_starts
from regard.view.terminal.watch import report_text
from regard.watcher.capture.records import GrowingMap
from regard.watcher.measures.links import only_position

FAMILY = {family.name: family for family in FAMILIES}


class CharacterTokenizer:
    """A tokenizer of two-letter tokens; every third goes on inside a word."""

    all_special_ids = (0, 1, 2)

    def convert_ids_to_tokens(self, number):
        if number in self.all_special_ids:
            return ("<pad>", "<s>", "</s>")[number]
        text = chr(97 + number % 26) + chr(97 + number // 26)
        return f"##{text}" if number % 3 == 0 else text

    def convert_tokens_to_string(self, tokens):
        return " ".join(tokens).replace(" ##", "")


@pytest.fixture(scope="module")
def decoder():
    model = FAMILY["llama"].made()
    return seen_by(model, batch("not")["input_ids"][:1], tokenizer=CharacterTokenizer(), keep=[1])


@pytest.fixture(scope="module")
def translator():
    model = FAMILY["bart"].made()
    options = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False}
    with torch.no_grad(), regard.watch(model, tokenizer=CharacterTokenizer()) as seen:
        model.generate(**batch("left"), **options)
    return seen


def test_a_plain_number_is_the_only_part(decoder):
    assert decoder[1].name == decoder["decoder", 1].name == "decoder layer 1"
    assert decoder[1, 3].name == decoder["decoder", 1, 3].name == "decoder layer 1 head 3"
    np.testing.assert_array_equal(decoder[1, 3].entropy, decoder[1].entropy[3])
    np.testing.assert_array_equal(decoder[1, 3].top(2).keys, decoder[1].top(2).keys[3])
    tile = decoder[1, 3].tile(slice(0, 4), slice(0, 4))
    np.testing.assert_allclose(tile, decoder[1].map[3, :4, :4], atol=1e-6)


def test_three_parts_have_keys_of_their_own(translator):
    one = translator.sentence(1)
    assert one.parts == ("encoder", "decoder", "cross")
    assert one["encoder", 1].map.shape == (4, 9, 9)
    assert one["decoder", 1].map.shape == (4, 4, 4)
    assert one["cross", 1].map.shape == (4, 4, 9)
    rows, columns = one.texts("cross")
    assert columns.tokens == one.tokens
    assert rows.tokens[0] == "</s>"
    assert len(rows.tokens) == 4


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda one, many: many[1],
         "this model has encoder, decoder, cross, so say which: seen['encoder', 1]."),
        (lambda one, many: many["encoder", 1],
         "there are 3 sentences: choose one first, as in seen.sentence(0)[4].entropy."),
        (lambda one, many: many.sentence(7),
         "there are 3 sentences, counted from 0, so none is 7."),
        (lambda one, many: one[5], "decoder layer 5 was not watched: decoder has layers 0, 1."),
        (lambda one, many: one[1, 9],
         "decoder layer 1 has 4 heads, counted from 0, so there is no head 9."),
        (lambda one, many: one["encoder", 0],
         "seen takes [layer], [layer, head] or a part before them (decoder), got "
         "('encoder', 0)."),
        (lambda one, many: one[1].head(0).head(0), "decoder layer 1 head 0 is one head already."),
        (lambda one, many: one.run(3), "1 texts were seen, counted from 0, so none is 3."),
        (lambda one, many: one.texts("cross"),
         "part must be one of decoder, got 'cross'."),
        (lambda one, many: one.report().sorted("size"),
         "by must be one of entropy, first, itself, previous, next, duplicate, induction, "
         "telling, layer, head or label, got 'size'."),
    ],
)  # fmt: skip
def test_errors_list_the_choices(decoder, translator, ask, words):
    with pytest.raises(ArgumentError) as error:
        ask(decoder, translator)
    assert str(error.value) == words


def test_nothing_seen_yet():
    with regard.watch(FAMILY["llama"].made()) as seen:
        assert str(seen) == "Seen: nothing yet: call the model inside the block."
    for ask in (lambda: seen.find("it", "dog"), lambda: seen[0], lambda: seen["decoder", 0],
                lambda: seen.report(), lambda: seen.save("nothing.regard")):  # fmt: skip
        with pytest.raises(NotAskedError) as error:
            ask()
        assert str(error.value) == "nothing was seen yet: call the model inside the block."


def test_what_a_tile_cannot_be(decoder):
    layer = decoder[1]
    wrong = {
        "columns must be a range inside": lambda: layer.tile(0, 999),
        "rows must be a range inside": lambda: layer.row(999),
        "rows must be a slice or a whole number, got list": lambda: layer.tile([0], 0),
        "head must be an index into the leading axes": lambda: layer.tile(0, 0, head=99),
    }
    for words, ask in wrong.items():
        with pytest.raises(ArgumentError) as error:
            ask()
        assert str(error.value).startswith(words)


def columns_of(seen, word):
    return np.flatnonzero(np.equal(seen.texts()[1].word_of_token, word))


def test_find_adds_over_the_tokens_of_a_word(decoder):
    words = decoder.words
    assert len(words) < len(decoder.tokens)
    row, column = len(words) - 1, 1
    links = decoder.find(row, column)
    assert [link.weight for link in links] == sorted((x.weight for x in links), reverse=True)
    best = links[0]
    weights = decoder[best.layer, best.head].by_words()
    assert best.weight == pytest.approx(weights[row, column], rel=1e-5)
    assert str(best).startswith(f"{words[row]} looks at {words[column]}: ")
    tokens, columns = columns_of(decoder, row), columns_of(decoder, column)
    others = np.setdiff1d(np.arange(columns[0], 11), tokens)  # who can see it, without the word
    usual = decoder[best.layer, best.head].map[others][:, columns].sum(axis=-1).mean()
    assert best.usual == pytest.approx(float(usual), rel=1e-4)
    assert best.excess == best.weight - best.usual
    assert {(x.layer, x.head) for x in links} == {(i, j) for i in range(2) for j in range(4)}


def test_a_word_that_comes_several_times_has_to_be_numbered(decoder):
    words = decoder.words
    twice = next(word for word in words if words.count(word) > 1)
    with pytest.raises(ArgumentError) as error:
        decoder.find(twice, words[0])
    text = f"the word must occur once, got {twice!r}, which occurs {words.count(twice)} times, "
    assert str(error.value).startswith(text)
    assert decoder.find(f"{twice}#1", 0)


def test_capitals_tell_words_apart():
    words = ("City", "is", "a", "city")
    text = TokenizedText(words, words, words, (0, 1, 2, 3))
    assert [only_position(text, word) for word in ("City", "city", "IS")] == [0, 3, 1]
    with pytest.raises(ArgumentError, match="the word must occur once, got 'CITY', which"):
        only_position(text, "CITY")


def test_find_from_the_best_keys_or_not_at_all():
    model, ids = FAMILY["llama"].made(), batch("not")["input_ids"][:1]
    with torch.no_grad():
        with regard.watch(model, tokenizer=CharacterTokenizer(), map=4, top=11) as every:
            model(ids)
        with regard.watch(model, tokenizer=CharacterTokenizer(), map=4, top=1) as few:
            model(ids)
        with regard.watch(model, tokenizer=CharacterTokenizer()) as complete:
            model(ids)
    actual = {(x.layer, x.head): x.weight for x in every.find(4, 1)}
    for link in complete.find(4, 1):
        assert actual[link.layer, link.head] == pytest.approx(link.weight, rel=1e-4)
    with pytest.raises(NotAskedError) as error:
        few.find(4, 1)
    assert str(error.value) == (
        "decoder layer 0: the weight is not among the 1 best keys of every head, and the map's "
        "blocks hold more than one token. Watch with map=11 (every weight), or with keep='all'."
    )


def test_generated_tokens_have_names(translator):
    model = FAMILY["gpt2"].made()
    prompt = batch("not", 1, 6)
    options = {"max_new_tokens": 3, "min_new_tokens": 3, "do_sample": False}
    with torch.no_grad(), regard.watch(model, tokenizer=CharacterTokenizer()) as seen:
        written = model.generate(**prompt, **options)
    expected = tokenized_ids(
        CharacterTokenizer(), written[0, :-1].tolist(), 8
    )  # the last was never read
    assert seen.tokens == expected.tokens
    assert seen[0].query_text.tokens == expected.tokens


def test_a_file_holds_it_all(decoder, translator, tmp_path):
    for name, seen in (("one", decoder), ("three", translator)):
        path = tmp_path / f"{name}.regard"
        seen.save(path)
        again = regard.load(path)
        assert isinstance(again, regard.Seen)
        assert again.names == seen.names
        for sentence in range(seen.sentences):
            one, two = seen.sentence(sentence), again.sentence(sentence)
            assert one.texts() == two.texts() or one.tokens == two.tokens
            assert one.report() == two.report()
            for layer_key in seen.names:
                for fact, array in one[layer_key].facts.items():
                    np.testing.assert_array_equal(two[layer_key].facts[fact], array)
                np.testing.assert_array_equal(
                    two[layer_key].profile.weight, one[layer_key].profile.weight
                )
    again = regard.load(tmp_path / "one.regard")
    rows, columns = slice(2, 5), slice(0, 4)
    np.testing.assert_array_equal(again[1].tile(rows, columns), decoder[1].tile(rows, columns))
    assert str(again).split("\n\n")[1:] == str(decoder).split("\n\n")[1:]
    with pytest.raises(ArgumentError) as error:
        again.run(0)
    assert str(error.value) == "a file holds one text: run is for a block that saw several."


def test_the_older_kind_of_file_is_an_observation(tmp_path):
    x = np.eye(3)
    regard.observe(x, x, x).save(tmp_path / "x.regard")
    assert type(regard.load(tmp_path / "x.regard")) is regard.Observation
    (tmp_path / "cut.regard").write_bytes(b"\x10\0\0")
    with pytest.raises(FileError, match=r"is not a complete \.regard file"):
        regard.load(tmp_path / "cut.regard")
    with pytest.raises(FileError, match="No such file"):
        regard.load(tmp_path / "none.regard")
    with pytest.raises(FileError) as error:
        regard.load(tmp_path)
    assert str(error.value) == (
        f"{tmp_path} is a folder, and load needs a .regard file: name one of the files in it."
    )


@pytest.mark.parametrize("name", ["run.regard", "run.html"])
def test_a_missing_folder_is_refused_when_saving(decoder, tmp_path, name):
    path = tmp_path / "missing" / name
    with pytest.raises(FileError) as error:
        decoder.save(path)
    assert str(error.value) == (
        f"{path} cannot be written: its folder does not exist. Make the folder, or choose another "
        "path."
    )


def test_a_failed_save_leaves_the_old_file(decoder, tmp_path, monkeypatch):
    path = tmp_path / "run.regard"
    path.write_bytes(b"old")

    class FullDisk(io.FileIO):
        def write(self, content):
            super().write(content[:10])
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", lambda draft, mode: FullDisk(draft, mode))
    with pytest.raises(FileError) as error:
        decoder.save(path)
    assert str(error.value) == (
        f"{path} cannot be written: No space left on device. Choose another path."
    )
    assert [(x.name, x.read_bytes()) for x in tmp_path.iterdir()] == [("run.regard", b"old")]


def test_the_report_in_every_form(decoder, tmp_path):
    report = decoder.report()
    heads = [(layer, head) for layer in range(2) for head in range(4)]
    assert [(row.layer, row.head) for row in report.rows] == heads
    row = report.rows[5]
    layer = decoder[1]
    assert row.measured["entropy"] == pytest.approx(float(layer.entropy[1].mean()), rel=1e-5)
    assert row.measured["previous"] == pytest.approx(float(layer.profile.previous[1]), rel=1e-5)
    assert row.baseline["first"] == pytest.approx(np.mean([1 / n for n in range(1, 12)]))
    assert sum(share for _, _, share in row.distance) == pytest.approx(1, rel=1e-5)
    assert row.rests_on.share == pytest.approx(float(layer.received[1].max() / 11), rel=1e-5)
    down = [x.measured["first"] for x in report.sorted("first").rows]
    assert down == sorted(down, reverse=True)
    plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert plain["heads"][5]["entropy"] == row.measured["entropy"]
    table = list(csv.DictReader(io.StringIO(report.to_csv(tmp_path / "heads.csv"))))
    assert float(table[5]["previous"]) == row.measured["previous"]
    assert (tmp_path / "heads.csv").read_text(encoding="utf-8").count("\n") == 9
    assert set(MEASURES) <= set(table[0])
    assert max(len(line) for line in str(report).splitlines()) <= 80


def test_a_long_report_begins_with_the_most_telling_heads(decoder):
    report = decoder.report()
    first = report.sorted("telling").rows[0]
    assert (first.layer, first.head) != (0, 0)
    lines = report_text(report, most=2).splitlines()
    assert lines[1].startswith(f"decoder {first.layer}.{first.head} ")
    assert any(x.startswith("... 6 more heads, by telling, the largest first;") for x in lines)
    lines = report_text(report.sorted("layer"), most=2).splitlines()
    assert lines[1].startswith("decoder 0.0 ")
    assert any(x.startswith("... 6 more heads, by layer;") for x in lines)


def test_the_summary_fits_eighty_columns(decoder, translator):
    assert max(len(line) for line in str(decoder).splitlines()) <= 80
    assert "Choose one first" in str(translator)
    text = str(translator.sentence(2))
    assert "cross: 4 queries on 7 keys" in text
    assert max(len(line) for line in text.splitlines()) <= 80


@pytest.mark.parametrize("steps", [3, 40])
def test_a_growing_map_stays_exact(steps):
    """A prompt of 10 in blocks of 2, then token by token; larger blocks are those of the whole."""
    random = np.random.default_rng(0)
    keys = 10 + steps
    weights = np.tril(random.random((2, keys, keys)))
    weights /= weights.sum(axis=-1, keepdims=True)
    first = weights[:, :10, :10].reshape(2, 5, 2, 5, 2).sum(axis=4).mean(axis=2)
    grown = GrowingMap.from_first_call(first, np.ones((2, 10), bool), (0, 0), 10, most=8)
    for token in range(10, keys):
        row = weights[:, token : token + 1, : token + 1]
        grown.add(row, np.ones((2, 1), bool), 0)
    rows, columns = grown.row_edges, grown.column_edges
    assert (rows[-1], columns[-1]) == (keys, keys)
    assert grown.map_hrc.shape == (2, len(rows) - 1, len(columns) - 1)
    assert max(grown.map_hrc.shape) <= 16
    assert set(blocks(keys, 8)) <= set(rows) & set(columns)
    assert len(set(np.diff(columns)[:-1])) == 1
    for r in range(len(rows) - 1):
        for c in range(len(columns) - 1):
            block = weights[:, rows[r] : rows[r + 1], columns[c] : columns[c + 1]]
            expected = block.sum(axis=2).mean(axis=1)
            np.testing.assert_allclose(grown.map_hrc[:, r, c], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("pieces", "starts"),
    [
        (["hung", "##ry", "."], [1, 0, 1]),
        (["ĠA", "Ġdog", "gy", ".", "ĠIt"], [1, 1, 0, 1, 1]),
        (["▁Un", "▁ch", "ien", "▁!"], [1, 1, 0, 1]),
        (["Hello", "Ġworld", "ĊĊ", "x"], [1, 1, 1, 1]),
        (["Ġare", ".Ċ", "You", "Ġ", "x"], [1, 1, 1, 1, 0]),
        (["▁a", "<0x0A>", "You"], [1, 1, 1]),
    ],
)
def test_where_words_begin(pieces, starts):
    assert word_starts(pieces, [False] * len(pieces)) == [bool(x) for x in starts]


def test_without_a_tokenizer_tokens_are_numbers():
    side = tokenized_ids(None, [5, 6, 7], 3)
    assert side.tokens == side.words == ("0", "1", "2")


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_rollout_is_the_product_of_eager_weights(name):
    model, ids = FAMILY[name].made(), batch("not")["input_ids"][:1]
    attentions = eager(model, lambda: model(ids, output_attentions=True)).attentions
    seen = seen_by(model, ids)
    expected_qk = np.eye(ids.shape[1])
    for weights_bhqk in attentions:
        expected_qk = (
            weights_bhqk[0].double().mean(dim=0).numpy() / 2 + np.eye(11) / 2
        ) @ expected_qk
    rollout = seen.rollout()
    np.testing.assert_allclose(rollout.tokens_qk, expected_qk, atol=1e-5)
    np.testing.assert_allclose(rollout.tokens_qk.sum(axis=1), 1, atol=1e-6)
    assert str(rollout).startswith("rollout")
    kept = regard.watch(model, map=4, keep="all")
    with torch.no_grad(), kept as few:
        model(ids)
    np.testing.assert_allclose(few.rollout().tokens_qk, expected_qk, atol=1e-5)


def test_rollout_and_flow_of_one_part(translator):
    one = translator.sentence(0)
    rollout = one.rollout(part="encoder")
    assert rollout.keys == one.texts("encoder")[1]
    np.testing.assert_allclose(rollout.weights_qk.sum(axis=1), 1, atol=1e-6)
    flow = one.flow(2, part="encoder")
    rows = np.equal(one.texts("encoder")[1].word_of_token, 2)
    assert flow.shape == (len(rows),)
    assert (flow >= rollout.tokens_qk[rows].mean(axis=0) - 1e-6).all()


def test_flow_follows_one_layer():
    """Through one layer the flow to a token is half its mean weight, and half more to itself."""
    model, ids = FAMILY["llama"].made(), batch("not")["input_ids"][:1]
    seen = seen_by(model, ids, layers=[0])
    expected_k = seen[0].map.mean(axis=0)[7] / 2
    expected_k[7] += 0.5
    np.testing.assert_allclose(seen.flow(7), expected_k, atol=1e-6)


def test_what_has_no_rollout(decoder, translator, monkeypatch):
    model, ids = FAMILY["llama"].made(), batch("not")["input_ids"][:1]
    few = seen_by(model, ids, map=4)
    last = seen_by(model, ids, layers=[1])
    one = translator.sentence(0)
    cases = {
        "this model has encoder, decoder, cross, so say which: seen.rollout(part='encoder').":
            one.rollout,
        "rollout needs layers whose queries and keys are the same tokens, and those of 'cross' are "
        "not.": lambda: one.rollout(part="cross"),
        "rollout needs every layer from 0 on, and those that were watched are 1: watch with "
        "layers='all'.": last.rollout,
        "flow needs the weights of decoder layer 0, and its map's blocks hold more than one token: "
        "watch with map=11 (every weight), or with keep='all'.": lambda: few.flow(2),
        "rollout takes texts of at most 10 tokens, got 11.": decoder.rollout,
    }  # fmt: skip
    monkeypatch.setattr("regard.watcher.measures.through_layers.MAX_ROLLOUT_TOKENS", 10)
    for words, ask in cases.items():
        with pytest.raises((ArgumentError, NotAskedError)) as error:
            ask()
        assert str(error.value) == words
