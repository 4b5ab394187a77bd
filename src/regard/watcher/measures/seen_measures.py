"""What the heads of a run do: measures of a ``Seen``, each a function in this folder."""

from __future__ import annotations

from regard.watcher.measures.head_clusters import clusters
from regard.watcher.measures.head_report import arrays, to_pandas
from regard.watcher.measures.links import find
from regard.watcher.measures.looks_at import looks_at
from regard.watcher.measures.run_comparison import compare
from regard.watcher.measures.sinks import sinks
from regard.watcher.measures.through_layers import flow, rollout


class SeenMeasures:
    """Methods of ``Seen``: functions of this folder, which take a run as their first argument.

    A function among the names of a class is a method of it, with its own signature and docstring.
    """

    find = find
    looks_at = looks_at
    sinks = sinks
    clusters = clusters
    compare = compare
    rollout = rollout
    flow = flow
    arrays = arrays
    to_pandas = to_pandas
