"""TEXT -> TEXT: many sentences through one or several models, in batches of like length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sentencepiece
import torch
from torch import Tensor

from regard.transformer.config import END, PAD, Config
from regard.transformer.train.corpus import Ragged, encode, tagged
from regard.transformer.train.decode import beam_search
from regard.transformer.train.module import Tensors

Choose = Callable[[Sequence[Tensors], Config, Tensor], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Translator:
    """Models that decode together, with their tokens; `choose` is how a translation is picked."""

    models: tuple[Tensors, ...]
    config: Config
    tokens: sentencepiece.SentencePieceProcessor
    choose: Choose = beam_search
    tokens_per_batch: int = 4_096

    def __call__(self, sentences: Sequence[str], tag: str = "") -> list[tuple[str, float]]:
        """Each sentence's translation and the mean log-probability of its tokens."""
        sources = encode(self.tokens, sentences)
        if tag:
            sources = tagged(sources, self.tokens.piece_to_id(tag))
        found: list[tuple[str, float]] = [("", 0.0)] * len(sources)
        for rows in _by_length(sources, self.tokens_per_batch, self.config.max_length):
            for row, answer in zip(rows, self._batch(sources.take(rows)), strict=True):
                found[row] = answer
        return found

    def _batch(self, sources: Ragged) -> Iterator[tuple[str, float]]:
        device = self.models[0]["embedding"].device
        source_bt = torch.from_numpy(sources.padded(PAD)).to(device)
        with torch.no_grad():
            said_bt, score_b = self.choose(self.models, self.config, source_bt)
        rows = [_until_end(row) for row in said_bt.tolist()]
        return zip(self.tokens.decode(rows), score_b.tolist(), strict=True)


def fast_copy(parameters: Tensors) -> Tensors:
    """The same parameters in the precision a device decodes fastest in."""
    if not parameters["embedding"].is_cuda:
        return parameters
    return {name: parameter.to(torch.bfloat16) for name, parameter in parameters.items()}


def _by_length(sources: Ragged, tokens_per_batch: int, longest: int) -> Iterator[np.ndarray]:
    order = np.argsort(sources.lengths, kind="stable")
    order = order[sources.lengths[order] <= longest]
    start = 0
    while start < len(order):
        window = sources.lengths[order[start : start + tokens_per_batch]]
        sizes = np.arange(1, len(window) + 1) * window
        count = max(1, int(np.searchsorted(sizes, tokens_per_batch, side="right")))
        yield order[start : start + count]
        start += count


def _until_end(row: list[int]) -> list[int]:
    return [token for token in row[: row.index(END) if END in row else None] if token != PAD]
