"""Exact statistics of all attention weights without the weights, and their text summary."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.arguments import named_arguments, suggest_keywords
from regard.blas import one_blas_thread
from regard.display import NotebookDisplay, percent, render
from regard.engine.call import Cost, Problem, ProblemLike
from regard.engine.pairs import chosen_rows
from regard.engine.profile import Profile
from regard.errors import ArgumentError, NotAskedError, count
from regard.typing import Array

if TYPE_CHECKING:
    from regard.view.figure.picture import Picture


Head = int | tuple[int, ...] | None
Spans = tuple[tuple[int, int], tuple[int, int]]


class Top(NamedTuple):
    """The best keys of each query, high to low: weights and keys, both (..., h, q, k).

    Where fewer keys have any weight the rest is weight 0 and key -1.
    """

    weights: NDArray[Any]
    keys: NDArray[np.int64]


class FactsLike(Mapping[str, Array]):
    """Facts of an observation under their names, each a NumPy array once it is read."""

    on_device = False  # whether they were computed on a device, and are copied when they are read

    @property
    def device_bytes(self) -> int:
        """Bytes still on the device."""
        return 0

    def fact_shape(self, name: str) -> tuple[int, ...]:
        """The shape of a fact, known without a copy."""
        return self[name].shape

    def tensor(self, name: str) -> Any:
        """A fact where it lies: a tensor of the device until it is read, else an array."""
        return self[name]

    @abstractmethod
    def without(self, name: str) -> FactsLike:
        """All facts but one, without a copy."""


class ArrayFacts(dict[str, Array], FactsLike):
    """Facts on the host: a dict of NumPy arrays."""

    def without(self, name: str) -> ArrayFacts:
        return ArrayFacts({other: array for other, array in self.items() if other != name})


class ProfileLike(Protocol):
    """A Profile, or the sums on a device that one is made from."""

    @property
    def device_bytes(self) -> int:
        """Bytes still on the device."""

    def resolve(self) -> Profile:
        """The profile on the host."""


@named_arguments
@dataclass(frozen=True)
class Observation(NotebookDisplay):
    """Exact facts about n x n weights, in memory that grows with n; ``print`` it for a summary.

    ``parts`` hold the query and key that tiles are computed from, on demand.
    """

    facts: FactsLike = field(repr=False)
    _profile: ProfileLike | None = field(repr=False)
    parts: tuple[ProblemLike, ...] = field(repr=False)
    keys: int
    cost: Cost
    notes: tuple[str, ...] = ()
    _tensor: Any = field(default=None, repr=False)  # the output, where torch tensors came in

    @property
    def output(self) -> Any:
        """Weighted sums of the values, (..., h, q, d_v); a torch tensor where those came in."""
        return self._fact("output", "value") if self._tensor is None else self._tensor

    @property
    def logsumexp(self) -> NDArray[Any]:
        """Natural log of the sum of e^score over the keys each query sees, (..., h, q)."""
        return self._fact("logsumexp", "")

    @property
    def entropy(self) -> NDArray[Any]:
        """Entropy of each query's weights in nats: 0 for one key, log n for n equal ones."""
        return self._fact("entropy", "entropy=True")

    @property
    def received(self) -> NDArray[Any]:
        """The weight each key gets from all queries together, (..., h, k)."""
        return self._fact("received", "received=True")

    @property
    def received_mean(self) -> NDArray[Any]:
        """The same, as a mean over the queries that could see the key; 0 where none could."""
        if not self.parts:
            raise NotAskedError(_without_parts("received_mean"))
        audience = np.concatenate([_audience(part) for part in self.parts], axis=-1)
        return np.asarray(self.received / np.maximum(audience, 1).astype(self.received.dtype))

    @property
    def map(self) -> NDArray[Any]:
        """Mean weight that a block of queries gives to a block of keys; each row sums to 1.

        All blocks have the same size, a power of two; the last may be smaller.
        """
        return self._fact("map", "map=256")

    @property
    def profile(self) -> Profile:
        """Weight on the first key, on itself, on its neighbours, and at every distance."""
        if self._profile is None:
            raise NotAskedError(_not_asked("profile", "profile=True", self.notes))
        return self._profile.resolve()

    def top(self, k: int | None = None) -> Top:
        """The k largest weights of each query with their keys, high to low."""
        weights = self._fact("top_weights", f"top={k or 16}")
        stored = weights.shape[-1]
        if k is not None and not 0 <= k <= stored:
            raise NotAskedError(
                f"k must be from 0 to {stored}, the best keys kept, got {k}: observe with top={k}."
            )
        return Top(weights[..., :k], self.facts["top_keys"][..., :k])

    def tile(self, rows: slice | int, columns: slice | int, head: Head = None) -> NDArray[Any]:
        """The exact weights of a rectangle, (..., h, a, b), or (a, b) of one head.

        The cost is a * b * d, however long the sequence is.
        """
        if not self.parts:
            raise NotAskedError(_without_parts("tile"))
        rows = index_range("rows", rows, self.queries)
        columns = index_range("columns", columns, self.keys)
        heads = self._heads(head)
        pieces, start = [], 0
        logsumexp_hq = self.logsumexp.reshape(self.parts[0].heads, self.queries)[heads, rows]
        for part in self.parts:
            keys = part.visibility.keys
            cut = part.cut(heads, rows, _clip(columns, start, keys))
            problem = cut[0]
            log2_total_hq = problem.log2_total(logsumexp_hq)
            pieces.append(_weights(*cut, log2_total_hq))
            start += keys
        tile_hqk = np.concatenate(pieces, axis=-1)
        inexact_hq = problem.is_inexact(log2_total_hq)
        for some, full_hqk in chosen_rows(self.parts, heads, rows, logsumexp_hq, inexact_hq):
            chosen_hq = inexact_hq[:, some]
            tile_hqk[:, some][chosen_hq] = full_hqk[chosen_hq][:, columns]
        return (
            tile_hqk[0]
            if head is not None
            else tile_hqk.reshape(*self.head_shape, *tile_hqk.shape[1:])
        )

    def row(self, query: int, head: Head = None) -> NDArray[Any]:
        """One query's weights on every key, (..., h, k), or (k,) of one head."""
        result: NDArray[Any] = self.tile(query, slice(None), head)[..., 0, :]
        return result

    @suggest_keywords
    def picture(
        self,
        head: Head = None,
        *,
        kind: str = "heatmap",
        title: str | None = None,
        words: Sequence[str] | None = None,
        between: Spans | None = None,
        chosen: Sequence[int] = (),
        threshold: float = 0.01,
    ) -> Picture:
        """Picture of one head: every weight where there are few tokens, else the map.

        Parameters
        ----------
        head : index of the head, by default the first.
        kind : 'heatmap', 'lines' or 'card'.
        title, words : title, and names of the tokens, in place of those known.
        between : show every weight that one span of tokens gives to another: ((0, 8), (8, 20)).
        chosen : rows that stand out.
        threshold : smallest weight that is drawn as a line.
        """
        options: dict[str, Any] = {"kind": kind, "words": words, "between": between}
        options |= {"threshold": threshold, "chosen": tuple(chosen)}
        options |= {} if title is None else {"title": title}
        picture: Picture = render("picture", self, head, options)
        return picture

    def _check_mergeable(self) -> None:
        """Raise where ``merge`` cannot take this observation; any of a whole call it can."""

    def save(self, path: str | Path, *, query_and_key: bool = False) -> None:
        """Write a .regard file: the facts, and with ``query_and_key`` what tiles need."""
        from regard.engine.files import save

        save(self, Path(path), query_and_key)

    @property
    def map_is_weights(self) -> bool:
        """Whether each block of the map is one query and one key: then the map is the weights."""
        return "map" in self.facts and self._fact_shape("map")[-2:] == (self.queries, self.keys)

    @property
    def head_shape(self) -> tuple[int, ...]:
        """The caller's leading axes, heads last."""
        return self._fact_shape("logsumexp")[:-1]

    @property
    def queries(self) -> int:
        """How many queries there are."""
        return self._fact_shape("logsumexp")[-1]

    def _fact_shape(self, name: str) -> tuple[int, ...]:
        return self.facts.fact_shape(name)

    @property
    def _on_device(self) -> bool:
        return self.facts.on_device

    @property
    def _device_bytes(self) -> int:
        """Bytes of facts and profile still on the device."""
        profile = 0 if self._profile is None else self._profile.device_bytes
        return self.facts.device_bytes + profile

    def __str__(self) -> str:
        return summary(self)

    def _fact(self, name: str, how: str) -> Array:
        if name not in self.facts:
            raise NotAskedError(_not_asked(name, how, self.notes))
        return self.facts[name]

    def _heads(self, head: Head) -> slice:
        total = int(np.prod(self.head_shape, dtype=int))
        if head is None:
            return slice(0, total)
        head_index = head if isinstance(head, tuple) else (head,)
        try:
            index = int(np.ravel_multi_index(head_index, self.head_shape or (1,)))
        except ValueError:
            raise ArgumentError(
                f"head must be an index into the leading axes {self.head_shape}, got {head!r}."
            ) from None
        return slice(index, index + 1)


def _weights(
    part: Problem, heads: slice, rows: slice, columns: slice, log2_total_hq: Array
) -> Array:
    shape = (heads.stop - heads.start, rows.stop - rows.start, columns.stop - columns.start)
    tile_hqk = np.empty(shape, part.dtype)
    with one_blas_thread(), np.errstate(all="ignore"):
        query_hqd = part.scaled_query(heads, rows)
        visible = part.scores(query_hqd, heads, rows, columns, out=tile_hqk)
        part.weights(tile_hqk, visible, log2_total_hq)
    return tile_hqk


def _audience(part: ProblemLike) -> Array:
    audience_hk = part.visibility.audience(part.heads)
    return audience_hk.reshape(*part.leading, audience_hk.shape[-1])


def index_range(name: str, requested: slice | int, size: int) -> slice:
    """A slice or a number as a slice within a size; raises where it lies outside."""
    if isinstance(requested, slice):
        start, stop, step = requested.indices(size)
        inside = step == 1 and (stop > start or requested.stop is None or not size)
    elif not isinstance(requested, int | np.integer):
        raise ArgumentError(
            f"{name} must be a slice or a whole number, got {type(requested).__name__}: ask for a "
            "slice around them, and index the weights that come back."
        )
    else:
        start = requested + size if requested < 0 else requested
        stop = start + 1
        inside = 0 <= start < size
    if not inside:
        raise ArgumentError(
            f"{name} must be a range inside {count(size, 'position')}, got {requested}."
        )
    return slice(start, max(start, stop))


def _clip(columns: slice, start: int, keys: int) -> slice:
    low = min(max(columns.start - start, 0), keys)
    return slice(low, max(low, min(columns.stop - start, keys)))


def _not_asked(name: str, how: str, notes: tuple[str, ...]) -> str:
    name = name.removesuffix("_weights")
    reason = next((note for note in notes if note.startswith(name)), "")
    return reason or f"{name} was not asked for: observe again with {how}."


def _without_parts(name: str) -> str:
    return (
        f"{name} needs query and key, and this observation does not hold them: "
        "save it with query_and_key=True."
    )


MAX_SUMMARY_ITEMS = 8


def summary(seen: Observation) -> str:
    """A summary in plain text: sizes, cost, heads by entropy, most received keys, distances."""
    heads = int(np.prod(seen.head_shape, dtype=int))
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
    head_indices = np.ndindex(*seen.head_shape) if seen.head_shape else [()]
    return [", ".join(str(i) for i in head_index) or "0" for head_index in head_indices]


def _by_entropy(seen: Observation) -> list[str]:
    if "entropy" not in seen.facts:
        return []
    names = _head_names(seen)
    entropy_h = np.asarray(seen.entropy, np.float64).reshape(len(names), -1).mean(axis=1)
    order = np.argsort(entropy_h, kind="stable")
    lines = ["  heads by mean entropy, sharpest first (e^entropy keys share the weight):"]
    shown = (
        order
        if len(order) <= MAX_SUMMARY_ITEMS
        else [*order[: MAX_SUMMARY_ITEMS - 2], -1, *order[-2:]]
    )
    for head in shown:
        if head == -1:
            lines.append(f"    ... {len(order) - MAX_SUMMARY_ITEMS} more")
            continue
        nats = entropy_h[head]
        facts = f"    head {names[head]:<6} {nats:7.3f} nats, as if {np.exp(nats):,.1f} keys"
        lines.append(facts + _profile_text(seen, int(head)))
    return lines


def _profile_text(seen: Observation, head: int) -> str:
    if seen._profile is None:
        return ""
    profile = seen.profile
    measures = {"first key": profile.first, "itself": profile.itself,
                "previous": profile.previous, "next": profile.next}  # fmt: skip
    shares = {name: float(np.reshape(share, -1)[head]) for name, share in measures.items()}
    return "; " + ", ".join(f"{name} {percent(share, 1)}" for name, share in shares.items())


def _most_received(seen: Observation) -> list[str]:
    if "received" not in seen.facts:
        return []
    received_k = np.asarray(seen.received, np.float64).reshape(-1, seen.keys).mean(axis=0)
    order = np.argsort(-received_k, kind="stable")[:MAX_SUMMARY_ITEMS]
    total = max(received_k.sum(), np.finfo(float).tiny)
    keys = ", ".join(f"{key} ({percent(received_k[key] / total, 1)})" for key in order)
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
        lines.append(f"    {_band_name(near, far):>22} {percent(share, 1):>7}  {bar}".rstrip())
    return lines


def _band_name(near: int, far: int) -> str:
    if near == 0:
        return "itself"
    direction = "back" if near > 0 else "ahead"
    low, high = sorted((abs(near), abs(far)))
    return f"{low:,} {direction}" if low == high else f"{low:,} to {high:,} {direction}"
