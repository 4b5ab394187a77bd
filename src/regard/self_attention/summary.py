"""What print(seen) says: the shape, heads by entropy, the most received positions, distances."""

import numpy as np

from regard.self_attention.observation import Observation
from regard.self_attention.tiles.problem import Array
from regard.shapes import count

SHOWN = 8


def summary(seen: Observation) -> str:
    """A page worth reading, plain text."""
    heads = int(np.prod(seen.leading, dtype=int))
    sizes = count(heads, "head"), count(seen.queries, "query", "queries"), count(seen.keys, "key")
    weights = heads * seen.queries * seen.keys
    lines = [
        f"Observation of {', '.join(sizes)}: {weights:,} weights, none of them kept.",
        f"  cost: {seen.cost}",
    ]
    if seen.queries and seen.keys and heads:
        lines += _by_entropy(seen) + _most_received(seen) + _distances(seen)
    lines += [f"  note: {note}" for note in seen.notes]
    return "\n".join(lines)


def _head_names(seen: Observation) -> list[str]:
    places = np.ndindex(*seen.leading) if seen.leading else [()]
    return [", ".join(str(i) for i in place) or "0" for place in places]


def _by_entropy(seen: Observation) -> list[str]:
    if "entropy" not in seen.facts:
        return []
    names = _head_names(seen)
    entropy_h = np.asarray(seen.entropy, np.float64).reshape(len(names), -1).mean(axis=1)
    order = np.argsort(entropy_h, kind="stable")
    lines = ["  heads by mean entropy, sharpest first (e^entropy keys share the weight):"]
    shown = order if len(order) <= SHOWN else [*order[: SHOWN - 2], -1, *order[-2:]]
    for head in shown:
        if head == -1:
            lines.append(f"    ... {len(order) - SHOWN} more")
            continue
        nats = entropy_h[head]
        facts = f"    head {names[head]:<6} {nats:7.3f} nats, as if {np.exp(nats):,.1f} keys"
        lines.append(facts + _habits(seen, int(head)))
    return lines


def _habits(seen: Observation, head: int) -> str:
    if seen._profile is None:
        return ""
    profile = seen.profile
    named = {"first key": profile.first, "itself": profile.itself, "previous": profile.previous,
             "next": profile.next}  # fmt: skip
    shares = {name: float(np.reshape(share, -1)[head]) for name, share in named.items()}
    return "; " + ", ".join(f"{name} {_percent(share)}" for name, share in shares.items())


def _most_received(seen: Observation) -> list[str]:
    if "received" not in seen.facts:
        return []
    received_k = np.asarray(seen.received, np.float64).reshape(-1, seen.keys).mean(axis=0)
    order = np.argsort(-received_k, kind="stable")[:SHOWN]
    total = max(received_k.sum(), np.finfo(float).tiny)
    keys = ", ".join(f"{key} ({_percent(received_k[key] / total)})" for key in order)
    return [f"  most received keys, mean over heads, share of all weight: {keys}"]


def _distances(seen: Observation) -> list[str]:
    if seen._profile is None:
        return []
    bands = [(near, far, float(np.mean(share))) for near, far, share in seen.profile.histogram()]
    lines = ["  where the weight lies, mean over heads:"]
    while bands and bands[-1][2] == 0:  # nothing ahead, under a causal mask
        bands.pop()
    largest = max((share for _, _, share in bands), default=0) or 1
    for near, far, share in bands:
        bar = "#" * round(24 * share / largest)
        lines.append(f"    {_band_name(near, far):>22} {_percent(share):>7}  {bar}".rstrip())
    return lines


def _band_name(near: int, far: int) -> str:
    if near == 0:
        return "itself"
    side = "back" if near > 0 else "ahead"
    low, high = sorted((abs(near), abs(far)))
    return f"{low:,} {side}" if low == high else f"{low:,} to {high:,} {side}"


def _percent(share: float | Array) -> str:
    return f"{100 * float(share):.1f} %"
