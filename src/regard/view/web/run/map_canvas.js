// The map on its canvas: cells, axes with positions or tokens, and a strip along each axis.

import { colours, heatPixels, sized } from "../lib/draw.js";
import { axisTicks, cellStart } from "./map_window.js";

const STRIP_PIXELS = 10;
const MIN_LABEL_PIXELS = 13; // pixels that a token on an axis needs
const NAMED_TOKENS = 40; // a longer text has positions on its axes, whatever is in view
const MARGIN_PIXELS = { names: 70, numbers: 44 };

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

// Where the map lies. It depends on the map as a whole, never on what is in view: what lies under
// the pointer stays there while the wheel turns.
/** @param {number} width @param {number} tall @param {MapSize} size @param {boolean} named */
export function arrangeMap(width, tall, { queries, keys }, named) {
  const words = named && Math.max(queries, keys) <= NAMED_TOKENS;
  const margin = (words ? MARGIN_PIXELS.names : MARGIN_PIXELS.numbers) + STRIP_PIXELS;
  const top = (words ? MARGIN_PIXELS.names - 6 : 22) + STRIP_PIXELS;
  const side = Math.max(80, Math.min(tall - top - 2, width - margin - 4));
  const down = Math.max(80, side * Math.min(1, Math.max(0.35, queries / keys)));
  return { left: margin, top, side, down, words, width: margin + side + 4, height: top + down + 2 };
}

// model { view, patches, nameAt(side, position), at: [query, key] or null, row: the chosen query,
// column: the chosen key, seen: keys in sight in the text }
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
  if (model.seen) paintSeen(context, scale, layout, model.seen);
  context.strokeStyle = accent;
  context.lineWidth = 1.5;
  if (model.row !== null) {
    const thick = Math.max(3, scale.y(model.row + 1) - scale.y(model.row));
    context.strokeRect(left - 2, scale.y(model.row + 0.5) - thick / 2, side + 4, thick);
  }
  if (model.column !== null) {
    const thick = Math.max(3, scale.x(model.column + 1) - scale.x(model.column));
    context.strokeRect(scale.x(model.column + 0.5) - thick / 2, top - 2, thick, down + 4);
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

// The keys that the text has in sight: the others are veiled.
/**
 * @param {CanvasRenderingContext2D} context
 * @param {MapScale} scale
 * @param {MapLayout} mapLayout
 * @param {Span} seen
 */
function paintSeen(context, scale, { left, top, side, down }, [from, to]) {
  const edges = [scale.x(from), Math.max(scale.x(to), scale.x(from) + 2)];
  const [first, last] = edges.map((x) => Math.min(left + side, Math.max(left, x)));
  context.globalAlpha = 0.45;
  context.fillStyle = colours().paper;
  context.fillRect(left, top, first - left, down);
  context.fillRect(last, top, left + side - last, down);
  context.globalAlpha = 1;
  context.strokeStyle = colours().soft;
  context.lineWidth = 1;
  context.strokeRect(first, top - 1, last - first, down + 2);
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
  const space = left - STRIP_PIXELS - 10;
  const middle = down / (model.view.rows[1] - model.view.rows[0]) > 4 ? 0.5 : 0;
  context.textAlign = "right";
  for (const at of axisTicks(
    model.view.rows,
    words ? down / MIN_LABEL_PIXELS : Math.max(2, down / 56),
  )) {
    context.fillText(label("query", at), left - STRIP_PIXELS - 8, scale.y(at + middle), space);
  }
  for (const at of axisTicks(
    model.view.columns,
    words ? side / MIN_LABEL_PIXELS : Math.max(2, side / 64),
  )) {
    if (!words) {
      const x = scale.x(at + middle);
      context.textAlign = x < left + 12 ? "left" : x > left + side - 20 ? "right" : "center";
      context.fillText(label("key", at), x, top - STRIP_PIXELS - 12);
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
