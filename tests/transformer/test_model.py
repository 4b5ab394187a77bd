"""The model in NumPy: equal to the training module, whole and in batches, saved and loaded."""

import numpy as np
import pytest

from regard.errors import FileError
from regard.transformer import Transformer, load_model
from regard.transformer.checkpoint import assemble, copy_fill, load_parameters
from regard.transformer.config import Config, parameter_shapes

SOURCE = np.array([[10, 20, 30, 40, 3], [7, 8, 3, 0, 0]])
LENGTHS = np.array([5, 3])
GIVEN = np.array([[2, 11, 12, 13], [2, 9, 14, 15]])


def padded_logits(model, source, lengths, given):
    return model.decode(model.encode(source, lengths), given).x_bte @ model.embedding_ve.T


def test_logits_equal_the_training_module(model, one_torch):
    from regard.transformer.train.torch_model import logits, to_torch

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
    again = assemble(model.config, copy_fill(model.parameters()), model.tokenizer, {})
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
        r"^embedding needs shape \(340, 64\), but in the parameters its shape is \(340, 32\): "
        "check that the description and the parameters belong together.$"
    )
    with pytest.raises(FileError, match=message):
        load_model(tmp_path)


def test_a_broken_file_is_explained(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(
            path.read_bytes()[: -9 if path.suffix == ".safetensors" else None]
        )
    with pytest.raises(FileError, match="needs to be a safetensors file, but it cannot be read as"):
        load_model(tmp_path)


def test_an_install_without_a_model_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr("regard.transformer.checkpoint.SHIPPED", tmp_path)
    with pytest.raises(FileError, match="needs the parameters that come with the package"):
        load_model()


def test_positions_follow_the_config():
    model = Transformer.random("I am good", layers=1, heads=1, width=8)
    x = model.vectors(np.array([[4, 4]]))
    later = model.vectors(np.array([[4]]), first=1)
    np.testing.assert_array_equal(x[:, 1:], later)
    assert Config(vocabulary=7, width=8, heads=1).head_width == 8
