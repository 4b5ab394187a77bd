"""What a page in one file holds of a reading: every head, and what many heads make together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from regard.transformer.naming import PARTS
from regard.transformer.reading import Reading
from regard.view.explorer.packed import Array, Form, Packed, choose_form, pack_table, small_picture


@dataclass(frozen=True)
class Tables:
    """One part's weights_lhqk, and further tables by the name that the page asks for."""

    weights_lhqk: Array
    others: Mapping[str, Array]

    def named(self) -> Iterator[tuple[str, Array]]:
        """'head 3 6' and the like, then the others."""
        for layer, weights_hqk in enumerate(self.weights_lhqk):
            for head, weights_qk in enumerate(weights_hqk):
                yield f"head {layer} {head}", weights_qk
        yield from self.others.items()


def hold_reading(reading: Reading, packed: Packed, state: Mapping[str, Any]) -> dict[str, Any]:
    """A reading as the page takes it, with its tables, and the steps of the head it opens at."""
    held = hold_weights(reading, packed)
    return held | {"views": ["read", "steps"], "steps": _steps(reading, packed, state)}


def hold_weights(reading: Reading, packed: Packed) -> dict[str, Any]:
    """The reading and its tables alone: what a notebook, which keeps every output, has room for."""
    from regard.view.explorer.routes.read import as_page

    tables = {part: _tables(reading, part) for part in PARTS}
    return hold_tables(as_page(reading), tables, packed)


def _steps(reading: Reading, packed: Packed, state: Mapping[str, Any]) -> dict[str, Any]:
    from regard.view.explorer.steps_data import data_of_reading

    look = reading.telling().look
    part = state.get("part", "encoder")
    layer, head = state.get("layer", look.layer), state.get("head", look.head)
    # Leaving the positions out needs the model, which stays behind.
    data = replace(data_of_reading(reading, part, layer, head), position=False)
    return {f"{part} {layer} {head}": packed.add(data.to_bytes())}


def hold_tables(
    reading: dict[str, Any], tables: Mapping[str, Tables], packed: Packed
) -> dict[str, Any]:
    """Any reading in the shape of static/api.js, whoever made it."""
    form = _form(tables)
    held, left_out = {}, []
    for name, part in tables.items():
        held[name], missing = _hold_part(part, form, packed)
        left_out += missing
    note = _note(form, sum(left_out) / max(1, len(left_out)))
    notes = [*reading["notes"], *([note] if note else [])]
    return {"views": ["read"], "reading": reading | {"notes": notes}, "tables": held}


def _tables(reading: Reading, part: str) -> Tables:
    layers = range(reading.model.config.layers)
    others = {f"layer {layer}": reading.average(part, layer).tokens_qk for layer in layers}
    others["all"] = reading.average(part).tokens_qk
    if part != "cross":
        others["rollout"] = reading.rollout(part).tokens_qk
    return Tables(reading.weights(part, by="tokens"), others)


def _form(tables: Mapping[str, Tables]) -> Form:
    sizes = [table.shape for part in tables.values() for _, table in part.named()]
    return choose_form(sum(rows for rows, _ in sizes), max(columns for _, columns in sizes))


def _hold_part(part: Tables, form: Form, packed: Packed) -> tuple[dict[str, Any], list[float]]:
    from regard.view.explorer.routes.read import THUMBNAIL, small

    places, left_out = {}, []
    for name, weights_qk in part.named():
        content, missing = pack_table(weights_qk, form)
        places[name] = packed.add(content)
        left_out.append(missing)
    shrunk = small(part.weights_lhqk, THUMBNAIL)
    rows, columns = part.weights_lhqk.shape[-2:]
    thumbnails = {"rows": shrunk.shape[-2], "columns": shrunk.shape[-1],
                  "place": packed.add(small_picture(shrunk))}  # fmt: skip
    held = {"form": form.name, "rows": rows, "columns": columns, "places": places,
            "thumbnails": thumbnails}  # fmt: skip
    return held, left_out


def _note(form: Form, left_out: float) -> str:
    """What a file leaves out, said in it."""
    if form.name == "float32":
        return ""
    if form.name == "float16":
        return "This file holds every weight to three digits."
    return (
        f"This file holds the {form.kept} largest weights of each row to three digits; the rest, "
        f"{100 * left_out:.2g} % on average, is not in it."
    )
