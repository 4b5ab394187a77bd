"""The structure of a layer: what its inputs and parameters act on, asked from outside.

Six stages change inputs, parameters and sums, one at a time, and look at what moves: words,
parameters, fronts, positions, core, tail. Each adds facts (what was understood), differences
(choices that depart from the textbook) and faults (what no attention does on purpose). A rebuilt
attention is the second witness: it shows that nothing else reaches the output.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from regard.checker.example import Example
from regard.checker.instances import made_instances
from regard.checker.structure.core import ask_core
from regard.checker.structure.fronts import ask_fronts, ask_positions
from regard.checker.structure.names import windows
from regard.checker.structure.parameters import ask_parameters
from regard.checker.structure.rebuild import rebuilt_gap
from regard.checker.structure.source import unused_results
from regard.checker.structure.study import Difference, Fault, Study, UndecidedError
from regard.checker.structure.subject import TOKENS, Subject, WordsApartError, subjects
from regard.checker.structure.tail import ask_tail
from regard.checker.structure.traced import traced_subjects
from regard.checker.structure.words import ask_words
from regard.errors import ArgumentError

STAGES: dict[str, Callable[[Study], None]] = {
    "words": ask_words,
    "parameters": ask_parameters,
    "fronts": ask_fronts,
    "positions": ask_positions,
    "core": ask_core,
    "tail": ask_tail,
}
MAX_INSTANCES, MAX_CALLS = 12, 10
LONGEST_WINDOW = 24  # that a few more words can leave
REBUILT = 1e-6
HALF = ("torch.float16", "torch.bfloat16")
USUAL_AXES = 3
GUESSED = "which axes of its arrays are sentences and words could not be told"
NO_OTHER = "no word of the output changes with another word of the input"
ELSE = "something reaches the output that is neither query, key, value nor the words themselves"


@dataclass(frozen=True)
class Structure:
    """What was understood of a layer; ``agrees``: whether a rebuilt one does, None: not asked."""

    facts: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    faults: tuple[Fault, ...] = ()
    open: tuple[str, ...] = ()
    agrees: bool | None = None

    @property
    def sentence(self) -> str:
        """What was understood, in one sentence that the author can contradict."""
        return "; ".join((*self.facts, *(x.text for x in self.differences)))

    def kinds(self) -> frozenset[str]:
        return frozenset(x.kind for x in self.differences)


def understand(
    target: Any, example: Example | None = None, library: str = "torch"
) -> Structure | None:
    """The structure of a class, a module or a function of arrays of a library; None for none.

    Nobody is accused from one call that had to be invented: other instances and other ways to call
    them must show a fault as well.
    """
    first: Structure | None = None
    accused = 0
    for instance in islice(_instances(target), MAX_INSTANCES):
        try:
            made = _of_instance(instance, example, library)
        except ArgumentError:
            continue
        except WordsApartError:
            made = Structure(faults=(Fault("attention across heads", NO_OTHER),))
        if not made.faults:
            return made
        first, accused = first or made, accused + 1
        if accused > 1 or not isinstance(target, type):
            break
    if first is not None and isinstance(target, type):  # sizes may have been too small for it
        with contextlib.suppress(ArgumentError, WordsApartError):
            made = _of_instance(next(_instances(target, wide=True)), example, library)
            first = first if made.faults else made
    return first


def of_subject(subject: Subject) -> Structure:
    """The structure that one way to call a layer shows."""
    study = Study(subject)
    heads, width, value = study.base.q.shape[1], study.base.q.shape[-1], study.base.v.shape[-1]
    groups = study.base.heads_of_k
    of_keys = f" ({groups} of keys)" if groups != heads else ""
    of_values = f", values of {value}" if value != width else ""
    named = "head" if heads == 1 else "heads"
    study.facts.append(f"{heads} {named}{of_keys} of {width}{of_values}")
    for name, ask in STAGES.items():
        try:
            ask(study)
        except UndecidedError as error:
            study.open.append(str(error))
            break
        except Exception as error:  # a stage that cannot be asked is said, and stops no other
            study.open.append(f"{name}: {type(error).__name__}: {error}"[:140])
    if any(n.sources and str(n.tensor.dtype) in HALF for n in study.base.run.nodes):
        study.fault("statistics in half precision", "numbers of 16 bits are made of wider ones")
    for unused in unused_results(subject.layer.called) or unused_results(subject.layer.exact):
        study.fault("a result is never used", f"`{unused}` is computed and never read")
    agrees = None
    if not study.faults:
        try:
            gap = rebuilt_gap(study)
            agrees = None if gap is None else gap <= max(REBUILT, study.exact)
        except Exception:  # other lengths or sizes than it takes: the second witness is missing
            agrees = None
    if agrees is False:
        study.open.append(ELSE)
    return Structure(
        tuple(study.facts),
        tuple(study.differences),
        tuple(study.faults),
        tuple(study.open),
        agrees,
    )


def _of_instance(instance: Any, example: Example | None, library: str) -> Structure:
    """Of several ways to call an instance the first without faults, where a way was invented."""
    reach = [n for _, n in windows(instance) if n <= LONGEST_WINDOW]
    first: Structure | None = None
    tokens = max([TOKENS, *(n + 4 for n in reach)])
    found = subjects(instance, tokens, example) if library == "torch" else (
        traced_subjects(instance, library, example)
    )  # fmt: skip
    widest = 0
    for subject in islice(found, MAX_CALLS):
        is_module = bool(subject.layer.parameters)
        widest = max(widest, *(len(form) for form in subject.forms)) if is_module else 0
        made = of_subject(subject)
        first = first or made
        guessed = bool(subject.invented) or (is_module and len(subject.forms[0]) > USUAL_AXES)
        if not made.faults or not guessed:
            return made if not made.faults else first
    if first is None:
        raise ArgumentError("no attention was found in any call")
    if widest > USUAL_AXES:  # an image or a table of pairs: its axes were guessed
        return replace(first, faults=(), open=(*first.open, GUESSED))
    return first


def _instances(target: Any, wide: bool = False) -> Iterator[Any]:
    if not isinstance(target, type):
        yield target
        return
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)
    for instance in made_instances(target, wide):
        yield instance.eval() if hasattr(instance, "eval") else instance


__all__ = ["Difference", "Fault", "Structure", "of_subject", "understand"]
