"""Observation of one sequence split over the ranks of torch.distributed.

A program for ``torchrun --nproc-per-node 4 program.py``::

    import regard, torch.distributed as dist
    dist.init_process_group("gloo")
    query, key, value = (regard.distributed.cut(whole, layout="zigzag") for whole in arrays)
    seen = regard.distributed.observe(query, key, value, layout="zigzag", causal=True)
    print(seen)     # this rank's queries and keys

Costs and limits of scaling: docs/scale.md.

>>> import regard
>>> regard.distributed.positions(8, rank=0, ranks=2, layout="zigzag")
array([0, 1, 6, 7])
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from regard.engine.ring.layout import positions
from regard.errors import BackendError


def _without_torch(*arguments: Any, **options: Any) -> Any:
    """Refuse: the ranks of torch.distributed are torch's.

    Raises
    ------
    BackendError
        Always.
    """
    raise BackendError("regard.distributed needs torch: pip install 'regard[models]'.")


if find_spec("torch") is not None:
    from regard.engine.ring.facts import RankObservation
    from regard.engine.ring.observe import cut, observe
else:  # importable all the same: help(regard) and hasattr look at every public name
    RankObservation = cut = observe = _without_torch  # type: ignore[misc,assignment]

__all__ = ["RankObservation", "cut", "observe", "positions"]
