// The canvas between the two sides: lines, and the shares of the words that answer.

import { percent } from "../lib/dom.js";
import { colours, sized } from "../lib/draw.js";
import { largest, sums } from "./weights.js";

const MOST_LINES = 1500; // of all words together: more than an eye can part
const MOST_OF_ONE = 120; // of one word: the strongest
const FAINTEST = 0.004; // weights below are not drawn while all words are
const GAP = 8; // pixels between a line and its word

// layout { step, side, seen, width, words: the width of each word } in pixels; top: how far the
// picture is scrolled.
// grown: how far lines have grown, from 0 to 1.
export function paintLines(canvas, top, { grid, chosen, threshold, grown = 1 }, layout) {
  const context = sized(canvas, layout.width, layout.seen);
  const { step, side, width } = layout;
  const pen = {
    ...layout,
    context,
    threshold,
    grown,
    thick: Math.min(17, step * 0.52),
    left: side + GAP,
    right: width - side - GAP,
    y: (position) => (position + 0.5) * step - top,
  };
  if (chosen.queries.length) paintAsking(pen, grid, chosen);
  else if (chosen.keys.length) paintAnswering(pen, grid, chosen);
  else paintAll(pen, grid);
}

// Where the chosen words look, or how much of that goes to chosen keys.
function paintAsking(pen, grid, chosen) {
  for (const q of chosen.queries) {
    const row = grid.weights.subarray(q * grid.columns, (q + 1) * grid.columns);
    const keys = chosen.keys.length
      ? chosen.keys
      : largest(row, MOST_OF_ONE, pen.threshold).reverse();
    for (const k of keys) thread(pen, q, k, row[k], colours().accent);
  }
  const shares = sums(grid, chosen).keys.map((weight) => weight / chosen.queries.length);
  paintShares(pen, "key", shares, chosen.keys);
}

// Who looks at the chosen words.
function paintAnswering(pen, grid, chosen) {
  for (const k of chosen.keys) {
    const column = Float32Array.from(
      { length: grid.rows },
      (_, q) => grid.weights[q * grid.columns + k],
    );
    for (const q of largest(column, MOST_OF_ONE, pen.threshold).reverse())
      thread(pen, q, k, column[q], colours().accent);
  }
  paintShares(pen, "query", sums(grid, chosen).queries, []);
}

// All lines of the words in sight, the strongest in front.
function paintAll(pen, { rows, columns, weights }) {
  const first = Math.max(0, Math.floor(-pen.y(0) / pen.step) - 2);
  const last = Math.min(rows, first + Math.ceil(pen.seen / pen.step) + 4);
  const least = Math.max(pen.threshold, FAINTEST);
  const shown = [];
  for (let at = first * columns; at < last * columns; at++)
    if (weights[at] >= least) shown.push(at);
  shown.sort((a, b) => weights[a] - weights[b]);
  for (const at of shown.slice(-MOST_LINES)) {
    thread(
      pen,
      Math.floor(at / columns),
      at % columns,
      weights[at],
      colours().scale[Math.round(110 + 110 * weights[at])],
    );
  }
}

function thread(pen, q, k, weight, colour) {
  const { context, threshold, left, right, y, thick, seen, grown } = pen;
  if (weight < threshold || weight <= 0) return;
  const [from, to] = [y(q), y(k)];
  if (Math.max(from, to) < -20 || Math.min(from, to) > seen + 20) return;
  const middle = (left + right) / 2;
  context.strokeStyle = colour;
  context.globalAlpha = Math.min(1, 0.07 + 0.93 * Math.sqrt(weight));
  context.lineWidth = Math.max(0.6, weight * thick);
  context.lineCap = "round";
  context.beginPath();
  context.moveTo(left, from);
  const [x1, x2, x3] = beginning([left, middle, middle, right], grown);
  const [y1, y2, y3] = beginning([from, from, to, to], grown);
  context.bezierCurveTo(x1, y1, x2, y2, x3, y3);
  context.stroke();
  context.globalAlpha = 1;
}

// The control points, after the first, of the first share of a cubic curve (de Casteljau).
function beginning([a, b, c, d], share) {
  if (share >= 1) return [b, c, d];
  const between = (one, other) => one + share * (other - one);
  const [ab, bc, cd] = [between(a, b), between(b, c), between(c, d)];
  const [abc, bcd] = [between(ab, bc), between(bc, cd)];
  return [ab, abc, between(abc, bcd)];
}

// The share of each word that answers, outside of it; only says which words alone have one.
function paintShares({ context, step, y, seen, left, right, words }, side, shares, only) {
  const { ink, soft, faint } = colours();
  const family = getComputedStyle(document.body).fontFamily;
  context.textBaseline = "middle";
  context.textAlign = side === "key" ? "left" : "right";
  shares.forEach((share, position) => {
    const at = y(position);
    if (
      share < 0.005 ||
      at < -step ||
      at > seen + step ||
      (only.length && !only.includes(position))
    )
      return;
    context.font = `${share >= 0.1 ? 600 : 400} ${step > 30 ? 13 : 11}px ${family}`;
    context.fillStyle = share >= 0.1 ? ink : share >= 0.03 ? soft : faint;
    const beyond = GAP + words[side][position] + 8;
    context.fillText(percent(share), side === "key" ? right + beyond : left - beyond, at + 1);
  });
}
