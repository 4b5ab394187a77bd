// Lines between words as SVG paths: an arc where both stand on one line of text, a bracket round
// the margin where they do not, an S between two languages. A path that has a form already moves to
// its new one.

import { svgElement } from "../lib/dom.js";

const SAMPLES = 48; // points of a path on its way
const CORNER_PIXELS = 14;

// A word's place: { x (its middle), top, bottom, line (the top of its line of text) }.
/** @param {WordPlace} from @param {WordPlace} to @param {CurveFrame} frame */
export function wordCurve(from, to, { height, gap, margin }) {
  if (from.line !== to.line) return bracket(from, to, gap, margin);
  const [x1, x2] = from.x === to.x ? [from.x + 12, to.x - 12] : [from.x, to.x];
  const rise = Math.min(height, 26 + 0.3 * Math.abs(x2 - x1));
  const [y1, y2] = [from.top - 5, to.top - 5];
  const top = Math.min(y1, y2) - (4 / 3) * rise;
  return {
    path: `M${x1} ${y1}C${x1} ${top} ${x2} ${top} ${x2} ${y2}`,
    apex: { x: (x1 + x2) / 2, y: Math.min(y1, y2) - rise },
    foot: { x: x2, y: y2 },
  };
}

// Up from one word, along the gap between the lines to the margin, and down to the other.
/** @param {WordPlace} from @param {WordPlace} to @param {number} gap @param {number} margin */
function bracket(from, to, gap, margin) {
  const [y1, y2] = [from.line - gap, to.line - gap];
  const corners = [
    [from.x, from.top - 5],
    [from.x, y1],
    [margin, y1],
    [margin, y2],
    [to.x, y2],
    [to.x, to.top - 5],
  ];
  return {
    path: rounded(corners),
    apex: { x: (margin + to.x) / 2, y: y2 },
    foot: { x: to.x, y: to.top - 5 },
  };
}

// Between the lower edge of a word and the upper edge of one below it.
/** @param {WordPlace} upper @param {WordPlace} lower @param {boolean} [isUpward] */
export function languageCurve(upper, lower, isUpward = false) {
  const [x1, y1, x2, y2] = [upper.x, upper.bottom + 3, lower.x, lower.top - 3];
  const middle = (y1 + y2) / 2;
  return {
    path: isUpward
      ? `M${x2} ${y2}C${x2} ${middle} ${x1} ${middle} ${x1} ${y1}`
      : `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`,
    apex: { x: (x1 + x2) / 2, y: middle },
    foot: { x: x1, y: y1 },
  };
}

/** @param {number[][]} corners */
function rounded(corners) {
  /** @param {number[]} a @param {number[]} b @param {number} far */
  const towards = ([ax, ay], [bx, by], far) => {
    const long = Math.hypot(bx - ax, by - ay) || 1;
    const share = Math.min(0.5, far / long);
    return `${ax + share * (bx - ax)} ${ay + share * (by - ay)}`;
  };
  const middle = corners
    .slice(1, -1)
    .map((corner, at) =>
      [
        `L${towards(corner, corners[at], CORNER_PIXELS)}`,
        `Q${corner.join(" ")} ${towards(corner, corners[at + 2], CORNER_PIXELS)}`,
      ].join(""),
    );
  const [first, last] = [corners[0], corners[corners.length - 1]];
  return `M${first.join(" ")}${middle.join("")}L${last.join(" ")}`;
}

/** @param {string} path @returns {number[][]} */
export function sampled(path) {
  const drawn = svgElement("path", { d: path });
  const long = drawn.getTotalLength();
  return Array.from({ length: SAMPLES + 1 }, (_, at) => {
    const { x, y } = drawn.getPointAtLength((long * at) / SAMPLES);
    return [x, y];
  });
}

/** @param {number[][]} from @param {number[][]} to @param {number} share */
export function pointsBetween(from, to, share) {
  return to.map(([x, y], at) => [
    from[at][0] + share * (x - from[at][0]),
    from[at][1] + share * (y - from[at][1]),
  ]);
}

/** @param {number[][]} points */
export function pathThrough(points) {
  return `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`;
}
