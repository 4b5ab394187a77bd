// Two sides with lines as thick as the weights: queries on the left, keys on the right.
//
// The words are buttons, so that they can be focused and read aloud; everything that moves (lines
// and shares) is on one canvas behind them, as large as the window on the picture, so that a hover
// costs the same at any length.

import { element, frames, isCalm, replace } from "../lib/dom.js";
import { paintLines } from "./lines_paint.js";
import { listenToWords } from "./lines_words.js";
import { largest, sums } from "./weights.js";

const OUTSIDE = 52; // pixels outside the words, for their shares
const MOTION = 280; // milliseconds

// paint(canvas, scrolled, model, layout) draws between the sides, as paintLines does.
// handlers: hover(side, position or null), pick(side, position, event), span(side, from, to),
// clear()
// -> { root, show(model), mark(marks), close() }; model { grid, chosen, pinned, threshold, titles:
// [who asks, who answers] }
export function linesPicture(handlers, paint = paintLines) {
  const canvas = element("canvas", { class: "threads", "aria-hidden": "true" });
  const lists = {
    query: element("ul", { class: "side asks", "aria-label": "Words that ask (queries)" }),
    key: element("ul", { class: "side answers", "aria-label": "Words that answer (keys)" }),
  };
  const scroller = element(
    "div",
    { class: "scroller" },
    canvas,
    element("div", { class: "sides" }, lists.query, lists.key),
  );
  const heads = element("div", { class: "side-titles" }, element("span"), element("span"));
  const root = element("div", { class: "lines" }, heads, scroller);
  let model = null;
  let layout = null;
  const motion = linesMotion();
  const draw = frames(() => {
    if (!model || !root.isConnected) return;
    lightWords(lists, model);
    const [grid, grown] = motion.now(model.grid);
    paint(canvas, scroller.scrollTop, { ...model, grid, grown }, layout);
    if (motion.isMoving()) draw();
  });
  const arranged = () => {
    layout = arrange(root, scroller, lists, model);
  };
  const resized = new ResizeObserver(() => {
    if (model) {
      arranged();
      draw();
    }
  });
  resized.observe(root);
  scroller.addEventListener("scroll", draw);
  const deaf = listenToWords(lists, handlers);

  return {
    root,
    show(next) {
      // The same words stay as they are, and with them the focus, when only numbers are new.
      const fresh = !model || !sameWords(model, next);
      if (!model || model.grid !== next.grid) motion.start(model && model.grid);
      model = next;
      if (fresh) {
        fillSide(lists.query, "query", model.grid.queries);
        fillSide(lists.key, "key", model.grid.keys);
        replace(heads.firstChild, model.titles[0], sideVerb(" asks", " (query)"));
        replace(heads.lastChild, model.titles[1], sideVerb(" answers", " (key)"));
        arranged();
        const [first] = [...model.pinned.queries, ...model.pinned.keys];
        scroller.scrollTop =
          first === undefined ? 0 : (first + 0.5) * layout.step - layout.seen / 2;
      }
      const { query = null, key = null } = model.until || {};
      if (!fresh && query !== null) keepInSight(scroller, query, layout);
      veilWords(lists.query, query);
      veilWords(lists.key, key);
      const { generated = { query: [], key: [] } } = model;
      markWords(lists.query, generated.query, "generated");
      markWords(lists.key, generated.key, "generated");
      pressWords(lists.query, model.pinned.queries);
      pressWords(lists.key, model.pinned.keys);
      draw();
    },
    // differing: keys that another sentence has as other words; moving: queries that look elsewhere
    // in the other picture
    mark({ differing = [], moving = [] }) {
      markWords(lists.key, differing, "differs");
      markWords(lists.query, moving, "moves");
    },
    close() {
      resized.disconnect();
      deaf();
    },
  };
}

// Lines of new words grow from the word that looks; those of as many words, in another head or
// sentence, pass from the old weights to the new ones.
function linesMotion() {
  let begun = -Infinity;
  let before = null;
  const share = () => Math.min(1, (performance.now() - begun) / MOTION);
  return {
    start(grid) {
      if (isCalm()) return;
      before = grid;
      begun = performance.now();
    },
    isMoving: () => share() < 1,
    // -> the grid to paint, and how far its lines have grown
    now(grid) {
      if (share() >= 1) return [grid, 1];
      const eased = 1 - (1 - share()) ** 3;
      const alike = before && before.rows === grid.rows && before.columns === grid.columns;
      if (!alike) return [grid, eased];
      const weights = grid.weights.map(
        (weight, at) => before.weights[at] + eased * (weight - before.weights[at]),
      );
      return [{ ...grid, weights }, 1];
    },
  };
}

function sameWords(one, other) {
  const same = (a, b) => a.length === b.length && a.every((name, i) => name === b[i]);
  const sides = [
    [one.grid.queries, other.grid.queries],
    [one.grid.keys, other.grid.keys],
    [one.titles, other.titles],
  ];
  return sides.every(([a, b]) => same(a, b));
}

// The field's word beside the plain one, where there is room.
function sideVerb(verb, term) {
  return element("small", null, verb, element("span", { class: "roomy" }, term));
}

function fillSide(list, side, names) {
  replace(
    list,
    names.map((name, position) =>
      element(
        "li",
        null,
        element(
          "button",
          {
            type: "button",
            "data-position": position,
            "data-side": side,
            tabindex: position ? "-1" : "0",
            title: name.length > 14 ? name : null,
          },
          name,
        ),
      ),
    ),
  );
}

function markWords(list, positions, name) {
  for (const button of list.querySelectorAll(`.${name}`)) button.classList.remove(name);
  for (const position of positions) list.children[position]?.firstChild.classList.add(name);
}

// Scrolls where a row has left the window on a long text.
function keepInSight(scroller, row, { step, seen }) {
  const top = row * step - scroller.scrollTop;
  if (top < 0 || top + step > seen) scroller.scrollTop = (row + 0.5) * step - seen / 2;
}

// Words that are not written yet, after a position; null is none.
function veilWords(list, until) {
  [...list.children].forEach((item, position) =>
    item.firstChild.classList.toggle("later", until !== null && position > until),
  );
}

function pressWords(list, pinned) {
  const now = new Set(pinned);
  for (const button of list.querySelectorAll("[aria-pressed]")) {
    if (!now.has(Number(button.dataset.position))) button.removeAttribute("aria-pressed");
  }
  for (const position of now)
    list.children[position]?.firstChild.setAttribute("aria-pressed", "true");
}

// While some words are chosen the others step back, except those they look at.
function lightWords(lists, { grid, chosen }) {
  const { queries, keys } = chosen;
  const some = queries.length + keys.length > 0;
  for (const list of Object.values(lists)) {
    list.classList.toggle("back", some);
    for (const markedAs of list.querySelectorAll(".lit")) markedAs.classList.remove("lit");
  }
  if (!some) return;
  const added = sums(grid, chosen);
  const answer = queries.length ? largest(added.keys, 24, 0.05 * queries.length) : [];
  const ask = queries.length ? queries : largest(added.queries, 24, 0.05);
  for (const position of [...answer, ...keys])
    lists.key.children[position].firstChild.classList.add("lit");
  for (const position of ask) lists.query.children[position].firstChild.classList.add("lit");
}

// On a phone the picture stays on the screen together with the heads below it.
function mostSeen() {
  return window.innerWidth <= 640
    ? [240, Math.round(window.innerHeight * 0.42)]
    : [360, Math.round(window.innerHeight * 0.78)];
}

// Sizes in pixels: a word's line, its letters, a side, the whole, and what is seen of it at a time.
function arrange(root, scroller, lists, { grid }) {
  const most = Math.max(grid.rows, grid.columns);
  const width = root.clientWidth || 600;
  const narrow = width < 480;
  root.classList.toggle("narrow", narrow);
  const step = most <= 16 ? (narrow ? 28 : 34) : most <= 40 ? 27 : 20;
  const word = step > 27 ? (narrow ? 16.5 : 19.5) : step > 24 ? 15.5 : 13;
  const longest = Math.max(
    1,
    ...grid.queries.map((name) => name.length),
    ...grid.keys.map((name) => name.length),
  );
  const outside = narrow ? 40 : OUTSIDE;
  const side = Math.min(
    Math.max(44, longest * word * (narrow ? 0.64 : 0.58) + 18) + outside,
    width * 0.41,
  );
  const tall = most * step;
  const seen = Math.min(tall, Math.max(...mostSeen()));
  for (const [name, size] of Object.entries({ step, word, side, tall, seen }))
    root.style.setProperty(`--${name}`, `${size}px`);
  scroller.classList.toggle("long", tall > seen);
  const widths = (list) => [...list.children].map((item) => item.firstChild.offsetWidth);
  const words = { query: widths(lists.query), key: widths(lists.key) };
  return { step, side, seen, width: scroller.clientWidth || width, words };
}
