// Why a cell of the path holds the number it holds: a line, and every term where it is a sum.

import { requiredParameter, rowSpread } from "./layer_path.js";
import { exact, given, joinedTerms, labels, summed, why, writtenCell } from "./why.js";

const SUMS = ["query", "key", "value", "scores", "output"]; // of one head

// Of one head's own stages.
/**
 * @param {Stages} steps
 * @param {string} stage
 * @param {number} row
 * @param {number} column
 * @returns {Explained}
 */
export function explainStep(steps, stage, row, column) {
  const explained = why(steps, stage, row, column);
  const { operands } = explained;
  if (!SUMS.includes(stage) || operands.length !== 2) return { ...explained, terms: null };
  /** @param {Operand} operand */
  const term = (operand) => ({
    name: operandName(steps, operand),
    values: operandNumbers(steps.stages[operand.stage] || steps.parameters[operand.stage], operand),
  });
  return { ...explained, terms: { left: term(operands[0]), right: term(operands[1]) } };
}

// Of any stage of the path.
/**
 * @param {LayerPath} path
 * @param {string} stage
 * @param {number} row
 * @param {number} column
 * @returns {Explained}
 */
export function explainCell(path, stage, row, column) {
  if (path.steps.stages[stage] && stage !== "x") return explainStep(path.steps, stage, row, column);
  const { columns, values } = path.matrix(stage);
  const made = EXPLANATIONS[stage](path, row, column, stage);
  const rowName = labels(path.layer.tokens)[row];
  const cell = stage === "tokens" ? `id[${rowName}]` : `${stage}[${rowName}, ${column}]`;
  const digits = stage === "tokens" ? 0 : 3;
  const explained = writtenCell(cell, exact(values[row * columns + column]), made, digits);
  return { ...explained, terms: made.terms || null };
}

/** @param {Stages} steps @param {Operand} operand */
function operandName(steps, { stage, row, column }) {
  const words = ["key", "value", "memory"].includes(stage) ? steps.keys : steps.queries;
  if (column === null) return `${stage}: ${labels(words)[row ?? 0]}`;
  return `${stage}, column ${column}`;
}

/** @param {Matrix} matrix @param {Pick<Operand, "row" | "column">} operand */
export function operandNumbers({ rows, columns, values }, { row, column }) {
  if (column === null) return values.slice((row ?? 0) * columns, ((row ?? 0) + 1) * columns);
  return Float64Array.from({ length: rows }, (_, at) => values[at * columns + column]);
}

/** @param {Matrix} matrix @param {number} row @param {number} column */
const value = ({ columns, values }, row, column) => values[row * columns + column];
/** @param {string} text */
const withSign = (text) => (text.startsWith("-") ? `- ${text.slice(1)}` : `+ ${text}`);

/** @param {LayerPath} path @param {number} row @returns {Expression} */
function tokenId(path, row) {
  const { ids, vocabulary } = path.layer;
  const note = `one of ${vocabulary.toLocaleString("en")} pieces`;
  return given(exact(ids[row]), "the number of the token in the vocabulary", note);
}

/** @param {LayerPath} path @param {number} row @param {number} column @returns {Expression} */
function embeddingCell(path, row, column) {
  const stored = requiredParameter(path, "embedding");
  const name = `row ${path.layer.ids[row]} of the embedding table`;
  return {
    formula: `√${stored.columns} · ${name}`,
    operands: [exact(value(stored, row, column))],
    operandCells: [{ stage: "tokens", row, column: 0 }],
    rule: ([one]) => one * Math.sqrt(stored.columns),
    write: ([one]) => `√${stored.columns} · ${one}`,
  };
}

// Sines in the first half of the features, cosines in the second.
/** @param {LayerPath} path @param {number} row @param {number} column @returns {Expression} */
function positionCell(path, row, column) {
  const { columns } = path.matrix("position");
  if (!path.layer.positions) return given(exact(0), "left out", "positions are switched off");
  const half = columns / 2;
  const [name, rule] = column < half ? ["sin", Math.sin] : ["cos", Math.cos];
  const power = `10000^(${column % half}/${half})`;
  return {
    formula: `${name}(position / ${power})`,
    operands: [exact(row)],
    operandCells: [],
    rule: () => rule(row / 10000 ** ((column % half) / half)),
    write: () => `${name}(${row} / ${power})`,
  };
}

/** @param {string} first @param {string} second @returns {ExplainCell} */
const added = (first, second) => (path, row, column) => ({
  formula: `${first} + ${second}`,
  operands: [first, second].map((name) => exact(value(path.matrix(name), row, column))),
  operandCells: [first, second].map((stage) => ({ stage, row, column })),
  rule: ([a, b]) => a + b,
  write: ([a, b]) => `${a} ${withSign(b)}`,
});

/** @param {LayerPath} path @param {number} row @param {number} column @returns {Expression} */
function inputCell(path, row, column) {
  const { part, layer } = path.layer;
  const number = exact(value(path.matrix("input"), row, column));
  if (part === "cross")
    return given(number, "residual of this layer's self-attention", "from the self-attention");
  if (layer === 0)
    return given(number, "embedding + position", "as it starts", [{ stage: "start", row, column }]);
  return given(number, `output of layer ${layer - 1}`, `layer ${layer - 1} wrote it`);
}

/** @param {string} from @param {string} name @returns {ExplainCell} */
const normCell = (from, name) => (path, row, column) => {
  const matrix = path.matrix(from);
  const { mean, deviation } = rowSpread(matrix, row, path.layer.epsilon);
  const [gain, bias] = ["gain", "bias"].map((one) =>
    value(requiredParameter(path, `${name}_${one}`), 0, column),
  );
  return {
    formula: `(${from} - mean of its row) / deviation of its row · gain + bias`,
    operands: [value(matrix, row, column), mean, deviation, gain, bias].map(exact),
    operandCells: [{ stage: from, row, column: null }],
    rule: ([a, b, c, d, e]) => ((a - b) / c) * d + e,
    write: ([a, b, c, d, e]) =>
      `(${a} ${b.startsWith("-") ? `+ ${b.slice(1)}` : `- ${b}`}) / ${c} · ${d} ${withSign(e)}`,
  };
};

/** @param {LayerPath} path @param {number} row @param {number} column @returns {Expression} */
function joinedCell(path, row, column) {
  const { output } = path.steps.stages;
  const own = path.steps.inputs.head || 0;
  const head = Math.floor(column / output.columns);
  const number = exact(value(path.matrix("joined"), row, column));
  const feature = column % output.columns;
  const formula = `output of head ${head}, feature ${feature}`;
  const operandCells = head === own ? [{ stage: "output", row, column: feature }] : [];
  return given(number, formula, formula, operandCells);
}

/**
 * @param {string} from
 * @param {string} matrix
 * @param {string} [bias]
 * @param {boolean} [isRelu]
 * @returns {ExplainCell}
 */
const productCell = (from, matrix, bias, isRelu) => (path, row, column) => {
  const [left, right] = [path.matrix(from), requiredParameter(path, matrix)];
  const rowOperand = { stage: from, row, column: null };
  const columnOperand = { stage: matrix, row: null, column };
  const [a, b] = [operandNumbers(left, rowOperand), operandNumbers(right, columnOperand)];
  const extra = bias ? value(requiredParameter(path, bias), 0, column) : 0;
  /** @param {number} one */
  const rectified = (one) => (isRelu ? Math.max(0, one) : one);
  /** @template T @param {T[]} list */
  const pairs = (list) => Array.from(a, (_, at) => [list[2 * at], list[2 * at + 1]]);
  const name = `${from}: ${labels(path.layer.tokens)[row]}`;
  const sumText = `${from} · ${matrix}${bias ? ` + ${bias}` : ""}`;
  const operands = [...Array.from(a).flatMap((one, at) => [one, b[at]]), extra].map(exact);
  return {
    formula: isRelu ? `max(0, ${sumText})` : sumText,
    operands,
    operandCells: [rowOperand, columnOperand],
    rule: (list) =>
      rectified(summed(pairs(list).map(([x, y]) => x * y)) + (list[list.length - 1] || 0)),
    write: (list) => {
      const text = joinedTerms(pairs(list).map(([x, y]) => `${x} · ${y}`));
      const full = bias ? `${text} ${withSign(list[list.length - 1])}` : text;
      return isRelu ? `max(0, ${full})` : full;
    },
    terms: {
      left: { name, values: a },
      right: { name: `${matrix}, column ${column}`, values: b },
      extra: bias ? [[bias, extra]] : [],
    },
  };
};

/** @type {Record<string, ExplainCell>} */
const EXPLANATIONS = {
  tokens: tokenId,
  embedding: embeddingCell,
  position: positionCell,
  start: added("embedding", "position"),
  input: inputCell,
  x: normCell("input", "attention_norm"),
  joined: joinedCell,
  projected: productCell("joined", "w_output"),
  residual: added("input", "projected"),
  normed: normCell("residual", "feed_forward_norm"),
  hidden: productCell("normed", "w_in", "b_in", true),
  feed_forward: productCell("hidden", "w_out", "b_out", false),
  layer_output: added("residual", "feed_forward"),
  last: normCell("layer_output", "last_norm"),
};
