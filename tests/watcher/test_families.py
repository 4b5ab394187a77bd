"""Every family, padded and not: the output is eager's, and so is every fact."""

import numpy as np
import pytest
import torch
from tests.helpers.model_families import FAMILIES, STEPS, batch, check_facts, close, eager, real

import regard

PADDED = ("not", "left", "right")
NAMES = {"encoder": "encoder_attentions", "decoder": "decoder_attentions",
         "cross": "cross_attentions"}  # fmt: skip


def one_call(family, model, padded):
    """The arguments of one forward: decoders get positions that do not count padding."""
    inputs = batch(padded)
    if family.kind == "both":
        inputs["decoder_input_ids"] = batch("not", tokens=5)["input_ids"]
    if family.kind == "decoder":
        inputs["position_ids"] = (inputs["attention_mask"].cumsum(-1) - 1).clamp(min=0)
    return inputs


def hidden(output):
    return output.logits if hasattr(output, "logits") else output.last_hidden_state


@pytest.mark.parametrize("padded", PADDED)
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_one_forward(family, padded):
    model = family.made()
    inputs = one_call(family, model, padded)
    expected = eager(model, lambda: model(**inputs, output_attentions=True))
    before = model.config._attn_implementation
    with torch.no_grad(), regard.watch(model, top=4, keep="all") as seen:
        actual = model(**inputs)
    assert model.config._attn_implementation == before

    asked = inputs["attention_mask"] if family.kind != "both" else torch.ones(3, 5)
    for sentence in range(3):
        rows = real(asked, sentence)
        close(
            hidden(actual)[sentence, rows].numpy(), hidden(expected)[sentence, rows].numpy(), STEPS
        )
    check_layers(family, seen, expected, inputs)


def check_layers(family, seen, expected, inputs):
    parts = {"encoder": ("encoder",), "decoder": ("decoder",),
              "both": ("encoder", "decoder", "cross")}[family.kind]  # fmt: skip
    assert [tuple(layer_key) for layer_key in seen.names] == [
        (s, i) for s in parts for i in range(2)
    ]
    for layer_key in seen.names:
        name = NAMES[layer_key.part] if family.kind == "both" else "attentions"
        weights_bhqk = getattr(expected, name)[layer_key.layer].double().numpy()
        for sentence in range(3):
            source, target = real(inputs["attention_mask"], sentence), np.arange(5)
            rows = source if family.kind != "both" or layer_key.part == "encoder" else target
            columns = target if family.kind == "both" and layer_key.part == "decoder" else source
            weights_hqk = weights_bhqk[sentence][:, rows][:, :, columns]
            check_facts(seen.sentence(sentence)[layer_key], weights_hqk)


@pytest.mark.parametrize("padded", ["not", "left"])
@pytest.mark.parametrize("family", [x for x in FAMILIES if x.kind != "encoder"], ids=str)
def test_generate_is_stitched(family, padded):
    model, new = family.made(), 7
    inputs = batch(padded, tokens=8)
    options = {"max_new_tokens": new, "min_new_tokens": new, "do_sample": False}
    expected = eager(model, lambda: model.generate(
        **inputs, **options, output_attentions=True, return_dict_in_generate=True))  # fmt: skip
    with torch.no_grad(), regard.watch(model, top=4, keep="all") as seen:
        actual = model.generate(**inputs, **options)
    assert actual.tolist() == expected.sequences.tolist()

    for layer_key in seen.names:
        name = NAMES[layer_key.part] if family.kind == "both" else "attentions"
        for sentence in range(3):
            source = real(inputs["attention_mask"], sentence)
            weights_hqk = stitched(
                getattr(expected, name), layer_key, sentence, source, family.kind
            )
            check_facts(seen.sentence(sentence)[layer_key], weights_hqk)


def stitched(arguments, layer_key, sentence, source, kind):
    """All rows of all steps over the keys of the last, padding left out."""
    if layer_key.part == "encoder":
        return arguments[layer_key.layer][sentence].double().numpy()[:, source][:, :, source]
    steps = [step[layer_key.layer][sentence].double().numpy() for step in arguments]
    if layer_key.part == "cross":
        return np.concatenate(steps, axis=1)[:, :, source]
    prompt = 1 if kind == "both" else 8
    rows = []
    for number, step_hqk in enumerate(steps):
        # A window's cache lets the oldest keys go: the last key is always the newest token.
        last = prompt + number
        full_hqk = np.zeros((*step_hqk.shape[:2], prompt + len(steps) - 1))
        full_hqk[..., last - step_hqk.shape[2] : last] = step_hqk
        rows.append(full_hqk if number or kind == "both" else full_hqk[:, source])
    start = 0 if kind == "both" else int(source[0])
    return np.concatenate(rows, axis=1)[..., start:]


@pytest.mark.parametrize(
    "family", [x for x in FAMILIES if x.name in ("bert", "gpt2", "bart", "t5")], ids=str
)
def test_float64_to_the_last_digits(family):
    """Where a model takes its softmax in float64 too, nothing is lost at all."""
    model = family.made(torch.float64)
    inputs = one_call(family, model, "right")
    expected = eager(model, lambda: model(**inputs, output_attentions=True))
    with torch.no_grad(), regard.watch(model, top=4) as seen:
        model(**inputs)
    layer_key = seen.names[-1]
    name = NAMES[layer_key.part] if family.kind == "both" else "attentions"
    weights_hqk = getattr(expected, name)[layer_key.layer][1].numpy()
    columns = real(inputs["attention_mask"], 1)
    rows = columns if family.kind != "both" else np.arange(5)
    # Two layers, each a few hundred sums of float64, whose step is 2e-16.
    check_facts(seen.sentence(1)[layer_key], weights_hqk[:, rows][:, :, columns], 1e-12)
