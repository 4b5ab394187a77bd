"""One table of model families, tiny and with random parameters, and what eager says of them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
import transformers as hf

VOCABULARY, LAYERS, HEADS = 40, 2, 4
_SIZES = {"vocab_size": VOCABULARY, "hidden_size": 16, "num_hidden_layers": LAYERS,
          "num_attention_heads": HEADS, "intermediate_size": 24, "max_position_embeddings": 64,
          "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}  # fmt: skip
_GROUPED = _SIZES | {"num_key_value_heads": 2}
_BART = {"vocab_size": VOCABULARY, "d_model": 16,
         "encoder_layers": LAYERS, "decoder_layers": LAYERS,
         "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS,
         "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 64,
         "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2,
         "forced_eos_token_id": None}  # fmt: skip
_T5 = {"vocab_size": VOCABULARY, "d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": LAYERS,
       "num_heads": HEADS, "decoder_start_token_id": 0, "pad_token_id": 0,
       "eos_token_id": 2}  # fmt: skip
_GPT2 = {"vocab_size": VOCABULARY, "n_embd": 16, "n_layer": LAYERS, "n_head": HEADS,
         "n_positions": 64, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}  # fmt: skip
_LOCAL = {"sliding_window": 5}
# Weights are softmax of float32 scores of a few units; two layers of products of random numbers
# around 0.3 * 4 make an output of up to 30, whose float32 step is 2e-6. Another order of summing
# moves each by a few steps: 2e-5 of the largest number covers ten of them.
STEPS = 2e-5


@dataclass(frozen=True)
class Family:
    """A model class, its config and sizes, and which sides it has."""

    name: str
    model: Callable[..., Any]
    config: Callable[..., Any]
    sizes: dict[str, Any]
    kind: str  # encoder, decoder, both

    def __str__(self) -> str:
        return self.name

    def made(self, dtype: torch.dtype = torch.float32) -> Any:
        """A model whose attention is neither even nor all on one key."""
        return _made(self.name, dtype)


FAMILIES = (
    Family("bert", hf.BertModel, hf.BertConfig, _SIZES, "encoder"),
    Family("roberta", hf.RobertaModel, hf.RobertaConfig, _SIZES, "encoder"),
    Family("albert", hf.AlbertModel, hf.AlbertConfig, _SIZES | {"embedding_size": 8}, "encoder"),
    Family("modernbert", hf.ModernBertModel, hf.ModernBertConfig,
           _SIZES | {"local_attention": 8, "global_attn_every_n_layers": 2, "cls_token_id": 1,
                     "sep_token_id": 2}, "encoder"),
    Family("gpt2", hf.GPT2LMHeadModel, hf.GPT2Config, _GPT2, "decoder"),
    Family("llama", hf.LlamaForCausalLM, hf.LlamaConfig, _GROUPED, "decoder"),
    Family("qwen2", hf.Qwen2ForCausalLM, hf.Qwen2Config, _GROUPED, "decoder"),
    Family("qwen3", hf.Qwen3ForCausalLM, hf.Qwen3Config, _GROUPED | {"head_dim": 4}, "decoder"),
    Family("gemma2", hf.Gemma2ForCausalLM, hf.Gemma2Config,
           _GROUPED | _LOCAL | {"head_dim": 4, "query_pre_attn_scalar": 4,
                                "attn_logit_softcapping": 2.0}, "decoder"),
    Family("mistral", hf.MistralForCausalLM, hf.MistralConfig, _GROUPED | _LOCAL, "decoder"),
    Family("t5", hf.T5ForConditionalGeneration, hf.T5Config, _T5, "both"),
    Family("bart", hf.BartForConditionalGeneration, hf.BartConfig, _BART, "both"),
    Family("marian", hf.MarianMTModel, hf.MarianConfig, _BART, "both"),
)  # fmt: skip


@cache
def _made(name: str, dtype: torch.dtype) -> Any:
    family = next(family for family in FAMILIES if family.name == name)
    torch.manual_seed(0)
    model = family.model(family.config(**family.sizes)).eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    return model.to(dtype)


def batch(padded: str, sentences: int = 3, tokens: int = 11) -> dict[str, torch.Tensor]:
    """Sentences of 11, 9 and 7 tokens, padded to the same length on one side, or all of 11."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(3, VOCABULARY, (sentences, tokens), generator=generator)
    mask = torch.ones_like(ids)
    for sentence in range(sentences):
        if padded == "right":
            mask[sentence, tokens - 2 * sentence :] = 0
        if padded == "left":
            mask[sentence, : 2 * sentence] = 0
    return {"input_ids": ids * mask, "attention_mask": mask}


def eager(model: Any, call: Callable[[], Any]) -> Any:
    """What the model's eager attention says, all weights given out; then as it was."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            return call()
    finally:
        model.set_attn_implementation(before)


def real(mask: torch.Tensor, sentence: int) -> np.ndarray:
    """The places of a sentence's real tokens."""
    return np.flatnonzero(mask[sentence].numpy())


def facts_of(weights_hqk: np.ndarray) -> dict[str, np.ndarray]:
    """Each fact by its definition, from all the weights."""
    logs = np.log(np.where(weights_hqk > 0, weights_hqk, 1))
    return {
        "map": weights_hqk,
        "entropy": -(weights_hqk * logs).sum(axis=-1),
        "received": weights_hqk.sum(axis=-2),
        "top": -np.sort(-weights_hqk, axis=-1)[..., :4],
    }


def close(actual: Any, expected: Any, allowed: float) -> None:
    """Equal up to a part of the largest number."""
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=allowed * scale)


def check_facts(layer: Any, weights_hqk: np.ndarray, allowed: float = STEPS) -> None:
    """Every fact of a layer by its definition, and its tiles where it holds query and key."""
    expected = facts_of(weights_hqk)
    close(layer.top(4).weights, expected.pop("top"), allowed)
    for name, fact in expected.items():
        close(getattr(layer, name), fact, allowed)
    if layer.parts:
        close(layer.tile(slice(None), slice(None)), weights_hqk, allowed)


def recompute_layers(model, **options):
    """Activation checkpointing, by the name that this release of transformers has for it."""
    enable = getattr(model, "activation_checkpointing_enable", None)
    (enable or model.gradient_checkpointing_enable)(options)
