// A bar under each word of the stage: all bars of a line of text stand on one line under it, grow
// towards their words, and hang below that line where their number is below 0.

import { svgElement } from "../lib/dom.js";

const WIDEST = 34; // pixels, as all that follows
const TALLEST = { one: 150, many: 48 }; // where the sentence has one line, or many
const OF_WINDOW = 0.165; // of its height, where that is less
const ABOVE = 26; // between a word and the highest bar, for its number
const LABEL_HEIGHT = 14;

/**
 * @param {WhyBars | null} bars
 * @param {(WordPlace & { position: number })[]} places
 * @param {boolean} isOneLine
 * @param {number[]} nouns
 * @returns {BarTarget[]}
 */
export function barTargets(bars, places, isOneLine, nouns) {
  if (!bars) return [];
  const width = Math.min(WIDEST, 0.8 * nearest(places));
  const room = isOneLine ? Math.min(TALLEST.one, OF_WINDOW * window.innerHeight) : TALLEST.many;
  return places.map(({ position, x, line, half = 0 }) => {
    const row = places.filter((one) => Math.abs(one.line - line) < half);
    const bottom = Math.max(...row.map((one) => one.line + (one.half ?? 0)));
    return {
      ...{ position, x, width, text: bars.texts[position], height: bars.heights[position] * room },
      line: bottom + ABOVE + bars.up * room,
      name: ["one", "two"][nouns.indexOf(position)] ?? "plain",
    };
  });
}

// The least distance between two words that follow each other on a line of text.
/** @param {WordPlace[]} places */
function nearest(places) {
  const sorted = [...places].sort((one, other) => one.line - other.line || one.x - other.x);
  const gaps = sorted.slice(1).map(({ x }, at) => x - sorted[at].x);
  return Math.min(...gaps.filter((gap) => gap > 0), WIDEST / 0.8);
}

// The bars of a stage, by position; each keeps its height from one step to the next.
export function barLayer() {
  const lines = svgElement("path");
  const root = svgElement("g.bars", lines);
  /** @type {Map<number, { node: SVGRectElement, line: number, height: number }>} */
  const held = new Map();
  /** @param {number} position */
  const enter = (position) => {
    const bar = { node: svgElement("rect", { rx: 2 }), line: 0, height: 0 };
    root.append(bar.node);
    held.set(position, bar);
    return bar;
  };
  return {
    root,
    // What moves them to their targets, by share; those without one go back into their line.
    /** @param {BarTarget[]} targets */
    motion(targets) {
      for (const text of root.querySelectorAll("text")) text.remove();
      lines.setAttribute("d", groundPath(targets));
      const moves = targets.map(({ position, name, x, width, line, height }) => {
        const bar = held.get(position) ?? enter(position);
        bar.line = line;
        bar.node.setAttribute("class", name);
        bar.node.setAttribute("x", (x - width / 2).toFixed(2));
        bar.node.setAttribute("width", width.toFixed(2));
        return { bar, from: bar.height, to: height };
      });
      const kept = new Set(targets.map(({ position }) => position));
      for (const [position, bar] of held)
        if (!kept.has(position)) moves.push({ bar, from: bar.height, to: 0 });
      return (/** @type {number} */ share) => {
        for (const { bar, from, to } of moves) {
          bar.height = from + share * (to - from);
          bar.node.setAttribute("y", (bar.line - Math.max(0, bar.height)).toFixed(2));
          bar.node.setAttribute("height", Math.abs(bar.height).toFixed(2));
        }
      };
    },
    // Numbers come once, when all have arrived; of two that would overlap the larger one's.
    /** @param {BarTarget[]} targets */
    finish(targets) {
      const kept = new Set(targets.map(({ position }) => position));
      for (const [position, { node }] of held) {
        if (kept.has(position)) continue;
        node.remove();
        held.delete(position);
      }
      /** @type {DOMRect[]} */
      const placed = [];
      const sorted = [...targets].sort((a, b) => Math.abs(b.height) - Math.abs(a.height));
      for (const { x, line, height, text, name } of sorted) {
        const y = height < 0 ? line - height + LABEL_HEIGHT : line - height - 5;
        const label = svgElement("text", { x, y, class: name, "text-anchor": "middle" }, text);
        root.append(label);
        const box = label.getBBox();
        if (placed.some((one) => coverEachOther(one, box))) label.remove();
        else placed.push(box);
      }
    },
  };
}

// One line under each line of text, from its first bar to its last.
/** @param {BarTarget[]} targets */
function groundPath(targets) {
  return [...new Set(targets.map(({ line }) => line))]
    .map((line) => {
      const xs = targets.filter((one) => one.line === line).map(({ x }) => x);
      return `M${Math.min(...xs) - WIDEST / 2 - 6} ${line}H${Math.max(...xs) + WIDEST / 2 + 6}`;
    })
    .join("");
}

/** @param {DOMRect} one @param {DOMRect} other */
function coverEachOther(one, other) {
  const [x, y] = [one.x - other.x, one.y - other.y];
  return x < other.width + 3 && -x < one.width + 3 && Math.abs(y) < one.height;
}
