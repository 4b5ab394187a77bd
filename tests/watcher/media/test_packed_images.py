"""Images packed into one sequence, attended to one by one: blocks of one layer."""

import numpy as np
import pytest
import torch
import transformers as hf
from tests.helpers.model_families import check_facts, close
from tests.helpers.shared_modules import SHARP, recorded, runs, sharp
from tests.helpers.watching import seen_by

import regard

VISION = {"depth": 2, "embed_dim": 16, "hidden_size": 16, "num_heads": 2, "mlp_ratio": 2,
          "patch_size": 2, "spatial_merge_size": 2, "temporal_patch_size": 2}  # fmt: skip
TEXT = {"vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 24, "max_position_embeddings": 64,
        "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4,
                            "mrope_section": [1, 1, 0]}}  # fmt: skip
IMAGE, BEGIN, END = 50, 52, 53


@pytest.fixture(scope="module")
def sees_images():
    config = hf.Qwen2VLConfig(text_config=TEXT, vision_config=VISION, image_token_id=IMAGE,
                              video_token_id=51, vision_start_token_id=BEGIN,
                              vision_end_token_id=END)  # fmt: skip
    return sharp(hf.Qwen2VLForConditionalGeneration(config))


def images(*grids):
    """A text with images of so many patches; four patches make a token."""
    generator = torch.Generator().manual_seed(4)
    patches = [high * wide for high, wide in grids]
    ids = [5, 6]
    for number in patches:
        ids += [BEGIN, *[IMAGE] * (number // 4), END, 7]
    tokens = torch.tensor([[*ids, 8, 9]])
    return {
        "input_ids": tokens,
        "pixel_values": torch.randn(sum(patches), 24, generator=generator),
        "image_grid_thw": torch.tensor([[1, *grid] for grid in grids]),
        "mm_token_type_ids": (tokens == IMAGE).long(),
    }


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
    inputs = images(*grids)
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
    inputs = images((4, 4))
    text = torch.nn.functional.pad(
        inputs["input_ids"], (0, 16 - inputs["input_ids"].shape[1]), value=8
    )
    named = inputs | {"input_ids": text, "mm_token_type_ids": (text == IMAGE).long()}
    seen = seen_by(sees_images, named)
    tokens = seen._recorder.runs[0].tokens
    assert tokens["encoder"] == [None]
    assert tokens["decoder"][0].tolist() == text[0].tolist()


def test_images_and_then_tokens(sees_images):
    inputs = images((4, 4), (4, 6))
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
    inputs = images((4, 4))
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
