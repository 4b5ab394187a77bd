"""Headers of .gguf files, and the beginning-of-text token that they ask for."""

import struct
from importlib.util import find_spec

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import PreTrainedTokenizerFast

from regard.corpus.manifest import model_fingerprint
from regard.errors import FileError
from regard.watcher.files.model_folder import (
    asks_for_beginning,
    load_folder,
    read_header,
    with_beginning,
)

PIECES = ["<unk>", "<s>", "</s>", "▁", *(f"▁{x}" for x in "abcd"), *"abcd"]


def packed(value):
    """A field's value with the number of its kind."""
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    items = [packed(x) for x in value]
    kind, size = items[0][:4], struct.pack("<Q", len(items))
    return struct.pack("<I", 9) + kind + size + b"".join(item[4:] for item in items)


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def header(path, **fields):
    fields = {f"tokenizer.ggml.{name}": value for name, value in fields.items()}
    begin = b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields))
    path.write_bytes(begin + b"".join(text(x) + packed(value) for x, value in fields.items()))
    return path


def test_fields_of_one_value_are_read(tmp_path):
    path = header(tmp_path / "a.gguf", tokens=["é", "b"], scores=[0.0, 1.0], model="gpt2",
                  bos_token_id=1, add_bos_token=True)  # fmt: skip
    assert read_header(path) == {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.add_bos_token": True,
    }


@pytest.mark.parametrize(
    ("fields", "begins"),
    [
        ({"model": "gpt2", "add_bos_token": True}, True),
        ({"model": "llama", "add_bos_token": False}, False),
        ({"model": "llama"}, True),
        ({"model": "gpt2", "pre": "llama-bpe"}, True),
        ({"model": "gpt2", "pre": "qwen2"}, False),
    ],
    ids=str,
)
def test_whether_a_text_begins_with_a_token(tmp_path, fields, begins):
    assert asks_for_beginning(header(tmp_path / "a.gguf", **fields)) is begins


def test_what_is_no_header(tmp_path):
    path = header(tmp_path / "a.gguf", model="llama")
    path.write_bytes(path.read_bytes()[:-3])
    (tmp_path / "b.gguf").write_bytes(b"else")
    for name, words in (
        ("a", "must have the header of a .gguf file, and it is cut short."),
        ("b", "must be a .gguf file, and it does not begin as one."),
    ):
        with pytest.raises(FileError) as error:
            asks_for_beginning(tmp_path / f"{name}.gguf")
        assert str(error.value) == f"{tmp_path / name}.gguf {words}"


def test_a_tokenizer_begins_once():
    backend = Tokenizer(WordLevel({"<unk>": 0, "<s>": 1, "a": 2}, "<unk>"))
    backend.pre_tokenizer = Whitespace()
    special = {"bos_token": "<s>", "unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **special)
    assert tokenizer("a a")["input_ids"] == [2, 2]
    for _ in range(2):
        assert with_beginning(tokenizer)("a a")["input_ids"] == [1, 2, 2]


def test_the_digest_of_a_model_in_one_file(tmp_path):
    path = header(tmp_path / "a.gguf", model="llama")
    before = model_fingerprint(path)
    assert model_fingerprint(path) == before
    assert model_fingerprint(header(path, model="gpt2")) != before


@pytest.mark.skipif(
    not (find_spec("gguf") and find_spec("accelerate")),
    reason="transformers reads .gguf files with gguf and accelerate, which are not installed",
)
def test_a_file_is_read_with_its_beginning(tmp_path):
    import gguf

    file = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    for name, value in (("tokenizer_model", "llama"), ("token_list", PIECES),
                        ("token_scores", [-float(x) for x in range(len(PIECES))]),
                        ("token_types", [2, 3, 3] + [1] * (len(PIECES) - 3)),
                        ("bos_token_id", 1), ("eos_token_id", 2), ("add_bos_token", True),
                        ("context_length", 64), ("embedding_length", 32), ("block_count", 1),
                        ("feed_forward_length", 64), ("head_count", 4), ("head_count_kv", 4),
                        ("layer_norm_rms_eps", 1e-5), ("rope_dimension_count", 8),
                        ("vocab_size", len(PIECES))):  # fmt: skip
        getattr(file, f"add_{name}")(value)
    shapes = {"token_embd": (len(PIECES), 32), "output": (len(PIECES), 32), "output_norm": (32,)}
    shapes |= {f"blk.0.{name}": (32, 32) for name in ("attn_q", "attn_k", "attn_v", "attn_output")}
    shapes |= {"blk.0.ffn_gate": (64, 32), "blk.0.ffn_up": (64, 32), "blk.0.ffn_down": (32, 64),
               "blk.0.attn_norm": (32,), "blk.0.ffn_norm": (32,)}  # fmt: skip
    for name, shape in shapes.items():
        file.add_tensor(f"{name}.weight", torch.ones(shape).numpy())
    for write in ("header_to_file", "kv_data_to_file", "tensors_to_file"):
        getattr(file, f"write_{write}")()
    file.close()
    loaded = load_folder(tmp_path / "a.gguf")
    assert loaded.tokenizer("a b")["input_ids"][0] == 1
