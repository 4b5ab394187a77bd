"""Facts of the course's scenes on the path through the model: vectors to a translated word."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from regard.transformer.config import parameter_shapes
from regard.typing import Array
from regard.view.page.lessons.model import (
    HUNGRY,
    IT,
    Facts,
    Read,
    head_picture,
    rival_noun,
    rounded,
)
from regard.view.page.readings import without_position

TWICE = "the dog saw the dog"
STRIP_NUMBERS = 48  # numbers of a vector that a strip shows


def vectors(glance: Read, _: Read) -> Facts:
    """Token ids, and the vectors that the first layer is given: embedding plus position."""
    reading = glance(HUNGRY)
    ids = np.array([reading.translated.source])
    both = reading.model.vectors(ids)[0]
    embedding = reading.model.vectors(ids, positions=False)[0]
    dog = reading.tokens.index("dog")
    config = reading.model.config
    choices = (1, config.heads, config.width)
    return {
        "sentence": reading.sentence,
        "words": list(reading.tokens),
        "ids": ids[0].tolist(),
        "word": "dog",
        "id": int(ids[0, dog]),
        "vocabulary": config.vocabulary,
        "width": config.width,
        "shown": STRIP_NUMBERS,
        "strips": [_strip(row) for row in both],
        "parts": [_strip(x[dog]) for x in (embedding, both - embedding, both)],
        "choices": [f"{x:,}" for x in choices],
        "right": choices.index(config.width),
    }


def query_and_key(glance: Read, _: Read) -> Facts:
    """Query of *it* and every key, in the head that the first scene shows."""
    reading = glance(HUNGRY)
    link = reading.highlight(IT).link
    steps = reading.steps(link.layer, link.head)
    row = link.query
    scores = steps.scores[row]
    return {
        "sentence": reading.sentence,
        "words": list(reading.tokens),
        "word": IT,
        "position": row,
        "layer": link.layer,
        "head": link.head,
        "width": reading.model.config.width,
        "head_width": steps.query.shape[-1],
        "count": f"{np.size(np.asarray(steps.w_query)):,}",
        "x": _strip(np.asarray(steps.x)[row]),
        "query": _strip(steps.query[row], len(steps.query[row])),
        "keys": [_strip(x, len(x)) for x in steps.key],
        "scores": scores.tolist(),
        "best": reading.tokens[int(scores.argmax())],
        "right": 1,
    }


def position(glance: Read, _: Read) -> Facts:
    """The head of the word before, with and without positions, on a sentence of equal words."""
    reading = glance(TWICE)
    roles = reading.model.roles.encoder
    role = max(roles.values(), key=lambda x: x.usual.get("previous", 0.0))
    weights = reading.weights(layer=role.layer, head=role.head)
    without = without_position(reading).weights(layer=role.layer, head=role.head)
    first, second = (i for i, word in enumerate(reading.words) if word == "dog")
    before, after = (float(np.mean(np.diag(x, -1)[:second])) for x in (weights, without))
    alike = float(np.abs(without[first] - without[second]).max())
    return {
        **head_picture(reading, role.layer, role.head),
        "position": second,
        "without": rounded(without),
        "before": before,
        "after": after,
        # The rows are made of the same numbers; single precision may round their sums apart.
        "right": 1 if alike < 1e-5 else 0,
    }


def mask(_: Read, read: Read) -> Facts:
    """Decoder weights of the translation: every one above the diagonal is 0."""
    reading = read(HUNGRY)
    words = reading.texts("decoder")[0].words
    weights = reading.weights(part="decoder")
    spread = -(weights * np.log(np.maximum(weights, 1e-12))).sum(-1).mean(-1)
    layer, head = np.unravel_index(int(spread.argmax()), spread.shape)
    shown = weights[layer, head]
    largest_hidden = float(np.triu(weights, 1).max())
    return {
        "sentence": reading.sentence,
        "translation": reading.translation,
        "words": list(words),
        "word": words[2],
        "next": words[3],
        "position": 2,
        "layer": int(layer),
        "head": int(head),
        "weights": rounded(shown),
        "hidden": largest_hidden,
        "right": 0 if largest_hidden == 0 else 1,
    }


def cross(_: Read, read: Read) -> Facts:
    """Cross-attention of the best aligned head: French words looking at English ones."""
    reading = read(HUNGRY)
    layer, head = reading.alignment.heads[0]
    queries, keys = reading.texts("cross")
    weights = reading.weights(part="cross", layer=layer, head=head)
    row = next((i for i, word in enumerate(queries.words) if word == "chien"), 2)
    best = keys.words[int(weights[row].argmax())]
    offered = list(dict.fromkeys(["dog", "food", "A", "hungry", best]))
    return {
        "sentence": reading.sentence,
        "translation": reading.translation,
        "words": list(queries.words),
        "key_words": list(keys.words),
        "word": queries.words[row],
        "position": row,
        "layer": layer,
        "head": head,
        "weights": rounded(weights),
        "choices": offered,
        "right": offered.index(best),
        "best": best,
        "share": float(weights[row].max()),
    }


def layers(glance: Read, _: Read) -> Facts:
    """Parameters by kind, and how far each layer moves the vector of *it*."""
    reading = glance(HUNGRY)
    config = reading.model.config
    counts = {"attention": 0, "feed-forward": 0, "word vectors": 0}
    for name, shape in parameter_shapes(config).items():
        if "norm" not in name:
            counts[_kind(name)] += math.prod(shape)
    largest = max(counts, key=lambda kind: counts[kind])
    total = sum(counts.values())
    return {
        "kinds": list(counts),
        "counts": list(counts.values()),
        "written": [f"{x:,}" for x in counts.values()],
        "shares": [x / total for x in counts.values()],
        "total": f"{total:,}",
        "layers": config.layers,
        "heads": config.heads,
        "width": config.width,
        "feed_forward_width": config.feed_forward_width,
        "choices": list(counts),
        "right": list(counts).index(largest),
        "most": largest,
        "share": counts[largest] / total,
    }


def experiment(_: Read, read: Read) -> Facts:
    """The row of *it* put on the other noun, and the model run again."""
    reading = read(HUNGRY)
    link = reading.highlight(IT).link
    rival = rival_noun(link.key_word)
    changed = reading.redirect(IT, rival, layer=link.layer, head=link.head)
    candidates = changed.parting.candidates
    return {
        **head_picture(reading, link.layer, link.head),
        "position": link.query,
        "weights": rounded(changed.weights(layer=link.layer, head=link.head)),
        "noun": link.key_word,
        "rival": rival,
        "first": changed.before.translation,
        "second": changed.after.translation,
        "same": changed.same,
        "prefix": " ".join(changed.parting.prefix),
        "candidates": [[x.word, float(x.before), float(x.after)] for x in candidates],
        "right": 1 if changed.same else 0,
    }


def training(*_: Any) -> Facts:
    """Nothing from the model: the page trains a transformer of its own."""
    return {"right": 2}


def _kind(parameter: str) -> str:
    if "attention" in parameter:
        return "attention"
    return "feed-forward" if "feed_forward" in parameter else "word vectors"


def _strip(vector: Array, size: int = STRIP_NUMBERS) -> list[float]:
    return [round(float(x), 3) for x in vector[:size]]
