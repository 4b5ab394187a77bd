"""Sources of a generated text: attention from all weights, effects from runs with keys masked."""

import numpy as np
import pytest
import torch
from tests.helpers.model_families import FAMILIES, HEADS, LAYERS, batch, eager

import regard
from regard.errors import ArgumentError, BackendError

FAMILY = {family.name: family for family in FAMILIES}
LLAMA, GPT2, BART = (FAMILY[name] for name in ("llama", "gpt2", "bart"))
IDS = batch("not", 1)["input_ids"]
SPANS = {"system": (0, 3), "document": (3, 7)}
SENTENCES = [(7, 9), (9, 11)]


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


def seen_of(family, ids=IDS):
    with regard.watch(family.made()) as seen:
        family.made()(input_ids=ids)
    return seen


def output_matrices(family):
    """W_O (h, d, e) of each layer."""
    model = family.made()
    if family is GPT2:
        weights = [block.attn.c_proj.weight for block in model.transformer.h]
    else:
        weights = [block.self_attn.o_proj.weight.T for block in model.model.layers]
    return [weight.reshape(HEADS, -1, weight.shape[-1]) for weight in weights]


def values(family):
    """Value vectors (h, k, d) of each layer."""
    model = family.made()
    states = model(input_ids=IDS, output_hidden_states=True).hidden_states
    vectors = []
    for layer in range(LAYERS):
        if family is GPT2:
            block = model.transformer.h[layer]
            value = block.attn.c_attn(block.ln_1(states[layer]))[..., 32:]
        else:
            block = model.model.layers[layer]
            value = block.self_attn.v_proj(block.input_layernorm(states[layer]))
        value = value[0].reshape(IDS.shape[1], -1, 4).transpose(0, 1)
        vectors.append(value.repeat_interleave(HEADS // len(value), dim=0))
    return vectors


@pytest.mark.parametrize("family", [LLAMA, GPT2], ids=str)
def test_attention_is_norm_weighted_over_all_heads(family):
    sources = seen_of(family).sources(SPANS, SENTENCES)
    model = family.made()
    attentions = eager(model, lambda: model(input_ids=IDS, output_attentions=True).attentions)
    expected = np.zeros((2, 3))
    for weights, value, w_output in zip(
        attentions, values(family), output_matrices(family), strict=True
    ):
        weighted = weights[0] * (value @ w_output).norm(dim=-1)[:, None]
        weighted = weighted / weighted.sum(-1, keepdim=True)
        for s, (start, stop) in enumerate(SENTENCES):
            mean_k = weighted[:, start - 1 : stop - 1].mean((0, 1)).numpy()
            spans = [*SPANS.values(), (7, start)]
            expected[s] += [mean_k[low:high].sum() / LAYERS for low, high in spans]
    np.testing.assert_allclose(sources.attention_sn[:, :3], expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(sources.attention_sn.sum(axis=1), 1, rtol=0, atol=1e-5)


@pytest.mark.parametrize("family", [LLAMA, GPT2], ids=str)
def test_an_effect_is_a_run_with_the_span_masked(family):
    """A 4-D mask of the model's own hides the span from every other token."""
    sources = seen_of(family).sources(SPANS, SENTENCES)
    model, tokens = family.made(), IDS.shape[1]
    causal = torch.ones(tokens, tokens).tril().bool()

    def log_probabilities(visible):
        added = torch.where(visible, 0.0, torch.finfo(torch.float32).min)[None, None]
        logits = model(input_ids=IDS, attention_mask=added).logits[0].double()
        logp = logits.log_softmax(-1)
        return [sum(float(logp[t - 1, IDS[0, t]]) for t in range(*s)) for s in SENTENCES]

    own = log_probabilities(causal)
    for number, (low, high) in enumerate([*SPANS.values(), (7, 9)]):
        visible = causal.clone()
        visible[[row for row in range(tokens) if not low <= row < high], low:high] = False
        hidden = log_probabilities(visible)
        for s in range(2):
            if number < 2 or s == 1:
                expected = own[s] - hidden[s]
                assert sources.effect_sn[s, number] == pytest.approx(expected, abs=1e-4)
    assert np.isnan(sources.effect_sn[0, 2])


@pytest.mark.parametrize("family", [LLAMA, GPT2], ids=str)
def test_a_layer_with_norm_weighted_weights(family):
    model = family.made()
    attentions = eager(model, lambda: model(input_ids=IDS, output_attentions=True).attentions)
    norms_hk = (values(family)[1] @ output_matrices(family)[1]).norm(dim=-1)
    weighted = attentions[1][0] * norms_hk[:, None]
    weighted = (weighted / weighted.sum(-1, keepdim=True)).numpy()
    layer = seen_of(family).norm_weighted(1)
    np.testing.assert_allclose(layer.map, weighted, rtol=0, atol=1e-5)
    np.testing.assert_allclose(layer.received, weighted.sum(-2), rtol=0, atol=1e-4)
    assert "These are not the attention weights." in layer.notes[0]
    with pytest.raises(ArgumentError) as error:
        seen_of(family).norm_weighted(2)
    assert str(error.value) == (
        "decoder layer 2 did not run; the layers that did are: decoder layer 0, decoder layer 1."
    )


def test_the_page_says_how_well_attention_predicted_the_effect():
    sources = seen_of(LLAMA).sources(SPANS, SENTENCES)
    known = ~np.isnan(sources.effect_sn)
    pairs = np.corrcoef(sources.attention_sn[known], sources.effect_sn[known])
    assert sources.correlation == pytest.approx(pairs[0, 1])
    assert f"Correlation of attention and effect: {pairs[0, 1]:.2f}." in str(sources)
    assert sources.spans[2:] == ("answer so far", "this sentence", "the rest")
    assert sources.to_dict()["effect"][0][2] is None


def test_what_is_generated_is_one_sentence_where_there_is_no_tokenizer():
    model = LLAMA.made()
    with regard.watch(model) as seen:
        model.generate(IDS, max_new_tokens=4, min_new_tokens=4, do_sample=False)
    sources = seen.sources({"system": (0, 4), "document": (4, 11)})
    assert sources.sentence_spans == ((11, 14),)
    # A question after the spans, or the mark of the answer's role, is no part of the answer.
    sources = seen.sources({"system": (0, 4), "document": (4, 9)})
    assert sources.sentence_spans == ((11, 14),)
    np.testing.assert_allclose(sources.attention_sn.sum(axis=1), 1, rtol=0, atol=1e-5)


def test_what_is_wrong_is_explained():
    seen = seen_of(LLAMA)
    wrong = {
        "sources needs spans as {name: text} or {name: (start, stop)} in tokens, the messages of a "
        "chat or 'lines', and a model that generates after its context, as decoders do.":
        ({}, None),
        "a span must be (start, stop) in tokens, 0 <= start < stop <= 11, got (3, 12).":
            ({"a": (3, 12)}, None),
        "sources needs tokens after the spans, but the text ends with them, at 11: call "
        "model.generate inside the block.": ({"a": (3, 11)}, None),
        "a sentence must be (start, stop) in tokens after the spans, 7 <= start < stop <= 11, got "
        "(5, 8).": (SPANS, (5, 8)),
    }  # fmt: skip
    for message, arguments in wrong.items():
        with pytest.raises(ArgumentError) as error:
            seen.sources(*arguments)
        assert str(error.value) == message


def test_a_layer_without_an_output_projection():
    model = FAMILY["bert"].made()
    with regard.watch(model) as seen:
        model(input_ids=IDS)
    with pytest.raises(BackendError, match="needs the output projection of BertSelfAttention"):
        seen.norm_weighted(1)


def test_one_sentence_looks_at_itself_and_lines_are_named_by_their_text():
    seen = seen_of(LLAMA)
    sources = seen.sources({"line 1": (0, 4), "line 2": (4, 7)}, (7, 11))
    own, rest = sources.spans.index("this sentence"), sources.spans.index("the rest")
    rows = [np.asarray(seen.norm_weighted(layer).map)[:, 6:10] for layer in range(LAYERS)]
    assert sources.attention_sn[0, own] == pytest.approx(
        np.mean([x[..., 7:].sum(-1).mean() for x in rows]), abs=1e-5
    )
    assert sources.attention_sn[0, own] > 0.1
    assert sources.attention_sn[0, rest] == pytest.approx(0, abs=1e-5)
    page = " ".join(str(sources).split())
    assert "line 1: tokens 0 to 3" in page
    assert "none, as it needs 3 pairs of attention and effect, and there are 2" in page


@pytest.mark.parametrize("family", [LLAMA, GPT2], ids=str)
def test_a_report_of_norm_weighted_weights(family):
    """Measures of eager weights times the norms of what they carry, as shares of their rows."""
    model, ids = family.made(), torch.tensor([[5, 6, 7, 5, 6, 8, 7]])
    with regard.watch(model) as seen:
        model(ids)
    report = seen.report(weighted="norm")
    assert report.weighted == report.sorted("first").weighted == report.to_dict()["weighted"]
    assert "norm-weighted: each weight times the length" in " ".join(str(report).split())
    for row in report.rows:
        weights_qk = np.asarray(seen.norm_weighted(row.layer).map[row.head], np.float64)
        assert row.measured["first"] == pytest.approx(weights_qk[:, 0].mean(), abs=1e-6)
        previous = np.trace(weights_qk, -1) / 7
        assert row.measured["previous"] == pytest.approx(previous, abs=1e-6)
        # 5, 6 and 7 come again at 3, 4 and 6; what followed them stands at 1, 2 and 3.
        induction = np.mean([weights_qk[3, 1], weights_qk[4, 2], weights_qk[6, 3]])
        assert row.measured["induction"] == pytest.approx(induction, abs=1e-6)
        plain = seen.report().rows[report.rows.index(row)]
        assert row.baseline["first"] == pytest.approx(plain.baseline["first"], abs=1e-9)
