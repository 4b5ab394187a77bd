"""The verdict on a program's attention: right, wrong with its name, or not judged and why.

``regard.judging`` finds it; a watched run keeps it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.engine.files import file_errors, read_file, write_file
from regard.typing import Array
from regard.watcher.trace import Parting, Trace, part

STATES = ("right", "right, scores rounded", "wrong", "not judged")
RIGHT, ROUNDED, WRONG, SKIPPED = range(len(STATES))
FORMAT, VERSION = "regard verdict", 1
NAMED_TOKENS = 5  # likeliest ones whose names are kept
UNNAMED = "unexplained, not looked into"

if TYPE_CHECKING:
    from regard.judging.one_call import CallResult


@dataclass(frozen=True)
class Fault:
    """A wrong head: where it was first seen, and what it is."""

    head: int
    path: str
    name: str  # empty: unexplained
    text: str
    z: float  # error of the head in units of rounding
    call: int


@dataclass
class _Place:
    """All that was judged of one module that attends, by head."""

    path: str
    kernel: str
    dtype: str
    heads: int
    order: int
    calls: int = 0
    rows: Any = None  # (h,) redone
    square: Any = None  # (h,) sum over the rows of z squared
    worst: Any = None  # (h,) z of the worst row
    state: Any = None  # (h,)
    dense: Any = None  # (2, h) sums over calls: share of the dense weight seen, and at best

    def add(self, result: CallResult) -> None:
        if self.state is None:
            self.rows, self.state = np.zeros(self.heads, int), np.full(self.heads, SKIPPED)
            self.square, self.worst = np.zeros(self.heads), np.zeros(self.heads)
        state = result.state.numpy()
        judged = (state != SKIPPED).sum(0)
        rows = result.rows.shape[-1]
        self.calls += 1
        if result.dense is not None:
            shares = np.stack([x.numpy().mean(0) for x in result.dense])
            self.dense = shares if self.dense is None else self.dense + shares
        self.rows += judged * rows
        self.square += (np.minimum(result.z.numpy(), 1e15) ** 2).sum(0) * rows
        self.worst = np.maximum(self.worst, result.rows_off.numpy().max(0))
        severity = np.where(state == SKIPPED, -1, state).max(0)
        before = np.where(self.state == SKIPPED, -1, self.state)
        self.state = np.where(
            np.maximum(severity, before) < 0, SKIPPED, np.maximum(severity, before)
        )

    @property
    def z(self) -> Any:
        """(h,) root mean square error in units over everything redone."""
        return np.sqrt(self.square / np.maximum(self.rows, 1))

    def shares(self, head: int) -> dict[str, float]:
        """Of the weight of dense attention on the keys that are seen, and on the best as many."""
        if self.dense is None:
            return {}
        seen, best = self.dense[:, head] / self.calls
        return {"dense_seen": float(seen), "dense_best": float(best)}

    def to_json(self) -> dict[str, Any]:
        return {x: y.tolist() if isinstance(y, np.ndarray) else y for x, y in vars(self).items()}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> _Place:
        held: dict[str, Any] = {
            x: np.array(y) if isinstance(y, list) else y for x, y in given.items()
        }
        return cls(**held)


@dataclass
class Verdict:
    """What was judged, and what was found.

    ``ok``: no head is wrong, no argument contradicts ``spec=`` and something was judged.
    """

    places: dict[str, _Place] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    against_spec: list[str] = field(default_factory=list)
    agrees_with_spec: list[str] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)  # calls that could not be judged
    unjudged: dict[str, str] = field(default_factory=dict)  # paths of which nothing was judged
    unseen: list[str] = field(default_factory=list)  # modules named attention that gave none
    other_layers: list[str] = field(default_factory=list)  # sentences on layers without a softmax
    skipped_calls: int = 0  # those that calls= left out
    trace: Trace | None = None  # what two runs are compared by, where the run keeps it

    def add(self, result: CallResult, call: int) -> None:
        """Take the result of one call into the verdict."""
        if result.reason:
            self.reasons[result.reason] += 1
            if result.path not in self.places:
                self.unjudged[result.path] = result.reason
            return
        self.unjudged.pop(result.path, None)
        place = self.places.get(result.path)
        if place is None:
            place = _Place(
                result.path, result.kernel, result.dtype, result.shape[1], len(self.places)
            )
            self.places[result.path] = place
        place.add(result)
        known = {(fault.path, fault.head) for fault in self.faults}
        for (sentence, head), _ in sorted(result.wrong_rows.items()):
            if (result.path, head) not in known:
                name = result.names.get((sentence, head))
                text = UNNAMED if name is None else str(name)
                z = max(float(result.z[sentence, head]), float(result.rows_off[sentence, head]))
                own = "" if name is None else name.text
                self.faults.append(Fault(head, result.path, own, text, z, call))
                known.add((result.path, head))

    # --- what it says ---

    @property
    def ok(self) -> bool:
        """Whether something was judged and all of it is right."""
        return bool(self.places) and not self.faults and not self.against_spec

    @property
    def layers(self) -> int:
        return len(self.places)

    @property
    def heads(self) -> int:
        return sum(int((place.state != SKIPPED).sum()) for place in self.places.values())

    @property
    def rows(self) -> int:
        """Rows that were redone, of all heads and calls."""
        return sum(int(place.rows.sum()) for place in self.places.values())

    @property
    def worst(self) -> tuple[int, int, float] | None:
        """Layer, head and error in units of the head that is farthest from exact arithmetic."""
        heads = [(float(z), self.layer(path), h) for path, place in self.places.items()
                 for h, z in enumerate(place.z) if place.state[h] != SKIPPED]  # fmt: skip
        if not heads:
            return None
        z, layer, head = max(heads)
        return layer, head, z

    def layer(self, path: str) -> int:
        """The number of a layer: the one in its path where that tells all apart, or its order."""
        numbers = {name: re.findall(r"(?<![\w])\d+(?![\w])", name) for name in self.places}
        firsts = [found[0] if found else "" for found in numbers.values()]
        if "" not in firsts and len(set(firsts)) == len(firsts):
            return int(numbers[path][0])
        return self.places[path].order

    def missed(self, share: float) -> float:
        """The chance that no row was drawn of a fault in this share of the rows of one head."""
        rows = [int(n) for place in self.places.values() for n in place.rows if n]
        return float((1 - share) ** min(rows)) if rows else 1.0

    def first(self) -> Fault | None:
        """The fault of the first layer that has one."""
        order = {path: place.order for path, place in self.places.items()}
        return min(
            self.faults, key=lambda x: (order[x.path], x.text == UNNAMED, x.head), default=None
        )

    def to_pandas(self) -> Any:
        """A table with one row for each head."""
        import pandas

        return pandas.DataFrame(list(self.to_dicts()))

    def to_dicts(self) -> Iterator[dict[str, Any]]:
        """One dict for each head that was judged."""
        texts = {(fault.path, fault.head): fault.text for fault in self.faults}
        for path, place in self.places.items():
            for head in range(place.heads):
                yield {
                    "layer": self.layer(path), "head": head, "path": path,
                    "kernel": place.kernel, "dtype": place.dtype,
                    "verdict": STATES[place.state[head]],
                    "fault": texts.get((path, head), ""), "units": float(place.z[head]),
                    "worst_row": float(place.worst[head]), "rows": int(place.rows[head]),
                    "calls": place.calls,
                    **place.shares(head),
                }  # fmt: skip

    def compare(self, other: Verdict) -> Parting | None:
        """Where two runs on one text part, and whose fault it is; None where it is not known."""
        if self.trace is None or other.trace is None:
            return None
        return part(self.trace, other.trace, self._first_faults(), other._first_faults())

    def name_tokens(self, tokenizer: Any) -> None:
        """Keep the names of the likeliest next tokens with them."""
        trace = self.trace
        if trace is not None and trace.logits is not None and tokenizer is not None:
            best = np.argsort(-trace.logits)[:NAMED_TOKENS].tolist()
            trace.names = {token: str(tokenizer.decode([token])) for token in best}

    def _first_faults(self) -> dict[str, str]:
        """What is wrong with the attention of each layer, by its path."""
        found: dict[str, str] = {}
        for fault in sorted(self.faults, key=lambda x: (x.text == UNNAMED, -x.z)):
            found.setdefault(fault.path, f"head {fault.head}: {fault.text} (z {fault.z:,.3g})")
        return found

    # --- what a file holds ---

    def save(self, path: str | Path) -> None:
        """Write a .regard file that ``regard.load`` reads."""
        arrays: dict[str, Array] = {}
        header = {"format": FORMAT, "version": VERSION, **self.to_file("", arrays)}
        write_file(Path(path), header, arrays)

    @classmethod
    def load(cls, path: Path, verify: bool | None = None) -> Verdict:
        header, arrays = read_file(path, FORMAT, VERSION, verify is not False)
        with file_errors(path):
            return cls.from_file(header, "", arrays)

    def to_file(self, prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
        """All of it in plain values; its arrays are added, by names that begin with ``prefix``."""
        plain: dict[str, Any] = {
            "places": [place.to_json() for place in self.places.values()],
            "faults": [asdict(fault) for fault in self.faults],
            "reasons": dict(self.reasons),
            **{name: getattr(self, name) for name in _PLAIN},
        }
        if self.trace is not None:
            plain["trace"], own = self.trace.to_file(prefix)
            arrays |= own
        return plain

    @classmethod
    def from_file(cls, plain: Mapping[str, Any], prefix: str, arrays: Mapping[str, Any]) -> Verdict:
        verdict = cls(reasons=Counter(plain["reasons"]), **{x: plain[x] for x in _PLAIN})
        verdict.faults = [Fault(**fault) for fault in plain["faults"]]
        verdict.places = {x["path"]: _Place.from_json(x) for x in plain["places"]}
        if "trace" in plain:
            verdict.trace = Trace.from_file(plain["trace"], prefix, arrays)
        return verdict

    def __str__(self) -> str:
        lines = [self._wrong() if self.faults else self._right()]
        if self.against_spec:
            lines.append("ASKED OTHERWISE THAN spec: " + "; ".join(self.against_spec))
        elif self.agrees_with_spec:
            lines.append("asked as spec says: " + ", ".join(self.agrees_with_spec))
        lines += self._dense()
        if self.places:
            lines.append(self._limits())
        lines += self.other_layers
        return "\n".join(lines)

    def _right(self) -> str:
        worst = self.worst
        if worst is None:
            return "nothing judged: " + (self._reasons() or "no attention was seen")
        rounded = sum(int((place.state == ROUNDED).sum()) for place in self.places.values())
        note = f", scores rounded in {rounded:,} heads" if rounded else ""
        return (f"right to rounding{note}: {_count(self.layers, 'layer')}, {self.heads:,} heads, "
                f"{self.rows:,} rows; "
                f"worst {worst[2]:.2f} units (layer {worst[0]}, head {worst[1]})")  # fmt: skip

    def _wrong(self) -> str:
        """The first fault, and how many heads have it or another."""
        first = self.first()
        assert first is not None
        same = [fault for fault in self.faults if fault.name == first.name]
        others = [fault for fault in self.faults if fault.name != first.name]
        where = f"layer {self.layer(first.path)}, head {first.head}"
        if len(same) > 1:
            where = f"{len(same):,} heads from {where} on"
        worst = max(fault.z for fault in same)
        text = f"WRONG in {where}: {first.text} (z {worst:,.3g})"
        if others:
            name, n = Counter(fault.name for fault in others).most_common(1)[0]
            kind = name or "not explained or not looked into"
            text += f"; in {_count(n, 'head')} {'more' if not name else 'also'}: {kind}"
            if len(others) > n:
                text += f" (and {len(others) - n:,} with other faults)"
        right = self.heads - len(self.faults)
        if right <= 0:
            return f"{text}; no head is right"
        return f"{text}; the other {_count(right, 'head')} {'is' if right == 1 else 'are'} right"

    def _dense(self) -> list[str]:
        """What the keys that heads do not see would have had, where it was asked for."""
        heads = [x for x in self.to_dicts() if "dense_seen" in x]
        if not heads:
            return []
        seen, best = (np.mean([x[name] for x in heads]) for name in ("dense_seen", "dense_best"))
        least = min(heads, key=lambda x: x["dense_seen"])
        return [f"the keys seen hold {seen:.1%} of the weight of dense attention, the best as many "
                f"{best:.1%}; least {least['dense_seen']:.1%} (layer {least['layer']}, "
                f"head {least['head']})".replace("%", " %")]  # fmt: skip

    def _limits(self) -> str:
        parts = [
            f"a fault in 1 row of 100 of one head is missed with {_percent(self.missed(0.01))}, "
            f"in 1 of 1,000 with {_percent(self.missed(0.001))}"
        ]
        reasons = self._reasons()
        if reasons:
            parts.append(f"not judged: {reasons}")
        if self.skipped_calls:
            parts.append(f"{self.skipped_calls:,} calls were left out by calls=")
        if self.unseen:
            parts.append(f"no softmax seen in {', '.join(self.unseen[:3])}")
        return "; ".join(parts)

    def _reasons(self) -> str:
        return "; ".join(f"{_count(n, 'call')}, {why}" for why, n in self.reasons.most_common(2))

    def __repr__(self) -> str:
        return str(self)


_PLAIN = ("against_spec", "agrees_with_spec", "unjudged", "unseen", "other_layers", "skipped_calls")


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}" + ("" if n == 1 else "s")


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.4g} %"
