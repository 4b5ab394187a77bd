"""Tokenizers of the three kinds that models use, trained on a few lines."""

from functools import cache

import tokenizers as tk
import transformers as hf

TEXT = (
    "# Notes\n\nThe dog ate the food, because it was hungry.\n\tThe food was good!\r\n"
    "日本語 and 你好, naïve 👩‍🚀🍕: 3.5 %  (twice)\n\n    def f(x):\n        return x  \n"
)
SPECIAL = ["<unk>", "<s>", "</s>"]
UNKNOWN = SPECIAL[0]
NAMES = dict(zip(("unk_token", "bos_token", "eos_token"), SPECIAL, strict=True))


def _fast(tokenizer: tk.Tokenizer) -> hf.PreTrainedTokenizerFast:
    tokenizer.post_processor = tk.processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
    )
    return hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **NAMES)


@cache
def byte_level() -> hf.PreTrainedTokenizerFast:
    """As GPT-2's: every text has tokens."""
    tokenizer = tk.Tokenizer(tk.models.BPE())
    tokenizer.pre_tokenizer = tk.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tk.decoders.ByteLevel()
    alphabet = tk.pre_tokenizers.ByteLevel.alphabet()
    trainer = tk.trainers.BpeTrainer(
        vocab_size=340, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([TEXT] * 3, trainer)
    return _fast(tokenizer)


@cache
def sentence_piece() -> hf.PreTrainedTokenizerFast:
    """As Llama's: blanks are part of tokens, unknown characters are bytes."""
    tokenizer = tk.Tokenizer(tk.models.BPE(byte_fallback=True, unk_token=UNKNOWN, fuse_unk=True))
    tokenizer.normalizer = tk.normalizers.Sequence(
        [tk.normalizers.Prepend("▁"), tk.normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = tk.decoders.Sequence(
        [
            tk.decoders.Replace("▁", " "),
            tk.decoders.ByteFallback(),
            tk.decoders.Fuse(),
            tk.decoders.Strip(" ", 1, 0),
        ]
    )
    latin = "".join(letter for letter in TEXT if letter < "\u0100" and letter not in "\n\r\t")
    known = [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = tk.trainers.BpeTrainer(vocab_size=400, special_tokens=known, show_progress=False)
    tokenizer.train_from_iterator([latin] * 3, trainer)
    return _fast(tokenizer)


@cache
def word_piece() -> hf.PreTrainedTokenizerFast:
    """As BERT's: small letters, no blanks."""
    tokenizer = tk.Tokenizer(tk.models.WordPiece(unk_token=UNKNOWN))
    tokenizer.normalizer = tk.normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = tk.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = tk.decoders.WordPiece()
    trainer = tk.trainers.WordPieceTrainer(
        vocab_size=120, special_tokens=SPECIAL, show_progress=False
    )
    tokenizer.train_from_iterator(["The dog ate the food, because it was hungry. (x)"], trainer)
    return _fast(tokenizer)


@cache
def clip() -> hf.CLIPTokenizer:
    """As Stable Diffusion's: a piece says where its word ends."""
    letters = "acrnt,"
    names = ["<|startoftext|>", "<|endoftext|>", *letters, *(f"{x}</w>" for x in letters),
             "ca", "cat</w>"]  # fmt: skip
    vocabulary = {name: number for number, name in enumerate(names)}
    return hf.CLIPTokenizer(vocab=vocabulary, merges=[("c", "a"), ("ca", "t</w>")])
