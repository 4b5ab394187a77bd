// Why a cell holds the number it holds: the expression that made it, and where its operands stand. The same lines as
// Steps.why in Python; a test compares them cell by cell.

import { exactNumber, showNumber, writeNumber } from "./digits.js";
import { BETWEEN_WORDS } from "./attend.js";

const EPSILON = 2 ** -52;
const TINY = 1e-321; // below about this, float64 has no relative precision left
const WHOLE_TERMS = 8; // terms of a sum that are written in full
const EXACT_PLACES = 18; // more digits than any float64 has

// -> { cell, formula, line, value, operands: [{ stage, row, column }] }; null stands for a whole row or column.
export function whyOf(steps, stage, row, column, digits = 3) {
  const value = at(steps, stage, row, column);
  const made = EXPRESSIONS[stage](steps, row, column, stage);
  const noise = made.noise || 0;
  const shown = showNumber(value, digits, noise);
  const room = shown.tolerance - noise;
  const links = [settled(made, value, room, digits)];
  if (made.then) links.push(settled(made.then, value, room, digits));
  const [rowName, columnName] = cellNames(steps, stage, row, column);
  const cell = `${stage}[${rowName}, ${columnName}]`;
  const parts = [cell, ...links.filter((link) => link && link !== shown.text), shown.text];
  const line = parts.join(" = ") + (made.note ? ` (${made.note})` : "");
  return { cell, formula: made.formula, line, value, operands: made.places };
}

// A name for each position: its word, with its index where the word occurs twice.
export function nameLabels(words) {
  return words.map((word, place) => (words.filter((other) => other === word).length > 1 ? `${word} (${place})` : word));
}

function cellNames(steps, stage, row, column) {
  const rows = nameLabels(["key", "value", "memory"].includes(stage) ? steps.keys : steps.queries);
  return [rows[row], BETWEEN_WORDS.includes(stage) ? nameLabels(steps.keys)[column] : String(column)];
}

function found(steps, stage) {
  return steps.stages[stage] || steps.parameters[stage];
}

function at(steps, stage, row, column) {
  const matrix = found(steps, stage);
  return matrix.values[row * matrix.columns + column];
}

function rowOf(steps, stage, row) {
  const matrix = found(steps, stage);
  return matrix.values.slice(row * matrix.columns, (row + 1) * matrix.columns);
}

function columnOf(steps, stage, column) {
  const matrix = found(steps, stage);
  return Float64Array.from({ length: matrix.rows }, (_, row) => matrix.values[row * matrix.columns + column]);
}

// An expression: operands, the rule that makes the value of them, how to write it, where they stand, how sure it is.
const itself = ([one]) => one;
const given = (value, formula, note, places = []) => ({ formula, note, operands: [value], rule: itself, write: itself, places });
const stated = (value, formula, note, places = []) =>
  ({ formula, note, operands: [], rule: () => value, write: () => "", places });

function dotted(left, right, formula, places) {
  const operands = [];
  let total = 0;
  for (let one = 0; one < left.length; one++) {
    operands.push(left[one], right[one]);
    total += Math.abs(left[one] * right[one]);
  }
  const noise = EPSILON * (left.length + 2) * total + TINY * (left.length + 1);
  const pairs = (list) => Array.from({ length: list.length / 2 }, (_, one) => [list[2 * one], list[2 * one + 1]]);
  return {
    formula, operands, noise, places,
    rule: (list) => summed(pairs(list).map(([a, b]) => a * b)),
    write: (list) => joinedTerms(pairs(list).map(([a, b]) => `${a} · ${b}`)) || "0",
  };
}

function projected(steps, row, column, stage) {
  const input = stage !== "query" && steps.stages.memory ? "memory" : "x";
  const parameters = `w_${stage}`;
  if (!steps.stages[input] || !steps.parameters[parameters]) return given(at(steps, stage, row, column), "given", "given");
  return dotted(rowOf(steps, input, row), columnOf(steps, parameters, column), `${input} · ${parameters}`,
    [{ stage: input, row, column: null }, { stage: parameters, row: null, column }]);
}

function scaledScore(steps, row, column) {
  const score = at(steps, "scores", row, column);
  const places = [{ stage: "scores", row, column }];
  const noise = 4 * EPSILON * Math.abs(score * steps.scale) + TINY;
  const root = 1 / Math.sqrt(Math.max(1, steps.width));
  if (Math.abs(steps.scale - root) <= 1e-12 * Math.max(steps.scale, root)) {
    return { formula: `scores / √${steps.width}`, operands: [score, steps.width], noise, places,
      rule: ([a, b]) => a / Math.sqrt(b), write: ([a]) => `${a} / √${steps.width}` };
  }
  return { formula: "scores · scale", operands: [score, steps.scale], noise, places,
    rule: ([a, b]) => a * b, write: ([a, b]) => `${a} · ${b}` };
}

function maskedScore(steps, row, column) {
  const score = at(steps, "scaled", row, column);
  const value = at(steps, "masked", row, column);
  const places = [{ stage: "scaled", row, column }];
  if (value === -Infinity) return stated(value, "hidden", hiddenNote(steps, row, column), places);
  if (value === score) return given(value, "scaled", "as scaled: visible, nothing added", places);
  const bias = value - score;
  const noise = 2 * EPSILON * (Math.abs(score) + Math.abs(bias));
  return { formula: "scaled + mask", operands: [score, bias], noise, places,
    rule: ([a, b]) => a + b, write: ([a, b]) => (bias < 0 ? `${a} + (${b})` : `${a} + ${b}`) };
}

function shareOf(steps, row, column) {
  const before = steps.stages.masked ? "masked" : "scaled";
  const scores = rowOf(steps, before, row);
  const places = [{ stage: before, row, column: null }];
  const name = cellNames(steps, "weights", row, column)[0];
  if (!scores.some(Number.isFinite)) return stated(0, "nothing to look at", `${name} may look at nothing`, places);
  if (scores[column] === -Infinity) return stated(0, "hidden", hiddenNote(steps, row, column), places);
  const seen = [...scores.keys()].filter((key) => Number.isFinite(scores[key]));
  const place = seen.indexOf(column);
  const highest = Math.max(...seen.map((key) => scores[key]));
  const far = Math.max(...seen.map((key) => Math.abs(scores[key]))) > 50;
  const kept = seen.map((key) => (far ? scores[key] - highest : scores[key]));
  const powers = kept.map(Math.exp);
  const whole = summed(powers);
  const value = powers[place] / whole;
  const most = Math.min(Math.max(...kept.map(Math.abs)), 50);
  const hidden = scores.length - kept.length;
  const notes = [far && `each score less the row's highest, ${shortest(highest)}`, hidden > 0 && `${hidden} hidden`];
  return {
    formula: `e^${before} / sum of e^${before} over the row`, operands: kept, places,
    noise: 4 * EPSILON * value * (kept.length + 8 + 2 * most) + TINY,
    rule: (list) => Math.exp(list[place]) / summed(list.map(Math.exp)),
    write: (list) => `e^${list[place]} / (${joinedTerms(list.map((one) => `e^${one}`))})`,
    note: notes.filter(Boolean).join(", "),
    then: { operands: [powers[place], whole], rule: ([a, b]) => a / b, write: ([a, b]) => `${a} / ${b}` },
  };
}

const EXPRESSIONS = {
  x: (steps, row, column) => given(at(steps, "x", row, column), "given", "given"),
  memory: (steps, row, column) => given(at(steps, "memory", row, column), "given", "given"),
  query: projected, key: projected, value: projected,
  scores: (steps, row, column) => dotted(rowOf(steps, "query", row), rowOf(steps, "key", column), "query · key",
    [{ stage: "query", row, column: null }, { stage: "key", row: column, column: null }]),
  scaled: scaledScore, masked: maskedScore, weights: shareOf,
  output: (steps, row, column) => dotted(rowOf(steps, "weights", row), columnOf(steps, "value", column), "weights · value",
    [{ stage: "weights", row, column: null }, { stage: "value", row: null, column }]),
};

// Operands are rounded as far as the value worked out from them still holds.
function settled({ operands, rule, write }, value, room, digits) {
  for (let places = digits; ; places++) {
    const texts = operands.map((one) => (places >= EXACT_PLACES ? exactNumber(one) : writeNumber(one, places)));
    const again = rule(texts.map(Number));
    if (places >= EXACT_PLACES || again === value || Math.abs(again - value) <= room) return write(texts);
  }
}

function hiddenNote(steps, row, column) {
  const [asks, answers] = cellNames(steps, "masked", row, column);
  const { masked } = steps.stages;
  const { rows, columns, values } = masked;
  const seen = (place) => place % columns <= Math.floor(place / columns);
  const causal = rows === columns && values.every((value, place) => seen(place) || value === -Infinity);
  if (column > row && causal) return `hidden: ${answers} comes after ${asks}`;
  return `hidden: the mask does not let ${asks} look at ${answers}`;
}

// A sum that loses nothing of its smaller terms (Neumaier).
function summed(terms) {
  let [sum, lost] = [0, 0];
  for (const term of terms) {
    const next = sum + term;
    lost += Math.abs(sum) >= Math.abs(term) ? sum - next + term : term - next + sum;
    sum = next;
  }
  return sum + lost;
}

function joinedTerms(terms) {
  if (terms.length <= WHOLE_TERMS) return terms.join(" + ");
  return [...terms.slice(0, 4), `... ${terms.length - 6} more ...`, ...terms.slice(-2)].join(" + ");
}

// Six digits that count, as Python's :.6g.
function shortest(value) {
  return String(Number(value.toPrecision(6)));
}
