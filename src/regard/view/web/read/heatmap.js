// The same weights as a map: rows are queries, columns are keys.

import { element, frames } from "../lib/dom.js";
import { colours, heatPixels, sized, textColorOn } from "../lib/draw.js";

const LARGEST_CELL = 44;
const NAMED_CELL = 11; // pixels of a cell from which names are written beside it
const NUMBERED_CELL = 30; // and from which its weight is written in it
/** @type {Record<string, number[]>} */
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// handlers: cell(query, key) or cell(null) while pointing; pickCell(query, key); clear()
// -> { root, show(model), close() }; model as in lines.js, and statement: the sentence on what is
// seen
/** @param {CellHandlers} handlers */
export function heatPicture(handlers) {
  const canvas = element("canvas", { class: "heat", tabindex: "0", role: "img" });
  const axes = element("p", { class: "axes small" });
  const root = element("div", { class: "heat-frame" }, axes, canvas);
  const pixels = document.createElement("canvas");
  /** @type {PictureModel | null} */
  let model = null;
  /** @type {HeatLayout | null} */
  let layout = null;
  /** @type {Grid | null} */
  let painted = null;
  /** @type {[number, number] | null} */
  let at = null;
  const draw = frames(() => {
    if (!model || !root.isConnected) return;
    const { grid, titles, statement } = model;
    layout = arrangeHeat(root, grid);
    if (painted !== grid)
      heatPixels(pixels, grid.rows, grid.columns, (q, k) => grid.weights[q * grid.columns + k]);
    painted = grid;
    const [rows, columns] = titles;
    axes.textContent = `rows: ${rows} asks (queries) · columns: ${columns} answers (keys) · in %`;
    canvas.setAttribute("aria-label", statement || "");
    paintHeat(canvas, pixels, model, layout, at);
  });
  /** @param {[number, number] | null} next */
  const point = (next) => {
    if (String(next) === String(at)) return;
    at = next;
    if (at) handlers.cell(...at);
    else handlers.cell(null);
    draw();
  };
  /** @param {MouseEvent} event @returns {[number, number] | null} */
  const cellAt = (event) => {
    if (!layout || !model) return null;
    const box = canvas.getBoundingClientRect();
    const k = Math.floor((event.clientX - box.left - layout.left) / layout.cell);
    const q = Math.floor((event.clientY - box.top - layout.top) / layout.cell);
    return q >= 0 && k >= 0 && q < model.grid.rows && k < model.grid.columns ? [q, k] : null;
  };
  canvas.addEventListener("pointermove", (event) => point(cellAt(event)));
  canvas.addEventListener("pointerleave", () => point(null));
  canvas.addEventListener("blur", () => point(null));
  canvas.addEventListener("click", (event) => {
    const cell = cellAt(event);
    if (cell) handlers.pickCell(...cell);
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Escape") handlers.clear();
    if (event.key === "Enter" && at) handlers.pickCell(...at);
    if (!model || !(event.key in MOVES)) return;
    event.preventDefault();
    const [down, across] = MOVES[event.key];
    const [q, k] = at || [0, -across];
    /** @param {number} position @param {number} size */
    const within = (position, size) => Math.max(0, Math.min(size - 1, position));
    point([within(q + down, model.grid.rows), within(k + across, model.grid.columns)]);
  });
  const resized = new ResizeObserver(draw);
  resized.observe(root);
  const recolour = () => {
    painted = null;
    draw();
  };
  window.addEventListener("colours", recolour);
  return {
    root,
    /** @param {PictureModel} next */
    show(next) {
      const { rows, columns } = next.grid;
      if (!model || model.grid.rows !== rows || model.grid.columns !== columns) at = null;
      model = next;
      draw();
    },
    close() {
      resized.disconnect();
      window.removeEventListener("colours", recolour);
    },
  };
}

/** @param {HTMLDivElement} root @param {Grid} grid */
function arrangeHeat(root, { queries, keys, rows, columns }) {
  const space = root.clientWidth || 600;
  /** @param {string[]} names */
  const longest = (names) =>
    Math.min(130, Math.max(1, ...names.map((name) => name.length)) * 8 + 12);
  let [left, top] = [longest(queries), longest(keys)];
  let cell = Math.min(LARGEST_CELL, (space - left - 8) / columns);
  if (cell < NAMED_CELL) [left, top, cell] = [0, 0, Math.min(LARGEST_CELL, space / columns)];
  return {
    left,
    top,
    cell,
    width: Math.ceil(left + cell * columns + 4),
    height: Math.ceil(top + cell * rows + 4),
  };
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {HTMLCanvasElement} pixels
 * @param {PictureModel} pictureModel
 * @param {HeatLayout} layout
 * @param {[number, number] | null} at
 */
function paintHeat(canvas, pixels, { grid, chosen, threshold }, layout, at) {
  const { left, top, cell, width, height } = layout;
  const context = sized(canvas, width, height);
  context.imageSmoothingEnabled = cell < 1;
  context.drawImage(pixels, left, top, cell * grid.columns, cell * grid.rows);
  context.textBaseline = "middle";
  const family = getComputedStyle(document.body).fontFamily;
  if (cell >= NUMBERED_CELL) {
    context.font = `${cell >= 38 ? 12 : 10}px ${family}`;
    paintNumbers(context, grid, layout, threshold);
  }
  if (left) {
    context.font = `${Math.min(14, cell * 0.62)}px ${family}`;
    paintNames(context, grid, layout, chosen);
  }
  context.strokeStyle = colours().accent;
  context.lineWidth = 2;
  for (const q of chosen.queries)
    context.strokeRect(left, top + q * cell, cell * grid.columns, cell);
  for (const k of chosen.keys) context.strokeRect(left + k * cell, top, cell, cell * grid.rows);
  if (at)
    context.strokeRect(
      left + at[1] * cell,
      top + at[0] * cell,
      Math.max(3, cell),
      Math.max(3, cell),
    );
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Grid} grid
 * @param {HeatLayout} heatLayout
 * @param {Chosen} chosen
 */
function paintNames(context, grid, { left, top, cell }, chosen) {
  const { ink, soft, faint } = colours();
  /** @param {number[]} positions @param {number} position */
  const nameColor = (positions, position) =>
    positions.includes(position) ? ink : positions.length ? faint : soft;
  context.textAlign = "right";
  grid.queries.forEach((name, q) => {
    context.fillStyle = nameColor(chosen.queries, q);
    context.fillText(name, left - 7, top + (q + 0.5) * cell, left - 8);
  });
  context.textAlign = "left";
  grid.keys.forEach((name, k) => {
    context.save();
    context.translate(left + (k + 0.5) * cell, top - 7);
    context.rotate(-Math.PI / 2);
    context.fillStyle = nameColor(chosen.keys, k);
    context.fillText(name, 0, 0, top - 8);
    context.restore();
  });
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Grid} grid
 * @param {HeatLayout} heatLayout
 * @param {number} threshold
 */
function paintNumbers(context, grid, { left, top, cell }, threshold) {
  context.textAlign = "center";
  for (let q = 0; q < grid.rows; q++) {
    for (let k = 0; k < grid.columns; k++) {
      const weight = grid.weights[q * grid.columns + k];
      if (weight < Math.max(0.005, threshold)) continue;
      context.fillStyle = textColorOn(weight);
      context.fillText(
        String(Math.round(100 * weight)),
        left + (k + 0.5) * cell,
        top + (q + 0.5) * cell + 1,
      );
    }
  }
}
