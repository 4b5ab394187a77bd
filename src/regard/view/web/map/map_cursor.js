// What lies under the pointer: both words in their text, and the cell's number.

import { element, replace } from "../lib/dom.js";
import { shareWritten, textAround } from "./map_row.js";

const HINTS = {
  mouse:
    "Point at the map to see which query looks at which key; drag to move, turn the wheel to " +
    "enlarge.",
  finger:
    "Tap the map to see what a query looks at; drag to move, pinch with two fingers to enlarge.",
};

export function pointerHint() {
  return HINTS[matchMedia("(pointer: coarse)").matches ? "finger" : "mouse"];
}

/** @param {MapView} view */
export async function pointAt(view, at) {
  if (String(at) === String(view.at)) return;
  view.at = at;
  view.paint();
  if (!at) {
    replace(view.cursor, pointerHint());
    return;
  }
  const [asks, answers] = await Promise.all([
    textAround(view, "query", at[0]),
    textAround(view, "key", at[1]),
  ]);
  if (view.at !== at) return;
  replace(
    view.cursor,
    element("span", null, "Query ", asks),
    element("span", null, "looks at key ", answers),
    element("span", null, cellAt(view, at)),
  );
}

/** @param {MapView} view */
function cellAt(view, [query, key]) {
  for (const patch of [...view.patches].reverse()) {
    const [row, column] = [
      cellOf(query, patch.rows, patch.spans[0], patch.cells[0]),
      cellOf(key, patch.columns, patch.spans[1], patch.cells[1]),
    ];
    if (row < 0 || column < 0) continue;
    const value = patch.values[row * patch.cells[1] + column];
    const isMean =
      patch.rows[1] - patch.rows[0] > patch.cells[0] ||
      patch.columns[1] - patch.columns[0] > patch.cells[1];
    return `${shareWritten(value)}${isMean ? " in the cell around them" : ""}`;
  }
  return "";
}

// The last cell that begins at or before a position; none where that lies outside.
function cellOf(position, [from, to], span, count) {
  return position < from || position >= to
    ? -1
    : Math.floor(((position - from + 1) * count - 1) / span);
}
