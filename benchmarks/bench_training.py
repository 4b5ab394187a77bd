"""Training speed on one device: attention kernels, compiled or not, batch sizes.

    python3 benchmarks/bench_training.py [FOLDER_OF_PAIRS] [--seconds 150] [--only WORDS]

The folder has files of pairs (*.tsv.xz); without one, random tokens in sentences of typical lengths
are used. Tokens are counted without padding, FLOPs for those tokens only.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from regard.transformer.config import END, Config, random_parameters
from train.data import (
    Ragged,
    encode_pairs,
    load_tokens,
    read_pairs,
    rows_within,
    without_links,
)
from train.dataset import Dataset, find_splits
from train.loop import (
    RoundText,
    attention_kernel,
    batches,
    compile_loss,
    working_mode,
)
from train.model import Tensors, to_torch
from train.packing import word_table
from train.recipe import Hyperparameters, TaughtHead
from train.step import DeviceBatch, new_state, step_function

BASE = Hyperparameters(tokens_per_batch=81_920, dropout=0.12, split=0.1, source_width=112)
TAUGHT = (
    TaughtHead("encoder", 3, 6, "anaphora", 0.1),
    TaughtHead("cross", 3, 2, "alignment", 0.05),
)
VARIANTS = {
    "plain compiled": replace(BASE, attention="plain"),
    "efficient compiled": BASE,
    "cudnn compiled": replace(BASE, attention="cudnn"),
    "plain compiled taught": replace(BASE, attention="plain", taught=TAUGHT),
    "plain compiled 64k": replace(BASE, attention="plain", tokens_per_batch=65_536),
    "plain compiled 160k": replace(BASE, attention="plain", tokens_per_batch=163_840),
    "efficient eager": replace(BASE, compile=False),
}


def main() -> None:
    """Time as many variants as fit in the time limit, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--only", default="", help="variants whose name has one of these words")
    parser.add_argument("--pairs", type=int, default=400_000)
    options = parser.parse_args()
    began = time.monotonic()
    config, text = corpus(options.folder, options.pairs)
    print(f"{len(text.pairs):,} pairs, {time.monotonic() - began:.0f} s to read", flush=True)
    print(f"{'variant':24} {'step ms':>8} {'M tokens/s':>10} {'TFLOP/s':>8} {'full':>6} "
          f"{'compile s':>9} {'GiB':>6} {'loss':>6}")  # fmt: skip
    for name, hyperparameters in VARIANTS.items():
        words = options.only.split(",")
        if options.only and not any(word in name for word in words):
            continue
        if time.monotonic() - began > options.seconds - 20:
            print(f"{name:24} skipped: out of time")
            continue
        try:
            print(f"{name:24} {measure(config, text, hyperparameters)}", flush=True)
        except (RuntimeError, torch.OutOfMemoryError) as error:
            print(f"{name:24} failed: {str(error)[:200]}", flush=True)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


@dataclass(frozen=True)
class Timing:
    """Time, tokens and loss of the timed steps."""

    seconds: float
    steps: int
    source: int
    target: int
    positions: int
    loss: float


def measure(config: Config, text: RoundText, hyperparameters: Hyperparameters) -> str:
    """One line of the table."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    start = to_torch(random_parameters(config, 1), device)
    began = time.monotonic()
    with attention_kernel(hyperparameters.attention, torch.device(device)):
        mode = working_mode(start, config, hyperparameters)
        if mode.compiled:  # a second run uses the compiled code and leaves out compile time
            compile_loss(start, config, hyperparameters, mode)
        compiled = time.monotonic() - began if mode.compiled else 0.0
        timing = timed(config, text, hyperparameters, start, mode)
    tokens = timing.source + timing.target
    flops = useful_flops(config, timing.source, timing.target)
    memory = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0
    return (
        f"{1e3 * timing.seconds / timing.steps:8.2f} {tokens / timing.seconds / 1e6:10.3f} "
        f"{flops / timing.seconds / 1e12:8.1f} {tokens / timing.positions:6.3f} {compiled:9.1f} "
        f"{memory:6.1f} {timing.loss:6.3f}{'' if mode.compiled else ' eager'}"
    )


def timed(config, text, hyperparameters, start: Tensors, mode, warm_up=8, steps=60) -> Timing:
    """Time training steps after a warm-up."""
    state = new_state(start)
    device = start["embedding"].device
    stream = batches(text, hyperparameters, state, device)
    prepared = [batch for batch, _ in zip(stepped(stream, state), range(warm_up), strict=False)]
    take_step = step_function(state, config, hyperparameters, mode)
    for batch in prepared:
        take_step(batch)
    counts = np.zeros(3, dtype=np.int64)
    synchronize(device)
    began = time.monotonic()
    steps = steps if device.type == "cuda" else 2
    for batch, _ in zip(stepped(stream, state), range(steps), strict=False):
        losses = take_step(batch)
        tensors = batch.tensors
        positions = tensors.source.tokens.numel() + tensors.labels_bt.numel()
        # There are about as many labels as sources; an exact count would wait for the device.
        counts += (batch.size - batch.size // 2, batch.size // 2, positions)
    synchronize(device)
    seconds = time.monotonic() - began
    stream.close()
    return Timing(seconds, steps, *counts.tolist(), float(losses[0]))


def stepped(stream: Iterator[DeviceBatch], state) -> Iterator[DeviceBatch]:
    """Yield the batches, counting each in the state as the training loop does."""
    while True:
        batch = next(stream)
        state.batch += 1
        state.step += 1
        yield batch


def synchronize(device: torch.device) -> None:
    """Wait for the device."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def useful_flops(config: Config, source: int, target: int) -> float:
    """Six per parameter and token; attention itself, a few per cent, is left out."""
    square, inner = config.width**2, config.width * config.feed_forward_width
    encoder = config.layers * (4 * square + 2 * inner) + config.layers * 2 * square
    decoder = config.layers * (6 * square + 2 * inner) + config.vocabulary * config.width
    return 6.0 * (source * encoder + target * decoder)


def corpus(folder: Path | None, number: int) -> tuple[Config, RoundText]:
    """Pairs from the folder's files, or random ones."""
    path = Path(__file__).parents[1] / "model" / "tokens.model"
    tokens = load_tokens(path)
    config = Config(vocabulary=tokens.vocab_size())
    tables = word_table(tokens), word_table(tokens, elisions=True)
    if folder is None:
        rng = np.random.default_rng(0)
        sides = (made_up(rng, number, config.vocabulary, mean) for mean in (2.35, 2.45))
        pairs = without_links(*sides)
    else:
        files = sorted(folder.glob("*.en-fr.tsv.xz"))
        texts = [pair for file in files if "valid" not in file.name for pair in read_pairs(file)]
        chosen = np.random.default_rng(0).permutation(len(texts))[:number]
        pairs = encode_pairs(tokens, [texts[row] for row in chosen])
    short = Dataset.of_all(pairs.take(rows_within(pairs, BASE.longest)))
    return config, RoundText(short, find_splits(tokens), tables)


def made_up(rng: np.random.Generator, number: int, vocabulary: int, mean: float) -> Ragged:
    """Random tokens in sentences with the lengths of everyday text."""
    lengths = np.clip(np.exp(rng.normal(mean, 0.45, number)).astype(np.int64), 3, 90)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    tokens = rng.integers(50, vocabulary, starts[-1]).astype(np.int32)
    tokens[starts[1:] - 1] = END
    return Ragged(tokens, starts)


if __name__ == "__main__":
    main()
