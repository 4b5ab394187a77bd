// The largest weights of a row, or of a column, each in its text; beside them those of another run.

import { element, percent, replace, tableHead, tableRow } from "../lib/dom.js";
import { largest } from "../read/weights.js";
import { cellStart } from "./map_window.js";
import { tokenContext } from "./source.js";

const MAX_LISTED_WEIGHTS = 16;
const MIN_LISTED_WEIGHT = 0.0005; // unless it is among the first three
const MAX_LISTED_CELLS = 20;
const CONTEXT_TOKENS = 8; // on each side

// handlers: go(position), aim(position), point(position or null)
/** @param {RowListHandlers} handlers */
export function rowList(handlers) {
  const title = element("h2.panel-title");
  const list = element("ol.row-list");
  const rest = element("p.small.quiet");
  const root = element("div.row-panel", title, list, rest);
  return {
    root,
    clear() {
      replace(title);
      replace(list);
      replace(rest);
    },
    /** @param {RowModel} model */
    show({ line, other, text, heading, aimed, wholeName }) {
      replace(title, heading);
      const listed = largest(line.weights, MAX_LISTED_WEIGHTS).filter(
        (at, rank) => line.weights[at] >= MIN_LISTED_WEIGHT || (rank < 3 && line.weights[at] > 0),
      );
      const most = line.weights[listed[0]] || 1;
      replace(
        list,
        listed.map((at) => {
          const weight = line.weights[at];
          const [before, word, after] = tokenContext(text, at, CONTEXT_TOKENS);
          const isMuch = other && Math.abs(other.weights[at] - weight) > 0.005;
          return element(
            "li",
            { "data-position": at, "aria-current": at === aimed ? "true" : null },
            element(
              "button",
              {
                title: `Token ${at.toLocaleString("en")}: show it in the text`,
                on: {
                  click: (event) => (event.shiftKey ? handlers.aim(at) : handlers.go(at)),
                  pointerenter: () => handlers.point(at),
                  pointerleave: () => handlers.point(null),
                },
              },
              element("span.number", shareWritten(weight)),
              isMuch && element("s.number.former", shareWritten(other.weights[at])),
              element(
                "span.around.serif",
                { dir: "auto" },
                element("span.before", element("span", before)),
                element("mark", word),
                element("span.after", after),
              ),
            ),
            element("span.bar", { style: { width: `${(100 * weight) / most}%` } }),
          );
        }),
      );
      const sum = listed.reduce((total, at) => total + line.weights[at], 0);
      const left = line.known === "largest" ? line.rest : wholeName ? 1 - sum : 0;
      const told = {
        all: left > 0.0005 ? `All other tokens together: ${shareWritten(left)}.` : "",
        largest:
          left > 0.0005
            ? `What is left, on tokens that are not known one by one: ${shareWritten(left)}.`
            : "",
        blocks: "Means over the cells of the map.",
      };
      replace(rest, told[/** @type {keyof typeof told} */ (line.known)] ?? "");
    },
  };
}

/** @param {number} weight */
export function shareWritten(weight) {
  if (weight >= 0.1 && weight < 0.995) return percent(weight);
  if (weight >= 0.9995) return "100 %";
  if (weight > 0 && weight < 1e-5) return "< 0.001 %";
  return `${(100 * weight).toPrecision(weight >= 0.1 ? 3 : 2)} %`;
}

// The strongest cells in view, with their tokens, as a table that can be read aloud.
/** @param {Patch} patch @param {(side: SideName, position: number) => string} nameAt */
export function mapTable({ rows, columns, cells, spans, values }, nameAt) {
  /** @param {Span} range @param {number} side @param {number} at */
  const cellRange = (range, side, at) =>
    [0, 1].map((step) => cellStart(range, spans[side], cells[side], at + step) - step);
  /** @param {SideName} side @param {number[]} range */
  const written = (side, [first, last]) =>
    last > first
      ? `${first.toLocaleString("en")} to ${last.toLocaleString("en")}`
      : `${first.toLocaleString("en")} ${nameAt(side, first)}`.trim();
  const lines = largest(values.subarray(0, cells[0] * cells[1]), MAX_LISTED_CELLS).map((at) =>
    tableRow(written("query", cellRange(rows, 0, Math.floor(at / cells[1]))), [
      written("key", cellRange(columns, 1, at % cells[1])),
      shareWritten(values[at]),
    ]),
  );
  return element(
    "table.numbers",
    element("caption", `The ${lines.length} strongest cells in view`),
    tableHead(["query", "key", "weight"]),
    element("tbody", lines),
  );
}
