// Tables of weights: between tokens or words, with or without marks.

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

// The weights between words. The rest is null or, for each row, the weight of the keys that the
// source does not hold one by one.
/** @param {Table} table @param {Part} part @returns {Grid} */
export function wordGrid(table, part) {
  const [queries, keys] = [part.query.words, part.key.words];
  const [weights, rest] = grouped(everyWeight(table), table.rest, table, part);
  return { rows: queries.length, columns: keys.length, weights, rest, queries, keys };
}

// A table as all of its weights, row by row.
/** @param {Table} table */
export function everyWeight({ rows, columns, weights, starts, keys }) {
  if (!starts || !keys) return weights;
  const made = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++)
    for (let at = starts[row]; at < starts[row + 1]; at++)
      made[row * columns + keys[at]] = weights[at];
  return made;
}

/** @param {Part} part */
export function specialTokens({ key }) {
  return [...new Set(key.tokens.filter((name) => MARKS.has(name)))];
}

// Added over the pieces of a key, averaged over those of a query: a row still sums to 1.
/**
 * @param {Float32Array} weights
 * @param {Float32Array | null | undefined} rest
 * @param {Table} table
 * @param {Part} part
 * @returns {[Float32Array, Float32Array | null | undefined]}
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

// The weights without the marks: they get nothing, and what remains of each row is divided by its
// sum, so that it sums to 1 again. -> weights, the names of the marks, their share of a row
/** @param {Float32Array} weights @param {string[]} queries @param {string[]} keys */
export function withoutMarks(weights, queries, keys) {
  const columns = keys.length;
  const made = new Float32Array(weights.length);
  const kept = [...keys.keys()].filter((k) => !MARKS.has(keys[k]));
  const rows = [...queries.keys()].filter((q) => !MARKS.has(queries[q]));
  let share = 0;
  for (const q of rows) {
    const sum = kept.reduce((all, k) => all + weights[q * columns + k], 0);
    share += (1 - sum) / rows.length;
    if (sum > 1e-6) for (const k of kept) made[q * columns + k] = weights[q * columns + k] / sum;
  }
  const names = [...new Set(keys.filter((name) => MARKS.has(name)))];
  return { weights: made, names, share };
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
