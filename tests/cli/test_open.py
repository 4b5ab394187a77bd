"""regard open --model FOLDER: a model that stays loaded, told apart from other folders."""

import json
import re
import signal
import subprocess
import sys
import urllib.request

import pytest
from tests.helpers.command_line import command_here

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
pytest.importorskip("transformers", reason="needs it: pip install '.[models]'")

from tests.helpers.planted_model import planted_model, planted_tokenizer  # noqa: E402

from regard.cli.open import is_translator, open_explorer, sentence_or_files  # noqa: E402
from regard.errors import BackendError, FileError  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("models") / "planted"
    planted_model().save_pretrained(place)
    planted_tokenizer().save_pretrained(place)
    return place


def ask(address: str, path: str, fields: dict) -> dict:
    home, token = re.match(r"(http://[^/]+)/\?token=([^#]+)", address).groups()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(home + path, json.dumps(fields).encode(), headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=180) as answer:  # noqa: S310
        return json.load(answer)


def test_a_model_stays_loaded_and_ctrl_c_ends_it(folder):
    text = "the lighthouse number is seven . the lighthouse number is"
    command = [sys.executable, "-m", "regard", "open", "--no-browser", "--model", str(folder), text]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        try:
            line = run.stdout.readline()
            address = re.search(r"http://\S+", line)[0]
            assert address.endswith("#map")
            answer = ask(address, "/api/model/read", {"generate": 1})
            assert max(answer["next"], key=lambda one: one["after"])["token"] == "seven"  # noqa: S105
        finally:
            run.send_signal(signal.SIGINT)
        _, told = run.communicate(timeout=180)
    assert run.returncode == 0
    assert told.strip() == "Stopped."


def test_a_folder_without_a_model_is_a_sentence_before_anything_is_served(tmp_path):
    for command, sentence in {
        ("--model", str(tmp_path)): f"{tmp_path} must have a config.json (or one .gguf file) to be",
        ("--model", str(tmp_path / "none")): "a model must be a folder on this machine or a name",
    }.items():
        done = command_here("open", "--no-browser", *command)
        assert done.returncode == 2
        assert sentence in " ".join(done.stderr.split())


def test_without_pytorch_the_package_to_install_is_named(folder, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BackendError) as raised:
        open_explorer([], browser=False, model=folder)
    assert str(raised.value) == (
        "watching a model needs torch and transformers, not installed here: "
        "pip install 'regard[models]'."
    )


def test_code_of_a_folder_is_not_run(folder, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"auto_map": {"AutoModel": "evil.Model"}}))
    (tmp_path / "evil.py").write_text("raise SystemExit('it ran')")
    done = command_here("open", "--no-browser", "--model", str(tmp_path))
    assert "it needs Python code of its own, which regard does not run." in " ".join(
        done.stderr.split()
    )


def test_a_models_folder_in_place_of_a_sentence_names_the_option(folder):
    with pytest.raises(FileError) as raised:
        sentence_or_files([str(folder)])
    assert str(raised.value) == (
        f"open takes a sentence or a .regard file, but {folder} is a model's folder. To keep the "
        f"model loaded in the page: regard open --model {folder}"
    )


def test_files_and_a_model_are_not_opened_together(folder, tmp_path):
    done = command_here("open", "--no-browser", "--model", str(folder), "run.regard")
    assert "open takes either --model or .regard files, not both." in " ".join(done.stderr.split())


def test_a_translator_is_told_from_other_models(folder):
    from regard.transformer.checkpoint import SHIPPED

    assert is_translator(SHIPPED)
    assert not is_translator(folder)
