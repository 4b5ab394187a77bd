"""See what attention sees: every number true, from three words to a million tokens.

>>> import regard
>>> steps = regard.self_attention([[1, 0], [0, 1]], *[[[1, 0], [0, 1]]] * 3, words=["yes", "no"])
>>> print(steps.why("weights", "yes", "no"))
weights[yes, no] = e^0.000 / (e^0.707 + e^0.000) = 1.000 / 3.028 = 0.330
"""

from __future__ import annotations

from importlib import import_module as _import_module

TYPE_CHECKING = False  # as typing has it, without importing typing
if TYPE_CHECKING:
    from regard import distributed, errors
    from regard.checker.check import check
    from regard.checker.report import Report
    from regard.corpus.survey import survey
    from regard.engine.attention import attention
    from regard.engine.merge import merge
    from regard.engine.observation import Observation
    from regard.engine.observe import observe, observe_from_logsumexp
    from regard.engine.paged import observe_paged
    from regard.errors import RegardError
    from regard.experiments.experiment import Experiment
    from regard.judging.judge import judge
    from regard.monitoring.monitor import monitor
    from regard.textbook.steps import Steps, self_attention
    from regard.transformer.checkpoint import load_model
    from regard.transformer.model import Transformer
    from regard.transformer.reading import Reading, read
    from regard.view.figure.picture import Picture
    from regard.watcher.files.watched_file import load
    from regard.watcher.seam.call import declare
    from regard.watcher.seen import Seen
    from regard.watcher.watch import watch

__version__ = "0.3.0"

__all__ = [  # noqa: RUF022 (in the order a sentence meets them)
    "self_attention",
    "Steps",
    "attention",
    "observe",
    "observe_from_logsumexp",
    "observe_paged",
    "merge",
    "load",
    "Observation",
    "read",
    "Reading",
    "load_model",
    "Transformer",
    "Experiment",
    "watch",
    "Seen",
    "judge",
    "monitor",
    "declare",
    "check",
    "Report",
    "survey",
    "Picture",
    "RegardError",
    "errors",
    "distributed",
]

_MODULES = {
    "self_attention": "regard.textbook.steps",
    "Steps": "regard.textbook.steps",
    "attention": "regard.engine.attention",
    "observe": "regard.engine.observe",
    "observe_from_logsumexp": "regard.engine.observe",
    "observe_paged": "regard.engine.paged",
    "merge": "regard.engine.merge",
    "load": "regard.watcher.files.watched_file",
    "Observation": "regard.engine.observation",
    "read": "regard.transformer.reading",
    "Reading": "regard.transformer.reading",
    "load_model": "regard.transformer.checkpoint",
    "Transformer": "regard.transformer.model",
    "Experiment": "regard.experiments.experiment",
    "watch": "regard.watcher.watch",
    "Seen": "regard.watcher.seen",
    "judge": "regard.judging.judge",
    "monitor": "regard.monitoring.monitor",
    "declare": "regard.watcher.seam.call",
    "check": "regard.checker.check",
    "Report": "regard.checker.report",
    "survey": "regard.corpus.survey",
    "Picture": "regard.view.figure.picture",
    "RegardError": "regard.errors",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that ``import regard`` takes no time."""
    if name in ("errors", "distributed"):  # modules; the second imports torch where it is installed
        return _import_module(f"regard.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    value = globals()[name] = getattr(_import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
