"""The model in NumPy: equal to the training module, whole and in batches, saved and loaded."""

import numpy as np
import pytest

from regard.errors import FileError
from regard.transformer import Transformer, load_model
from regard.transformer.checkpoint import (
    SHIPPED,
    load_parameters,
    model_folder,
)
from regard.transformer.config import Config, parameter_shapes

SOURCE = np.array([[10, 20, 30, 40, 3], [7, 8, 3, 0, 0]])
LENGTHS = np.array([5, 3])
GIVEN = np.array([[2, 11, 12, 13], [2, 9, 14, 15]])


def padded_logits(model, source, lengths, given):
    return model.decode(model.encode(source, lengths), given).x_bte @ model.embedding_ve.T


def test_logits_equal_the_training_module(model, one_torch):
    from train.model import logits, to_torch

    source, given = one_torch.tensor(SOURCE), one_torch.tensor(GIVEN)
    wanted = logits(to_torch(model.parameters()), model.config, source, given).numpy()
    found = padded_logits(model, SOURCE, LENGTHS, GIVEN)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.smoke
def test_padding_changes_nothing(model):
    together = padded_logits(model, SOURCE, LENGTHS, GIVEN)
    for row in range(2):
        alone = model.logits(SOURCE[row : row + 1, : LENGTHS[row]], GIVEN[row : row + 1])
        np.testing.assert_allclose(together[row], alone[0], rtol=1e-5, atol=1e-5)


def test_no_position_knows_what_comes_after_it(model):
    changed = GIVEN.copy()
    changed[:, 3] = 99
    before = padded_logits(model, SOURCE, LENGTHS, GIVEN)
    after = padded_logits(model, SOURCE, LENGTHS, changed)
    np.testing.assert_allclose(before[:, :3], after[:, :3], rtol=1e-5, atol=1e-6)
    assert np.abs(before[:, 3] - after[:, 3]).max() > 1e-3


def test_parameters_have_the_names_and_shapes_of_the_config(model):
    shapes = {name: array.shape for name, array in model.parameters().items()}
    assert shapes == parameter_shapes(model.config)


def test_parameters_given_come_back(model):
    again = Transformer.from_parameters(model.config, model.parameters(), model.tokenizer, {})
    for name, array in model.parameters().items():
        np.testing.assert_array_equal(again.parameters()[name], array)


def test_a_saved_model_is_loaded_as_the_training_side_loads_it(folder):
    config, wanted = load_parameters(folder)
    found = load_model(folder)
    assert found.config == config
    for name, array in found.parameters().items():
        np.testing.assert_allclose(array, wanted[name], rtol=1e-6, atol=0, err_msg=name)


def test_any_sizes_run():
    for layers, heads, width in ((1, 1, 2), (4, 3, 12)):
        model = Transformer.random("I am good", layers=layers, heads=heads, width=width)
        assert model.logits(np.array([[4, 5, 6, 3]]), np.array([[2]])).shape == (1, 1, 7)


def test_an_untrained_model_says_so():
    assert "untrained: random parameters" in repr(Transformer.random(layers=2))
    assert Transformer.random(layers=2).untrained


def test_wrong_parameters_are_named(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    description = (tmp_path / "model.json").read_text().replace('"width": 32', '"width": 64')
    (tmp_path / "model.json").write_text(description)
    message = (
        r"^the parameters must have embedding as int8 \(340, 64\), got int8 \(340, 32\): "
        r"check that the description and the parameters belong together\.$"
    )
    with pytest.raises(FileError, match=message):
        load_model(tmp_path)


def test_a_broken_file_is_explained(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(
            path.read_bytes()[: -9 if path.suffix == ".safetensors" else None]
        )
    with pytest.raises(FileError, match="must be a safetensors file, and cannot be read as"):
        load_model(tmp_path)


def test_an_install_without_a_model_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr("regard.transformer.checkpoint.SHIPPED", tmp_path)
    with pytest.raises(FileError, match="install of regard has no parameters of the shipped model"):
        load_model()


def test_positions_follow_the_config():
    model = Transformer.random("I am good", layers=1, heads=1, width=8)
    x = model.vectors(np.array([[4, 4]]))
    later = model.vectors(np.array([[4]]), first=1)
    np.testing.assert_array_equal(x[:, 1:], later)
    assert Config(vocabulary=7, width=8, heads=1).head_width == 8


def copied(folder, path):
    for file in folder.iterdir():
        (path / file.name).write_bytes(file.read_bytes())
    return path


DESCRIPTIONS = {
    "truncated": ('{"format": "regard tra', "Unterminated string starting at"),
    "no object": ("[]", "it is not an object"),
    "no config": ('{"format": "regard transformer 1"}', "it has no config"),
    "unknown size": (
        '{"format": "regard transformer 1", "config": {"vocabulary": 9, "depth": 2}}',
        "its config has an unknown size 'depth'",
    ),
    "no vocabulary": (
        '{"format": "regard transformer 1", "config": {"layers": 2}}',
        "its config has no vocabulary",
    ),
    "bad size": (
        '{"format": "regard transformer 1", "config": {"vocabulary": 0}}',
        "vocabulary must be a whole number from 1 up, got 0",
    ),
}


@pytest.mark.parametrize(("text", "reason"), DESCRIPTIONS.values(), ids=DESCRIPTIONS)
def test_a_broken_description_is_explained(folder, tmp_path, text, reason):
    path = copied(folder, tmp_path) / "model.json"
    path.write_text(text)
    with pytest.raises(FileError) as error:
        load_model(tmp_path)
    start = f"{path} must be a description that model/train writes, and cannot be read as one"
    assert str(error.value).startswith(f"{start} ({reason}")
    assert str(error.value).endswith("): copy or export the model again.")


def test_a_description_that_is_no_text_is_explained(folder, tmp_path):
    (copied(folder, tmp_path) / "model.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="must be a description that model/train writes"):
        load_model(tmp_path)


def test_a_byte_order_mark_is_read(folder, tmp_path):
    path = copied(folder, tmp_path) / "model.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_model(tmp_path).config == load_model(folder).config


@pytest.mark.parametrize("name", ["model.json", "parameters.safetensors", "tokens.txt"])
def test_a_missing_file_is_named(folder, tmp_path, name):
    (copied(folder, tmp_path) / name).unlink()
    with pytest.raises(FileError, match=name):
        load_model(tmp_path)


def test_tokens_of_another_model_are_refused(folder, tmp_path):
    path = copied(folder, tmp_path) / "tokens.txt"
    path.write_bytes((SHIPPED / "tokens.txt").read_bytes())
    with pytest.raises(FileError) as error:
        load_model(tmp_path)
    assert str(error.value) == (
        f"{path} must have at most 340 pieces, got 12000: check that the tokens and the "
        "parameters belong together."
    )


def test_the_folder_of_a_training_stands_for_its_model(folder, tmp_path):
    (tmp_path / "model").mkdir()
    copied(folder, tmp_path / "model")
    assert model_folder(tmp_path) == tmp_path / "model"
    assert model_folder(folder) == folder
    assert load_model(tmp_path).config == load_parameters(tmp_path)[0] == load_model(folder).config
