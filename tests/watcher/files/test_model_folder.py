"""Folders of models: what is loaded, what is refused, and headers of .gguf files."""

import json
import pickle
import struct
from importlib.util import find_spec

import pytest
import tokenizers
import torch
import transformers as hf
from tests.helpers.model_families import FAMILIES
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import PreTrainedTokenizerFast

from regard.corpus.manifest import model_fingerprint
from regard.errors import FileError
from regard.watcher.files.model_folder import (
    asks_for_beginning,
    load_folder,
    read_header,
    with_beginning,
)

FAMILY = {family.name: family for family in FAMILIES}
CODE = "it needs Python code of its own, which regard does not run."
SAFE = "Save the model again with model.save_pretrained, which writes safetensors."


class Marker:
    """A pickled object that makes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.fixture
def folder(tmp_path):
    """A tiny BERT with a tokenizer, as save_pretrained writes them."""
    path = tmp_path / "model"
    FAMILY["bert"].made().save_pretrained(path)
    words = tokenizers.models.WordLevel({"a": 0, "dog": 1}, "a")
    tokenizer = tokenizers.Tokenizer(words)
    hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(path)
    return path


def refusal(folder):
    with pytest.raises(FileError) as error:
        load_folder(folder)
    return str(error.value)


def change(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_folder_with_safetensors_is_loaded(folder):
    loaded = load_folder(folder)
    assert (type(loaded.model), loaded.writes, loaded.two_sided) == (hf.BertModel, False, False)


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_code_of_the_folder_is_refused(folder, monkeypatch, name):
    """Even where transformers has a class of this name, and would read the folder without it."""
    change(folder / name, auto_map={"AutoModel": "strange.Strange", "AutoTokenizer": "strange.T"})
    (folder / "strange.py").write_text(f"open({str(folder / 'ran')!r}, 'w').close()\n")
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    assert refusal(folder) == f"{folder} cannot be loaded as a model: {CODE}"
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("name", ["pytorch_model.bin", "weights.pt", "model.pth"])
def test_pickled_weights_are_refused(folder, name):
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(pickle.dumps(Marker(folder / "ran")))
    assert refusal(folder) == (
        f"{folder} must hold its weights as safetensors, and it has {name}, a pickle that can run "
        f"code when it is read. {SAFE}"
    )
    assert not (folder / "ran").exists()


def test_a_pickle_beside_safetensors_is_not_read(folder):
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Marker(folder / "ran")))
    assert isinstance(load_folder(folder).model, torch.nn.Module)
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("named_by", ["index", "config"])
def test_a_pickle_under_the_name_of_safetensors(folder, named_by):
    """A list of shards and the configuration can name any file."""
    (folder / "x.bin").write_bytes(pickle.dumps(Marker(folder / "ran")))
    if named_by == "index":
        (folder / "model.safetensors").unlink()
        index = folder / "model.safetensors.index.json"
        index.write_text(json.dumps({"metadata": {}, "weight_map": {"a": "x.bin"}}))
    else:
        change(folder / "config.json", transformers_weights="x.bin")
    assert refusal(folder) == (
        f"{folder} must hold its weights as safetensors, and it has x.bin, a pickle that can run "
        f"code when it is read. {SAFE}"
    )
    assert not (folder / "ran").exists()


def test_shards_of_safetensors_are_loaded(folder):
    load_folder(folder).model.save_pretrained(folder, max_shard_size="10KB")
    (folder / "model.safetensors").unlink(missing_ok=True)
    assert (folder / "model.safetensors.index.json").is_file()
    assert isinstance(load_folder(folder).model, hf.BertModel)


def test_no_weights(folder):
    (folder / "model.safetensors").unlink()
    assert (
        refusal(folder) == f"{folder} must hold its weights as safetensors, and it has none. {SAFE}"
    )


@pytest.mark.parametrize("length", [4, 200, -1])
def test_weights_cut_short(folder, length):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:length])
    message = refusal(folder)
    assert message.startswith(
        f"{folder} cannot be loaded as a model: a file of its weights is cut short or damaged ("
    )
    assert message.endswith("). Copy or fetch the folder again.")


def test_a_configuration_that_is_no_json(folder):
    (folder / "config.json").write_text('{"model_type": "be')
    assert refusal(folder) == (
        f"{folder / 'config.json'} must be a JSON file of a model, and it cannot be read: "
        "Unterminated string starting at: line 1 column 16 (char 15)."
    )
    (folder / "config.json").write_text("[]")
    assert refusal(folder) == (f"{folder / 'config.json'} must be a JSON object, got list.")


def test_a_file_is_no_folder(tmp_path):
    path = tmp_path / "model.txt"
    path.write_text("")
    assert refusal(path) == (
        "a model must be a folder on this machine or a name in the local Hugging Face cache, and "
        f"{path} is a file. Save one first, for instance with model.save_pretrained; regard "
        "downloads nothing."
    )


PIECES = ["<unk>", "<s>", "</s>", "▁", *(f"▁{x}" for x in "abcd"), *"abcd"]


def packed(value):
    """A field's value with the number of its kind."""
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    items = [packed(x) for x in value]
    kind, size = items[0][:4], struct.pack("<Q", len(items))
    return struct.pack("<I", 9) + kind + size + b"".join(item[4:] for item in items)


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def header(path, **fields):
    fields = {f"tokenizer.ggml.{name}": value for name, value in fields.items()}
    begin = b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields))
    path.write_bytes(begin + b"".join(text(x) + packed(value) for x, value in fields.items()))
    return path


def test_fields_of_one_value_are_read(tmp_path):
    path = header(tmp_path / "a.gguf", tokens=["é", "b"], scores=[0.0, 1.0], model="gpt2",
                  bos_token_id=1, add_bos_token=True)  # fmt: skip
    assert read_header(path) == {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.add_bos_token": True,
    }


@pytest.mark.parametrize(
    ("fields", "begins"),
    [
        ({"model": "gpt2", "add_bos_token": True}, True),
        ({"model": "llama", "add_bos_token": False}, False),
        ({"model": "llama"}, True),
        ({"model": "gpt2", "pre": "llama-bpe"}, True),
        ({"model": "gpt2", "pre": "qwen2"}, False),
    ],
    ids=str,
)
def test_whether_a_text_begins_with_a_token(tmp_path, fields, begins):
    assert asks_for_beginning(header(tmp_path / "a.gguf", **fields)) is begins


def test_what_is_no_header(tmp_path):
    path = header(tmp_path / "a.gguf", model="llama")
    path.write_bytes(path.read_bytes()[:-3])
    (tmp_path / "b.gguf").write_bytes(b"else")
    for name, words in (
        ("a", "must have the header of a .gguf file, and it is cut short or damaged."),
        ("b", "must be a .gguf file, and it does not begin as one."),
    ):
        with pytest.raises(FileError) as error:
            asks_for_beginning(tmp_path / f"{name}.gguf")
        assert str(error.value) == f"{tmp_path / name}.gguf {words}"


@pytest.mark.parametrize(
    "value",
    [
        struct.pack("<IIQ", 9, 9, 1) + struct.pack("<IQ", 9, 1) * 5000 + struct.pack("<IQ", 0, 0),
        struct.pack("<IQ", 8, 2**60) + b"a",
        struct.pack("<IIQ", 9, 0, 2**60),
        struct.pack("<IIQ", 9, 8, 2**60),
    ],
    ids=["nested arrays", "a long string", "a long array", "many strings"],
)
def test_a_hostile_header(tmp_path, value):
    path, name = tmp_path / "a.gguf", b"x"
    counts = struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", len(name)) + name
    path.write_bytes(b"GGUF" + counts + value)
    with pytest.raises(FileError) as error:
        read_header(path)
    assert str(error.value) == (
        f"{path} must have the header of a .gguf file, and it is cut short or damaged."
    )


@pytest.mark.parametrize("value", [None, -1, 0, 3, "many", [], {}, 1.5, True, 10**30])
@pytest.mark.parametrize(
    "name", ["hidden_size", "num_attention_heads", "hidden_act", "model_type", "dtype", "id2label"]
)
def test_a_config_that_transformers_refuses_is_one_sentence(folder, name, value):
    change(folder / "config.json", **{name: value})
    message = f"{folder} cannot be loaded as a model: "
    try:
        load_folder(folder)
    except FileError as error:
        message = str(error)
    assert message.startswith(f"{folder} cannot be loaded as a model: ")
    assert "\n" not in message


def test_more_layers_than_any_model_has(folder):
    change(folder / "config.json", num_hidden_layers=10**9)
    assert refusal(folder) == (
        f"{folder} cannot be loaded as a model: its config.json has num_hidden_layers = "
        "1,000,000,000, more than the 10,000 layers that regard builds."
    )


def test_sizes_that_the_weights_do_not_have(folder):
    change(folder / "config.json", intermediate_size=10**4)
    assert refusal(folder) == (
        f"{folder} cannot be loaded as a model: its config.json and its weights differ in a size"
    )


def test_a_template_that_the_sandbox_refuses(folder):
    loaded = load_folder(folder)
    loaded.tokenizer.chat_template = "{{ ''.__class__.__mro__ }}"
    with pytest.raises(FileError) as error:
        loaded.in_chat("a dog")
    assert str(error.value).startswith("the model's chat template cannot be used: ")


def test_a_tokenizer_begins_once():
    backend = Tokenizer(WordLevel({"<unk>": 0, "<s>": 1, "a": 2}, "<unk>"))
    backend.pre_tokenizer = Whitespace()
    special = {"bos_token": "<s>", "unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **special)
    assert tokenizer("a a")["input_ids"] == [2, 2]
    for _ in range(2):
        assert with_beginning(tokenizer)("a a")["input_ids"] == [1, 2, 2]


def test_the_digest_of_a_model_in_one_file(tmp_path):
    path = header(tmp_path / "a.gguf", model="llama")
    before = model_fingerprint(path)
    assert model_fingerprint(path) == before
    assert model_fingerprint(header(path, model="gpt2")) != before


@pytest.mark.skipif(
    not (find_spec("gguf") and find_spec("accelerate")),
    reason="transformers reads .gguf files with gguf and accelerate, which are not installed",
)
def test_a_file_is_read_with_its_beginning(tmp_path):
    import gguf

    file = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    for name, value in (("tokenizer_model", "llama"), ("token_list", PIECES),
                        ("token_scores", [-float(x) for x in range(len(PIECES))]),
                        ("token_types", [2, 3, 3] + [1] * (len(PIECES) - 3)),
                        ("bos_token_id", 1), ("eos_token_id", 2), ("add_bos_token", True),
                        ("context_length", 64), ("embedding_length", 32), ("block_count", 1),
                        ("feed_forward_length", 64), ("head_count", 4), ("head_count_kv", 4),
                        ("layer_norm_rms_eps", 1e-5), ("rope_dimension_count", 8),
                        ("vocab_size", len(PIECES))):  # fmt: skip
        getattr(file, f"add_{name}")(value)
    shapes = {"token_embd": (len(PIECES), 32), "output": (len(PIECES), 32), "output_norm": (32,)}
    shapes |= {f"blk.0.{name}": (32, 32) for name in ("attn_q", "attn_k", "attn_v", "attn_output")}
    shapes |= {"blk.0.ffn_gate": (64, 32), "blk.0.ffn_up": (64, 32), "blk.0.ffn_down": (32, 64),
               "blk.0.attn_norm": (32,), "blk.0.ffn_norm": (32,)}  # fmt: skip
    for name, shape in shapes.items():
        file.add_tensor(f"{name}.weight", torch.ones(shape).numpy())
    for write in ("header_to_file", "kv_data_to_file", "tensors_to_file"):
        getattr(file, f"write_{write}")()
    file.close()
    loaded = load_folder(tmp_path / "a.gguf")
    assert loaded.tokenizer("a b")["input_ids"][0] == 1
