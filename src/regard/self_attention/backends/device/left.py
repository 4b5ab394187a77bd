"""An observation that lets query and key go before it is read: nothing of a model is held up."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.self_attention.backends.device.call import Tensor
from regard.self_attention.backends.device.checks import Check
from regard.self_attention.backends.device.later import LaterFacts, LaterProblem
from regard.self_attention.observation import Observation
from regard.self_attention.repeats import in_map
from regard.self_attention.tiles.sight import Sight


@dataclass(frozen=True)
class Left:
    """What is left of a problem: where one may look, and the sums of its repeats if any."""

    sight: Sight
    heads: int
    leading: tuple[int, ...]
    sums_h23: Tensor | None

    def repeats_there(self, tokens_k: NDArray[np.int64]) -> Tensor | None:
        """As LaterProblem's, for the tokens that were told before."""
        return self.sums_h23


def let_go(seen: Observation, tokens_k: NDArray[np.int64] | None) -> Observation | None:
    """The same without query, key and output, ready for ``head_measures`` with these tokens.

    What has to be asked of query and key is asked now, and the answer left on the device. None
    where there is no kernel to ask: then it must be read while they are there.
    """
    part, facts = seen.parts[0], seen.facts
    if not (isinstance(facts, LaterFacts) and isinstance(part, LaterProblem)):
        return None
    if not part.serves_repeats:
        return None
    sums_h23 = None
    if tokens_k is not None and not in_map(seen, part.sight):
        sums_h23 = part.repeats_there(tokens_k)
    facts.check.let_go()
    left: Any = Left(part.sight, part.heads, part.leading, sums_h23)
    kept: Any = facts.without("output")
    return replace(seen, facts=kept, parts=(left,), _tensor=None)


def held(seen: Observation) -> tuple[int, Check]:
    """Bytes of an observation that still lie on the device, and what is still to be asked of it."""
    facts: Any = seen.facts
    profile: Any = seen._profile
    return facts.held + (0 if profile is None else profile.held), facts.check
