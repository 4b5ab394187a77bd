"""The map of a short text, which is every weight: computed when a fact is first read.

It is the largest fact there, at 512 tokens four times query and key in float32, and taking its
memory cost a forward pass on the CPU as much as all the other facts together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from regard.engine.call import Requested
from regard.engine.observation import ArrayFacts
from regard.engine.observe import observe_problem
from regard.engine.tensors import dtype_name, in_host_memory

if TYPE_CHECKING:
    from regard.engine.observation import Observation
    from regard.watcher.capture.model_call import ModelCall
    from regard.watcher.capture.segments import Segment
    from regard.watcher.watch import Options

SHARED = ("float32", "float64")  # NumPy's views of such tensors are the model's own memory


def waits_for_map(call: ModelCall, segment: Segment, options: Options, keep: bool) -> bool:
    """Whether the map of a first call is every weight, and query and key give it later."""
    short = 0 < max(segment.queries, segment.keys) <= options.map
    plain = "mask" not in segment.arguments and not (keep or options.spans)
    return short and plain and in_host_memory(call.query)


@dataclass(eq=False)
class LateMap:
    """An observation without its map, and what computes it: its own copies of query and key."""

    seen: Observation
    complete: bool = False

    def observation(self) -> Observation:
        """The observation with its map, computed once for all sentences of it."""
        if not self.complete:
            problem: Any = self.seen.parts[0]
            size = max(self.seen.queries, self.seen.keys)
            more = observe_problem(problem, Requested(False, map=size))
            facts = ArrayFacts({**self.seen.facts, "map": more.facts["map"]})
            spent = replace(self.seen.cost, flops=self.seen.cost.flops + more.cost.flops)
            self.seen, self.complete = replace(self.seen, facts=facts, cost=spent), True
        return self.seen

    @property
    def facts_bytes(self) -> int:
        """Bytes of the facts."""
        return sum(fact.nbytes for fact in self.seen.facts.values())

    @property
    def query_key_bytes(self) -> int:
        """Bytes of query and key."""
        problem: Any = self.seen.parts[0]
        return int(problem.query_hqd.nbytes + problem.key_gkd.nbytes)


def shares_memory(call: ModelCall) -> bool:
    """Whether arrays of a call's tensors are the model's own memory, which may be overwritten."""
    return dtype_name(call.query) in SHARED
