// Self-attention in float64, with every intermediate: regard.self_attention, worked out in the page
// so that numbers can be changed without asking anybody. A test holds it against the specification.
//
// Inputs (from source.steps; types.d.ts):
//   queries, keys: names of rows and of columns;  scale: null is 1 / sqrt(d)
//   x_error: how far the numbers of x and memory may lie from the exact ones
//   position: whether there is one to leave out
//   example: what a document claims (steps_data.example_summary)
//   part, layer, head, layers, heads: of a model's head alone
//   matrices: x, memory (cross-attention: the vectors that answer), w_query, w_key, w_value; or
//     query, key, value as given; mask (added to the scaled scores)
// Switches: { divide: true, temperature: 1, causal: null (as given) }

const STAGE_ORDER = [
  "x",
  "memory",
  "query",
  "key",
  "value",
  "scores",
  "scaled",
  "masked",
  "weights",
  "output",
];
export const BETWEEN_WORDS = ["scores", "scaled", "masked", "weights"];

/** @param {number} rows @param {number} columns @param {Float64Array} [values] */
export function newMatrix(rows, columns, values) {
  return { rows, columns, values: values || new Float64Array(rows * columns) };
}

/** @param {Inputs} inputs @param {Switches} [switches] */
export function attend(inputs, { divide = true, temperature = 1, causal = null } = {}) {
  const { x, memory, w_query, w_key, w_value, mask } = inputs.matrices;
  const query = inputs.matrices.query || product(x, w_query);
  const key = inputs.matrices.key || product(memory || x, w_key);
  const value = inputs.matrices.value || product(memory || x, w_value);
  const width = query.columns;
  const plain = divide ? inputs.scale || 1 / Math.sqrt(Math.max(1, width)) : 1;
  const scale = temperature === 1 ? plain : plain / temperature;
  const scores = product(query, key, true);
  const scaled = each(scores, (score) => score * scale);
  const hides = causal === null ? inputs.causal : causal;
  /** @param {number} q @param {number} k */
  const biasAt = (q, k) =>
    hides && k > q ? -Infinity : mask ? mask.values[q * mask.columns + k] : 0;
  const masked = hides || mask ? each(scaled, (score, q, k) => score + biasAt(q, k)) : null;
  const weights = softmax(masked || scaled);
  /** @type {Record<string, Matrix | null | undefined>} */
  const stages = {
    x,
    memory,
    query,
    key,
    value,
    scores,
    scaled,
    masked,
    weights,
    output: product(weights, value),
  };
  return {
    queries: inputs.queries,
    keys: inputs.keys,
    scale,
    width,
    causal: hides,
    xError: inputs.x_error || 0,
    inputs,
    stages: Object.fromEntries(
      STAGE_ORDER.flatMap((name) => {
        const matrix = stages[name];
        return matrix ? [[name, matrix]] : [];
      }),
    ),
    parameters: Object.fromEntries(
      Object.entries({ w_query, w_key, w_value }).filter(([, matrix]) => matrix),
    ),
  };
}

// left · right, or left · rightᵀ
/** @param {Matrix} left @param {Matrix} right @param {boolean} [across] */
export function product(left, right, across = false) {
  const [rows, columns, inner] = [left.rows, across ? right.rows : right.columns, left.columns];
  const made = newMatrix(rows, columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      let sum = 0;
      const from = row * inner;
      const [to, step] = across ? [column * inner, 1] : [column, columns];
      for (let at = 0; at < inner; at++)
        sum += left.values[from + at] * right.values[to + at * step];
      made.values[row * columns + column] = sum;
    }
  }
  return made;
}

/** @param {Matrix} matrix @param {(value: number, row: number, column: number) => number} change */
function each(matrix, change) {
  const made = newMatrix(matrix.rows, matrix.columns);
  made.values.forEach((_, at) => {
    made.values[at] = change(
      matrix.values[at],
      Math.floor(at / matrix.columns),
      at % matrix.columns,
    );
  });
  return made;
}

// Each row sums to 1; e^710 overflows, and less its highest score a row has the same weights.
/** @param {Matrix} scores */
export function softmax(scores) {
  const made = newMatrix(scores.rows, scores.columns);
  for (let row = 0; row < scores.rows; row++) {
    const from = row * scores.columns;
    const part = scores.values.subarray(from, from + scores.columns);
    const highest = part.reduce((a, b) => Math.max(a, b), -Infinity);
    const shift = Number.isFinite(highest) ? highest : 0;
    let total = 0;
    for (let at = 0; at < part.length; at++)
      total += made.values[from + at] = Math.exp(part[at] - shift);
    for (let at = 0; at < part.length && total > 0; at++) made.values[from + at] /= total;
  }
  return made;
}

/** @param {Matrix} weights @param {number} row */
export function rowEntropy(weights, row) {
  let sum = 0;
  const { values, columns } = weights;
  for (const weight of values.subarray(row * columns, (row + 1) * columns))
    if (weight > 0) sum -= weight * Math.log(weight);
  return sum;
}
