// The map on its canvas: cells, axes with positions or words, and a strip along each axis.

import { element, replace } from "../lib/dom.js";
import { colours, heatPixels, sized } from "../lib/draw.js";
import { shareWritten } from "./row.js";
import { cellStart, axisTicks } from "./window.js";

const STRIP_PIXELS = 12;
const MIN_LABEL_PIXELS = 13; // pixels that a word on an axis needs

// Cells as a picture that can be drawn at any size; the darkest shade is `most`.
/** @param {Region} region @param {number} [most] @returns {Patch} */
export function createPatch(region, most = darkest(region.values)) {
  const [down, across] = region.cells;
  const isClipped = region.values.some((value) => value > most);
  const pixels = document.createElement("canvas");
  const repaint = () =>
    heatPixels(pixels, down, across, (row, column) =>
      Math.min(1, region.values[row * across + column] / most),
    );
  repaint();
  return { ...region, most, isClipped, pixels, repaint };
}

// A few cells, such as those of the first key, would leave all others white: one in 250 may lie
// beyond the scale.
/** @param {Float32Array} values */
function darkest(values) {
  const step = Math.max(1, Math.floor(values.length / 8000));
  const some = [];
  let largest = 0;
  for (let at = 0; at < values.length; at++) {
    if (values[at] > largest) largest = values[at];
    if (at % step === 0 && values[at] > 0) some.push(values[at]);
  }
  some.sort((a, b) => a - b);
  return some.length > 500 ? some[Math.floor(some.length * 0.996)] : largest || 1;
}

/**
 * @param {number} width
 * @param {number} tall
 * @param {MapWindow} view
 * @param {boolean} named
 */
export function arrangeMap(width, tall, view, named) {
  const cells = [view.rows[1] - view.rows[0], view.columns[1] - view.columns[0]];
  const margin = width < 500 ? 54 : 84;
  const space = Math.min(900, tall, width - margin - STRIP_PIXELS - 8);
  const words = named && (space - 60) / Math.max(...cells) >= MIN_LABEL_PIXELS;
  const side = Math.max(120, words ? space - 60 : space);
  const top = (words ? margin : 24) + STRIP_PIXELS + 6;
  const height = Math.min(side, side * Math.max(0.15, cells[0] / cells[1]));
  return {
    left: margin + STRIP_PIXELS + 6,
    top,
    side,
    down: height,
    words,
    width: margin + STRIP_PIXELS + 6 + side + 2,
    height: top + height + 2,
  };
}

// model { view, patches, nameAt(side, position), at: [query, key] or null, pinned: query or null }
/** @param {HTMLCanvasElement} canvas @param {MapModel} model @param {MapLayout} layout */
export function paintMap(canvas, model, layout) {
  const context = sized(canvas, layout.width, layout.height);
  const { left, top, side, down } = layout;
  const { line, accent } = colours();
  /** @type {MapScale} */
  const scale = {
    x: (key) =>
      left +
      ((key - model.view.columns[0]) / (model.view.columns[1] - model.view.columns[0])) * side,
    y: (query) =>
      top + ((query - model.view.rows[0]) / (model.view.rows[1] - model.view.rows[0])) * down,
  };
  context.save();
  context.beginPath();
  context.rect(left, top, side, down);
  context.clip();
  context.fillStyle = colours().scale[0];
  context.fillRect(left, top, side, down);
  for (const patch of model.patches) {
    const [x, y] = [scale.x(patch.columns[0]), scale.y(patch.rows[0])];
    const [width, height] = [scale.x(patch.columns[1]) - x, scale.y(patch.rows[1]) - y];
    context.imageSmoothingEnabled = width < patch.cells[1] || height < patch.cells[0];
    const [down, across] = [patch.rows, patch.columns].map(
      ([from, to], side) => (patch.cells[side] * (to - from)) / patch.spans[side],
    );
    context.drawImage(patch.pixels, 0, 0, across, down, x, y, width, height);
  }
  context.strokeStyle = accent;
  context.lineWidth = 1.5;
  if (model.pinned !== null) {
    const thick = Math.max(3, scale.y(model.pinned + 1) - scale.y(model.pinned));
    context.strokeRect(left - 2, scale.y(model.pinned + 0.5) - thick / 2, side + 4, thick);
  }
  if (model.at) paintCross(context, scale, layout, model.at);
  context.restore();
  context.strokeStyle = line;
  context.lineWidth = 1;
  context.strokeRect(left - 0.5, top - 0.5, side + 1, down + 1);
  const fresh = model.patches[model.patches.length - 1];
  if (fresh) paintStrips(context, fresh, scale, layout);
  paintAxes(context, model, scale, layout);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {MapScale} scale
 * @param {MapLayout} mapLayout
 * @param {number[]} at
 */
function paintCross(context, scale, { left, top, side, down }, [query, key]) {
  context.globalAlpha = 0.6;
  context.fillStyle = colours().accent;
  context.fillRect(left, scale.y(query + 0.5) - 0.5, side, 1);
  context.fillRect(scale.x(key + 0.5) - 0.5, top, 1, down);
  context.globalAlpha = 1;
}

// Received along the keys, entropy along the queries, each against its own largest in view.
/**
 * @param {CanvasRenderingContext2D} context
 * @param {Patch} patch
 * @param {MapScale} scale
 * @param {MapLayout} mapLayout
 */
function paintStrips(context, patch, scale, { left, top, side, down }) {
  context.save();
  context.beginPath();
  context.rect(left, top - STRIP_PIXELS - 4, side, STRIP_PIXELS);
  context.rect(left - STRIP_PIXELS - 4, top, STRIP_PIXELS, down);
  context.clip();
  context.fillStyle = colours().scale[170];
  if (patch.received)
    fillStrip(context, patch.received, patch.columns, patch.spans[1], (at, tall) => [
      scale.x(at),
      top - 4 - tall,
    ]);
  if (patch.entropy)
    fillStrip(context, patch.entropy, patch.rows, patch.spans[0], (at, tall) => [
      left - 4 - tall,
      scale.y(at),
    ]);
  context.restore();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Float32Array} values
 * @param {Span} range
 * @param {number} span
 * @param {(at: number, tall: number) => [number, number]} spot
 */
function fillStrip(context, values, range, span, spot) {
  const most = values.reduce((a, b) => Math.max(a, b), 0) || 1;
  /** @param {number} step */
  const at = (step) => cellStart(range, span, values.length, step);
  context.beginPath();
  context.moveTo(...spot(range[0], 0));
  values.forEach((value, step) => {
    context.lineTo(...spot(at(step), (value / most) * STRIP_PIXELS));
    context.lineTo(...spot(at(step + 1), (value / most) * STRIP_PIXELS));
  });
  context.lineTo(...spot(range[1], 0));
  context.fill();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {MapModel} model
 * @param {MapScale} scale
 * @param {MapLayout} mapLayout
 */
function paintAxes(context, model, scale, { left, top, side, down, words }) {
  context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  context.fillStyle = colours().soft;
  context.textBaseline = "middle";
  /** @param {SideName} which @param {number} at */
  const label = (which, at) =>
    (words && model.nameAt(which, at)) || Math.round(at).toLocaleString("en");
  const space = left - STRIP_PIXELS - 12;
  const middle = down / (model.view.rows[1] - model.view.rows[0]) > 4 ? 0.5 : 0;
  context.textAlign = "right";
  for (const at of axisTicks(
    model.view.rows,
    words ? down / MIN_LABEL_PIXELS : Math.max(2, down / 70),
  )) {
    context.fillText(label("query", at), left - STRIP_PIXELS - 8, scale.y(at + middle), space);
  }
  for (const at of axisTicks(
    model.view.columns,
    words ? side / MIN_LABEL_PIXELS : Math.max(2, side / 90),
  )) {
    if (!words) {
      context.textAlign = at === 0 && !middle ? "left" : "center";
      context.fillText(label("key", at), scale.x(at + middle), top - STRIP_PIXELS - 14);
      continue;
    }
    context.save();
    context.translate(scale.x(at + 0.5), top - STRIP_PIXELS - 8);
    context.rotate(-Math.PI / 2);
    context.textAlign = "left";
    context.fillText(label("key", at), 0, 0, space);
    context.restore();
  }
}

// The shades of the map in numbers, and a word where they were scaled again.

const SCALE_WIDTH_PIXELS = 240;
const SCALE_HEIGHT_PIXELS = 12;
const RESCALED_RATIO = 1.05; // times as much in the strongest shade, to be told

// -> { root, show(patch, isHeld), repaint() }; hold(number or null) fixes the weight of the
// strongest shade, or lets every window have its own.
/** @param {(most: number | null) => void} hold */
export function shadeScale(hold) {
  const canvas = element("canvas", { "aria-hidden": "true" });
  const [half, most] = [element("span"), element("span")];
  const note = element("span", { class: "rescaled", role: "status" });
  const held = element("input", {
    type: "checkbox",
    on: { change: ({ target }) => hold(target.checked ? shown.most : null) },
  });
  const bar = element(
    "span",
    { class: "shade-bar" },
    canvas,
    element("span", { class: "shade-numbers" }, element("span", null, "0"), half, most),
  );
  const root = element(
    "div",
    { class: "shade-scale small" },
    bar,
    element("label", null, held, " the same shades at every zoom"),
    note,
  );
  let shown = { most: 0 };
  const repaint = () => {
    const context = sized(canvas, SCALE_WIDTH_PIXELS, SCALE_HEIGHT_PIXELS);
    const { scale } = colours();
    for (let x = 0; x < SCALE_WIDTH_PIXELS; x++) {
      context.fillStyle = scale[Math.round((x / (SCALE_WIDTH_PIXELS - 1)) * (scale.length - 1))];
      context.fillRect(x, 0, 1, SCALE_HEIGHT_PIXELS);
    }
  };
  repaint();
  return {
    root,
    repaint,
    /** @param {Patch} patch @param {boolean} isHeld */
    show(patch, isHeld) {
      const before = shown.most;
      const ratio = before && patch.most ? patch.most / before : 1;
      shown = patch;
      held.checked = isHeld;
      // Shades follow the root of a weight: half the way along the bar is a quarter of the most.
      half.textContent = shareWritten(patch.most / 4);
      const strongest = patch.most >= 0.9995 ? "100 %" : shareWritten(patch.most);
      most.textContent = patch.isClipped ? `${strongest} or more` : strongest;
      const told =
        ratio > RESCALED_RATIO || ratio < 1 / RESCALED_RATIO
          ? `Shades scaled anew: the strongest was ${shareWritten(before)}.`
          : "";
      replace(note, told);
    },
  };
}
