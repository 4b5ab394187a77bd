"""What one row of the weights means, in words."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from regard.self_attention.explain.places import Array, find, labels, matrix, sizes, words_of

if TYPE_CHECKING:
    from regard.self_attention.steps import Steps

NAMED = 5  # keys named before the rest are taken together


class Share(NamedTuple):
    """Part of a query's attention: on whom, under which name among the values, and how much."""

    name: str
    value: str
    weight: float


def read_row(steps: "Steps", row: str | int, *, head: int = 0, sentence: int = 0) -> str:
    """Say where a word looks and what its output is made of.

    Examples
    --------
    >>> from regard.self_attention.steps import self_attention
    >>> steps = self_attention(*[np.eye(2)] * 4, words=["yes", "no"])
    >>> read_row(steps, "yes")
    'yes looks at itself 67 %, at no 33 %; its output is 0.67 of v(yes) + 0.33 of v(no).'
    """
    weights_qk = matrix(steps, "weights", head, sentence)
    at = find("row", row, words_of(steps, sentence), len(weights_qk))
    name = labels(steps, len(weights_qk), sentence)[at]
    several = sizes(steps)[1] > 1
    start = f"In head {head}, {name}" if several else name
    result = "its sum in this head" if several else "its output"
    if steps.w_output is not None and not several:
        result = "its output, before w_output,"
    shares = _shares(weights_qk[at], labels(steps, weights_qk.shape[1], sentence), name)
    if not shares:
        return f"{start} may look at nothing; {result} is 0."
    looks = ", ".join(f"at {x.name} {_percent(x.weight)}" for x in shares)
    made = " + ".join(f"{x.weight:.2f} of {x.value}" for x in shares)
    return f"{start} looks {looks}; {result} is {made}."


def _shares(weights_k: Array, names: tuple[str, ...], own: str) -> list[Share]:
    """The largest weights first, what remains of a long row together."""
    # Equal weights may differ in their last bit; rounded, they keep the order of the sentence.
    largest_first = np.argsort(-weights_k.round(12), kind="stable")
    order = [int(k) for k in largest_first if weights_k[k] > 0]
    whole = len(order) <= NAMED + 1
    shares = [
        Share("itself" if names[k] == own else names[k], f"v({names[k]})", float(weights_k[k]))
        for k in (order if whole else order[:NAMED])
    ]
    if not whole:
        rest = order[NAMED:]
        together = f"{len(rest)} others together"
        shares.append(Share(together, f"the {len(rest)} others", float(weights_k[rest].sum())))
    return shares


def _percent(weight: float) -> str:
    return f"{100 * weight:.0f} %" if weight >= 0.005 else "less than 1 %"
