"""seen.looks_at: the row of a word over all heads and layers, against eager weights."""

import numpy as np
import pytest
import torch
import transformers as hf
from tests.helpers.model_families import FAMILIES, STEPS, batch, eager
from tests.helpers.watching import seen_by

import regard
from regard.errors import NotAskedError

LLAMA = next(family for family in FAMILIES if family.name == "llama")
IDS = batch("not")["input_ids"][:1]


def watched(**options):
    return seen_by(LLAMA.made(), IDS, **options)


def test_the_mean_row_of_all_heads_is_ranked():
    model = LLAMA.made()
    own = eager(model, lambda: model(IDS, output_attentions=True)).attentions
    rows_lhk = np.stack([x[0, :, 6].double().numpy() for x in own])
    looked = watched().looks_at(6)
    np.testing.assert_allclose(looked.weights_lhk, rows_lhk, atol=STEPS)
    mean_k = rows_lhk.mean(axis=(0, 1))
    assert [x.key for x in looked.tokens] == np.argsort(-mean_k[:7]).tolist()
    assert looked.tokens[0].weight == pytest.approx(mean_k.max(), abs=STEPS)
    assert {x.even for x in looked.tokens} == {1 / 7}
    part, layer, head = looked.tokens[0].best
    assert part == "decoder"
    assert rows_lhk[layer, head, looked.tokens[0].key] == pytest.approx(
        rows_lhk[..., looked.tokens[0].key].max(), abs=STEPS
    )
    assert str(looked).startswith("'6' looks at (mean weights of all heads; even attention in ")


def test_norm_weighted_rows_sum_to_one_and_differ():
    seen = watched()
    plain, norm = seen.looks_at(6), seen.looks_at(6, weighted="norm")
    np.testing.assert_allclose(norm.weights_lhk.sum(-1), 1, atol=STEPS)
    assert np.abs(norm.weights_lhk - plain.weights_lhk).max() > 0.01


def test_weights_are_all_of_them_or_a_hint():
    seen = watched()
    np.testing.assert_array_equal(seen[1].weights, seen[1].map)
    assert "all of them in .weights" in str(seen[1])
    with pytest.raises(NotAskedError) as error:
        _ = watched(map=4)[1].weights
    assert str(error.value) == (
        "decoder layer 1 holds facts about its weights, and blocks of them in .map: watch with "
        "map=11 for every weight, or keep='all' for any tile(rows, columns)."
    )


class SumOfProducts(torch.nn.Module):
    """Attention whose values meet the weights in no matrix product."""

    def forward(self, x_bte):
        weights_bqk = (x_bte @ x_bte.mT).softmax(-1)
        return (weights_bqk[..., None] * x_bte[:, None]).sum(-2)


class Half(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.plain = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        self.summed = SumOfProducts()

    def forward(self, x):
        return self.summed(self.plain(x, x, x, need_weights=False)[0])


def test_a_softmax_that_is_not_recorded_is_named():
    model = Half().eval()
    seen = seen_by(model, torch.randn(1, 5, 8))
    assert seen.unrecorded == ("summed",)
    assert "Not recorded: a softmax that no product with a value follows" in str(seen)
    assert "in summed." in str(seen)


def test_keys_of_another_text_are_cross_attention():
    model = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    query, key = torch.randn(1, 3, 8), torch.randn(1, 5, 8)
    with torch.no_grad(), regard.watch(model) as seen:
        model(query, key, key)
    assert seen.parts == ("cross",)


def led():
    sizes = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 1, "encoder_ffn_dim": 32,
             "decoder_ffn_dim": 32, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
             "max_encoder_position_embeddings": 32, "max_decoder_position_embeddings": 32,
             "vocab_size": 60}  # fmt: skip
    model = hf.LEDModel(hf.LEDConfig(**sizes, attention_window=[4, 4])).eval()
    return model, {"input_ids": torch.arange(3, 19)[None], "decoder_input_ids": IDS[:, :5]}


def rt_detr():
    backbone = hf.RTDetrResNetConfig(
        embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1] * 4, layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )  # fmt: skip
    sizes = {"encoder_hidden_dim": 32, "encoder_in_channels": [8, 16, 16], "encoder_ffn_dim": 32,
             "encoder_attention_heads": 4, "d_model": 32, "decoder_in_channels": [32] * 3,
             "decoder_ffn_dim": 32, "decoder_attention_heads": 4, "decoder_layers": 2,
             "decoder_n_points": 2, "num_queries": 6, "num_denoising": 0}  # fmt: skip
    model = hf.RTDetrModel(hf.RTDetrConfig(backbone_config=backbone, **sizes)).eval()
    return model, {"pixel_values": torch.randn(1, 3, 64, 64)}


LEFT_OUT = {
    led: ("encoder.layers.*.self_attn.longformer_self_attn", ("decoder", "cross")),
    rt_detr: ("decoder.layers.*.encoder_attn", ("encoder", "decoder")),  # deformable attention
}


@pytest.mark.parametrize("made", LEFT_OUT)
def test_attention_of_another_kind_in_a_model_of_transformers_is_named(made):
    (path, parts), (model, inputs) = LEFT_OUT[made], made()
    seen = seen_by(model, inputs)
    assert seen.parts == parts
    assert seen.unrecorded == tuple(path.replace("*", str(layer)) for layer in range(2))
    assert path in " ".join(str(seen).split())
