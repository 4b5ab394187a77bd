"""Folders of models: what is refused before anything of them is loaded, sentence by sentence."""

import json
import pickle

import pytest
import tokenizers
import torch
import transformers as hf
from tests.helpers.model_families import FAMILIES

from regard.errors import FileError
from regard.watcher.files.model_folder import load_folder

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
        f"a model must be a folder on this machine, and {path} is a file. Save one first, for "
        "instance with model.save_pretrained; regard downloads nothing."
    )
