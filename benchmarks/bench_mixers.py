"""Cost of the weights of layers without a softmax: one layer of each kind, at two lengths.

    python benchmarks/bench_mixers.py            # writes benchmarks/results/mixers.json
    python benchmarks/bench_mixers.py 1024       # these lengths alone; writes nothing

Times are processor time beside one forward of the layer on the same text; memory is the peak of a
fresh process above that of its start. The proofs are all those that are made before a number is
shown; rows are 64, evenly spaced, with their tokens. A table of weights n x n is not made: its size
is beside it.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from machine import write
from torch import nn
from transformers import Mamba2Config, Qwen3NextConfig
from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer
from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextGatedDeltaNet

import regard

LENGTHS, ROWS = (1024, 8192), 64


def gated_delta() -> tuple[nn.Module, int]:
    config = Qwen3NextConfig(
        hidden_size=512, linear_num_key_heads=2, linear_num_value_heads=4, num_hidden_layers=1,
        linear_key_head_dim=128, linear_value_head_dim=128, layer_types=["linear_attention"],
    )  # fmt: skip
    return Qwen3NextGatedDeltaNet(config, 0), 512


def mamba2() -> tuple[nn.Module, int]:
    config = Mamba2Config(
        hidden_size=256, expand=2, num_heads=8, head_dim=64, n_groups=1, state_size=128,
        num_hidden_layers=1,
    )  # fmt: skip
    layer = Mamba2Mixer(config, 0)
    nn.init.uniform_(layer.dt_bias, -4, -1)
    nn.init.uniform_(layer.A_log, 0, 2)
    return layer, 256


LAYERS: dict[str, Callable[[], tuple[nn.Module, int]]] = {
    "gated delta, 4 heads of 128": gated_delta,
    "Mamba 2, 8 heads of 64": mamba2,
}


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(name: str, tokens: int) -> dict[str, Any]:
    """The figures of one layer at one length, in this process."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layer, width = LAYERS[name]()
    layer = layer.eval()
    short, text = torch.randn(1, 64, width), torch.randn(1, tokens, width)
    with torch.no_grad():
        layer(short)
        start = peak_mb()
        forward, _ = seconds(lambda: layer(text))
        forward_mb = peak_mb() - start
        with regard.watch(layer, mixers=True) as seen:
            layer(text)
    (mixer,) = seen.mixers
    proofs, _ = seconds(lambda: mixer.proofs)
    rows, _ = seconds(lambda: mixer.measured)
    received, _ = seconds(lambda: mixer.received)
    half = tokens // 2
    span, _ = seconds(lambda: mixer.span((half, tokens), (0, half), signed=True))
    return {
        "layer": name, "tokens": tokens, "error": mixer.proofs.error, "forward_s": forward,
        "forward_mb": round(forward_mb), "all_mb": round(peak_mb() - start),
        "n_by_n_mb": round(4 * mixer.heads * tokens**2 / 2**20),
        **{f"{what}_to_forward": round(x / forward, 2) for what, x in (
            ("proofs", proofs), ("rows", rows), ("received", received), ("span", span))},
    }  # fmt: skip


def main() -> None:
    if sys.argv[1:] and sys.argv[1] in LAYERS:  # a process of its own
        print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))))
        return
    lengths = [int(x) for x in sys.argv[1:]] or LENGTHS
    rows = []
    for name in LAYERS:
        for tokens in lengths:
            command = [sys.executable, __file__, name, str(tokens)]
            printed = subprocess.check_output(command, text=True).splitlines()[-1]
            rows.append(json.loads(printed))
            print(rows[-1], flush=True)
    if not sys.argv[1:]:
        print(write("mixers", {"torch": torch.__version__, "rows": rows}))


if __name__ == "__main__":
    main()
