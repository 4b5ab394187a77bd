// One chosen cell of the Steps view: the expression that made it, and its operands lit up where
// they stand.

import { signedNumber, withMinus } from "../lib/digits.js";
import {
  announce,
  asWord,
  element,
  goTo,
  percent,
  prose,
  replace,
  svgElement,
  tableHead,
  tableRow,
} from "../lib/dom.js";
import { largestSize, signedColour, signedInk, vectorStrip } from "../lib/draw.js";
import { BETWEEN_WORDS } from "./attend.js";
import { candidatesAt, explainNext, explainShare } from "./next_word.js";
import { switchValues } from "./origin.js";
import { explainCell, explainStep } from "./path_why.js";
import { labels } from "./why.js";
import { changeSentence, rowSentence } from "./words.js";

export const OF_KEYS = ["key", "value", "memory"]; // their rows are words that answer

// Tells how the chosen cell was made, and lights its operands.
/** @param {StepsView} view @param {OpenStage} open */
export function describeCell(view, open) {
  const { now, before, state, next, chosen } = view;
  const explained = chosen && explainedCell(view, chosen);
  if (!explained) return;
  const { stage, row, column } = chosen;
  view.operands = explained.operands;
  replace(
    view.why,
    element(
      "p.line",
      element("b", explained.cell),
      withMinus(explained.line.slice(explained.cell.length)),
    ),
    stage === "next_word" && next && element("p.line", withMinus(explainShare(next, row, column))),
    sumPicture(explained, view.wide),
    element("p.small.quiet", madeFrom(view, explained, open)),
  );
  const asks = OF_KEYS.includes(stage) ? 0 : row;
  replace(
    view.statement,
    prose(stage === "next_word" && next ? nextSentence(next, row) : rowSentence(now, asks)),
  );
  const isSwitched = view.isChanged && switchValues(state).some(Boolean);
  const change = stage !== "next_word" && isSwitched ? changeSentence(before, now, asks) : "";
  replace(view.changed, change && prose(change));
  announce(explained.line);
  markCells(view);
}

/** @param {StepsView} view @param {Cell} chosen @returns {Explained | null} */
function explainedCell({ now, path, next }, { stage, row, column }) {
  if (stage === "next_word") return next && explainNext(next, row, column);
  return path ? explainCell(path, stage, row, column) : explainStep(now, stage, row, column);
}

/** @param {NextWords} next @param {number} row */
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
  const size = stageSize(view, name, Number(row));
  const isInside = size && Number(row) < size.rows && Number(column) < size.columns;
  const isShown = !view.stage || view.stage === name;
  // The same row before and after a switch, so that the two can be compared.
  const stays = chosen && view.chosenIn === before && stageSize(view, chosen.stage, chosen.row);
  if (isInside && isShown) view.chosen = { stage: name, row: Number(row), column: Number(column) };
  else if (!view.stage) view.chosen = stays ? chosen : largestWeight(view);
  else view.chosen = cellInStage(view, view.stage, stays ? chosen : largestWeight(view));
  view.chosenIn = before;
}

/** @param {StepsView} view @param {string} name @param {number} row */
function stageSize({ now, path, next }, name, row) {
  if (name === "next_word")
    return next && next.candidates[row]
      ? { rows: next.candidates.length, columns: next.candidates[row].length }
      : null;
  if (path) return path.names.includes(name) ? path.matrix(name) : null;
  return now.stages[name];
}

// Before any switch: an address with a switch shows the row that a click on it shows.
/** @param {StepsView} view */
function largestWeight({ before }) {
  const { values, columns } = before.stages.weights;
  let best = 0;
  values.forEach((weight, at) => {
    if (weight > values[best] && Math.floor(at / columns) !== at % columns) best = at;
  });
  return { stage: "weights", row: Math.floor(best / columns), column: best % columns };
}

// In another stage: the same word, and the number of it that is largest; of positions the one that
// turns fastest, since the largest hardly turns at all.
/** @param {StepsView} view @param {string} name @param {Cell} cell @returns {Cell} */
function cellInStage(view, name, { stage, row, column }) {
  if (stage === name) return { stage, row, column };
  if (name === "next_word") return { stage: name, row: view.nextRow || 0, column: 0 };
  const matrix = view.path?.matrix(name);
  if (!matrix) return { stage, row, column };
  const { rows, columns, values } = matrix;
  const asked = OF_KEYS.includes(name) && BETWEEN_WORDS.includes(stage) ? column : row;
  const own = stage === "next_word" || asked >= rows ? 0 : asked;
  const both = BETWEEN_WORDS.includes(name) && BETWEEN_WORDS.includes(stage);
  let best = 0;
  /** @param {number} at */
  const size = (at) => Math.abs(values[own * columns + at]);
  const most = name === "position" ? 1 : columns;
  for (let at = 1; at < most; at++) if (size(at) > size(best)) best = at;
  return { stage: name, row: own, column: both ? column : best };
}

/** @param {StepsView} view @param {Explained} explained @param {OpenStage} open */
function madeFrom(view, { formula, operands }, open) {
  if (formula === "given") return "This number is given: the computation starts from it.";
  if (!operands.length) return `${formula}.`;
  return [
    `${formula}. Made from `,
    operands.map((operand, at) => [at ? " and " : "", operandLink(view, operand, open)]),
    ".",
  ];
}

/** @param {StepsView} view @param {Operand} operand @param {OpenStage} open */
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
  return element("button.link", { on: { click: show } }, `${stage}, ${position}`);
}

// "chosen", "operand" or nothing.
/**
 * @param {{ chosen?: StepsView["chosen"], operands?: Operand[] }} marked
 * @param {string} stage
 * @param {number} row
 * @param {number} column
 */
export function cellMark({ chosen, operands }, stage, row, column) {
  if (chosen && chosen.stage === stage && chosen.row === row && chosen.column === column)
    return "chosen";
  /** @param {number | null} requested @param {number} position */
  const within = (requested, position) => requested === null || requested === position;
  /** @param {Operand} one */
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
    const { stage = "" } = table.dataset;
    for (const cell of elementsIn(table, "td[data-row]")) {
      const as = cellMark(view, stage, Number(cell.dataset.row), Number(cell.dataset.column));
      cell.classList.toggle("chosen", as === "chosen");
      cell.classList.toggle("operand", as === "operand");
    }
    for (const gap of elementsIn(table, "td[data-gap-row]")) {
      gap.classList.toggle(
        "operand",
        cellMark(fullRows, stage, Number(gap.dataset.gapRow), -1) !== null,
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
  /** @param {number | null} at @param {number} size */
  const share = (at, size) =>
    at === null ? ["0%", "100%"] : [`${(100 * at) / size}%`, `${100 / size}%`];
  const bands = [...own, ...lit].map(({ row, column }) => {
    const [[top, height], [left, width]] = [
      share(row, Number(rows)),
      share(column, Number(columns)),
    ];
    return element("span.band", { style: { top, height, left, width } });
  });
  const box = picture.querySelector(".bands");
  if (box) replace(box, bands);
}

// A sum as a picture: the row and the column that meet, their products as colours, and the sum as
// it grows from term to term; all terms in a table on demand.

const WRITTEN_TERMS = 8; // as many as why.js writes in full

// opened: a set that holds "terms" while the table of terms is open.
/** @param {Explained} explained @param {Set<string>} opened */
function sumPicture({ terms, value }, opened) {
  if (!terms) return null;
  const { left, right, extra = [] } = terms;
  const products = Float64Array.from(left.values, (one, at) => one * right.values[at]);
  if (products.length <= WRITTEN_TERMS) return null;
  const note = element("p.term-note.small", `${products.length} products, summed`);
  /** @param {Term} term @param {string} kind */
  const strip = ({ name, values }, kind) =>
    element(
      "div",
      { class: `term-strip ${kind}` },
      element("span", { class: `small of-${name.split(":")[0]}` }, name),
      vectorStrip(values, `${name}: ${values.length} numbers`),
    );
  const box = element(
    "div.sum-picture",
    strip(left, "operand"),
    strip(right, "operand"),
    strip({ name: "products", values: products }, "term-products"),
    element("div.term-strip", element("span.small", "sum so far"), growingSum(products)),
    note,
  );
  /** @param {PointerEvent} event */
  const point = (event) => {
    const target = event.target instanceof Element ? event.target.closest("canvas, svg") : null;
    if (!target) return;
    const frame = target.getBoundingClientRect();
    const share = (event.clientX - frame.left) / frame.width;
    const at = Math.max(0, Math.min(products.length - 1, Math.floor(share * products.length)));
    const numbers = [left.values[at], right.values[at], products[at]].map((x) =>
      signedNumber(x, 3),
    );
    note.textContent = `term ${at}: ${numbers[0]} · ${numbers[1]} = ${numbers[2]}`;
  };
  box.addEventListener("pointermove", point);
  box.addEventListener("pointerdown", point);
  return [box, termsBox(opened, products.length, allTerms(left, right, products, extra, value))];
}

/** @param {Float64Array} products */
function growingSum(products) {
  let [sum, low, high] = [0, 0, 0];
  const sums = Array.from(products, (one) => {
    sum += one;
    low = Math.min(low, sum);
    high = Math.max(high, sum);
    return sum;
  });
  const span = high - low || 1;
  /** @param {number} one */
  const down = (one) => (30 * (1 - (one - low) / span) + 1).toFixed(2);
  /** @param {number} at */
  const across = (at) => ((300 * at) / products.length).toFixed(2);
  const points = sums.map((one, at) => `${across(at + 1)},${down(one)}`).join(" ");
  const size = { viewBox: "0 0 300 32", preserveAspectRatio: "none", "aria-hidden": "true" };
  return svgElement(
    "svg.growing",
    { ...size },
    svgElement("line", { x1: 0, x2: 300, y1: down(0), y2: down(0) }),
    svgElement("polyline", { points: `0,${down(0)} ${points}` }),
  );
}

/**
 * @param {Term} left
 * @param {Term} right
 * @param {Float64Array} products
 * @param {[string, number][]} extra
 * @param {number} value
 */
function allTerms(left, right, products, extra, value) {
  const columns = [left.values, right.values, products];
  const sizes = columns.map(largestSize);
  /** @param {number} number @param {number} most */
  const cell = (number, most) =>
    element(
      "td",
      { style: { background: signedColour(number, most), color: signedInk(number, most) } },
      signedNumber(number, 3),
    );
  /** @param {number} _ @param {number} at */
  const line = (_, at) =>
    tableRow(
      at,
      columns.map((values, column) => cell(values[at], sizes[column])),
    );
  const more = extra.map(([name, number]) => `, ${name} ${signedNumber(number, 3)}`).join("");
  const total = Array.from(products).reduce((sum, one) => sum + one, 0);
  const sums = `Sum of the products: ${signedNumber(extra.length ? total : value, 3)}${more}`;
  return () => [
    element(
      "table.terms",
      tableHead([null, left.name, right.name, "product"]),
      element("tbody", Array.from(products, line)),
    ),
    element("p.small", sums),
  ];
}

// The table is made when it is opened, and stays open from cell to cell.
/** @param {Set<string>} opened @param {number} count @param {() => Child} make */
function termsBox(opened, count, make) {
  const table = element("div.all-terms");
  const box = element(
    "details.terms-of-sum",
    { open: opened.has("terms") },
    element("summary", `All ${count} terms`),
    table,
  );
  if (box.open) replace(table, make());
  box.addEventListener("toggle", () => {
    if (box.open) opened.add("terms");
    else opened.delete("terms");
    if (box.open && !table.firstChild) replace(table, make());
  });
  return box;
}
