"""Accuracy of observe on a GPU: against float64 on the same numbers, and between two calls."""

import time
from typing import Any

import torch

import regard
from regard.engine.gpu.call import device_call
from regard.engine.gpu.dispatch import build_observation
from regard.engine.gpu.torch_path import facts_in_chunks
from regard.engine.tiles.rows import Requested
from regard.errors import ArgumentError
from regard.textbook.options import DEFAULT_OPTIONS

HEADS, WIDTH, MAP, TOP = 16, 128, 512, 8
FACTS = {"top": 0, "map": MAP, "profile": False, "causal": True}


def inputs(n: int, heads: int = HEADS, width: int = WIDTH, dtype: Any = torch.bfloat16) -> Any:
    """Random query, key and value, new ones each time."""
    return tuple(
        torch.randn(1, heads, n, width, device="cuda", dtype=torch.float32).to(dtype)
        for _ in range(3)
    )


def errors(n: int, heads: int = 2) -> dict[str, float]:
    """Largest relative error of each measure, against float64 on the same numbers."""
    query, key, value = inputs(n, heads=heads)
    seen = regard.observe(query, key, value, **FACTS | {"top": TOP, "profile": True})
    found = _compare(seen, _reference(query, key, value, {"causal": True}, TOP, MAP))
    sums = torch.as_tensor(seen.received, dtype=torch.float64).sum(dim=-1)
    return found | {"received sums to n within": float((sums / n - 1).abs().max())}


def other_errors() -> dict[str, Any]:
    """The same for calls that use other kernels."""
    bf16 = torch.bfloat16
    cases: dict[str, Any] = {
        "n = 5,003": (bf16, (1, 4, 2, 5003, 128), {"causal": True}, 100),
        "map of blocks of 8": (torch.float16, (1, 2, 1, 3999, 64), {"causal": True}, 512),
        "map of blocks of 4, not causal": (bf16, (1, 1, 1, 1000, 128), {}, 256),
        "map of 8 blocks": (bf16, (1, 2, 2, 8192, 128), {"causal": True}, 8),
        "not causal, width 64": (bf16, (1, 2, 2, 2048, 64), {}, 100),
        "the last queries": (bf16, (1, 2, 2, 8192, 128), {"causal": True, "offset": 7168}, 64),
        "130 tokens": (bf16, (1, 2, 2, 130, 128), {"causal": True}, 4),
        "window, grouped heads": (bf16, (2, 4, 2, 1000, 64), {"window": (99, 0)}, 100),
        "softcap, float16": (torch.float16, (1, 2, 2, 900, 128),
                             {"causal": True, "softcap": 30.0}, 100),
        "lengths, float32": (torch.float32, (3, 2, 2, 300, 80), {"lengths": [300, 0, 77]}, 100),
    }  # fmt: skip
    found = {}
    for name, (dtype, (b, h, g, n, d), arguments, side) in cases.items():
        query, key, value = (torch.randn(b, x, n, d, device="cuda").to(dtype) for x in (h, g, g))
        query = query[..., arguments.get("offset", 0) :, :].contiguous()
        start = time.perf_counter()
        seen = regard.observe(query, key, value, top=16, map=side, **arguments)
        errors = _compare(seen, _reference(query, key, value, arguments, 16, side))
        found[name] = max(errors.values())
        seconds = time.perf_counter() - start
        print(f"  {name} ({seconds:.0f} s): {errors}", flush=True)
    return found


def given_errors() -> dict[str, Any]:
    """The same for measures computed from a given log-sum-exp, in the layout of models.

    ``layers``: two layers in one call, with grouped heads; the other: a single layer. Heads lie
    inside tokens, as after a projection.
    """
    found: dict[str, Any] = {}
    for name, layers, heads, groups, n in (("layers", 2, 4, 2, 2048), ("one", 1, 2, 2, 5003)):
        shapes = ((layers, n, heads, WIDTH), (layers, n, groups, WIDTH))
        query, key = (torch.randn(x, device="cuda").bfloat16().transpose(1, 2) for x in shapes)
        exact = _reference(query, key, key, {"causal": True}, TOP, MAP)
        logsumexp = torch.as_tensor(exact.logsumexp, device="cuda").float()
        seen = regard.observe_from_logsumexp(query, key, logsumexp, top=TOP, map=MAP, causal=True)
        found[name] = _compare(seen, exact)
        try:
            regard.observe_from_logsumexp(query, key, logsumexp - 0.1, causal=True).entropy.sum()
            found[f"{name}, of other scores"] = "not refused"
        except ArgumentError as error:
            found[f"{name}, of other scores"] = str(error)[:100]
    return found


def near_inputs(n: int, heads: int = HEADS) -> Any:
    """Query and key whose products fall with distance, as with rotary positions."""
    speed = torch.logspace(-3, 0, WIDTH // 2, device="cuda")
    angle = torch.arange(n, device="cuda")[:, None] * speed
    turned = torch.cat([angle.cos(), angle.sin()], dim=-1) * 1.5
    return tuple((turned + 0.1 * x.float()).to(x.dtype) for x in inputs(n, heads)[:2])


def together_errors(n: int) -> dict[str, float]:
    """Largest relative error of top weights where the top keys are adjacent, or all are equal."""
    query, key = near_inputs(n, heads=2)
    found = {}
    for name, keys in (("near", key), ("equal", torch.zeros_like(key))):
        for top in (8, 16):
            seen = regard.observe(query, keys, keys, **FACTS | {"top": top})
            exact = _reference(query, keys, keys, {"causal": True}, top, MAP)
            found[f"{name}, top {top}"] = _apart(seen.top().weights, exact.top().weights)
    return found


def _reference(query: Any, key: Any, value: Any, arguments: Any, top: int, map: int) -> Any:
    here = device_call(query.double(), key.double(), value.double(), DEFAULT_OPTIONS | arguments)
    requested = Requested(True, True, top, map, True, True)
    return build_observation(here, requested, facts_in_chunks(here, requested), "chunks", None)


def _compare(seen: Any, exact: Any) -> dict[str, float]:
    """Errors relative to the exact number, or to a thousandth of the mean if that is larger."""
    pairs = {x: (getattr(seen, x), getattr(exact, x)) for x in ("entropy", "received", "map")}
    pairs["best weights"] = seen.top().weights, exact.top().weights
    pairs["weights by distance"] = seen.profile.weight, exact.profile.weight
    return {name: _apart(*pair) for name, pair in pairs.items()}


def _apart(found: Any, exact: Any) -> float:
    a, b = (torch.as_tensor(x).double() for x in (found, exact))
    return float(((a - b).abs() / b.abs().clamp(min=1e-3 * float(b.abs().mean()))).max())


def twice(n: int) -> dict[str, bool]:
    """Whether two calls on the same numbers agree to the bit."""
    query, key, value = inputs(n)
    one, two = (regard.observe(query, key, value, top=TOP, map=MAP, causal=True) for _ in range(2))
    facts = ("entropy", "received", "map", "logsumexp")
    same = {x: bool((getattr(one, x) == getattr(two, x)).all()) for x in facts}
    same["best keys"] = bool((one.top().keys == two.top().keys).all())
    same["weights by distance"] = bool((one.profile.weight == two.profile.weight).all())
    return same


def million(n: int) -> dict[str, Any]:
    """One call over n tokens, with the map; its last block of queries against float64."""
    query, key, value = inputs(n)
    torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    seen = regard.observe(query, key, value, **FACTS)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    peak = torch.cuda.max_memory_allocated() / 1e9
    sums = torch.as_tensor(seen.received, dtype=torch.float64).sum(dim=-1)
    rows = torch.as_tensor(seen.map, dtype=torch.float64).sum(dim=-1)
    block = n // MAP
    entropy, row = _last_block(query[0, 0, -block:].double(), key[0, 0].double())
    return {"tokens": n, "seconds": seconds, "peak GB": peak,
            "received sums to n within": float((sums / n - 1).abs().max()),
            "map rows sum to 1 within": float((rows - 1).abs().max()),
            "error of the last block's entropies": _apart(seen.entropy[0, 0, -block:], entropy),
            "error of the map's last row": _apart(seen.map[0, 0, -1], row)}  # fmt: skip


def _last_block(query_qd: Any, key_kd: Any) -> tuple[Any, Any]:
    """Entropies of the last queries, and the map's row for them."""
    n, (queries, width) = len(key_kd), query_qd.shape
    entropies, row = [], torch.zeros(MAP, dtype=torch.float64, device="cuda")
    for part in query_qd.split(64):
        s = part @ key_kd.T / width**0.5
        at_q = n - queries + 64 * len(entropies) + torch.arange(64, device="cuda")
        s = s.masked_fill(torch.arange(n, device="cuda") > at_q[:, None], -torch.inf)
        p = torch.softmax(s, dim=-1)
        entropies.append(-torch.special.xlogy(p, p).sum(dim=-1))
        row += p.view(64, MAP, -1).sum(dim=(0, 2)) / queries
    return torch.cat(entropies).cpu(), row.cpu()
