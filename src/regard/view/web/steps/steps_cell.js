// One chosen cell of the Steps view: the expression that made it, and its operands lit up where
// they stand.

import { announce, asWord, element, goTo, percent, prose, replace } from "../lib/dom.js";
import { BETWEEN_WORDS } from "./attend.js";
import { candidatesAt, explainNext, explainShare } from "./next_word.js";
import { explainCell, explainStep } from "./path_why.js";
import { changeSentence, rowSentence } from "./steps_sentences.js";
import { sumPicture } from "./sum_picture.js";
import { switchesOf } from "./steps_origin.js";
import { labels } from "./why.js";

export const OF_KEYS = ["key", "value", "memory"]; // their rows are words that answer

// Tells how the chosen cell was made, and lights its operands.
/** @param {StepsView} view @param {(choice: any) => void} open */
export function tellCell(view, open) {
  const { now, before, state } = view;
  const { stage, row, column } = view.chosen;
  const explained = explainedCell(view);
  view.operands = explained.operands;
  replace(
    view.why,
    element(
      "p",
      { class: "line" },
      element("b", null, explained.cell),
      explained.line.slice(explained.cell.length),
    ),
    stage === "next_word" && element("p", { class: "line" }, explainShare(view.next, row, column)),
    sumPicture(explained, view.wide),
    element("p", { class: "small quiet" }, madeFrom(view, explained, open)),
  );
  const asks = OF_KEYS.includes(stage) ? 0 : row;
  replace(
    view.statement,
    prose(stage === "next_word" ? nextSentence(view.next, row) : rowSentence(now, asks)),
  );
  const isSwitched = view.isChanged && switchesOf(state).some(Boolean);
  const change = stage !== "next_word" && isSwitched ? changeSentence(before, now, asks) : "";
  replace(view.changed, change && prose(change));
  announce(explained.line);
  markCells(view);
}

/** @param {StepsView} view @returns {Explained} */
function explainedCell({ now, path, next, chosen: { stage, row, column } }) {
  if (stage === "next_word") return explainNext(next, row, column);
  return path ? explainCell(path, stage, row, column) : explainStep(now, stage, row, column);
}

/** @param {NextWords} next */
function nextSentence(next, row) {
  const [first, second] = candidatesAt(next, row);
  const position = labels(next.tokens)[row];
  return (
    `After ${asWord(position)} the likeliest next token is ${asWord(first.name)}, ` +
    `${percent(first.probability)}, then ${asWord(second.name)}, ${percent(second.probability)}.`
  );
}

// The cell of the address, or the same row of the stage as before, or the largest weight that a
// word gives to another.
/** @param {StepsView} view */
export function chooseCell(view) {
  const { state, before, chosen } = view;
  const [name, row, column] = state.get("cell").split(".");
  const size = sizeOf(view, name, Number(row));
  const isInside = size && Number(row) < size.rows && Number(column) < size.columns;
  const isShown = !view.stage || view.stage === name;
  // The same row before and after a switch, so that the two can be compared.
  const stays = chosen && view.chosenIn === before && sizeOf(view, chosen.stage, chosen.row);
  if (isInside && isShown) view.chosen = { stage: name, row: Number(row), column: Number(column) };
  else if (!view.stage) view.chosen = stays ? chosen : largestWeight(view);
  else view.chosen = cellOfStage(view, stays ? chosen : largestWeight(view));
  view.chosenIn = before;
}

/** @param {StepsView} view */
function sizeOf({ now, path, next }, name, row) {
  if (name === "next_word")
    return next && next.candidates[row]
      ? { rows: next.candidates.length, columns: next.candidates[row].length }
      : null;
  if (path) return path.names.includes(name) ? path.matrix(name) : null;
  return now.stages[name];
}

/** @param {StepsView} view */
function largestWeight({ now }) {
  const { values, columns } = now.stages.weights;
  let best = 0;
  values.forEach((weight, at) => {
    if (weight > values[best] && Math.floor(at / columns) !== at % columns) best = at;
  });
  return { stage: "weights", row: Math.floor(best / columns), column: best % columns };
}

// In another stage: the same word, and the number of it that is largest.
/** @param {StepsView} view */
function cellOfStage(view, { stage, row, column }) {
  const name = view.stage;
  if (stage === name) return { stage, row, column };
  if (name === "next_word") return { stage: name, row: view.nextRow || 0, column: 0 };
  const { rows, columns, values } = view.path.matrix(name);
  const asked = OF_KEYS.includes(name) && BETWEEN_WORDS.includes(stage) ? column : row;
  const own = stage === "next_word" || asked >= rows ? 0 : asked;
  const both = BETWEEN_WORDS.includes(name) && BETWEEN_WORDS.includes(stage);
  let best = 0;
  const size = (at) => Math.abs(values[own * columns + at]);
  for (let at = 1; at < columns; at++) if (size(at) > size(best)) best = at;
  return { stage: name, row: own, column: both ? column : best };
}

/** @param {StepsView} view */
function madeFrom(view, { formula, operands }, open) {
  if (formula === "given") return "This number is given: the computation starts from it.";
  if (!operands.length) return `${formula}.`;
  return [
    `${formula}. Made from `,
    operands.map((operand, at) => [at ? " and " : "", operandLink(view, operand, open)]),
    ".",
  ];
}

/**
 * @param {StepsView} view
 * @param {any} options
 */
function operandLink({ now, flow, path }, { stage, row, column }, open) {
  const isParameter = stage.startsWith("w_");
  const rows = isParameter ? null : labels(OF_KEYS.includes(stage) ? now.keys : now.queries);
  const columns = BETWEEN_WORDS.includes(stage) ? labels(now.keys) : null;
  const position = [
    row !== null && `row ${rows ? rows[row] : row}`,
    column !== null && `column ${columns ? columns[column] : column}`,
  ]
    .filter(Boolean)
    .join(", ");
  if (path && isParameter) return `${stage}, ${position}`;
  const show = () =>
    path
      ? open({ stage, cell: `${stage}.${row}.${column === null ? 0 : column}` })
      : goTo(flow.querySelector(`[data-stage="${stage}"]`), "center");
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
  for (const picture of elementsIn(view.flow, ".strip-frame")) markBands(view, picture);
}

// The row or column of an operand, and the chosen cell's own row, across a picture of a matrix.
/** @param {StepsView} view @param {HTMLElement} picture */
function markBands({ chosen, operands }, picture) {
  const { stage, rows, columns } = picture.dataset;
  const lit = operands.filter((one) => one.stage === stage);
  const own = chosen && chosen.stage === stage ? [{ ...chosen, column: null }, chosen] : [];
  const share = (at, size) =>
    at === null ? ["0%", "100%"] : [`${(100 * at) / size}%`, `${100 / size}%`];
  const bands = [...own, ...lit].map(({ row, column }) => {
    const [[top, height], [left, width]] = [
      share(row, Number(rows)),
      share(column, Number(columns)),
    ];
    return element("span", { class: "band", style: { top, height, left, width } });
  });
  replace(picture.querySelector(".bands"), bands);
}
