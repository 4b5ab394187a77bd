// One chosen cell of the Steps view: the expression that made it, and its operands lit up where
// they stand.

import { element, goTo, replace, announce } from "../lib/dom.js";
import { writeNumber } from "../lib/digits.js";
import { BETWEEN_WORDS } from "./attend.js";
import { signedColour, signedInk } from "../lib/draw.js";
import { largestSize } from "../lib/strips.js";
import { labels, why } from "./why.js";
import { changeSentence, rowSentence } from "./steps_sentences.js";
import { switchesOf } from "./steps_origin.js";

const SUMS = ["query", "key", "value", "scores", "output"];
const WRITTEN_TERMS = 8; // why.js writes so many in full
const OF_KEYS = ["key", "value", "memory"]; // their rows are words that answer

/** @param {StepsView} view */
export function pickCell(view) {
  const { now, before, state } = view;
  const { stage, row, column } = chosenCell(view);
  const explained = why(now, stage, row, column);
  const { operands } = explained;
  Object.assign(view, { chosen: { stage, row, column }, chosenIn: before, operands });
  replace(
    view.why,
    element(
      "p",
      { class: "line" },
      element("b", null, explained.cell),
      explained.line.slice(explained.cell.length),
    ),
    element("p", { class: "small quiet" }, madeFrom(view, explained)),
    allTerms(now, stage, explained),
  );
  const asks = OF_KEYS.includes(stage) ? 0 : row;
  view.statement.textContent = rowSentence(now, asks);
  view.changed.textContent =
    view.isChanged && switchesOf(state).some(Boolean) ? changeSentence(before, now, asks) : "";
  announce(explained.line);
  markCells(view);
}

// The cell of the address, or the one before a switch was moved, or the largest weight that a word
// gives to another.
/** @param {StepsView} view */
function chosenCell({ state, now, before, chosen, chosenIn }) {
  const [name, row, column] = state.get("cell").split(".");
  const matrix = now.stages[name];
  if (matrix && Number(row) < matrix.rows && Number(column) < matrix.columns)
    return { stage: name, row: Number(row), column: Number(column) };
  // The same row before and after a switch, so that the two can be compared.
  if (chosen && chosenIn === before && now.stages[chosen.stage]) return chosen;
  const { values, columns } = now.stages.weights;
  let best = 0;
  values.forEach((weight, at) => {
    if (weight > values[best] && Math.floor(at / columns) !== at % columns) best = at;
  });
  return { stage: "weights", row: Math.floor(best / columns), column: best % columns };
}

/** @param {StepsView} view */
function madeFrom(view, { formula, operands }) {
  if (formula === "given") return "This number is given: the computation starts from it.";
  return [
    `${formula}. Made from `,
    operands.map((operand, at) => [at ? " and " : "", operandLink(view, operand)]),
    ".",
  ];
}

// Every product of a sum, which the line above writes in part; made when it is opened.
/** @param {Stages} steps @param {string} stage @param {any} explained */
function allTerms(steps, stage, { operands, value }) {
  if (!SUMS.includes(stage) || operands.length !== 2) return null;
  const [left, right] = operands.map((operand) => numbersOfOperand(steps, operand));
  if (left.length <= WRITTEN_TERMS) return null;
  const table = element("div", { class: "all-terms" });
  const fill = () => {
    const widest = largestSize(left.map((one, at) => one * right[at]));
    const cell = (number, most) =>
      element(
        "td",
        { style: { background: signedColour(number, most), color: signedInk(number, most) } },
        writeNumber(number, 3),
      );
    const sizes = [left, right].map(largestSize);
    const line = (one, at) =>
      element(
        "tr",
        null,
        element("th", { scope: "row" }, at),
        cell(one, sizes[0]),
        cell(right[at], sizes[1]),
        cell(one * right[at], widest),
      );
    const heads = [...operands.map((operand) => operand.stage), "product"];
    const names = heads.map((name) => element("th", { scope: "col" }, name));
    replace(
      table,
      element(
        "table",
        { class: "terms" },
        element("thead", null, element("tr", null, element("td"), names)),
        element("tbody", null, left.map(line)),
      ),
      element("p", { class: "small" }, `Sum of the products: ${writeNumber(value, 3)}`),
    );
  };
  const opened = element(
    "details",
    { class: "terms-of-sum", on: { toggle: () => opened.open && !table.firstChild && fill() } },
    element("summary", null, `All ${left.length} terms`),
    table,
  );
  return opened;
}

/** @param {Stages} steps @param {Operand} operand @returns {number[]} */
function numbersOfOperand(steps, { stage, row, column }) {
  const { rows, columns, values } = steps.stages[stage] || steps.parameters[stage];
  if (column === null) return Array.from(values.subarray(row * columns, (row + 1) * columns));
  return Array.from({ length: rows }, (_, at) => values[at * columns + column]);
}

/**
 * @param {StepsView} view
 * @param {any} options
 */
function operandLink({ now, flow }, { stage, row, column }) {
  const rows = stage.startsWith("w_")
    ? null
    : labels(OF_KEYS.includes(stage) ? now.keys : now.queries);
  const columns = BETWEEN_WORDS.includes(stage) ? labels(now.keys) : null;
  const position = [
    row !== null && `row ${rows ? rows[row] : row}`,
    column !== null && `column ${columns ? columns[column] : column}`,
  ]
    .filter(Boolean)
    .join(", ");
  const show = () => goTo(flow.querySelector(`[data-stage="${stage}"]`), "center");
  return element(
    "button",
    { type: "button", class: "link", on: { click: show } },
    `${stage}, ${position}`,
  );
}

// "chosen", "operand" or nothing.
/**
 * @param {{ chosen?: StepsView["chosen"], operands?: Operand[] }} marked
 * @param {string} stage
 * @param {number} row
 * @param {number} column
 */
export function markOf({ chosen, operands }, stage, row, column) {
  if (chosen && chosen.stage === stage && chosen.row === row && chosen.column === column)
    return "chosen";
  const within = (requested, position) => requested === null || requested === position;
  const is = (one) => one.stage === stage && within(one.row, row) && within(one.column, column);
  return operands && operands.some(is) ? "operand" : null;
}

/** @param {HTMLElement} root @param {string} selector @returns {NodeListOf<HTMLElement>} */
function elementsIn(root, selector) {
  return root.querySelectorAll(selector);
}

/** @param {StepsView} view */
export function markCells(view) {
  // What is left out between cells is an operand where whole rows are.
  const fullRows = { operands: view.operands.filter((one) => one.column === null) };
  for (const table of elementsIn(view.flow, ".matrix")) {
    const { stage } = table.dataset;
    for (const cell of elementsIn(table, "td[data-row]")) {
      const as = markOf(view, stage, Number(cell.dataset.row), Number(cell.dataset.column));
      cell.classList.toggle("chosen", as === "chosen");
      cell.classList.toggle("operand", as === "operand");
    }
    for (const gap of elementsIn(table, "td[data-gap-row]")) {
      gap.classList.toggle(
        "operand",
        markOf(fullRows, stage, Number(gap.dataset.gapRow), -1) !== null,
      );
    }
  }
}
