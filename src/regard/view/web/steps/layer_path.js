// The path around one head: tokens, embedding, position, the layer's input, then after the head's
// output the heads joined, w_output, the residual, the norm and the feed-forward layer. Worked out
// in the page in float64, as attend.js does for the head; a test holds every number against NumPy.
//
// LayerData (source.layer): tokens, ids, words, word_of_token: of the queries' text
//   matrices: input (the residual stream that the layer is given), joined (outputs of all heads)
//   parameter(name): embedding (rows of the tokens), position, attention_norm_gain and _bias,
//     w_output, and after the encoder's attention and cross-attention feed_forward_norm_gain and
//     _bias, w_in, b_in, w_out, b_out, and in the last layer last_norm_gain and _bias
//   epsilon: of the norms;  positions: whether they are added

import { newMatrix } from "./attend.js";

export const BEFORE_HEAD = ["tokens", "embedding", "position", "start", "input"];
const AFTER_HEAD = ["joined", "projected", "residual"];
const FEED_FORWARD = ["normed", "hidden", "feed_forward", "layer_output"];

/** @param {LayerData} layer @param {Stages} steps @returns {LayerPath} */
export function layerPath(layer, steps) {
  /** @type {Map<string, Matrix>} */
  const made = new Map();
  /** @type {LayerPath} */
  const path = {
    layer,
    steps,
    names: [
      ...BEFORE_HEAD,
      ...Object.keys(steps.stages),
      ...AFTER_HEAD,
      ...(layer.parameter("w_in") ? FEED_FORWARD : []),
      ...(layer.parameter("last_norm_gain") ? ["last"] : []),
    ],
    /** @param {string} name */
    matrix(name) {
      if (steps.stages[name]) return steps.stages[name];
      const matrix = made.get(name) || STAGE_MATRICES[name](path);
      made.set(name, matrix);
      return matrix;
    },
    parameters: (name) => STAGE_PARAMETERS[name] || [],
    parameter: (name) => steps.parameters[name] || layer.parameter(name),
  };
  return path;
}

/** @type {Record<string, string[]>} */
const STAGE_PARAMETERS = {
  x: ["attention_norm_gain", "attention_norm_bias"],
  query: ["w_query"],
  key: ["w_key"],
  value: ["w_value"],
  projected: ["w_output"],
  normed: ["feed_forward_norm_gain", "feed_forward_norm_bias"],
  hidden: ["w_in", "b_in"],
  feed_forward: ["w_out", "b_out"],
  last: ["last_norm_gain", "last_norm_bias"],
};

/** @type {Record<string, (path: LayerPath) => Matrix>} */
const STAGE_MATRICES = {
  tokens: ({ layer }) => newMatrix(layer.ids.length, 1, Float64Array.from(layer.ids)),
  embedding: ({ layer }) => scaledEmbedding(layer),
  position: ({ layer }) => positionVectors(layer),
  // The model adds the two in float32.
  start: (path) => combined(path.matrix("embedding"), path.matrix("position"), float32Sum),
  input: ({ layer }) => layer.matrices.input,
  joined: joinedHeads,
  projected: (path) => rowProduct(path.matrix("joined"), requiredParameter(path, "w_output")),
  residual: (path) => combined(path.matrix("input"), path.matrix("projected"), sum),
  normed: (path) => normed(path, "residual", "feed_forward_norm"),
  hidden: (path) =>
    withBias(
      rowProduct(path.matrix("normed"), requiredParameter(path, "w_in")),
      requiredParameter(path, "b_in"),
      (one) => Math.max(one, 0),
    ),
  feed_forward: (path) =>
    withBias(
      rowProduct(path.matrix("hidden"), requiredParameter(path, "w_out")),
      requiredParameter(path, "b_out"),
      (one) => one,
    ),
  layer_output: (path) => combined(path.matrix("residual"), path.matrix("feed_forward"), sum),
  last: (path) => normed(path, "layer_output", "last_norm"),
};

/** @param {number} a @param {number} b */
const sum = (a, b) => a + b;
/** @param {number} a @param {number} b */
const float32Sum = (a, b) => Math.fround(a + b);

// A parameter that the layer cannot be without.
/** @param {{ parameter(name: string): Matrix | null }} holder @param {string} name */
export function requiredParameter(holder, name) {
  const matrix = holder.parameter(name);
  if (!matrix) throw new Error(`These data have no ${name}.`);
  return matrix;
}

/** @param {LayerData} layer */
function scaledEmbedding(layer) {
  const { rows, columns, values } = requiredParameter(layer, "embedding");
  const scale = Math.fround(Math.sqrt(columns));
  return newMatrix(
    rows,
    columns,
    values.map((one) => Math.fround(one * scale)),
  );
}

/** @param {LayerData} layer */
function positionVectors(layer) {
  const { rows, columns, values } = requiredParameter(layer, "position");
  return layer.positions ? newMatrix(rows, columns, values) : newMatrix(rows, columns);
}

// The head's own columns as its switches have them; the other heads are as the model has them.
/** @param {LayerPath} layerPath */
function joinedHeads({ layer, steps }) {
  const { rows, columns, values } = layer.matrices.joined;
  const made = newMatrix(rows, columns, values.slice());
  const { output } = steps.stages;
  const first = (steps.inputs.head || 0) * output.columns;
  for (let row = 0; row < rows; row++)
    for (let at = 0; at < output.columns; at++)
      made.values[row * columns + first + at] = output.values[row * output.columns + at];
  return made;
}

// left · right, a row of right at a time: so that a wide matrix is read as it lies in memory.
/** @param {Matrix} left @param {Matrix} right */
function rowProduct(left, right) {
  const made = newMatrix(left.rows, right.columns);
  for (let row = 0; row < left.rows; row++) {
    const into = made.values.subarray(row * right.columns, (row + 1) * right.columns);
    for (let inner = 0; inner < left.columns; inner++) {
      const factor = left.values[row * left.columns + inner];
      if (factor === 0) continue;
      const from = inner * right.columns;
      for (let at = 0; at < into.length; at++) into[at] += factor * right.values[from + at];
    }
  }
  return made;
}

/**
 * @param {Matrix} left
 * @param {Matrix} right
 * @param {(one: number, other: number) => number} change
 */
function combined(left, right, change) {
  return newMatrix(
    left.rows,
    left.columns,
    left.values.map((one, at) => change(one, right.values[at])),
  );
}

/** @param {Matrix} matrix @param {Matrix} bias @param {(value: number) => number} change */
function withBias(matrix, bias, change) {
  const { rows, columns, values } = matrix;
  return newMatrix(
    rows,
    columns,
    values.map((one, at) => change(one + bias.values[at % columns])),
  );
}

/** @param {LayerPath} path @param {string} from @param {string} name */
function normed(path, from, name) {
  const matrix = path.matrix(from);
  return normalised(
    matrix,
    requiredParameter(path, `${name}_gain`),
    requiredParameter(path, `${name}_bias`),
    path,
  );
}

// Each row with mean 0 and variance 1, then gain and bias.
/**
 * @param {Matrix} matrix
 * @param {Matrix} gain
 * @param {Matrix} bias
 * @param {{ layer: { epsilon: number } }} path
 */
export function normalised(matrix, gain, bias, { layer: { epsilon } }) {
  const made = newMatrix(matrix.rows, matrix.columns);
  for (let row = 0; row < matrix.rows; row++) {
    const { mean, deviation } = rowSpread(matrix, row, epsilon);
    for (let at = 0; at < matrix.columns; at++) {
      const index = row * matrix.columns + at;
      made.values[index] =
        ((matrix.values[index] - mean) / deviation) * gain.values[at] + bias.values[at];
    }
  }
  return made;
}

// The mean of a row, and the root of its variance and epsilon.
/** @param {Matrix} matrix @param {number} row @param {number} epsilon */
export function rowSpread({ columns, values }, row, epsilon) {
  const numbers = values.subarray(row * columns, (row + 1) * columns);
  const mean = numbers.reduce(sum, 0) / columns;
  const variance = numbers.reduce((total, one) => total + (one - mean) ** 2, 0) / columns;
  return { mean, deviation: Math.sqrt(variance + epsilon) };
}
