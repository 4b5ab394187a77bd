"""Retrieval heads: a needle sentence at several depths of a long text, and heads that look at it.

The text, a question and its answer are read in one forward. In the row that predicts a token of the
answer a retrieval head has its largest weight on that token in the needle (Wu et al. 2024).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.display import TextDisplay
from regard.errors import ArgumentError
from regard.experiments.changes import SENTENCES
from regard.text.words import tokenized_ids
from regard.typing import Array
from regard.watcher.capture.runs import LayerKey
from regard.watcher.experiments.rerun import input_device
from regard.watcher.layer import LayerObservation, visible_band

if TYPE_CHECKING:
    from regard.watcher.seen import Seen
    from regard.watcher.watch import Watching


DEFAULT_NEEDLE = "The number of the lighthouse is seven nine four to this day."
DEFAULT_QUESTION = "What is the number of the lighthouse? The number of the lighthouse is"
DEFAULT_ANSWER = "seven nine four"
DEFAULT_DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class NeedleTask:
    """A text to hide a needle in, the needle, a question, and the answer as the needle has it."""

    haystack: str
    needle: str
    question: str
    answer: str
    depths: tuple[float, ...]

    def check(self) -> None:
        """Raise where the answer is not in the needle, or a depth is not from 0 to 1."""
        if not self.answer.strip() or self.answer.strip() not in self.needle:
            raise ArgumentError(
                f"the answer must be part of the needle: {self.answer!r} is not in {self.needle!r}."
            )
        if not self.depths or not all(0 <= depth <= 1 for depth in self.depths):
            raise ArgumentError(f"depths must be numbers from 0 to 1, got {self.depths!r}.")


@dataclass(frozen=True)
class RetrievalHead:
    """One head over all depths: ``copied`` and ``weight`` are means, ``by_depth`` has copied.

    copied: share of the answer's tokens whose row has its largest weight on that token in the
    needle. weight: mean weight of those rows on the needle. The baselines are those of even
    attention over the visible keys.
    """

    part: str
    layer: int
    head: int
    copied: float
    copied_baseline: float
    weight: float
    weight_baseline: float
    by_depth: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class NeedleReport(TextDisplay):
    """Every head, those that copy most first; ``answered`` is the model's own success by depth.

    ``answered``: share of the answer's tokens that the model itself holds likeliest, None where it
    has no logits. ``tokens`` is the length of the text.
    """

    heads: tuple[RetrievalHead, ...]
    depths: tuple[float, ...]
    answered: tuple[float, ...] | None
    answer: tuple[str, ...]
    tokens: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "heads": [vars(head) | {"by_depth": list(head.by_depth)} for head in self.heads],
            "depths": list(self.depths),
            "answered": None if self.answered is None else list(self.answered),
            "answer": list(self.answer),
            "tokens": self.tokens,
            "counting": "layers and heads count from 0",
        }


def find_retrieval_heads(watching: Watching, task: NeedleTask) -> NeedleReport:
    """Run the model once for each depth, and score every head."""
    task.check()
    if watching.tokenizer is None:
        raise ArgumentError("needle needs the model's tokenizer: watch(model, tokenizer=...).")
    texts = [NeedleText.at_depth(watching, task, depth) for depth in task.depths]
    runs = [text.run(watching) for text in texts]
    answered = [own for _, own in runs]
    heads = _heads(list(zip(texts, (seen for seen, _ in runs), strict=True)))
    answer_ids = texts[0].answer.tolist()
    names = tokenized_ids(watching.tokenizer, answer_ids, len(answer_ids)).tokens
    known = None if None in answered else tuple(x for x in answered if x is not None)
    return NeedleReport(heads, task.depths, known, names, len(texts[0].ids))


@dataclass(frozen=True)
class NeedleText:
    """The tokens of a text with a needle; ``needle`` is its span, ``rows`` predict ``answer``."""

    ids: NDArray[np.int64]
    needle: tuple[int, int]
    rows: tuple[int, int]
    answer: NDArray[np.int64]

    @classmethod
    def at_depth(cls, watching: Watching, task: NeedleTask, depth: float) -> NeedleText:
        """Insert the needle after this share of the sentences, regard's own without a haystack."""
        encode = _Encoder(watching.tokenizer)
        sentences = re.split(r"(?<=[.!?])\s+", task.haystack.strip() or " ".join(SENTENCES))
        question, needle = encode(task.question), encode(task.needle)
        answer = encode.answer(task.answer, needle)
        most = getattr(getattr(watching.model, "config", None), "max_position_embeddings", None)
        if not task.haystack.strip():
            sentences = _fitting(encode, sentences, most, [*question, *needle, *answer])
        at = round(depth * len(sentences))
        before = encode.start + encode(" ".join(sentences[:at]))
        after = encode(" ".join(sentences[at:]))
        ids = np.array([*before, *needle, *after, *question, *answer], np.int64)
        if most is not None and len(ids) > most:
            raise ArgumentError(
                f"the text with needle, question and answer must have at most {most:,} tokens, as "
                f"many as {type(watching.model).__name__} can read, got {len(ids):,}."
            )
        stop = len(ids) - 1  # the last token of the answer predicts nothing that is asked for
        span = (len(before), len(before) + len(needle))
        return cls(ids, span, (stop - len(answer), stop), np.array(answer, np.int64))

    def run(self, watching: Watching) -> tuple[Seen, float | None]:
        """What was seen, and the share of the answer that the model itself holds likeliest."""
        import torch

        spans = {"answer": self.rows, "needle": self.needle}
        block = watching.with_options(top=1, map=0, spans=spans)
        device = input_device(watching.model)
        with torch.no_grad(), block as seen:
            output = watching.model(torch.from_numpy(self.ids)[None].to(device))
        if seen.parts != ("decoder",):
            raise ArgumentError(
                "needle needs a model that reads from left to right, and this one has "
                f"{', '.join(seen.parts)}."
            )
        logits = getattr(output, "logits", output)
        if not isinstance(logits, torch.Tensor) or logits.ndim != 3:
            return seen, None
        best = logits[0, slice(*self.rows)].argmax(-1).cpu().numpy()
        return seen, float((best == self.answer).mean())

    def scores(self, layer: LayerObservation) -> tuple[Array, Array]:
        keys_hq = np.asarray(layer.top(1).keys[:, slice(*self.rows), 0])
        inside_hq = (keys_hq >= self.needle[0]) & (keys_hq < self.needle[1])
        hit_hq = inside_hq & (self.ids[np.maximum(keys_hq, 0)] == self.answer)
        weight_h = np.asarray(layer.span("answer", "needle"), np.float64)
        return hit_hq.mean(axis=1), weight_h

    def chances(self, layer: LayerObservation) -> tuple[float, float]:
        """The same of even attention: a window sees less, and maybe no needle at all."""
        rows, keys = np.arange(*self.rows), np.arange(*self.needle)
        low, high = np.zeros_like(rows), rows + 1
        band = visible_band(layer)
        if band is not None:
            low, high = (x[0][rows] for x in band.key_ranges())
        visible = (keys >= low[:, None]) & (keys < high[:, None])
        hits = visible & (self.ids[keys] == self.answer[:, None])
        choices = np.maximum(high - low, 1)
        shares = (some.sum(axis=1) / choices for some in (hits, visible))
        copied, weight = (float(share.mean()) for share in shares)
        return copied, weight


class _Encoder:
    """Token ids of pieces of text that are put together."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        # What the tokenizer puts before every text, as a beginning-of-text token.
        full, bare = (tokenizer.encode("a", add_special_tokens=x) for x in (True, False))
        at = next((i for i in range(len(full)) if full[i : i + len(bare)] == bare), 0)
        self.start: list[int] = list(full[:at])

    def __call__(self, text: str) -> list[int]:
        return self._plain(f" {text}" if self._needs_blank else text) if text else []

    def answer(self, text: str, needle: Sequence[int]) -> list[int]:
        """The answer in the needle's own tokens."""
        unknown = getattr(self.tokenizer, "unk_token_id", None)
        for spelling in (text.strip(), f" {text.strip()}"):
            ids = self._plain(spelling)
            if unknown in ids:
                raise ArgumentError(
                    f"the answer must be words that the tokenizer knows, and it does not know all "
                    f"of {text!r}: choose a needle in the model's own vocabulary."
                )
            if any(list(needle[i : i + len(ids)]) == ids for i in range(len(needle))):
                return ids
        raise ArgumentError(
            f"the answer must be part of the needle token by token, and {text!r} has other tokens "
            "by itself than in the needle: choose words that begin with a blank in both."
        )

    @property
    def _needs_blank(self) -> bool:
        """Whether a word that begins a text has another token than after a blank, as in GPT-2."""
        return self._plain("a a")[-1:] != self._plain("a")[-1:]

    def _plain(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return ids


def _fitting(
    encode: _Encoder, sentences: list[str], most: int | None, others: Sequence[int]
) -> list[str]:
    """As many of regard's own sentences as the model can read with the rest of the text."""
    room = (most or 2**30) - len(others) - len(encode.start)
    lengths = np.cumsum([len(encode(sentence)) + 1 for sentence in sentences])
    return sentences[: int((lengths <= room).sum())]


def _heads(runs: Sequence[tuple[NeedleText, Seen]]) -> tuple[RetrievalHead, ...]:
    heads = []
    for key in runs[0][1].names:
        copied_nh, weight_nh, chances = _layer_scores(runs, key)
        for head, (copied_n, weight_n) in enumerate(zip(copied_nh.T, weight_nh.T, strict=True)):
            copied, weight = float(copied_n.mean()), float(weight_n.mean())
            scores = copied, chances[0], weight, chances[1]
            heads.append(RetrievalHead(*key, head, *scores, tuple(copied_n.tolist())))
    return tuple(sorted(heads, key=lambda head: (-head.copied, -head.weight)))


def _layer_scores(
    runs: Sequence[tuple[NeedleText, Seen]], key: LayerKey
) -> tuple[Array, Array, tuple[float, float]]:
    scores = [text.scores(seen[key]) for text, seen in runs]
    chances = np.mean([text.chances(seen[key]) for text, seen in runs], axis=0)
    copied_nh, weight_nh = (np.array([pair[i] for pair in scores]) for i in range(2))
    return copied_nh, weight_nh, (float(chances[0]), float(chances[1]))
