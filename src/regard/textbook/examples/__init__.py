"""Three published examples of self-attention, reproduced from their inputs and put right."""

from __future__ import annotations

from collections.abc import Callable

from regard.errors import ArgumentError
from regard.textbook.examples.cat import cat
from regard.textbook.examples.good import good
from regard.textbook.examples.robots import robots
from regard.textbook.examples.story import Example

EXAMPLES: dict[str, Callable[[], Example]] = {"robots": robots, "good": good, "cat": cat}


def run_example(name: str) -> Example:
    """Compute one example from its document's inputs.

    >>> run_example("robots").sentence
    'Smart robots perform complex tasks'
    """
    if name not in EXAMPLES:
        listed = ", ".join(EXAMPLES)
        raise ArgumentError(f"example must be one of {listed} or all, got {name!r}.")
    return EXAMPLES[name]()
