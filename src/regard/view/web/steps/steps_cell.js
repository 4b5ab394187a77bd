// One chosen cell of the Steps view: the expression that made it, and its operands lit up where
// they stand.

import { element, goTo, replace, announce } from "../lib/dom.js";
import { BETWEEN_WORDS } from "./attend.js";
import { labels, why } from "./why.js";
import { changeSentence, rowSentence } from "./steps_sentences.js";
import { switchesOf } from "./steps_origin.js";

const OF_KEYS = ["key", "value", "memory"]; // their rows are words that answer

/** @param {StepsView} view */
export function pickCell(view) {
  const { now, before, state } = view;
  const { stage, row, column } = chosenCell(view);
  const explained = why(now, stage, row, column);
  Object.assign(view, { chosen: { stage, row, column }, operands: explained.operands });
  replace(
    view.why,
    element(
      "p",
      { class: "line" },
      element("b", null, explained.cell),
      explained.line.slice(explained.cell.length),
    ),
    element("p", { class: "small quiet" }, madeFrom(view, explained)),
  );
  const asks = OF_KEYS.includes(stage) ? 0 : row;
  view.statement.textContent = rowSentence(now, asks);
  view.changed.textContent =
    view.isChanged && switchesOf(state).some(Boolean) ? changeSentence(before, now, asks) : "";
  announce(explained.line);
  markCells(view);
}

// The cell of the address, or the largest weight that a word gives to another.
/** @param {StepsView} view */
function chosenCell({ state, now }) {
  const [name, row, column] = state.get("cell").split(".");
  const matrix = now.stages[name];
  if (matrix && Number(row) < matrix.rows && Number(column) < matrix.columns)
    return { stage: name, row: Number(row), column: Number(column) };
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
