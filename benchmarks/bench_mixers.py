"""Cost of the weights of layers without a softmax, beside TransformerLens: 1k, 8k and 32k tokens.

    python benchmarks/bench_mixers.py            # writes benchmarks/results/mixers.json
    python benchmarks/bench_mixers.py 1024       # these lengths alone; writes nothing

Models of one layer. Times are processor time beside one forward of the model on the same text;
memory is the peak of a fresh process above that of its start. The proofs are all those that are
made before a number is shown; rows are 64, evenly spaced, with their tokens. A table of weights
n x n is not made: its size is beside it. TransformerLens makes it: its time is that of
run_with_cache and compute_ssm_effective_attention, its error |M v - o| / |o| in 64 rows, beside
that of the rows of regard. It is installed apart (pip install transformer-lens), and left out
without; it is not run where six such tables, which it needs, are more than half of the memory.
"""

import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch
from machine import write
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from transformers import (
    Mamba2Config,
    Mamba2ForCausalLM,
    PreTrainedTokenizerFast,
    Qwen3NextConfig,
    Qwen3NextForCausalLM,
)

import regard
from regard.watcher.mixers.mixer_table import evenly

LENGTHS, ROWS, VOCABULARY = (1024, 8192, 32768), 64, 64
TABLES = 6  # n x n in float32 for each head, that TransformerLens holds at once


def gated_delta() -> nn.Module:
    config = Qwen3NextConfig(
        vocab_size=VOCABULARY, hidden_size=512, linear_num_key_heads=2, linear_num_value_heads=4,
        num_hidden_layers=1, linear_key_head_dim=128, linear_value_head_dim=128, num_experts=0,
        layer_types=["linear_attention"], mlp_only_layers=[0], intermediate_size=512,
        pad_token_id=0,
    )  # fmt: skip
    return Qwen3NextForCausalLM(config)


def mamba2() -> nn.Module:
    config = Mamba2Config(
        vocab_size=VOCABULARY, hidden_size=256, expand=2, num_heads=8, head_dim=64, n_groups=1,
        state_size=128, num_hidden_layers=1, pad_token_id=0,
    )  # fmt: skip
    model = Mamba2ForCausalLM(config)
    layer = model.backbone.layers[0].mixer
    nn.init.uniform_(layer.dt_bias, -4, -1)
    nn.init.uniform_(layer.A_log, 0, 2)
    return model


# The model, its heads.
LAYERS: dict[str, tuple[Callable[[], nn.Module], int]] = {
    "gated delta, 4 heads of 128": (gated_delta, 4),
    "Mamba 2, 8 heads of 64": (mamba2, 8),
}


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def made(name: str, tokens: int) -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = LAYERS[name][0]().eval()
    ids = torch.randint(3, VOCABULARY, (1, tokens))
    with torch.no_grad():
        model(input_ids=ids[:, :64], use_cache=False)  # what is loaded at the first call
    return model, ids


def of_regard(name: str, tokens: int) -> dict[str, Any]:
    """The figures of one layer at one length, in this process."""
    model, ids = made(name, tokens)
    start = peak_mb()
    with torch.no_grad():
        forward, _ = seconds(lambda: model(input_ids=ids, use_cache=False))
        forward_mb = peak_mb() - start
        with regard.watch(model, mixers=True) as seen:
            model(input_ids=ids, use_cache=False)
    (mixer,) = seen.mixers
    half = tokens // 2
    times = {
        "proofs": lambda: mixer.proofs,
        "rows": lambda: mixer.measured,
        "received": lambda: mixer.received,
        "span": lambda: mixer.span((half, tokens), (0, half), signed=True),
    }
    parts = {f"{x}_to_forward": round(seconds(run)[0] / forward, 2) for x, run in times.items()}
    return {
        "error": mixer.proofs.error, "forward_s": round(forward, 3),
        "forward_mb": round(forward_mb), "all_mb": round(peak_mb() - start), **parts,
    }  # fmt: skip


def of_transformer_lens(name: str, tokens: int) -> dict[str, Any]:
    """The same weights by its formula for the architecture; how far they are from the output."""
    from transformer_lens.model_bridge import TransformerBridge

    model, ids = made(name, tokens)
    with torch.no_grad(), regard.watch(model, mixers=True) as seen:
        forward, _ = seconds(lambda: model(input_ids=ids, use_cache=False))
    rows = evenly(tokens, ROWS)
    replay = seen.mixers[0]._proven.replay
    value_htv, ours_hat = replay.by_head(replay.value_tv), replay.rows(rows)
    mixed_hav = replay.by_head(replay.mixed_tv)[:, rows]
    model.config.architectures = [type(model).__name__]
    start = peak_mb()
    with tempfile.TemporaryDirectory() as folder:  # it asks for a model's config by name
        model.save_pretrained(folder)
        words = tokenizer(folder)
        words.save_pretrained(folder)
        bridge = TransformerBridge.boot_transformers(
            folder, hf_model=model, tokenizer=words, device="cpu"
        )

    def table() -> torch.Tensor:
        with torch.no_grad():
            _, cache = bridge.run_with_cache(ids, use_cache=False)
            found: torch.Tensor = cache.compute_ssm_effective_attention(layer=0)[0]
        return found

    taken, weights_hqk = seconds(table)
    theirs, ours = (
        float((x @ value_htv - mixed_hav).norm() / mixed_hav.norm())
        for x in (weights_hqk[:, rows], ours_hat)
    )
    return {
        "error": theirs, "error_of_regard": ours, "all_to_forward": round(taken / forward, 2),
        "all_mb": round(peak_mb() - start),
    }  # fmt: skip


def tokenizer(folder: str) -> PreTrainedTokenizerFast:
    names = {"bos_token": "w1", "eos_token": "w2", "pad_token": "w0", "unk_token": "w3"}
    words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(VOCABULARY)}, names["unk_token"]))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=words, name_or_path=folder, **names)


WHO = {"regard": of_regard, "TransformerLens": of_transformer_lens}


def figures(who: str, name: str, tokens: int) -> dict[str, Any]:
    """Those of a process of its own, or why there are none."""
    table = 4 * LAYERS[name][1] * tokens**2
    row = {"layer": name, "tokens": tokens, "by": who, "n_by_n_mb": round(table / 2**20)}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if who != "regard" and TABLES * table > memory / 2:
        return row | {"problem": f"needs {TABLES * table / 2**30:.0f} GB: not run"}
    command = [sys.executable, __file__, who, name, str(tokens)]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode:
        return row | {"problem": done.stderr.strip().splitlines()[-1][:200]}
    return row | json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    if sys.argv[1:] and sys.argv[1] in WHO:  # a process of its own
        print(json.dumps(WHO[sys.argv[1]](sys.argv[2], int(sys.argv[3]))))
        return
    lengths = [int(x) for x in sys.argv[1:]] or LENGTHS
    every = [x for x in WHO if x == "regard" or find_spec("transformer_lens")]
    rows = []
    for who, name, tokens in itertools.product(every, LAYERS, lengths):
        rows.append(figures(who, name, tokens))
        print(rows[-1], flush=True)
    if not sys.argv[1:]:
        print(write("mixers", {"torch": torch.__version__, "rows": rows}))


if __name__ == "__main__":
    main()
