"""regard watch: a folder on this machine, a text, and what came of it; errors in one line."""

import importlib.util
import json
import shutil

import numpy as np
import pytest
import tokenizers
import transformers as hf
from tests.helpers.model_families import FAMILIES
from tests.watcher.test_other_layers import mamba2, qwen3_next

import regard
from regard.cli import main

FAMILY = {family.name: family for family in FAMILIES}
WORDS = ["<pad>", "<s>", "</s>", "a", "dog", "ate", "the", "food", "because", "it", "was", "hungry"]
SPECIAL = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A decoder, an encoder and a translator with one tokenizer of whole words."""
    folder = tmp_path_factory.mktemp("models")
    model = tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, "a")
    plain = tokenizers.Tokenizer(model)
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = hf.PreTrainedTokenizerFast(
        tokenizer_object=plain,
        **SPECIAL,
    )
    for name in ("llama", "bert", "bart"):
        FAMILY[name].made().save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    (folder / "empty").mkdir()
    FAMILY["bert"].made().save_pretrained(folder / "bare")
    return folder


def run(capsys, *arguments):
    """Status, output and errors of a command."""
    status = 0
    try:
        main(["watch", *map(str, arguments)])
    except SystemExit as end:
        status = end.code or 0
    captured = capsys.readouterr()
    return status, captured.out, captured.err


TEXT = "a dog ate the food because it was hungry"


def test_layers_without_a_softmax_stand_beside_the_others(folders, capsys, tmp_path):
    for make in (qwen3_next, mamba2):
        make().save_pretrained(folders / make.__name__)
        shutil.copy(folders / "llama" / "tokenizer.json", folders / make.__name__)
        shutil.copy(folders / "llama" / "tokenizer_config.json", folders / make.__name__)
    capsys.readouterr()  # transformers' progress bars
    status, out, err = run(capsys, folders / "qwen3_next", TEXT, "--heads", 1)
    assert (status, err) == (0, "")
    assert "decoder: 9 queries on 9 keys" in out
    assert "model.layers.0.linear_attn  2 heads  tokens through a convolution" in out
    status, out, err = run(capsys, folders / "mamba2", TEXT, "--json")
    assert status == 0
    facts = json.loads(out)["mixers"]
    assert [x["path"] for x in facts] == ["backbone.layers.0.mixer", "backbone.layers.1.mixer"]
    assert max(x["error"] for x in facts) < 1e-5
    path = tmp_path / "run.regard"
    status, out, err = run(capsys, folders / "mamba2", TEXT, "--generate", 2, "--save", path)
    assert "backbone.layers.0.mixer  4 heads" in out
    assert (status, err) == (0, f"Saved as {path}.\n")
    stored = regard.load(path).mixers
    assert str(stored) in out
    heads, rows, tokens = stored.drawn(1).shape
    assert (heads, rows) == (4, tokens)
    assert tokens >= 9  # and those that it wrote and read


def test_an_encoder(folders, capsys):
    status, out, err = run(capsys, folders / "bert", TEXT, "--find", "it:dog", "--heads", 2)
    assert (status, err) == (0, "")
    assert "encoder: 9 queries on 9 keys: a dog ate the food because it was hungry" in out
    assert "it looks at dog: " in out
    assert "... 6 more heads" in out
    assert max(len(line) for line in out.splitlines()) <= 80


def test_a_decoder_writes_and_is_saved(folders, capsys, tmp_path):
    path, table = tmp_path / "run.regard", tmp_path / "heads.csv"
    status, out, err = run(capsys, folders / "llama", TEXT, "--generate", 3, "--save", path,
                           "--save", table, "--keep", "1", "--sort", "induction")  # fmt: skip
    assert (status, err) == (0, f"Saved as {path}.\nSaved as {table}.\n")
    assert "Written: " in out
    seen = regard.load(path)
    assert seen[1].tile(0, 0).shape == (4, 1, 1)
    assert seen.tokens[:9] == tuple(TEXT.split())
    assert table.read_text(encoding="utf-8").startswith("part,layer,head,entropy,")


def test_earlier_spellings_of_options(folders, capsys, tmp_path):
    table = tmp_path / "heads.csv"
    status, out, err = run(capsys, folders / "bert", TEXT, "--find", "it dog", "--csv", table)
    assert (status, err) == (0, f"Saved as {table}.\n")
    assert "it looks at dog: " in out


def test_a_translator_has_three_parts(folders, capsys):
    status, out, _ = run(capsys, folders / "bart", TEXT, "--generate", 4)
    assert status == 0
    assert [x for x in ("encoder: 9", "decoder: ", "cross: ") if x in out] == [
        "encoder: 9", "decoder: ", "cross: "
    ]  # fmt: skip


def test_json_is_strict(folders, capsys, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    status, out, _ = run(capsys, folders / "bert", f"@{tmp_path / 'text.txt'}", "--json")
    assert status == 0
    report = json.loads(out, parse_constant=lambda name: pytest.fail(name))
    assert len(report["heads"]) == 8
    assert report["heads"][0]["label"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere", TEXT], "a model must be a folder on this machine or a name in the local "
         "Hugging Face cache, and {}/nowhere does not exist. Save one first, for "
         "instance with model.save_pretrained; regard downloads "
         "nothing."),
        (["empty", TEXT], "{}/empty must have a config.json (or one .gguf file) to be a model, "
         "and it has neither."),
        (["bare", TEXT], "{}/bare must hold a tokenizer with the model, and it has none of "
         "tokenizer.json, tokenizer.model, vocab.txt, vocab.json, spiece.model, source.spm, "
         "tekken.json: save it there with tokenizer.save_pretrained."),
        (["bert", "@nothing.txt"],
         "No such file: nothing.txt"),
        (["bert", TEXT, "--generate", "3"],
         "--generate needs a model that generates text; BertModel only reads it."),
        (["bert", ""],
         "the text must have 1 to 64 tokens, as many as BertModel can read, got 0."),
        (["llama", "dog " * 60, "--generate", "9"],
         "the text must have 1 to 55 tokens, as many as LlamaForCausalLM can read and write, "
         "got 60."),
        (["bert", TEXT, "--layers", ""],
         "--layers must be all or numbers such as 0,4,5, got ''."),
        (["bert", TEXT, "--generate", "-5"],
         "--generate must be at least 0, got -5."),
        (["bert", TEXT, "--heads", "-1"], "--heads must be at least 0, got -1."),
        (["llama", TEXT, "--generate", "100000"],
         "--generate must be less than 64, the tokens that LlamaForCausalLM can read and write, "
         "got 100,000."),
        (["nowhere", TEXT, "--save", "{}/absent/x.regard"],
         "{}/absent/x.regard cannot be written: its folder does not exist. Make the folder, or "
         "choose another path."),
        (["nowhere", TEXT, "--csv", "{}/absent/x.csv"],
         "{}/absent/x.csv cannot be written: its folder does not exist. Make the folder, or "
         "choose another path."),
        (["nowhere", TEXT, "--save", "k.svg"],
         "--save must end in .regard, .html or .csv, got 'k.svg'."),
        (["nowhere", TEXT, "--csv", "k.txt"],
         "--save must end in .regard, .html or .csv, got 'k.txt'."),
        (["bert", TEXT, "--layers", "x"],
         "--layers must be all or numbers such as 0,4,5, got 'x'."),
        (["bert", TEXT, "--find", "it"],
         "--find must be two words such as it:dog, got 'it'."),
        (["bert", TEXT, "--top", "-3"], "top must be a whole number from 0 up, got -3."),
        (["bert", TEXT, "--sort", "size"], "by must be one of entropy, first, itself, "
         "previous, next, duplicate, induction, telling, layer, head or label, got 'size'."),
        (["bert", TEXT, "--layers", "0,7"],
         "layers must be layers of BertModel, which are 0, 1, got 7."),
    ],
)  # fmt: skip
def test_errors_in_one_line(folders, capsys, arguments, words):
    model, *options = arguments
    status, _, err = run(capsys, folders / model, *(option.format(folders) for option in options))
    assert (status, err) == (2, f"error: {words.replace('{}', str(folders))}\n")


@pytest.mark.filterwarnings("ignore:watch will hold about")
def test_more_keys_than_memory_holds_are_one_line(folders, capsys):
    status, _, err = run(capsys, folders / "bert", TEXT, "--top", 10**12)
    assert status == 2, err
    assert err.count("\n") == 1


def test_a_missing_extra(folders, capsys, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda x: None if x == "transformers" else find_spec(x)
    )
    status, _, err = run(capsys, folders / "bert", TEXT)
    assert status == 2
    assert err == (
        "error: watching a model needs transformers, not installed here: pip install "
        "'regard[models]'.\n"
    )


def test_a_run_with_changes_and_what_is_asked_beside_it(folders, capsys):
    changes = ["--ablate", "1.2", "--knock-out", "food", "--redirect", "it:dog:1.3"]
    asked = ["--effects", "dog:food", "--weighted", "norm", "--heads", 1]
    status, out, err = run(capsys, folders / "llama", TEXT, *changes, *asked)
    assert (status, err) == (0, "")
    for line in (
        "Changed: layer 1, head 2 writes nothing (zero).",
        "Sinks: tokens above their even",
    ):
        assert line in out
    assert "'dog' against 'food' after token 8: logit difference" in out
    assert "norm-weighted: each weight times the length" in " ".join(out.split())
    status, out, _ = run(capsys, folders / "llama", TEXT, *changes, *asked, "--json")
    values = json.loads(out)
    assert status == 0
    assert {"outcome", "effects", "norm_weighted", "sinks"} <= set(values)
    assert len(values["effects"]["heads"]) == 8


def test_a_head_of_one_part_of_a_translator(folders, capsys):
    status, out, err = run(capsys, folders / "bart", TEXT, "--ablate", "cross.1.2", "--generate", 3)
    assert (status, err) == (0, "")
    assert "Changed: cross layer 1, head 2 writes nothing (zero)." in out


def test_a_needle_and_links(folders, tmp_path, capsys):
    """The tokenizer of these folders lacks most words: what is unknown is one token."""
    status, out, err = run(capsys, folders / "llama", "--needle", "--heads", 2)
    assert (status, err) == (0, "")
    assert out.startswith("A needle at 0 %, 25 %, 50 %, 75 %, 100 % of ")
    assert "... 6 more heads" in out
    path = tmp_path / "links.tsv"
    path.write_text(f"# text = {TEXT}\nit\tdog\tcoreference\n", encoding="utf-8")
    for family in ("bert", "llama"):
        status, out, err = run(capsys, folders / family, "--links", path)
        assert (status, err) == (0, "")
        assert out.startswith("Links of 1 sentence in 8 heads.")
    status, out, _ = run(capsys, folders / "bert", "--links", path, "--json")
    assert [row["offset"] for row in json.loads(out)["rows"]] in ([-5, 5], [5, -5])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "watch needs a text in quotes, @file, or --image FILE."),
        ([TEXT, "--ablate", "7"],
         "--ablate must be a layer and a head, such as 3.6 or cross.3.6, got '7'."),
        ([TEXT, "--redirect", "it:dog"],
         "--redirect must be two words and a head, such as it:food:3.6, got 'it:dog'."),
        ([TEXT, "--to", "one"], "to must be 'zero' or 'mean', got 'one'."),
        ([TEXT, "--to", "mean"], "--to mean applies to ablated heads: add --ablate or --effects."),
        ([TEXT, "--weighted", "x"], "weighted must be None or 'norm', got 'x'."),
        (["--links", "no.tsv"],
         "no.tsv cannot be read as a file of links: No such file or directory."),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(folders, capsys, options, words):
    status, _, err = run(capsys, folders / "llama", *options)
    assert (status, err) == (2, f"error: {words}\n")


def compared(capsys, *arguments):
    """Status, output and errors of `regard compare`."""
    status = 0
    try:
        main(["compare", *map(str, arguments)])
    except SystemExit as end:
        status = end.code or 0
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_two_runs_are_compared(folders, tmp_path, capsys):
    other = "a dog ate the food because it was the food"
    for name, text in (("one", TEXT), ("other", other)):
        assert run(capsys, folders / "llama", text, "--save", tmp_path / f"{name}.regard")[0] == 0
    files = tmp_path / "one.regard", tmp_path / "other.regard"
    status, out, err = compared(capsys, *files, "--heads", 3)
    assert (status, err) == (0, "")
    assert out.startswith("decoder: 8 tokens aligned, of 9 and of 10.")
    assert "... 5 more heads" in out
    assert max(len(line) for line in out.splitlines()) <= 80
    assert len(json.loads(compared(capsys, *files, "--json")[1])["heads"]) == 8


def test_what_compare_cannot_read(tmp_path, capsys):
    x = np.eye(3)
    regard.observe(x, x, x).save(tmp_path / "plain.regard")
    status, out, err = compared(capsys, tmp_path / "plain.regard", tmp_path / "plain.regard")
    assert (status, out) == (2, "")
    assert err == (
        f"error: compare needs runs of watched models, got an observation: {tmp_path}/plain.regard."
        " Save a run with regard watch FOLDER TEXT --save x.regard.\n"
    )
    absent = tmp_path / "no.regard"
    assert compared(capsys, absent, absent) == (2, "", f"error: No such file: {absent}\n")


def test_a_name_of_the_hub_cache_a_chat_and_its_sources(folders, capsys, tmp_path, monkeypatch):
    snapshot = tmp_path / "hub" / "models--some--llama" / "snapshots" / ("0" * 40)
    shutil.copytree(folders / "llama", snapshot)
    refs = tmp_path / "hub" / "models--some--llama" / "refs"
    refs.mkdir()
    (refs / "main").write_text("0" * 40)
    (snapshot / "chat_template.jinja").write_text(
        "{% for m in messages %}was {{ m.content }}{% endfor %} it"
    )
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    options = "--chat", "--generate", 2, "--span", "eater=dog ate", "--sources", "--json"
    status, out, err = run(capsys, "some/llama", "a dog ate the food", *options)
    assert (status, err) == (0, "")
    sources = json.loads(out)["sources"]
    assert sources["spans"][0] == "eater"
    np.testing.assert_allclose(np.sum(sources["attention"], axis=1), 1, rtol=1e-5)
    _, out, _ = run(capsys, "some/llama", "a dog", "--chat")
    assert "4 queries on 4 keys: was a dog it" in out


def test_heads_that_do_something_come_first(folders, capsys):
    _, out, _ = run(capsys, folders / "llama", TEXT, "--json")
    heads = json.loads(out)["heads"]
    named = [x for x in json.loads(out)["measures"] if x not in ("entropy", "first", "itself")]
    best = max(heads, key=lambda head: max(head[x] - head[f"{x}_baseline"] for x in named))
    _, out, _ = run(capsys, folders / "llama", TEXT, "--heads", 1)
    assert f"\ndecoder {best['layer']}.{best['head']} " in out
