"""Outcome of a change in a watched model: logits, next tokens and text before and after."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.display import TextDisplay
from regard.errors import ArgumentError, NotAskedError
from regard.watcher.changes.rerun import ModelRun, RunCapture

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class NextToken:
    """A token that may come next, and its probability in both runs."""

    token: str
    id: int
    before: float
    after: float


@dataclass(frozen=True, repr=False)
class ModelOutcome(TextDisplay):
    """A run with changes, and the same run without them.

    ``changed`` are the changes in words; ``before`` and ``after`` have ``logits`` (b, t, v) of the
    text that went in, and ``sequences`` where ``generate`` ran.
    """

    changed: tuple[str, ...]
    before: ModelRun
    after: ModelRun
    tokenizer: Any = field(default=None, repr=False)
    last_b: tuple[int, ...] = ()

    @property
    def logits(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits (b, t, v) before and after."""
        before, after = self.before.logits, self.after.logits
        if before is None or after is None:
            raise NotAskedError(
                "this model has no logits: take a class with a language-model head, or compare "
                "its outputs yourself."
            )
        return before, after

    @property
    def same(self) -> bool:
        """Whether not one bit of the logits differs."""
        before, after = self.logits
        return bool((before == after).all())

    def next_tokens(
        self, number: int = 5, *, sentence: int = 0, position: int | None = None
    ) -> tuple[NextToken, ...]:
        """The likeliest tokens in either run, with their probabilities in both.

        Parameters
        ----------
        number : how many of each run.
        sentence : of a batch, from 0.
        position : the token whose logits are read, from 0; the last real one if not given.
        """
        both_v = self._probabilities(sentence, position)
        best = [np.argsort(-x, kind="stable")[:number].tolist() for x in both_v]
        chosen = sorted({*best[0], *best[1]}, key=lambda i: -max(x[i] for x in both_v))
        return tuple(
            NextToken(token_name(self.tokenizer, i), i, *(float(x[i]) for x in both_v))
            for i in chosen
        )

    def _probabilities(self, sentence: int, position: int | None) -> list[NDArray[np.float64]]:
        sentences, tokens = self.logits[0].shape[:2]
        if not 0 <= sentence < sentences:
            raise ArgumentError(
                f"sentence needs a number from 0 to {sentences - 1}, but it is {sentence!r}."
            )
        at = self.last_b[sentence] if position is None and self.last_b else position
        at = tokens - 1 if at is None else at
        if not 0 <= at < tokens:
            raise ArgumentError(
                f"position needs a number from 0 to {tokens - 1}, but it is {at!r}."
            )
        return [x[sentence, at].double().softmax(-1).cpu().numpy() for x in self.logits]

    @property
    def texts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The texts of ``generate`` before and after, one for each sentence."""
        before, after = self.before.sequences, self.after.sequences
        if before is None or after is None:
            raise NotAskedError("there is text where the model generates: call model.generate.")
        one, other = (tuple(text_of(self.tokenizer, x) for x in some) for some in (before, after))
        return one, other

    def to_dict(self) -> dict[str, Any]:
        """The outcome as JSON values: the likeliest next tokens of each sentence, and texts."""
        sentences = range(self.logits[0].shape[0])
        generated = self.after.sequences is not None
        return {
            "changed": list(self.changed),
            "next_tokens": [
                [vars(x) for x in self.next_tokens(sentence=sentence)] for sentence in sentences
            ],
            "texts": dict(zip(("before", "after"), self.texts, strict=True)) if generated else None,
            "counting": "layers and heads count from 0",
        }


def outcome_of(changes: tuple[str, ...], capture: RunCapture, tokenizer: Any) -> ModelOutcome:
    """Run the model once more without the changes, and put both runs side by side."""
    last_b: tuple[int, ...] = ()
    mask = capture.keywords.get("attention_mask")
    if mask is not None and mask.ndim == 2 and capture.result.logits is not None:
        tokens = capture.result.logits.shape[1]
        if mask.shape[1] == tokens:
            last_b = tuple(tokens - 1 - x for x in mask.flip(1).argmax(1).tolist())
    return ModelOutcome(changes, capture.again(), capture.result, tokenizer, last_b)


def token_name(tokenizer: Any, token: int) -> str:
    """A token as it is written, or its number where there is no tokenizer."""
    if tokenizer is None:
        return str(token)
    return str(tokenizer.decode([token])) or str(tokenizer.convert_ids_to_tokens(token))


def text_of(tokenizer: Any, ids: Any) -> str:
    """Tokens as text, or their numbers where there is no tokenizer."""
    if tokenizer is None:
        return " ".join(map(str, ids.tolist()))
    return str(tokenizer.decode(ids, skip_special_tokens=True))
