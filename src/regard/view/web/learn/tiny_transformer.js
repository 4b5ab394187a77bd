// A transformer of one layer that is trained in the page: forward, gradient and Adam, in float64.
// A test holds the gradient against PyTorch's.
//
// A task (TINY_TASKS) is to write letters backwards, say. Sizes: TINY_SIZES. One head; what
// attention and the feed-forward layer make is added to what came in; no biases, no normalisation.
//
//   x = token[letters] + position        query, key, value = x · w_query, x · w_key, x · w_value
//   weights = softmax(query · keyᵀ / √head_width)
//   h = x + (weights · value) · w_output
//   y = h + relu(h · w_in) · w_out       probabilities = softmax(y · w_logits)

import { newMatrix, product, softmax } from "../steps/attend.js";

export const TINY_SIZES = { letters: 8, length: 8, width: 24, head_width: 16, hidden: 48 };
const ADAM = { rate: 0.004, first: 0.9, second: 0.98, small: 1e-8 };

// Numbers from 0 to 1, the same for the same seed (mulberry32).
/** @param {number} seed */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

// -> { sizes, parameters: { name: Matrix }, steps, moments }
/** @returns {TinyTransformer} */
export function tinyTransformer(seed = 1, sizes = TINY_SIZES) {
  const { letters, length, width, head_width, hidden } = sizes;
  const shapes = {
    token: [letters, width],
    position: [length, width],
    w_query: [width, head_width],
    w_key: [width, head_width],
    w_value: [width, head_width],
    w_output: [head_width, width],
    w_in: [width, hidden],
    w_out: [hidden, width],
    w_logits: [width, letters],
  };
  const random = randomNumbers(seed);
  /** @type {NamedMatrices} */
  const parameters = {};
  for (const [name, [rows, columns]] of Object.entries(shapes)) {
    const scale = ["token", "position"].includes(name) ? 0.5 : Math.sqrt(3 / rows);
    parameters[name] = newMatrix(rows, columns);
    parameters[name].values.forEach((_, at, values) => {
      values[at] = scale * (2 * random() - 1);
    });
  }
  const zeros = () => zerosLike(parameters);
  return { sizes, parameters, steps: 0, moments: { first: zeros(), second: zeros() } };
}

// Every intermediate for one row of letters (numbers from 0).
/** @param {Pick<TinyTransformer, "parameters" | "sizes">} model @param {number[]} letters */
export function tinyForward({ parameters: p, sizes }, letters) {
  const x = newMatrix(letters.length, sizes.width);
  letters.forEach((letter, at) => {
    for (let i = 0; i < sizes.width; i++)
      x.values[at * sizes.width + i] =
        p.token.values[letter * sizes.width + i] + p.position.values[at * sizes.width + i];
  });
  const [query, key, value] = [p.w_query, p.w_key, p.w_value].map((w) => product(x, w));
  const scaled = product(query, key, true);
  scaled.values.forEach((_, at, values) => (values[at] /= Math.sqrt(sizes.head_width)));
  const weights = softmax(scaled);
  const attended = product(weights, value);
  const h = addMatrices(x, product(attended, p.w_output));
  const inner = product(h, p.w_in);
  const active = mapped(inner, (one) => Math.max(0, one));
  const y = addMatrices(h, product(active, p.w_out));
  const probabilities = softmax(product(y, p.w_logits));
  return { x, query, key, value, weights, attended, h, inner, active, y, probabilities };
}

// The mean loss (nats a letter) of a batch of { letters, target }, and its gradient by parameter.
/** @param {TinyTransformer} model @param {TinyBatch} batch */
export function tinyGradient(model, batch) {
  const gradient = zerosLike(model.parameters);
  let loss = 0;
  for (const { letters, target } of batch) {
    const run = tinyForward(model, letters);
    const share = 1 / (batch.length * target.length);
    const columns = run.probabilities.columns;
    const slope = mapped(run.probabilities, (one) => one * share);
    target.forEach((letter, at) => {
      loss -= share * Math.log(run.probabilities.values[at * columns + letter]);
      slope.values[at * columns + letter] -= share;
    });
    addGradient(model, gradient, run, letters, slope);
  }
  return { loss, gradient };
}

// The chain rule, from the last line of the forward pass to its first.
/**
 * @param {TinyTransformer} tinyTransformer
 * @param {NamedMatrices} gradient
 * @param {TinyRun} run
 * @param {number[]} letters
 * @param {Matrix} slope
 */
function addGradient({ parameters: p, sizes }, gradient, run, letters, slope) {
  /** @param {string} name @param {Matrix} input @param {Matrix} output */
  const through = (name, input, output) => {
    addTo(gradient[name], transposedProduct(input, output));
    return product(output, p[name], true);
  };
  const y = through("w_logits", run.y, slope);
  const active = through("w_out", run.active, y);
  const inner = mapped(active, (one, at) => (run.inner.values[at] > 0 ? one : 0));
  const h = addMatrices(y, through("w_in", run.h, inner));
  const attended = through("w_output", run.attended, h);
  const weights = product(attended, run.value, true);
  const value = transposedProduct(run.weights, attended);
  const scores = softmaxSlope(run.weights, weights, 1 / Math.sqrt(sizes.head_width));
  const query = product(scores, run.key);
  const key = transposedProduct(scores, run.query);
  const x = [
    through("w_query", run.x, query),
    through("w_key", run.x, key),
    through("w_value", run.x, value),
  ].reduce(addMatrices, h);
  letters.forEach((letter, at) => {
    for (let i = 0; i < sizes.width; i++) {
      gradient.token.values[letter * sizes.width + i] += x.values[at * sizes.width + i];
      gradient.position.values[at * sizes.width + i] += x.values[at * sizes.width + i];
    }
  });
}

// Of each row: weight · (slope − the row's mean slope by weight).
/** @param {Matrix} weights @param {Matrix} slope @param {number} scale */
function softmaxSlope(weights, slope, scale) {
  const made = newMatrix(weights.rows, weights.columns);
  for (let row = 0; row < weights.rows; row++) {
    const from = row * weights.columns;
    let mean = 0;
    for (let at = from; at < from + weights.columns; at++)
      mean += weights.values[at] * slope.values[at];
    for (let at = from; at < from + weights.columns; at++)
      made.values[at] = scale * weights.values[at] * (slope.values[at] - mean);
  }
  return made;
}

// One step of Adam on a batch; the loss before it.
/** @param {TinyTransformer} model @param {TinyBatch} batch */
export function tinyStep(model, batch) {
  const { loss, gradient } = tinyGradient(model, batch);
  model.steps += 1;
  const [first, second] = [ADAM.first, ADAM.second].map((decay) => 1 - decay ** model.steps);
  for (const [name, { values }] of Object.entries(model.parameters)) {
    const [mean, square] = [model.moments.first[name].values, model.moments.second[name].values];
    gradient[name].values.forEach((slope, at) => {
      mean[at] += (1 - ADAM.first) * (slope - mean[at]);
      square[at] += (1 - ADAM.second) * (slope * slope - square[at]);
      const size = Math.sqrt(square[at] / second) + ADAM.small;
      values[at] -= (ADAM.rate * (mean[at] / first)) / size;
    });
  }
  return loss;
}

// What can be learnt: from a row of letters to the row that is to be written.
/** @type {Record<string, (letters: number[]) => number[]>} */
export const TINY_TASKS = {
  backwards: (letters) => [...letters].reverse(),
  copy: (letters) => [...letters],
  sort: (letters) => [...letters].sort((a, b) => a - b),
};

// Rows of letters drawn at random, each with what is to be written.
/**
 * @param {() => number} random
 * @param {number} size
 * @param {string} [task]
 * @param {Pick<TinySizes, "letters" | "length">} [sizes]
 */
export function taskBatch(random, size, task = "backwards", { letters, length } = TINY_SIZES) {
  return Array.from({ length: size }, () => {
    const drawn = Array.from({ length }, () => Math.floor(random() * letters));
    return { letters: drawn, target: TINY_TASKS[task](drawn) };
  });
}

/** @param {NamedMatrices} parameters */
function zerosLike(parameters) {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, { rows, columns }]) => [name, newMatrix(rows, columns)]),
  );
}

/** @param {Matrix} matrix @param {(value: number, at: number) => number} change */
function mapped(matrix, change) {
  return { ...matrix, values: matrix.values.map(change) };
}

/** @param {Matrix} left @param {Matrix} right */
function addMatrices(left, right) {
  return mapped(left, (one, at) => one + right.values[at]);
}

/** @param {Matrix} total @param {Matrix} matrix */
function addTo(total, matrix) {
  matrix.values.forEach((one, at) => (total.values[at] += one));
}

// leftᵀ · right
/** @param {Matrix} left @param {Matrix} right */
function transposedProduct(left, right) {
  const made = newMatrix(left.columns, right.columns);
  for (let row = 0; row < left.rows; row++)
    for (let i = 0; i < left.columns; i++) {
      const factor = left.values[row * left.columns + i];
      for (let j = 0; j < right.columns; j++)
        made.values[i * right.columns + j] += factor * right.values[row * right.columns + j];
    }
  return made;
}
