"""What a model computes at its end: next tokens, masked tokens, labels, a span, or vectors.

An experiment compares two of these. What is compared by default depends on the kind: the token
after the text, every masked token, the token whose label changed most, the label of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import ArgumentError, NotAskedError, count
from regard.experiments.experiment import WordProbability
from regard.typing import Array

if TYPE_CHECKING:
    import torch

NEXT, MASKED, TOKEN_LABELS, LABEL, NUMBER, SPAN, VECTORS = (
    "next token", "masked token", "token label", "label", "number", "span", "vectors",
)  # fmt: skip
BY_TOKEN = (NEXT, MASKED, TOKEN_LABELS)  # kinds with logits (b, t, v)
CHOICES = (*BY_TOKEN, LABEL)
MAX_SHOWN = 8


@dataclass(frozen=True)
class Outcome:
    """The numbers at a model's end: logits (b, t, v) or (b, v), (b, 2, t) of a span, (b, t, e).

    ``labels`` are the names of a classifier's logits. ``several`` says that each label is judged by
    itself, so that their probabilities do not add up to 1.
    """

    kind: str
    values: torch.Tensor = field(repr=False)
    labels: Mapping[int, str] = field(default_factory=dict)
    several: bool = False

    @classmethod
    def from_output(cls, model: Any, output: Any) -> Outcome | None:
        """Of a model of transformers by what its class is for, else of the first tensor."""
        import torch

        config = getattr(model, "config", None)
        starts, ends = (getattr(output, f"{x}_logits", None) for x in ("start", "end"))
        if starts is not None and ends is not None:
            return cls(SPAN, torch.stack([starts.detach(), ends.detach()], dim=1))
        values, kind = scores_of(output), NEXT
        if values is None:
            vectors = getattr(output, "last_hidden_state", None)
            return None if vectors is None else cls(VECTORS, vectors.detach())
        purposes = {type(x).__name__.partition("For")[2] for x in model.modules()}
        if values.ndim == 2:
            kind = NUMBER if values.shape[-1] == 1 else LABEL
        elif "MaskedLM" in purposes:
            kind = MASKED
        elif "TokenClassification" in purposes:
            kind = TOKEN_LABELS
        names = getattr(config, "id2label", None) if kind in (TOKEN_LABELS, LABEL) else None
        several = getattr(config, "problem_type", None) == "multi_label_classification"
        labels = {int(x): str(name) for x, name in (names or {}).items()}
        return cls(kind, values.detach(), labels, several)

    def probabilities(self, sentence: int, at: int | None) -> Array:
        """probability_v of one sentence, after or of one token where there is one for each."""
        scores_v = (self.values[sentence] if at is None else self.values[sentence, at]).double()
        shares_v = scores_v.sigmoid() if self.several else scores_v.softmax(-1)
        return np.asarray(shares_v.cpu().numpy())


def scores_of(output: Any) -> Any:
    """Logits by name, or the first tensor (b, t, v) of a plain module's output."""
    if hasattr(output, "logits") or hasattr(output, "last_hidden_state"):
        return getattr(output, "logits", None)
    several = output if isinstance(output, tuple | list) else (output,)
    return next((x for x in several if getattr(x, "ndim", 0) in (2, 3)), None)


def default_positions(
    kind: str, ids: Sequence[int] | None, tokenizer: Any, real: range
) -> tuple[int, ...]:
    """The tokens whose logits are looked at, of the ``real`` ones of a sentence.

    The last of a text that goes on; every mask, or the last word where there is none; every word
    of a text whose tokens have labels.
    """
    if kind == NEXT:
        return (real[-1],)
    if kind not in BY_TOKEN:
        return ()
    special = set(getattr(tokenizer, "all_special_ids", ()))
    known = [] if ids is None else list(ids)
    masks = [t for t in real if known and known[t] == getattr(tokenizer, "mask_token_id", None)]
    if kind == MASKED and masks:
        return tuple(masks)
    words = [t for t in real if not known or known[t] not in special] or list(real)
    return (words[-1],) if kind == MASKED else tuple(words)


@dataclass(frozen=True)
class Table:
    """One result before and after: a heading, and rows of words or labels with probabilities."""

    heading: str
    rows: tuple[WordProbability, ...] = ()


def tables(experiment: Any, sentence: int) -> Iterator[Table]:
    """What to show of one sentence of an experiment on a watched model."""
    before, after = experiment.before, experiment.after
    one, other = before.outcome, after.outcome
    of = f" of sentence {sentence}" if len(other.values) > 1 else ""
    if other.kind == NUMBER:
        values = [float(x.values[sentence, 0]) for x in (one, other)]
        yield Table(f"The number{of}: {values[0]:.4g} before, {values[1]:.4g} after.")
    elif other.kind == SPAN:
        spans = [_span(run, sentence) for run in (before, after)]
        yield Table(f"The answer{of}: {spans[0]} before, {spans[1]} after.")
    elif other.kind == VECTORS:
        yield Table(_turned(before, after, sentence, of))
    elif other.kind == LABEL:
        yield Table(f"The label{of}:", experiment.next_tokens(sentence=sentence))
    elif other.kind == NEXT:
        yield Table(f"The next token{of}:", experiment.next_tokens(sentence=sentence))
    else:
        places = after.places[sentence]
        if other.kind == TOKEN_LABELS:
            places = (most_changed(one, other, sentence, places),)
        for at in places[:MAX_SHOWN]:
            what = "label of" if other.kind == TOKEN_LABELS else "word at"
            more = f", the most changed of {len(after.places[sentence])}" if what[0] == "l" else ""
            heading = f"The {what} token {at}, {after.token_at(sentence, at)!r}{of}{more}:"
            yield Table(heading, experiment.next_tokens(sentence=sentence, position=at))
        if len(places) > MAX_SHOWN:
            yield Table(f"... and {count(len(places) - MAX_SHOWN, 'more masked word')}.")


def most_changed(one: Outcome, other: Outcome, sentence: int, places: Sequence[int]) -> int:
    """The token whose probabilities differ most between two outcomes, by their sum."""
    if one.values.shape != other.values.shape:
        return places[0]
    moved = [
        float(np.abs(one.probabilities(sentence, t) - other.probabilities(sentence, t)).sum())
        for t in places
    ]
    return places[int(np.argmax(moved))]


def _span(run: Any, sentence: int) -> str:
    """The likeliest span that begins before it ends, with its probability."""
    starts_t, ends_t = run.outcome.values[sentence].double().softmax(-1).cpu().numpy()
    both_tt = np.triu(np.outer(starts_t, ends_t))
    first, last = np.unravel_index(int(both_tt.argmax()), both_tt.shape)
    text = run.text_between(sentence, int(first), int(last) + 1)
    return f"{text!r} (tokens {first} to {last}, {100 * both_tt.max():.1f} %)"


def _turned(before: Any, after: Any, sentence: int, of: str) -> str:
    """By what angle the output vectors turned."""
    from torch.nn.functional import cosine_similarity

    one, other = (x.outcome.values[sentence].double() for x in (before, after))
    if one.shape != other.shape:
        return "The texts have different lengths, so their output vectors are not compared."
    cosine_t = cosine_similarity(one, other, dim=-1).clamp(-1, 1).cpu().numpy()
    degrees_t = np.degrees(np.arccos(cosine_t))
    most = int(degrees_t.argmax())
    return (
        f"This model has no head that chooses words or labels. Its {len(degrees_t)} output vectors"
        f"{of} turned by {degrees_t.mean():.2f} degrees on average, most that of token {most}, "
        f"{after.token_at(sentence, most)!r}: {degrees_t[most]:.2f}."
    )


def label_id(outcome: Outcome, label: str | int) -> int:
    """The number of a label."""
    number = outcome.values.shape[-1]
    if isinstance(label, str):
        found = [x for x, name in outcome.labels.items() if name == label]
        if found:
            return found[0]
        names = ", ".join(repr(x) for x in list(outcome.labels.values())[:MAX_SHOWN])
        raise ArgumentError(f"a label must be one of {names}, got {label!r}.")
    if not 0 <= label < number:
        raise ArgumentError(f"a label must be 0 to {number - 1}, got {label!r}.")
    return int(label)


def need_choices(outcome: Outcome | None, model: Any) -> Outcome:
    """The outcome where it is logits; raises where there is nothing to choose between."""
    if outcome is None or outcome.kind not in CHOICES:
        raise NotAskedError(
            f"{type(model).__name__} has no logits: take a class with a head that chooses among "
            "words or labels."
        )
    return outcome
