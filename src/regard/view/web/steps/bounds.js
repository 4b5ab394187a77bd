// Bounds on the rounding error of every stage: how far its numbers may lie from the exact ones. The
// same bounds as regard.textbook.bounds, where they are derived.

import { matrixOf, product } from "./attend.js";

// Twice the unit roundoff: the stored number errs, and so does whoever computes it again.
export const EPSILON = 2 ** -52;
export const FAR = 50; // scores beyond it are written less the highest of their row
const TINY = 1e-321; // below about this, float64 has no relative precision left

const boundsOfSteps = new WeakMap(); // steps -> { stage: Matrix }

// How far each number of a stage may lie from the exact one, as a matrix of its shape.
export function errorBounds(steps, stage) {
  if (!boundsOfSteps.has(steps)) boundsOfSteps.set(steps, {});
  const bounds = boundsOfSteps.get(steps);
  bounds[stage] ||= finite(BOUNDS[stage](steps, stage, steps.stages[stage]));
  return bounds[stage];
}

const zeros = ({ rows, columns }) => matrixOf(rows, columns);
const sizes = (matrix) => changed(matrix, Math.abs);
const finite = (matrix) => changed(matrix, (one) => (Number.isNaN(one) ? Infinity : one));

function changed({ rows, columns, values }, change) {
  return matrixOf(
    rows,
    columns,
    values.map((one, at) => change(one, at)),
  );
}

function givenBound(steps, stage, matrix) {
  return changed(matrix, () => (stage === "x" || stage === "memory" ? steps.xError : 0));
}

function projectedBound(steps, stage, matrix) {
  const input = stage !== "query" && steps.stages.memory ? "memory" : "x";
  const parameters = steps.parameters[`w_${stage}`];
  if (!steps.stages[input] || !parameters) return givenBound(steps, stage, matrix);
  return productBound(
    steps.stages[input],
    errorBounds(steps, input),
    parameters,
    zeros(parameters),
  );
}

function scaledBound(steps, stage, matrix) {
  const scores = errorBounds(steps, "scores").values;
  return changed(
    matrix,
    (one, at) => Math.abs(steps.scale) * scores[at] + 4 * EPSILON * Math.abs(one) + TINY,
  );
}

function maskedBound(steps, stage, matrix) {
  const [scores, bound] = [steps.stages.scaled.values, errorBounds(steps, "scaled").values];
  return changed(matrix, (one, at) => {
    if (!Number.isFinite(one)) return 0;
    return (
      bound[at] +
      (one === scores[at] ? 0 : 2 * EPSILON * (Math.abs(scores[at]) + Math.abs(one - scores[at])))
    );
  });
}

// p / (1 - p) moves by as many parts in one as two scores move: so p by p (1 - p) times that.
function weightsBound(steps, stage, matrix) {
  const last = steps.stages.masked ? "masked" : "scaled";
  const [scores, bound] = [steps.stages[last].values, errorBounds(steps, last).values];
  const { columns } = matrix;
  const rows = Array.from({ length: matrix.rows }, (_, row) => {
    const seen = [];
    for (let at = row * columns; at < (row + 1) * columns; at++)
      if (Number.isFinite(scores[at])) seen.push(at);
    const most = Math.max(0, ...bound.subarray(row * columns, (row + 1) * columns));
    const size = Math.min(Math.max(0, ...seen.map((at) => Math.abs(scores[at]))), FAR);
    return { own: 4 * EPSILON * (seen.length + 8 + 2 * size), moved: Math.expm1(2 * most) };
  });
  return changed(matrix, (weight, at) => {
    const { own, moved } = rows[Math.floor(at / columns)];
    const others = Math.max(1 - weight, 0) + own;
    const error = weight * (own + moved * others) + (Number.isFinite(scores[at]) ? TINY : 0);
    return error < 1 ? error : 1;
  });
}

// Of left · right, or left · rightᵀ: each sum's own rounding, and what its operands are off by.
function productBound(left, leftBound, right, rightBound, across = false) {
  const terms = left.columns;
  const wide = changed(right, (one, at) => Math.abs(one) + rightBound.values[at]);
  const own = product(sizes(left), sizes(right), across).values;
  const ofLeft = product(leftBound, wide, across).values;
  const ofRight = product(sizes(left), rightBound, across).values;
  const bound = matrixOf(left.rows, across ? right.rows : right.columns);
  return changed(
    bound,
    (_, at) => EPSILON * (terms + 2) * own[at] + TINY * (terms + 1) + ofLeft[at] + ofRight[at],
  );
}

const productOf = (left, right, across) => (steps) =>
  productBound(
    steps.stages[left],
    errorBounds(steps, left),
    steps.stages[right],
    errorBounds(steps, right),
    across,
  );

const BOUNDS = {
  x: givenBound,
  memory: givenBound,
  query: projectedBound,
  key: projectedBound,
  value: projectedBound,
  scores: productOf("query", "key", true),
  scaled: scaledBound,
  masked: maskedBound,
  weights: weightsBound,
  output: productOf("weights", "value", false),
};
