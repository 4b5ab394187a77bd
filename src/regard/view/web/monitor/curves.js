// Curves over the steps of a training, as SVG.

import { svgElement } from "../lib/dom.js";

const [CURVE_WIDTH, CURVE_HEIGHT, CURVE_LEFT, CURVE_BOTTOM] = [720, 180, 64, 24];

// Where a step lies among the observed ones, as a number of columns.
/** @param {number} step @param {number[]} steps */
export function stepPlace(step, steps) {
  const after = steps.findIndex((one) => one >= step);
  if (after < 0) return steps.length - 1;
  if (after === 0 || steps[after] === step) return after;
  return after - (steps[after] - step) / (steps[after] - steps[after - 1]);
}

// Points of the numbers that are finite, in pieces between those that are not.
/** @param {number[]} xs @param {(number | null)[]} ys @returns {[number, number][][]} */
function finitePieces(xs, ys) {
  /** @type {[number, number][][]} */
  const pieces = [[]];
  xs.forEach((x, at) => {
    const y = ys[at];
    if (y !== null && Number.isFinite(y)) pieces[pieces.length - 1].push([x, y]);
    else if (pieces[pieces.length - 1].length) pieces.push([]);
  });
  return pieces.filter((piece) => piece.length);
}

/**
 * @param {[number, number][][]} pieces
 * @param {(x: number) => number} across
 * @param {(y: number) => number} down
 */
function curveLines(pieces, across, down) {
  return pieces.map((piece) =>
    piece.length === 1
      ? svgElement("circle.training-curve", {
          cx: across(piece[0][0]),
          cy: down(piece[0][1]),
          r: 2,
        })
      : svgElement("polyline.training-curve", {
          points: piece.map(([x, y]) => `${across(x).toFixed(1)},${down(y).toFixed(1)}`).join(" "),
        }),
  );
}

/** @param {number} x @param {number} y @param {string} anchor @param {string} text */
function curveLabel(x, y, anchor, text) {
  return svgElement("text.training-label", { x, y, "text-anchor": anchor }, text);
}

/** @param {number} number */
function short(number) {
  return String(Number(number.toPrecision(3)));
}

// One head's numbers over the steps; a limit as a line, alerts as marks.
/**
 * @param {number[]} steps
 * @param {number[]} values
 * @param {{ limit: number | null, marks: number[], name: string }} options
 */
export function curvePicture(steps, values, { limit, marks, name }) {
  const pieces = finitePieces(steps, values);
  const ys = pieces.flat().map(([, y]) => y);
  if (!ys.length) return svgElement("svg.training-svg", { viewBox: "0 0 10 1" });
  const shownLimit = limit !== null && Math.max(...ys) > limit / 2 ? limit : null;
  const low = Math.min(0, ...ys);
  const high = Math.max(...ys, shownLimit ?? -Infinity, low + 1e-9);
  const [first, last] = [steps[0], Math.max(steps[steps.length - 1], steps[0] + 1)];
  /** @param {number} x */
  const across = (x) =>
    CURVE_LEFT + ((x - first) / (last - first)) * (CURVE_WIDTH - CURVE_LEFT - 8);
  /** @param {number} y */
  const down = (y) => 8 + (1 - (y - low) / (high - low)) * (CURVE_HEIGHT - CURVE_BOTTOM - 8);
  const floor = CURVE_HEIGHT - CURVE_BOTTOM;
  return svgElement(
    "svg.training-svg",
    {
      viewBox: `0 0 ${CURVE_WIDTH} ${CURVE_HEIGHT}`,
      role: "img",
      "aria-label": `${name} from ${short(values[0])} to ${short(values[values.length - 1])}`,
    },
    svgElement("line.training-axis", {
      x1: CURVE_LEFT,
      x2: CURVE_WIDTH,
      y1: floor,
      y2: floor,
    }),
    marks.map((step) =>
      svgElement("line.training-mark", {
        x1: across(step),
        x2: across(step),
        y1: 8,
        y2: floor,
      }),
    ),
    shownLimit === null
      ? null
      : svgElement("line.training-limit", {
          x1: CURVE_LEFT,
          x2: CURVE_WIDTH,
          y1: down(shownLimit),
          y2: down(shownLimit),
        }),
    curveLines(pieces, across, down),
    curveLabel(CURVE_LEFT - 6, down(high) + 8, "end", short(high)),
    curveLabel(CURVE_LEFT - 6, floor, "end", short(low)),
    curveLabel(CURVE_LEFT, CURVE_HEIGHT - 6, "start", `step ${first}`),
    curveLabel(CURVE_WIDTH - 8, CURVE_HEIGHT - 6, "end", `step ${last}`),
  );
}

// The steps of some columns below the picture of heads.
/** @param {number[]} steps @param {number} left @param {number} width */
export function stepPicture(steps, left, width) {
  const number = Math.min(steps.length, Math.max(2, Math.floor(width / 160)));
  const places = Array.from({ length: number }, (_, at) =>
    Math.round((at / Math.max(1, number - 1)) * (steps.length - 1)),
  );
  return svgElement(
    "svg.training-steps",
    { width: left + width, height: 20, "aria-hidden": true },
    places.map((at) =>
      curveLabel(left + ((at + 0.5) / steps.length) * width, 14, "middle", `step ${steps[at]}`),
    ),
  );
}

// The loss above the picture of heads, over the same steps; nothing where none was logged.
/**
 * @param {TrainingAbout} about
 * @param {number[]} steps
 * @param {number} left
 * @param {number} width
 */
export function lossPicture(about, steps, left, width) {
  const last = steps[steps.length - 1];
  const until = about.losses.steps.filter((step) => step <= last);
  const pieces = finitePieces(until, about.losses.values);
  const ys = pieces.flat().map(([, y]) => y);
  if (!ys.length) return null;
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  /** @param {number} x */
  const across = (x) => left + ((stepPlace(x, steps) + 0.5) / steps.length) * width;
  /** @param {number} y */
  const down = (y) => 6 + (high > low ? (1 - (y - low) / (high - low)) * 48 : 24);
  const label = `loss from ${short(ys[0])} to ${short(ys[ys.length - 1])}`;
  return svgElement(
    "svg.training-loss",
    { width: left + width, height: 60, role: "img", "aria-label": label },
    curveLabel(0, 14, "start", "loss"),
    curveLabel(left - 6, 14, "end", short(high)),
    curveLabel(left - 6, 54, "end", short(low)),
    curveLines(pieces, across, down),
  );
}
