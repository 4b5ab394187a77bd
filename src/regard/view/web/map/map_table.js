// What a map shows, for those who listen: the strongest cells in view, with their words.

import { element } from "../lib/dom.js";
import { largest } from "../read/weights.js";
import { shareWritten } from "./map_row.js";
import { cellStart } from "./map_window.js";

const MOST = 20;

export function mapTable({ rows, columns, cells, spans, values }, nameAt) {
  const cellRange = (range, side, at) =>
    [0, 1].map((step) => cellStart(range, spans[side], cells[side], at + step) - step);
  const written = (side, [first, last]) =>
    last > first
      ? `${first.toLocaleString("en")} to ${last.toLocaleString("en")}`
      : `${first.toLocaleString("en")} ${nameAt(side, first)}`.trim();
  const lines = largest(values.subarray(0, cells[0] * cells[1]), MOST).map((at) =>
    element(
      "tr",
      null,
      element(
        "th",
        { scope: "row" },
        written("query", cellRange(rows, 0, Math.floor(at / cells[1]))),
      ),
      element("td", null, written("key", cellRange(columns, 1, at % cells[1]))),
      element("td", null, shareWritten(values[at])),
    ),
  );
  return element(
    "table",
    { class: "numbers" },
    element("caption", null, `The ${lines.length} strongest cells in view`),
    element(
      "thead",
      null,
      element(
        "tr",
        null,
        ["query", "key", "weight"].map((name) => element("th", { scope: "col" }, name)),
      ),
    ),
    element("tbody", null, lines),
  );
}
