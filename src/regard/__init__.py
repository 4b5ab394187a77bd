"""See what attention sees: every number true, from three words to a million tokens.

>>> import regard
>>> steps = regard.self_attention([[1, 0], [0, 1]], *[[[1, 0], [0, 1]]] * 3, words=["yes", "no"])
>>> print(steps.why("weights", "yes", "no"))
weights[yes, no] = e^0.000 / (e^0.707 + e^0.000) = 1.000 / 3.028 = 0.330
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# A folder and a function share a name, twice. Importing the folder binds regard.self_attention and
# regard.check to it once and for all, so the functions, bound below, stay.
import regard.check
import regard.self_attention
from regard.self_attention.merge import merge
from regard.self_attention.observation import Observation
from regard.self_attention.observe import observe, observe_from_logsumexp
from regard.self_attention.steps import Steps, self_attention
from regard.self_attention.storage import load
from regard.self_attention.stream import attention

if TYPE_CHECKING:
    from regard.check.function import check
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
    "check",
]

_LATER = {
    "check": "regard.check.function",
    "read": "regard.transformer.reader",
    "load_model": "regard.transformer.assemble",
    "Transformer": "regard.transformer.model",
}


if not TYPE_CHECKING:
    del regard.check  # from here on it is the function, imported when it is first asked for


def __getattr__(name: str) -> Any:
    """What attention alone does not need is imported when it is first asked for."""
    if name not in _LATER:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
