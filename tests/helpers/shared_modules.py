"""Models that run one module several times in a forward, and what eager says of each call."""

import sys

import numpy as np
import torch
import transformers as hf
from tests.helpers.model_families import VOCABULARY, check_facts, eager, real

SIZES = {"vocab_size": VOCABULARY, "embedding_size": 8, "hidden_size": 16, "num_hidden_layers": 4,
         "num_attention_heads": 4, "intermediate_size": 24, "max_position_embeddings": 64,
         "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}  # fmt: skip
SHARED = {
    "one group": {},
    "two groups": {"num_hidden_groups": 2},
    "two layers in the group": {"inner_group_num": 2, "num_hidden_layers": 3},
    "both": {"num_hidden_groups": 2, "inner_group_num": 2},
}
# Scores reach 50, and float32 leaves a hidden state a few steps of 6e-8 off after each layer: a
# score moves by up to 50 * 2 * 5e-7, and a weight or an entropy by as much. Another layer's weights
# are off by more than 0.1.
SHARP = 1e-4


def sharp(model):
    """Random parameters with query and key matrices times 8, so that weights are far from even."""
    torch.manual_seed(3)
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.1)
            if any(x in name for x in ("query", "key", "q_proj", "k_proj", "qkv")):
                parameter.data *= 8
    return model.eval()


def albert(model=hf.AlbertModel, **sizes):
    return sharp(model(hf.AlbertConfig(**SIZES | sizes)))


def layer_numbers(seen, part="encoder"):
    return [place.layer for place in seen.names if place.part == part]


def runs(seen):
    return seen.runs


def check_every_layer(seen, attentions, mask=None, allowed=SHARP):
    """Every layer in the order of the calls, for every sentence without its padding."""
    assert layer_numbers(seen, seen.parts[0]) == list(range(len(attentions)))
    for layer, weights_bhqk in enumerate(attentions):
        for sentence in range(seen.sentences):
            weights_hqk = weights_bhqk[sentence].double().numpy()
            if mask is not None:
                rows = real(mask, sentence)
                weights_hqk = weights_hqk[:, rows][:, :, rows]
            check_facts(seen.sentence(sentence)[seen.parts[0], layer], weights_hqk, allowed)


def stitched(steps, layer, sentence, rows):
    """All rows of all steps over the keys of the last, padding left out."""
    last = steps[-1][layer].shape[-1]
    parts = []
    for number, step in enumerate(steps):
        weights_hqk = step[layer][sentence].double().numpy()
        full_hqk = np.zeros((*weights_hqk.shape[:2], last))
        full_hqk[..., : weights_hqk.shape[2]] = weights_hqk
        parts.append(full_hqk if number else full_hqk[:, rows])
    return np.concatenate(parts, axis=1)[..., int(rows[0]) :]


def recorded(model, call, monkeypatch):
    """What the model's eager attention gives, and its weights, call by call with its module."""
    file, weights_of = sys.modules[type(model).__module__], []
    own = file.eager_attention_forward

    def recording(module, *arguments, **named):
        output, weights = own(module, *arguments, **named)
        weights_of.append((module, weights.double().numpy()))
        return output, weights

    with monkeypatch.context() as patched:
        patched.setattr(file, "eager_attention_forward", recording)
        return eager(model, call), weights_of
