"""Display of results: their text is their repr, in a terminal and in a notebook."""

import numpy as np
import pytest

import regard
from regard.heads.links import Link


class Printer:
    """The part of a notebook's pretty printer that a result uses."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def text(self, part: str) -> None:
        self.parts.append(part)


def scaled_by_d(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1]
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


STEPS = regard.self_attention([[1, 0], [0, 1]], *[np.eye(2)] * 3, words=["yes", "no"])
RESULTS = {
    "why": lambda: STEPS.why("weights", "yes", "no"),
    "link": lambda: Link("encoder", 3, 6, 6, 1, "it", "dog", 0.84, 0.02),
    "check": lambda: regard.check(scaled_by_d),
}


@pytest.mark.parametrize("name", RESULTS)
def test_the_repr_is_the_text(name):
    result, printer = RESULTS[name](), Printer()
    result._repr_pretty_(printer, False)
    assert repr(result) == str(result) == "".join(printer.parts)
    assert "(frozen" not in repr(result)
    assert len(repr(result)) < 3_000


def test_a_list_of_links_reads_well():
    link = RESULTS["link"]()
    text = "it looks at dog: 84 % in encoder layer 3, head 6 (usual: 2 %)"
    assert repr([link, link]) == f"[{text}, {text}]"


def test_steps_are_text_in_a_terminal_and_a_page_in_a_notebook():
    assert str(STEPS).startswith("tokens (2): yes no")
    assert STEPS._repr_html_().startswith("<")
