// The stage of the course: one drawing that stays in place while the scenes change it. A scene says
// which marks there are; a mark that was there before moves to where it is now, by its id. Nothing
// is drawn anew that only moved, and a number is written once, when everything has arrived.
//
// A mark: { id, tag, at: numbers by attribute, d?: at -> path, text?, class?, attributes?, on? }.

import { svgElement } from "../lib/dom.js";
import { animate, MEANING_MS } from "../lib/motion.js";

export function lessonStage() {
  const [back, front] = [svgElement("g"), svgElement("g")];
  const root = svgElement("svg.stage-picture", { role: "group" }, back, front);
  /** @type {Map<string, HeldMark>} */
  const held = new Map();
  let stop = () => {};

  /** @param {StageMark} mark @returns {HeldMark} */
  const enter = (mark) => {
    const node = svgElement(mark.tag);
    /** @type {HeldMark} */
    const one = { node, mark, at: { ...mark.at, opacity: 0 } };
    for (const name of ["click", "pointerdown", "keydown"])
      node.addEventListener(name, (event) => one.mark.on?.[name]?.(event));
    (mark.tag === "text" || mark.tag === "circle" ? front : back).append(node);
    if (mark.text !== undefined) node.textContent = mark.text;
    held.set(mark.id, one);
    return one;
  };

  return {
    root,
    /** @param {StageMark[]} marks @param {string} label @param {boolean} [moving] */
    show(marks, label, moving = true) {
      stop();
      root.setAttribute("aria-label", label);
      const ids = new Set(marks.map(({ id }) => id));
      const leaving = [...held.values()].filter(({ mark }) => !ids.has(mark.id));
      const moves = marks.map((mark) => {
        const one = held.get(mark.id) || enter(mark);
        one.mark = mark;
        setAttributes(one.node, { class: mark.class || "", ...mark.attributes });
        return { one, from: { ...one.at }, to: { opacity: 1, ...mark.at } };
      });
      for (const one of leaving)
        moves.push({ one, from: { ...one.at }, to: { ...one.at, opacity: 0 } });
      root.dataset.moving = "yes";
      stop = animate(
        moving ? MEANING_MS : 0,
        (share) => {
          for (const { one, from, to } of moves) placeMark(one, attributesBetween(from, to, share));
        },
        () => {
          for (const { node, mark } of leaving) {
            node.remove();
            held.delete(mark.id);
          }
          for (const { node, mark } of held.values())
            if (mark.text !== undefined && node.textContent !== mark.text)
              node.textContent = mark.text;
          delete root.dataset.moving;
        },
      );
    },
    close: () => stop(),
  };
}

/** @param {HeldMark} held @param {Record<string, number>} at */
function placeMark(held, at) {
  const { node, mark } = held;
  held.at = at;
  if (!mark.d) return setAttributes(node, at);
  node.setAttribute("d", mark.d(at));
  setAttributes(node, { opacity: at.opacity, "stroke-width": at["stroke-width"] ?? 2 });
}

/** @param {Element} node @param {Record<string, string | number>} attributes */
function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes))
    node.setAttribute(name, String(typeof value === "number" ? Number(value.toFixed(3)) : value));
}

/** @param {Record<string, number>} from @param {Record<string, number>} to @param {number} share */
function attributesBetween(from, to, share) {
  return Object.fromEntries(
    Object.entries(to).map(([name, end]) => {
      const start = from[name] ?? end;
      return [name, start + share * (end - start)];
    }),
  );
}

// Words in a row as wide as the stage: the size of the type, and the middle of each word.
/** @param {string[]} words @param {number} width @param {number} largest */
export function stageRow(words, width, largest) {
  const context = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.documentElement).getPropertyValue("--serif");
  if (context) context.font = `100px ${family}`;
  const widths = words.map((word) => (context ? context.measureText(word).width : 50) / 100);
  const gap = 0.42;
  const total = widths.reduce((a, b) => a + b, 0) + gap * words.length;
  const size = Math.min(largest, width / total);
  let from = (width - total * size) / 2 + (gap * size) / 2;
  const middles = widths.map((one) => {
    const middle = from + (one * size) / 2;
    from += (one + gap) * size;
    return middle;
  });
  return { size, middles, widths: widths.map((one) => one * size) };
}

// A line that rises from one word and comes down on another; below 0 it hangs.
/** @param {Record<string, number>} at */
export function arcPath({ x1, y1, x2, y2, lift }) {
  return `M${x1} ${y1}C${x1} ${y1 - lift} ${x2} ${y2 - lift} ${x2} ${y2}`;
}

// A shaft with two barbs, as long as there is room for them.
/** @param {Record<string, number>} at */
export function arrowPath({ x1, y1, x2, y2 }) {
  const [length, angle] = [Math.hypot(x2 - x1, y2 - y1), Math.atan2(y2 - y1, x2 - x1)];
  const barb = Math.min(11, length / 2);
  /** @param {number} turn */
  const end = (turn) =>
    `${x2 - barb * Math.cos(angle + turn)} ${y2 - barb * Math.sin(angle + turn)}`;
  return `M${x1} ${y1}L${x2} ${y2}M${end(0.4)}L${x2} ${y2}L${end(-0.4)}`;
}

/** @param {Record<string, number>} at */
export function straightPath({ x1, y1, x2, y2 }) {
  return `M${x1} ${y1}L${x2} ${y2}`;
}
