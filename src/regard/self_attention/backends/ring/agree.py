"""Before the first step: do all ranks mean the same call, and how large is it in all?"""

import hashlib
import math
import pickle
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.errors import ArgumentError
from regard.self_attention.backends.ring.watch import Watch
from regard.self_attention.backends.tensors import as_array
from regard.self_attention.tiles.arguments import Extent
from regard.self_attention.tiles.problem import Array
from regard.self_attention.tiles.sight import MaskRule

SAMPLE = 64  # positions a side at which mask functions are compared


@dataclass(frozen=True)
class Header:
    """What a rank says of its call: how much it holds, and every argument in a few words."""

    extent: Extent
    said: dict[str, str]


def agreed(watch: Watch, header: Header) -> tuple[Extent, list[Extent]]:
    """The extent of the whole and of each rank's slice, or an error that says who differs."""
    met = watch.meet("header", pickle.dumps(header))
    headers: list[Header] = [pickle.loads(words) for words in met]  # noqa: S301 (from our own ranks)
    _check_same(watch, [other.said for other in headers])
    extents = [other.extent for other in headers]
    return _joint(extents), extents


def agree_on_rule(watch: Watch, rule: MaskRule, whole: Extent) -> None:
    """Mask functions cannot be compared, but what they say of some positions can."""
    sides = (np.linspace(0, n - 1, min(n, SAMPLE)).astype(int) for n in (whole.queries, whole.keys))
    at_q, at_k = sides
    said = np.asarray(rule(at_q[:, None], at_k[None, :]))
    words = f"a function that says {_digest(said)}"
    met = watch.meet("rule", words.encode())
    _check_same(watch, [{"mask": other.decode()} for other in met])


def _joint(extents: list[Extent]) -> Extent:
    sizes = {x: max(part.sizes[x] for part in extents) for x in ("query", "key")}
    sizes["value"] = math.hypot(*(part.sizes["value"] for part in extents))
    return replace(
        extents[0],
        queries=sum(part.queries for part in extents),
        keys=sum(part.keys for part in extents),
        sizes=sizes,
    )


def _check_same(watch: Watch, said: list[dict[str, str]]) -> None:
    """For each argument that differs: 'causal is True on ranks 0, 1 and False on rank 2'."""
    found = []
    for name in said[0]:
        ranks: dict[str, list[int]] = {}
        for rank, words in enumerate(said):
            ranks.setdefault(words[name], []).append(rank)
        if len(ranks) > 1:
            parts = [f"{value} on {watch.named(*who)}" for value, who in ranks.items()]
            found.append(f"{name} is {' and '.join(parts)}")
    if found:
        raise ArgumentError(
            f"the ranks were called with different arguments: {'; '.join(found)}. "
            "Give every rank the same."
        )


def in_words(arrays: dict[str, Array], arguments: dict[str, Any]) -> dict[str, str]:
    """Every argument, short enough to compare and to print; tokens may differ in number."""
    said = {f"{x} dtype": str(array.dtype) for x, array in arrays.items()}
    said |= {
        f"{x} shape": f"({', '.join([*map(str, a.shape[:-2]), 'tokens', str(a.shape[-1])])})"
        for x, a in arrays.items()
    }
    return said | {name: _word(name, argument) for name, argument in arguments.items()}


def _word(name: str, argument: Any) -> str:
    if callable(argument):
        return "a function"
    if name in ("mask", "lengths") and argument is not None:
        array = as_array(argument)
        return f"{array.dtype} of shape {array.shape} ({_digest(array)})"
    return f"{tuple(argument)}" if isinstance(argument, list) else f"{argument}"


def _digest(array: Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:8]
