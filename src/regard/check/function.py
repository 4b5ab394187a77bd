"""regard.check: ask a function what attention must answer, and say which step is wrong."""

from collections.abc import Callable, Iterable
from typing import Any

from regard.check.arrays import DTYPES
from regard.check.features import Features, read_features
from regard.check.report import UNKNOWN, Report
from regard.check.search import layouts_that_answer
from regard.check.verdict import settle
from regard.check.ways import Ways, merged, say, ways_to_call
from regard.errors import ArgumentError


def check(
    function: Callable[..., Any],
    *,
    signature: str = "auto",
    features: str | Iterable[str] = "auto",
    dtype: str = "auto",
) -> Report:
    """Find the first wrong step of someone's attention.

    Parameters
    ----------
    function : of (q, k, v), (q, k, v, mask), (x, w_q, w_k, w_v) or x
        A function or a PyTorch module; NumPy, PyTorch or JAX arrays; any usual order of axes.
    signature : "q k v", "q k v mask", "x w_q w_k w_v" or "x", with or without "as bthd"
    features : what cannot be told from its parameters, such as ("causal",) or ("no empty rows",)
    dtype : float64, float32, float16 or bfloat16; the widest that the function takes unless given

    Examples
    --------
    >>> import numpy as np
    >>> def attention(q, k, v):
    ...     scores = q @ k.swapaxes(-1, -2)
    ...     e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    ...     return e / e.sum(axis=-1, keepdims=True) @ v
    >>> check(attention).mistakes
    ('no scaling',)
    """
    if dtype not in ("auto", *DTYPES):
        raise ArgumentError(f"dtype needs one of {', '.join(DTYPES)}, but it is {dtype!r}.")
    name = str(getattr(function, "__name__", type(function).__name__))
    claims = read_features(features)
    try:
        ways = ways_to_call(function, signature, dtype)
    except ArgumentError as error:
        return Report(name, UNKNOWN, tried=(str(error),))
    return _settled(name, ways, merged(claims, ways))


def _settled(name: str, ways: Ways, features: Features) -> Report:
    """The verdict in the first library and dtype that answers, or what was tried."""
    tried: dict[str, str] = {}
    for callings in ways.groups():
        found, refused = layouts_that_answer(ways.function, callings)
        if found:
            return settle(ways.function, name, found, features)
        for calling, why in refused:  # the same error in another dtype says nothing new
            tried.setdefault(f"{calling.library} {calling.layout} {why}", say(calling, name))
    reasons = (f"{way}: {key.split(' ', 2)[2]}" for key, way in tried.items())
    return Report(name, UNKNOWN, tried=tuple(reasons))
