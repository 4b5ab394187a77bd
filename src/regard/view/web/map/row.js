// What one query looks at most, as highlighted text: the query in its sentence, then each key in
// its own.

import { element, percent, problem, replace, tableHead } from "../lib/dom.js";
import { largest } from "../read/weights.js";
import { SEGMENT_TOKENS, segmentAt } from "./data.js";
import { cellStart } from "./window.js";

const MAX_LISTED_CELLS = 20;
const CONTEXT_TOKENS = 6; // words on each side

/** @param {() => void} close */
export function rowPanel(close) {
  const hint = () =>
    element(
      "p",
      { class: "quiet small" },
      "Click a row of the map to see what its query looks at most.",
    );
  const root = element("div", { class: "map-row" }, hint());
  return {
    root,
    clear() {
      replace(root, hint());
    },
    /** @param {unknown} error */
    fail(error) {
      replace(root, problem(error));
    },
    /** @param {MapView} view @param {MapRow} mapRow */
    async show(view, { query, keys, weights }) {
      const [asks, ...answers] = await Promise.all([
        textAround(view, "query", query),
        ...keys.map((key) => textAround(view, "key", key)),
      ]);
      const rows = answers.map((text, at) =>
        element(
          "tr",
          null,
          element("td", { class: "number" }, shareWritten(weights[at])),
          element(
            "td",
            null,
            element("span", {
              class: "bar",
              style: { width: `${(100 * weights[at]) / weights[0]}%` },
            }),
            text,
          ),
        ),
      );
      const rest = 1 - weights.reduce((sum, weight) => sum + weight, 0);
      replace(
        root,
        element("h2", null, "The query ", asks, " looks at"),
        keys.length
          ? element(
              "table",
              { class: "numbers row-table" },
              element("caption", null, `its ${keys.length} largest weights`),
              element("tbody", null, rows),
            )
          : element(
              "p",
              { class: "quiet small" },
              "This file does not hold the best keys of each query: observe with top=16.",
            ),
        keys.length && rest > 0.0005
          ? element(
              "p",
              { class: "quiet small" },
              `All other keys together: ${shareWritten(rest)}.`,
            )
          : null,
        element("button", { type: "button", class: "button", on: { click: close } }, "Close"),
      );
    },
  };
}

// A position, in its text where there is one: "1,204 … the dog ate it because …" with the word
// itself marked.
/** @param {MapView} view @param {SideName} side @param {number} position */
export async function textAround(view, side, position) {
  const number = position.toLocaleString("en");
  if (!view.layer.text) return element("strong", null, number);
  const first = Math.max(0, position - CONTEXT_TOKENS);
  const [low, high] = await Promise.all([
    segmentAt(view, side, first),
    segmentAt(view, side, position + CONTEXT_TOKENS),
  ]);
  /** @param {number} at */
  const word = (at) =>
    (Math.floor(at / SEGMENT_TOKENS) === Math.floor(first / SEGMENT_TOKENS) ? low : high)?.[
      at % SEGMENT_TOKENS
    ] || "";
  /** @param {number} from @param {number} to */
  const segment = (from, to) =>
    Array.from({ length: Math.max(0, to - from) }, (_, at) => plainToken(word(from + at))).join("");
  const [own, spaced] = [
    plainToken(word(position)).trim() || "␣",
    /^\s/.test(plainToken(word(position))),
  ];
  return element(
    "span",
    { class: "around" },
    element("span", { class: "quiet" }, `${number} `),
    segment(first, position),
    spaced && " ",
    element("mark", null, own),
    segment(position + 1, position + CONTEXT_TOKENS + 1),
  );
}

// Tokenizers write the space before a word in ways of their own; here a token that goes on inside a
// word has a plus.
/** @param {string} token */
function plainToken(token) {
  if (/^\+./.test(token)) return token.slice(1);
  return ` ${token.replace(/^[\u2581\u0120 ]/, "").replace(/\u010a/g, "↵")}`;
}

/** @param {number} weight */
export function shareWritten(weight) {
  if (weight >= 0.1 && weight < 0.995) return percent(weight);
  return `${(100 * weight).toPrecision(weight >= 0.1 ? 4 : 2)} %`;
}

// The strongest cells in view, with their words, as a table that can be read aloud.
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
    tableHead(["query", "key", "weight"]),
    element("tbody", null, lines),
  );
}
