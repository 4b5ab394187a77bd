"""Texts of a block of mixers: the calls of a generation joined, sentences without their padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from regard.errors import BackendError
from regard.typing import Array
from regard.watcher.mixers.inputs import KeptForward, KeptMixer, MixerInputs
from regard.watcher.mixers.module_call import ModuleCall, apart
from regard.watcher.mixers.proven import check_output, output_error

Groups = list[list[int]]  # the numbers of the calls of each text


@dataclass(frozen=True)
class JoinedText:
    """One sentence of a text: its calls, and its positions without padding."""

    numbers: tuple[int, ...]
    sentence: int
    first: int
    stop: int
    ids: Array | None = field(default=None, repr=False)


class MixerTexts:
    """The texts of a block: calls of a generation are one text, without its padding.

    Which calls belong together is not known by names of caches: they are joined, run again without
    one, and have to return what they returned.
    """

    def __init__(self, inputs: MixerInputs) -> None:
        self.inputs = inputs

    def groups(self) -> Groups:
        """The numbers of the calls of each text."""
        kept = next((x for x in self.inputs.mixers.values() if x.calls), None)
        if kept is None:
            return []
        if len(kept.calls) == 1:
            return [[0]]
        lengths = [call.hidden.shape[1] for call in kept.calls]
        prompts = [i for i, length in enumerate(lengths) if length > 1 or i == 0]
        edges = [*prompts, len(lengths)]
        generations = [list(range(a, b)) for a, b in pairwise(edges)]
        whole, single = [list(range(len(lengths)))], [[i] for i in range(len(lengths))]
        for groups in (generations, whole, single):
            if all(self._returns_the_same(kept, group) for group in groups):
                return groups
        return generations

    def _returns_the_same(self, kept: KeptMixer, numbers: Sequence[int]) -> bool:
        if len({kept.calls[i].hidden.shape[0] for i in numbers}) > 1:
            return False
        try:
            text = self.text(kept, numbers, 0)
            call = joined_call(kept, text)
            with apart(), torch.no_grad():
                off = output_error(call.output(), returned_rows(kept, text))
            check_output(off, kept.calls[numbers[0]].hidden.dtype)
        except (BackendError, RuntimeError):
            return False
        return True

    def text(self, kept: KeptMixer, numbers: Sequence[int], sentence: int) -> JoinedText:
        """A sentence of a text; raises BackendError where padding lies inside it."""
        calls = [kept.calls[i] for i in numbers]
        lengths = [call.hidden.shape[1] for call in calls]
        total, forwards = sum(lengths), [call.forward for call in calls]
        ids = self._table([x.ids_bt for x in self._forwards(forwards)], lengths, sentence)
        mask = self._mask(forwards, lengths, sentence)
        real = np.arange(total) if mask is None else np.flatnonzero(mask)
        if not len(real) or real[-1] - real[0] + 1 != len(real):
            raise BackendError("padding lies between the tokens of this sentence")
        first, stop = int(real[0]), int(real[-1]) + 1
        ids = None if ids is None else ids[first:stop]
        return JoinedText(tuple(numbers), sentence, first, stop, ids)

    def _forwards(self, numbers: Sequence[int]) -> list[KeptForward]:
        return [self.inputs.forwards[i] for i in numbers] if min(numbers) >= 0 else []

    def _mask(self, forwards: Sequence[int], lengths: list[int], sentence: int) -> Array | None:
        """Which positions are tokens: of the last call, whose mask covers all before, or joined."""
        masks = [x.mask_bt for x in self._forwards(forwards)]
        if masks and masks[-1] is not None and masks[-1].shape[1] == sum(lengths):
            return np.asarray(masks[-1][min(sentence, len(masks[-1]) - 1)])
        return self._table(masks, lengths, sentence)

    @staticmethod
    def _table(tables: list[Array | None], lengths: list[int], sentence: int) -> Array | None:
        known = [x for x in tables if x is not None and sentence < len(x)]
        if len(known) != len(lengths) or [x.shape[1] for x in known] != lengths:
            return None
        return np.concatenate([x[sentence] for x in known])


def joined_call(kept: KeptMixer, text: JoinedText) -> ModuleCall:
    """A text as one call of a mixer."""
    return kept.joined(text.numbers, text.sentence, text.first, text.stop)


def returned_rows(kept: KeptMixer, text: JoinedText) -> dict[int, Tensor]:
    """Rows that the calls of a text returned, by their position without padding."""
    rows, start = dict[int, Tensor](), -text.first
    for number in text.numbers:
        call = kept.calls[number]
        for position, output in call.outputs.items():
            if 0 <= start + position < text.stop - text.first:
                rows[start + position] = output[min(text.sentence, len(output) - 1)]
        start += call.hidden.shape[1]
    return rows
