"""Pictures of experiments: weights after a change or their difference, and effects of all heads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from regard.errors import ArgumentError
from regard.experiments.changes import Redirect
from regard.transformer.roles import PARTS, check_part
from regard.view.figure.picture import Picture
from regard.view.figure.results import provenance, reading_picture

if TYPE_CHECKING:
    from regard.experiments.effects import Effects
    from regard.experiments.experiment import Experiment


def picture_of_experiment(
    experiment: Experiment, layer: int | None, head: int | None, options: dict[str, Any]
) -> Picture:
    """One head after the changes, or the difference that they made to its weights."""
    what = options.pop("what", "after")
    if what not in ("after", "difference"):
        raise ArgumentError(f"what needs to be 'after' or 'difference', but it is {what!r}.")
    layer, head = _head(experiment, layer, head, options)
    if what == "difference":
        options["kind"] = options.get("kind") or "heatmap"
    part, by = options.get("part", "encoder"), options.get("by", "words")
    plain = reading_picture(experiment.after, layer, head, options)
    changed = "; ".join(experiment.changed) or "nothing is changed"
    caption = (
        f"{plain.caption} Changed: {changed}. Before: {experiment.before.translation}. "
        f"After: {experiment.after.translation}."
    )
    title = f"{part.capitalize()} layer {layer}, head {head}"
    if what == "after":
        return replace(plain, title=f"{title}, after the change", caption=caption.strip())
    return replace(
        plain,
        weights=experiment.difference(part, by=by, layer=layer, head=head),
        title=f"{title}, after minus before",
        caption=caption.strip(),
        what="difference of weights",
        page=None,
    )


def picture_of_effects(effects: Effects, part: str | None, options: dict[str, Any]) -> Picture:
    """Layers by heads of one part, or of all parts below each other."""
    what = options.pop("what", "effect")
    if what not in ("effect", "direct"):
        raise ArgumentError(f"what needs to be 'effect' or 'direct', but it is {what!r}.")
    if part is not None:
        check_part(part)
    values_mlh = effects.effect_mlh if what == "effect" else effects.direct_mlh
    shown = [m for m, name in enumerate(PARTS) if part in (None, name)]
    layers, heads = values_mlh.shape[1:]
    rows = [f"{PARTS[m]} {layer}" for m in shown for layer in range(layers)]
    choice = effects.choice
    kind = "a real run without it" if what == "effect" else "by formula, all else frozen"
    return Picture(
        values_mlh[shown].reshape(-1, heads),
        (tuple(rows), tuple(str(head) for head in range(heads))),
        options.pop("kind", "heatmap"),
        f"Effect of each head on {choice.of} against {choice.against}",
        f"In logits, {kind}; blue favours {choice.of}. Correlation of formula and runs: "
        f"{effects.correlation:.2f}.",
        provenance(f'"{effects.reading.sentence}"'),
        axes=("layer", "head"),
        what="effects",
        **options,
    )


def _head(
    experiment: Experiment, layer: int | None, head: int | None, options: dict[str, Any]
) -> tuple[int, int]:
    """The head asked for, else the one that was changed, else the highlight's."""
    if layer is not None and head is not None:
        return layer, head
    for change in experiment.changes if layer is None and head is None else ():
        heads = change.heads(experiment.plain)
        if heads.layers and heads.heads:
            options.setdefault("part", heads.parts[0])
            if isinstance(change, Redirect):
                options.setdefault("word", change.word)
            return heads.layers[0], heads.heads[0]
    link = experiment.after.highlight(options.get("word"), layer, head).link
    return link.layer, link.head
