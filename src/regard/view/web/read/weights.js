// Tables of weights: between tokens or words, with or without marks, and what a choice of words
// adds up to.

import { element, percent } from "../lib/dom.js";

const MARKS = new Set([
  "(start)",
  "(end)",
  "(pad)",
  "<s>",
  "</s>",
  "[CLS]",
  "[SEP]",
  "[PAD]",
  "<pad>",
  "<|endoftext|>",
  "<|begin_of_text|>",
  "<|end_of_text|>",
  "<bos>",
  "<eos>",
]);

// A Grid is what pictures draw. Its rest is null or, for each row, the weight of the keys that the
// source does not hold one by one; hidden says which names were left out, and how much of the rows
// they had on average.
/** @param {Table} table @param {Part} part @param {GridOptions} gridOptions @returns {Grid} */
export function buildGrid(table, part, { by, hide }) {
  const queries = sideNames(part.query, by);
  const keys = sideNames(part.key, by);
  let weights = full(table);
  /** @type {Float32Array | null} */
  let rest = table.rest ? Float32Array.from(table.rest) : null;
  if (by === "words") [weights, rest] = grouped(weights, rest, table, part);
  const grid = {
    rows: queries.length,
    columns: keys.length,
    weights,
    rest,
    queries,
    keys,
    hidden: null,
  };
  return hide ? withoutMarks(grid) : grid;
}

/** @param {Side} side @param {string} by */
function sideNames(side, by) {
  return by === "words" ? side.words : side.tokens;
}

/** @param {Part} part */
export function specialTokens(part) {
  return [...new Set([...part.key.tokens].filter((name) => MARKS.has(name)))];
}

/** @param {Table} table */
function full(table) {
  if (!table.starts || !table.keys) return table.weights;
  const weights = new Float32Array(table.rows * table.columns);
  for (let row = 0; row < table.rows; row++) {
    for (let at = table.starts[row]; at < table.starts[row + 1]; at++) {
      weights[row * table.columns + table.keys[at]] = table.weights[at];
    }
  }
  return weights;
}

// Added over the pieces of a key, averaged over those of a query: a row still sums to 1.
/**
 * @param {Float32Array} weights
 * @param {Float32Array | null} rest
 * @param {Table} table
 * @param {Part} part
 * @returns {[Float32Array, Float32Array | null]}
 */
function grouped(weights, rest, table, part) {
  const [rows, columns] = [part.query.words.length, part.key.words.length];
  const [ofRow, ofColumn] = [part.query.word_of_token, part.key.word_of_token];
  const pieces = new Float32Array(rows);
  for (const word of ofRow) pieces[word] += 1;
  const made = new Float32Array(rows * columns);
  const left = rest && new Float32Array(rows);
  for (let q = 0; q < table.rows; q++) {
    const share = 1 / pieces[ofRow[q]];
    const [to, from] = [ofRow[q] * columns, q * table.columns];
    for (let k = 0; k < table.columns; k++) made[to + ofColumn[k]] += share * weights[from + k];
    if (left && rest) left[ofRow[q]] += share * rest[q];
  }
  return [made, left];
}

// Marks leave both sides; what remains of each row is divided by its sum, so that it sums to 1
// again.
/** @param {Grid} grid */
function withoutMarks(grid) {
  const queryPositions = unmarkedPositions(grid.queries);
  const keyPositions = unmarkedPositions(grid.keys);
  if (keyPositions.length === grid.columns || !keyPositions.length || !queryPositions.length)
    return grid;
  const weights = new Float32Array(queryPositions.length * keyPositions.length);
  const rest = grid.rest && new Float32Array(queryPositions.length);
  let hiddenShare = 0;
  queryPositions.forEach((q, row) => {
    let sum = grid.rest ? grid.rest[q] : 0;
    for (const k of keyPositions) sum += grid.weights[q * grid.columns + k];
    hiddenShare += 1 - sum;
    if (sum < 1e-6) return;
    keyPositions.forEach((k, column) => {
      weights[row * keyPositions.length + column] = grid.weights[q * grid.columns + k] / sum;
    });
    if (rest && grid.rest) rest[row] = grid.rest[q] / sum;
  });
  const hiddenNames = [...new Set(grid.keys.filter((name) => MARKS.has(name)))];
  return {
    rows: queryPositions.length,
    columns: keyPositions.length,
    weights,
    rest,
    queries: queryPositions.map((q) => grid.queries[q]),
    keys: keyPositions.map((k) => grid.keys[k]),
    queryPositions,
    keyPositions,
    hidden: { names: hiddenNames, share: hiddenShare / queryPositions.length },
  };
}

/** @param {string[]} names */
function unmarkedPositions(names) {
  return names.map((name, position) => position).filter((position) => !MARKS.has(names[position]));
}

// What chosen words add up to. chosen { queries: [positions], keys: [positions] } ->
//   keys:    Float32Array, what each key gets from the chosen queries (all where none is chosen)
//   queries: Float32Array, what each query gives to the chosen keys
//   total:   from the chosen queries to the chosen keys
/** @param {Grid} grid @param {Chosen} chosen */
export function sums(grid, chosen) {
  const queries = new Float32Array(grid.rows);
  const keys = new Float32Array(grid.columns);
  let total = 0;
  const asking = chosen.queries.length ? chosen.queries : null;
  const answering = chosen.keys.length ? chosen.keys : null;
  for (const q of asking || grid.queries.keys()) {
    for (let k = 0; k < grid.columns; k++) keys[k] += grid.weights[q * grid.columns + k];
  }
  for (const k of answering || []) {
    for (let q = 0; q < grid.rows; q++) queries[q] += grid.weights[q * grid.columns + k];
  }
  if (asking && answering)
    for (const q of asking) for (const k of answering) total += grid.weights[q * grid.columns + k];
  return { queries, keys, total };
}

// Positions of the largest values, the largest first.
/** @param {ArrayLike<number>} values @param {number} count @param {number} [least] */
export function largest(values, count, least = 0) {
  /** @type {number[]} */
  const order = [];
  for (let at = 0; at < values.length; at++) {
    if (values[at] < least || values[at] <= 0) continue;
    if (order.length === count && values[at] <= values[order[count - 1]]) continue;
    let position = order.length;
    while (position > 0 && values[order[position - 1]] < values[at]) position -= 1;
    order.splice(position, 0, at);
    if (order.length > count) order.pop();
  }
  return order;
}

// Places in the address: [1, 2, 3, 7] is "1-3.7".
/** @param {number[]} list */
export function writePositions(list) {
  const parts = [];
  for (const position of [...list].sort((a, b) => a - b)) {
    const last = parts[parts.length - 1];
    if (last && last[1] === position - 1) last[1] = position;
    else parts.push([position, position]);
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(".");
}

/** @param {string} text @param {number} size */
export function readPositions(text, size) {
  const positions = [];
  for (const part of text.split(".")) {
    if (!/^\d+(-\d+)?$/.test(part)) continue;
    const [from, to = from] = part.split("-").map(Number);
    const end = Math.min(to, size - 1);
    for (let position = from; position <= end; position++) positions.push(position);
  }
  return [...new Set(positions)];
}

// The numbers behind a picture, as a table that can be read aloud and copied.

const MAX_FULL_TABLE_WORDS = 40;
const BEST_KEYS = 5;

/** @param {Grid} grid */
export function weightsTable(grid) {
  return Math.max(grid.rows, grid.columns) <= MAX_FULL_TABLE_WORDS
    ? fullTable(grid)
    : bestTable(grid);
}

/** @param {Grid} grid */
function fullTable({ queries, keys, columns, weights }) {
  /** @param {number} q @param {number} k */
  const share = (q, k) => tableShare(weights[q * columns + k]);
  return numbersTable(
    "Weights in %: rows are queries, columns are keys",
    ["", ...keys],
    queries.map((name, q) => [name, ...keys.map((_, k) => share(q, k))]),
  );
}

// To one decimal; what softmax made is never 0, what a mask left out is.
/** @param {number} weight */
function tableShare(weight) {
  return weight > 0 && weight < 0.0005 ? "< 0.1" : (100 * weight).toFixed(1);
}

// Of a long text each word's largest weights.
/** @param {Grid} grid */
function bestTable({ queries, keys, columns, weights }) {
  const titles = ["query", "looks most at", ...Array.from({ length: BEST_KEYS - 1 }, () => "then")];
  return numbersTable(
    `The ${BEST_KEYS} keys that each query looks at most`,
    titles,
    queries.map((name, q) => {
      const row = weights.subarray(q * columns, (q + 1) * columns);
      return [name, ...largest(row, BEST_KEYS).map((k) => `${keys[k]} ${percent(row[k])}`)];
    }),
  );
}

/** @param {string} caption @param {string[]} titles @param {string[][]} lines */
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
