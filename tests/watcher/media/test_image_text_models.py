"""Models of images and text that stitch, cut or pool their patches, against eager weights."""

from unittest.mock import patch

import numpy as np
import pytest
import torch
import transformers as hf
from tests.helpers.media_models import (
    IMAGE,
    TEXT,
    VISION,
    blip,
    mllama,
    on_grid,
    paligemma,
    pixels,
    smolvlm,
)
from tests.helpers.model_families import eager
from tests.helpers.shared_modules import SHARP, sharp
from tests.helpers.watching import seen_by

import regard
from regard.errors import ArgumentError
from regard.watcher.media.picture_bytes import tiled_area


def check(image, expected, **others):
    np.testing.assert_allclose(image.weights, expected, rtol=0, atol=SHARP)
    assert image.others == pytest.approx({x.replace("_", " "): y for x, y in others.items()},
                                         abs=SHARP)  # fmt: skip
    assert image.total + sum(image.others.values()) == pytest.approx(1, abs=SHARP)


@pytest.fixture(params=["seen", "saved"])
def saved(request, tmp_path):
    """What was seen itself, and as a file of it says."""

    def again(seen):
        if request.param == "seen":
            return seen
        seen.save(tmp_path / "run.regard")
        return regard.load(tmp_path / "run.regard")

    return again


@pytest.mark.parametrize("pools", [False, True])
def test_paligemma_looks_with_its_text(pools, saved):
    """Its prompt is seen in both directions, and is the text's, not another part of the vision."""
    model = paligemma(pools)
    ids = torch.tensor([[*[IMAGE] * 16, 1, 5, 6, 7]])
    inputs = {"input_ids": ids, "pixel_values": pixels(1, 3, 8, 8)}
    inputs["token_type_ids"] = torch.zeros_like(ids)
    output = eager(model, lambda: model(**inputs, output_attentions=True))
    seen = saved(seen_by(model, inputs))
    assert seen.parts == (("decoder", "cross", "vision") if pools else ("encoder", "decoder"))
    row_k = output.attentions[1][0, 2, 18].double().numpy()
    image = seen.image(layer=1, head=2, query=18)
    check(image, on_grid(row_k, np.arange(16), (4, 4)), text=row_k[16:].sum())
    assert "(decoder layer 1, head 2)" in image.title


def cut(rows, columns):
    """Token ids of a picture that was cut into tiles, as the processor of SmolVLM writes them."""
    ids = []
    for row in range(rows):
        for column in range(columns):
            ids += [51, 20 + row * columns + column, *[IMAGE] * 16]
        ids.append(9)
    return [*ids, 10, 51, 40, *[IMAGE] * 16, 51] if rows else [51, 40, *[IMAGE] * 16, 51]


@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (1, 4), (3, 1), (0, 0)])
def test_smolvlm_puts_its_tiles_side_by_side(rows, columns, saved):
    model = smolvlm()
    ids = torch.tensor([[1, *cut(rows, columns), 5, 6, *cut(0, 0), 7]])
    tiles = rows * columns + 2
    inputs = {"input_ids": ids, "pixel_values": pixels(1, tiles, 3, 16, 16)}
    row_k = eager(model, lambda: model(**inputs, output_attentions=True))
    row_k = row_k.attentions[1][0, 1, -1].double().numpy()
    seen = saved(seen_by(model, inputs))
    at = np.flatnonzero(ids[0] == IMAGE).reshape(tiles, 4, 4)
    text = np.delete(row_k, at.reshape(-1)).sum()
    options = {"layer": 1, "head": 1}
    if rows:
        side_by_side = np.block([
            [at[row * columns + column] for column in range(columns)] for row in range(rows)
        ])  # fmt: skip
        image = seen.image(**options)
        check(image, row_k[side_by_side], text=text, other_images=row_k[at[-2:]].sum())
    whole = seen.image(**options, image=int(rows > 0))
    rest = np.delete(at, tiles - 2, axis=0)
    check(whole, row_k[at[-2]], text=text, other_images=row_k[rest].sum())
    last = seen.image(**options, image=1 + int(rows > 0))
    check(last, row_k[at[-1]], text=text, other_images=row_k[at[:-1]].sum())


def test_llama_looks_across_at_its_tiles(saved):
    """Two pictures a text, of 2 x 2 and of 1 x 2 tiles; the rest of four is padding."""
    model = mllama()
    ids = torch.tensor([[IMAGE, IMAGE, 1, 5, 6], [IMAGE, IMAGE, 1, 7, 8]])
    visible = torch.ones(2, 5, 2, 4, dtype=torch.long)
    visible[:, :, 1, 2:] = 0
    used = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    inputs = {
        "input_ids": ids, "pixel_values": pixels(2, 2, 4, 3, 8, 8),
        "aspect_ratio_ids": torch.tensor([[6, 2], [6, 2]]), "cross_attention_mask": visible,
        "aspect_ratio_mask": used.expand(2, 2, 4),
    }  # fmt: skip
    row_k = cross_weights(model, inputs)[1, 3, 4]
    seen = saved(seen_by(model, inputs))
    with pytest.raises(ArgumentError, match="there are 2 sentences"):
        seen.image()
    keys = row_k.reshape(2, 4, 17)  # of each picture and tile
    for number, (down, across) in enumerate([(2, 2), (1, 2)]):
        tiles = keys[number, :, 1:].reshape(4, 4, 4)
        expected = np.block([
            [tiles[row * across + column] for column in range(across)] for row in range(down)
        ])  # fmt: skip
        others = {"class_token": keys[number, :, 0].sum(), "other_images": keys[1 - number].sum()}
        if number:
            others["padding"] = keys[1, 2:, 1:].sum()
        image = seen.sentence(1).image(layer=1, head=3, query=4, image=number)
        check(image, expected, **others)
    vision = seen.image(part="encoder", layer=0, head=1, image=3, patch=(0, 5))
    row_tk = vision_weights(model, inputs)[3, 1, 24 + 1 + 1].reshape(4, 24)  # the second tile
    expected = np.block([row_tk[tile, 1:17].reshape(4, 4) for tile in range(2)])
    padding = row_tk[:2, 17:].sum() + row_tk[2:, 1:].sum()
    check(vision, expected, class_token=row_tk[:, 0].sum(), padding=padding)


def cross_weights(model, inputs):
    """Weights (b, h, q, k) of the layer of text that looks at the pictures."""
    return noted_weights(model, inputs, model.model.language_model.layers[1].cross_attn)


def vision_weights(model, inputs):
    """Weights (b, h, q, k) of the first layer of patches."""
    return noted_weights(model, inputs, model.model.vision_model.transformer.layers[0].self_attn)


def noted_weights(model, inputs, of):
    made = []

    def note(module, query, key, value, mask, scaling, **options):
        if module is of:
            keys = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
            made.append((query @ keys.mT * scaling + mask).softmax(-1))
        return sdpa(module, query, key, value, mask, scaling=scaling, **options)

    sdpa = hf.AttentionInterface()["sdpa"]
    attentions, masks = hf.AttentionInterface, hf.AttentionMaskInterface
    with patch.dict(attentions._global_mapping), patch.dict(masks._global_mapping):
        attentions.register("noted", note)
        masks.register("noted", hf.masking_utils.sdpa_mask)
        model.set_attn_implementation("noted")
        with torch.no_grad():
            model(**inputs)
        model.set_attn_implementation("sdpa")
    (weights_bhqk,) = made
    return weights_bhqk.double().numpy()


CANVASES = {(500, 250): (1, 2), (100, 100): (1, 1), (900, 700): (2, 2), (3000, 400): (1, 4)}


@pytest.mark.parametrize(("size", "tiles"), CANVASES.items(), ids=str)
def test_the_canvas_of_tiles_is_that_of_the_processor(size, tiles):
    from transformers.models.mllama import image_processing_pil_mllama as mllama_images

    tile, (width, height) = 280, size
    processor = hf.MllamaImageProcessorPil(size={"height": tile, "width": tile}, max_image_tiles=4)
    down, across = tiles
    new_height, new_width = mllama_images.get_image_size_fit_to_canvas(
        height, width, down * tile, across * tile, tile
    )
    area = tiled_area(processor, tiles, width, height)
    expected = (0, 0, across * tile / new_width, down * tile / new_height)
    np.testing.assert_allclose(area, expected, rtol=2 / min(new_width, new_height))


def test_blip_looks_across_at_its_patches(saved):
    model = blip()
    inputs = {"input_ids": torch.tensor([[1, 5, 6, 7]]), "pixel_values": pixels(1, 3, 8, 8)}
    with torch.no_grad():
        vision = model.vision_model(inputs["pixel_values"]).last_hidden_state
        output = model.text_decoder(
            inputs["input_ids"], encoder_hidden_states=vision, output_attentions=True
        )
    seen = saved(seen_by(model, inputs))
    assert seen.parts == ("decoder", "cross", "vision")
    row_k = output.cross_attentions[1][0, 1, 2].double().numpy()
    image = seen.image(layer=1, head=1, query=2)
    check(image, on_grid(row_k, np.arange(1, 17), (4, 4)), class_token=row_k[0])
    assert "(cross layer 1, head 1)" in image.title
    assert seen.image(part="vision").title.startswith("Weights on image 0 of the class token")


def test_the_head_that_pools_the_patches_of_siglip_is_seen(saved):
    """Its one query makes the embedding of the image: torch's attention, outside the interface."""
    config = hf.SiglipConfig(text_config=TEXT, vision_config=VISION)
    model = sharp(hf.SiglipModel(config))
    inputs = {"input_ids": torch.tensor([[1, 5, 6, 7]]), "pixel_values": pixels(1, 3, 8, 8)}
    with torch.no_grad():
        states = model.vision_model(inputs["pixel_values"]).last_hidden_state
        head = model.vision_model.head
        _, weights_bhqk = head.attention(head.probe, states, states, average_attn_weights=False)
        expected = model(**inputs)
        with regard.watch(model) as live:
            output = model(**inputs)
    assert torch.equal(output.image_embeds, expected.image_embeds)
    assert live.unrecorded == ()
    seen = saved(live)
    image = seen.image(part="cross", head=1)
    row_k = weights_bhqk[0, 1, 0].double().numpy()
    check(image, row_k.reshape(4, 4))
    assert image.title == "Weights on image 0 of its only query (cross, mean of 1 layer, head 1)"
    assert seen.image().title.startswith("Weights on image 0 of the mean of all patches (vision")
    with pytest.raises(ArgumentError, match="are patches: say patch="):
        seen.image(word=-1)
