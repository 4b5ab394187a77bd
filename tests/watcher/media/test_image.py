"""Attention to images, cell by cell against the models' own eager weights."""

import numpy as np
import pytest
import torch
import transformers as hf
from tests.helpers.media_models import (
    IMAGE,
    VISION,
    clip,
    llava,
    llava_processor,
    on_grid,
    packed,
    pixels,
    qwen,
    recipes,
    swin,
)
from tests.helpers.model_families import eager
from tests.helpers.shared_modules import SHARP, recorded, sharp
from tests.helpers.watching import seen_by

import regard
from regard.errors import ArgumentError, BackendError, NotAskedError


def weights_of(model, inputs):
    """Eager weights (layers, h, q, k) of the first sentence."""
    output = eager(model, lambda: model(**inputs, output_attentions=True))
    return np.stack([x[0].double().numpy() for x in output.attentions])


def check(image, expected, others):
    """Cells and other tokens as expected, and together all of the row."""
    np.testing.assert_allclose(image.weights, expected, rtol=0, atol=SHARP)
    assert image.others.keys() == others.keys()
    for name, share in others.items():
        assert image.others[name] == pytest.approx(share, abs=SHARP)
    assert image.total + sum(image.others.values()) == pytest.approx(1, abs=SHARP)


PLAIN = {
    "vit": (hf.ViTModel, hf.ViTConfig, {"class token": 1}, {"interpolate_pos_encoding": True}),
    "dinov2": (hf.Dinov2Model, hf.Dinov2Config, {"class token": 1}, {}),
    "registers": (hf.Dinov2WithRegistersModel, hf.Dinov2WithRegistersConfig,
                  {"class token": 1, "registers": 4}, {}),
    "deit": (hf.DeiTModel, hf.DeiTConfig, {"class token": 1, "distillation token": 1},
             {"interpolate_pos_encoding": True}),
    "siglip": (hf.SiglipVisionModel, hf.SiglipVisionConfig, {},
               {"interpolate_pos_encoding": True}),
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_patches_after_the_tokens_that_the_parameters_name(name):
    """An image of 4 x 6 patches: every head, the mean, a patch's row, and norm-weighted."""
    kind, config, prefix, options = PLAIN[name]
    model = sharp(kind(config(**VISION)))
    inputs = {"pixel_values": pixels(1, 3, 8, 12)} | options
    weights_lhqk = weights_of(model, inputs)
    seen = seen_by(model, inputs)
    before = sum(prefix.values())
    cells = np.arange(before, before + 24)
    starts = np.cumsum([0, *prefix.values()])

    def others(row_k):
        spans = zip(prefix, starts, starts[1:], strict=False)
        return {x: row_k[low:high].sum() for x, low, high in spans}

    usual_lhk = weights_lhqk[:, :, 0] if prefix else weights_lhqk.mean(axis=2)
    for layer, head in ((0, 0), (1, 1)):
        row_k = usual_lhk[layer, head]
        image = seen.image(layer=layer, head=head)
        check(image, on_grid(row_k, cells, (4, 6)), others(row_k))
    mean_k = usual_lhk.mean(axis=(0, 1))
    check(seen.image(), on_grid(mean_k, cells, (4, 6)), others(mean_k))
    row_k = weights_lhqk[1, 0, before + 6 * 2 + 3]
    image = seen.image(layer=1, head=0, patch=(2, 3))
    check(image, on_grid(row_k, cells, (4, 6)), others(row_k))
    assert image.title == "Weights on image 0 of patch 2, 3 (encoder layer 1, head 0)"


def norms_of(model, path, call, heads):
    """|v_j W_O| (h, k) from the module's own matrices."""
    module, inputs = model.get_submodule(path), []
    hook = module.register_forward_hook(
        lambda module, given, named, output: inputs.append(given[0] if given else named),
        with_kwargs=True,
    )
    with torch.no_grad():
        call()
        hook.remove()
        states = inputs[0] if torch.is_tensor(inputs[0]) else inputs[0]["hidden_states"]
        value = module.v_proj(states)[0]
        out = getattr(module, "o_proj", None) or module.out_proj
        width = out.weight.shape[1] // heads
        value_khd = value.reshape(len(value), -1, width)
        value_khd = value_khd.repeat_interleave(heads // value_khd.shape[1], dim=1)
        matrix_hde = out.weight.T.reshape(heads, width, -1)
        return torch.einsum("khd,hde->hke", value_khd, matrix_hde).norm(dim=-1).double().numpy()


def test_norm_weighted():
    model = sharp(hf.ViTModel(hf.ViTConfig(**VISION)))
    inputs = {"pixel_values": pixels(1, 3, 8, 8)}
    seen = seen_by(model, inputs)
    norms_hk = norms_of(model, "layers.1.attention", lambda: model(**inputs), 2)
    expected_hk = weights_of(model, inputs)[1][:, 0] * norms_hk
    expected_hk /= expected_hk.sum(axis=-1, keepdims=True)
    image = seen.image(layer=1, head=1, weighted="norm")
    check(image, on_grid(expected_hk[1], np.arange(1, 17), (4, 4)),
          {"class token": expected_hk[1, 0]})  # fmt: skip
    assert image.what == "norm-weighted weights"
    assert "norm-weighted weights on 4 x 4 patches" in str(image)
    with torch.no_grad():
        model.layers[0].attention.v_proj.weight.mul_(2)
    with pytest.raises(BackendError) as refused:
        seen.image(layer=1, weighted="norm")
    assert str(refused.value) == (
        "run again with the same images, encoder layer 1 attends otherwise: the model's parameters "
        "have changed, or it was given more than one forward shows."
    )


def test_clip_looks_with_its_vision_alone():
    """As many tokens of text as there are keys of the image: the text is no image."""
    model = sharp(clip())
    inputs = {"input_ids": torch.arange(3, 20)[None], "pixel_values": pixels(2, 3, 8, 8)}
    output = eager(model, lambda: model(**inputs, output_attentions=True))
    seen = seen_by(model, inputs)
    for number in range(2):
        row_k = output.vision_model_output.attentions[1][number, 0, 0].double().numpy()
        image = seen.image(layer=1, head=0, image=number)
        check(image, on_grid(row_k, np.arange(1, 17), (4, 4)), {"class token": row_k[0]})
    with pytest.raises(NotAskedError) as refused:
        seen.image(part="decoder", layer=1)
    assert str(refused.value) == (
        "decoder layer 1 saw no image: call the model with pixel_values inside the "
        "block, or for a program of your own say it: grid=(rows, columns)."
    )


@pytest.mark.parametrize("size", [16, 20], ids=["even", "padded"])
def test_swin_puts_its_windows_back(size, monkeypatch, tmp_path):
    """Shifted windows and padding, put where the model's own partition says that they were."""
    from transformers.models.swin.modeling_swin import window_partition

    model = swin(size)
    inputs = {"pixel_values": pixels(2, 3, size, size)}
    _, calls = recorded(model, lambda: model(**inputs), monkeypatch)
    live = seen_by(model, inputs)
    live.save(tmp_path / "swin.regard")
    for layer, (module, weights_whqk) in enumerate(calls):
        stage, number = divmod(layer, 2)
        block = model.encoder.layers[stage].blocks[number]
        assert block.attention is module
        side = -(-size // (2 * 2**stage))
        ids = torch.arange(1, side * side + 1).reshape(1, side, side, 1).float()
        shifted = block.cyclic_shift(block.maybe_pad(ids, side, side)[0])
        cells_wk = window_partition(shifted, block.window_size).reshape(-1, weights_whqk.shape[-1])
        cells_wk = cells_wk.numpy().astype(int) - 1
        full_qk = np.zeros((side * side, side * side + 1))  # the last column is padding
        own = weights_whqk[len(cells_wk) :, 1]  # of the second image
        for cells_k, weights_qk in zip(cells_wk, own, strict=True):
            for cell, row_k in zip(cells_k, weights_qk, strict=True):
                if cell >= 0:
                    np.add.at(full_qk[cell], cells_k, row_k)
        for seen in (live, regard.load(tmp_path / "swin.regard")):
            image = seen.image(layer=layer, head=1, patch=(1, side - 1), image=1)
            row_k = full_qk[2 * side - 1]
            expected = on_grid(row_k, np.arange(side * side), (side, side))
            padding = {"padding": row_k[-1]} if (cells_wk < 0).any() else {}
            check(image, expected, padding)
            image = seen.image(layer=layer, head=1, image=1)
            expected = full_qk.mean(axis=0)[:-1].reshape(side, side)
            np.testing.assert_allclose(image.weights, expected, rtol=0, atol=SHARP)
    with pytest.raises(ArgumentError) as refused:
        live.image()
    sizes = {16: "4 x 4, 8 x 8", 20: "5 x 5, 10 x 10"}[size]
    assert str(refused.value) == f"the layers have grids of {sizes} patches: say which layer."


@pytest.mark.parametrize("strategy", ["default", "full"])
def test_llava_where_each_token_looks(strategy, tmp_path):
    """Two images in one text; with the 'full' strategy each begins with its class token."""
    prefix = int(strategy == "full")
    model = llava(vision_feature_select_strategy=strategy)
    images = [IMAGE] * (16 + prefix)
    ids = torch.tensor([[1, 5, *images, 6, *images, 7, 8]])
    inputs = {"input_ids": ids, "pixel_values": pixels(2, 3, 8, 8)}
    weights_lhqk = weights_of(model, inputs)
    live = seen_by(model, inputs)
    live.save(tmp_path / "llava.regard")
    for seen in (live, regard.load(tmp_path / "llava.regard")):
        for number in range(2):
            start = 2 + number * (17 + prefix) + prefix
            own = np.arange(start, start + 16)
            for query in (-1, ids.shape[1] - 3):
                row_k = weights_lhqk[1, 2, query]
                other = np.flatnonzero(ids[0] == IMAGE)
                other = np.setdiff1d(other, np.arange(start - prefix, start + 16))
                others = {"text": row_k[ids[0] != IMAGE].sum(), "other images": row_k[other].sum()}
                if prefix:
                    others["class token"] = row_k[start - 1]
                image = seen.image(layer=1, head=2, query=query, image=number)
                check(image, on_grid(row_k, own, (4, 4)), others)
        row_k = weights_lhqk[1, 2, -1]
        assert seen.image(layer=1, head=2).weights.sum() == pytest.approx(
            row_k[2 + prefix : 18 + prefix].sum(), abs=SHARP
        )
        vision = seen.image(part="encoder", image=1, layer=0)
        assert vision.weights.shape == (4, 4)
        assert vision.title.startswith("Weights on image 1 of the class token (encoder layer 0")


def test_a_batch_of_texts_with_an_image_each(tmp_path):
    model = llava()
    ids = torch.tensor([[1, 5, *[IMAGE] * 16, 6, 7], [1, *[IMAGE] * 16, 8, 9, 7]])
    inputs = {"input_ids": ids, "pixel_values": pixels(2, 3, 8, 8)}
    output = eager(model, lambda: model(**inputs, output_attentions=True))
    live = seen_by(model, inputs)
    live.save(tmp_path / "batch.regard")
    for seen in (live, regard.load(tmp_path / "batch.regard")):
        for number, start in enumerate((2, 1)):
            row_k = output.attentions[1][number, 0, -1].double().numpy()
            image = seen.sentence(number).image(layer=1, head=0)
            expected = on_grid(row_k, np.arange(start, start + 16), (4, 4))
            np.testing.assert_allclose(image.weights, expected, rtol=0, atol=SHARP)
        with pytest.raises(ArgumentError) as refused:
            seen.image()
        assert str(refused.value) == (
            "there are 2 sentences: choose one first, as in seen.sentence(0).image()."
        )


@pytest.mark.parametrize("windows", [False, True], ids=["qwen2_vl", "qwen2_5_vl"])
def test_qwen_and_its_dynamic_grids(windows, monkeypatch):
    """Images of different sizes: merged patches in the text, single ones in the vision."""
    from transformers import Qwen2VLImageProcessorPil

    model, grids = qwen(windows), [(4, 6), (8, 4)]
    inputs = packed(*grids)
    output, calls = recorded(model, lambda: model(**inputs, output_attentions=True), monkeypatch)
    seen = seen_by(model, inputs)
    row_k = output.attentions[1][0, 3, -1].double().numpy()
    tokens = np.flatnonzero(inputs["input_ids"][0] == IMAGE)
    check(
        seen.image(layer=1, head=3, image=1),
        on_grid(row_k, tokens[6:], (4, 2)),
        {"text": np.delete(row_k, tokens).sum(), "other images": row_k[tokens[:6]].sum()},
    )
    # The processor says which patch comes when: each has a colour of its own.
    processor = Qwen2VLImageProcessorPil(patch_size=2, merge_size=2, temporal_patch_size=1,
                                         min_pixels=4, max_pixels=10**6)  # fmt: skip
    high, wide = grids[1]
    picture = np.arange(high * wide, dtype=np.uint8).reshape(high, wide).repeat(2, 0).repeat(2, 1)
    colours = processor(np.stack([picture] * 3, -1), do_rescale=False, do_normalize=False)
    order = np.asarray(colours["pixel_values"])[:, 0].astype(int)
    start = 24
    if windows:
        from transformers.vision_utils import get_vision_window_index

        index, _ = get_vision_window_index(torch.tensor([[1, *grids[1]]]), 2, 8, 2)
        order = order.reshape(-1, 4)[index.numpy()].reshape(-1)
    own = [x[0, 1] for module, x in calls if module is model.model.visual.blocks[1].attn]
    assert [x.shape for x in own] == [(24, 24), (32, 32)]
    query = int(np.flatnonzero(order == 9)[0])
    expected = np.zeros(32)
    expected[order] = own[1][query]
    image = seen.image(part="encoder", layer=1, head=1, image=1, patch=(2, 1))
    check(image, expected.reshape(8, 4), {"other images": 0.0})
    assert seen.image_grid(seen.names[1], 1).cells[0, start:].tolist() == order.tolist()


def test_generated_words_and_norms_of_a_generated_text():
    """The rows of generate, and a second run of the full text for the norms."""
    model, inputs = qwen(False), packed((4, 4), (4, 6))
    options = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False}
    with torch.no_grad(), regard.watch(model) as seen:
        tokens = model.generate(**inputs, **options)
    full = inputs | {"input_ids": tokens[:, :-1]}
    full["mm_token_type_ids"] = (full["input_ids"] == IMAGE).long()
    row_hk = weights_of(model, full)[1][:, -1]
    at = np.flatnonzero(full["input_ids"][0] == IMAGE)[4:]
    image = seen.image(layer=1, head=0, image=1)
    np.testing.assert_allclose(image.weights, on_grid(row_hk[0], at, (2, 3)), rtol=0, atol=SHARP)
    assert image.title == "Weights on image 1 of the last token (decoder layer 1, head 0)"
    kept = [name for call in seen._recorder.runs[0].media for name in call.arguments]
    assert "pixel_values" in kept
    assert "past_key_values" not in kept  # a cache would stay in memory as long as the run
    call = lambda: model(**full)  # noqa: E731
    norms_hk = norms_of(model, "model.language_model.layers.1.self_attn", call, 4)
    weighted_k = row_hk[0] * norms_hk[0] / (row_hk[0] * norms_hk[0]).sum()
    image = seen.image(layer=1, head=0, image=1, weighted="norm")
    np.testing.assert_allclose(image.weights, on_grid(weighted_k, at, (2, 3)), rtol=0, atol=SHARP)


def test_cross_attention_looks_at_the_patches_of_the_encoder():
    decoder = hf.TrOCRConfig(vocab_size=60, d_model=16, decoder_layers=2, decoder_attention_heads=2,
                             decoder_ffn_dim=24, max_position_embeddings=32, pad_token_id=0,
                             bos_token_id=1, eos_token_id=2, decoder_start_token_id=2)  # fmt: skip
    config = hf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        hf.ViTConfig(**VISION), decoder
    )
    model = sharp(hf.VisionEncoderDecoderModel(config))
    inputs = {"pixel_values": pixels(1, 3, 8, 8), "decoder_input_ids": torch.tensor([[2, 4, 5]])}
    output = eager(model, lambda: model(**inputs, output_attentions=True))
    row_k = output.cross_attentions[1][0, 0, 1].double().numpy()
    image = seen_by(model, inputs).image(part="cross", layer=1, head=0, query=1)
    check(image, on_grid(row_k, np.arange(1, 17), (4, 4)), {"class token": row_k[0]})


def test_a_program_of_ones_own_needs_a_grid():
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    seen = seen_by(layer, pixels(1, 13, 8))
    with pytest.raises(NotAskedError, match=r"say it: grid=\(rows, columns\)"):
        seen.image()
    image = seen.image(grid=(3, 4), query=0, head=1)
    row_k = seen[0, 1].row(0)
    np.testing.assert_allclose(image.weights, row_k[1:].reshape(3, 4))
    assert image.others == {"other tokens": pytest.approx(float(row_k[0]))}
    with pytest.raises(ArgumentError) as refused:
        seen.image(grid=(4, 4))
    assert str(refused.value) == (
        "grid must have 1 to 13 cells, as many as the layer has keys, got 4 x 4 = 16."
    )


def test_a_grid_that_is_not_known():
    """A model that drops patches says so instead of guessing."""
    model = sharp(hf.ViTMAEModel(hf.ViTMAEConfig(**VISION)))
    seen = seen_by(model, {"pixel_values": pixels(1, 3, 8, 8)})
    with pytest.raises(ArgumentError) as refused:
        seen.image()
    assert str(refused.value) == (
        "the grid of encoder layer 0 is not known: it has 5 keys, and ViTMAEModel names 1 token "
        "before an image of 4 x 4 patches: say it: grid=(rows, columns)."
    )


WRONG = [
    ({"patch": (4, 0)}, "patch must be (row, column) from 0 inside 4 x 4, got (4, 0)."),
    ({"query": 17}, "query must be a number or (start, stop) inside 17 queries, got 17."),
    ({"query": 1, "patch": (0, 0)},
     "at most one of word, query and patch may be given, got several."),
    ({"head": 2}, "head must be a number from 0 to 1, got 2."),
    ({"layer": 2}, "part and layer must be watched ones: 'encoder' has layers 0, 1."),
    ({"image": 1}, "image must be a number from 0 to 0 in encoder layer 0, got 1."),
    ({"weighted": "value"}, "weighted must be 'norm' or None, got 'value'."),
    ({"when": "later"}, "when must be 'read' or 'written', got 'later'."),
]  # fmt: skip


@pytest.mark.parametrize(("options", "message"), WRONG, ids=lambda x: str(x)[:20])
def test_wrong_arguments(options, message):
    model = hf.ViTModel(hf.ViTConfig(**VISION)).eval()
    seen = seen_by(model, {"pixel_values": pixels(1, 3, 8, 8)})
    with pytest.raises(ArgumentError) as refused:
        seen.image(**options)
    assert str(refused.value) == message


def test_the_recipes(tmp_path, monkeypatch, capsys):
    """The examples of docs/watch-details.md, with tiny models."""
    monkeypatch.chdir(tmp_path)
    vision, text = recipes("Images")
    picture = np.zeros((8, 8, 3), np.uint8)
    model = sharp(hf.ViTModel(hf.ViTConfig(**VISION)))
    processor = hf.ViTImageProcessorPil(size={"height": 8, "width": 8})
    names = {"regard": regard, "model": model, "processor": processor, "picture": picture}
    with torch.no_grad():
        exec(compile(vision, "watch-details.md", "exec"), names)  # noqa: S102 (our own page)
        assert names["image"].title.startswith("Weights on image 0 of patch 2, 3")
        assert (tmp_path / "cat.png").stat().st_size > 1000
        names |= {"model": llava(), "processor": llava_processor()}
        exec(compile(text, "watch-details.md", "exec"), names)  # noqa: S102
    assert "when written (decoder, mean of 2 layers, head 0)" in capsys.readouterr().out
    assert "data:image/png;base64," in (tmp_path / "run.html").read_text()
