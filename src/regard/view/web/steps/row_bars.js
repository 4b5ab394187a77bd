// The chosen row as bars: its scores, scaled, masked and as weights, side by side for every key, so
// that a switch can be seen to work. What it was before a switch stands behind as an outline.

import { asWord, element, prose } from "../lib/dom.js";
import { BETWEEN_WORDS } from "./attend.js";
import { largestSize } from "../lib/strips.js";
import { shortNumber } from "./matrix.js";
import { labels } from "./why.js";

const MOST_KEYS = 40;

/**
 * @param {StepsView} view
 * @param {number} row
 * @param {(stage: string, key: number) => void} pick
 */
export function rowBars(view, row, pick) {
  const { now, before, isChanged, chosen } = view;
  const names = BETWEEN_WORDS.filter((name) => now.stages[name]);
  const keys = labels(now.keys);
  const shown = shownKeys(view, row);
  // One length for scores, scaled and masked: so that dividing makes them shorter.
  const rowsOf = (steps) =>
    names.slice(0, -1).flatMap((name) => Array.from(rowIn(steps, name, row) || []));
  const most = largestSize([...rowsOf(now), ...(isChanged ? rowsOf(before) : [])]) || 1;
  const line = (at) =>
    element(
      "tr",
      { class: chosen && chosen.row === row && chosen.column === at ? "chosen" : null },
      element("th", { scope: "row" }, keys[at]),
      names.map((name) =>
        element(
          "td",
          null,
          barOf({ view, name, row, at, most: name === "weights" ? 1 : most, pick }),
        ),
      ),
    );
  return element(
    "div",
    { class: "row-bars" },
    element("h3", null, prose(`The row of ${asWord(labels(now.queries)[row])}`)),
    element(
      "table",
      null,
      element(
        "thead",
        null,
        element(
          "tr",
          null,
          element("td"),
          names.map((name) => element("th", { scope: "col" }, name)),
        ),
      ),
      element("tbody", null, shown.map(line)),
    ),
    shown.length < keys.length &&
      element(
        "p",
        { class: "small quiet" },
        `The ${shown.length} keys with the largest weights, of ${keys.length}.`,
      ),
  );
}

// All keys, or those with the largest weights and the chosen one, in the order of the sentence.
/** @param {StepsView} view */
function shownKeys({ now, chosen }, row) {
  const weights = rowIn(now, "weights", row);
  const order = [...weights.keys()];
  if (order.length <= MOST_KEYS) return order;
  order.sort((a, b) => weights[b] - weights[a]);
  const some = new Set([chosen && chosen.row === row ? chosen.column : 0, ...order]);
  return [...some].slice(0, MOST_KEYS).sort((a, b) => a - b);
}

/** @param {Stages} steps */
function rowIn(steps, name, row) {
  const matrix = steps.stages[name];
  return matrix && matrix.values.subarray(row * matrix.columns, (row + 1) * matrix.columns);
}

function barOf({ view, name, row, at, most, pick }) {
  const { now, before, isChanged } = view;
  const value = rowIn(now, name, row)[at];
  const old = isChanged ? rowIn(before, name, row) : null;
  const was = old && old[at] !== value ? old[at] : null;
  const isShare = name === "weights";
  const span = (number) => {
    const size = Number.isFinite(number) ? Math.abs(number) / most : 0;
    if (isShare) return { left: "0%", width: `${(100 * size).toFixed(2)}%` };
    return {
      left: `${(number < 0 ? 50 - 50 * size : 50).toFixed(2)}%`,
      width: `${(50 * size).toFixed(2)}%`,
    };
  };
  const title = was === null ? null : `as it was: ${shortNumber(was)}`;
  return element(
    "button",
    {
      type: "button",
      class: `bar-cell${isShare ? " of-weights" : ""}`,
      title,
      on: { click: () => pick(name, at) },
    },
    element(
      "span",
      { class: "track" },
      was !== null && element("span", { class: "ghost", style: span(was) }),
      element("span", {
        class: `length${value < 0 ? " under" : ""}`,
        "data-bar": `${name} ${row} ${at}`,
        style: span(value),
      }),
    ),
    element("span", { class: "number" }, shortNumber(value)),
  );
}
