"""A Hugging Face folder is surveyed like the shipped model, by the same definitions."""

import json

import numpy as np
import pytest

from regard.corpus import models as watched
from regard.corpus.models import ModelSpec, WatchedObserver
from regard.corpus.windows import MEASURE_NAMES
from regard.errors import ArgumentError, BackendError, FileError

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
transformers = pytest.importorskip("transformers", reason="needs transformers")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "the", "a", "dog", "cat", "saw", "and"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A tiny random BERT with a vocabulary of its own, as save_pretrained writes it."""
    folder = tmp_path_factory.mktemp("bert")
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=32)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
             "intermediate_size": 48, "max_position_embeddings": 32}  # fmt: skip
    config = transformers.BertConfig(vocab_size=len(WORDS), initializer_range=0.3, **sizes)
    transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def observer(bert):
    return ModelSpec(str(bert)).observer()


def test_windows_have_special_tokens_around(observer):
    assert observer.window == 32
    windows = observer.windows("the dog saw the cat . " * 10)
    assert [len(window.tokens) for window in windows] == [32, 32]
    assert all((x.tokens[0], x.tokens[-1]) == (2, 3) for x in windows)
    assert observer.piece(8) == "dog"


def test_measures_are_those_of_the_eager_weights(observer):
    windows = observer.windows("the dog saw the cat and the dog .")
    facts = observer.observe(windows)
    with torch.no_grad():
        observer.model.set_attn_implementation("eager")
        ids = torch.tensor([windows[0].tokens])
        layers = observer.model(ids, output_attentions=True).attentions
        observer.model.set_attn_implementation("sdpa")
    weights_hqk = torch.cat([layer[0] for layer in layers]).double().numpy()
    length = len(windows[0].tokens)
    true = {
        "entropy": -(weights_hqk * np.log(weights_hqk)).sum(axis=(1, 2)),
        "first": weights_hqk[:, :, 0].sum(axis=1),
        "itself": np.trace(weights_hqk, axis1=1, axis2=2),
        "previous": np.trace(weights_hqk, -1, axis1=1, axis2=2),
        "next": np.trace(weights_hqk, 1, axis1=1, axis2=2),
    }
    # float32 in the model on both sides: 11 queries, a few ulp each.
    for name, sums_h in true.items():
        np.testing.assert_allclose(facts.sums_mwh[MEASURE_NAMES.index(name), 0], sums_h, atol=2e-5)
    np.testing.assert_allclose(facts.distance_whb[0].sum(axis=-1), length, rtol=1e-6)
    rest_hqk = weights_hqk[:, :, 1:]
    rest_hqk = rest_hqk - rest_hqk.mean(axis=2, keepdims=True)  # all tokens see all
    size_h = np.sqrt((rest_hqk**2).sum(axis=(1, 2)))
    cosine_hh = np.einsum("aqk,bqk->ab", rest_hqk, rest_hqk) / np.outer(size_h, size_h)
    np.testing.assert_allclose(facts.cosine_hh, cosine_hh, atol=1e-5)


@pytest.fixture(scope="module")
def gpt(bert, observer):
    """A causal model with the same words; half of its layers see eight tokens back."""
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 48, "sliding_window": 8,
             "max_position_embeddings": 32}  # fmt: skip
    torch.manual_seed(1)
    config = transformers.Gemma2Config(vocab_size=len(WORDS), initializer_range=0.3, **sizes)
    model = transformers.Gemma2Model(config).eval()
    return WatchedObserver(model, observer.tokenizer, None, "cpu")


@pytest.fixture(scope="module")
def albert_folder(bert, tmp_path_factory):
    """Layers that share their parameters: one module in two groups runs four times."""
    folder = tmp_path_factory.mktemp("albert")
    transformers.AutoTokenizer.from_pretrained(bert).save_pretrained(folder)
    sizes = {"embedding_size": 16, "hidden_size": 32, "num_hidden_layers": 4,
             "num_hidden_groups": 2, "num_attention_heads": 4, "intermediate_size": 48,
             "max_position_embeddings": 32}  # fmt: skip
    torch.manual_seed(2)
    config = transformers.AlbertConfig(vocab_size=len(WORDS), initializer_range=0.3, **sizes)
    transformers.AlbertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def albert(albert_folder):
    return ModelSpec(str(albert_folder)).observer()


def test_calls_of_a_shared_module_are_layers(albert_folder, albert, surveyed, tmp_path):
    assert albert.heads_of_layers == [4, 4, 4, 4]
    path = tmp_path / "corpus.txt"
    path.write_text("the dog saw the cat .\na cat and a dog .\n")
    report = surveyed(corpus=path, model=albert_folder).report
    every = [(layer, head) for layer in range(4) for head in range(4)]
    assert [(row["layer"], row["head"]) for row in report["heads"]] == every


def test_weights_of_other_layers_than_were_watched(observer, monkeypatch):
    """A model that gives out the weights of some layers only would shift all the others."""
    run = WatchedObserver._forward

    def less(self, tokens, **options):
        output = run(self, tokens, **options)
        output.attentions = output.attentions[:1] if options else None
        return output

    monkeypatch.setattr(WatchedObserver, "_forward", less)
    with pytest.raises(BackendError) as error:
        observer.observe(observer.windows("the dog"))
    assert str(error.value) == (
        f"{observer.about} returns weights of layers with 4 heads, but watch sees layers with "
        "4, 4 heads: they cannot be matched, so this model cannot be surveyed."
    )


@pytest.mark.parametrize("kind", ["observer", "gpt", "albert"])
def test_both_ways_say_the_same(kind, request, monkeypatch):
    """From the model's own weights, and by watch, which holds none of them."""
    model = request.getfixturevalue(kind)
    texts = ["the dog saw the cat and the dog .", "a cat", "the cat saw the dog .", "dog " * 25]
    windows = [window for text in texts for window in model.windows(text)]
    short = model.observe(windows)
    monkeypatch.setattr(watched, "MAX_EAGER_TOKENS", 0)
    long = model.observe(windows)
    # float32 in the model on both sides, at most 32 queries, scores of a few units: 1e-4.
    for name in ("sums_mwh", "uniform_mwh", "queries_mwh", "distance_whb", "most_whn",
                 "by_position_2hp", "positions_p", "cosine_hh"):  # fmt: skip
        np.testing.assert_allclose(getattr(short, name), getattr(long, name), atol=1e-4)


def test_rows_that_do_not_sum_to_one(observer, monkeypatch):
    monkeypatch.setattr(watched, "MAX_ROW_SUM_ERROR", -1.0)
    with pytest.raises(
        BackendError, match=r"BertModel .* returns weights whose rows sum to 1 only"
    ):
        observer.observe(observer.windows("the dog"))
    assert observer.model.config._attn_implementation == "sdpa"


def test_a_survey_from_start_to_end(bert, surveyed, tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("the dog saw the cat .\n\u200b\n" + "a cat and a dog . " * 20 + "\nthe cat\n")
    found = surveyed(corpus=path, model=bert)
    told = found.report
    assert (told["corpus"]["documents"], told["corpus"]["failed"], told["corpus"]["cut"]) == (
        3,
        1,
        1,
    )
    assert told["model"]["layers and heads count"] == "from 0"
    assert [(x["layer"], x["head"]) for x in told["heads"][:5]] == [
        (0, 0),
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 0),
    ]
    assert "8 heads over 3 documents" in str(found)


def test_a_window_that_the_model_cannot_take(bert):
    with pytest.raises(ArgumentError, match="window must be 8 to 32, "):
        ModelSpec(str(bert), window=64).observer()


def test_code_of_the_folder_never_runs(bert, tmp_path, monkeypatch):
    """A configuration that names a module of its own; nobody is asked, and nothing runs."""
    for path in bert.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"model_type": "strange", "auto_map": {
        "AutoConfig": "strange.StrangeConfig", "AutoModel": "strange.StrangeModel"}}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    marker = tmp_path / "ran"
    (tmp_path / "strange.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(FileError) as error:
        ModelSpec(str(tmp_path)).observer()
    assert str(error.value) == (
        f"model must be a folder with a model and its tokenizer: {tmp_path} cannot be loaded as "
        "a model: it needs Python code of its own, which regard does not run."
    )
    assert not marker.exists()


def test_a_model_that_does_not_read_text(bert, observer):
    """The model of a speech recogniser, which reads spectra, beside some tokenizer."""
    sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16,
             "decoder_ffn_dim": 16, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
             "num_mel_bins": 8, "max_source_positions": 20, "max_target_positions": 20,
             "vocab_size": 20, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3,
             "decoder_start_token_id": 2}  # fmt: skip
    model = transformers.WhisperModel(transformers.WhisperConfig(**sizes)).eval()
    with pytest.raises(BackendError) as error:
        WatchedObserver(model, observer.tokenizer, None, "cpu")
    assert str(error.value).startswith(
        "a survey needs a model that reads text, but WhisperModel fails on tokens: "
    )
    assert str(error.value).endswith(". Give --model the folder of a text model.")


def test_a_folder_without_parameters(bert, tmp_path):
    (tmp_path / "config.json").write_bytes((bert / "config.json").read_bytes())
    with pytest.raises(FileError, match=r"model must be a folder with a model and its tokenizer: "):
        ModelSpec(str(tmp_path)).observer()
