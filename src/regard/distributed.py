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

from regard.errors import BackendError

if find_spec("torch") is None:
    raise BackendError("regard.distributed needs torch: pip install 'regard[models]'.")

from regard.engine.ring.facts import RankObservation
from regard.engine.ring.layout import positions
from regard.engine.ring.observe import cut, observe

__all__ = ["RankObservation", "cut", "observe", "positions"]
