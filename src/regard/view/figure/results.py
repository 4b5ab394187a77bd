"""Pictures of results: one head of a reading, one stage of steps, an observation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from regard import __version__
from regard.display import percent
from regard.engine.call import NORM_WEIGHTED_NOTE as NOTE
from regard.engine.observation import Head, Observation
from regard.errors import ArgumentError, count
from regard.heads.links import word_position
from regard.textbook.steps import Steps
from regard.textbook.why import BETWEEN_WORDS, labels, matrix, sentence_words, sizes
from regard.transformer.combine import Mixed
from regard.transformer.highlight import bracketed
from regard.transformer.reading import Reading
from regard.typing import Array
from regard.view.figure.picture import AXIS_TITLES, MAX_LINES, Picture
from regard.view.page.maps import map_edges
from regard.view.terminal.steps import formulas

MAX_CELLS = 64  # a side: up to here an observation is drawn weight by weight


def reading_picture(
    reading: Reading, layer: int | None, head: int | None, options: dict[str, Any]
) -> Picture:
    """One head, the highlight's where none is named; ``word`` stands out."""
    part, by = options.pop("part", "encoder"), options.pop("by", "words")
    word, weighted = options.pop("word", None), options.pop("weighted", None)
    queries, keys = reading.texts(part)
    layer, head, query = _head(reading, part, layer, head, word)
    chosen = _chosen(reading, part, by, query)
    weights = reading.weights(part=part, layer=layer, head=head, by=by, weighted=weighted)
    role = reading.model.roles.heads(part).get((layer, head))
    name = f"Layer {layer}, head {head}" + (f": {role.described}" if role else "")
    caption = _caption(reading, part, layer, head, query)
    if weighted:
        name, caption = f"{name} (norm-weighted)", f"{NOTE[0].upper()}{NOTE[1:]}"
    kind = options.pop("kind", None) or default_kind(weights)
    # The fields of the page's address (web/read/read.js); defaults are left out.
    state = {
        "part": part,
        "layer": layer,
        "head": head,
        "by": by if by == "tokens" else None,
        "as": "map" if kind == "heatmap" else None,
        "q": ".".join(map(str, chosen)) or None,
    }
    return Picture(
        weights,
        (queries.names(by), keys.names(by)),
        kind,
        name,
        caption,
        provenance(
            _model(reading), f'"{reading.sentence}"', f"{part}, layer {layer}, head {head}", by
        ),
        chosen,
        page=_page(reading, state),
        **options,
    )


def default_kind(weights: Array) -> str:
    """Lines while they can be distinguished, else a heatmap."""
    return "lines" if max(weights.shape) <= MAX_LINES else "heatmap"


def mixed_picture(mixed: Mixed, kind: str = "heatmap", by: str = "words") -> Picture:
    """A table combined from many heads, with the sentence that explains it."""
    weights = mixed.weights_qk if by == "words" else mixed.tokens_qk
    names = (mixed.queries.names(by), mixed.keys.names(by))
    title = mixed.name[:1].upper() + mixed.name[1:]
    sentence = f'"{" ".join(mixed.queries.words)}"'
    return Picture(weights, names, kind, title, mixed.explanation, provenance(sentence, by))


def steps_picture(steps: Steps, stage: str, head: int, options: dict[str, Any]) -> Picture:
    """One stage of one head; lines where it is the weights between words."""
    sentence = options.pop("sentence", 0)
    array = matrix(steps, stage, head, sentence)
    rows, columns = (labels(steps, size, sentence) for size in array.shape)
    between = stage in BETWEEN_WORDS
    if not between:
        columns = tuple(str(i) for i in range(array.shape[1]))
    axes = AXIS_TITLES if between else ("token", "feature")
    heads = sizes(steps)[1]
    text = " ".join(sentence_words(steps, sentence))
    return Picture(
        array,
        (rows, columns),
        options.pop("kind", None) or (default_kind(array) if stage == "weights" else "heatmap"),
        stage + (f", head {head}" if heads > 1 else ""),
        f"{stage}: {formulas(steps)[stage]}.",
        provenance(f'"{text}"' if text else "", f"{array.shape[0]} × {array.shape[1]}"),
        what=stage,
        page=_page(steps, {"head": head, "sentence": sentence}),
        axes=axes,
        **options,
    )


def observation_picture(seen: Observation, head: Head, options: dict[str, Any]) -> Picture:
    """Every weight where there are few, else the map: means over blocks.

    ``between`` are two spans of tokens, (start, stop) each: every weight from the first to the
    second, such as from a question to its passage.
    """
    index = head if head is not None else (0,) * len(seen.head_shape) or None
    between, words = options.pop("between", None), options.pop("words", None)
    words = None if words is None else [str(word) for word in words]
    texts = [words or _tokens(seen, name) for name in ("query_text", "key_text")]
    draw = _weights_and_names if between is None else partial(_weights_between, between=between)
    weights, names, how, caption = draw(seen, index, texts)
    number = f"head {_index_text(index)}" if seen.head_shape else ""
    title = ", ".join(x for x in (getattr(seen, "name", ""), number, how) if x)
    return Picture(
        weights.reshape(weights.shape[-2:]),
        names,
        options.pop("kind", "heatmap"),
        options.pop("title", title[:1].upper() + title[1:] or "Attention"),
        caption,
        provenance(
            _excerpt(texts[0]), count(seen.queries, "query", "queries"), count(seen.keys, "key")
        ),
        page=_page(seen, {}),
        **options,
    )


Names = tuple[tuple[str, ...], tuple[str, ...]]


def _weights_and_names(
    seen: Observation, index: Any, texts: Sequence[Any]
) -> tuple[Array, Names, str, str]:
    """All of an observation: weights, names of rows and columns, a part of the title, a caption."""
    few = max(seen.queries, seen.keys) <= MAX_CELLS and _has_weights(seen)
    array: Any = seen.tile(slice(None), slice(None), index) if few else _map(seen, index)
    weights = np.asarray(array, np.float64)
    single = weights.shape[-2:] == (seen.queries, seen.keys)
    edges = [np.arange(n + 1) for n in weights.shape[-2:]] if single else map_edges(seen)
    names = _positions(edges[0], texts[0]), _positions(edges[1], texts[1])
    how = "norm-weighted" if NOTE in seen.notes else ""
    return weights, names, how, "Every weight." if single else _block_caption(edges)


def _weights_between(
    seen: Observation, index: Any, texts: Sequence[Any], *, between: Any
) -> tuple[Array, Names, str, str]:
    """The same of the weights that the tokens of one span give to those of another."""
    spans = _spans(between, (seen.queries, seen.keys))
    weights = np.asarray(seen.tile(slice(*spans[0]), slice(*spans[1]), index), np.float64)
    rows, columns = (
        tuple(text[slice(*span)]) if text else tuple(map(str, range(*span)))
        for text, span in zip(texts, spans, strict=True)
    )
    queries, keys = (f"{start} to {stop - 1}" for start, stop in spans)
    caption = (
        f"Every weight from tokens {queries} to tokens {keys}; the rest of each row is on other "
        "keys."
    )
    return weights, (rows, columns), f"queries {queries}, keys {keys}", caption


def _spans(between: Any, sizes: tuple[int, int]) -> list[tuple[int, int]]:
    if np.shape(between) != (2, 2):
        raise ArgumentError(
            "between must be two spans, (start, stop) of the queries and of the keys, got "
            f"{between!r}."
        )
    spans = [(int(start), int(stop)) for start, stop in between]
    for (start, stop), size in zip(spans, sizes, strict=True):
        if not 0 <= start < stop <= size:
            raise ArgumentError(
                f"between must have 0 <= start < stop <= {size}, got ({start}, {stop})."
            )
    return spans


def _has_weights(seen: Observation) -> bool:
    return bool(seen.parts) or bool(getattr(seen, "every_weight", False))


def _tokens(seen: Observation, name: str) -> tuple[str, ...] | None:
    """The names of rows or columns, where a model's tokenizer gave any."""
    text = getattr(seen, name, None)
    return None if text is None else text.tokens


def _excerpt(tokens: Any) -> str:
    text = " ".join(tokens or ())
    return f'"{text}"' if 0 < len(text) <= 120 else f'"{text[:117]}..."' if text else ""


def _head(
    reading: Reading, part: str, layer: int | None, head: int | None, word: str | int | None
) -> tuple[int, int, int | None]:
    """The head asked for or the highlight's, and the word that stands out."""
    if part == "encoder" and (layer is None or head is None):
        link = reading.highlight(word, layer, head).link
        return link.layer, link.head, link.query
    if layer is None or head is None:
        raise ArgumentError(
            f"a picture of {part!r} needs a layer and a head, such as layer=0, head=0."
        )
    words = reading.texts(part)[0].words
    return layer, head, None if word is None else word_position(words, word)


def _chosen(reading: Reading, part: str, by: str, query: int | None) -> tuple[int, ...]:
    if query is None:
        return ()
    text = reading.texts(part)[0]
    if by == "words":
        return (query,)
    return tuple(t for t, word in enumerate(text.word_of_token) if word == query)


def _caption(reading: Reading, part: str, layer: int, head: int, query: int | None) -> str:
    """One sentence about what the chosen word looks at most."""
    if query is None:
        return ""
    queries, keys = reading.texts(part)
    row = reading.weights(part=part, layer=layer, head=head)[query]
    best = int(row.argmax())
    doubt = reading.highlight(query, layer, head).doubt if part == "encoder" else ""
    looks = f"{queries.words[query]} looks at {keys.words[best]}: {percent(row[best])}"
    return f"{looks}{bracketed(doubt)}."


def _model(reading: Reading) -> str:
    model = reading.model
    name = "untrained model" if model.untrained else str(model.about.get("name", "a model"))
    return f"model {name}" if "model" not in name else name


def _map(seen: Observation, index: Any) -> Any:
    return seen.map[index] if index is not None else seen.map


def _block_caption(edges: Sequence[Array]) -> str:
    queries, keys = (int(np.diff(axis).max()) for axis in edges)
    return (
        f"Mean weight that a block of up to {count(queries, 'query', 'queries')} gives to a block "
        f"of up to {count(keys, 'key')}; each row sums to 1."
    )


def _positions(edges: Array, words: Any) -> tuple[str, ...]:
    """The word of each block, where each is a single one; else where it begins."""
    if words is not None and len(words) == edges[-1] == len(edges) - 1:
        return tuple(map(str, words))
    return tuple(f"{start:,}" for start in edges[:-1])


def _index_text(index: Any) -> str:
    return ", ".join(map(str, index)) if isinstance(index, tuple) else str(index)


def provenance(*parts: str) -> str:
    """The line below a picture: what it was made from, and by which version."""
    return " · ".join(x for x in (*parts, f"made with regard {__version__}") if x)


def _page(thing: Any, state: dict[str, Any]) -> Callable[[], str]:
    return partial(_offline_page, thing, state)  # which can be pickled


def _offline_page(thing: Any, state: dict[str, Any]) -> str:
    from regard.view.page.embed import offline_page

    return offline_page(thing, state)
