"""What a call that happened was asked for: from the seam of the watcher, or from its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.judging.asked import Asked

if TYPE_CHECKING:
    from regard.watcher.seam.call import AttentionCall


def asked_of(call: AttentionCall) -> Asked | str:
    """What the judge needs of a call, or why it cannot be judged."""
    if call.mixed:
        return "a layer mixes its heads between the softmax and the values"
    if call.value is None or call.output is None:
        return f"its kernel ({call.kernel}) keeps its output to itself"
    value, output = call.value.detach(), call.output.detach()
    query, key, mask = call.query, call.key, call.mask
    written = call.kernel in ("hand", "flex")
    if (query is None or key is None) and call.weights is None:
        return "neither its query and key nor its weights are known"
    if key is not None and key.shape[1] != value.shape[1]:
        heads = max(key.shape[1], value.shape[1])
        key, value = (x.repeat_interleave(heads // x.shape[1], 1) for x in (key, value))
    if output.ndim != 4 or output.shape[1] % value.shape[1] or value.ndim != 4:
        return "its heads are not those of its values"
    if mask is not None and mask.ndim > 4:
        return "its mask has more than four axes"
    if mask is not None and mask.ndim == 3:
        mask = mask.unflatten(0, (-1, output.shape[1])) if len(mask) > 1 else mask[None]
    scale = call.scale
    if scale is None:
        scale = 1.0 if query is None else float(query.shape[-1]) ** -0.5
    place = call.place
    return Asked(
        query, key, value, output, float(scale), ahead=0 if call.causal else None, mask=mask,
        softcap=call.softcap, dropout=call.dropout_p,
        scores=call.scores if written else None, weights=call.weights if written else None,
        written=written, contract=not written, kernel=call.kernel,
        path=place.path + (f"#{place.number}" if place.number else ""),
    )  # fmt: skip
