"""Options of regard.watch: layers to record, sizes of the facts, and spans of the text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import ArgumentError
from regard.text.words import TokenizedText, tokenized_ids

Layers = str | int | Iterable[int]
KEPT_BYTES = 2**30  # of query and key of all layers together, with keep="auto"
Span = tuple[int, int]
Message = Mapping[str, Any]  # of a chat: {"role": ..., "content": ...}
Spans = Mapping[str, Span | str] | Sequence[Span] | Sequence[Message] | str


@dataclass(frozen=True)
class TextSpans:
    """Spans that are named by their text, and known once the tokens of a text are."""

    given: Spans
    tokenizer: Any

    def within(self, ids: Any) -> dict[str, Span]:
        """The spans (start, stop) of some token ids."""
        return resolved_spans(self.given, tokenized_ids(self.tokenizer, ids, len(ids)))


def resolved_spans(given: Spans, text: TokenizedText) -> dict[str, Span]:
    """Spans (start, stop) by name, of tokens, texts, the messages of a chat, or 'lines'."""
    if isinstance(given, str):
        return text.lines()
    if _are_messages(given):
        return _message_spans(given, text)  # type: ignore[arg-type]
    pairs = _named(given)
    return {name: text.span(x) if isinstance(x, str) else x for name, x in pairs.items()}


def _message_spans(messages: Sequence[Message], text: TokenizedText) -> dict[str, Span]:
    """What each message says, by its role; the second of a role is 'user 2'."""
    spans: dict[str, Span] = {}
    end = 0
    for message in messages:
        role = str(message.get("role", "message"))
        number = sum(name.split()[0] == role for name in spans) + 1
        span = text.span(str(message["content"]), after=end)
        spans[role if number == 1 else f"{role} {number}"] = span
        end = span[1]
    return spans


def _are_messages(given: Any) -> bool:
    several = isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 0
    return several and all(isinstance(x, Mapping) and "content" in x for x in given)


@dataclass(frozen=True)
class Options:
    """Layers to record, sizes of top and map, and the layers whose query and key are kept.

    None stands for every layer. ``spans`` are (start, stop) in tokens of the text, by name;
    ``text_spans`` are those that only the text tells. With ``keep_bytes`` a layer is kept while all
    of them together fit into so many bytes.
    """

    layers: frozenset[int] | None
    top: int
    map: int
    keep: frozenset[int] | None
    spans: Mapping[str, Span]
    keep_bytes: int | None = None
    text_spans: TextSpans | None = None

    @classmethod
    def from_arguments(
        cls,
        layers: Layers = "all",
        top: int = 16,
        map: int = 512,
        keep: Layers = (),
        spans: Spans | None = None,
        tokenizer: Any = None,
    ) -> Options:
        """Check the arguments of ``watch``; raises ArgumentError."""
        for name, number in (("top", top), ("map", map)):
            whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
            if not whole or number < 0:
                raise ArgumentError(f"{name} must be a whole number from 0 up, got {number!r}.")
        known, later = check_spans(spans), None
        if spans is not None and any(isinstance(x, str) for x in known.values()):
            later = TextSpans(spans, tokenizer)
        if later is not None and tokenizer is None:
            raise ArgumentError(
                f"spans by text need the model's tokenizer: watch(..., tokenizer=...), got "
                f"{spans!r:.80}."
            )
        numbers: Any = {} if later is not None else known
        most = KEPT_BYTES if isinstance(keep, str) and keep == "auto" else None
        kept = _layers("keep", "all" if most else keep)
        return cls(_layers("layers", layers), top, map, kept, numbers, most, later)

    @property
    def has_spans(self) -> bool:
        return bool(self.spans) or self.text_spans is not None

    def watches(self, layer: int) -> bool:
        return self.layers is None or layer in self.layers

    def keeps(self, layer: int) -> bool:
        return self.keep is None or layer in self.keep

    def map_blocks(self, tokens: int) -> int:
        """The most blocks per side of the map of a text: one per token, or half of ``map``.

        At 2,048 tokens 512 x 512 blocks of each head of a BERT take more memory than the model's
        own vectors do.
        """
        return self.map if tokens <= self.map else -(-self.map // 2)

    @property
    def edges(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The positions where a span begins or ends, sorted."""
        return np.unique([edge for span in self.spans.values() for edge in span]).astype(np.int64)


def _layers(name: str, requested: Layers) -> frozenset[int] | None:
    if isinstance(requested, str):
        if requested == "all":
            return None
    elif isinstance(requested, int | np.integer):
        return frozenset((int(requested),))
    elif isinstance(requested, Iterable):
        numbers = list(requested)
        if all(isinstance(x, int | np.integer) for x in numbers):
            return frozenset(int(x) for x in numbers)
    raise ArgumentError(
        f"{name} must be 'all' or numbers of layers, counted from 0, got {requested!r}."
    )


def _named(spans: Any) -> dict[str, Any]:
    return dict(spans) if isinstance(spans, Mapping) else {str(i): s for i, s in enumerate(spans)}


def check_spans(spans: Spans | None) -> Mapping[str, Span | str]:
    """Checked spans by name: (start, stop) in tokens, or what only the text tells."""
    if spans is None:
        return {}
    if _are_messages(spans) or (isinstance(spans, str) and spans == "lines"):
        return {"": "lines"}
    if not isinstance(spans, Mapping | Sequence) or isinstance(spans, str | bytes):
        raise ArgumentError(
            "spans must be {name: (start, stop)} or {name: text}, several (start, stop), the "
            f"messages of a chat, or 'lines', got {spans!r:.200}."
        )
    pairs = _named(spans)
    for name, span in pairs.items():
        given = list(span) if isinstance(span, Iterable) else []
        integers = [isinstance(x, int | np.integer) for x in given]
        if isinstance(span, str) and span.strip():
            continue
        if integers != [True, True] or not 0 <= given[0] < given[1]:
            raise ArgumentError(
                f"spans must be (start, stop) in tokens, 0 <= start < stop, got {span!r} for "
                f"{name!r}."
            )
    return {name: x if isinstance(x, str) else (int(x[0]), int(x[1])) for name, x in pairs.items()}
