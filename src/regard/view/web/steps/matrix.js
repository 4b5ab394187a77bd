// A matrix of numbers as a table: elided in the middle, whole on demand, every cell a way to ask
// how it was made.

import { withMinus, writeNumber } from "../lib/digits.js";
import { element, replace, tableHead } from "../lib/dom.js";
import { largestSize, shade, signedColour, signedInk, strips, textColorOn } from "../lib/draw.js";

const MAX_ROWS = 14;
const MAX_COLUMNS = 12;
const ELIDED_ENDS = { rows: [4, 2], columns: [4, 2] };
const ROW_PIXELS = 27; // height of a row in pixels, in the whole view
const VISIBLE_ROWS = 15; // rows of the whole view on screen at a time

// shown { name, matrix, rowNames, columnNames, before (the matrix as it was, or null), shaded,
//         wide (shown whole), focus [row, column] (shown where others are left out),
//         pick(row, column), markedAs(row, column) -> a class or null,
//         edit(row, column, field) or null }
/** @param {ShownMatrix} shown */
export function matrixTable(shown) {
  const { matrix, wide } = shown;
  const large = matrix.rows > MAX_ROWS || matrix.columns > MAX_COLUMNS;
  const full = wide || !large || Boolean(shown.edit);
  const [row, column] = shown.focus || [0, 0];
  const rows = full ? range(matrix.rows) : elided(matrix.rows, MAX_ROWS, ELIDED_ENDS.rows, row);
  const columns = full
    ? range(matrix.columns)
    : elided(matrix.columns, MAX_COLUMNS, ELIDED_ENDS.columns, column);
  const kind = `matrix ${shown.name}${shown.edit ? " edit" : ""}`;
  const table = element("table", { class: kind, "data-stage": shown.name });
  const virtual = full && large && matrix.rows > 2 * VISIBLE_ROWS;
  const body = element("tbody");
  const head = tableHead([
    null,
    ...columns.map((column) => (column === null ? "" : shown.columnNames[column])),
  ]);
  const caption = `${shown.name}, ${matrix.rows} rows, ${matrix.columns} columns`;
  table.append(element("caption.only-read", caption), head, body);
  table.addEventListener("click", (event) => {
    const cell = cellUnder(event);
    if (cell) shown.pick(Number(cell.dataset.row), Number(cell.dataset.column));
  });
  table.addEventListener("keydown", (event) => walkCells(event, table, shown));
  const frame = element("div", { class: `matrix-frame${full && large ? " full" : ""}` }, table);
  if (virtual) {
    const fill = () => fillRows(body, shown, columns, frame.scrollTop);
    frame.addEventListener("scroll", fill);
    fillRows(body, shown, columns, 0);
  } else
    replace(
      body,
      rows.map((row) => rowElement(shown, row, columns)),
    );
  const first = table.querySelector("td[data-row]");
  if (first && !shown.edit) first.setAttribute("tabindex", "0");
  return frame;
}

// The matrix as colours, a pixel a number; numbers are on demand. A click picks the cell.
/** @param {Pick<ShownMatrix, "name" | "matrix" | "shaded" | "rowNames" | "pick">} shown */
export function matrixPicture({ name, matrix, shaded, rowNames, pick }) {
  const most = shaded ? 1 : largestSize(matrix.values);
  const label = `${name}, ${matrix.rows} rows of ${matrix.columns} numbers as colours`;
  const canvas = strips({ ...matrix, most, label });
  canvas.style.setProperty("height", `${Math.min(18 * matrix.rows, 220)}px`);
  canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    /** @param {number} share @param {number} size */
    const at = (share, size) => Math.max(0, Math.min(size - 1, Math.floor(share * size)));
    pick(
      at((event.clientY - box.top) / box.height, matrix.rows),
      at((event.clientX - box.left) / box.width, matrix.columns),
    );
  });
  const names = rowNames.length <= 24 ? rowNames : [];
  return element(
    "div.matrix-picture",
    element(
      "ol.strip-names",
      { "aria-hidden": "true" },
      names.map((one) => element("li", one)),
    ),
    element(
      "div.strip-frame",
      {
        "data-stage": name,
        "data-rows": matrix.rows,
        "data-columns": matrix.columns,
      },
      canvas,
      element("div.bands", { "aria-hidden": "true" }),
    ),
  );
}

/** @param {Matrix} matrix */
export function isLarge(matrix) {
  return matrix.rows > MAX_ROWS || matrix.columns > MAX_COLUMNS;
}

/** @param {number} size */
function range(size) {
  return Array.from({ length: size }, (_, at) => at);
}

// The first and the last positions and those around the chosen one, null where some are left out.
/** @param {number} size @param {number} most @param {number[]} ends @param {number} chosen */
function elided(size, most, [first, last], chosen) {
  if (size <= most) return range(size);
  /** @param {number} at */
  const isShown = (at) => at < first || at >= size - last || Math.abs(at - chosen) <= 1;
  /** @param {number} at */
  const isEdge = (at) => isShown(at) || isShown(at - 1);
  return range(size)
    .filter(isEdge)
    .map((at) => (isShown(at) ? at : null));
}

/** @param {ShownMatrix} shown @param {number | null} row @param {(number | null)[]} columns */
function rowElement(shown, row, columns) {
  /** @param {string} text @param {Fields} [more] */
  const gap = (text, more) => element("td.gap", { ...more }, text);
  if (row === null)
    return element(
      "tr.gap",
      element("th", "⋮"),
      columns.map(() => gap("⋮")),
    );
  return element(
    "tr",
    element("th", { scope: "row" }, shown.rowNames[row]),
    columns.map((column) =>
      column === null ? gap("…", { "data-gap-row": row }) : cellElement(shown, row, column),
    ),
  );
}

/** @param {ShownMatrix} shownMatrix @param {number} row @param {number} column */
function cellElement({ matrix, before, shaded, edit, name, markedAs, most }, row, column) {
  const at = row * matrix.columns + column;
  const value = matrix.values[at];
  const attributes = { "data-row": row, "data-column": column };
  if (edit) {
    return element(
      "td",
      attributes,
      element("input", {
        type: "text",
        inputmode: "decimal",
        value: String(value),
        "aria-label": `${name}, row ${row}, column ${column}`,
        on: { change: (event) => edit(row, column, event.target) },
      }),
    );
  }
  const changed = before && before.values[at] !== value;
  const was = changed && element("small", { title: "as it was" }, shortNumber(before.values[at]));
  const style = shaded
    ? { background: shade(value), color: textColorOn(value) }
    : { background: signedColour(value, most), color: signedInk(value, most) };
  return element(
    "td",
    { ...attributes, tabindex: "-1", class: markedAs(row, column), style },
    shortNumber(value),
    was,
  );
}

/**
 * @param {HTMLElement} body
 * @param {ShownMatrix} shown
 * @param {(number | null)[]} columns
 * @param {number} top
 */
function fillRows(body, shown, columns, top) {
  const size = shown.matrix.rows;
  const first = Math.max(0, Math.min(size - VISIBLE_ROWS, Math.floor(top / ROW_PIXELS) - 4));
  const last = Math.min(size, first + VISIBLE_ROWS + 8);
  /** @param {number} rows */
  const space = (rows) => element("tr.space", { style: { height: `${rows * ROW_PIXELS}px` } });
  const rows = range(last - first).map((at) => rowElement(shown, first + at, columns));
  replace(body, first > 0 && space(first), rows, last < size && space(size - last));
}

// The cell that an event came from.
/** @param {Event} event @returns {HTMLElement | null} */
function cellUnder({ target }) {
  return target instanceof Element ? target.closest("td[data-row]") : null;
}

/** @param {Element} row @returns {HTMLElement[]} */
function cellsIn(row) {
  return [...row.querySelectorAll("td[data-row]")].filter((one) => one instanceof HTMLElement);
}

/** @param {KeyboardEvent} event @param {HTMLElement} table @param {ShownMatrix} shown */
function walkCells(event, table, shown) {
  const cell = cellUnder(event);
  if (!cell || shown.edit) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    shown.pick(Number(cell.dataset.row), Number(cell.dataset.column));
    return;
  }
  const own = cell.closest("tr");
  if (!own) return;
  const line = cellsIn(own);
  const at = line.indexOf(cell);
  const lines = [...table.querySelectorAll("tbody tr")].filter((row) =>
    row.querySelector("td[data-row]"),
  );
  const down = lines.indexOf(own);
  /** @param {Element | undefined} row @returns {HTMLElement | undefined} */
  const above = (row) => row && cellsIn(row)[at];
  /** @type {Record<string, HTMLElement | undefined>} */
  const neighbours = {
    ArrowLeft: line[at - 1],
    ArrowRight: line[at + 1],
    ArrowUp: above(lines[down - 1]),
    ArrowDown: above(lines[down + 1]),
  };
  const next = neighbours[event.key];
  if (!next) return;
  event.preventDefault();
  cell.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

// Three decimals; the whole number is in the expression.
/** @param {number} value */
export function shortNumber(value) {
  if (value === -Infinity) return "−∞";
  const size = Math.abs(value);
  if (value === 0) return "0";
  const powers = size >= 1e5 || size < 5e-4;
  const decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  const text = powers
    ? writeNumber(value, 0).replace(/e\+?(-?)0?/, "e$1")
    : value.toFixed(decimals);
  return withMinus(text);
}
