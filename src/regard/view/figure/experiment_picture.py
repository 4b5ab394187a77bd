"""Pictures of experiments: weights after a change or their difference, and effects of all heads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from regard.errors import ArgumentError
from regard.experiments.changes import Redirect
from regard.experiments.effects import Effects
from regard.experiments.experiment import Experiment
from regard.transformer.reading import Reading
from regard.view.figure.picture import Picture
from regard.view.figure.results import default_kind, provenance, reading_picture


def picture_of_experiment(
    experiment: Experiment,
    layer: int | None,
    head: int | None,
    *,
    part: str | None,
    what: str,
    kind: str | None,
    word: str | int | None,
    by: str,
    weighted: str | None,
) -> Picture:
    """One head after the changes, or the difference that they made to its weights."""
    if what not in ("after", "difference"):
        raise ArgumentError(f"what must be 'after' or 'difference', got {what!r}.")
    if layer is None and head is None:
        layer, head, part, word = _changed_head(experiment, part, word)
    if what == "difference":
        kind = kind or "heatmap"
    if not isinstance(experiment.before, Reading):
        return _picture_of_watched(experiment, layer, head, part, what, kind, by)
    part = part or "encoder"
    if layer is None or head is None:
        link = experiment.after.highlight(word, layer, head).link
        layer, head = link.layer, link.head
    options: dict[str, Any] = {
        "part": part, "kind": kind, "word": word, "by": by, "weighted": weighted,
    }  # fmt: skip
    plain = reading_picture(experiment.after, layer, head, options)
    before, after = (x.translation for x in (experiment.before, experiment.after))
    caption = f"{plain.caption} {_changed(experiment)} Before: {before}. After: {after}."
    title = f"{part.capitalize()} layer {layer}, head {head}"
    if what == "after":
        return replace(plain, title=f"{title}, after the change", caption=caption.strip())
    return replace(
        plain,
        weights=experiment.difference(layer, head, part=part, by=by),
        title=f"{title}, after minus before",
        caption=caption.strip(),
        what="difference of weights",
        page=None,
    )


def picture_of_effects(effects: Effects, part: str | None, *, what: str, kind: str) -> Picture:
    """Layers by heads of one part, or of all parts below each other."""
    if what not in ("effect", "direct"):
        raise ArgumentError(f"what must be 'effect' or 'direct', got {what!r}.")
    if part not in (None, *effects.parts):
        raise ArgumentError(f"part must be one of {', '.join(effects.parts)}, got {part!r}.")
    if what == "direct" and effects.direct_by_layer is None:
        raise ArgumentError("what='direct' needs effects of the shipped model.")
    values_mlh = effects.effect_mlh if what == "effect" else effects.direct_mlh
    shown = [m for m, name in enumerate(effects.parts) if part in (None, name)]
    layers, heads = values_mlh.shape[1:]
    rows = [f"{effects.parts[m]} {layer}" for m in shown for layer in range(layers)]
    method = "a real run without it" if what == "effect" else "by formula, all else frozen"
    caption = f"In logits, {method}; blue favours {effects.of}."
    if effects.direct_by_layer is not None:
        caption += f" Correlation of formula and runs: {effects.correlation:.2f}."
    sentence = f'"{effects.run.sentence}"' if effects.run is not None else "a watched model"
    return Picture(
        values_mlh[shown].reshape(-1, heads),
        (tuple(rows), tuple(str(head) for head in range(heads))),
        kind,
        f"Effect of each head on {effects.of} against {effects.against}",
        caption,
        provenance(sentence),
        axes=("layer", "head"),
        what="effects",
    )


def _picture_of_watched(
    experiment: Experiment,
    layer: int | None,
    head: int | None,
    part: str | None,
    what: str,
    kind: str | None,
    by: str,
) -> Picture:
    if layer is None or head is None:
        raise ArgumentError("a picture of a watched model needs a layer and a head.")
    weights = experiment.weights if what == "after" else experiment.difference
    weights_qk = weights(layer, head, part=part, by=by)
    queries, keys = experiment.after.seen.texts(part)
    moment = "after the change" if what == "after" else "after minus before"
    return Picture(
        weights_qk,
        (queries.names(by), keys.names(by)),
        kind or default_kind(weights_qk),
        f"Layer {layer}, head {head}, {moment}",
        _changed(experiment),
        provenance("a watched model", f"layer {layer}, head {head}", by),
        what="weights" if what == "after" else "difference of weights",
    )


def _changed(experiment: Experiment) -> str:
    return f"Changed: {'; '.join(experiment.changed) or 'nothing is changed'}."


def _changed_head(
    experiment: Experiment, part: str | None, word: str | int | None
) -> tuple[int | None, int | None, str | None, str | int | None]:
    """The head that was changed, its part, and the word whose row was redirected."""
    for change in experiment.changes:
        heads = change.heads
        if heads.layers and heads.heads:
            if isinstance(change, Redirect) and not isinstance(change.word, tuple):
                word = change.word if word is None else word
            part = part or (heads.parts[0] if heads.parts else None)
            return heads.layers[0], heads.heads[0], part, word
    return None, None, part, word
