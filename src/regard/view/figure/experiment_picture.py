"""Pictures of experiments: weights after a change or their difference, and effects of all heads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from regard.errors import ArgumentError
from regard.view.figure.build import picture_of_reading
from regard.view.figure.figure import Picture

if TYPE_CHECKING:
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
    plain = picture_of_reading(experiment.after, layer, head, options)
    changed = "; ".join(experiment.changed) or "nothing is changed"
    caption = (
        f"{plain.caption} Changed: {changed}. Before: {experiment.before.translation}. "
        f"After: {experiment.after.translation}."
    )
    if what == "after":
        return replace(plain, title=f"{plain.title} (after a change)", caption=caption.strip())
    part, by = options.get("part", "encoder"), options.get("by", "words")
    number = {"layer": layer, "head": head} if layer is not None and head is not None else {}
    return replace(
        plain,
        weights=experiment.difference(part, by=by, **number),
        title=f"{plain.title} (after minus before)",
        caption=caption.strip(),
        what="difference of weights",
        page=None,
    )


def _head(
    experiment: Experiment, layer: int | None, head: int | None, options: dict[str, Any]
) -> tuple[int | None, int | None]:
    """The head asked for, else the one that was changed, else the highlight's."""
    if layer is not None or head is not None:
        return layer, head
    for change in experiment.changes:
        heads = change.heads(experiment.plain)
        if heads.layers and heads.heads:
            options.setdefault("part", heads.parts[0])
            return heads.layers[0], heads.heads[0]
    link = experiment.after.highlight().link
    options.setdefault("part", link.part)
    return link.layer, link.head
