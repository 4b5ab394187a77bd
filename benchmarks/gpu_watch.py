"""A model on the GPU, plain and watched: a Llama with random parameters, bf16."""

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

import regard


def watched() -> dict[str, Any]:
    """Milliseconds of a forward pass under sdpa, watched, and eager with weights; and the facts."""
    found: dict[str, Any] = {"facts at 1024 off by": _facts(1024)}
    for n in (2048, 8192, 32768):
        taken = _times(n)
        found[f"ms at {n}"] = {name: round(ms, 2) for name, ms in taken.items()}
        found[f"watched / sdpa at {n}"] = round(taken["watched"] / taken["sdpa"], 3)
    return found


def _times(n: int) -> dict[str, float]:
    model, words = _model("sdpa"), torch.randint(0, 1000, (1, n), device="cuda")
    taken = {
        "sdpa": _median(lambda: model(words, logits_to_keep=1)),
        "watched": _median(lambda: _watch(model, words)),
    }
    if n <= 8192:
        loud = _model("eager")
        taken["eager"] = _median(lambda: loud(words, output_attentions=True, logits_to_keep=1))
    return taken


@cache
def _model(kind: str) -> Any:
    """Four layers of 16 heads of 128, 4 key and value heads."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=1000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=4,
        num_attention_heads=16, num_key_value_heads=4, max_position_embeddings=32768,
        attn_implementation=kind,
    )  # fmt: skip
    return LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()


def _watch(model: Any, words: Any) -> Any:
    with torch.no_grad(), regard.watch(model, top=8, map=512) as seen:
        model(words, logits_to_keep=1)
    return seen


def _facts(n: int) -> dict[str, float]:
    """Against the weights that eager attention returns, which are bf16: 2^-9 of each."""
    words = torch.randint(0, 1000, (1, n), device="cuda")
    seen = _watch(_model("sdpa"), words)
    with torch.no_grad():
        weights = _model("eager")(words, output_attentions=True).attentions[0].double()
    received = torch.as_tensor(seen[0].received).double()
    exact = weights.sum(dim=-2).cpu().reshape(received.shape)
    p = weights / weights.sum(dim=-1, keepdim=True)
    entropy = -torch.special.xlogy(p, p).sum(dim=-1).cpu()
    found = torch.as_tensor(seen[0].entropy).double()
    return {"received": float((received - exact).abs().max() / exact.mean()),
            "entropy": float((found - entropy.reshape(found.shape)).abs().max())}  # fmt: skip


@torch.no_grad()
def _median(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(4):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return sorted(times[1:])[1]  # the first call compiles
