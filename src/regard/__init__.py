"""See what attention sees: every number true, from three words to a million tokens.

>>> import regard
>>> steps = regard.self_attention([[1, 0], [0, 1]], *[[[1, 0], [0, 1]]] * 3, words=["yes", "no"])
>>> print(steps.why("weights", "yes", "no"))
weights[yes, no] = e^0.000 / (e^0.707 + e^0.000) = 1.000 / 3.028 = 0.330
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# A folder and a function share a name, three times. Importing the folder binds the name to it once
# and for all, so the functions, bound below, stay.
import regard.check
import regard.self_attention
import regard.survey
from regard.self_attention.merge import merge
from regard.self_attention.observation import Observation
from regard.self_attention.observe import observe, observe_from_logsumexp
from regard.self_attention.steps import Steps, self_attention
from regard.self_attention.stream import attention

if TYPE_CHECKING:
    import regard.distributed
    from regard.check.function import check
    from regard.models.loading import load
    from regard.models.seen import Seen
    from regard.models.watch import watch
    from regard.survey.function import survey
    from regard.transformer.assemble import load_model
    from regard.transformer.model import Transformer
    from regard.transformer.reader import read

__version__ = "0.1.0"

__all__ = [  # noqa: RUF022 (in the order a sentence meets them)
    "self_attention",
    "Steps",
    "attention",
    "observe",
    "observe_from_logsumexp",
    "merge",
    "load",
    "Observation",
    "read",
    "load_model",
    "Transformer",
    "watch",
    "Seen",
    "check",
    "survey",
]

_LATER = {
    "check": "regard.check.function",
    "load": "regard.models.loading",
    "read": "regard.transformer.reader",
    "load_model": "regard.transformer.assemble",
    "survey": "regard.survey.function",
    "Transformer": "regard.transformer.model",
    "watch": "regard.models.watch",
    "Seen": "regard.models.seen",
}


if not TYPE_CHECKING:
    # From here on these are the functions, imported when they are first asked for.
    del regard.check, regard.survey


def __getattr__(name: str) -> Any:
    """What attention alone does not need is imported when it is first asked for."""
    if name == "distributed":  # a module, and one that imports torch
        return import_module("regard.distributed")
    if name not in _LATER:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
