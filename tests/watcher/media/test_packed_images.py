"""Images packed into one sequence, attended to one by one: blocks of one layer."""

import numpy as np
import pytest
import torch
from tests.helpers.media_models import IMAGE, packed, qwen
from tests.helpers.model_families import check_facts, close
from tests.helpers.shared_modules import SHARP, recorded, runs
from tests.helpers.watching import seen_by

import regard


@pytest.fixture(scope="module")
def sees_images():
    return qwen(windows=False)


def diagonal(blocks):
    """One matrix of blocks along its diagonal."""
    edges = np.cumsum([0, *(x.shape[-1] for x in blocks)])
    weights_hqk = np.zeros((blocks[0].shape[0], edges[-1], edges[-1]))
    for block, start, stop in zip(blocks, edges, edges[1:], strict=False):
        weights_hqk[:, start:stop, start:stop] = block
    return weights_hqk


@pytest.mark.parametrize("grids", [[(4, 4)], [(4, 4), (4, 6)], [(4, 6), (2, 2), (4, 4)]], ids=str)
def test_images_side_by_side_are_one_layer(sees_images, grids, monkeypatch, tmp_path):
    """Each image looks at itself alone: blocks along the diagonal of one layer."""
    inputs = packed(*grids)
    expected, calls = recorded(
        sees_images, lambda: sees_images(**inputs, output_attentions=True), monkeypatch
    )
    vision = sees_images.model.visual.blocks
    pictures = [diagonal([x[0] for module, x in calls if module is y.attn]) for y in vision]
    with torch.no_grad(), regard.watch(sees_images, top=4, keep="all") as seen:
        actual = sees_images(**inputs)
    close(actual.logits.numpy(), expected.logits.numpy(), SHARP)
    layers = [("encoder", 0), ("encoder", 1), ("decoder", 0), ("decoder", 1)]
    assert [tuple(layer_key) for layer_key in seen.names] == layers
    assert runs(seen) == 1
    seen.save(tmp_path / "images.regard")
    for one in (seen, regard.load(tmp_path / "images.regard")):
        for layer in range(2):
            check_facts(one["encoder", layer], pictures[layer], SHARP)
            text = expected.attentions[layer][0].double().numpy()
            check_facts(one["decoder", layer], text, SHARP)
            head = one["encoder", layer, 1].tile(slice(None), slice(None))
            close(head, pictures[layer][1], SHARP)
    first = seen["encoder", 0].measures.first
    np.testing.assert_allclose(first.mean_h, pictures[0][:, :, 0].mean(axis=1), atol=SHARP)
    np.testing.assert_allclose(first.mean_h, seen["encoder", 0].profile.first, atol=SHARP)
    patches = [high * wide for high, wide in grids]
    np.testing.assert_allclose(first.baseline_h, 1 / sum(patches), atol=SHARP)


def test_patches_are_not_named_by_the_text(sees_images):
    """As many patches as tokens: the tokens are the decoder's alone."""
    inputs = packed((4, 4))
    text = torch.nn.functional.pad(
        inputs["input_ids"], (0, 16 - inputs["input_ids"].shape[1]), value=8
    )
    named = inputs | {"input_ids": text, "mm_token_type_ids": (text == IMAGE).long()}
    seen = seen_by(sees_images, named)
    tokens = seen._recorder.runs[0].tokens
    assert tokens["encoder"] == [None]
    assert tokens["decoder"][0].tolist() == text[0].tolist()


def test_images_and_then_tokens(sees_images):
    inputs = packed((4, 4), (4, 6))
    options = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False}
    with torch.no_grad():
        expected = sees_images.generate(**inputs, **options)
        with regard.watch(sees_images) as seen:
            actual = sees_images.generate(**inputs, **options)
    assert actual.tolist() == expected.tolist()
    assert runs(seen) == 1
    assert seen["encoder", 1].map.shape == (2, 40, 40)
    assert seen["decoder", 1].map.shape == (4, actual.shape[1] - 1, actual.shape[1] - 1)


def test_two_texts_with_an_image_each(sees_images, tmp_path):
    """Two sentences in the decoder, one sequence of patches in the encoder."""
    inputs = packed((4, 4))
    twice = {name: torch.cat([x, x]) for name, x in inputs.items()}
    seen = seen_by(sees_images, twice)
    assert seen.sentences == 2
    assert seen.sentence(0).parts == ("encoder", "decoder")
    assert seen.sentence(1).parts == ("decoder",)
    assert seen.sentence(0)["encoder", 0].map.shape == (2, 32, 32)
    seen.save(tmp_path / "two.regard")
    again = regard.load(tmp_path / "two.regard")
    assert (again.names, again.sentence(1).names) == (seen.names, seen.sentence(1).names)
    assert again.sentence(1).report() == seen.sentence(1).report()
