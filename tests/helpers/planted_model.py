"""A GPT-2 of two layers whose heads are built by hand, and a tokenizer of whole words.

Vectors are three one-hot slots: the token, its position, and the token before, which layer 0
writes. Layer 0: head 0 looks at the token before, head 1 at the first token. Layer 1: head 0 looks
at what followed the same token before (induction) and copies it, head 1 spreads evenly. Every
vector has as many ones as every other, so that layer norms scale all of them alike.
"""

from functools import cache

import tokenizers
import torch
import transformers as hf

TEXT = """
    <s> . the lighthouse number is seven nine four what a river sang to old hills while green boats
    slept in rain and nobody counted their names again
"""
WORDS = tuple(TEXT.split())
SLOT, POSITIONS, HEADS, WIDTH = 32, 64, 2, 128
POSITION_AT, BEFORE_AT = SLOT, SLOT + POSITIONS
SPECIAL = {"bos_token": "<s>", "pad_token": "<s>"}
SHARP = 5.0  # scores of a hit lie 40 above all others: weights of the others are below 1e-17


@cache
def planted_tokenizer() -> hf.PreTrainedTokenizerFast:
    plain = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, "again")
    )
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return hf.PreTrainedTokenizerFast(tokenizer_object=plain, **SPECIAL)


@cache
def planted_model() -> hf.GPT2LMHeadModel:
    config = hf.GPT2Config(vocab_size=len(WORDS), n_embd=WIDTH, n_layer=2, n_head=HEADS,
                           n_positions=POSITIONS, bos_token_id=0, eos_token_id=None,
                           pad_token_id=0)  # fmt: skip
    model = hf.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(1.0 if ".ln_" in name and name.endswith("weight") else 0.0)
        model.transformer.wte.weight[:, : len(WORDS)] = torch.eye(len(WORDS))
        model.transformer.wpe.weight[:, POSITION_AT:BEFORE_AT] = torch.eye(POSITIONS)
        first, second = (block.attn for block in model.transformer.h)
        at = torch.arange(POSITIONS)
        # query: position p asks for p - 1; key: position p answers to p
        _plant(first, 0, query=(POSITION_AT + at[1:], at[:-1]), key=(POSITION_AT + at, at))
        # every query asks for the first position
        _plant(first, 1, query=(at[:0], at[:0]), key=(POSITION_AT, 0))
        first.c_attn.bias[WIDTH // HEADS] = 8 * SHARP
        token = torch.arange(SLOT)
        _carry(first, 0, token, BEFORE_AT + token, 0.125)  # a layer norm makes a one about 8
        _plant(second, 0, query=(token, token), key=(BEFORE_AT + token, token))
        _carry(second, 0, token, token, 1.0)
    return model


def _plant(attention, head, query, key):
    """Query and key of a head, each (features of the vector, features of the head)."""
    width = WIDTH // HEADS
    attention.c_attn.weight[query[0], head * width + query[1]] = SHARP
    attention.c_attn.weight[key[0], WIDTH + head * width + key[1]] = 1.0


def _carry(attention, head, source, target, size):
    """A head that writes features of what it looks at into other features."""
    width = WIDTH // HEADS
    inside = head * width + torch.arange(len(source))
    attention.c_attn.weight[source, 2 * WIDTH + inside] = 1.0
    attention.c_proj.weight[inside, target] = size
