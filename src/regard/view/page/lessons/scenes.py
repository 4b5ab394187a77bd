"""Facts of the course's scenes: one sentence, read by the shipped model, from first to last."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from regard.heads.links import CAUTION
from regard.transformer.reading import Reading, read_translated
from regard.transformer.residual import ResidualRun
from regard.transformer.translation import Translation
from regard.typing import Array
from regard.view.page.readings import without_position

Facts = dict[str, Any]
Read = Callable[[str], Reading]
# Every word is one token, and the head that is taught to find a pronoun's noun is undecided.
SENTENCE = "The cat saw the mouse. It was slow."
IT, NOUNS = "It", ("mouse", "cat")
ENDINGS = ("slow", "hungry", "afraid", "big")
ASKED_ENDING = "hungry"
# Places of the words in each order; the last token, (end), stays where it is.
ORDERS = {
    "as written": (0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
    "cat and mouse exchanged": (0, 4, 2, 3, 1, 5, 6, 7, 8, 9),
    "backwards": (9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
    "shuffled": (4, 7, 0, 8, 2, 5, 1, 6, 3, 9),
}


def look(glance: Read, _: Read) -> Facts:
    """Weights of *It* in the head that the command shows."""
    reading = glance(SENTENCE)
    shown = _taught(reading)
    row = shown["weights"][shown["position"]]
    other = _nouns_by_weight(reading, row)[1]
    return {
        **shown,
        **_word_choices(reading, row, (*NOUNS, "slow", IT)),
        "other": other,
        "other_share": row[reading.words.index(other)],
        "rest": 1 - sum(row[reading.words.index(x)] for x in NOUNS),
        "heads": reading.model.config.layers * reading.model.config.heads,
    }


def ending(_: Read, read: Read) -> Facts:
    """The same head with other endings, and the French of each."""
    layer, head = _taught_head(read(SENTENCE))
    readings = {x: read(SENTENCE.replace(ENDINGS[0], x)) for x in ENDINGS}
    asked = readings[ASKED_ENDING]
    position = asked.words.index(IT)
    endings = [
        {
            "ending": name,
            "words": list(reading.words),
            "row": _rounded(reading.weights(layer, head)[position]),
            "french": _french(reading),
        }
        for name, reading in readings.items()
    ]
    row = endings[ENDINGS.index(ASKED_ENDING)]["row"]
    return {
        **_taught(read(SENTENCE)),
        **_word_choices(asked, row, (*NOUNS, ASKED_ENDING)),
        "ending": ASKED_ENDING,
        "endings": endings,
    }


def arrows(glance: Read, _: Read) -> Facts:
    """Query of *It* and every key, in the plane that holds the query; scores are exact in it."""
    reading = glance(SENTENCE)
    taught = _taught(reading)
    steps = reading.steps(taught["layer"], taught["head"])
    query, keys = steps.query[taught["position"]], steps.key
    scores = keys @ query
    along = query / np.linalg.norm(query)
    aside = keys - np.outer(keys @ along, along)
    across = np.linalg.svd(aside, full_matrices=False)[2][0]
    across *= np.sign((keys @ across)[int(scores.argmax())])
    config = reading.model.config
    return {
        **taught,
        **_word_choices(reading, scores, (*NOUNS, "slow", IT)),
        "query": [float(np.linalg.norm(query)), 0.0],
        "keys": [[float(x @ along), float(x @ across)] for x in keys],
        "scores": scores.tolist(),
        "score": float(scores.max()),
        "vocabulary": f"{config.vocabulary:,}",
        "width": config.width,
        "head_width": len(query),
        "count": f"{np.asarray(steps.w_query).size:,}",
    }


def shares(glance: Read, _: Read) -> Facts:
    """The scores of *It*, divided by the root of their width, and the shares that they become."""
    reading = glance(SENTENCE)
    taught = _taught(reading)
    steps = reading.steps(taught["layer"], taught["head"])
    row = taught["position"]
    low = int(steps.scores[row].argmin())
    best, other = (steps.words.index(x) for x in _nouns_by_weight(reading, steps.weights[row]))
    return {
        **taught,
        "scores": steps.scores[row].tolist(),
        "scaled": steps.scaled[row].tolist(),
        "shares": steps.weights[row].tolist(),
        "width": steps.query.shape[-1],
        "root": float(np.sqrt(steps.query.shape[-1])),
        "low": steps.words[low],
        "low_score": float(steps.scores[row, low]),
        "low_share": float(steps.weights[row, low]),
        "best": steps.words[best],
        "other": steps.words[other],
        "best_share": float(steps.weights[row, best]),
        "times": float(np.exp(steps.scaled[row, best] - steps.scaled[row, other])),
        "apart": float(steps.scaled[row, best] - steps.scaled[row, other]),
        "right": 1 if steps.weights[row, low] > 0 else 0,
    }


def division(glance: Read, _: Read) -> Facts:
    """What becomes of the same row without the division."""
    facts = shares(glance, _)
    scores = np.array(facts["scores"])
    powers = np.exp(scores - scores.max())
    undivided = powers / powers.sum()
    largest = float(undivided.max())
    return {
        **facts,
        "undivided": undivided.tolist(),
        "largest": largest,
        "right": 2 if largest > facts["best_share"] else 1,
    }


def values(glance: Read, _: Read) -> Facts:
    """Values and their weighted sum, in the plane of the values of both nouns."""
    reading = glance(SENTENCE)
    taught = _taught(reading)
    steps = reading.steps(taught["layer"], taught["head"])
    weights = steps.weights[taught["position"]]
    best, other = (reading.words.index(x) for x in _nouns_by_weight(reading, weights))
    plane = np.linalg.qr(steps.value[[best, other]].T)[0]
    plane *= np.sign(np.diag(steps.value[[best, other]] @ plane))
    flat = steps.value @ plane
    output = steps.output[taught["position"]] @ plane
    apart = [float(np.linalg.norm(flat[x] - output)) for x in (best, other)]
    return {
        **taught,
        "values": flat.tolist(),
        "output": output.tolist(),
        "shares": weights.tolist(),
        "best": reading.words[best],
        "other": reading.words[other],
        "best_share": float(weights[best]),
        "other_share": float(weights[other]),
        "head_width": steps.value.shape[-1],
        "choices": [reading.words[best], reading.words[other], "half way between them"],
        "right": int(np.argmin(apart)),
    }


def heads(glance: Read, _: Read) -> Facts:
    """The row of *It* in every encoder head, and the one that is surest of the other noun."""
    reading = glance(SENTENCE)
    taught = _taught(reading)
    config = reading.model.config
    rows = reading.weights()[:, :, taught["position"]]
    favourite = rows.argmax(axis=-1)
    best, other = _nouns_by_weight(reading, taught["weights"][taught["position"]])
    rival = reading.words.index(other)
    leaning = np.where(favourite == rival, rows[:, :, rival], 0.0)
    layer, head = (int(x) for x in np.unravel_index(int(leaning.argmax()), leaning.shape))
    row = rows[layer, head]
    return {
        **taught,
        **_word_choices(reading, row, (*NOUNS, "slow", IT)),
        "rows": [[_rounded(row) for row in layer_rows] for layer_rows in rows],
        "other_layer": layer,
        "other_head": head,
        "noun": best,
        "layers": config.layers,
        "per_layer": config.heads,
        "count": config.layers * config.heads,
        "on_nouns": int(sum(reading.words[int(x)] in NOUNS for x in favourite.flat)),
        "favourites": len(set(favourite.flat)),
    }


def position(glance: Read, _: Read) -> Facts:
    """The head of the word before, in several orders of the words, with and without positions."""
    reading = glance(SENTENCE)
    roles = reading.model.roles.encoder
    role = max(roles.values(), key=lambda x: x.usual.get("previous", 0.0))
    tokens = reading.translated.source
    end = len(tokens) - 1
    orders, before, after, alike = [], [], [], True
    base = without_position(reading).weights(role.layer, role.head)
    for name, places in ORDERS.items():
        order = [*places, end]
        source = tuple(tokens[x] for x in order)
        moved = read_translated(
            reading.model, Translation(name, "", source, (), 0.0, True), positions=True
        )
        with_positions = moved.weights(role.layer, role.head)
        without = without_position(moved).weights(role.layer, role.head)
        # Sums of single precision in another order: equal to some units of their last place.
        alike &= bool(np.abs(without - base[np.ix_(order, order)]).max() < 1e-5)
        before.append(np.diag(with_positions, -1)[:-1].mean())
        after.append(np.diag(without, -1)[:-1].mean())
        orders.append(
            {
                "name": name,
                "order": order,
                "with": rounded(with_positions),
                "without": rounded(without),
            }
        )
    return {
        "sentence": reading.sentence,
        "words": list(reading.words),
        "layer": role.layer,
        "head": role.head,
        "orders": orders,
        "usual": role.usual["previous"],
        "count": reading.model.roles.measured.get("sentences", 0),
        "before": float(np.mean(before)),
        "after": float(np.mean(after)),
        "right": 1 if alike else 0,
    }


def mask(_: Read, read: Read) -> Facts:
    """Decoder weights of the translation: every one above the diagonal is 0."""
    reading = read(SENTENCE)
    words = reading.texts("decoder")[0].words
    weights = reading.weights(part="decoder")
    spread = -(weights * np.log(np.maximum(weights, 1e-12))).sum(-1).mean(-1)
    layer, head = np.unravel_index(int(spread.argmax()), spread.shape)
    largest_hidden = float(np.triu(weights, 1).max())
    row = _pronoun(words)
    return {
        "sentence": reading.sentence,
        "french": _french(reading),
        "words": list(words),
        "word": words[row],
        "next": words[row + 1],
        "position": row,
        "layer": int(layer),
        "head": int(head),
        "weights": rounded(weights[layer, head]),
        "hidden": largest_hidden,
        "right": 0 if largest_hidden == 0 else 1,
    }


def cross(_: Read, read: Read) -> Facts:
    """Cross-attention of the best aligned head: French words looking at English ones."""
    reading = read(SENTENCE)
    layer, head = reading.alignment.heads[0]
    queries, keys = reading.texts("cross")
    weights = reading.weights(part="cross", layer=layer, head=head)
    row = _pronoun(queries.words)
    return {
        "sentence": reading.sentence,
        "french": _french(reading),
        "words": list(queries.words),
        "key_words": list(keys.words),
        "word": queries.words[row],
        "position": row,
        "layer": layer,
        "head": head,
        "weights": rounded(weights),
        **_word_choices(reading, weights[row], (IT, *NOUNS, "slow")),
    }


def layers(glance: Read, _: Read) -> Facts:
    """The residual stream of *It*: how long it is, and what each part adds to it."""
    reading = glance(SENTENCE)
    position = reading.words.index(IT)
    stream = ResidualRun.from_reading(reading).source
    written = stream.written_nte[:, position]
    kinds = [x.kind for x in stream.components]
    config = reading.model.config
    start = kinds.index("head")
    x = written[:start].sum(axis=0)
    parts = []
    for layer in range(config.layers):
        of_layer = [n for n, c in enumerate(stream.components) if c.layer == layer]
        attended = written[[n for n in of_layer if kinds[n] == "head"]].sum(axis=0)
        fed = written[[n for n in of_layer if kinds[n] == "feed-forward"]].sum(axis=0)
        parts.append(
            {
                "before": _length(x),
                "attention": _length(attended),
                "between": _length(x + attended),
                "feed_forward": _length(fed),
                "after": _length(x + attended + fed),
            }
        )
        x = x + attended + fed
    return {
        "sentence": reading.sentence,
        "words": list(reading.words),
        "position": position,
        "parts": parts,
        "start": parts[0]["before"],
        "end": parts[-1]["after"],
        "layers": config.layers,
        "heads": config.heads,
        "width": config.width,
        "feed_forward_width": config.feed_forward_width,
        "right": 1 if np.allclose(x, stream.x_te()[position]) else 0,
    }


def training(*_: Any) -> Facts:
    """Nothing from the model: the page trains a transformer of its own."""
    return {"right": 2}


def experiment(_: Read, read: Read) -> Facts:
    """The row of *It* put on the other noun, or the head switched off, and the model run again."""
    reading = read(SENTENCE)
    taught = _taught(reading)
    layer, head, position = (taught[x] for x in ("layer", "head", "position"))
    noun, other = _nouns_by_weight(reading, taught["weights"][position])
    redirected = reading.redirect(IT, other, layer=layer, head=head)
    ablated = reading.ablate(layer, head)
    candidates = redirected.parting.candidates
    first, second = (x.word for x in candidates[:2])
    chances = {x.word: x for x in ablated.parting.candidates}
    zeros = [0.0] * len(reading.words)
    runs = [
        {
            "name": "as it is",
            "row": taught["weights"][position],
            "french": _french(reading),
            "chances": [float(x.before) for x in candidates[:2]],
        },
        {
            "name": f"look at {other}",
            "row": _rounded(redirected.weights(layer=layer, head=head)[position]),
            "french": _french(redirected.after),
            "chances": [float(x.after) for x in candidates[:2]],
        },
        {
            "name": "head switched off",
            "row": zeros,
            "french": _french(ablated.after),
            "chances": [float(chances[x].after) if x in chances else 0.0 for x in (first, second)],
        },
    ]
    return {
        **taught,
        "noun": noun,
        "rival": other,
        "runs": runs,
        "candidates": [first, second],
        "first": redirected.before.translation,
        "second": redirected.after.translation,
        "third": ablated.after.translation,
        "same": redirected.same,
        "same_off": ablated.same,
        "right": 1 if redirected.same else 0,
    }


def tell(glance: Read, _: Read) -> Facts:
    """What was measured about the head, over many sentences."""
    reading = glance(SENTENCE)
    taught = _taught(reading)
    row = taught["weights"][taught["position"]]
    best, other = _nouns_by_weight(reading, row)
    accuracy, measured = reading.model.roles.accuracy, reading.model.roles.measured["pronouns"]
    turned = accuracy.generated
    follows = turned.get("changed", {}).get("row turned to wrong", {}).get("gender_follows")
    return {
        **taught,
        "best": best,
        "other": other,
        "share": row[reading.words.index(best)],
        "taught": bool(measured.get("taught")),
        "follows": follows or 0.0,
        "used": bool(measured.get("taught") and follows),
        "accuracy": accuracy.summary,
        "people_right": accuracy.everyday.get("pronouns", {}).get("it", {}).get("right"),
        "generated_right": accuracy.generated.get("right"),
        "french_right": measured["french_pronoun"]["right_where_genders_differ"],
        "caution": CAUTION,
        "right": 2,
    }


def _taught_head(reading: Reading) -> tuple[int, int]:
    link = reading.highlight(IT).link
    return link.layer, link.head


def _taught(reading: Reading) -> Facts:
    """Words and weights of the head that the command shows for *It*."""
    layer, head = _taught_head(reading)
    return {
        "sentence": reading.sentence,
        "words": list(reading.words),
        "position": reading.words.index(IT),
        "layer": layer,
        "head": head,
        "weights": rounded(reading.weights(layer, head)),
    }


def _nouns_by_weight(reading: Reading, row: Any) -> tuple[str, str]:
    first, second = sorted(NOUNS, key=lambda x: -row[reading.words.index(x)])
    return first, second


def _word_choices(reading: Reading, row: Any, offered: Iterable[str]) -> Facts:
    best = reading.words[int(np.argmax(row))]
    choices = list(dict.fromkeys((*offered, best)))
    return {
        "choices": choices,
        "right": choices.index(best),
        "best": best,
        "share": float(np.max(row)),
    }


def _pronoun(words: Iterable[str]) -> int:
    """The place of the French pronoun, or of the third word where there is none."""
    return next((i for i, word in enumerate(words) if word.lower() in ("il", "elle")), 2)


def _french(reading: Reading) -> list[str]:
    return [word for word in reading.texts("decoder")[0].words if not word.startswith("(")]


def _length(vector: Array) -> float:
    return round(float(np.linalg.norm(vector)), 3)


def _rounded(row: Array) -> list[float]:
    return [round(float(w), 6) for w in row]


def rounded(weights_qk: Array) -> list[list[float]]:
    """Weights to six digits, as the page draws them."""
    return [_rounded(row) for row in weights_qk]
