// Why a cell holds the number it holds: the expression that made it, and where its operands stand.
// The same lines as Steps.why in Python; a test compares them cell by cell.

import { exactNumber, operandNumber, showNumber } from "../lib/digits.js";
import { BETWEEN_WORDS, newMatrix, product } from "./attend.js";

const MAX_WRITTEN_TERMS = 8; // terms of a sum that are written in full
const EXACT_DECIMALS = 18; // more digits than any float64 has
const MAX_WIDENINGS = 20; // steps from the last digit of a float64 to where a value counts as 0

// -> { cell, formula, line, value, operands: [{ stage, row, column }] }; null stands for a whole
// row or column.
/**
 * @param {Stages} steps
 * @param {string} stage
 * @param {number} row
 * @param {number} column
 * @param {number} [digits]
 */
export function why(steps, stage, row, column, digits = 3) {
  const [rowName, columnName] = cellNames(steps, stage, row, column);
  const made = EXPRESSIONS[stage](steps, row, column, stage);
  const cell = `${stage}[${rowName}, ${columnName}]`;
  return writtenCell(cell, at(steps, stage, row, column), made, digits);
}

// A cell and the expression that made it, with as many digits as its value and its operands can
// support. made { formula, operands, rule, write, operandCells, note, then }.
/**
 * @param {string} cell
 * @param {Measured} measured
 * @param {Expression} made
 * @param {number} [digits]
 */
export function writtenCell(cell, { value, noise }, made, digits = 3) {
  const ways = made.then ? [made, made.then] : [made];
  let shown = showNumber(value, digits, noise);
  /** @type {string[]} */
  let links = [];
  for (let wider = 0; wider <= MAX_WIDENINGS; wider++) {
    shown = showNumber(value, digits, noise * 10 ** wider);
    const rounded = ways.map((way) => roundOperands(way, value, shown.tolerance - noise, digits));
    links = rounded.map(({ text }) => text);
    if (rounded.every(({ agrees }) => agrees)) break;
  }
  const parts = [cell, ...links.filter((link) => link && link !== shown.text), shown.text];
  const line = parts.join(" = ") + (made.note ? ` (${made.note})` : "");
  return { cell, formula: made.formula, line, value, operands: made.operandCells };
}

// A name for each position: its word, with its index where the word occurs twice.
/** @param {string[]} words */
export function labels(words) {
  return words.map((word, index) =>
    words.filter((other) => other === word).length > 1 ? `${word} (${index})` : word,
  );
}

/** @param {Stages} steps @param {string} stage @param {number} row @param {number} column */
function cellNames(steps, stage, row, column) {
  const rows = labels(["key", "value", "memory"].includes(stage) ? steps.keys : steps.queries);
  return [rows[row], BETWEEN_WORDS.includes(stage) ? labels(steps.keys)[column] : String(column)];
}

/** @param {Stages} steps @param {string} stage */
function matrixNamed(steps, stage) {
  return steps.stages[stage] || steps.parameters[stage];
}

// Numbers are { value, noise }: what is stored, and how far it may lie from the exact one.
/** @param {Stages} steps @param {string} stage @param {number} row @param {number} column */
function at(steps, stage, row, column) {
  const { values, columns } = matrixNamed(steps, stage);
  const index = row * columns + column;
  return {
    value: values[index],
    noise: steps.stages[stage] ? errorBounds(steps, stage).values[index] : 0,
  };
}

/** @param {Stages} steps @param {string} stage @param {number} row */
function rowNumbers(steps, stage, row) {
  return Array.from({ length: matrixNamed(steps, stage).columns }, (_, column) =>
    at(steps, stage, row, column),
  );
}

/** @param {Stages} steps @param {string} stage @param {number} column */
function columnNumbers(steps, stage, column) {
  return Array.from({ length: matrixNamed(steps, stage).rows }, (_, row) =>
    at(steps, stage, row, column),
  );
}

// An expression: operands, the rule that makes the value of them, how to write it, where they
// stand.
/** @template T @param {T[]} only */
const itself = ([one]) => one;
/** @param {number} value */
export const exact = (value) => ({ value, noise: 0 });
/**
 * @param {Measured} number
 * @param {string} formula
 * @param {string} note
 * @param {Operand[]} [operandCells]
 * @returns {Expression}
 */
export const given = (number, formula, note, operandCells = []) => ({
  formula,
  note,
  operands: [number],
  rule: itself,
  write: itself,
  operandCells,
});
/**
 * @param {number} value
 * @param {string} formula
 * @param {string} note
 * @param {Operand[]} [operandCells]
 * @returns {Expression}
 */
const stated = (value, formula, note, operandCells = []) => ({
  formula,
  note,
  operands: [],
  rule: () => value,
  write: () => "",
  operandCells,
});

/**
 * @param {Measured[]} left
 * @param {Measured[]} right
 * @param {string} formula
 * @param {Operand[]} operandCells
 * @returns {Expression}
 */
function dotted(left, right, formula, operandCells) {
  const operands = left.flatMap((one, index) => [one, right[index]]);
  /** @template T @param {T[]} list */
  const pairs = (list) =>
    Array.from({ length: list.length / 2 }, (_, one) => [list[2 * one], list[2 * one + 1]]);
  return {
    formula,
    operands,
    operandCells,
    rule: (list) => summed(pairs(list).map(([a, b]) => a * b)),
    write: (list) => joinedTerms(pairs(list).map(([a, b]) => `${a} · ${b}`)) || "0",
  };
}

/**
 * @param {Stages} steps
 * @param {number} row
 * @param {number} column
 * @param {string} stage
 * @returns {Expression}
 */
function projected(steps, row, column, stage) {
  const input = stage !== "query" && steps.stages.memory ? "memory" : "x";
  const parameters = `w_${stage}`;
  if (!steps.stages[input] || !steps.parameters[parameters])
    return given(at(steps, stage, row, column), "given", "given");
  return dotted(
    rowNumbers(steps, input, row),
    columnNumbers(steps, parameters, column),
    `${input} · ${parameters}`,
    [
      { stage: input, row, column: null },
      { stage: parameters, row: null, column },
    ],
  );
}

/** @param {Stages} steps @param {number} row @param {number} column @returns {Expression} */
function scaledScore(steps, row, column) {
  const score = at(steps, "scores", row, column);
  const operandCells = [{ stage: "scores", row, column }];
  const root = 1 / Math.sqrt(Math.max(1, steps.width));
  if (Math.abs(steps.scale - root) <= 1e-12 * Math.max(steps.scale, root)) {
    return {
      formula: `scores / √${steps.width}`,
      operands: [score, exact(steps.width)],
      operandCells,
      rule: ([a, b]) => a / Math.sqrt(b),
      write: ([a]) => `${a} / √${steps.width}`,
    };
  }
  return {
    formula: "scores · scale",
    operands: [score, exact(steps.scale)],
    operandCells,
    rule: ([a, b]) => a * b,
    write: ([a, b]) => `${a} · ${b}`,
  };
}

/** @param {Stages} steps @param {number} row @param {number} column @returns {Expression} */
function maskedScore(steps, row, column) {
  const score = at(steps, "scaled", row, column);
  const masked = at(steps, "masked", row, column);
  const operandCells = [{ stage: "scaled", row, column }];
  if (masked.value === -Infinity)
    return stated(masked.value, "hidden", hiddenNote(steps, row, column), operandCells);
  if (masked.value === score.value)
    return given(score, "scaled", "as scaled: visible, nothing added", operandCells);
  const value = masked.value - score.value;
  const bias = { value, noise: 2 * EPSILON * (Math.abs(score.value) + Math.abs(value)) };
  return {
    formula: "scaled + mask",
    operands: [score, bias],
    operandCells,
    rule: ([a, b]) => a + b,
    write: ([a, b]) => (value < 0 ? `${a} + (${b})` : `${a} + ${b}`),
  };
}

/** @param {Stages} steps @param {number} row @param {number} column @returns {Expression} */
function softmaxShare(steps, row, column) {
  const before = steps.stages.masked ? "masked" : "scaled";
  const scores = rowNumbers(steps, before, row);
  const operandCells = [{ stage: before, row, column: null }];
  const name = cellNames(steps, "weights", row, column)[0];
  const seen = [...scores.keys()].filter((key) => Number.isFinite(scores[key].value));
  if (!seen.length)
    return stated(0, "nothing to look at", `${name} may look at nothing`, operandCells);
  if (scores[column].value === -Infinity)
    return stated(0, "hidden", hiddenNote(steps, row, column), operandCells);
  const visible = seen.map((key) => scores[key]);
  const far = Math.max(...visible.map(({ value }) => Math.abs(value))) > FAR_SCORE;
  /** @type {[Measured[], string]} */
  const [operands, highest] = far ? lessTheHighest(visible) : [visible, ""];
  const index = seen.indexOf(column);
  const hidden = scores.length - visible.length;
  const notes = [
    far && `each score less the row's highest, ${highest}`,
    hidden > 0 && `${hidden} hidden`,
  ];
  return {
    formula: `e^${before} / sum of e^${before} over the row`,
    operands,
    operandCells,
    rule: (list) => Math.exp(list[index]) / summed(list.map(Math.exp)),
    write: (list) => `e^${list[index]} / (${joinedTerms(list.map((one) => `e^${one}`))})`,
    note: notes.filter(Boolean).join(", "),
    then: quotient(operands, index),
  };
}

/** @param {Measured[]} scores @returns {[Measured[], string]} */
function lessTheHighest(scores) {
  const top = scores.reduce(
    (best, { value }, index) => (value > scores[best].value ? index : best),
    0,
  );
  const highest = scores[top];
  /** @param {Measured} measured */
  const less = ({ value, noise }) => ({
    value: value - highest.value,
    noise: noise + highest.noise + 2 * EPSILON * (Math.abs(value) + Math.abs(highest.value)),
  });
  const lower = scores.map((score, index) => (index === top ? exact(0) : less(score)));
  return [lower, showNumber(highest.value, 3, highest.noise).text];
}

// e^score and the sum of them, each off by what its scores are off by; none where one of the two
// has no digit that is sure.
/** @param {Measured[]} scores @param {number} index @returns {Expression["then"]} */
function quotient(scores, index) {
  const powers = scores.map(({ value }) => Math.exp(value));
  const noise = scores.map(
    ({ value, noise: off }, index) =>
      powers[index] * (Math.expm1(off) + 4 * EPSILON * (Math.abs(value) + scores.length + 2)),
  );
  const operands = [
    { value: powers[index], noise: noise[index] },
    { value: summed(powers), noise: noise.reduce((a, b) => a + b, 0) },
  ];
  if (!operands.every(({ value, noise: off }) => off <= value / 40)) return null;
  return { operands, rule: ([a, b]) => a / b, write: ([a, b]) => `${a} / ${b}` };
}

/** @type {Record<string, ExplainStage>} */
const EXPRESSIONS = {
  x: (steps, row, column) => given(at(steps, "x", row, column), "given", "given"),
  memory: (steps, row, column) => given(at(steps, "memory", row, column), "given", "given"),
  query: projected,
  key: projected,
  value: projected,
  scores: (steps, row, column) =>
    dotted(rowNumbers(steps, "query", row), rowNumbers(steps, "key", column), "query · key", [
      { stage: "query", row, column: null },
      { stage: "key", row: column, column: null },
    ]),
  scaled: scaledScore,
  masked: maskedScore,
  weights: softmaxShare,
  output: (steps, row, column) =>
    dotted(
      rowNumbers(steps, "weights", row),
      columnNumbers(steps, "value", column),
      "weights · value",
      [
        { stage: "weights", row, column: null },
        { stage: "value", row: null, column },
      ],
    ),
};

// Operands are rounded as far as the value worked out from them still holds, none with more digits
// than are sure.
/**
 * @param {Pick<Expression, "operands" | "rule" | "write">} expression
 * @param {number} value
 * @param {number} tolerance
 * @param {number} digits
 */
function roundOperands({ operands, rule, write }, value, tolerance, digits) {
  for (let decimals = digits; ; decimals++) {
    const texts = operands.map(({ value: one, noise }) =>
      decimals >= EXACT_DECIMALS && noise === 0
        ? exactNumber(one)
        : operandNumber(one, decimals, noise),
    );
    const again = rule(texts.map(Number));
    const agrees = again === value || Math.abs(again - value) <= tolerance;
    if (agrees || decimals >= EXACT_DECIMALS) return { text: write(texts), agrees };
  }
}

/** @param {Stages} steps @param {number} row @param {number} column */
function hiddenNote(steps, row, column) {
  const [asks, answers] = cellNames(steps, "masked", row, column);
  const { masked } = steps.stages;
  const { rows, columns, values } = masked;
  /** @param {number} index */
  const seen = (index) => index % columns <= Math.floor(index / columns);
  const causal =
    rows === columns && values.every((value, index) => seen(index) || value === -Infinity);
  if (column > row && causal) return `hidden: ${answers} comes after ${asks}`;
  return `hidden: the mask does not let ${asks} look at ${answers}`;
}

// A sum that loses nothing of its smaller terms (Neumaier).
/** @param {number[]} terms */
export function summed(terms) {
  let [sum, lost] = [0, 0];
  for (const term of terms) {
    const next = sum + term;
    lost += Math.abs(sum) >= Math.abs(term) ? sum - next + term : term - next + sum;
    sum = next;
  }
  return sum + lost;
}

/** @param {string[]} terms */
export function joinedTerms(terms) {
  if (terms.length <= MAX_WRITTEN_TERMS) return terms.join(" + ");
  return [...terms.slice(0, 4), `... ${terms.length - 6} more ...`, ...terms.slice(-2)].join(" + ");
}

// Bounds on the rounding error of every stage: how far its numbers may lie from the exact ones. The
// same bounds as regard.textbook.bounds, where they are derived.

// Twice the unit roundoff: the stored number errs, and so does whoever computes it again.
const EPSILON = 2 ** -52;
const FAR_SCORE = 50; // scores beyond it are written less the highest of their row
const DENORMAL_ERROR = 1e-321; // below about this, float64 has no relative precision left

const boundsCache = new WeakMap(); // steps -> { stage: Matrix }

// How far each number of a stage may lie from the exact one, as a matrix of its shape.
/** @param {Stages} steps @param {string} stage */
function errorBounds(steps, stage) {
  if (!boundsCache.has(steps)) boundsCache.set(steps, {});
  const bounds = boundsCache.get(steps);
  bounds[stage] ||= finite(BOUNDS[stage](steps, stage, steps.stages[stage]));
  return bounds[stage];
}

/** @param {Matrix} matrix */
const zeros = ({ rows, columns }) => newMatrix(rows, columns);
/** @param {Matrix} matrix */
const sizes = (matrix) => changed(matrix, Math.abs);
/** @param {Matrix} matrix */
const finite = (matrix) => changed(matrix, (one) => (Number.isNaN(one) ? Infinity : one));

/** @param {Matrix} matrix @param {(value: number, at: number) => number} change */
function changed({ rows, columns, values }, change) {
  return newMatrix(
    rows,
    columns,
    values.map((one, at) => change(one, at)),
  );
}

/** @param {Stages} steps @param {string} stage @param {Matrix} matrix */
function givenBound(steps, stage, matrix) {
  return changed(matrix, () => (stage === "x" || stage === "memory" ? steps.xError : 0));
}

/** @param {Stages} steps @param {string} stage @param {Matrix} matrix */
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

/** @param {Stages} steps @param {string} stage @param {Matrix} matrix */
function scaledBound(steps, stage, matrix) {
  const scores = errorBounds(steps, "scores").values;
  return changed(
    matrix,
    (one, at) => Math.abs(steps.scale) * scores[at] + 4 * EPSILON * Math.abs(one) + DENORMAL_ERROR,
  );
}

/** @param {Stages} steps @param {string} stage @param {Matrix} matrix */
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
/** @param {Stages} steps @param {string} stage @param {Matrix} matrix */
function weightsBound(steps, stage, matrix) {
  const last = steps.stages.masked ? "masked" : "scaled";
  const [scores, bound] = [steps.stages[last].values, errorBounds(steps, last).values];
  const { columns } = matrix;
  const rows = Array.from({ length: matrix.rows }, (_, row) => {
    const seen = [];
    for (let at = row * columns; at < (row + 1) * columns; at++)
      if (Number.isFinite(scores[at])) seen.push(at);
    const most = Math.max(0, ...bound.subarray(row * columns, (row + 1) * columns));
    const size = Math.min(Math.max(0, ...seen.map((at) => Math.abs(scores[at]))), FAR_SCORE);
    return { own: 4 * EPSILON * (seen.length + 8 + 2 * size), moved: Math.expm1(2 * most) };
  });
  return changed(matrix, (weight, at) => {
    const { own, moved } = rows[Math.floor(at / columns)];
    const others = Math.max(1 - weight, 0) + own;
    const error =
      weight * (own + moved * others) + (Number.isFinite(scores[at]) ? DENORMAL_ERROR : 0);
    return error < 1 ? error : 1;
  });
}

// Of left · right, or left · rightᵀ: each sum's own rounding, and what its operands are off by.
/**
 * @param {Matrix} left
 * @param {Matrix} leftBound
 * @param {Matrix} right
 * @param {Matrix} rightBound
 * @param {boolean} [across]
 */
function productBound(left, leftBound, right, rightBound, across = false) {
  const terms = left.columns;
  const wide = changed(right, (one, at) => Math.abs(one) + rightBound.values[at]);
  const own = product(sizes(left), sizes(right), across).values;
  const ofLeft = product(leftBound, wide, across).values;
  const ofRight = product(sizes(left), rightBound, across).values;
  const bound = newMatrix(left.rows, across ? right.rows : right.columns);
  return changed(
    bound,
    (_, at) =>
      EPSILON * (terms + 2) * own[at] + DENORMAL_ERROR * (terms + 1) + ofLeft[at] + ofRight[at],
  );
}

/** @param {string} left @param {string} right @param {boolean} [across] @returns {StageBound} */
const stageProductBound = (left, right, across) => (steps) =>
  productBound(
    steps.stages[left],
    errorBounds(steps, left),
    steps.stages[right],
    errorBounds(steps, right),
    across,
  );

/** @type {Record<string, StageBound>} */
const BOUNDS = {
  x: givenBound,
  memory: givenBound,
  query: projectedBound,
  key: projectedBound,
  value: projectedBound,
  scores: stageProductBound("query", "key", true),
  scaled: scaledBound,
  masked: maskedBound,
  weights: weightsBound,
  output: stageProductBound("weights", "value", false),
};
