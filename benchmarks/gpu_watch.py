"""A model on the GPU, plain and watched: a Llama with random parameters, bf16."""

import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch

import regard


def watched() -> dict[str, Any]:
    """Milliseconds of a forward with SDPA, watched, and eager with weights; and errors.

    ``watched`` is a whole block of one forward, ``second`` a second forward in such a block.
    ``reading`` is reading every measure of every layer afterwards: top keys and distances are
    computed then.
    """
    measured: dict[str, Any] = {"facts at 1024 off by": _facts(1024)}
    measured["logits the same to the bit at"] = [n for n in (1024, 2048, 8192) if _same_logits(n)]
    for n in (2048, 8192, 32768):
        taken = _times(n)
        measured[f"ms at {n}"] = {name: round(ms, 2) for name, ms in taken.items()}
        for name in ("watched", "second"):
            measured[f"{name} / sdpa at {n}"] = round(taken[name] / taken["sdpa"], 3)
    return measured | {"waits of a second forward at 2048": _waits(2048)}


@torch.no_grad()
def _same_logits(n: int) -> bool:
    """Whether the logits inside a block equal the model's own, to the bit."""
    model, words = _model("sdpa"), torch.randint(0, 1000, (1, n), device="cuda")
    expected = model(words).logits
    with regard.watch(model, top=8, map=512):
        actual = [model(words).logits for _ in range(2)]
    return all(torch.equal(x, expected) for x in actual)


def _times(n: int) -> dict[str, float]:
    model, words = _model("sdpa"), torch.randint(0, 1000, (1, n), device="cuda")
    taken = {
        "sdpa": _median(lambda: model(words, logits_to_keep=1)),
        "watched": _median(lambda: _watch(model, words)),
    }
    both = sorted(_second(model, words) for _ in range(3))
    taken["second"], taken["reading"] = both[1][0], sorted(reading for _, reading in both)[1]
    if n <= 8192:
        loud = _model("eager")
        taken["eager"] = _median(lambda: loud(words, output_attentions=True, logits_to_keep=1))
    return taken


def watched_forward(n: int) -> Callable[[], Any]:
    """A watch block with one forward."""
    model, words = _model("sdpa"), torch.randint(0, 1000, (1, n), device="cuda")
    return lambda: _watch(model, words)


@torch.no_grad()
def _second(model: Any, words: Any) -> tuple[float, float]:
    """Milliseconds of a second forward in a block, and of reading all its measures."""
    with regard.watch(model, top=8, map=512) as seen:
        model(words, logits_to_keep=1)
        forward = _once(lambda: model(words, logits_to_keep=1))
    return forward, _once(lambda: _read(seen))


def _read(seen: Any) -> int:
    """Read the report and every measure; return their bytes."""
    seen.report()
    facts = [fact for key in seen.names for fact in seen[key].facts.values()]
    return sum(fact.nbytes for fact in facts)


@torch.no_grad()
def _waits(n: int) -> list[str]:
    """Lines at which the host waited for the GPU, as torch reports them: once for the tokens."""
    model, words = _model("sdpa"), torch.randint(0, 1000, (1, n), device="cuda")
    with regard.watch(model, top=8, map=512), warnings.catch_warnings(record=True) as caught:
        model(words, logits_to_keep=1)
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            model(words, logits_to_keep=1)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    waits = [x for x in caught if "synchronizing" in str(x.message)]
    return [f"{Path(x.filename).name}:{x.lineno}" for x in waits]


@cache
def _model(kind: str) -> Any:
    """Four layers of 16 heads of width 128, with 4 key and value heads."""
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
    """Errors against the weights of eager attention, which are bf16: accurate to 2^-9."""
    words = torch.randint(0, 1000, (1, n), device="cuda")
    seen = _watch(_model("sdpa"), words)
    with torch.no_grad():
        weights = _model("eager")(words, output_attentions=True).attentions[0].double()
    received = torch.as_tensor(seen[0].received).double()
    exact = weights.sum(dim=-2).cpu().reshape(received.shape)
    p = weights / weights.sum(dim=-1, keepdim=True)
    entropy = -torch.special.xlogy(p, p).sum(dim=-1).cpu()
    actual = torch.as_tensor(seen[0].entropy).double()
    return {"received": float((received - exact).abs().max() / exact.mean()),
            "entropy": float((actual - entropy.reshape(actual.shape)).abs().max())}  # fmt: skip


@torch.no_grad()
def _median(work: Callable[[], Any]) -> float:
    times = [_once(work) for _ in range(8)]
    return sorted(times[1:])[3]  # the first call compiles


def _once(work: Callable[[], Any]) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start)
