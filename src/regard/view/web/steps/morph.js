// Passages between two states of a drawing: colours of cells, lengths of bars and strips go from
// what they were to what they are. Under prefers-reduced-motion nothing moves.

import { isCalm } from "../lib/dom.js";
import { repaint } from "../lib/draw.js";
import { animate } from "../lib/motion.js";

const PASSAGE_MS = 260; // milliseconds
/** @type {(keyof Look)[]} */
const LOOKS_OF_MARKS = ["background", "color", "left", "width"];
const MAX_ANIMATED_MARKS = 1500; // more are not animated one by one

// The look of every cell and bar below root, by its name; taken before they are drawn again.
/** @param {HTMLElement} root @returns {Map<string, Look>} */
export function captureLook(root) {
  /** @type {Map<string, Look>} */
  const look = new Map();
  if (isCalm()) return look;
  for (const node of marked(root)) {
    const { background, color, left, width } = node.style;
    look.set(markKey(node), { background, color, left, width });
  }
  return look.size > MAX_ANIMATED_MARKS ? new Map() : look;
}

// Lets everything that has changed since pass over to how it looks now.
/** @param {HTMLElement} root @param {Map<string, Look>} look */
export function passFrom(root, look) {
  if (!look.size || isCalm()) return;
  for (const node of marked(root)) {
    const was = look.get(markKey(node));
    if (!was) continue;
    const names = LOOKS_OF_MARKS.filter((one) => was[one] && was[one] !== node.style[one]);
    if (!names.length) continue;
    const frames = Object.fromEntries(names.map((one) => [one, [was[one], node.style[one]]]));
    node.animate(frames, { duration: PASSAGE_MS, easing: "ease-out" });
  }
}

/** @param {HTMLElement} root @returns {HTMLElement[]} */
function marked(root) {
  return [...root.querySelectorAll("td[data-row], [data-bar]")].filter(
    (node) => node instanceof HTMLElement,
  );
}

/** @param {HTMLElement} node */
function markKey(node) {
  if (node.dataset.bar) return node.dataset.bar;
  const stage = node.closest("table")?.dataset.stage;
  return `${stage} ${node.dataset.row} ${node.dataset.column}`;
}

// A canvas of strips from one set of numbers to another of the same size.
/** @param {HTMLCanvasElement} canvas @param {Passage} from @param {Strips} shown */
export function passStrips(canvas, from, shown) {
  if (from.values.length !== shown.values.length) return;
  animate(PASSAGE_MS, (share) => {
    /** @param {number} a @param {number} b */
    const mix = (a, b) => (Number.isFinite(a) && Number.isFinite(b) ? a + (b - a) * share : b);
    repaint(canvas, {
      ...shown,
      most: mix(from.most, shown.most),
      values: Array.from(shown.values, (one, at) => mix(from.values[at], one)),
    });
  });
}

// A panel that opens out of the card that was clicked.
/** @param {HTMLElement} panel @param {DOMRect | null} card */
export function openFrom(panel, card) {
  if (isCalm() || !card || !card.width) return;
  const box = panel.getBoundingClientRect();
  if (!box.width || !box.height) return;
  const [across, down] = [card.left - box.left, card.top - box.top];
  const height = Math.max(0.02, card.height / box.height);
  const first = `translate(${across}px, ${down}px) scale(${card.width / box.width}, ${height})`;
  panel.style.setProperty("transform-origin", "0 0");
  panel.animate(
    [
      { transform: first, opacity: 0.3 },
      { transform: "none", opacity: 1 },
    ],
    { duration: PASSAGE_MS, easing: "cubic-bezier(.2, .7, .2, 1)" },
  );
}

/** @param {HTMLElement} node */
export function appear(node) {
  if (!isCalm()) node.animate({ opacity: [0.2, 1] }, { duration: PASSAGE_MS, easing: "ease-out" });
}
