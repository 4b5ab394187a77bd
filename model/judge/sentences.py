"""Single sentences for the contrast judge: *it* without antecedent, and varied pairs by hand.

The pairs written by hand follow no frame: they are harder than the pairs of `frames`, and nothing
is chosen or tuned on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from judge.frames import ContrastPair, ContrastSentence, french_nouns
from word_tables import read_table

_TABLE = read_table(Path(__file__).parent / "tables" / "sentences.txt")


@dataclass(frozen=True)
class MarkedNouns:
    """A sentence whose *it* stands for nothing, and its nouns in lower case."""

    sentence: str
    nouns: tuple[str, ...]


def no_antecedent(*, harder: bool = False) -> list[MarkedNouns]:
    """The sentences whose *it* stands for nothing, with their nouns: the first ones, or harder."""
    marked = []
    for (text,) in _TABLE["without antecedent, harder" if harder else "without antecedent"]:
        nouns = tuple(word.lower() for word in text.split("*")[1::2])
        marked.append(MarkedNouns(text.replace("*", ""), nouns))
    return marked


def hand_written() -> list[ContrastPair]:
    """The pairs written by hand, each with its two endings."""
    return [
        ContrastPair(_sentence(text, of_first, 0), _sentence(text, of_second, 1))
        for text, of_first, of_second in _TABLE["pairs"]
    ]


def hand_written_forms(noun: str) -> dict[str, str]:
    """The French nouns of a noun of the pairs written by hand, with their gender, m or f."""
    return _FRENCH.get(noun, {})


def _sentence(text: str, ending: str, right: int) -> ContrastSentence:
    nouns = [word.lower() for word in text.split("*")[1::2]]
    pronoun = text.split("_")[1]
    sentence = f"{text} {ending}.".replace("*", "").replace("_", "")
    return ContrastSentence(sentence, nouns[right], nouns[1 - right], pronoun, frame="by hand")


_FRENCH = french_nouns("by hand")
