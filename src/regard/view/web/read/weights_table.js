// The numbers behind a picture, as a table that can be read aloud and copied.

import { element, percent } from "../lib/dom.js";
import { largest } from "./weights.js";

const MOST_WHOLE = 40;
const BEST = 5;

export function weightsTable(grid) {
  return Math.max(grid.rows, grid.columns) <= MOST_WHOLE ? fullTable(grid) : bestTable(grid);
}

function fullTable({ queries, keys, columns, weights }) {
  const share = (q, k) => (100 * weights[q * columns + k]).toFixed(1);
  return numbersTable(
    "Weights in %: rows are queries, columns are keys",
    ["", ...keys],
    queries.map((name, q) => [name, ...keys.map((_, k) => share(q, k))]),
  );
}

// Of a long text each word's largest weights.
function bestTable({ queries, keys, columns, weights }) {
  const titles = ["query", "looks most at", ...Array.from({ length: BEST - 1 }, () => "then")];
  return numbersTable(
    `The ${BEST} keys that each query looks at most`,
    titles,
    queries.map((name, q) => {
      const row = weights.subarray(q * columns, (q + 1) * columns);
      return [name, ...largest(row, BEST).map((k) => `${keys[k]} ${percent(row[k])}`)];
    }),
  );
}

function numbersTable(caption, titles, lines) {
  const head = titles.map((title) =>
    element(title ? "th" : "td", title ? { scope: "col" } : null, title),
  );
  const body = lines.map(([name, ...cells]) =>
    element(
      "tr",
      null,
      element("th", { scope: "row" }, name),
      cells.map((cell) => element("td", null, cell)),
    ),
  );
  return element(
    "table",
    { class: "numbers" },
    element("caption", null, caption),
    element("thead", null, element("tr", null, head)),
    element("tbody", null, body),
  );
}
